"""What docs/deploy holds, as the programs that it is for read it; Kubernetes is here a server that only listens."""

import importlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._config import process_config, resolve_to_config_type
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.instance.config import dagster_instance_config
from dagster._core.instance.ref import InstanceRef
from dagster._core.launcher import LaunchRunContext
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin

from assets.standing import FIELDS, variable_of

PROJECT = Path(__file__).resolve().parents[2]
DEPLOY = PROJECT / "docs" / "deploy"
INSTANCE: dict[str, Any] = yaml.safe_load((DEPLOY / "dagster.yaml").read_text())
VALUES: dict[str, Any] = yaml.safe_load((DEPLOY / "values.yaml").read_text())
VARIABLES = {
    "DAGSTER_PG_HOST": "postgres.example.internal",
    "DAGSTER_PG_PORT": "5432",
    "DAGSTER_PG_DB": "dagster",
    "DAGSTER_PG_USERNAME": "dagster",
    "DAGSTER_PG_PASSWORD": "hunter-2",
    "EVAL_PIPELINE_NAMESPACE": "evaluations",
    "EVAL_PIPELINE_IMAGE": "registry.example.internal/eval-pipeline:0.1.0",
}
HOME = "/var/lib/eval_pipeline"

# What the schema of the chart dagster/dagster 1.13 calls these; a name that it does not know it would pass over.
CHART: dict[str, Any] = {
    "global": {"postgresqlSecretName", "dagsterHome", "serviceAccountName", "celeryConfigSecretName"},
    "generatePostgresqlPasswordSecret": None,
    "postgresql": {
        "enabled",
        "image",
        "postgresqlHost",
        "postgresqlUsername",
        "postgresqlPassword",
        "postgresqlDatabase",
        "postgresqlParams",
        "postgresqlScheme",
        "service",
    },
    "dagster-user-deployments": {"enabled", "enableSubchart", "imagePullSecrets", "deployments"},
    "runLauncher": {"type", "config"},
    "dagsterDaemon": {"enabled", "image", "runCoordinator", "runMonitoring", "runRetries", "sensors", "schedules"},
    "pythonLogs": {"pythonLogLevel", "managedPythonLoggers", "dagsterHandlerConfig"},
    "telemetry": {"enabled"},
}
DEPLOYMENT = set(
    """
    name image port dagsterApiGrpcArgs codeServerArgs includeConfigInLaunchedRuns env envConfigMaps envSecrets labels
    annotations nodeSelector affinity tolerations podSecurityContext securityContext resources livenessProbe
    readinessProbe startupProbe volumeMounts volumes schedulerName
    """.split()
)
LAUNCHER = {
    "imagePullPolicy": "image_pull_policy",
    "loadInclusterConfig": "load_incluster_config",
    "envConfigMaps": "env_config_maps",
    "envSecrets": "env_secrets",
    "volumeMounts": "volume_mounts",
    "volumes": "volumes",
    "resources": "resources",
}
RUN_CONFIG = {"containerConfig": "container_config", "podSpecConfig": "pod_spec_config"}


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance with a place of its own on this machine."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield instance


class _Listening(BaseHTTPRequestHandler):
    """Takes what is made, and answers with it, as Kubernetes does."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.made.append((self.path, json.loads(body)))  # type: ignore[attr-defined]
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class Cluster:
    """A server where a cluster would be, and the file that leads to it; `made` is what it was told to make."""

    def __init__(self, server: ThreadingHTTPServer, folder: Path) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []
        server.made = self.made  # type: ignore[attr-defined]
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "current-context": "here",
                    "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                    "users": [{"name": "me", "user": {}}],
                    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
                }
            )
        )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Listening) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Cluster(server, tmp_path)
        server.shutdown()
        thread.join()


def launcher_at(cluster: Cluster, config: Mapping[str, Any]) -> Any:
    """The launcher of Dagster, with what it was configured with, but for the way to the cluster."""
    from dagster_k8s import K8sRunLauncher

    processed = process_config(resolve_to_config_type(K8sRunLauncher.config_type()), dict(config))
    assert processed.success, processed.errors
    away = {"load_incluster_config": False, "kubeconfig_file": str(cluster.kubeconfig)}
    return K8sRunLauncher(**(dict(processed.value or {}) | away))


def job_made(
    launcher: Any, cluster: Cluster, instance: dg.DagsterInstance, context: Mapping[str, Any] | None
) -> tuple[str, dict[str, Any]]:
    """The address and the body of the Kubernetes job that the launcher makes of a run of `extraction`."""

    @dg.job(name="extraction")
    def extraction() -> None:
        pass

    pointer = ModuleCodePointer("assets.definitions", "defs", None)
    image = VARIABLES["EVAL_PIPELINE_IMAGE"]
    repository = RepositoryPythonOrigin("python", pointer, image, ["dagster"], context)
    run = instance.create_run_for_job(extraction, job_code_origin=JobPythonOrigin("extraction", repository))
    launcher.register_instance(instance)
    launcher.launch_run(LaunchRunContext(dagster_run=run, workspace=None))
    (made,) = cluster.made
    return made


def pod_of(job: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The pod of a job, and the only container in it."""
    pod: dict[str, Any] = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    return pod, container


def require_home_and_secrets(job: Mapping[str, Any]) -> None:
    """That the pod of a run has the shared volume, may write to it, and gets the secrets by their names alone."""
    pod, container = pod_of(job)
    (volume,) = [volume for volume in pod["volumes"] if "persistentVolumeClaim" in volume]
    assert volume["persistentVolumeClaim"] == {"claimName": "eval-pipeline-home"}
    assert {"name": volume["name"], "mountPath": HOME} in container["volumeMounts"]
    assert pod["securityContext"] == {"fsGroup": 1000}
    assert {"secretRef": {"name": "eval-pipeline-secrets"}} in container["envFrom"]
    assert container["args"][:3] == ["dagster", "api", "execute_run"]
    assert "hunter-2" not in json.dumps(job["spec"])


def test_dagster_reads_the_instance_and_knows_every_field_of_it(tmp_path: Path) -> None:
    """Every section is validated by the class that it names; what a class does not know would be an error."""
    (tmp_path / "dagster.yaml").write_bytes((DEPLOY / "dagster.yaml").read_bytes())
    config, _ = dagster_instance_config(str(tmp_path))
    assert set(config) == set(INSTANCE)
    ref = InstanceRef.from_dir(str(tmp_path))
    assert ref.storage_data is not None
    sections = [ref.storage_data, ref.run_launcher_data, ref.run_coordinator_data, ref.compute_logs_data]
    found = {}
    for data in filter(None, sections):
        of_class = getattr(importlib.import_module(data.module_name), data.class_name)
        schema = resolve_to_config_type(of_class.config_type())
        found[data.class_name] = process_config(schema, yaml.safe_load(data.config_yaml))
    assert {name: checked.errors for name, checked in found.items() if not checked.success} == {}
    assert set(found) == {
        "DagsterPostgresStorage",
        "K8sRunLauncher",
        "QueuedRunCoordinator",
        "NoOpComputeLogManager",
    }


def test_the_history_is_reached_by_the_driver_that_dagster_was_written_for() -> None:
    from dagster_postgres.utils import pg_url_from_config

    config = INSTANCE["storage"]["postgres"]
    values = {name: VARIABLES[value["env"]] for name, value in config["postgres_db"].items() if name != "scheme"}
    url = pg_url_from_config({"postgres_db": values | {"scheme": config["postgres_db"]["scheme"]}})
    assert url == "postgresql+psycopg2://dagster:hunter-2@postgres.example.internal:5432/dagster"
    assert VALUES["postgresql"]["postgresqlScheme"] == config["postgres_db"]["scheme"]


def test_a_run_becomes_a_job_of_the_cluster_with_the_shared_volume_and_the_secrets(
    cluster: Cluster, instance: dg.DagsterInstance
) -> None:
    launcher = launcher_at(cluster, INSTANCE["run_launcher"]["config"])
    path, job = job_made(launcher, cluster, instance, None)
    pod, container = pod_of(job)
    assert path == "/apis/batch/v1/namespaces/evaluations/jobs"
    assert container["image"] == VARIABLES["EVAL_PIPELINE_IMAGE"]
    assert pod["serviceAccountName"] == "eval-pipeline"
    assert {"configMapRef": {"name": "eval-pipeline-env"}} in container["envFrom"]
    require_home_and_secrets(job)


def test_the_values_name_nothing_that_the_chart_does_not_know() -> None:
    assert set(VALUES) <= set(CHART)
    assert [
        f"{section}.{name}" for section, names in CHART.items() if names for name in set(VALUES[section]) - names
    ] == []
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    assert set(deployment) <= DEPLOYMENT
    assert {"name", "image", "port"} <= set(deployment)
    assert set(deployment["image"]) == {"repository", "tag", "pullPolicy"}
    assert set(VALUES["runLauncher"]["config"]) == {VALUES["runLauncher"]["type"].replace("K8s", "k8s", 1)}
    launcher = VALUES["runLauncher"]["config"]["k8sRunLauncher"]
    assert set(launcher) <= {*LAUNCHER, "runK8sConfig"}
    assert set(launcher["runK8sConfig"]) <= set(RUN_CONFIG)
    coordinator = VALUES["dagsterDaemon"]["runCoordinator"]
    assert (coordinator["type"], set(coordinator["config"])) == ("QueuedRunCoordinator", {"queuedRunCoordinator"})
    assert set(coordinator["config"]["queuedRunCoordinator"]) == {"maxConcurrentRuns"}


def test_a_run_under_the_chart_gets_what_its_deployment_has(cluster: Cluster, instance: dg.DagsterInstance) -> None:
    """The chart hands the deployment's own environment, secrets and volumes on; the launcher adds its pod's group."""
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    assert deployment["includeConfigInLaunchedRuns"] == {"enabled": True}
    context = {
        "k8s": {
            "image_pull_policy": deployment["image"]["pullPolicy"],
            "env_secrets": [secret["name"] for secret in deployment["envSecrets"]],
            "volume_mounts": deployment["volumeMounts"],
            "volumes": deployment["volumes"],
            "resources": deployment["resources"],
            "env": deployment["env"],
            "namespace": "evaluations",
        }
    }
    own = VALUES["runLauncher"]["config"]["k8sRunLauncher"]
    config = {LAUNCHER[name]: value for name, value in own.items() if name in LAUNCHER} | {
        "run_k8s_config": {RUN_CONFIG[name]: value for name, value in own["runK8sConfig"].items()},
        "service_account_name": "dagster",
        "dagster_home": "/opt/dagster/dagster_home",
        "instance_config_map": "dagster-instance",
        "postgres_password_secret": VALUES["global"]["postgresqlSecretName"],
    }
    _, job = job_made(launcher_at(cluster, config), cluster, instance, context)
    _, container = pod_of(job)
    environment = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert environment["EVAL_PIPELINE_HOME"] == HOME
    assert str(environment["EVAL_PIPELINE_EVIDENCE"]).startswith("s3://")
    assert container["resources"] == deployment["resources"]
    require_home_and_secrets(job)


def test_the_image_starts_what_the_deployment_starts_and_its_home_is_where_the_volume_is_mounted() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    started = json.loads(dockerfile.split("CMD ")[1])
    assert started[-2:] == deployment["dagsterApiGrpcArgs"]
    assert str(deployment["port"]) in started
    assert f"EVAL_PIPELINE_HOME={HOME}" in dockerfile
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (installed,) = re.findall(r"eval-pipeline\[(\w+)\]", dockerfile)
    assert {requirement.split(">")[0] for requirement in extras[installed]} == {"dagster-k8s", "dagster-postgres"}


def test_the_page_names_files_that_are_there_and_variables_that_the_code_reads() -> None:
    page = (DEPLOY / "README.md").read_text()
    assert [name for name in re.findall(r"docs/deploy/([\w.]+)", page) if not (DEPLOY / name).exists()] == []
    code = "".join(path.read_text() for path in (PROJECT / "assets").glob("*.py"))
    code += "".join(variable_of(field) for field in FIELDS)
    read = {name for name in re.findall(r"`(EVAL_PIPELINE_\w+)", page) if not name.endswith(("IMAGE", "NAMESPACE"))}
    assert {name for name in read if name not in code} == set()

"""The extraction study by workspace: each is judged as if the others were not there, and nothing is asked twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager
from assets.partitions import WORKSPACES, can_be_partition, extraction_workspaces_offered, folder_of
from assets.recorded import Recorded
from assets.resources import Home
from assets.verification import verify
from eval_pipeline.bundled import bundled
from eval_pipeline.cli.main import main
from eval_pipeline.provenance import read_provenance_of
from eval_pipeline.store import store_at
from tests.history import kept_in_memory

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
TWO = ("north", "south/east")
PLACES = {"north": ("1", "2", "3"), "south/east": ("4", "5", "6")}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def corpora(small_corpus: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A corpus of two workspaces, of which the second lost a quarter of its signals, and each of them alone."""
    folder = tmp_path_factory.mktemp("corpora")
    one = small_corpus(folder / "one")
    parts: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for workspace, numbers in PLACES.items():
        text = {name: (one / name).read_text() for name in ("entries.jsonl", "signals.jsonl", "propositions.jsonl")}
        rows = {name: [json.loads(line) for line in lines.splitlines()] for name, lines in text.items()}
        for name, own in rows.items():
            for row in own:
                for field in ("lookup_key", "entry_id"):
                    if str(row.get(field, "")).startswith("note-"):
                        row[field] = f"note-{numbers[int(row[field][-1]) - 1]}"
                if name == "signals.jsonl":
                    row["lookup_key"] += f"-{numbers[0]}"
                if name == "entries.jsonl":
                    row["workspace"] = workspace
        if workspace != "north":
            rows["signals.jsonl"] = [row for place, row in enumerate(rows["signals.jsonl"]) if place % 4 != 3]
        parts[workspace] = rows
        for name, own in rows.items():
            write_lines(folder / folder_of(Path("alone"), workspace) / name, own)
    for name in parts["north"]:
        write_lines(folder / "all" / name, [row for workspace in TWO for row in parts[workspace][name]])
    alone = {workspace: folder / folder_of(Path("alone"), workspace) for workspace in TWO}
    return {"all": folder / "all", **alone}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled plan without what is drawn as a share of the whole: canaries and repeats."""
    text = (bundled("plans") / "extraction.toml").read_text()
    for name, share in {"canaries": '"1/50"', "repeats": '"1/20"'}.items():
        assert f"{name} = {share}" in text
        text = text.replace(f"{name} = {share}", f'{name} = "0"')
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(text)
    return path


class Bench:
    """A home and a history; its runs share their journals."""

    def __init__(self, home: Path, instance: dg.DagsterInstance, plan: Path) -> None:
        self.home, self.instance, self.plan = home, instance, plan

    def run(self, job: str, corpus: Path, partition: str | None = None) -> dg.ExecuteInProcessResult:
        resources = {"home": Home(path=str(self.home)), "io_manager": EvidenceIOManager(home=str(self.home))}
        inputs = {"corpus": str(corpus), "plan": str(self.plan), "out": str(self.home / "out")}
        return (
            build_defs(resource_overrides=resources)
            .resolve_job_def(job)
            .execute_in_process(
                run_config={"resources": {"inputs": {"config": inputs}}, **QUIET},
                instance=self.instance,
                partition_key=partition,
            )
        )

    def judged(self) -> int:
        """The judgments in all journals."""
        return sum("key" in line for file in (self.home / "journals").rglob("*.jsonl") for line in lines_of(file))


@pytest.fixture(scope="module")
def new_bench(tmp_path_factory: pytest.TempPathFactory, plan: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch, dg.DagsterInstance.ephemeral() as instance:
        patch.setenv("EVAL_PIPELINE_HOME", str(tmp_path_factory.mktemp("home")))
        yield lambda: Bench(tmp_path_factory.mktemp("home"), instance, plan)


@pytest.fixture(scope="module")
def backfilled(new_bench: Any, corpora: dict[str, Path]) -> tuple[Bench, dict[str, dg.ExecuteInProcessResult]]:
    """A run of each workspace, as a backfill starts them."""
    bench = new_bench()
    bench.instance.add_dynamic_partitions(str(WORKSPACES.name), list(TWO))
    return bench, {name: bench.run("extraction_workspaces", corpora["all"], name) for name in TWO}


VERDICT = dg.AssetKey(["workspaces", "extraction_verdict"])


@pytest.mark.parametrize("workspace", TWO)
def test_the_verdict_of_a_workspace_is_that_of_a_corpus_that_holds_it_alone(
    backfilled: Any, new_bench: Any, corpora: dict[str, Path], workspace: str
) -> None:
    """Claims, numbers, the judge's work and the hashes of corpus and fixture: the whole document."""
    alone = new_bench().run("extraction", corpora[workspace]).asset_value("extraction_verdict")
    assert backfilled[1][workspace].asset_value(VERDICT) == alone
    assert alone["frame"]["entries"] == 3
    assert alone["claims"][0]["estimate"] == {"north": 1.0, "south/east": 0.75}[workspace]


def test_the_whole_corpus_asks_nothing_that_its_workspaces_asked(backfilled: Any, corpora: dict[str, Path]) -> None:
    bench, _ = backfilled
    known = bench.judged()
    whole = bench.run("extraction", corpora["all"]).asset_value("extraction_verdict")
    assert (known > 0, bench.judged()) == (True, known)
    assert whole["frame"]["entries"] == 6
    assert whole["claims"][0]["estimate"] == 0.875


def test_the_checks_of_a_workspace_say_what_its_verdict_says(backfilled: Any) -> None:
    for result in backfilled[1].values():
        outcomes = {claim["claim"]: claim["outcome"] == "pass" for claim in result.asset_value(VERDICT)["claims"]}
        found = {check.check_name: check.passed for check in result.get_asset_check_evaluations()}
        assert {name: found[name] for name in outcomes} == outcomes
        assert found["seal_holds"]
        assert {check.asset_key.path[0] for check in result.get_asset_check_evaluations()} == {"workspaces"}


def test_each_workspace_has_evidence_and_findings_of_its_own(backfilled: Any) -> None:
    bench, results = backfilled
    names = {path.name for path in (bench.home / "evidence" / "workspaces" / "corpus").glob("latest*")}
    assert names == {"latest@north", "latest@south%2Feast"}
    for workspace, result in results.items():
        written = json.loads((folder_of(bench.home / "out", workspace) / "verdict.json").read_text())
        assert written["hashes"] == result.asset_value(VERDICT)["hashes"]


def test_the_run_of_a_workspace_is_made_anew_from_what_it_left(backfilled: Any) -> None:
    bench, results = backfilled
    for workspace in results:
        found, at = folder_of(bench.home / "out", workspace), bench.home
        store = store_at(str(at / "evidence"))
        verified = verify(Recorded(read_provenance_of(found), store, at / "ledger.jsonl", at / "locks", found))
        assert f"workspaces/extraction_verdict@{workspace}" in verified.made


def test_both_chains_have_the_same_assets_but_for_what_is_of_the_whole_alone() -> None:
    """The sheet for people is drawn from the whole corpus."""
    defs = build_defs()
    of = {
        group: {spec.key.path[-1] for spec in defs.resolve_all_asset_specs() if spec.group_name == group}
        for group in ("extraction", "extraction_workspaces")
    }
    assert of["extraction"] - of["extraction_workspaces"] == {"human_check_sheet"}
    assert of["extraction_workspaces"] <= of["extraction"]


def test_the_sensor_offers_each_workspace_of_the_corpus_once(
    corpora: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_CORPUS", str(corpora["all"]))
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance=instance)
        offered: Any = extraction_workspaces_offered(context)
        (request,) = offered.dynamic_partitions_requests
        assert list(request.partition_keys) == list(TWO)
        instance.add_dynamic_partitions(str(WORKSPACES.name), list(TWO))
        again: Any = extraction_workspaces_offered(context)
        assert again.skip_message == "no new workspace"


def test_no_name_of_a_workspace_leads_out_of_the_folder_of_the_study() -> None:
    folder = Path("/out")
    assert {folder_of(folder, name).parent for name in ("a/b", "..", ".", "../..", "a b", "ü")} == {folder}
    assert [can_be_partition(name) for name in ("a/b", "..", "a\nb", "a...b")] == [True, True, False, False]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command line in this process: its exit status and what it says."""
    (tmp_path / "dagster").mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path / "home"))

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["eval-pipeline", *arguments])
        with kept_in_memory(), pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(str(ended.value.code)), said.out + said.err

    return run


def test_the_command_line_runs_one_workspace_into_a_folder_of_its_own(
    command: Any, corpora: dict[str, Path], plan: Path, tmp_path: Path
) -> None:
    where = ["--corpus", str(corpora["all"]), "--plan", str(plan), "--out", str(tmp_path / "out")]
    status, said = command("run", "extraction", *where, "--workspace", "south/east")
    assert status == 3, said  # too few entries to decide
    verdict = json.loads((tmp_path / "out" / "south%2Feast" / "verdict.json").read_text())
    assert (verdict["frame"]["entries"], verdict["claims"][0]["estimate"]) == (3, 0.75)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["south%2Feast"]


def test_a_workspace_that_the_corpus_has_not_is_refused_with_those_that_it_has(
    command: Any, corpora: dict[str, Path]
) -> None:
    assert command("run", "extraction", "--corpus", str(corpora["all"]), "--workspace", "west") == (
        1,
        "eval-pipeline: the corpus has no entry of workspace 'west'; name one that it has: north, south/east\n",
    )

"""The operator's night: a schedule runs a study that fails, and one post says so though the daemon is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assets.run import WORKSPACE, _instance, dagster_home
from assets.sensors import WEBHOOK
from tests.receiver import Receiver, receiving
from tests.webserver import Server, free_port, wait_until_loaded

NIGHT_S = 240
_SELECTOR = {"repositoryName": "__repository__", "repositoryLocationName": "eval_pipeline"}
_SCHEDULE = """
mutation Turn($at: ScheduleSelector!) { startSchedule(scheduleSelector: $at) {
  __typename ... on ScheduleStateResult { scheduleState { id selectorId status } } } }
"""
_STOP = "mutation Stop($id: String!) { stopRunningSchedule(id: $id) { __typename } }"
_SENSOR = "mutation Turn($at: SensorSelector!) { startSensor(sensorSelector: $at) { __typename } }"
_TICKS = """
query Ticks($at: SensorSelector!) { sensorOrError(sensorSelector: $at) {
  ... on Sensor { sensorState { ticks(limit: 500) { timestamp status skipReason error { message } } } } } }
"""
_RUNS = "{ runsOrError { ... on Runs { results { runId jobName status tags { key value } } } } }"
# A shell that starts tests in the background has them ignore these signals, and what they start would inherit that.
_DAGSTER = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from dagster.{0} import main; main()"
)


@dataclass
class Night:
    """A home with a web server, a daemon that can be killed, and the receiver of its alerts."""

    home: Path
    environment: dict[str, str]
    server: Server
    receiver: Receiver
    daemon: "subprocess.Popen[bytes] | None" = None

    def start_daemon(self) -> None:
        """A daemon of its own, in a process group of its own."""
        with (self.home / "daemon.log").open("ab") as log:
            command = [sys.executable, "-W", "ignore", "-m", "dagster._daemon", "run", "-w", str(WORKSPACE)]
            self.daemon = subprocess.Popen(
                command, stdout=log, stderr=log, env=self.environment, cwd=self.home, start_new_session=True
            )

    def kill_daemon(self) -> None:
        """As a machine that goes down does it: nothing of it can tidy up."""
        assert self.daemon
        os.killpg(self.daemon.pid, signal.SIGKILL)
        self.daemon.wait(timeout=15)

    def runs(self) -> list[dict[str, Any]]:
        """The runs of the history, the last one first."""
        found: list[dict[str, Any]] = self.server.ask(_RUNS)["runsOrError"]["results"]
        return found

    def ended_runs(self) -> list[dict[str, Any]]:
        """The runs of the history, once all of them have ended."""
        runs = self.runs()
        return runs if all(run["status"] in ("SUCCESS", "FAILURE", "CANCELED") for run in runs) else []

    def looks(self) -> list[dict[str, Any]]:
        """The looks of the alerts at ended runs that came to an end, the last one first."""
        at = _SELECTOR | {"sensorName": "alerts"}
        state = self.server.ask(_TICKS, at={**at, "repositoryLocationName": "eval_pipeline"})["sensorOrError"]
        return [tick for tick in state["sensorState"]["ticks"] if tick["status"] in ("SUCCESS", "SKIPPED", "FAILURE")]


def until(found: Callable[[], Any], what: str, log: Path) -> Any:
    """What is found, as soon as something is."""
    deadline = time.monotonic() + NIGHT_S
    while time.monotonic() < deadline:
        if one := found():
            return one
        time.sleep(0.3)
    pytest.fail(f"not within {NIGHT_S} s: {what}; the daemon said:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path))
    home, port = dagster_home(), free_port()
    _instance(home).dispose()  # its tables are there, as `eval-pipeline ui` has them, before two processes make them
    with receiving() as receiver:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DAGSTER_")} | {
            "DAGSTER_HOME": str(home),
            "EVAL_PIPELINE_CORPUS": "sample",
            "EVAL_PIPELINE_CRON_EXTRACTION_NIGHTLY": "* * * * *",
            WEBHOOK: receiver.url,
        }
        command = [sys.executable, "-W", "ignore", "-m", "dagster_webserver", "-w", str(WORKSPACE)]
        with (tmp_path / "server.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "-h", "127.0.0.1", "-p", str(port)],
                stdout=log, stderr=log, env=environment, cwd=tmp_path, start_new_session=True,
            )  # fmt: skip
        at = Night(tmp_path, environment, Server(f"http://127.0.0.1:{port}"), receiver)
        try:
            at.start_daemon()
            wait_until_loaded(at.server, process, tmp_path / "server.log")
            yield at
        finally:
            for one in filter(None, (process, at.daemon)):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(one.pid, signal.SIGKILL)
                one.wait(timeout=15)


def test_a_schedule_runs_a_failing_study_and_exactly_one_post_says_so_though_the_daemon_is_killed(
    night: Night,
) -> None:
    log = night.home / "daemon.log"
    assert night.server.ask(_SENSOR, at=_SELECTOR | {"sensorName": "alerts"})["startSensor"]["__typename"] == "Sensor"
    until(night.looks, "the first look of the alerts", log)
    schedule = _SELECTOR | {"scheduleName": "extraction_nightly"}
    state = night.server.ask(_SCHEDULE, at=schedule)["startSchedule"]["scheduleState"]
    assert state["status"] == "RUNNING"
    until(night.runs, "a run of the schedule", log)
    assert night.server.ask(_STOP, id=state["id"])["stopRunningSchedule"]["__typename"] == "ScheduleStateResult"

    until(lambda: night.receiver.taken, "the post", log)
    night.kill_daemon()
    looked = len(night.looks())
    night.start_daemon()
    until(lambda: len(night.looks()) >= looked + 2, "two more looks after the restart", log)

    # On a slow machine the schedule may have come to its next minute before it was stopped; each run is posted once.
    runs = until(night.ended_runs, "the end of every run", log)
    until(lambda: len(night.receiver.taken) >= len(runs), "a post for every run", log)
    assert [(run["jobName"], run["status"]) for run in runs] == [("extraction", "SUCCESS")] * len(runs)
    assert night.receiver.events() == [("breach", "positional_uniformity")] * len(runs)
    assert sorted(post["run"] for post in night.receiver.taken) == sorted(run["runId"] for run in runs)
    assert all("extraction_nightly" in json.dumps(run["tags"]) for run in runs)
    assert [tick["error"] for tick in night.looks() if tick["error"]] == []

"""The alerts of ended runs: each breach posted once, whatever restarts, fails or comes in another order."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pydantic import Field

from assets import sensors
from assets.sensors import WEBHOOK, alerts
from eval_pipeline.errors import CorpusUnreachable
from tests.assets.conftest import QUIET
from tests.receiver import Receiver, receiving


class Said(dg.Config):
    """What the checks of a run say: a check's name, and its outcome with its reason."""

    claims: dict[str, str] = Field(default={})
    seal_holds: bool = True
    breaks_down: bool = False


@dg.asset(group_name="toy")
def verdict(config: Said) -> None:
    """An asset that may break down."""
    if config.breaks_down:
        raise CorpusUnreachable("the corpus at host=db cannot be reached (refused); start it")


def _check(name: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=verdict, name=name)
    def claim(config: Said) -> dg.AssetCheckResult:
        outcome, _, reason = config.claims.get(name, "pass").partition(":")
        return dg.AssetCheckResult(
            passed=outcome == "pass",
            severity=dg.AssetCheckSeverity.ERROR if outcome == "fail" else dg.AssetCheckSeverity.WARN,
            description=f"{name} is {outcome}",
            metadata={"outcome": outcome, "reason": reason or "none", "estimate": 0.25, "threshold": 0.1},
        )

    return claim


@dg.asset_check(asset=verdict, name="seal", blocking=True)
def seal(config: Said) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=config.seal_holds, description="the plan hashes to another seal")


CLAIMS = ("recall", "uniformity")
DEFINITIONS = dg.Definitions(
    assets=[verdict],
    asset_checks=[seal, *map(_check, CLAIMS)],
    jobs=[dg.define_asset_job("toy", selection="*")],
    sensors=[alerts],
    executor=dg.in_process_executor,
)


class Night:
    """An instance on disk with runs in it, at which the sensor looks as its daemon does, from cursor to cursor."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self.cursor: str | None = None

    def look(self) -> str:
        """What the sensor says of a look."""
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, definitions=DEFINITIONS, sensor_name="alerts"
        )
        said = alerts.evaluate_tick(context)
        self.cursor = said.cursor or self.cursor
        return str(said.skip_message)

    def run(self, *, seal_holds: bool = True, breaks_down: bool = False, **claims: str) -> None:
        """A run whose checks say so."""
        said = {"config": {"claims": claims, "seal_holds": seal_holds, "breaks_down": breaks_down}}
        job = DEFINITIONS.resolve_job_def("toy")
        config: dict[str, Any] = {"ops": {node.name: said for node in job.nodes}, **QUIET}
        job.execute_in_process(run_config=config, instance=self.instance, raise_on_error=False)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as taking:
        monkeypatch.setenv(WEBHOOK, taking.url)
        yield taking


@pytest.fixture
def night(tmp_path: Path, receiver: Receiver) -> Iterator[Night]:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        turned_on = Night(instance)
        turned_on.look()
        yield turned_on


def test_a_breach_is_posted_once_and_a_pass_a_warning_and_a_want_of_evidence_are_not(
    night: Night, receiver: Receiver
) -> None:
    night.run(recall="warn:uncalibrated", uniformity="fail:threshold_missed")
    night.run(recall="skip:underpowered", uniformity="pass")
    assert [night.look() for _ in range(3)] == ["2 posted", "0 posted", "0 posted"]
    assert receiver.events() == [("breach", "uniformity"), ("recovery", "uniformity")]
    (breach, _) = receiver.taken
    assert (breach["study"], breach["asset"], breach["estimate"]) == ("toy", "verdict", 0.25)
    assert breach["text"].startswith("BREACH toy: uniformity fail (threshold_missed), estimate 0.25, bar 0.1.")


def test_a_breach_of_every_night_is_posted_every_night_and_its_end_once(night: Night, receiver: Receiver) -> None:
    for outcome in ("fail", "fail", "pass", "pass", "skip:judge_down", "skip:underpowered", "warn"):
        night.run(recall=outcome)
        night.look()
    assert [event for event, _ in receiver.events()] == ["breach", "breach", "recovery", "breach", "recovery"]


def test_a_broken_seal_is_a_breach_of_its_check_and_not_of_the_run_too(night: Night, receiver: Receiver) -> None:
    night.run(seal_holds=False)
    night.look()
    assert receiver.events() == [("breach", "seal")]
    night.run()
    night.look()
    assert receiver.events()[1:] == [("recovery", "seal")]


def test_a_run_that_broke_down_is_posted_with_the_sentence_that_ended_it(night: Night, receiver: Receiver) -> None:
    night.run(breaks_down=True)
    night.run()
    night.look()
    assert receiver.events() == [("breach", "run"), ("recovery", "run")]
    assert "the corpus at host=db cannot be reached (refused); start it" in receiver.taken[0]["text"]


def test_what_a_receiver_does_not_take_is_posted_later_and_nothing_twice(night: Night, receiver: Receiver) -> None:
    night.run(recall="fail", uniformity="fail")
    receiver.status = 503
    assert "it answered 503); it is posted again at the next look" in night.look()
    night.run(recall="fail", uniformity="skip:underpowered")
    assert (receiver.taken, len(receiver.refused)) == ([], 1)
    receiver.status = 200
    night.look()
    assert receiver.events() == [("breach", "recall"), ("breach", "uniformity"), ("breach", "recall")]
    assert len(set(receiver.keys)) == 3


def test_a_look_that_is_killed_after_a_post_does_not_post_it_again(
    night: Night, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cursor of a look that was killed is lost; what was taken is noted post by post."""
    night.run(recall="fail", uniformity="fail")
    taken: Callable[..., None] = sensors.post

    def killed_at_the_second(url: str, body: dict[str, Any]) -> None:
        if receiver.taken:
            raise KeyboardInterrupt
        taken(url, body)

    monkeypatch.setattr(sensors, "post", killed_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        night.look()
    monkeypatch.setattr(sensors, "post", taken)
    assert night.look() == "1 posted"
    assert sorted(receiver.events()) == [("breach", "recall"), ("breach", "uniformity")]


def test_an_end_of_another_kind_is_looked_at_in_the_order_of_time(night: Night, receiver: Receiver) -> None:
    """A run that failed at its seal, and one after it that held: told otherwise there is no recovery."""
    night.run(seal_holds=False)
    night.run()
    night.run(seal_holds=False)
    night.look()
    assert [event for event, _ in receiver.events()] == ["breach", "recovery", "breach"]


def test_it_begins_with_what_ends_after_it_was_turned_on(tmp_path: Path, receiver: Receiver) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        night = Night(instance)
        night.run(recall="fail")
        assert night.look() == "begins with the next run"
        night.run(uniformity="fail")
        night.look()
    assert receiver.events() == [("breach", "uniformity")]


def test_a_study_may_have_a_receiver_of_its_own(
    night: Night, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as own:
        monkeypatch.setenv(f"{WEBHOOK}_TOY", own.url)
        night.run(recall="fail")
        night.look()
        assert (own.events(), receiver.events()) == ([("breach", "recall")], [])


def test_without_an_address_it_says_so_and_passes_nothing_over(
    night: Night, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(WEBHOOK)
    night.run(recall="fail")
    assert WEBHOOK in night.look()
    monkeypatch.setenv(WEBHOOK, receiver.url)
    night.look()
    assert receiver.events() == [("breach", "recall")]


def test_what_ends_after_it_was_turned_on_without_an_address_is_posted_once_it_has_one(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(WEBHOOK)
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        night = Night(instance)
        assert WEBHOOK in night.look()
        night.run(recall="fail")
        monkeypatch.setenv(WEBHOOK, receiver.url)
        assert night.look() == "1 posted"
    assert receiver.events() == [("breach", "recall")]


def test_a_look_whose_time_is_over_within_a_run_leaves_the_rest_of_it_to_the_next(
    night: Night, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster calls off a look after a minute, and a slow receiver of a run with many claims would take longer."""
    night.run(recall="fail", uniformity="fail")
    monkeypatch.setattr(sensors, "_LOOK_S", 0.2)
    taken: Callable[..., None] = sensors.post

    def slow(url: str, body: dict[str, Any]) -> None:
        time.sleep(0.2)
        taken(url, body)

    monkeypatch.setattr(sensors, "post", slow)
    assert night.look() == "1 posted"
    monkeypatch.setattr(sensors, "post", taken)
    assert [night.look(), night.look()] == ["1 posted", "0 posted"]
    assert sorted(receiver.events()) == [("breach", "recall"), ("breach", "uniformity")]


def test_an_address_that_is_none_is_said_at_each_look_and_passes_nothing_over(
    night: Night, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    night.run(recall="fail")
    monkeypatch.setenv(WEBHOOK, "hooks.internal/x")
    assert "is no http or https address with a host" in night.look()
    monkeypatch.setenv(WEBHOOK, receiver.url)
    night.look()
    assert receiver.events() == [("breach", "recall")]


def test_the_secret_of_the_address_is_in_nothing_that_the_sensor_says_or_keeps(
    night: Night, receiver: Receiver, tmp_path: Path
) -> None:
    night.run(recall="fail")
    receiver.status = 500
    said = night.look()
    receiver.status = 200
    night.look()
    assert "hook-4e1f7c" not in said + json.dumps(night.cursor)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"hook-4e1f7c" not in file.read_bytes(), file

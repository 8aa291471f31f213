"""What is looked for while nobody watches: inputs that changed, and evaluations that somebody must know of."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster import DagsterEventType, DagsterInstance

from assets.resources import StudyInputs
from assets.standing import standing_inputs, variable_of
from eval_pipeline.alerts import Evaluation, Event, Standing, event_of, host_of, payload, post, standing_after
from eval_pipeline.canonical import content_hash
from eval_pipeline.corpus.source import pinned
from eval_pipeline.errors import AlertNotDelivered
from eval_pipeline.records import Outcome
from eval_pipeline.studies.extraction.fixture import pinned_fixture

WEBHOOK = "EVAL_PIPELINE_WEBHOOK_URL"
_KEPT = "eval_pipeline"  # at the head of what alerts keep beside Dagster's own cursors
_ENDS = (DagsterEventType.RUN_SUCCESS, DagsterEventType.RUN_FAILURE, DagsterEventType.RUN_CANCELED)
_LOOK_S = 30  # of a look at ended runs; what is left is for the next
_PAGE = 1000


@dg.sensor(job_name="extraction", minimum_interval_seconds=60)
def changed_inputs(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Runs the extraction study where the corpus or the fixture that the environment names is new, or was changed."""
    inputs = standing_inputs()
    if "corpus" not in inputs:
        return dg.SkipReason(f"{variable_of('corpus')} is not set; name the corpus there: a folder, a DSN, or sample")
    of_run = StudyInputs(**inputs)  # type: ignore[arg-type]  # texts, all of them
    corpus, fixture = pinned(of_run.corpus), pinned_fixture(of_run.propositions_path)
    if corpus.refusal or fixture.refusal:
        refusals = [refusal.detail for refusal in (corpus.refusal, fixture.refusal) if refusal]
        return dg.SkipReason(f"the inputs cannot be read: {'; '.join(refusals)}")
    found = content_hash([corpus.hash, fixture.hash])
    turn, _, before = (context.cursor or "0:").rpartition(":")
    if found == before:
        return dg.SkipReason("corpus and fixture are what they were")
    # Inputs may turn back to what they were, and Dagster starts no second run under the same key.
    cursor = f"{int(turn or 0) + 1}:{found}"
    context.update_cursor(cursor)
    return dg.RunRequest(run_key=f"extraction-{cursor}", run_config={"resources": {"inputs": {"config": inputs}}})


@dg.sensor(minimum_interval_seconds=10)
def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Posts each breach once to the webhook that the environment names, and that it is over once it is.

    It begins with the runs that end after it was turned on. What a receiver did not take is posted at a later look;
    what it took is noted at once beside Dagster's cursors, so that no restart posts it again.
    """
    instance = context.instance
    unset = f"{WEBHOOK} is not set; name the address there that alerts are to be posted to"
    if context.cursor is None:
        said = "begins with the next run" if os.environ.get(WEBHOOK) else unset
        return dg.SensorResult(cursor=json.dumps(_ends_so_far(instance)), skip_reason=said)
    if not os.environ.get(WEBHOOK):
        return dg.SkipReason(unset)
    if host_of(os.environ[WEBHOOK]) is None:
        return dg.SkipReason(f"{WEBHOOK} is no http or https address with a host; name another, nothing is lost")
    positions: dict[str, str | None] = json.loads(context.cursor)
    until, sent, problem = time.monotonic() + _LOOK_S, 0, None
    while time.monotonic() < until and (end := _next_end(instance, positions)):
        kind, position, run_id, at = end
        try:
            for one in _evaluations(context, kind, run_id, at):
                if _told(instance, one):
                    sent += 1
                    if time.monotonic() >= until:
                        break  # the rest of this run is for the next look, which finds noted what was posted
            else:
                positions[kind.value] = position
        except AlertNotDelivered as error:
            problem = f"{error}; it is posted again at the next look"
            break
    return dg.SensorResult(cursor=json.dumps(positions), skip_reason=problem or f"{sent} posted")


def _ends_so_far(instance: DagsterInstance) -> dict[str, str | None]:
    """For each kind of end, the position after the last run that came to it."""
    positions: dict[str, str | None] = {}
    for kind in _ENDS:
        position, more = None, True
        while more:
            page = instance.fetch_run_status_changes(kind, limit=_PAGE, cursor=position, ascending=True)
            position, more = page.cursor if page.records else position, page.has_more
        positions[kind.value] = position
    return positions


def _next_end(
    instance: DagsterInstance, positions: Mapping[str, str | None]
) -> tuple[DagsterEventType, str, str, float] | None:
    """The run that ended first of those that were not looked at: how, the position after it, its id, and when."""
    ends = []
    for kind in _ENDS:
        page = instance.fetch_run_status_changes(kind, limit=1, cursor=positions[kind.value], ascending=True)
        ends += [(kind, page.cursor, record.run_id, record.timestamp) for record in page.records]
    return min(ends, key=lambda end: end[3], default=None)


def _evaluations(
    context: dg.SensorEvaluationContext, kind: DagsterEventType, run_id: str, at: float
) -> Iterator[Evaluation]:
    """What the checks of a run said, in their order, and at last whether the run itself came to its end."""
    records = context.instance.get_records_for_run(run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION).records
    blocked = False
    for record in records:
        event = record.event_log_entry.dagster_event
        if event is None:
            continue
        said = event.asset_check_evaluation_data
        blocked |= bool(said.blocking and not said.passed)
        yield _evaluation(context, said, run_id, record.storage_id, record.timestamp)
    if kind is not DagsterEventType.RUN_CANCELED and not blocked:
        yield _of_run(context.instance, run_id, at, passed=kind is DagsterEventType.RUN_SUCCESS)


def _evaluation(
    context: dg.SensorEvaluationContext, said: dg.AssetCheckEvaluation, run_id: str, number: int, at: float
) -> Evaluation:
    shown = {name: entry.value for name, entry in said.metadata.items()}
    asset, subject = said.asset_key.to_user_string(), said.partition or str(shown.get("track") or "")
    return Evaluation(
        key=f"{run_id}:{number}:{asset}:{said.check_name}:{subject}",
        study=_group(context, said.asset_key) or asset,
        asset=asset,
        check=said.check_name,
        subject=subject,
        passed=said.passed,
        severe=said.severity is dg.AssetCheckSeverity.ERROR,
        outcome=Outcome(str(shown["outcome"])) if "outcome" in shown else None,
        reason=None if shown.get("reason") in (None, "none") else str(shown["reason"]),
        detail=said.description,
        estimate=_number(shown.get("estimate")),
        threshold=_number(shown.get("threshold")),
        run=run_id,
        at=_iso(at),
    )


def _of_run(instance: DagsterInstance, run_id: str, at: float, *, passed: bool) -> Evaluation:
    """The end of a run as an evaluation of its job: a run that broke down is a breach too."""
    run = instance.get_run_by_id(run_id)
    job = run.job_name if run else "unknown"
    subject = str(run.tags.get("dagster/partition") or "") if run else ""
    if job.startswith("__"):  # of assets that were picked in the user interface: no run of others makes up for it
        subject = run_id
    return Evaluation(
        key=f"{run_id}:run",
        study=job,
        asset="",
        check="run",
        subject=subject,
        passed=passed,
        severe=True,
        outcome=None,
        reason=None,
        detail=None if passed else _cause(instance, run_id),
        estimate=None,
        threshold=None,
        run=run_id,
        at=_iso(at),
    )


def _cause(instance: DagsterInstance, run_id: str) -> str:
    """What the innermost error of the first step that failed says, in its first line."""
    for record in instance.get_records_for_run(run_id, of_type=DagsterEventType.STEP_FAILURE).records:
        event = record.event_log_entry.dagster_event
        error = event.step_failure_data.error if event else None
        while error and error.cause:
            error = error.cause
        if error:
            return error.message.strip().splitlines()[0]
    return "the run broke down outside of its steps; see its log in Dagster"


def _told(instance: DagsterInstance, evaluation: Evaluation) -> bool:
    """Whether this evaluation was posted now: it had to be, and had not been.

    Raises: AlertNotDelivered: the receiver did not take it.
    """
    store = instance.daemon_cursor_storage
    done = f"{_KEPT}/posted/{evaluation.key}"
    place = f"{_KEPT}/standing/{evaluation.study}:{evaluation.asset}:{evaluation.check}:{evaluation.subject}"
    kept = store.get_cursor_values({done, place})
    if done in kept:
        return False
    before = Standing(kept[place]) if place in kept else None
    event = event_of(evaluation, before)
    if event:
        post(_webhook(evaluation.study), payload(Event(event), evaluation))
    after = standing_after(evaluation, before)
    news = ({done: evaluation.at} if event else {}) | ({place: after.value} if after and after != before else {})
    if news:
        store.set_cursor_values(news)
    return event is not None


def _webhook(study: str) -> str:
    """Where alerts of a study are posted: to an address of its own, if it has one, or to that of all."""
    own = os.environ.get(f"{WEBHOOK}_{study.upper().replace('-', '_')}")
    return own or os.environ[WEBHOOK]


def _group(context: dg.SensorEvaluationContext, key: dg.AssetKey) -> str | None:
    graph = context.repository_def.asset_graph if context.repository_def else None
    return graph.get(key).group_name if graph and graph.has(key) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


SENSORS = [changed_inputs, alerts]

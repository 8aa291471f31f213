"""Alerts: which evaluations an operator is told of, in which words, and the one post that tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import httpx

from eval_pipeline.errors import AlertNotDelivered
from eval_pipeline.records import Outcome, Reason

OPERATIONAL = frozenset(
    {
        Reason.FIXTURE_MISSING,
        Reason.FIXTURE_MALFORMED,
        Reason.FIXTURE_DRIFT,
        Reason.CORPUS_UNREACHABLE,
        Reason.CORPUS_INCOMPLETE,
        Reason.CORPUS_MALFORMED,
        Reason.CORPUS_EMPTY,
        Reason.JUDGE_DOWN,
        Reason.CAP_REACHED,
        Reason.UNTRUSTWORTHY,
        Reason.SPAN_MALFORMED,
        Reason.SEAL_BROKEN,
        Reason.CHECK_OUTDATED,
        Reason.MECHANISM_BROKEN,
        Reason.BASELINE_CHANGED,
    }
)
_TIMEOUT_S = 10.0
_DETAIL_SHOWN = 600  # letters of a detail in the line for people; the field beside it holds them all


class Standing(StrEnum):
    """How things stand with a check after an evaluation, as far as an operator must know."""

    BREACH = "breach"
    GOOD = "good"
    OPEN = "open"  # neither: the evidence carries no verdict, and nobody need get up for it


class Event(StrEnum):
    """What an operator is told."""

    BREACH = "breach"
    RECOVERY = "recovery"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a check, or the end of a run, said once.

    `key` is unlike that of every other evaluation. `subject` is the partition, or empty. A check that is no verdict has
    no outcome, and `severe` says whether it counts as an error if it did not pass.
    """

    key: str
    study: str
    asset: str
    check: str
    subject: str
    passed: bool
    severe: bool
    outcome: Outcome | None
    reason: str | None
    detail: str | None
    estimate: float | None
    threshold: float | None
    run: str
    at: str

    @property
    def standing(self) -> Standing:
        """A fail, a broken seal or a skip that somebody must mend is a breach; a pass or a warning is good."""
        if self.outcome is None:
            return Standing.GOOD if self.passed else Standing.BREACH if self.severe else Standing.OPEN
        if self.outcome is Outcome.SKIP:
            return Standing.BREACH if self.reason in OPERATIONAL else Standing.OPEN
        return Standing.BREACH if self.outcome is Outcome.FAIL else Standing.GOOD


def event_of(evaluation: Evaluation, before: Standing | None) -> Event | None:
    """What is told of an evaluation: each breach, and the first good one after a breach; None of all others."""
    if evaluation.standing is Standing.BREACH:
        return Event.BREACH
    return Event.RECOVERY if evaluation.standing is Standing.GOOD and before is Standing.BREACH else None


def standing_after(evaluation: Evaluation, before: Standing | None) -> Standing | None:
    """How things stand now: what is open leaves them as they were."""
    return before if evaluation.standing is Standing.OPEN else evaluation.standing


def payload(event: Event, evaluation: Evaluation) -> dict[str, Any]:
    """The body of the post: `text` is a line for people as Slack takes it, the other fields are for programs."""
    fields = {
        "event": event.value,
        "study": evaluation.study,
        "asset": evaluation.asset,
        "check": evaluation.check,
        "subject": evaluation.subject,
        "outcome": evaluation.outcome and evaluation.outcome.value,
        "reason": evaluation.reason,
        "detail": evaluation.detail,
        "estimate": evaluation.estimate,
        "threshold": evaluation.threshold,
        "run": evaluation.run,
        "at": evaluation.at,
        "evaluation": evaluation.key,
    }
    return {"text": _escaped(_line(fields)), **fields}


def _line(fields: Mapping[str, Any]) -> str:
    of = f" of {fields['subject']}" if fields["subject"] else ""
    said = fields["outcome"] or ("failed" if fields["event"] == Event.BREACH else "passed")
    why = f" ({fields['reason']})" if fields["reason"] else ""
    numbers = f", estimate {fields['estimate']:.4g}" if fields["estimate"] is not None else ""
    numbers += f", bar {fields['threshold']:.4g}" if fields["threshold"] is not None else ""
    detail = fields["detail"] or ""
    shown = detail if len(detail) <= _DETAIL_SHOWN else f"{detail[:_DETAIL_SHOWN]}..."
    head = f"{fields['event'].upper()} {fields['study']}: {fields['check']}{of} {said}{why}{numbers}"
    return f"{head}. {shown} [run {fields['run'][:8]}]"


def _escaped(text: str) -> str:
    """Text in which Slack finds no link, mention or markup of its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def post(url: str, body: Mapping[str, Any]) -> None:
    """Returns once the receiver took the post; its key lets a receiver see that it got one twice.

    Raises: AlertNotDelivered: it is no address, nobody answered, or with something else than 2xx; the path of the
        address, which is as good as a password, is not in the message.
    """
    where = host_of(url)
    if where is None:
        raise AlertNotDelivered(
            "the webhook is no http or https address with a host, and did not take an alert; name another"
        )
    try:
        headers = {"Idempotency-Key": str(body["evaluation"])}
        status = httpx.post(url, json=dict(body), headers=headers, timeout=_TIMEOUT_S).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise AlertNotDelivered(f"the webhook at {where} did not take an alert ({type(error).__name__})") from None
    if not 200 <= status < 300:
        raise AlertNotDelivered(f"the webhook at {where} did not take an alert (it answered {status})")


def host_of(url: str) -> str | None:
    """Where an address leads, without the part that lets one in; None if it is no http or https address."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.hostname}{port}" if parts.scheme in ("http", "https") and parts.hostname else None

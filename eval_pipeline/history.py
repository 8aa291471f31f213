"""Verdicts over time: each run of a study is a look, entered in the ledger with intervals that hold at all looks."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from eval_pipeline.document import document_bytes, plain_number
from eval_pipeline.ledger import Kind, Line
from eval_pipeline.records import Interval, Outcome
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.scalars import as_printed, reaches
from eval_pipeline.stats.spending import level_of_look

IntervalAt = Callable[[Fraction], Interval | None]
Judge = str | Mapping[str, str] | None

KEPT = ("claim", "outcome", "reason", "estimate", "interval", "threshold", "numerator", "denominator")
_OF_LOOK = ("plan", "seal", "document", "judge", "hashes", "versions", "generation")


@dataclass(frozen=True, slots=True)
class Anytime:
    """The level that all looks at a claim share, and of the claims that have one the interval at any level.

    Such an interval must be good far in the tails, as no quantile of a few thousand resamples is. It is None where the
    data have none.
    """

    level: Fraction
    intervals: Mapping[str, IntervalAt]


def exact_intervals(document: Mapping[str, Any], claims: Iterable[str]) -> dict[str, IntervalAt]:
    """Exact intervals of those of the claims whose numerator counts independent trials of their denominator."""

    def of(numerator: int, denominator: int) -> IntervalAt:
        return lambda level: exact_interval(numerator, denominator, level=level)

    named = set(claims)
    return {
        claim["claim"]: of(claim["numerator"], claim["denominator"])
        for claim in document["claims"]
        if claim["claim"] in named and claim["denominator"]
    }


def evidence_hash(document: Mapping[str, Any]) -> str:
    """The sha256 of a verdict document; the day on which constants were computed is no part of what is known."""
    undated = [{name: one[name] for name in one if name != "computed_on"} for one in document.get("constants", [])]
    return hashlib.sha256(document_bytes({**document, "constants": undated})).hexdigest()


def look_body(
    lines: Iterable[Line],
    document: Mapping[str, Any],
    *,
    subject: str,
    judge: Judge,
    anytime: Anytime | None,
    run: str,
    generation: str | None = None,
) -> dict[str, Any]:
    """What the ledger is to say of a verdict: the claims, the number of the look, and its intervals.

    Looks are numbered within one study, subject, plan and judge; a new plan or judge begins anew. Each look counts, if
    its numbers are withheld too, so that no choice among the looks buys level back. The same verdict again is the look
    that it was, with its intervals.

    Args:
        lines: of the ledger.
        document: the verdict document.
        subject: what of the study it is about, such as a track; "" for a study that has one subject.
        judge: the fingerprint of the judge, or those of it under each prompt; None where none judged.
        anytime: None for a study none of whose claims has an interval at any level.
        run: the id of the run.
        generation: of a closed loop.

    """
    seal, evidence = document["hashes"]["plan"], evidence_hash(document)
    known: dict[str, list[dict[str, Any]]] = {}
    for line in looks_at(lines, document["study"], subject):
        if (line.body["seal"], line.body["judge"]) == (seal, judge):
            known.setdefault(line.body["document"], line.body["claims"])
    body = {
        "study": document["study"],
        "subject": subject,
        "plan": document["plan"],
        "seal": seal,
        "document": evidence,
        "judge": judge,
        "hashes": dict(document["hashes"]),
        "versions": dict(document["versions"]),
        "run": run,
        "claims": known.get(evidence) or [_claim(one, len(known) + 1, anytime) for one in document["claims"]],
    }
    if generation is None:
        return body
    return body | {"generation": generation, "decision": document["decision"]["word"]}


def looks_at(lines: Iterable[Line], study: str, subject: str) -> list[Line]:
    """The looks at a subject; verdicts that were entered before there were looks hold no claims, and are none."""
    return [
        line
        for line in lines
        if line.kind is Kind.VERDICT
        and "claims" in line.body
        and (line.body["study"], line.body["subject"]) == (study, subject)
    ]


def history_document(lines: Iterable[Line], *, study: str, subject: str) -> dict[str, Any]:
    """The course of each claim as plain values, and the findings in it, the latest first.

    Runs one after the other that came to the same verdict are one point, from `at` to `until`. A point says what
    differs from the one before it, and on which side of the bar its interval over all looks lies.
    """
    looks = _folded(looks_at(lines, study, subject))
    names = dict.fromkeys(claim["claim"] for look in reversed(looks) for claim in look["claims"])
    claims = [{"claim": name, "points": _course(name, looks)} for name in names]
    findings = [
        {"at": point["at"], "claim": claim["claim"], "sentence": sentence}
        for claim in claims
        for point in claim["points"]
        for sentence in point["findings"]
    ]
    return {
        "study": study,
        "subject": subject,
        "runs": sum(look["runs"] for look in looks),
        "claims": claims,
        "findings": sorted(findings, key=lambda one: one["at"], reverse=True),
    }


def _claim(claim: Mapping[str, Any], look: int, anytime: Anytime | None) -> dict[str, Any]:
    """A claim as it is entered; one whose number is withheld has no interval either."""
    level = level_of_look(look, level=anytime.level) if anytime else None
    interval_at = anytime.intervals.get(claim["claim"]) if anytime else None
    interval = interval_at(level) if interval_at and level is not None and claim["estimate"] is not None else None
    return {name: claim[name] for name in KEPT} | {
        "look": look,
        "level": None if level is None else float(level),
        "low": plain_number(interval.low) if interval else None,
        "high": plain_number(interval.high) if interval else None,
    }


def _folded(looks: Sequence[Line]) -> list[dict[str, Any]]:
    """The looks in their order, each with when it was first and last taken; the same again is folded into it."""
    folded: list[dict[str, Any]] = []
    for line in looks:
        body = {name: line.body.get(name) for name in _OF_LOOK}
        if folded and all(folded[-1][name] == body[name] for name in ("seal", "judge", "document")):
            folded[-1] |= {"until": line.at, "runs": folded[-1]["runs"] + 1}
        else:
            folded.append(body | {"at": line.at, "until": line.at, "runs": 1, "claims": line.body["claims"]})
    return folded


def _course(name: str, looks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points of a claim, one for each look that makes it."""
    points: list[dict[str, Any]] = []
    for look in looks:
        claim = next((one for one in look["claims"] if one["claim"] == name), None)
        if claim is None:
            continue
        of_look = {one: look[one] for one in ("at", "until", "runs", "plan", "seal", "judge", "hashes", "versions")}
        point = {**claim, **of_look, "generation": look["generation"], "side": side_of_bar(claim)}
        before = points[-1] if points else None
        point["changed"] = _changed(before, point) if before else []
        point["moved_since"] = _moved_since(points, point)
        point["findings"] = _findings(before, point) if before else []
        points.append(point)
    return points


def side_of_bar(claim: Mapping[str, Any]) -> str:
    """On which side of the bar the interval over all looks lies: above, below, both, or unknown without one."""
    low, high, threshold = claim["low"], claim["high"], claim["threshold"]
    if threshold is None or (low is None and high is None):
        return "unknown"
    bar = as_printed(threshold, "threshold")
    if low is not None and not reaches(-low, -bar):
        return "above"
    return "below" if high is not None and not reaches(high, bar) else "both"


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two points beside the numbers: plan, judge, what was measured, the code."""
    found = [word for word, name in (("plan", "seal"), ("judge", "judge")) if before[name] != now[name]]
    if before["generation"] != now["generation"]:
        found.append("generation")
    for part in ("hashes", "versions"):
        names = dict.fromkeys([*before[part], *now[part]])
        found += [name for name in names if name != "plan" and before[part].get(name) != now[part].get(name)]
    return found


def _same_series(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one["seal"] == other["seal"] and one["judge"] == other["judge"])


def _moved_since(points: Sequence[Mapping[str, Any]], now: Mapping[str, Any]) -> str | None:
    """When the claim was first measured at what the value is no longer; None if it may have stayed.

    That is within a series, and since the value last moved, so that each move is told once.
    """
    series = [one for one in points if _same_series(one, now)]
    last = max((place for place, one in enumerate(series) if one["moved_since"]), default=0)
    return next((one["at"] for one in series[last:] if _apart(one, now)), None)


def _apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two intervals over all looks have nothing in common."""
    ends = one["low"], one["high"], other["low"], other["high"]
    return None not in ends and bool(one["high"] < other["low"] or other["high"] < one["low"])


def _findings(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is to be told of a point: that the outcome turned, and that the value moved."""
    found = []
    if before["outcome"] != now["outcome"]:
        found.append(f"{now['claim']} turned from {before['outcome']} to {now['outcome']}: {_weighed(now)}{_anew(now)}")
    if now["moved_since"]:
        day = now["moved_since"][:10]
        found.append(f"{now['claim']} has moved since {day}: intervals that hold at all looks have nothing in common")
    return found


def _weighed(now: Mapping[str, Any]) -> str:
    """What the interval over all looks says of the side of the bar on which the value lies."""
    if now["outcome"] == Outcome.SKIP.value:
        return f"it is withheld ({str(now['reason']).replace('_', ' ')})"
    if now["side"] == "unknown":
        return "no interval is known that holds at all looks, and nobody can say whether it is chance"
    ends = " to ".join("open" if end is None else f"{end:.4f}" for end in (now["low"], now["high"]))
    if now["side"] == "both":
        return f"it may be chance of so many looks, since {ends}, which holds at all looks, has the bar in it"
    return f"it is established that the value lies {now['side']} the bar, by {ends}, which holds at all looks"


def _anew(now: Mapping[str, Any]) -> str:
    """A clause where the plan or the judge is another than at the point before, whose looks do not count here."""
    changed = [name for name in ("plan", "judge") if name in now["changed"]]
    return f"; another {' and another '.join(changed)}, whose looks are counted by themselves" if changed else ""

"""The findings of a track as one document, in which every number has a path."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval_pipeline.canonical import content_hash
from eval_pipeline.document import plain_interval, plain_number, plain_value
from eval_pipeline.records import Outcome, Reason
from eval_pipeline.studies.label_signal.claims import Claim, tally
from eval_pipeline.studies.label_signal.comparisons import Comparison
from eval_pipeline.studies.label_signal.detection import sensitivity_rate
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.sensitivity.robustness import SensitivityFindings
from eval_pipeline.studies.label_signal.study import Studied
from eval_pipeline.studies.label_signal.words import CheckName, Standing

STUDY = "label-signal"
NO_EFFECTS = "No failure code says what it costs, so that a failure which no score shows is no proof of a blind spot."
SIMULATED = "Nobody rated this: the raters are simulated, and what is said of them says nothing of people."

_OUTCOMES = {
    Standing.PASS: Outcome.PASS,
    Standing.WARN: Outcome.WARN,
    Standing.BLOCK: Outcome.SKIP,
    Standing.NOT_APPLICABLE: Outcome.SKIP,
}
_REASONS: Mapping[CheckName, Reason] = {
    "reliability": Reason.RATERS_DISAGREE,
    "precision": Reason.UNDERPOWERED,
    "effect_vs_mde": Reason.UNDERPOWERED,
    "interval_excludes_zero": Reason.NOT_SHOWN,
    "multiplicity": Reason.NOT_SHOWN,
    "coverage": Reason.UNCOVERED,
    "replication": Reason.UNDERPOWERED,
    "annotator_pool": Reason.RATERS_FLAGGED,
    "drift": Reason.DRIFT,
    "rubric_specification": Reason.RUBRIC_GAPS,
    "gold_calibration": Reason.UNCALIBRATED,
    "depth_contract": Reason.DEPTH,
}


def track_document(
    studied: Studied, plan: LabelSignalPlan, *, seal: str, versions: Mapping[str, str]
) -> dict[str, Any]:
    """What was found of a track, and of what.

    Args:
        studied: the track, its ratings and all that came of them.
        plan: under which.
        seal: of the plan.
        versions: of the programs, by name.

    """
    track, ratings, grounds, details = studied.track, studied.ratings, studied.grounds, studied.details
    conclusion = studied.conclusion
    return {
        "study": STUDY,
        "track": track.key,
        "title": track.about.title,
        "depth": track.about.depth,
        "question": track.about.question,
        "simulated": grounds.simulated,
        "limitations": [
            *([SIMULATED] if grounds.simulated else []),
            *([NO_EFFECTS] if track.effects_missing else []),
            *_unrated(studied),
            *track.about.known_limitations,
        ],
        "counts": {
            "items": grounds.items,
            "answers": grounds.answers,
            "ratings": grounds.rows,
            "raters": len(ratings.raters),
            "replication": plain_number(grounds.replication),
            "planned_items": track.about.target_items,
            "planned_replication": track.about.replication,
            "gold_answers": sum(one.gold_scores is not None for one in track.responses),
            "planted_failures": sum(one.planted_failure is not None for one in track.responses),
        },
        "effects_table_missing": track.effects_missing,
        "unread_columns": list(ratings.unread),
        "policy": {name: plain_value(bar) for name, bar in plan.policy_of(track.about.depth)},
        "claims": [plain_label_claim(claim) for claim in conclusion.claims],
        "ledger": ledger_of(conclusion.claims),
        "decision": {
            "recommendation": conclusion.recommended.recommendation.value,
            "rule": conclusion.recommended.rule,
            "reason": conclusion.recommended.reason,
            "cost_usd": plain_number(conclusion.recommended.cost_usd),
            "irreducible_share": plain_number(conclusion.recommended.irreducible),
            "indicators": dict(conclusion.recommended.indicators),
            "reversal": list(conclusion.recommended.reversal),
            "alpha_mean": plain_number(grounds.alpha_mean),
            "gold_worst": plain_number(grounds.gold_worst),
            "gold_mean": plain_number(grounds.gold_mean),
            "flagged": plain_number(grounds.flagged),
        },
        "agreement": _agreement(studied),
        "composite": plain_value(grounds.composite),
        "systems": {
            one.system: plain_value(one) | {"half_width": plain_number(one.half_width)} for one in grounds.systems
        },
        "comparisons": {
            f"{one.system} - {one.other}": _comparison(one, grounds.levels_of_composite) for one in grounds.comparisons
        },
        "pair_by": grounds.pair_by,
        "levels_of_composite": plain_number(grounds.levels_of_composite),
        "drift": plain_value(grounds.drift),
        "raters": {one.rater: plain_value(one) for one in grounds.profiles},
        "contested": list(grounds.contested),
        "positions": {one.key: plain_value(one) for one in details.positions},
        "triage": plain_value(grounds.triage) | {"adjudicator": _adjudicator(studied)},
        "queue": [plain_value(one) for one in studied.queue],
        "coverage": plain_value(grounds.coverage) if grounds.coverage else None,
        "detection": {
            "sensitivity_rate": plain_number(sensitivity_rate(details.codes)),
            "codes": {one.code: plain_value(one) for one in details.codes},
            "by_status": dict(Counter(one.status for one in details.codes)),
        },
        "investments": [plain_value(one) for one in details.investments],
        "probes": {one.name: plain_value(one) for one in details.probes},
        "attenuation": [plain_value(one) for one in details.binary],
        "plan": plan.name,
        "hashes": {
            "plan": seal,
            "track": track.hash,
            "rubric": track.rubric.version,
            "ratings": ratings.hash,
            "adjudications": content_hash([plain_value(one) for one in studied.adjudicated]),
        },
        "versions": dict(versions),
    }


def _unrated(studied: Studied) -> list[str]:
    """What the ratings leave out: dimensions, systems, and answers that were rated in part."""
    rubric, ratings = studied.track.rubric, studied.ratings
    present = ~np.isnan(ratings.scores)
    weighed = np.array([bool(one.weight) for one in rubric.dimensions])
    rated = weighed & present.any(axis=0)
    never = [key for place, key in enumerate(rubric.keys) if not present[:, place].any()]
    systems = [system for system in studied.track.about.systems if system not in ratings.systems]
    part = int((~present[:, rated]).any(axis=1).sum())
    found = []
    if never:
        found.append(f"Nobody rated {', '.join(never)}; composites rest on the other dimensions.")
    if systems:
        found.append(f"Nobody rated {', '.join(systems)}.")
    if part:
        found.append(
            f"{part} of {len(ratings)} ratings leave a dimension out that has a weight, and have no composite."
        )
    return found


def plain_label_claim(claim: Claim) -> dict[str, Any]:
    """A claim with its checks; the number of one that is withheld is None, and the reasons are its detail."""
    worst = [
        check for check in claim.checks if check.standing is claim.standing and claim.standing is not Standing.PASS
    ]
    return {
        "claim": f"{claim.kind}: {claim.subject}",
        "kind": claim.kind,
        "subject": claim.subject,
        "outcome": _OUTCOMES[claim.standing].value,
        "reason": _REASONS[worst[0].name].value if worst else None,
        "detail": "; ".join(check.detail for check in worst) or claim.sentence.rstrip("."),
        "sentence": claim.sentence if claim.publishable else None,
        "estimate": plain_number(claim.estimate) if claim.publishable else None,
        "numerator": None,
        "denominator": None,
        "interval": plain_interval(claim.interval) if claim.publishable else None,
        "threshold": None,
        "advisory": False,
        "checks": [{"check": one.name, "standing": one.standing.value, "detail": one.detail} for one in claim.checks],
    }


def ledger_of(claims: Sequence[Claim]) -> dict[str, Any]:
    """How many claims were made, and how many of them are withheld."""
    found = tally([claim.standing for claim in claims])
    return dict(plain_value(found)) | {"publishable": found.publishable, "block_rate": found.block_rate}


def _agreement(studied: Studied) -> dict[str, Any]:
    return {
        one.key: {"alpha": plain_value(studied.grounds.alphas[one.key])} | plain_value(one)
        for one in studied.details.coefficients
    }


def _comparison(one: Comparison, levels: float | None) -> dict[str, Any]:
    """A comparison as shares of the scale, and where the scale has levels, in these too."""
    shares = {"effect": one.effect, "sd": one.sd, "mde": one.mde}
    in_levels = {name: plain_number(value * levels) for name, value in shares.items() if levels and value is not None}
    return dict(plain_value(one)) | {"in_levels": in_levels}


def _adjudicator(studied: Studied) -> str | None:
    if not studied.adjudicated:
        return None
    return "simulated" if studied.grounds.simulated else "people"


def sensitivity_document(found: SensitivityFindings, *, of: Mapping[str, str]) -> dict[str, Any]:
    """What the sensitivity of a track came to, and the hashes of what it is of."""
    return {
        "of": dict(of),
        "robustness": found.robustness.value,
        "nearest": plain_value(found.nearest) if found.nearest else None,
        "runs": len(found.outcomes),
        "turned": plain_value(found.turned),
        "kept": plain_value(found.kept),
        "outcomes": [plain_value(one) for one in found.outcomes],
        "thresholds": {one.threshold.name: plain_value(one) for one in found.swept},
        "fragile_thresholds": sum(one.fragile for one in found.swept),
        "joint": plain_value(found.joint),
    }


def _withheld(key: str, document: Mapping[str, Any]) -> list[str]:
    """The paths of the numbers that claims are withheld about, which no document may quote."""
    of_kind = {
        "descriptive": ("agreement", ("alpha",)),
        "measurement": ("systems", ("mean", "interval")),
        "ranking": ("comparisons", ("effect", "interval", "in_levels/effect")),
    }
    return [
        f"/{STUDY}/tracks/{key}/{section}/{claim['subject']}/{name}"
        for claim in document["claims"]
        if claim["outcome"] == Outcome.SKIP.value
        for section, names in [of_kind[claim["kind"]]]
        for name in names
    ]


def portfolio_document(
    tracks: Mapping[str, Mapping[str, Any]], skipped: Mapping[str, str], *, plan: str, seal: str
) -> dict[str, Any]:
    """All tracks in one document, those that were passed over with their reasons.

    Args:
        tracks: the document of each, with its sensitivity.
        skipped: why a folder is no track.
        plan, seal: the plan's name and hash.

    """
    ledgers = [document["ledger"] for document in tracks.values()]
    whole = {
        name: sum(ledger[name] for ledger in ledgers)
        for name in ("claims", "passed", "warned", "blocked", "publishable")
    }
    return {
        "study": STUDY,
        "plan": plan,
        "hashes": {"plan": seal},
        "simulated": any(document["simulated"] for document in tracks.values()),
        "ledger": whole | {"block_rate": round(whole["blocked"] / whole["claims"], 3) if whole["claims"] else None},
        "runs": sum(document["sensitivity"]["runs"] for document in tracks.values() if document.get("sensitivity")),
        "withheld": [path for key, document in tracks.items() for path in _withheld(key, document)],
        "tracks": {key: dict(document) for key, document in tracks.items()},
        "skipped_tracks": dict(skipped),
    }

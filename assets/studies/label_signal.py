"""Label signal as assets, one partition a track: from ratings to claims, recommendation, sensitivity and the report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets.checks import seal_check
from assets.io_managers import ALL_PARTITIONS
from assets.metadata import materialized, to_meta
from assets.partitions import TRACKS
from assets.plans import materialized_plan
from assets.progress import log_progress
from assets.provenance import Chain, provenance_asset, written
from assets.resources import Clock, Home, Software, StudyInputs
from assets.verdict_history import GENERATED, entered
from eval_pipeline.errors import InputRefused
from eval_pipeline.report.figures import PAPER, Dot, as_markdown, dots
from eval_pipeline.report.label_signal import report_files
from eval_pipeline.seal import SealedPlan
from eval_pipeline.studies.label_signal.adjudication import read_adjudications, worksheet
from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.document import (
    SIMULATED,
    STUDY,
    portfolio_document,
    sensitivity_document,
    track_document,
)
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.ratings_file import read_ratings
from eval_pipeline.studies.label_signal.sensitivity.kept import kept_in
from eval_pipeline.studies.label_signal.sensitivity.robustness import findings
from eval_pipeline.studies.label_signal.sensitivity.worlds import outcomes, outcomes_of_people
from eval_pipeline.studies.label_signal.simulation.world import simulated_ratings, world_of
from eval_pipeline.studies.label_signal.study import contested_in, grounds_for, simulated_adjudication, study_on
from eval_pipeline.studies.label_signal.track import Track, discover, read_track
from eval_pipeline.studies.label_signal.triage import Adjudications, queue

GROUP = "label_signal"
CODE = "1"  # raised when the meaning of an asset changes, not when its code does
PEOPLE = "rated by people"


@dg.asset(group_name=GROUP, kinds={"toml"}, code_version=CODE)
def label_plan(inputs: StudyInputs) -> dg.MaterializeResult[SealedPlan]:
    """The plan, under its seal, as it stood when the run began."""
    return materialized_plan(inputs, STUDY, LabelSignalPlan)


@dg.asset_check(asset=label_plan, blocking=True, name="label_seal_holds")
def label_seal_holds(label_plan: SealedPlan) -> dg.AssetCheckResult:
    """The plan hashes to its seal; nothing is computed under one that does not."""
    return seal_check(label_plan, LabelSignalPlan)


@dg.asset(group_name=GROUP, kinds={"json"}, code_version=CODE)
def tracks_passed_over(inputs: StudyInputs) -> dg.MaterializeResult[dict[str, str]]:
    """The folders that hold no track, and why."""
    skipped = dict(discover(inputs.tracks_folder).skipped)
    return materialized(skipped, {"passed_over": len(skipped)})


@dg.asset(group_name=GROUP, kinds={"json"}, code_version=CODE, partitions_def=TRACKS)
def rating_track(context: dg.AssetExecutionContext, inputs: StudyInputs) -> dg.MaterializeResult[Track]:
    """The rubric, the items, and the answers of the systems."""
    found = discover(inputs.tracks_folder)
    if context.partition_key not in found.folders:
        reasons = "".join(f"; {reason}" for reason in found.skipped.values())
        raise InputRefused(
            f"track {context.partition_key!r} is not in folder {str(inputs.tracks_folder)!r}, which holds"
            f" {', '.join(found.folders) or 'no track'}{reasons}"
        )
    track = read_track(found.folders[context.partition_key])
    about = {
        "title": track.about.title,
        "depth": track.about.depth,
        "items": len(track.items),
        "answers": len(track.responses),
        "rubric": track.rubric.version,
        "effects_table_missing": track.effects_missing,
    }
    return materialized(track, about, version=track.hash)


@dg.asset(group_name=GROUP, kinds={"parquet"}, code_version=CODE, partitions_def=TRACKS)
def ratings(rating_track: Track, label_plan: SealedPlan, inputs: StudyInputs) -> dg.MaterializeResult[Ratings]:
    """People's ratings from a file, or those of simulated raters, which say so."""
    plan = label_plan.open(LabelSignalPlan)
    if inputs.ratings:
        found = read_ratings(Path(inputs.ratings), rating_track)
    else:
        found = simulated_ratings(rating_track, world_of(rating_track, plan.simulation), seed=plan.seed)
    about = {
        "raters": SIMULATED if found.source == "simulated" else PEOPLE,
        "ratings": len(found),
        "number_of_raters": len(found.raters),
        "ratings_of_an_answer": found.replication,
        "unread_columns": ", ".join(found.unread) or "none",
    }
    return materialized(found, about, version=found.hash)


@dg.asset(group_name=GROUP, kinds={"json"}, code_version=CODE, partitions_def=TRACKS)
def adjudications(
    rating_track: Track, ratings: Ratings, label_plan: SealedPlan, inputs: StudyInputs
) -> dg.MaterializeResult[Adjudications]:
    """What an adjudicator settled of the answers on which raters lie far apart; a simulated one, if raters are."""
    plan = label_plan.open(LabelSignalPlan)
    if inputs.adjudication:
        settled = read_adjudications(Path(inputs.adjudication), ratings, rating_track)
    elif ratings.source == "simulated" and not inputs.ratings:
        settled = simulated_adjudication(rating_track, ratings, world_of(rating_track, plan.simulation), plan)
    else:
        settled = ()
    about = {
        "queued": len(queue(ratings, rating_track.rubric, plan.triage)),
        "settled": len(settled),
        "rubric_blamed": sum(one.rubric_gap for one in settled),
    }
    return materialized(Adjudications(settled), about)


@dg.asset(group_name=GROUP, kinds={"scipy"}, code_version=CODE, partitions_def=TRACKS)
def label_grounds(
    rating_track: Track, ratings: Ratings, adjudications: Adjudications, label_plan: SealedPlan
) -> dg.MaterializeResult[Grounds]:
    """What claims and the recommendation rest on: agreement, scores, comparisons, drift, raters, coverage."""
    plan = label_plan.open(LabelSignalPlan)
    assumed = contested_in(rating_track, ratings)
    grounds = grounds_for(rating_track, ratings, adjudications.settled, plan, assumed_contested=assumed)
    shown = [
        Dot(key, alpha.estimate, _ends(alpha.interval))
        for key, alpha in grounds.alphas.items()
        if alpha.estimate is not None
    ]
    about: dict[str, Any] = {
        "raters": SIMULATED if grounds.simulated else PEOPLE,
        **{f"alpha_{key}": alpha.estimate for key, alpha in grounds.alphas.items()},
        "composite_reliability": grounds.composite.mean.estimate,
    }
    if shown:
        floor = float(plan.policy_of(grounds.depth).reliability_floor)
        figure = dots(shown, bar=floor, bar_label="floor", palette=PAPER)
        about["agreement"] = dg.MetadataValue.md(as_markdown(figure, label="Krippendorff's alpha by dimension"))
    return materialized(grounds, about)


def _ends(interval: Any) -> tuple[float, float] | None:
    return None if interval is None else (max(0.0, float(interval.low)), max(0.0, float(interval.high)))


_FAMILIES = {
    "descriptive_claims": (
        "descriptive",
        "Raters agree on each dimension well enough that its scores may be described.",
    ),
    "measurement_claims": ("measurement", "Each system's mean score may be published."),
    "ranking_claims": ("ranking", "Each comparison of two systems may be published."),
}


@dg.asset(
    group_name=GROUP,
    kinds={"json"},
    code_version=CODE,
    partitions_def=TRACKS,
    check_specs=[
        dg.AssetCheckSpec(name, asset="label_signal_verdict", description=text) for name, (_, text) in _FAMILIES.items()
    ],
)
def label_signal_verdict(
    rating_track: Track,
    ratings: Ratings,
    adjudications: Adjudications,
    label_grounds: Grounds,
    label_plan: SealedPlan,
    software: Software,
) -> Iterator[dg.MaterializeResult[dict[str, Any]]]:  # with checks of its own, Dagster types no value that is returned
    """The claims with their checks, those that are withheld with their reasons, and what the track is worth."""
    plan = label_plan.open(LabelSignalPlan)  # once more: blocking ends with the run
    studied = study_on(label_grounds, rating_track, ratings, adjudications.settled, plan)
    versions = software.versions("eval-pipeline", "numpy", "scipy")
    document = track_document(studied, plan, seal=label_plan.seal, versions=versions)
    shown = ("claim", "outcome", "reason", "detail")
    about = {
        "raters": SIMULATED if document["simulated"] else PEOPLE,
        "recommendation": document["decision"]["recommendation"],
        "why": document["decision"]["reason"],
        "withheld": document["ledger"]["blocked"],
        "claims": [{name: claim[name] for name in shown} for claim in document["claims"]],
    }
    checks = [_family(name, kind, document) for name, (kind, _) in _FAMILIES.items()]
    yield materialized(document, about, checks=checks)


def _family(name: str, kind: str, document: dict[str, Any]) -> dg.AssetCheckResult:
    """A check that passes if no claim of the kind is withheld or warned of."""
    claims = [claim for claim in document["claims"] if claim["kind"] == kind]
    short = [claim for claim in claims if claim["outcome"] != "pass"]
    said = [f"{claim['subject']}: {claim['detail']}" for claim in short]
    return dg.AssetCheckResult(
        check_name=name,
        passed=not short,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{document['track']}: {'; '.join(said) or 'all may be published'}",
        metadata=to_meta(
            {
                "track": document["track"],
                "claims": len(claims),
                "withheld": sum(claim["outcome"] == "skip" for claim in claims),
                "raters": SIMULATED if document["simulated"] else PEOPLE,
            }
        ),
    )


@dg.asset(group_name=GROUP, kinds={"scipy"}, code_version=CODE, partitions_def=TRACKS)
def label_sensitivity(
    rating_track: Track,
    ratings: Ratings,
    adjudications: Adjudications,
    label_grounds: Grounds,
    label_plan: SealedPlan,
    inputs: StudyInputs,
    home: Home,
) -> dg.MaterializeResult[dict[str, Any]]:
    """Whether the recommendation survives other worlds, other thresholds, and all thresholds at once."""
    plan, known, tell = label_plan.open(LabelSignalPlan), kept_in(home.grounds), log_progress("worlds")
    if inputs.ratings:
        found = outcomes_of_people(
            rating_track, ratings, adjudications.settled, label_grounds, plan, known, progress=tell
        )
    else:
        tracks = [read_track(folder) for folder in discover(inputs.tracks_folder).folders.values()]
        found = outcomes(rating_track, tracks, plan, known, progress=tell)
    of = {"plan": label_plan.seal, "track": rating_track.hash, "ratings": ratings.hash}
    document = sensitivity_document(findings(label_grounds, found, plan), of=of)
    nearest = document["nearest"]
    about = {
        "robustness": document["robustness"],
        "runs": document["runs"],
        "fragile_thresholds": document["fragile_thresholds"],
        "nearest": nearest and f"{nearest['threshold']['name']} at {nearest['at']:g}: {nearest['what']}",
        "turned": [{"axis": axis, "worlds": ", ".join(names)} for axis, names in document["turned"].items()]
        or "nothing",
    }
    return materialized(document, about)


def _of_all_tracks() -> dg.AssetIn:
    """An input that holds the values of all tracks, by their keys."""
    return dg.AssetIn(metadata={ALL_PARTITIONS: True}, partition_mapping=dg.AllPartitionMapping())


@dg.asset(
    group_name=GROUP,
    kinds={"json"},
    code_version=CODE,
    ins={"label_signal_verdict": _of_all_tracks(), "label_sensitivity": _of_all_tracks()},
    deps=[dg.AssetDep("rating_track", partition_mapping=dg.AllPartitionMapping())],
)
def label_signal_portfolio(
    label_signal_verdict: dict[str, dict[str, Any]],
    label_sensitivity: dict[str, dict[str, Any]],
    tracks_passed_over: dict[str, str],
    label_plan: SealedPlan,
    inputs: StudyInputs,
) -> dg.MaterializeResult[dict[str, Any]]:
    """The verdicts of all tracks; those that were studied under another plan are left out, and said to be."""
    plan = label_plan.open(LabelSignalPlan)
    wanted = inputs.only_tracks or list(label_signal_verdict)
    current = {key: found for key, found in label_signal_verdict.items() if found["hashes"]["plan"] == label_plan.seal}
    documents = {
        key: current[key] | {"sensitivity": _of_the_same(label_sensitivity.get(key), current[key])}
        for key in sorted(wanted)
        if key in current
    }
    other = {key: "it was studied under another plan; materialize it again" for key in wanted if key not in current}
    document = portfolio_document(documents, tracks_passed_over | other, plan=plan.name, seal=label_plan.seal)
    return materialized(document, {"tracks": ", ".join(documents), "passed_over": len(document["skipped_tracks"])})


@dg.asset(
    group_name=GROUP,
    kinds={"html"},
    code_version=CODE,
    ins={"rating_track": _of_all_tracks(), "ratings": _of_all_tracks()},
    deps=["tracks_passed_over"],
)
def label_signal_report(
    label_signal_portfolio: dict[str, Any],
    rating_track: dict[str, Track],
    ratings: dict[str, Ratings],
    label_plan: SealedPlan,
    inputs: StudyInputs,
    home: Home,
) -> dg.MaterializeResult[dict[str, str]]:
    """The findings of all tracks as files: results.json, report.html, a worksheet and a memo where there is one."""
    plan = label_plan.open(LabelSignalPlan)
    sheets = {
        key: worksheet(ratings[key], rating_track[key], queue(ratings[key], rating_track[key].rubric, plan.triage))
        for key in label_signal_portfolio["tracks"]
    }
    out = Path(inputs.out) if inputs.out else home.out(STUDY)
    return written(out, report_files(label_signal_portfolio, sheets), {})


def _of_the_same(sensitivity: dict[str, Any] | None, verdict: dict[str, Any]) -> dict[str, Any] | None:
    """The sensitivity, if it is of what the verdict is of."""
    same = sensitivity is not None and all(verdict["hashes"][name] == was for name, was in sensitivity["of"].items())
    return sensitivity if same else None


@dg.asset(group_name=GROUP, kinds={"json", "html"}, code_version=CODE, partitions_def=TRACKS)
def label_signal_history(
    context: dg.AssetExecutionContext,
    label_signal_verdict: dict[str, Any],
    inputs: StudyInputs,
    home: Home,
    clock: Clock,
) -> dg.MaterializeResult[dict[str, Any]]:
    """The claims about a track among those before them, entered in the ledger; a page for each track."""
    track = label_signal_verdict["track"]
    return entered(
        label_signal_verdict,
        subject=f"{track}, {GENERATED}" if label_signal_verdict["simulated"] else track,
        judge=None,
        anytime=None,
        run=context.run.run_id,
        home=home,
        clock=clock,
        out=Path(inputs.out) if inputs.out else home.out(STUDY),
        part=track,
    )


_OF_TRACKS = (
    "rating_track",
    "ratings",
    "adjudications",
    "label_grounds",
    "label_signal_verdict",
    "label_sensitivity",
)
CHAIN = Chain(
    study=GROUP,
    folder=STUDY,
    assets=("label_plan", "tracks_passed_over", *_OF_TRACKS, "label_signal_portfolio", "label_signal_report"),
    given=frozenset({"label_plan", "tracks_passed_over", "rating_track", "ratings", "adjudications"}),
    over_all=frozenset(_OF_TRACKS),
    verdict="label_signal_verdict",
)
label_signal_provenance = provenance_asset(CHAIN)

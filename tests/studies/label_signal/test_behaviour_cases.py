"""The cases of the first version of this evaluation, each through the study's own functions.

A case of kind `seed` runs under the compatibility plan, one of kind `superset` under the shipped one.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval_pipeline.audit import candidates
from eval_pipeline.records import Interval
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.attenuation import label_noise, majority_error, paired_gap
from eval_pipeline.stats.effects import cliffs_delta, magnitude
from eval_pipeline.stats.multiplicity import benjamini_hochberg
from eval_pipeline.stats.permutation import paired_permutation
from eval_pipeline.stats.power import mean_size, true_effect
from eval_pipeline.stats.reliability import spearman_brown
from eval_pipeline.studies.label_signal import gate
from eval_pipeline.studies.label_signal.agreement import alphas, coefficients
from eval_pipeline.studies.label_signal.attenuation import consistency, direction, shrunk
from eval_pipeline.studies.label_signal.batches import is_drift
from eval_pipeline.studies.label_signal.claims import tally
from eval_pipeline.studies.label_signal.comparisons import Comparison, comparisons
from eval_pipeline.studies.label_signal.coverage import coverage
from eval_pipeline.studies.label_signal.decision import Evidence, irreducible_share, recommend
from eval_pipeline.studies.label_signal.detection import (
    MAGNITUDES,
    SMALLEST,
    CodeDetection,
    sensitivity_rate,
    status_of,
)
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.probes import lazy, left_out, rubric_shortcut
from eval_pipeline.studies.label_signal.raters import flagged_fraction, profiles
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Anchor, Dimension, Rubric, composites
from eval_pipeline.studies.label_signal.sensitivity.robustness import robustness
from eval_pipeline.studies.label_signal.sensitivity.thresholds import relative_margin, thresholds
from eval_pipeline.studies.label_signal.sensitivity.worlds import variants
from eval_pipeline.studies.label_signal.track import Item, Track
from eval_pipeline.studies.label_signal.triage import Adjudicated, capacity, queue, settled, summary
from eval_pipeline.studies.label_signal.words import Standing
from tests.studies.label_signal.conftest import ratings_of

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[2] / "reference" / "label_signal_cases.json").read_text())
}
SEED = 20260808


@dataclass(frozen=True)
class Bench:
    """What a case is run with: the plan of its kind, a small track, and those of the house."""

    plan: LabelSignalPlan
    small: Track
    tracks: dict[str, Track]

    def on(self, *dimensions: Dimension) -> Track:
        """The small track with these dimensions instead of its own."""
        return replace(self.small, rubric=self.small.rubric.model_copy(update={"dimensions": dimensions}))


class Expected(dict[str, Any]):
    """What a case expects; `read` are the names that its runner has looked at."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


RUNNERS: dict[str, Callable[[Bench, dict[str, Any], Expected, float], None]] = {}


def runs(topic):
    """Files a function as what runs a topic: it takes the bench, the input, what is expected, and how closely."""

    def file(runner):
        assert topic not in RUNNERS
        RUNNERS[topic] = runner
        return runner

    return file


@pytest.mark.parametrize("case_id", list(CASES))
def test_a_case_comes_out_as_it_was_recorded(case_id, compat, shipped, small, tracks):
    case = CASES[case_id]
    bench = Bench(shipped if case["kind"] == "superset" else compat, small, tracks)
    expected = Expected(case["expected"])
    RUNNERS[case["topic"]](bench, case["input"], expected, case["tolerance"])
    assert expected.read == set(expected), "every number that was recorded is held against one of ours"


def test_no_case_is_left_unrun():
    assert len(CASES) == 75
    assert {case["topic"] for case in CASES.values()} == set(RUNNERS)
    assert [name for name, case in CASES.items() if case["kind"] != "seed"] == ["signal_gate-153"]


def test_the_cases_are_kept_as_they_were_recorded():
    recorded = Path(__file__).resolve().parents[3] / ".." / "shared" / "reference" / "behaviour_cases.json"
    if not recorded.exists():
        pytest.skip("../shared/reference is not beside the project")
    theirs = {case["id"]: case for case in json.loads(recorded.read_text()) if case["system"] == "label_signal"}
    kept = ("id", "topic", "kind", "input", "expected", "tolerance")
    assert {name: {key: case[key] for key in kept} for name, case in theirs.items()} == CASES


def near(value, tolerance):
    return pytest.approx(value, abs=max(tolerance, 1e-12))


def dimension(key="d", levels=(0, 1, 2, 3), scale="ordinal", **fields):
    weight = {"weight": Fraction(0)} if scale == "nominal" else {}
    return Dimension(key=key, name=key, question="?", scale=scale, levels=tuple(levels), **(weight | fields))


def word(standing):
    return standing.value.upper()


def rated_once(bench, rows, scale):
    """Track and ratings of one dimension, from the ratings of each unit; None is no rating."""
    levels = sorted({score for row in rows for score in row if score is not None})
    track = bench.on(dimension(levels=levels, scale=scale))
    given = [
        (f"u{unit:03d}", "old", f"r{rater}", score)
        for unit, row in enumerate(rows)
        for rater, score in enumerate(row)
        if score is not None
    ]
    return track, ratings_of(track, given)


def agreement_of(bench, track, ratings):
    found = alphas(ratings, track.rubric, bench.plan.agreement, seed=SEED)
    (beside,) = coefficients(ratings, track.rubric, found, bench.plan.agreement, seed=SEED)
    return found[beside.key], beside


@runs("krippendorff")
def alpha_by_scale(bench, given, expected, tolerance):
    if "error" in expected:
        assert expected["error"] == "ValueError"
        for refused in (
            lambda: krippendorff_alpha([[0, 1]], scale=given["metric"]),
            lambda: dimension(scale=given["metric"]),
        ):
            with pytest.raises(ValueError, match=given["metric"]):
                refused()
        return
    track, ratings = rated_once(
        bench, given["units_by_raters"], "ordinal" if given["metric"] == "ratio" else given["metric"]
    )
    alpha, beside = agreement_of(bench, track, ratings)
    estimate = alpha.estimate
    if given["metric"] == "ratio":  # no dimension of a rubric has that scale
        estimate = krippendorff_alpha(ratings.by_rater(ratings.scores[:, 0]), scale="ratio").estimate
    if expected["alpha"] is None:
        assert estimate is None
        assert alpha.why
        return
    assert estimate == near(expected["alpha"], tolerance)
    if "published" in expected:
        assert estimate == near(expected["published"], tolerance)
        assert (len(ratings.units), beside.units) == (expected["n_units"], expected["n_pairable"])


def times(text):
    """ "89 x (0,0,0), 6 x (0,0,1)" or "60 x -1, 340 x 0" as a list."""
    parts = re.findall(r"(\d+) x (\([^)]*\)|-?\d+)", text)
    return [json.loads(value.replace("(", "[").replace(")", "]")) for count, value in parts for _ in range(int(count))]


@runs("kappa/AC1")
def other_coefficients(bench, given, expected, tolerance):
    rows = times(given["units"]) if "units" in given else given["units_by_raters"]
    raters = max(len(row) for row in rows)
    padded = [list(row) + [None] * (raters - len(row)) for row in rows]
    _, found = agreement_of(bench, *rated_once(bench, padded, "nominal"))
    assert found.raw.estimate == near(expected["raw"], tolerance)
    if "fleiss" in expected:
        assert found.fleiss.estimate == near(expected["fleiss"], tolerance)
        assert found.ac1.estimate == near(expected["ac1"], tolerance)
    if "paradox" in expected:
        assert found.paradox is expected["paradox"]
    if "wrong_rating_weighted" in expected:
        assert found.fleiss.estimate != near(expected["wrong_rating_weighted"], 0.01)


@runs("reliability")
def stepped_up(bench, given, expected, tolerance):
    if "rho_k" in given:
        assert [spearman_brown(*pair) for pair in given["rho_k"]] == near(expected["rho"], tolerance)
    else:
        assert spearman_brown(given["rho_1"], given["k"]) == near(expected["rho_3"], tolerance)


def compared(bench, first, second, **plan) -> Comparison:
    """The comparison of a new system's scores with an old one's, item by item."""
    rows = [(f"q{n:03d}", system, "a", 1, 1) for system in ("old", "new") for n in range(len(first))]
    scores = np.concatenate([second, first]).astype(float)
    (found,) = comparisons(
        ratings_of(bench.small, rows),
        scores,
        bench.small.about,
        bench.plan.scores.model_copy(update={"resamples": 10} | plan),
        seed=SEED,
    )
    return found


@runs("mde")
def detectable(bench, given, expected, tolerance):
    if "target" in given:
        designs = {True: "paired", False: "unpaired"}
        sizes = [
            mean_size(
                given["sd"],
                effect=given["target"],
                alpha=given["alpha"],
                power=given["power"],
                design=designs[paired],
                distribution=bench.plan.scores.distribution,
            )
            for paired in given["paired"]
        ]
        assert sizes == near(expected["n_required"], tolerance)
        return
    n, share = given["n"], {name: Fraction(str(given[name])) for name in ("alpha", "power") if name in given}
    # As many differences above as below, which are so far apart that their standard deviation is that of the case.
    differences = np.tile([1, -1], n // 2) * given["sd"] * ((n - 1) / n) ** 0.5
    found = compared(bench, differences, np.zeros(n), permutations=1, **share)
    assert found.sd == pytest.approx(given["sd"])
    assert found.mde == near(expected["mde_observed"], tolerance)
    if "reliability" in given:
        true = true_effect(found.mde, reliability=given["reliability"])
        assert true == near(expected["mde_true"], tolerance)
        # On the true scale the study is worth so many items; the observed scale has the noise in its sd already.
        assert n * (found.mde / true) ** 2 == near(expected["n_effective"], tolerance)
        assert found.mde != near(expected["wrong_double_count"], 0.01)


@runs("multiplicity")
def stepped(bench, given, expected, tolerance):
    alpha = given.get("alpha", 0.05)
    assert benjamini_hochberg(given["p"], alpha=alpha).rejected.tolist() == expected["reject"]


@runs("permutation")
def sign_flips(bench, given, expected, tolerance):
    if "error" in expected:
        assert expected["error"] == "ValueError"
        with pytest.raises(ValueError, match="found 2 a, 1 b"):
            paired_permutation(
                given["a"], given["b"], alternative="absolute", resamples=9, rng=np.random.default_rng(1)
            )
        return
    found = compared(bench, given["a"], given["b"])
    assert found.effect == near(expected["observed"], tolerance)
    assert found.p_value == near(expected["exact_p"], tolerance)


@runs("gate")
def checks_and_claims(bench, given, expected, tolerance):
    plan = bench.plan
    policy = plan.policy_of(given.get("depth", "pilot"))
    match given:
        case {"alpha": list(values)}:
            found = [gate.reliability("x", value, None, policy) for value in values]
        case {"alpha": value, "ci": [low, high]}:
            check = gate.reliability("x", value, Interval(low, high, 0.95), policy)
            assert ("uncertain" in check.detail) is expected["message_mentions_uncertainty"]
            assert word(check.standing) == expected["verdict"]
            return
        case {"half_width": values}:
            found = [gate.precision(value, policy) for value in values]
        case {"effect_mde": pairs}:
            found = [gate.effect_vs_mde(*pair, policy) for pair in pairs]
        case {"intervals": ends}:
            intervals = [None if low is None else Interval(low, high, 0.95) for low, high in ends]
            found = [gate.interval_excludes_zero(interval) for interval in intervals]
        case {"coverage": rows}:
            found = [
                gate.coverage(row["marginal_gap_fraction"], row["worst_balance_ratio"], row["absent_levels"], policy)
                for row in rows
            ]
        case {"mean": values}:
            found = [gate.replication(value, policy) for value in values]
        case {"flagged_fraction": values}:
            found = [gate.annotator_pool(value, policy) for value in values]
        case {"kinds": kinds}:
            for depth in plan.depths:
                standings = [gate.depth_contract(kind, depth, plan.depths).standing for kind in kinds]
                assert [word(one) for one in standings] == expected[depth]
            return
        case {"checks": []}:
            assert word(gate.standing_of([], plan.claims)) == expected["verdict"]
            return
        case {"checks": rows}:
            made = [[gate.Check("drift", Standing(name.lower()), "") for name in row] for row in rows]
            assert [word(gate.standing_of(row, plan.claims)) for row in made] == expected["verdict"]
            return
        case {"verdicts": names}:
            ledger = tally([Standing(name.lower()) for name in names])
            assert (ledger.claims, ledger.publishable) == (expected["n_claims"], expected["publishable"])
            assert ledger.claims == expected["in_ledger"]
            assert ledger.block_rate == expected["block_rate"]
            return
        case {"blocked": blocked, "claims": claims, "by_track": tracks}:
            assert sum(tracks.values()) == blocked
            ledger = tally([Standing.BLOCK] * blocked + [Standing.PASS] * (claims - blocked))
            assert ledger.block_rate == near(expected["block_rate"], tolerance)
            return
        case {"contrasts": rows}:
            standings = [gate.effect_vs_mde(effect, mde, policy).standing for _, effect, mde in rows]
            assert [word(one) for one in standings] == expected["effect_vs_mde"]
            return
    assert [word(check.standing) for check in found] == expected["verdict"]


@runs("decision")
def recommended(bench, given, expected, tolerance):
    if "alpha_gold" in given:
        assert [irreducible_share(*pair) for pair in given["alpha_gold"]] == near(expected["share"], tolerance)
        return
    evidence = Evidence(
        alpha_by_dimension=given["alpha_by_dimension"],
        alpha_mean=given["alpha_mean"],
        gold=given["gold_accuracy"],
        gap_rate=given["rubric_gap_rate"],
        flagged=given.get("flagged_annotator_fraction"),
        marginal_gap=given["coverage_marginal_gap"],
        effect=given["largest_effect"],
        mde=given["mde"],
        items=given["n_items"],
    )
    found = recommend(evidence, bench.plan.decision, bench.plan.policy_of(given["depth"]))
    assert word(found.recommendation) == expected["recommendation"]
    assert found.cost_usd == expected["cost_usd"]
    assert found.irreducible == near(expected["irreducible_share"], tolerance)


@runs("taxonomy")
def planted_and_covered(bench, given, expected, tolerance):
    plan = bench.plan.detection
    match given:
        case {"pairs": pairs}:
            deltas = [float(cliffs_delta(*pair, level=plan.level).delta) for pair in pairs]
            assert deltas == near(expected["delta"], tolerance)
        case {"delta": deltas}:
            assert [magnitude(one, thresholds=MAGNITUDES, otherwise=SMALLEST) for one in deltas] == expected["band"]
        case {"codes": codes}:
            statuses = [status_of(code["n_planted"], code["delta"], plan) for code in codes]
            assert statuses == expected["status"]
            assert sum(one in ("detected", "blind_spot") for one in statuses) == expected["n_estimable"]
            made = [CodeDetection("", "", 0, one, None, None, None, None, None, None) for one in statuses]
            assert sensitivity_rate(made) == expected["sensitivity_rate"]
        case {"design": design, "counts": counts}:
            columns = {
                factor: [level for level, n in levels.items() for _ in range(n)] for factor, levels in counts.items()
            }
            rows = zip(*columns.values(), strict=True)
            items = [Item(item_id=str(n), strata=dict(zip(columns, row, strict=True))) for n, row in enumerate(rows)]
            found = coverage(design, items, adequate=bench.plan.coverage.adequate)
            assert list(found.absent) == expected["absent"]
            assert sum(len(levels) for levels in found.counts.values()) == expected["total_levels"]
            assert found.adequate == expected["adequate"]
            assert found.marginal_gap == near(expected["marginal_gap"], tolerance)
            check = gate.coverage(found.marginal_gap, found.balance, found.absent, bench.plan.policy_of("pilot"))
            assert word(check.standing) == expected["gate"]


ANCHORED = dimension(
    "a", (0, 1), anchors=(Anchor(value=0, label="no", description="x"), Anchor(value=1, label="yes", description="y"))
)
BASE = Rubric(key="r", name="R", revision=1, dimensions=(ANCHORED,))


def with_dimension(**fields):
    """The rubric whose one dimension has these fields changed, read again so that it is checked."""
    changed = dimension(**{"key": "a", "levels": (0, 1), "anchors": ANCHORED.anchors} | fields)
    return BASE.model_copy(update={"dimensions": (changed,)})


CHANGES = {
    "anchor text": with_dimension(
        anchors=(ANCHORED.anchors[0], Anchor(value=1, label="yes", description="something else"))
    ),
    "dimension key": with_dimension(key="b"),
    "weight": with_dimension(weight=Fraction(2)),
    "levels": with_dimension(levels=(0, 1, 2), anchors=()),
    "added dimension": BASE.model_copy(update={"dimensions": (ANCHORED, dimension("b"))}),
    "question": BASE.model_copy(update={"dimensions": (ANCHORED.model_copy(update={"question": "Other?"}),)}),
    "revision number": BASE.model_copy(update={"revision": 2}),
    "rubric name": BASE.model_copy(update={"name": "Other"}),
}
UNUSABLE = {
    "anchors for some levels only": lambda: dimension("a", (0, 1), anchors=ANCHORED.anchors[:1]),
    "critical without threshold": lambda: dimension("a", (0, 1), critical=True),
    "no levels": lambda: dimension("a", ()),
}


@runs("rubric")
def scored_and_versioned(bench, given, expected, tolerance):
    match given:
        case {"dims": dims, "scores": scores}:
            made = tuple(
                dimension(key, levels, weight=Fraction(weight), critical=bar is not None, critical_threshold=bar)
                for key, levels, weight, bar in dims
            )
            rubric = bench.small.rubric.model_copy(update={"dimensions": made})
            table = np.array([[row.get(key, np.nan) for key in rubric.keys] for row in scores], dtype=float)
            found = composites(rubric, table, unscored=bench.plan.scores.unscored)
            assert found.tolist() == near(expected["composite"], tolerance)
        case {"changes": changes}:
            assert [CHANGES[change].hash != BASE.hash for change in changes] == expected["hash_changes"]
            revised = CHANGES["revision number"].version != BASE.version
            assert revised is expected["version_string_changes_on_revision"]
        case {"cases": cases}:
            for name, error in zip(cases, expected["error"], strict=True):
                assert error == "ValueError"
                with pytest.raises(ValueError, match="of dimension 'a'"):
                    UNUSABLE[name]()


@runs("triage")
def queued_and_settled(bench, given, expected, tolerance):
    fidelity = dimension("fidelity", critical=True, critical_threshold=0)
    track, plan = bench.on(fidelity, dimension("style")), bench.plan.triage
    match given:
        case {"rows": rows, "critical": "fidelity"}:
            made = [(answer, "old", f"a{n}", *scores) for n, (answer, scores) in enumerate(rows)]
            found = queue(ratings_of(track, made), track.rubric, plan)
            names, priorities = zip(*expected["queue"], strict=True)
            assert [one.unit[0] for one in found] == list(names)
            assert [one.priority for one in found] == near(list(priorities), tolerance)
        case {"pairs": pairs}:
            names = ("r1", "r4", "r5")
            made = [
                (name, "old", f"a{k}", pairs["fidelity"][n][k], pairs["style"][n][k])
                for n, name in enumerate(names)
                for k in (0, 1)
            ]
            found = settled(ratings_of(track, made), track.rubric, plan)
            assert [dict(zip(track.rubric.keys, row, strict=True)) for row in found.tolist()] == [
                expected[name] for name in names
            ]
        case {"queued": queued, "capacity": resolved, "responses": responses}:
            # Two raters of each answer, who lie two levels apart on style in as many as are queued.
            made = [
                (f"r{n}", "old", rater, 3, score) for n in range(responses) for rater, score in
                (("a", 3), ("b", 1 if n < queued else 3))
            ]  # fmt: skip
            ratings = ratings_of(track, made)
            waiting = queue(ratings, track.rubric, plan)
            assert (len(waiting), capacity(len(waiting), plan.capacity)) == (queued, resolved)
            done = [Adjudicated(one.unit, {"style": 2.0}, False, "") for one in waiting[:resolved]]
            found = summary(ratings, track, waiting, done)
            assert (found.resolved, found.unresolved) == (expected["resolved"], expected["unresolved"])
            assert found.resolution_rate == near(expected["resolution_rate"], tolerance)
            assert found.queue_rate == near(expected["queue_rate"], tolerance)


@runs("pool")
def lenient_and_divergent(bench, given, expected, tolerance):
    """A1 and A2 hold opposite positions on what is contested; A3 gives two more on everything."""
    assert given["design"].startswith("settled = i%3; A1 contested 0, A2 contested 4, A3 settled+2 and contested 4")
    track = bench.on(dimension("settled", range(5)), dimension("contested", range(5)))
    contested = {"A1": 0, "A2": 4, "A3": 4}
    rows = [
        (f"q{i}", "old", name, i % 3 + (2 if name == "A3" else 0), contested.get(name, 2))
        for i in range(given["responses"])
        for name in (f"A{n}" for n in range(1, given["annotators"] + 1))
    ]
    found = {
        one.rater: one
        for one in profiles(ratings_of(track, rows), replace(track, responses=()), {"contested"}, bench.plan.raters)
    }
    for name, value in expected["leniency"].items():
        assert found[name].leniency == near(value, tolerance)
    for name, value in expected["position"].items():
        assert found[name].position == near(value, tolerance)
    assert [name for name, one in found.items() if one.flags] == expected["flagged"]
    assert flagged_fraction(found.values()) == expected["flagged_fraction"]
    assert [name for name, one in found.items() if one.divergent] == expected["divergent"]


@runs("drift")
def significant_and_large(bench, given, expected, tolerance):
    assert [is_drift(*case, bench.plan.drift) for case in given["cases"]] == expected["detected"]


@runs("redteam")
def probed(bench, given, expected, tolerance):
    plan = bench.plan.probes
    match given:
        case {"modal_rates": rates}:
            found = lazy({f"d{n}": rate for n, rate in enumerate(rates)}, plan)
        case {"dims": "driver i%4, two constants"}:
            track = bench.on(*(dimension(key) for key in ("driver", "one", "other")))
            rows = [(f"q{i}", "old", "a", i % 4, 2, 3) for i in range(12)]
            found = rubric_shortcut(ratings_of(track, rows), track.rubric, plan)
            assert list(found.degenerate) == expected["degenerate"]
        case {"max_change": change, "half_width": half_width}:
            found = left_out(change, "a", half_width, plan)
    if "statistic" in expected:
        assert found.statistic == near(expected["statistic"], tolerance)
    assert found.failed is expected["failed"]


def gap_of(n, gap, disagreement):
    """The paired gap of so many items, from its rounded shares."""
    apart, ahead = round(n * disagreement), round(n * gap)
    wins = (apart + ahead) // 2
    return paired_gap([1] * wins + [0] * (n - wins), [0] * wins + [1] * (apart - wins) + [0] * (n - apart))


@runs("attenuation")
def freed_of_errors(bench, given, expected, tolerance):
    plan = bench.plan.attenuation
    match given:
        case {"disagreement": list(shares)}:
            assert [label_noise(share) for share in shares] == near(expected["eta"], tolerance)
        case {"eta_k": pairs}:
            assert [majority_error(eta, raters=k) for eta, k in pairs] == near(expected["eta_majority"], tolerance)
        case {"n_gap_disagreement": rows}:
            gaps = [gap_of(*row) for row in rows]
            assert [gap.z for gap in gaps] == near(expected["z"], tolerance)
            assert [word(direction(gap, plan)) for gap in gaps] == expected["direction"]
        case {"rater_disagreement": share, "k": raters, "requested_effect": effect}:
            gap = gap_of(given["n"], given["gap"], given["disagreement"])
            found = shrunk(gap, rater_disagreement=share, raters=raters, requested_effect=effect, plan=plan)
            assert word(direction(gap, plan)) == expected["direction"]
            assert gap.z == near(expected["z"], 10 * tolerance)
            assert found.factor == near(expected["factor"], tolerance)
            assert found.gap_true == near(expected["gap_true"], tolerance)
            assert found.mde_true == near(expected["mde_true"], tolerance)
            assert found.warning is (expected["verdict"] == "WARN")
        case {"disagreement": share, "k": raters}:
            found = shrunk(
                gap_of(400, 0.1, 0.2), rater_disagreement=share, raters=raters, requested_effect=None, plan=plan
            )
            assert found.eta == near(expected["eta"], tolerance)
            assert found.eta_majority == near(expected["eta_3"], tolerance)
            assert found.factor == near(expected["factor"], tolerance)
        case {"a": agreed, "b": splits}:
            rows = [times(agreed if split == "same as a" else split) for split in splits]
            assert [word(consistency(times(agreed), row, plan)) for row in rows] == expected["verdict"]


@runs("sensitivity")
def perturbed(bench, given, expected, tolerance):
    band = Fraction(str(given.get("band", bench.plan.sensitivity.fragile_within)))
    match given:
        case {"default": default, "flip_at": flip}:
            margin = relative_margin(Fraction(str(default)), Fraction(str(flip)))
            assert margin == near(expected["margin"], tolerance)
            found = robustness(margin, rater_turns=False, world_turns=False, fragile_within=band)
            assert (found.value == "fragile") is expected["fragile"]
        case {"tracks": list(tracks)}:
            found = [
                robustness(
                    track.get("rec_flip_within"),
                    rater_turns=track.get("drop_annotator_flips", False),
                    world_turns=track.get("random_config_agreement", 1) < 1,
                    fragile_within=band,
                )
                for track in tracks
            ]
            assert [word(one) for one in found] == expected["class"]
        case {"tracks": int(count), "contested_configs": configs, "noise_grid_points": points, "annotators": raters}:
            plan, tracks = bench.plan, list(bench.tracks.values())
            worlds = [one for track in tracks for one in variants(track, tracks, plan)]
            by_axis = {axis: sum(one.axis == axis for one in worlds) for axis in {one.axis for one in worlds}}
            grid = plan.sensitivity
            assert (len(tracks), len(plan.simulation.pool)) == (count, raters)
            assert [len(grid.noise_gains), len(grid.contested_gains)] == points
            assert 1 + len(grid.contested) + grid.random_worlds == configs
            assert {
                "baseline": by_axis["baseline"],
                "contested": by_axis["contested"] + by_axis["random_contested"],
                "noise": by_axis["noise"] + by_axis["contested_gain"],
                "leave_one_out": by_axis["leave_one_out"],
            } == expected["breakdown"]
            assert len(worlds) == expected["pipeline_runs"]
            pairs = sum(len(thresholds(plan, track.about.depth)) for track in tracks)
            assert pairs == expected["threshold_pairs"]


@runs("number audit")
def traced(bench, given, expected, tolerance):
    found = [bool(candidates(literal, given["results"])) for literal in given["literals"]]
    assert found == expected["sourced"]


@runs("real labels")
def a_corpus_of_that_composition(bench, given, expected, tolerance):
    """The data are not here: items of three raters and three labels with the shares that were published of them.

    One vote decides 2 to 1; where there is no plurality all three differ. How often each label is given is chosen so
    that chance agrees as often as there.
    """
    n = given["items"]
    assert given["ratings_per_item"] == 3
    split, apart = round(expected["one_vote_margin"] * n), round(expected["no_plurality"] * n)
    whole = n - split - apart
    labels = np.zeros((n, 3))
    labels[:whole] = np.searchsorted([0.459, 0.793], np.arange(whole) / whole)[:, np.newaxis]
    pairs = np.array([(0, 0, 1), (0, 0, 2), (1, 1, 0), (1, 1, 2), (2, 2, 0), (2, 2, 1)])
    labels[whole : whole + split] = pairs[np.arange(split) % 6]
    labels[whole + split :] = (0, 1, 2)
    track = bench.on(dimension(levels=(0, 1, 2), scale="nominal"))
    ratings = Ratings(
        units=tuple((str(item), "old") for item in range(n)),
        raters=("a", "b", "c"),
        dimensions=("d",),
        unit=np.repeat(np.arange(n), 3),
        rater=np.tile(np.arange(3), n),
        scores=labels.reshape(-1, 1),
        batches=(),
        batch=np.array([], dtype=np.int64),
        duration_s=np.full(3 * n, np.nan),
        codes=None,
        source="people",
        rubric_version="",
    )
    # As many resamples as leave of chance less than the tolerance.
    many = bench.plan.agreement.model_copy(update={"resamples": 20000, "valid_at_least": 20000})
    alpha, beside = agreement_of(replace(bench, plan=bench.plan.model_copy(update={"agreement": many})), track, ratings)
    assert beside.raw.estimate == near(expected["raw"], tolerance)
    assert alpha.estimate == near(expected["alpha"], tolerance)
    assert [alpha.interval.low, alpha.interval.high] == near(expected["ci"], tolerance)
    assert beside.ac1.estimate == near(expected["ac1"], tolerance)
    modal = (labels[:, :, np.newaxis] == np.arange(3)).sum(axis=1).max(axis=1) / 3
    assert modal.mean() == near(expected["ceiling_in_sample"], tolerance)

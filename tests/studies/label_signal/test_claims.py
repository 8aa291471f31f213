"""The sentences that a track would publish: which are made, which checks each must pass, and what withholds it."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.records import Interval
from eval_pipeline.studies.label_signal.agreement import CompositeReliability, Measure
from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.batches import DriftFound
from eval_pipeline.studies.label_signal.claims import claims_of, tally
from eval_pipeline.studies.label_signal.comparisons import Comparison, SystemScore
from eval_pipeline.studies.label_signal.conclusion import conclude, evidence_of
from eval_pipeline.studies.label_signal.coverage import Covered
from eval_pipeline.studies.label_signal.raters import Profile
from eval_pipeline.studies.label_signal.triage import Summary
from eval_pipeline.studies.label_signal.words import Standing
from tests.stats.laws import LAW

PASS, WARN, BLOCK, NOT_APPLICABLE = Standing.PASS, Standing.WARN, Standing.BLOCK, Standing.NOT_APPLICABLE


@dataclass(frozen=True)
class Said:
    """The evidence of a track in plain numbers; by default all of it is good. None could not be measured."""

    alpha: float | None = 0.85
    other_alpha: float | None = 0.81
    reliability: float | None = 0.9
    half_width: float | None = 0.04
    effect: float | None = 0.12
    mde: float | None = 0.08
    low: float | None = 0.05
    p_adjusted: float | None = 0.01
    gap: float | None = 0.0
    balance: float = 0.8
    absent: tuple[str, ...] = ()
    replication: float = 3.0
    flagged: int = 1
    drifts: bool | None = False
    gap_rate: float | None = 0.05
    gold: float | None = 0.9
    depth: str = "production"
    raw_p: float = 0.004


def measure(estimate):
    return Measure(estimate, None if estimate is None else Interval(estimate - 0.1, estimate + 0.1, 0.95), None)


def profile(name, flags, gold):
    return Profile(name, 24, 2.0, 0.8, 0.0, None, None, gold, None, None, 6, 70.0, flags, divergent=False)


def comparison(said, system, other):
    """Its interval ends where it is farthest from 0 at .4 of the scale."""
    measured = said.effect is not None
    interval = None if said.low is None else Interval(said.low, 0.4, 0.95)
    return Comparison(
        system,
        other,
        48 if measured else 0,
        said.effect,
        0.2 if measured else None,
        interval,
        said.mde,
        None if said.p_adjusted is None else said.raw_p,
        said.p_adjusted,
    )


def grounds(said: Said) -> Grounds:
    """Of a track with two dimensions, three systems and ten raters, whose gold is that of the worst of them."""
    systems = ("old", "new", "third")
    half = said.half_width
    interval = None if half is None else Interval(0.6 - half, 0.6 + half, 0.95)
    covered = Covered({}, 10, (), said.absent, (), said.gap, said.balance, 12, 0) if said.gap is not None else None
    drift = DriftFound(("1", "2"), (0.5, 0.6), 0.1, 0.1, 0.01 if said.drifts else 0.6, bool(said.drifts), None)
    untold = DriftFound((), (), None, None, None, False, "the ratings do not say when they were given")
    return Grounds(
        track="t",
        depth=said.depth,
        pair_by="item",
        simulated=False,
        items=48,
        answers=144,
        rows=432,
        replication=said.replication,
        levels_of_composite=3.0,
        alphas={"tone_of_it": measure(said.alpha), "right": measure(said.other_alpha)},
        composite=CompositeReliability(measure(0.7), 3.0, measure(said.reliability)),
        systems=tuple(SystemScore(name, 48, 0.6, interval) for name in systems),
        comparisons=tuple(comparison(said, *pair) for pair in (("new", "old"), ("third", "old"), ("third", "new"))),
        drift=untold if said.drifts is None else drift,
        profiles=tuple(
            profile(f"r{n}", ("fast",) if n < said.flagged else (), said.gold if n == 0 else said.gold and 1.0)
            for n in range(10)
        ),
        contested=(),
        triage=Summary(144, 20, 12, 8, 20 / 144, 0.6, said.gap_rate, None, None, None, None),
        coverage=covered,
    )


@pytest.fixture
def claimed(shipped):
    """The claims of evidence under a plan, which is the shipped one."""

    def claimed(said, plan=shipped):
        made = grounds(said)
        return claims_of(made, plan, plan.policy_of(made.depth))

    return claimed


def by_kind(claims, kind):
    return [claim for claim in claims if claim.kind == kind]


def test_a_claim_is_made_for_each_dimension_each_system_and_each_comparison(claimed):
    assert [(claim.kind, claim.subject) for claim in claimed(Said())] == [
        ("descriptive", "tone_of_it"),
        ("descriptive", "right"),
        ("measurement", "old"),
        ("measurement", "new"),
        ("measurement", "third"),
        ("ranking", "new - old"),
        ("ranking", "third - old"),
        ("ranking", "third - new"),
    ]


def test_a_claim_is_made_whatever_its_evidence(claimed):
    """What cannot be said is withheld with its reasons, and is not left out."""
    nothing = Said(*[None] * 8, replication=1.0, depth="exploratory")
    assert len(claimed(nothing)) == len(claimed(Said())) == 8
    assert all(claim.standing is BLOCK for claim in claimed(nothing))


def test_where_all_evidence_is_good_every_claim_passes(claimed):
    for claim in claimed(Said()):
        assert (claim.standing, claim.publishable, claim.reasons) == (PASS, True, ())
        assert {check.standing for check in claim.checks} == {PASS}


COMMON = ["coverage", "replication", "annotator_pool", "drift", "rubric_specification", "gold_calibration"]


def test_each_kind_runs_the_checks_that_the_plan_requires_and_all_of_them(claimed, compat):
    wanted = {
        "descriptive": ["depth_contract", "reliability", "replication"],
        "measurement": ["depth_contract", "reliability", "precision", *COMMON],
        "ranking": [
            "depth_contract",
            "reliability",
            "effect_vs_mde",
            "interval_excludes_zero",
            "multiplicity",
            *COMMON,
        ],
    }
    for said in (Said(), Said(alpha=None, other_alpha=None, reliability=None, effect=None, depth="exploratory")):
        for claim in claimed(said):
            assert [check.name for check in claim.checks] == wanted[claim.kind]
        for claim in claimed(said, compat):  # the first version counted no multiplicity
            assert [check.name for check in claim.checks] == [n for n in wanted[claim.kind] if n != "multiplicity"]


def test_a_plan_may_require_fewer_checks_and_then_they_are_not_run(claimed, shipped):
    checks = shipped.claims.checks | {"descriptive": ("depth_contract",), "measurement": ()}
    plan = shipped.model_copy(update={"claims": shipped.claims.model_copy(update={"checks": checks})})
    found = claimed(Said(alpha=None), plan)
    assert [len(claim.checks) for claim in found] == [1, 1, 0, 0, 0, 11, 11, 11]
    # One without checks has shown nothing.
    assert [claim.standing for claim in found[:5]] == [PASS, PASS, BLOCK, BLOCK, BLOCK]


ALL = {"descriptive", "measurement", "ranking"}
SCORED = {"measurement", "ranking"}


@pytest.mark.parametrize(
    ("bad", "check", "withheld"),
    [
        ({"reliability": 0.49}, "reliability", SCORED),
        ({"reliability": None}, "reliability", SCORED),
        ({"half_width": None}, "precision", {"measurement"}),
        ({"effect": 0.07}, "effect_vs_mde", {"ranking"}),
        ({"mde": None}, "effect_vs_mde", {"ranking"}),
        ({"low": 0.0}, "interval_excludes_zero", {"ranking"}),
        ({"low": None}, "interval_excludes_zero", {"ranking"}),
        ({"p_adjusted": 0.06}, "multiplicity", {"ranking"}),
        ({"absent": ("domain=law",)}, "coverage", SCORED),
        ({"replication": 1.9}, "replication", ALL),
        ({"flagged": 7}, "annotator_pool", SCORED),
        ({"drifts": True}, "drift", SCORED),
        ({"gap_rate": 0.16}, "rubric_specification", SCORED),
        ({"gold": 0.5}, "gold_calibration", SCORED),
        ({"depth": "pilot"}, "depth_contract", {"ranking"}),
    ],
)
def test_one_blocking_check_withholds_every_claim_that_requires_it_and_no_other(claimed, bad, check, withheld):
    for claim in claimed(replace(Said(), **bad)):
        if claim.kind in withheld:
            assert (claim.standing, claim.publishable) == (BLOCK, False)
            assert [reason.name for reason in claim.reasons] == [check]
            assert {one.standing for one in claim.checks if one.name != check} == {PASS}
        else:
            assert (claim.standing, claim.reasons) == (PASS, ())


def test_the_agreement_of_a_dimension_withholds_its_own_description_alone(claimed):
    found = claimed(Said(alpha=0.3))
    assert [claim.subject for claim in found if not claim.publishable] == ["tone_of_it"]
    assert found[0].reasons[0].detail.startswith("the reliability of dimension 'tone_of_it' is 0.300, under the floor")
    undefined = claimed(Said(other_alpha=None))
    assert [claim.subject for claim in undefined if not claim.publishable] == ["right"]
    assert undefined[1].sentence == "Raters agree on right with a Krippendorff's alpha of undefined."


@pytest.mark.parametrize(
    ("warning", "check"),
    [
        ({"half_width": 0.08}, "precision"),
        ({"gap": 0.3}, "coverage"),
        ({"balance": 0.2}, "coverage"),
        ({"flagged": 5}, "annotator_pool"),
        ({"gold": 0.65}, "gold_calibration"),
        ({"reliability": 0.6}, "reliability"),
    ],
)
def test_a_warning_is_carried_and_withholds_nothing(claimed, warning, check):
    found = claimed(replace(Said(), **warning))
    warned = [claim for claim in found if claim.standing is WARN]
    assert warned
    for claim in warned:
        assert (claim.publishable, claim.reasons) == (True, ())
        assert [one.name for one in claim.checks if one.standing is WARN] == [check]


def test_what_does_not_apply_neither_helps_nor_withholds(claimed):
    found = claimed(Said(gap=None, drifts=None, gap_rate=None, gold=None))
    for claim in found:
        assert claim.standing is PASS
    for claim in by_kind(found, "measurement"):
        unasked = {check.name for check in claim.checks if check.standing is NOT_APPLICABLE}
        assert unasked == {"coverage", "drift", "rubric_specification", "gold_calibration"}
        (drift,) = (check for check in claim.checks if check.name == "drift")
        assert drift.detail == "the ratings do not say when they were given"


def test_a_withheld_claim_keeps_every_reason_and_its_number(claimed):
    """For those who weigh the reasons; all checks are run though the first blocks."""
    found = by_kind(claimed(Said(depth="pilot", effect=0.01, low=-0.05, p_adjusted=0.5, gap_rate=0.4)), "ranking")
    for claim in found:
        assert [reason.name for reason in claim.reasons] == [
            "depth_contract",
            "effect_vs_mde",
            "interval_excludes_zero",
            "multiplicity",
            "rubric_specification",
        ]
        assert all(reason.detail for reason in claim.reasons)
        assert (claim.estimate, claim.interval) == (0.01, Interval(-0.05, 0.4, 0.95))


def test_a_score_rests_on_the_reliability_of_the_mean_composite_and_once_did_on_the_mean_alpha(claimed, compat):
    """.9 of the composite passes where the mean of .45 and .51 is under the floor of .5; None counts in no mean."""
    said = Said(alpha=0.45, other_alpha=0.51)
    now, first = claimed(said)[2], claimed(said, compat)[2]
    (check,) = (one for one in now.checks if one.name == "reliability")
    assert (now.standing, check.detail[:43]) == (PASS, "the reliability of the mean composite is 0.")
    (check,) = (one for one in first.checks if one.name == "reliability")
    assert first.standing is BLOCK
    assert check.detail.startswith("the reliability of the dimensions on average is 0.480, under the floor")
    assert claimed(Said(alpha=None), compat)[2].standing is PASS
    assert claimed(Said(alpha=None, other_alpha=None), compat)[2].standing is BLOCK


def test_comparisons_are_held_to_their_adjusted_p_value_where_the_plan_says_so(claimed, shipped):
    said = Said(p_adjusted=0.08, raw_p=0.03)
    assert by_kind(claimed(said), "ranking")[0].standing is BLOCK
    plan = shipped.model_copy(update={"claims": shipped.claims.model_copy(update={"multiplicity": "none"})})
    assert by_kind(claimed(said, plan), "ranking")[0].standing is PASS


def test_an_exploratory_track_describes_and_does_no_more(claimed):
    """Its description has lower bars: an alpha of .45 warns."""
    found = claimed(Said(alpha=0.45, depth="exploratory", drifts=True))
    assert [claim.standing for claim in by_kind(found, "descriptive")] == [WARN, PASS]
    for claim in by_kind(found, "measurement") + by_kind(found, "ranking"):
        assert [reason.name for reason in claim.reasons] == ["depth_contract"]


def test_the_sentences_say_what_was_found(claimed):
    found = claimed(Said())
    assert found[0].sentence == "Raters agree on tone of it with a Krippendorff's alpha of 0.85."
    assert found[2].sentence == "old scores 0.600 of 1 on average over 48 items."
    assert found[5].sentence == "new is better than old by 0.1200 of the scale (0.360 levels), over 48 items."
    assert (found[0].estimate, found[2].estimate, found[5].estimate) == (0.85, 0.6, 0.12)
    assert found[5].interval == Interval(0.05, 0.4, 0.95)
    assert claimed(Said(effect=-0.12))[5].sentence.startswith("new is worse than old by 0.1200 of the scale")
    assert claimed(Said(effect=None))[5].sentence == "new and old have no pair in common."


def test_a_sentence_says_of_what_the_pairs_are_and_tells_no_levels_where_scales_differ(shipped):
    made = replace(grounds(Said()), pair_by="rater", levels_of_composite=None)
    claims = claims_of(made, shipped, shipped.policy_of("production"))
    assert claims[5].sentence == "new is better than old by 0.1200 of the scale, over 48 raters."


def test_systems_that_do_not_differ_are_not_called_worse(claimed):
    assert claimed(Said(effect=0.0))[5].sentence == "new and old score the same on average over 48 items."


@pytest.mark.parametrize(
    ("standings", "counts", "publishable", "rate"),
    [
        ([PASS, PASS, WARN, BLOCK], (4, 2, 1, 1), 3, 0.25),
        ([BLOCK] * 23 + [PASS] * 22, (45, 22, 0, 23), 22, 0.511),
        ([BLOCK], (1, 0, 0, 1), 0, 1.0),
        ([], (0, 0, 0, 0), 0, None),
    ],
)
def test_claims_are_counted_by_their_standing(standings, counts, publishable, rate):
    found = tally(standings)
    assert (found.claims, found.passed, found.warned, found.blocked) == counts
    assert (found.publishable, found.block_rate) == (publishable, rate)


def drawn(good: float, bad: float, *, missing: bool = False) -> Any:
    """Two values of evidence, the better one first; the worst of all is None where it could not be measured."""
    worse = st.floats(min(good, bad), max(good, bad))
    pair = st.tuples(worse, worse).map(lambda two: tuple(sorted(two, reverse=good > bad)))
    return st.one_of(pair, worse.map(lambda one: (one, None))) if missing else pair


PAIRS = st.fixed_dictionaries(
    {
        "alpha": drawn(1, -0.3, missing=True),
        "other_alpha": drawn(1, -0.3, missing=True),
        "reliability": drawn(1, -0.3, missing=True),
        "half_width": drawn(0, 0.3, missing=True),
        "effect": drawn(0.3, 0, missing=True),
        "mde": drawn(0.01, 0.3, missing=True),
        "low": drawn(0.1, -0.1, missing=True),
        "p_adjusted": drawn(0, 0.2, missing=True),
        "gap": drawn(0, 1),
        "balance": drawn(1, 0),
        "absent": st.sampled_from([((), ()), ((), ("domain=law",)), (("domain=law",), ("domain=law",))]),
        "replication": drawn(4, 1),
        "flagged": st.tuples(st.integers(0, 10), st.integers(0, 10)).map(lambda two: tuple(sorted(two))),
        "drifts": st.sampled_from([(False, False), (False, True), (True, True)]),
        "gap_rate": drawn(0, 0.4),
        "gold": drawn(1, 0.4),
    }
)


@LAW
@given(
    PAIRS, st.data(), st.sampled_from(["exploratory", "pilot", "production"]), st.sampled_from(["shipped", "compat"])
)
def test_evidence_that_is_worse_never_makes_a_standing_better(shipped, compat, pairs, data, depth, which):
    """Any part of it, from any state of the rest. In the mean of alphas one that is undefined has no part."""
    plan = {"shipped": shipped, "compat": compat}[which]
    if which == "compat":
        pairs = pairs | {name: tuple(one or 0.0 for one in pairs[name]) for name in ("alpha", "other_alpha")}
    worse = data.draw(st.sets(st.sampled_from(sorted(pairs)), min_size=1))
    before = Said(**{name: pair[0] for name, pair in pairs.items()}, depth=depth)
    after = replace(before, **{name: pairs[name][1] for name in worse})
    order = list(Standing)
    policy = plan.policy_of(depth)
    for one, other in zip(
        claims_of(grounds(before), plan, policy), claims_of(grounds(after), plan, policy), strict=True
    ):
        assert order.index(other.standing) >= order.index(one.standing), (one.subject, sorted(worse))
        assert {check.name for check in one.reasons} <= {check.name for check in other.reasons}


def of_contrasts(*pairs):
    """Grounds with comparisons of these effects, MDEs and numbers of pairs."""
    found = tuple(Comparison(f"s{n}", "old", pairs, effect, 0.2, None, mde, 0.5, 0.5) for n, (effect, mde, pairs) in
                  enumerate(pairs))  # fmt: skip
    return replace(grounds(Said()), comparisons=found)


def contrast(made, plan):
    found = evidence_of(made, plan.decision)
    return found.effect, found.mde, found.items


def test_a_recommendation_rests_on_one_contrast_and_once_took_the_best_of_several(shipped, compat):
    """The largest effect lies under its own MDE, and the smallest MDE is another's: together they look detectable."""
    made = of_contrasts((0.10, 0.20, 12), (-0.08, 0.10, 40), (0.01, 0.05, 48))
    assert contrast(made, shipped) == (-0.08, 0.10, 40)
    assert contrast(made, compat) == (0.10, 0.05, 12)
    assert conclude(made, shipped).recommended.rule == "underpowered"
    assert conclude(made, compat).recommended.rule == "sound"


def test_a_contrast_that_could_not_be_measured_is_passed_over(shipped, compat):
    made = of_contrasts((0.9, None, 1), (None, None, 0), (0.02, 0.10, 30))
    assert contrast(made, shipped) == contrast(made, compat) == (0.02, 0.10, 30)
    assert contrast(of_contrasts((0.9, None, 1)), shipped) == (None, None, 1)
    assert contrast(of_contrasts(), shipped) == (None, None, 0)


def test_a_recommendation_takes_of_the_evidence_what_its_plan_says(shipped):
    """Gold of the ten raters .5 and nine times 1: the mean is .95, the worst .5. An undefined alpha is in no mean."""
    found = evidence_of(grounds(Said(gold=0.5, alpha=None, flagged=3, gap=0.1)), shipped.decision)
    assert (found.gold, found.flagged, found.marginal_gap, found.gap_rate) == (pytest.approx(0.95), 0.3, 0.1, 0.05)
    assert (found.alpha_by_dimension, found.alpha_mean) == ({"tone_of_it": None, "right": 0.81}, 0.81)
    worst = evidence_of(grounds(Said(gold=0.5)), shipped.decision.model_copy(update={"gold": "worst"}))
    assert worst.gold == 0.5
    none = evidence_of(grounds(Said(gold=None, gap=None, gap_rate=None)), shipped.decision)
    assert (none.gold, none.marginal_gap, none.gap_rate) == (None, None, None)


def test_a_conclusion_has_the_claims_and_the_policy_of_the_depth(shipped):
    for depth in ("exploratory", "production"):
        made = grounds(Said(depth=depth, alpha=0.45))
        assert conclude(made, shipped).claims == claims_of(made, shipped, shipped.policy_of(depth))
    assert conclude(grounds(Said(gap=0.3)), shipped).recommended.rule == "coverage"

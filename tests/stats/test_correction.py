"""The Rogan-Gladen correction and its intervals: by hand, by other programs, by their laws, by simulation."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from statsmodels.stats.proportion import proportion_confint

from eval_pipeline.errors import InputRefused, JudgeTooPoor, TooFewObservations
from eval_pipeline.stats.correction import known_errors_interval, lang_reiczigel, rogan_gladen
from tests.stats.laws import LAW
from tests.stats.simulate import holds

SHARES = st.fractions(0, 1, max_denominator=1000)
GOOD = st.floats(0.55, 1)
METHODS = ["wald", "wilson", "clopper-pearson"]
STUDIES = 500


def judge(sensitivity, specificity):
    return {"sensitivity": sensitivity, "specificity": specificity}


def lang(observed, trials, se, positives, sp, negatives, *, level=0.95):
    return lang_reiczigel(
        observed, trials, sensitivity=se, positives=positives, specificity=sp, negatives=negatives, level=level
    )


def ends(interval):
    return interval.low, interval.high


def test_a_corrected_share_by_hand():
    """(.8 + .95 - 1) / (.9 + .95 - 1) = .75 / .85 = 15/17; (.05 + .95 - 1) = 0."""
    errs = judge(Fraction(9, 10), Fraction(19, 20))
    assert rogan_gladen(Fraction(4, 5), **errs).raw == Fraction(15, 17)
    assert rogan_gladen(Fraction(4, 5), **errs).share == Fraction(15, 17)
    assert rogan_gladen(Fraction(1, 20), **errs).share == 0


def test_what_leaves_0_to_1_is_kept_beside_the_nearest_share_that_does_not():
    """Less supported than the judge's false alarms, -.05 / .8; more than it would find of all, .05 / .8 too many."""
    errs = judge(Fraction(9, 10), Fraction(9, 10))
    few, many = rogan_gladen(Fraction(1, 20), **errs), rogan_gladen(Fraction(19, 20), **errs)
    assert (few.raw, few.share) == (Fraction(-1, 16), 0)
    assert (many.raw, many.share) == (Fraction(17, 16), 1)


@pytest.mark.parametrize(("se", "sp", "observed"), [(0.9, 0.95, 0.8), (0.7, 0.8, 0.4), (0.6, 0.55, 0.5)])
def test_a_linear_system_solved_by_numpy_agrees(se, sp, observed):
    """Supported and unsupported by the judge are a linear map of supported and unsupported in truth."""
    truth = np.linalg.solve([[se, 1 - sp], [1 - se, sp]], [observed, 1 - observed])
    assert float(rogan_gladen(observed, **judge(se, sp)).raw) == pytest.approx(truth[0], abs=1e-12)


def test_the_corrected_share_is_that_of_epir():
    """Brucellosis: 23 of 150 cows, sensitivity .96, specificity .89: 5.1 %, as R's `epiR::epi.prev` documents."""
    assert float(rogan_gladen(Fraction(23, 150), **judge(0.96, 0.89)).share) == pytest.approx(0.051, abs=5e-4)


@LAW
@given(SHARES, SHARES, SHARES)
def test_it_takes_back_what_the_judge_did(true, se, sp):
    if se + sp > 1:
        observed = true * se + (1 - true) * (1 - sp)
        assert rogan_gladen(observed, **judge(se, sp)).raw == true


@LAW
@given(SHARES, SHARES)
def test_it_rises_with_what_was_observed_and_stays_within_0_and_1(one, other):
    low, high = (rogan_gladen(share, **judge(Fraction(4, 5), Fraction(9, 10))).share for share in sorted((one, other)))
    assert 0 <= low <= high <= 1


@LAW
@given(SHARES, GOOD, GOOD)
def test_counting_the_unsupported_mirrors_it(observed, se, sp):
    found, mirrored = rogan_gladen(observed, **judge(se, sp)), rogan_gladen(1 - observed, **judge(sp, se))
    assert mirrored.raw == 1 - found.raw
    assert mirrored.share == 1 - found.share


@LAW
@given(SHARES)
def test_a_judge_without_errors_leaves_the_share_as_it_is(observed):
    assert rogan_gladen(observed, **judge(1, 1)).share == observed


def test_over_many_simulated_studies_it_is_right_on_average():
    """True recall .83; the raw share is off by .05 and more, the corrected one by less than four standard errors."""
    rng = np.random.default_rng(11)
    true = rng.binomial(500, 0.83, size=2000)
    observed = (rng.binomial(true, 0.9) + rng.binomial(500 - true, 0.05)) / 500
    corrected = np.array([float(rogan_gladen(share, **judge(0.9, 0.95)).raw) for share in observed])
    error = corrected.std() / np.sqrt(len(corrected))
    assert abs(observed.mean() - 0.83) > 0.05
    assert abs(corrected.mean() - 0.83) < 4 * error


def test_known_errors_correct_both_ends_of_the_observed_interval():
    """50 of 100, sensitivity .9, specificity .8: .5 +- 1.959964 (.05), less .2, over .7."""
    found = known_errors_interval(50, 100, **judge(0.9, 0.8), level=0.95, method="wald")
    assert ends(found) == pytest.approx(((0.3 - 0.0979982) / 0.7, (0.3 + 0.0979982) / 0.7), abs=1e-6)
    # None of 10: the share u at which (1 - u)^10 is .025, less .05, over .85; and 0, for -.05 is no share.
    found = known_errors_interval(0, 10, **judge(0.9, 0.95), level=0.95, method="clopper-pearson")
    assert ends(found) == pytest.approx((0, (1 - 0.025**0.1 - 0.05) / 0.85), abs=1e-12)
    assert found.level == 0.95


@pytest.mark.parametrize(
    ("method", "low", "high"),
    [
        ("wald", 0.1011094, 0.2509506),
        ("clopper-pearson", 0.1066051, 0.2647191),
        ("wilson", 0.1129887, 0.2623065),
    ],
)
def test_known_errors_as_the_survey_package_has_them(method, low, high):
    """R, `RSurveillance::tp(20, 120, 0.9, 0.99, "all")`, as its documentation prints it."""
    found = known_errors_interval(20, 120, **judge(0.9, 0.99), level=0.95, method=method)
    assert ends(found) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(("method", "theirs"), [("wald", "normal"), ("wilson", "wilson"), ("clopper-pearson", "beta")])
@pytest.mark.parametrize(("positives", "trials"), [(0, 7), (3, 7), (7, 7), (230, 400)])
def test_a_judge_without_errors_has_the_interval_of_statsmodels(method, theirs, positives, trials):
    found = known_errors_interval(positives, trials, **judge(1, 1), level=0.9, method=method)
    low, high = proportion_confint(positives, trials, alpha=0.1, method=theirs)
    assert ends(found) == pytest.approx((max(low, 0), min(high, 1)), abs=1e-9)


@LAW
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), GOOD, GOOD)
def test_counting_the_unsupported_mirrors_both_intervals(counted, se, sp):
    positives, trials = counted
    for method in METHODS:
        found = known_errors_interval(positives, trials, **judge(se, sp), level=0.9, method=method)
        mirrored = known_errors_interval(trials - positives, trials, **judge(sp, se), level=0.9, method=method)
        assert ends(mirrored) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-9)
    found = lang(positives / trials, trials, se, 20, sp, 30)
    mirrored = lang(1 - positives / trials, trials, sp, 30, se, 20)
    assert ends(mirrored) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-9)


def test_estimated_errors_by_hand():
    """At a level whose quantile is 2: 48 of 96, 17 of 18 positives, 7 of 8 negatives."""
    # Two successes and two failures more: 50/100; one of each: 18/20 and 8/10. (.5 + .8 - 1) / (.9 + .8 - 1) = 3/7.
    # Moved by 2 (4) (3/7 of .9 (.1) / 20 less 4/7 of .8 (.2) / 10).
    centre = 3 / 7 + 8 * (3 / 7 * 0.0045 - 4 / 7 * 0.016)
    reach = 2 * sqrt(0.25 / 100 + 9 / 49 * 0.0045 + 16 / 49 * 0.016) / 0.7
    assert (centre, reach) == pytest.approx((0.370857, 0.264205), abs=1e-6)
    level = norm.cdf(2) - norm.cdf(-2)
    found = lang(0.5, 96, 17 / 18, 18, 7 / 8, 8, level=level)
    assert ends(found) == pytest.approx((centre - reach, centre + reach), abs=1e-9)
    assert found.level == level


@pytest.mark.parametrize(
    ("observed", "trials", "se", "positives", "sp", "negatives", "low", "high"),
    [
        (0.4, 1000, 0.9, 200, 0.7, 200, 0.056350724841608926, 0.2627330257859588),
        (0.55, 100, 0.9, 40, 0.85, 60, 0.37731758319747977, 0.702919759792078),
        (0.5, 4, 1, 10, 1, 10, 0.05958271220901201, 0.9404172877909878),
    ],
)
def test_estimated_errors_as_another_program_has_them(observed, trials, se, positives, sp, negatives, low, high):
    """`confidence_interval(p, q0, q1, n, m0, m1, alpha=0.05)` of UW-Madison-Lee-Lab/LLM-judge-reporting.

    At commit 5801333; q0 is the specificity and m0 the known negatives. Lee et al. (2025), arXiv:2511.21140.
    """
    assert ends(lang(observed, trials, se, positives, sp, negatives)) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize(("positives", "trials"), [(1, 12), (6, 12), (120, 400)])
@pytest.mark.parametrize(("se", "sp"), [(0.9, 0.8), (0.6, 0.95)])
def test_errors_measured_without_end_are_known(positives, trials, se, sp):
    """Then it is the Agresti-Coull interval of statsmodels, corrected."""
    found = lang(positives / trials, trials, se, 1e15, sp, 1e15)
    low, high = proportion_confint(positives, trials, alpha=0.05, method="agresti_coull")
    expected = [min(max((end + sp - 1) / (se + sp - 1), 0), 1) for end in (low, high)]
    assert ends(found) == pytest.approx(expected, abs=1e-6)


@LAW
@given(st.floats(0, 1), GOOD, GOOD, st.integers(5, 500))
def test_a_narrower_level_lies_within_a_wider_one_where_the_judge_errs_alike_on_both(observed, se, sp, known):
    """With the centre at a half, by symmetry, the level only stretches the reach."""
    same = (se + sp) / 2
    narrow, wide = (lang(0.5, 50, same, known, same, known, level=level) for level in (0.8, 0.95))
    assert wide.low <= narrow.low < 0.5 < narrow.high <= wide.high
    anywhere = lang(observed, 50, se, known, sp, known)
    assert 0 <= anywhere.low <= anywhere.high <= 1


def studies(rng, share, *, known=30, trials=300, rate=0.9):
    """How many a judge that errs on every tenth called supported, and its measured sensitivity and specificity."""
    observed = rng.binomial(trials, share * rate + (1 - share) * (1 - rate), STUDIES)
    errors = rng.binomial(known, rate, (2, STUDIES)) / known
    return zip(observed.tolist(), *errors.tolist(), strict=True)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.8, 0.98])
def test_estimated_errors_leave_the_interval_its_coverage(share):
    rng = np.random.default_rng(3)
    hits = sum(holds(lang(n / 300, 300, se, 30, sp, 30), share) for n, se, sp in studies(rng, share))
    assert binomtest(hits, STUDIES, 0.95).pvalue > 0.01


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_estimated_errors_taken_for_known_ones_cost_a_fifth_of_the_studies_and_more(share):
    rng = np.random.default_rng(4)
    hits = sum(
        holds(known_errors_interval(n, 300, **judge(se, sp), level=0.95, method="wilson"), share)
        for n, se, sp in studies(rng, share)
    )
    assert binomtest(hits, STUDIES, 0.8, alternative="less").pvalue < 0.01


@pytest.mark.parametrize(("method", "alternative"), [("wilson", "two-sided"), ("clopper-pearson", "less")])
def test_known_errors_hold_the_true_share(method, alternative):
    """Of 200 with a share of .3; the exact interval may hold it more often than it says."""
    rng = np.random.default_rng(5)
    hits = sum(
        holds(known_errors_interval(int(n), 200, **judge(0.9, 0.8), level=0.9, method=method), 0.3)
        for n in rng.binomial(200, 0.3 * 0.9 + 0.7 * 0.2, STUDIES)
    )
    assert binomtest(hits, STUDIES, 0.9, alternative=alternative).pvalue > 0.01


def test_the_uncorrected_interval_misses_the_true_share():
    rng = np.random.default_rng(6)
    hits = sum(
        holds(known_errors_interval(n, 300, **judge(1, 1), level=0.95, method="wilson"), 0.8)
        for n, _, _ in studies(rng, 0.8)
    )
    assert hits < STUDIES / 3


@pytest.mark.parametrize(("se", "sp"), [(0.5, 0.5), (0, 1), (1, 0), (0.2, 0.3)])
def test_a_judge_no_better_than_chance_is_refused(se, sp):
    with pytest.raises(JudgeTooPoor, match="no better than chance"):
        rogan_gladen(0.5, **judge(se, sp))
    with pytest.raises(JudgeTooPoor, match="no better than chance"):
        known_errors_interval(5, 10, **judge(se, sp), level=0.95, method="wald")
    with pytest.raises(JudgeTooPoor, match="no better than chance"):
        lang(0.5, 10, se, 10, sp, 10)


def test_a_judge_that_was_better_than_chance_by_one_item_is_refused():
    """1 of 1 positives and 60 of 1000 negatives add up to 1.06; drawn towards a half, to 2/3 + .061."""
    with pytest.raises(JudgeTooPoor, match=r"sensitivity 0\.667 and specificity 0\.0609"):
        lang(0.97, 100, 1, 1, 0.06, 1000)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((1.1, 1, 1), "observed"),
        ((-0.1, 1, 1), "observed"),
        ((0.5, -0.1, 1), "sensitivity"),
        ((0.5, 1.1, 1), "sensitivity"),
        ((0.5, 1, float("nan")), "specificity"),
    ],
)
def test_what_is_no_share_is_refused(arguments, named):
    observed, se, sp = arguments
    with pytest.raises(InputRefused, match=rf"^{named}: found "):
        rogan_gladen(observed, **judge(se, sp))
    with pytest.raises(InputRefused, match=rf"^{named}: found "):
        lang(observed, 10, se, 10, sp, 10)


@pytest.mark.parametrize(("positives", "trials"), [(-1, 10), (11, 10), (1, 0)])
def test_more_positives_than_trials_are_refused(positives, trials):
    with pytest.raises(InputRefused, match=rf"found {positives}, expected 0..{trials}"):
        known_errors_interval(positives, trials, **judge(0.9, 0.9), level=0.95, method="wald")


def test_nothing_judged_or_known_is_refused():
    with pytest.raises(TooFewObservations, match="nothing was judged"):
        known_errors_interval(0, 0, **judge(0.9, 0.9), level=0.95, method="wald")
    for sizes, missing in (((0, 5, 5), "judged items"), ((5, 0, 5), "known positives"), ((5, 5, 0), "known negatives")):
        trials, positives, negatives = sizes
        with pytest.raises(TooFewObservations, match=f"there are no {missing}"):
            lang(0.5, trials, 0.9, positives, 0.9, negatives)


def test_single_precision_shares_are_corrected_as_the_fractions_that_they_are():
    shares = {"sensitivity": np.float32(0.75), "specificity": np.float32(1)}
    assert rogan_gladen(np.float32(0.5), **shares).raw == Fraction(2, 3)


def test_infinite_sizes_are_refused():
    for sizes, named in (((np.inf, 5, 5), "trials"), ((5, np.inf, 5), "positives"), ((5, 5, np.inf), "negatives")):
        trials, positives, negatives = sizes
        with pytest.raises(InputRefused, match=f"^{named}: found inf"):
            lang(0.5, trials, 0.9, positives, 0.9, negatives)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_outside_0_to_1_is_refused_with_each_method(level):
    for method in ("wald", "wilson", "clopper-pearson"):
        with pytest.raises(InputRefused, match="level: found"):
            known_errors_interval(5, 10, **judge(0.9, 0.9), level=level, method=method)
    with pytest.raises(InputRefused, match="level: found"):
        lang(0.5, 10, 0.9, 10, 0.9, 10, level=level)


@pytest.mark.parametrize("tenths", range(1, 10))
def test_a_judge_exactly_at_chance_is_refused_though_its_floats_add_up_to_a_little_more(tenths):
    """.9 + .1 exceeds 1 as binary fractions, and the correction would divide by what is left."""
    with pytest.raises(JudgeTooPoor, match="no better than chance"):
        rogan_gladen(0.5, sensitivity=tenths / 10, specificity=(10 - tenths) / 10)

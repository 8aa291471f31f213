"""What errors in binary labels do to accuracies, gaps and correlations, and what the truth behind them is."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from scipy.stats import binom

from eval_pipeline.errors import NotIdentifiable, TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, flags, in_a_row, require_equal_lengths
from eval_pipeline.stats.scalars import real_number, two_sided_z, whole_number


@dataclass(frozen=True, slots=True)
class PairedGap:
    """How much more often system a is right than system b on the same `n` items.

    `gap` is the mean of a - b, `sd` their standard deviation (n - 1), `disagreement` the share of items on which just
    one of the two is right. `z` is gap / (sd / sqrt(n)); None where sd is 0, as all differences are the same.
    """

    n: int
    gap: Fraction
    disagreement: Fraction
    sd: float
    z: float | None


@dataclass(frozen=True, slots=True)
class Disattenuated:
    """A correlation freed of errors of measurement; `uncapped` may lie beyond -1 or 1 by chance, `estimate` not."""

    estimate: float
    uncapped: float


def label_noise(disagreement: float) -> float:
    """How often one rater errs, from how often two of them differ: (1 - sqrt(1 - 2d)) / 2.

    Raters err independently, alike, and as often on either label. They then differ in 2 eta (1 - eta) of items, which
    is at most 1/2; more of it than that also gives 1/2, which no correction takes.

    Args: disagreement: the share of pairs of ratings of one item that differ, in [0, 1].
    Raises: InputRefused: a share outside [0, 1].
    Source: Lam & Stork (2003), Evaluating classifiers by means of test data with noisy labels, IJCAI-03, 513-518.
    """
    disagreement = real_number(disagreement, "disagreement", low=0, high=1)
    return (1 - sqrt(max(1 - 2 * disagreement, 0.0))) / 2


def majority_error(eta: float, *, raters: int) -> float:
    """How often most of the raters err, each on their own with chance `eta`; a tie is broken by a coin.

    Args:
        eta: one rater's error rate, in [0, 0.5].
        raters: how many vote, 1 or more; an even number errs as often as the odd one below it.
    Raises: InputRefused: an error rate outside [0, 0.5], or no rater.
    Source: Lam & Suen (1997), IEEE Transactions on Systems, Man, and Cybernetics A 27(5), 553-568.

    """
    eta = real_number(eta, "eta", low=0, high=0.5)
    raters = whole_number(raters, "raters", at_least=1)
    tie = binom.pmf(raters // 2, raters, eta) / 2 if raters % 2 == 0 else 0.0
    return float(binom.sf(raters // 2, raters, eta) + tie)


def observed_accuracy(accuracy: float, *, eta: float) -> float:
    """The accuracy that is measured against labels with errors: p (1 - eta) + (1 - p) eta.

    Args:
        accuracy: the true one, in [0, 1].
        eta: the labels' error rate, in [0, 0.5], the same for both labels and whether the system is right or wrong.
    Raises: InputRefused: an argument outside its range.
    Source: Lam & Stork (2003), as in `label_noise`.

    """
    accuracy = real_number(accuracy, "accuracy", low=0, high=1)
    return accuracy * _factor(eta) + float(eta)


def true_accuracy(observed: float, *, eta: float) -> float:
    """The accuracy behind a measured one: (p - eta) / (1 - 2 eta), set to the nearer end where outside [0, 1].

    Args:
        observed: the measured accuracy, in [0, 1].
        eta: as in `observed_accuracy`.

    Raises:
        NotIdentifiable: eta = 0.5.
        InputRefused: an argument outside its range.
    Source: Lam & Stork (2003), as in `label_noise`.

    """
    observed = real_number(observed, "observed", low=0, high=1)
    return min(max((observed - float(eta)) / _identified(eta), 0.0), 1.0)


def observed_gap(gap: float, *, eta: float) -> float:
    """The difference of two accuracies that is measured against labels with errors: (1 - 2 eta) times the true one.

    Args:
        gap: the true difference, in [-1, 1].
        eta: as in `observed_accuracy`.
    Raises: InputRefused: an argument outside its range.
    Source: Lam & Stork (2003), as in `label_noise`.

    """
    gap = real_number(gap, "gap", low=-1, high=1)
    return gap * _factor(eta)


def true_gap(observed: float, *, eta: float) -> float:
    """The difference of two accuracies behind a measured one: 1 / (1 - 2 eta) times as large, within [-1, 1].

    Args:
        observed: the measured difference, in [-1, 1].
        eta: as in `observed_accuracy`.

    Raises:
        NotIdentifiable: eta = 0.5.
        InputRefused: an argument outside its range.
    Source: Lam & Stork (2003), as in `label_noise`.

    """
    observed = real_number(observed, "observed", low=-1, high=1)
    return _within(observed / _identified(eta))


def sample_size_inflation(eta: float) -> float:
    """How many times as many items a small gap takes to be found against labels with errors: 1 / (1 - 2 eta)^2.

    Args: eta: as in `observed_accuracy`.

    Raises:
        NotIdentifiable: eta = 0.5.
        InputRefused: eta outside [0, 0.5].
    Source: Lam & Stork (2003), as in `label_noise`.

    """
    return 1 / _identified(eta) ** 2


def paired_gap(a: ArrayLike, b: ArrayLike) -> PairedGap:
    """The gap of two systems that answered the same items.

    Args:
        a: shape (n,), 1 where the first system is right, 0 where it is not.
        b: shape (n,), the same of the second.

    Raises:
        TooFewObservations: n < 2.
        InputRefused: unequal lengths, or values other than 0 and 1.
    Source: McNemar (1947), Psychometrika 12(2), 153-157.

    """
    first, second = in_a_row(flags(a, "a"), "a"), in_a_row(flags(b, "b"), "b")
    require_equal_lengths(a=first, b=second)
    n = len(first)
    if n < 2:
        raise TooFewObservations(f"a paired gap needs at least 2 items and was given {n}")
    differences = first - second
    gap = Fraction(int(differences.sum()), n)
    disagreement = Fraction(int((differences != 0).sum()), n)
    sd = sqrt((disagreement - gap**2) * Fraction(n, n - 1))
    return PairedGap(n, gap, disagreement, sd, float(gap) / (sd / sqrt(n)) if sd else None)


def true_gap_interval(gap: PairedGap, *, eta: float, eta_error: float, level: Number) -> Interval:
    """Interval for the true gap of two systems: Bonett and Price's for the measured one, freed of the labels' errors.

    One item is added for either system alone, so that there is an interval where no two answers differed. The errors
    of the gap and of eta are taken as independent, and are put together by the delta method.

    Args:
        gap: what was measured.
        eta: as in `observed_accuracy`.
        eta_error: the standard error of eta; 0 where eta is known.
        level: coverage, in (0, 1).

    Raises:
        NotIdentifiable: eta = 0.5.
        InputRefused: an argument outside its range.
    Source: Bonett & Price (2012), Journal of Educational and Behavioral Statistics 37(4), 479-488.

    """
    eta_error = real_number(eta_error, "eta_error", low=0, high=0.5)
    factor = _identified(eta)
    centre = float(gap.gap * gap.n / (gap.n + 2))
    variance = (float((gap.disagreement * gap.n + 2) / (gap.n + 2)) - centre**2) / (gap.n + 2)
    true = centre / factor
    half = two_sided_z(level) * sqrt(variance + (2 * true * eta_error) ** 2) / factor
    return Interval(_within(true - half), _within(true + half), float(level))


def disattenuated_correlation(r: float, *, reliability_x: float, reliability_y: float) -> Disattenuated:
    """The correlation of two quantities behind that of their measurements: r / sqrt(reliability_x reliability_y).

    Args:
        r: the measured correlation, in [-1, 1].
        reliability_x: the share of the variance of x that is not error, in [0, 1].
        reliability_y: the same of y.

    Raises:
        NotIdentifiable: a reliability of 0.
        InputRefused: an argument outside its range.
    Source: Spearman (1904), American Journal of Psychology 15(1), 72-101.

    """
    r = real_number(r, "r", low=-1, high=1)
    for name, reliability in (("reliability_x", reliability_x), ("reliability_y", reliability_y)):
        if real_number(reliability, name, low=0, high=1) == 0:
            raise NotIdentifiable(f"{name} is 0, so the measurement says nothing of what it measures")
    uncapped = r / sqrt(reliability_x) / sqrt(reliability_y)
    return Disattenuated(_within(uncapped), uncapped)


def _factor(eta: float) -> float:
    """1 - 2 eta, by which errors in labels shrink a gap."""
    eta = real_number(eta, "eta", low=0, high=0.5)
    return 1 - 2 * eta


def _identified(eta: float) -> float:
    """The same, where it is not 0."""
    if (factor := _factor(eta)) == 0:
        raise NotIdentifiable("labels that are wrong half of the time say nothing of the truth; have raters that agree")
    return factor


def _within(value: float) -> float:
    return min(max(value, -1.0), 1.0)

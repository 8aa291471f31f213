"""What an estimator takes as single numbers: sizes, shares and levels, each as a plain number; else a refusal."""

from fractions import Fraction
from math import inf
from typing import Any, TypeVar, get_args

from scipy.special import ndtri

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import reals, whole_numbers

Chosen = TypeVar("Chosen", bound=str)

_ROUNDED = Fraction(1, 10**12)


def whole_number(value: int, name: str, *, at_least: int | None = None) -> int:
    """One whole number as a Python integer, which does not wrap around.

    Raises: InputRefused: it is missing, below `at_least`, has a fraction, or is not one number.
    """
    number = whole_numbers(value, name, at_least=at_least)
    if number.shape:
        raise InputRefused(f"{name}: found an array, expected one number")
    return int(number)


def real_number(value: Number, name: str, *, low: float = -inf, high: float = inf) -> float:
    """One finite number within [low, high] as a Python float.

    Raises: InputRefused: it is missing, outside, or not one number.
    """
    number = reals(value, name)
    if number.shape:
        raise InputRefused(f"{name}: found an array, expected one number")
    if not low <= number <= high:
        raise InputRefused(f"{name}: found {number:g}, expected a number in [{low:g}, {high:g}]")
    return float(number)


def choice(value: Chosen, of: Any, name: str) -> Chosen:
    """One of the words that a `Literal` allows; another would fall through to some branch in silence.

    Raises: InputRefused: it is none of them.
    """
    if value not in get_args(of):
        raise InputRefused(f"{name}: found {value!r}, expected one of {', '.join(map(repr, get_args(of)))}")
    return value


def positive_number(value: Number, name: str) -> float:
    """One finite number above 0.

    Raises: InputRefused: it is not above 0, or not one number.
    """
    number = real_number(value, name)
    if number <= 0:
        raise InputRefused(f"{name}: found {number:g}, expected a number above 0")
    return number


def exact_share(value: Number, name: str) -> Fraction:
    """A share in [0, 1] as a fraction; a float is taken for the decimal that it prints as, as in `exact_level`.

    Raises: InputRefused: it lies outside [0, 1], or is not one number.
    """
    share = as_printed(value, name)
    if not 0 <= share <= 1:
        raise InputRefused(f"{name}: found {float(share):g}, expected a number in [0, 1]")
    return share


def open_share(value: Number, name: str) -> float:
    """A share that is neither 0 nor 1, such as an alpha or a power.

    Raises: InputRefused: it does not lie in (0, 1), or is not one number.
    """
    share = real_number(value, name)
    if not 0 < share < 1:
        raise InputRefused(f"{name}: found {value}, expected a number in (0, 1)")
    return share


def as_printed(value: Number, name: str) -> Fraction:
    """A fraction as it is, or a float as the decimal that it prints as: .95 is 19/20.

    Raises: InputRefused: it is missing, infinite, or not one number.
    """
    return value if isinstance(value, Fraction) else Fraction(repr(real_number(value, name)))


def reaches(value: Number, bar: Fraction) -> bool:
    """Whether a number is the bar or lies above it; a float may have lost as much as 1e-12 to arithmetic on the way.

    What is .6 exactly may come out as 0.5999999999999999, and .95 is no float at all.

    Raises: ValueError, OverflowError: it is not finite.
    """
    return Fraction(value) + (_ROUNDED if isinstance(value, float) else 0) >= bar


def exact_level(level: Number) -> Fraction:
    """A coverage in (0, 1) as a fraction; a float is taken for the decimal that it prints as, .95 for 19/20.

    Raises: InputRefused: it does not lie in (0, 1), or is not one number.
    """
    share = as_printed(level, "level")
    if not 0 < share < 1:
        raise InputRefused(f"level: found {level}, expected a coverage in (0, 1)")
    return share


def two_sided_z(level: Number) -> float:
    """The normal quantile that leaves (1 - level)/2 on either side.

    Raises: InputRefused: level outside (0, 1).
    """
    return -float(ndtri((1 - open_share(level, "level")) / 2))

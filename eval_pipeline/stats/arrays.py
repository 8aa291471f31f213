"""What an estimator takes: any array that holds the numbers without doubt, as int64 or float64; else a refusal."""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import InputRefused, TooFewObservations

Counts = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike | Iterable[Any] | Fraction
Row = TypeVar("Row", bound=npt.NDArray[Any])

_WHOLE_IN_FLOAT64 = 2.0**53  # beyond it a float64 no longer tells whole numbers apart


def counts(values: ArrayLike, name: str) -> Counts:
    """Whole numbers from 0 on, as int64: sums of narrow integers wrap around, and differences of unsigned ones.

    Args:
        values: an array, list or pandas object of integers, bools, or floats without a fraction.
        name: what they are, for the message.
    Raises: InputRefused: a value is missing, negative, has a fraction, is no number, or exceeds int64.

    """
    return whole_numbers(values, name, at_least=0)


def whole_numbers(values: ArrayLike, name: str, *, at_least: int | None = None) -> Counts:
    """Whole numbers as int64, none below `at_least`.

    Raises: InputRefused: as in `counts`.
    """
    array = _plain(values, name)
    if array.dtype.kind in "iu":
        if array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise InputRefused(f"{name}: found {array.max()}, expected at most 2^63 - 1")
        whole = array.astype(np.int64, copy=False)
    else:
        real = _finite(array, name)
        if (odd := real[(real != np.floor(real)) | (np.abs(real) >= _WHOLE_IN_FLOAT64)]).size:
            raise InputRefused(f"{name}: found {odd.flat[0]:g}, expected whole numbers")
        whole = real.astype(np.int64)
    if at_least is not None and whole.size and whole.min() < at_least:
        raise InputRefused(f"{name}: found {whole.min()}, expected {at_least} or more")
    return whole


def reals(values: ArrayLike, name: str, *, low: float = -np.inf, high: float = np.inf) -> Reals:
    """Finite numbers as float64, all of them within [low, high].

    Raises: InputRefused: a value is missing, infinite, outside [low, high], or no number.
    """
    array = _finite(_plain(values, name), name)
    if (outside := array[(array < low) | (array > high)]).size:
        raise InputRefused(f"{name}: found {outside.flat[0]:g}, expected numbers in [{low:g}, {high:g}]")
    return array


def flags(values: ArrayLike, name: str) -> Counts:
    """Yes or no, as 1 or 0.

    Raises: InputRefused: a value is neither 0 nor 1, or is missing.
    """
    array = whole_numbers(values, name)
    if (odd := array[(array != 0) & (array != 1)]).size:
        raise InputRefused(f"{name}: found {odd.flat[0]}, expected 0 or 1")
    return array


def groups(values: ArrayLike, name: str) -> Counts:
    """The group of each element as a number 0..k-1 without gaps, in the order of the groups' names.

    Args:
        values: shape (n,); integers, strings or other values of one kind that can be sorted.
        name: what they are, for the message.
    Raises: InputRefused: a value is missing, or values of different kinds cannot be told apart by order.

    """
    array = in_a_row(labels(values, name), name)
    if array.dtype.kind == "f" and (np.abs(array) > _WHOLE_IN_FLOAT64).any():
        raise InputRefused(f"{name}: found a name beyond 2^53, expected numbers that a float64 tells apart, or texts")
    if is_missing(array).any() or (isinstance(values, np.ma.MaskedArray) and values.mask.any()):
        raise InputRefused(f"{name}: found a missing value, expected a group for each element")
    try:
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        raise InputRefused(f"{name}: found values of different kinds, expected all numbers or all strings") from None


def labels(values: ArrayLike, name: str) -> npt.NDArray[Any]:
    """Values of any kind as an array, in which a missing one among texts is still missing and not the text "nan".

    Raises: InputRefused: rows of unequal lengths.
    """
    try:
        array = np.asarray(values)
        return (
            array if array.dtype.kind not in "US" or isinstance(values, np.ndarray) else np.array(values, dtype=object)
        )
    except ValueError:
        raise InputRefused(f"{name}: found rows of unequal lengths, expected a table") from None


def is_missing(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where an array holds None, NaN or pandas' NA, in its shape."""
    if array.dtype.kind == "O":
        return np.array([_is_absent(value) for value in array.flat], dtype=bool).reshape(array.shape)
    if array.dtype.kind in "fcmM":
        return np.asarray(np.isnan(array), dtype=np.bool_)
    return np.zeros(array.shape, dtype=bool)


def sample(values: ArrayLike, name: str) -> Reals:
    """A row of finite numbers, one or more.

    Raises: TooFewObservations: there is none; InputRefused: as in `reals`, or other than one dimension.
    """
    array = in_a_row(reals(values, name), name)
    if not array.size:
        raise TooFewObservations(f"{name}: found no value, expected at least 1")
    return array


def in_a_row(array: Row, name: str) -> Row:
    """The array, which has one dimension.

    Raises: InputRefused: it has another number of them.
    """
    if array.ndim != 1:
        raise InputRefused(f"{name}: found {array.ndim} dimensions, expected 1")
    return array


def require_equal_lengths(**arrays: npt.NDArray[Any]) -> None:
    """That the arrays, given by name, pair off element by element.

    Raises: InputRefused: they do not.
    """
    if len({len(array) for array in arrays.values()}) > 1:
        found = ", ".join(f"{len(array)} {name}" for name, array in arrays.items())
        raise InputRefused(f"found {found}; expected one of each for every element")


def _plain(values: ArrayLike, name: str) -> npt.NDArray[Any]:
    """An array of one kind of number; a mask or a missing value is not dropped in silence."""
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise InputRefused(f"{name}: found a masked value, expected a number everywhere")
    array = labels(values, name)
    if array.size == 0:
        return array.astype(np.float64)
    if array.dtype.kind == "O":
        if is_missing(array).any():
            raise InputRefused(f"{name}: found a missing value, expected a number everywhere")
        if any(isinstance(value, (str, bytes)) for value in array.flat):
            raise InputRefused(f"{name}: found text, expected numbers")
        # NumPy counts its durations among the integers.
        if not all(isinstance(v, (Real, Decimal, np.bool_)) and not isinstance(v, np.timedelta64) for v in array.flat):
            raise InputRefused(f"{name}: found what is no number, expected numbers")
        if not all(isinstance(value, (int, np.integer)) for value in array.flat):
            try:
                return array.astype(np.float64)
            except OverflowError:
                raise InputRefused(f"{name}: found a number beyond a float64, expected a smaller one") from None
        try:
            return array.astype(np.int64)
        except OverflowError:
            raise InputRefused(f"{name}: found a number beyond 64 bits, expected less than 2^63") from None
    if array.dtype.kind not in "biuf":
        raise InputRefused(f"{name}: found values of type {array.dtype}, expected numbers")
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def _finite(array: npt.NDArray[Any], name: str) -> Reals:
    if (
        array.dtype.kind in "iu"
        and array.size
        and max(abs(int(array.max())), abs(int(array.min()))) > _WHOLE_IN_FLOAT64
    ):
        raise InputRefused(f"{name}: found a whole number beyond 2^53, expected numbers that a float64 tells apart")
    real = array.astype(np.float64, copy=False)
    if not np.isfinite(real).all():
        raise InputRefused(f"{name}: found {real[~np.isfinite(real)].flat[0]}, expected finite numbers")
    return real


def _is_absent(value: Any) -> bool:
    """None; NaN, which differs from itself; pandas' NA and a signalling NaN, which will not say whether they do."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except (TypeError, ArithmeticError):
        return True
    except ValueError:  # an array in an array, which is refused where it is read
        return False

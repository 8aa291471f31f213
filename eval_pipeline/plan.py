"""A preregistered plan, as data: what is asked, how it will be answered, and every number that decides."""

import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from eval_pipeline.errors import PlanRefused
from eval_pipeline.jsonl import found

_NO_DEFAULT = "a plan leaves nothing to a default"
_EXPONENT = 30  # beyond it the exact number would have more digits than a machine can hold


def _exact(value: object) -> Fraction:
    """A share as it is written, so that .80 is four fifths and not the nearest binary number."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, Decimal, str)):
        raise ValueError('a number, or a fraction in quotes such as "1/5"')
    if "e" in str(value).lower() and abs(int(str(value).lower().rpartition("e")[2])) > _EXPONENT:
        raise ValueError("a number that is neither so large nor so small")
    try:
        return Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise ValueError('a number, or a fraction in quotes such as "1/5"') from None


Exact = Annotated[Fraction, BeforeValidator(_exact), PlainSerializer(str, return_type=str)]
Share = Annotated[Exact, Field(ge=0, le=1)]
Level = Annotated[Exact, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
CountFromZero = Annotated[int, Field(ge=0)]


class Section(BaseModel):
    """A table of a plan: every field of it must be said, and none besides."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Protocol(Section):
    """What a plan says in words, so that a reader knows what was promised before the data were seen."""

    question: str
    hypotheses: tuple[str, ...]
    estimand: str
    estimator: str
    sample_size: str
    decision_rule: str
    stopping_rule: str


class Plan(Section):
    """What every plan holds; each study adds its own numbers."""

    name: Annotated[str, Field(min_length=1)]
    version: Count
    study: str
    seed: Annotated[int, Field(ge=0)]
    protocol: Protocol


_Plan = TypeVar("_Plan", bound=Plan)


def read_plan(path: Path, model: type[_Plan]) -> _Plan:
    """The plan in a TOML file.

    Raises: PlanRefused: it cannot be read, leaves something unsaid, or says something that cannot be.
    """
    what = f"plan {str(path)!r}"
    try:
        values = tomllib.loads(path.read_bytes().decode("utf-8"), parse_float=Decimal)
    except OSError as error:
        raise PlanRefused(f"{what} cannot be read ({error.strerror}); give a TOML file") from None
    except (ValueError, RecursionError) as error:
        raise PlanRefused(f"{what} is not TOML: {error}") from None
    return parse_plan(values, model, what)


def parse_plan(values: dict[str, Any], model: type[_Plan], what: str) -> _Plan:
    """The plan of values that were read.

    Raises: PlanRefused: see `read_plan`.
    """
    try:
        return model.model_validate(_lists_as_tuples(values))
    except ValidationError as error:
        raise PlanRefused(f"{what} is refused: {'; '.join(faults_of(error, missing=_NO_DEFAULT))}") from None


def faults_of(error: ValidationError, *, missing: str) -> list[str]:
    """A clause for each fault that a model found: the field, what was found, what was expected.

    Args: missing: what to do about a field that is not there.
    """
    return [_fault(fault, missing) for fault in error.errors()]


def _lists_as_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lists_as_tuples(item) for name, item in value.items()}
    return tuple(_lists_as_tuples(item) for item in value) if isinstance(value, list) else value


def _fault(fault: Any, missing: str) -> str:
    field = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        return f"field {field!r}: found nothing, expected a value; {missing}"
    if fault["type"] == "extra_forbidden":
        return f"field {field!r}: found a field that no rule reads; remove it"
    value = fault["input"]
    shown = str(value) if isinstance(value, (Decimal, Fraction)) else found(value) if _plain(value) else repr(value)
    expected = fault["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return f"field {field!r}: found {shown}, expected {expected}"


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, dict))

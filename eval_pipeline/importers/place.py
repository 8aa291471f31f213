"""Values in a log of another tool, each with the place it stands in, so that a refusal can name it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from eval_pipeline.errors import MalformedLog
from eval_pipeline.jsonl import found

_DIGITS = 100
_WRITE_AGAIN = "let the tool write the log again, and do not edit it"


@dataclass(frozen=True, slots=True)
class Place:
    """A value of a log, the file that holds it, and its JSON path there."""

    file: str
    path: str
    value: Any

    def refusal(self, expected: str, remedy: str = _WRITE_AGAIN) -> MalformedLog:
        """What is raised where the value is not what the format promises."""
        return MalformedLog(
            f"log {self.file!r}", [f"at {self.path}: found {found(self.value)}, expected {expected}; {remedy}"]
        )

    def field(self, name: str) -> "Place":
        """The field of an object.

        Raises: MalformedLog: this is no object, or has no such field.
        """
        if name not in self._object():
            raise self.refusal(f"an object with the field {name!r}")
        return self._inner(name)

    def maybe(self, *names: str) -> "Place | None":
        """The first of these fields of an object that is there and not null; None where there is none."""
        fields = self._object()
        return next((self._inner(name) for name in names if fields.get(name) is not None), None)

    def entries(self) -> "dict[str, Place]":
        """The fields of an object, by their names."""
        return {name: self._inner(name) for name in self._object()}

    def items(self) -> "list[Place]":
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.refusal("a list")
        return [Place(self.file, f"{self.path}[{place}]", item) for place, item in enumerate(self.value)]

    def text(self) -> str:
        """A text that is not blank, and that UTF-8 can hold."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.refusal("a text that is not blank")
        if any("\ud800" <= mark <= "\udfff" for mark in self.value):
            raise self.refusal("text without a lone surrogate")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.refusal("true or false")
        return self.value

    def whole(self, *, at_least: int) -> int:
        """A whole number, `at_least` or more."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < at_least:
            raise self.refusal(f"a whole number of {at_least} or more")
        return self.value

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)) or not isfinite(self.value):
            raise self.refusal("a finite number")
        return float(self.value)

    def score(self) -> float:
        """A number from 0 to 1, or true for 1 and false for 0."""
        value = float(self.value) if isinstance(self.value, bool) else self.number()
        if not 0 <= value <= 1:
            raise self.refusal(
                "a score from 0 to 1", "rescale it in the tool, or name the metrics to import with --metric"
            )
        return value

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.refusal("an object")
        return self.value

    def _inner(self, name: str) -> "Place":
        plain = name.replace("_", "a").isalnum()
        return Place(self.file, f"{self.path}.{name}" if plain else f"{self.path}[{name!r}]", self.value[name])


def parse_log(data: bytes, file: str) -> Place:
    """The value of a JSON text; NaN and infinities are read, and refused where a number is asked for.

    Raises: MalformedLog: it is not JSON in UTF-8, an object names a field twice, or it cannot be held.
    """
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_without_repeats, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise _broken(file, f"at byte {error.start + 1}: found a byte that is not UTF-8, expected JSON") from None
    except json.JSONDecodeError as error:
        raise _broken(
            file, f"at line {error.lineno}, column {error.colno}: found invalid JSON ({error.msg}), expected JSON"
        ) from None
    except RecursionError:
        raise _broken(file, "at $: found JSON nested too deep to read, expected a log") from None
    except ValueError as error:
        raise _broken(file, f"at $: {error}") from None
    return Place(file, "$", value)


def by_name(places: "list[Place]", name_of: Callable[[Place], str]) -> Iterator[tuple[str, Place]]:
    """Each place with its name.

    Raises: MalformedLog: two have one name.
    """
    seen: dict[str, Place] = {}
    for place in places:
        name = name_of(place)
        if first := seen.get(name):
            where = first.path if first.file == place.file else f"{first.path} of {first.file!r}"
            raise MalformedLog(
                f"log {place.file!r}",
                [
                    f"at {place.path}: found {name} a second time, first at {where}, expected it once;"
                    " take one of them out, or let the tool name them apart"
                ],
            )
        seen[name] = place
        yield name, place


def _broken(file: str, fault: str) -> MalformedLog:
    return MalformedLog(f"log {file!r}", [f"{fault}; {_WRITE_AGAIN}"])


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"found an object with the field {repeated!r} twice, expected it once")
    return fields


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"found an integer of {len(digits)} digits, expected one that a program can hold")
    return int(digits)

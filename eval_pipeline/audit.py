"""Every number of a document traced to where it stands in the results, or exempted with a written reason.

A number is bound by a comment right after it, which names a path in the results as RFC 6901 writes it:
`0.157<!-- = /label-signal/tracks/agentic/composite/raters -->`. What no result holds stands between
`<!-- audit: exempt, REASON -->` and `<!-- audit: end -->`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Literal

from eval_pipeline.errors import AuditRefused

Form = Literal["as it is", "times 100", "halved"]
Standing = Literal["bound", "exempt", "unbound", "mismatch", "no_such_path", "withheld"]

_SIGNIFICANT = 2  # digits of a number that was rounded
_FINEST = 4  # decimals to which a literal without a path is compared
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_EXEMPT = re.compile(r"\s*audit:\s*exempt\s*,?\s*(.*?)\s*$", re.DOTALL)
_END = re.compile(r"\s*audit:\s*end\s*$")
_BINDING = re.compile(r"\s*<!--\s*=\s*(/.*?)\s*-->")
_NUMBER = re.compile(
    r"(?<![\w.])(?<![A-Za-z_]-)(?<!\d,)"  # not within a name, a version or a number
    r"(?P<sign>(?<![\w%)])[+\-−])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<percent>\s?%)?(?!\d|\.\d)"
)
_PLACE = re.compile(r"\s*(\d{1,3})[.)](?=\s)")
_IN_TEXT = re.compile(r"(?<![\w.])[+-]?(?:\d+\.\d+|\.\d+|\d+)(?![\w.]|\.\d)")
_SKIPPED = (
    re.compile(r"^(```|~~~).*?^\1\s*?$", re.DOTALL | re.MULTILINE),  # fenced code
    re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+"),  # indented code, after a blank line
    re.compile(r"`[^`\n]*`"),  # code in a line
    re.compile(r"\]\([^)\s]*\)"),  # where a link leads
    re.compile(r"https?://\S+"),
    re.compile(r"\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z?)?"),  # dates
    re.compile(r"\b(?:ADR|RFC|ISO|PEP)[-\s]?\d+\b"),
    re.compile(r"\b\d+(?:st|nd|rd|th)\b"),
    re.compile(r"(?<![\d.])0\d+(?![\d.])"),  # whole numbers that lead with a zero
    re.compile(r"\((?:[^()\d\n]*[\s,])?(?:19|20)\d\d\)"),  # a year of a source
    re.compile(r"\b\d+(?:\.\d+){2,}\b"),  # versions
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A number of the results that a literal may stand for, and what was done to it."""

    path: str
    form: Form


@dataclass(frozen=True, slots=True)
class Finding:
    """A number of a document; `about` is its path, the reason of its exemption, or what was found in its place."""

    line: int
    literal: str
    standing: Standing
    about: str


def audit(document: str, results: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Every number of a Markdown document, in its order.

    Fenced and indented code, code in a line, links, dates, numbered references, ordinals, list numbers, digits that are
    glued to a name and whole numbers that lead with a zero are no numbers to be traced.

    Args:
        document: Markdown.
        results: documents of studies by the study's name.
    Raises: AuditRefused: an exemption has no reason, or is not closed.

    """
    exempt = _exemptions(document)
    text = _blanked(document)
    found = []
    for match in _NUMBER.finditer(text):
        line = document.count("\n", 0, match.start()) + 1
        reason = next((why for start, end, why in exempt if start <= match.start() < end), None)
        literal = match.group(0).strip()
        if reason is not None:
            found.append(Finding(line, literal, "exempt", reason))
            continue
        binding = _BINDING.match(document, match.end())
        found.append(_bound(line, literal, binding.group(1), results) if binding else _unbound(line, literal, results))
    return tuple(found)


def candidates(literal: str, results: Any) -> tuple[Candidate, ...]:
    """The numbers of the results that a literal may stand for: as they are, times 100, or halved, when rounded.

    That a number is among them proves little: 28.0 is half of 56. Only a path binds.

    Args:
        literal: as it stands in the document, such as "35.5 %".
        results: any plain value; numbers in texts and in names count too.

    """
    forms: tuple[Form, ...] = ("as it is", "times 100", "halved")
    return tuple(
        Candidate(path, form)
        for path, value in _numbers(results, "")
        for form in forms
        if _stands_for(literal, value, form)
    )


def _bound(line: int, literal: str, path: str, results: Mapping[str, Any]) -> Finding:
    try:
        value = _at(path, results)
    except (KeyError, IndexError, ValueError, TypeError):
        return Finding(line, literal, "no_such_path", path)
    if withheld := _withheld(path, results):
        return Finding(line, literal, "withheld", withheld)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Finding(line, literal, "mismatch", f"{path} is {value!r}, no number")
    number, percent = Decimal(repr(value)), literal.endswith("%")
    fits = _stands_for(literal, number, "times 100" if percent else "as it is") and _says_enough(
        literal, number, percent
    )
    return Finding(line, literal, "bound" if fits else "mismatch", path if fits else f"{path} is {value!r}")


def _says_enough(literal: str, value: Decimal, percent: bool) -> bool:
    """Whether a rounded number keeps two significant digits: "1" says nothing of .904."""
    shown, _ = _decimal(literal)
    exact = shown == (value * 100 if percent else value)
    return exact or len(str(abs(shown)).replace(".", "").lstrip("0")) >= _SIGNIFICANT


def _withheld(path: str, results: Mapping[str, Any]) -> str | None:
    """The claim's number that a path leads to or into, if the results withhold it."""
    study = results.get(path.split("/")[1], {})
    withheld = study.get("withheld", ()) if isinstance(study, Mapping) else ()
    return next((one for one in withheld if path == one or path.startswith(f"{one}/")), None)


def _unbound(line: int, literal: str, results: Mapping[str, Any]) -> Finding:
    likely = [one.path for one in candidates(literal, results) if one.form != "halved"][:3]
    return Finding(line, literal, "unbound", ", ".join(likely))


def _at(path: str, results: Any) -> Any:
    """The value at a path of RFC 6901."""
    value = results
    for part in path.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and not name.isdecimal():
            raise KeyError(name)
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def _stands_for(literal: str, value: Decimal, form: Form) -> bool:
    shown, percent = _decimal(literal)
    if form == "as it is" and percent:
        return False
    if form == "halved":
        value /= 2
    elif form == "times 100":
        value *= 100
    places = max(0, -int(shown.as_tuple().exponent))
    if places > _FINEST:
        return shown == value
    unit = Decimal(1).scaleb(-places)
    try:
        return shown in (value.quantize(unit, ROUND_HALF_EVEN), value.quantize(unit, ROUND_HALF_UP))
    except InvalidOperation:
        return False


def _decimal(literal: str) -> tuple[Decimal, bool]:
    text = literal.replace(",", "").replace("−", "-").strip()
    percent = text.endswith("%")
    return Decimal(text.removesuffix("%").strip()), percent


def _numbers(value: Any, path: str) -> Iterator[tuple[str, Decimal]]:
    """Every number of a value with its path, those in texts and names included."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            inner = f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"
            yield from ((inner, number) for number in _in_text(str(name)))
            yield from _numbers(item, inner)
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            yield from _numbers(item, f"{path}/{place}")
    elif isinstance(value, str):
        yield from ((path, number) for number in _in_text(value))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, Decimal(repr(value))


def _in_text(text: str) -> Iterator[Decimal]:
    yield from (Decimal(found) for found in _IN_TEXT.findall(text))


def _exemptions(document: str) -> list[tuple[int, int, str]]:
    """Where each exemption begins and ends, and why."""
    found: list[tuple[int, int, str]] = []
    begun: tuple[int, str] | None = None
    for match in _COMMENT.finditer(document):
        line = document.count("\n", 0, match.start()) + 1
        exempt = _EXEMPT.match(match.group(1))
        if exempt:
            if begun:
                raise AuditRefused(f"line {line}: found an exemption within another, expected 'audit: end' before it")
            if not exempt.group(1):
                raise AuditRefused(f"line {line}: found an exemption without a reason, expected one; write it down")
            begun = (match.start(), exempt.group(1))
        elif _END.match(match.group(1)):
            if not begun:
                raise AuditRefused(f"line {line}: found an end of an exemption, expected its beginning before it")
            found.append((begun[0], match.end(), begun[1]))
            begun = None
    if begun:
        line = document.count("\n", 0, begun[0]) + 1
        raise AuditRefused(f"line {line}: found an exemption without an end, expected '<!-- audit: end -->' after it")
    return found


def _blanked(document: str) -> str:
    """The document with all that holds no number to be traced blanked out, each character in its place."""

    def blank(match: "re.Match[str]") -> str:
        return re.sub(r"[^\n]", " ", match.group(0))

    text = _COMMENT.sub(blank, document)
    for pattern in _SKIPPED:
        text = pattern.sub(blank, text)
    return _without_places(text)


def _without_places(text: str) -> str:
    """The text without the places of its numbered lists: of a line that leads with 1, or one more than the last."""
    lines, expected = [], 1
    for line in text.split("\n"):
        place = _PLACE.match(line)
        if place and int(place.group(1)) in (1, expected):
            expected = int(place.group(1)) + 1
            lines.append(" " * place.end() + line[place.end() :])
        else:
            lines.append(line)
    return "\n".join(lines)

"""Pages from templates: every text escaped, every name that is missing an error, and numbers in one dress."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup


def rendered(template: str, **values: Any) -> str:
    """The template of that name with these values."""
    return _environment().get_template(template).render(**values)


@cache
def drawn_by() -> str:
    """The sha256 of all that draws pages, code and templates: another one may draw the same findings otherwise."""
    room = Path(__file__).resolve().parent
    files = sorted(path for path in room.rglob("*") if path.suffix in (".py", ".jinja"))
    whole = hashlib.sha256()
    for path in files:
        whole.update(path.relative_to(room).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


@cache
def _environment() -> Environment:
    """One for the process, so that each template is compiled once."""
    environment = Environment(
        loader=PackageLoader("eval_pipeline.report"),
        autoescape=select_autoescape(["html.jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "share": _share,
        "ends": _ends,
        "least": _least,
        "one_line": _one_line,
        "shortened": _shortened,
        "percent": _percent,
        "words": _words,
    }
    environment.globals["policy"] = _policy
    return environment


def _share(value: float | None, reason: str | None = None) -> str:
    """A number, or why there is none: the reason for which its claim is withheld, or that too little was judged."""
    return _no_number(reason) if value is None else f"{value:.4f}"


def _no_number(reason: str | None) -> str:
    return f"withheld: {reason.replace('_', ' ')}" if reason else "too little judged"


def _ends(interval: Sequence[float | None] | None, reason: str | None = None) -> str:
    if interval is None:
        return _no_number(reason)
    low, high = interval
    if low is None:
        return f"≤ {high:.4f}"
    return f"{low:.4f} to {high:.4f}"


def _least(interval: Sequence[float | None] | None, reason: str | None = None) -> str:
    """The lower bound of an interval that is open above."""
    return _no_number(reason) if interval is None or interval[0] is None else f"at least {interval[0]:.4f}"


def _shortened(text: str, longest: int = 2000) -> str:
    """A text as the page shows it: all of it, or its beginning and how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def _one_line(text: str) -> str:
    """A text as a cell of a Markdown table holds it: no line break, and nothing in it that Markdown would act on."""
    folded = " ".join(_shortened(text).split()).replace("\\", "\\\\")
    for mark in "|`*_[]<>#!~&":
        folded = folded.replace(mark, f"\\{mark}")
    return folded


def _percent(value: float | None) -> str:
    """A share in per cent; a dash where it could not be computed."""
    return "–" if value is None else f"{100 * value:.1f} %"


def _words(name: str) -> str:
    """A name of the program as words."""
    return name.replace("_", " ")


def _policy(script: str | None = None, style: str | None = None) -> Markup:
    """The content security policy of a page: nothing from elsewhere, and no script but its own, known by its hash.

    A style that is not given may be any within the page, which figures need, whose colours stand in attributes.
    """
    sources = {
        "default-src": "'none'",
        **({} if script is None else {"script-src": _source_hash(script)}),
        "style-src": "'unsafe-inline'" if style is None else _source_hash(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return Markup("; ".join(f"{of} {source}" for of, source in sources.items()))  # noqa: S704  # hashes and keywords


def _source_hash(text: str) -> str:
    """How a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"

"""The page of the command line, written from the commands themselves."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import typer

_HEAD = """# The command line

<!-- audit: exempt, defaults and examples of the program, which its tests hold -->

This page is written from the program (`make docs`). `eval-pipeline COMMAND --help` says the same.
"""
_TAIL = "<!-- audit: end -->\n"
_KINDS = {str: "text", int: "whole number", float: "number", bool: "yes or no", Path: "path"}


def reference(app: typer.Typer) -> str:
    """Every command with its arguments and options, as Markdown."""
    root = typer.main.get_command(app)
    sections = [*_section(root, "eval-pipeline"), *_commands(root, "eval-pipeline")]
    return "\n".join([_HEAD, *sections, _TAIL])


def _commands(group: Any, name: str) -> Iterator[str]:
    for own, command in sorted(getattr(group, "commands", {}).items()):
        yield from _section(command, f"{name} {own}")
        yield from _commands(command, f"{name} {own}")


def _section(command: Any, name: str) -> Iterator[str]:
    """A heading, what the command does, and a table of what it takes."""
    yield f"## {name}\n"
    yield f"{inspect.cleandoc(command.help)}\n"
    rows = [row for one in command.params if (row := _row(one)) is not None]
    if rows:
        yield "\n".join(["| argument or option | takes | default | |", "|---|---|---|---|", *rows, ""])
    if command.epilog:
        yield f"{command.epilog.replace('Example: ', 'Example: `')}`\n"


def _row(one: Any) -> str | None:
    names = _names(one)
    if names is None:
        return None
    return f"| {names} | {_type_of(one)} | {_default_of(one)} | {_cell(getattr(one, 'help', None) or '')} |"


def _names(one: Any) -> str | None:
    """How it is written on the command line; None of what is not shown."""
    if getattr(one, "hidden", False) or "--help" in one.opts:
        return None
    if one.param_type_name == "argument":
        shown = f"{one.name.upper()}{'...' if one.nargs == -1 else ''}"
        return f"`{shown}`" if one.required else f"`[{shown}]`"
    return ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))


def _type_of(one: Any) -> str:
    """What kind of value it takes, and between which bounds; nothing for an option that stands alone."""
    if getattr(one, "is_flag", False):
        return ""
    kind = one.type_descriptor.annotation
    shown = _KINDS[get_args(kind)[0] if get_args(kind) else kind]
    bounds = [f"{word} {end}" for word, end in (("from", one.min), ("to", one.max)) if end is not None]
    return " ".join([shown, *bounds]) + (
        f", {one.nargs} of them" if one.nargs > 1 else ", one or more" * (one.nargs < 0)
    )


def _default_of(one: Any) -> str:
    if one.required:
        return "must be given"
    if one.default in (None, False, "", ()) or getattr(one, "is_flag", False):
        return ""
    return f"`{one.default}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

"""The code oracle: does a snippet pass a strict type check, or not, as the claim has it? Nothing of it is executed."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eval_pipeline.studies.judge_reliability.oracles.answer import (
    Answer,
    Content,
    Unavailable,
    content_of,
    told,
    untold,
)

_MYPY = ("--strict", "--no-incremental", "--no-error-summary", "--output", "json", "--config-file", "mypy.ini")
_TSCONFIG = {
    "compilerOptions": {"strict": True, "noEmit": True, "target": "es2022", "module": "es2022", "types": []},
    "include": ["*.ts"],
}
_TSC_LINE = re.compile(r"^(?P<file>[^\s(]+\.ts)\(\d+,\d+\): error (?P<code>TS\d+): (?P<message>.*)$")
_ABSENT_MODULES = ("import-not-found", "import-untyped", "TS2307", "TS7016")
_STEERS_ITS_CHECKER = re.compile(r"#\s*mypy\s*:|@ts-nocheck")


class CodeContent(Content):
    """A snippet, and whether it is said to pass a strict type check."""

    language: Literal["python", "typescript"]
    snippet: str
    expected_valid: bool


@dataclass(frozen=True, slots=True)
class Tools:
    """The commands that check, without their arguments; None where a language's is not installed."""

    python: tuple[str, ...] | None
    typescript: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class _Checked:
    """What a run of a checker said: for each file its first fault as (code, message), or why there is nothing."""

    faults: Mapping[str, tuple[str, str]]
    unavailable: Unavailable | None = None
    why: str = ""


def installed_tools() -> Tools:
    """What this machine has: mypy beside this interpreter, and tsc on the path."""
    mypy = (sys.executable, "-I", "-m", "mypy") if importlib.util.find_spec("mypy") else None
    tsc = shutil.which("tsc")
    return Tools(mypy, (tsc,) if tsc else None)


def code_answer(content: Any, *, tools: Tools, timeout_s: float) -> Answer:
    """Whether the snippet passes, or does not, as the claim has it.

    Args:
        content: of the claim.
        tools: that check.
        timeout_s: of one run of a checker, in seconds.

    """
    return code_answers([content], tools=tools, timeout_s=timeout_s)[0]


def code_answers(contents: Sequence[Any], *, tools: Tools, timeout_s: float) -> tuple[Answer, ...]:
    """The same of many claims, by one run of a checker for each language, in the order given.

    Each run works in an empty folder of its own with a configuration of its own, so that no file around it matters.
    Where a checker fails over all of them, each is checked alone.
    """
    answers: dict[int, Answer] = {}
    snippets: dict[str, dict[int, CodeContent]] = {"python": {}, "typescript": {}}
    for place, content in enumerate(contents):
        claim = content_of(content, CodeContent)
        if isinstance(claim, Answer):
            answers[place] = claim
        elif ready := _before_any_checker(claim):
            answers[place] = ready
        else:
            snippets[claim.language][place] = claim
    for language, run, tool in (("python", _mypy, tools.python), ("typescript", _tsc, tools.typescript)):
        answers |= _checked(snippets[language], run, tool, timeout_s)
    return tuple(answers[place] for place in range(len(contents)))


def _before_any_checker(claim: CodeContent) -> Answer | None:
    """The answer where none needs to be asked."""
    if _STEERS_ITS_CHECKER.search(claim.snippet):
        return untold(Unavailable.UNREADABLE, "the snippet steers its own checker; take that line out")
    if claim.language == "python":
        try:
            ast.parse(claim.snippet)
        except (SyntaxError, ValueError) as error:
            return told(not claim.expected_valid, f"the snippet is no Python: {error}")
        except (RecursionError, MemoryError):
            return untold(Unavailable.BEYOND_ITS_MEANS, "the snippet is nested too deep to be read")
    return None


def _checked(
    claims: Mapping[int, CodeContent],
    run: Callable[[Mapping[str, str], Sequence[str], float], _Checked],
    tool: Sequence[str] | None,
    timeout_s: float,
) -> dict[int, Answer]:
    if not claims:
        return {}
    if tool is None:
        return dict.fromkeys(claims, untold(Unavailable.MISSING_TOOL, "no checker of the language is installed"))
    found = run({f"claim_{place}": claim.snippet for place, claim in claims.items()}, tool, timeout_s)
    if found.unavailable and found.unavailable is not Unavailable.MISSING_TOOL and len(claims) > 1:
        return {
            place: answer
            for place, claim in claims.items()
            for answer in _checked({place: claim}, run, tool, timeout_s).values()
        }
    return {place: _answer(claim, f"claim_{place}", found) for place, claim in claims.items()}


def _answer(claim: CodeContent, name: str, found: _Checked) -> Answer:
    if found.unavailable:
        return untold(found.unavailable, found.why)
    fault = found.faults.get(name)
    if fault and fault[0] in _ABSENT_MODULES:
        return untold(Unavailable.UNREADABLE, f"the snippet imports what is not here: {fault[1]}")
    said = f"an error of kind {fault[0]}: {fault[1]}" if fault else "no error"
    return told((fault is None) is claim.expected_valid, f"the checker found {said}")


def _mypy(snippets: Mapping[str, str], tool: Sequence[str], timeout_s: float) -> _Checked:
    """Exit code 0 without a fault, or 1 with faults of the snippets, is an answer; nothing else is."""
    files = {f"{name}.py": text for name, text in snippets.items()}
    ran = _run([*tool, *_MYPY, *files], files | {"mypy.ini": "[mypy]\n"}, timeout_s)
    if isinstance(ran, _Checked):
        return ran
    faults: dict[str, tuple[str, str]] = {}
    try:
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        errors = [line for line in lines if line["severity"] == "error"]
        for line in errors:
            _note(faults, str(line["file"]).removesuffix(".py"), str(line["code"]), str(line["message"]))
    except (ValueError, KeyError, TypeError):
        return _crashed(ran)
    known = set(faults) <= set(snippets)
    return _Checked(faults) if known and (ran.returncode, bool(errors)) in ((0, False), (1, True)) else _crashed(ran)


def _tsc(snippets: Mapping[str, str], tool: Sequence[str], timeout_s: float) -> _Checked:
    """Any line that is not a fault of a snippet is one of the configuration, and no answer."""
    files = {f"{name}.ts": f"{text}\nexport {{}};\n" for name, text in snippets.items()}
    command = [*tool, "--pretty", "false", "--project", "tsconfig.json"]
    ran = _run(command, files | {"tsconfig.json": json.dumps(_TSCONFIG)}, timeout_s)
    if isinstance(ran, _Checked):
        return ran
    faults: dict[str, tuple[str, str]] = {}
    for line in ran.stdout.splitlines():
        if match := _TSC_LINE.match(line):
            _note(faults, match["file"].removesuffix(".ts"), match["code"], match["message"])
        elif line.strip() and not line.startswith(" "):
            return _Checked({}, Unavailable.MISCONFIGURED, f"the checker says: {line.strip()[:200]}")
    known = set(faults) <= set(snippets)
    return _Checked(faults) if known and (ran.returncode == 0) is not bool(faults) else _crashed(ran)


def _note(faults: dict[str, tuple[str, str]], name: str, code: str, message: str) -> None:
    """Keeps the first fault of a file; that a module is absent comes before all else, for it makes others."""
    if name not in faults or (code in _ABSENT_MODULES and faults[name][0] not in _ABSENT_MODULES):
        faults[name] = (code, message)


def _run(
    command: Sequence[str], files: Mapping[str, str], timeout_s: float
) -> "subprocess.CompletedProcess[str] | _Checked":
    environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="code_oracle_") as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, "utf-8")
        try:
            return subprocess.run(
                command,
                cwd=folder,
                env=environment | {"HOME": folder, "XDG_CONFIG_HOME": folder},
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=timeout_s,
                check=False,
            )
        except FileNotFoundError:
            return _Checked({}, Unavailable.MISSING_TOOL, f"{command[0]} is not installed")
        except subprocess.TimeoutExpired:
            return _Checked({}, Unavailable.TIMED_OUT, f"the checker took more than {timeout_s:g} s")
        except OSError as error:
            return _Checked({}, Unavailable.MISCONFIGURED, f"{command[0]} cannot be started ({error.strerror})")


def _crashed(ran: "subprocess.CompletedProcess[str]") -> _Checked:
    said = (ran.stderr or ran.stdout).strip()[-200:] or "nothing"
    return _Checked({}, Unavailable.CRASHED, f"the checker ended with {ran.returncode} and said: {said}")

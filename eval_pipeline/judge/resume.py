"""Going on with a run: only as it was begun, with the same judge, prompt and plan, or not at all."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval_pipeline.errors import RunDiffers
from eval_pipeline.judge.journal import Head, read_head

_SHOWN = 5


def require_same_run(journals: Path, now: Head) -> None:
    """Returns if the last run of this study was begun with the same judge, under each of its prompts, and plan.

    A run that asks under several prompts keeps a journal under each. All that the last one left are looked at, and
    every judge that they name, so that it does not matter which of them was written last.

    Args:
        journals: the folder of all journals, one folder a judge within it.
        now: what the run that is about to begin would write at the head of its own.

    Raises: RunDiffers: there is no such run, or it differs; the message says in what.

    """
    last = _last_run(journals, now.plan.get("study"))
    if not last:
        raise RunDiffers(f"there is no run to go on with in {str(journals)!r}; begin one, without --resume")
    differing = {path: found for path, begun in last.items() if (found := _all_differences(begun, now))}
    if differing:
        found = list(dict.fromkeys(clause for clauses in differing.values() for clause in clauses))
        shown = "; ".join(found[:_SHOWN]) + (f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
        raise RunDiffers(
            f"the last run, of journal {str(next(iter(differing)))!r}, was begun otherwise: {shown}; put back what it"
            " was begun with, or begin another run, without --resume"
        )


def _last_run(journals: Path, study: object) -> dict[Path, Head]:
    """The heads of the journals of the run that wrote last, the last one first; empty where there is no run."""
    heads = {
        path: head
        for path in sorted(journals.glob("*/*.jsonl"), key=_written_at, reverse=True)
        if (head := read_head(path)) and head.purpose == "run" and head.plan.get("study") == study
    }
    last = next(iter(heads.values()), None)
    return {path: head for path, head in heads.items() if last and head.run == last.run}


def _written_at(path: Path) -> int:
    """When it was last written, in ns; 0 for a journal that went away meanwhile, as one does that stayed empty."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _all_differences(begun: Head, now: Head) -> list[str]:
    return [*_differences_of_judges(begun.judges, now.judges), *_differences("plan", begun.plan, now.plan)]


def _differences_of_judges(begun: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A clause for each field that has another value now; of one under some prompts alone, which these are."""
    under: dict[str, list[str]] = {}
    for judge in begun:
        for clause in _differences("judge", judge, _counterpart(judge, begun, now)):
            under.setdefault(clause, []).append(_prompt_of(judge))
    for clause, prompts in under.items():
        everywhere = len(prompts) == max(len(begun), len(now))
        yield clause if everywhere else f"{clause} under {' and '.join(map(repr, prompts))}"


def _counterpart(
    judge: Mapping[str, Any], begun: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The judge of now that one of then is held against: that under its prompt, or under a prompt that is new."""
    then = {_prompt_of(one) for one in begun}
    return min(now, key=lambda one: (_prompt_of(one) != _prompt_of(judge), _prompt_of(one) in then))


def _prompt_of(judge: Mapping[str, Any]) -> str:
    """The id of the prompt that a judge of that identity is asked under; its task where it needs no prompt."""
    prompt = judge.get("prompt")
    return str(prompt.get("id") if isinstance(prompt, Mapping) else judge.get("task"))


def _differences(name: str, begun: object, now: object) -> Iterator[str]:
    """A clause for each field that has another value now, by its full name."""
    if isinstance(begun, Mapping) and isinstance(now, Mapping):
        for field in sorted({*begun, *now}):
            yield from _differences(f"{name}.{field}", begun.get(field), now.get(field))
    elif begun != now:
        yield f"{name} was {_shown(begun)} and is {_shown(now)}"


def _shown(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

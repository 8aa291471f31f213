"""Going on with a run: only as it was begun, with the same judge, prompt and plan, or not at all."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eval_pipeline.errors import RunDiffers
from eval_pipeline.judge.journal import Head, read_head

_SHOWN = 5


def require_same_run(journals: Path, *now: Head) -> None:
    """Returns if the last run of this study was begun with the same judge, prompt and plan.

    Args:
        journals: the folder of all journals, one folder a judge within it.
        now: what the run that is about to begin would write at the head of its own; of a run that keeps several
            journals, each head, of which the last run need have but one.

    Raises: RunDiffers: there is no such run, or it differs; the message says in what, from the head that is nearest.

    """
    last = _last_run(journals, now[0].plan.get("study"))
    if last is None:
        raise RunDiffers(f"there is no run to go on with in {str(journals)!r}; begin one, without --resume")
    path, begun = last
    found = min((_all_differences(begun, head) for head in now), key=len)
    if found:
        shown = "; ".join(found[:_SHOWN]) + (f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
        raise RunDiffers(
            f"the last run, of journal {str(path)!r}, was begun otherwise: {shown}; put back what it was begun with, or"
            " begin another run, without --resume"
        )


def _last_run(journals: Path, study: object) -> tuple[Path, Head] | None:
    for path in sorted(journals.glob("*/*.jsonl"), key=_written_at, reverse=True):
        head = read_head(path)
        if head and head.purpose == "run" and head.plan.get("study") == study:
            return path, head
    return None


def _written_at(path: Path) -> int:
    """When it was last written, in ns; 0 for a journal that went away meanwhile, as one does that stayed empty."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _all_differences(begun: Head, now: Head) -> list[str]:
    return [*_differences("judge", begun.judge, now.judge), *_differences("plan", begun.plan, now.plan)]


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

"""`eval-pipeline compare-calibrations`: what two calibrations over one gold set say of each other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from eval_pipeline.document import document_bytes
from eval_pipeline.evidence import write_atomically
from eval_pipeline.studies.judge_calibration.comparison import Cells, Change, Comparison, compared, comparison_document
from eval_pipeline.studies.judge_calibration.recorded import Calibration, read_calibration

_HASH_SHOWN = 12
_SAME_JUDGE = "one judge, twice: what it still knew of the first time, under the same EVAL_PIPELINE_HOME, cannot differ"


def compare_calibrations(
    first: Annotated[Path, typer.Argument(help="The findings folder of a calibration, or its report.json.")],
    second: Annotated[Path, typer.Argument(help="Those of another, over the same gold set.")],
    out: Annotated[Path | None, typer.Option(help="A file for the comparison, as JSON.")] = None,
) -> None:
    """Compare two calibrations: of two judges, or of one judge at two times, to see whether it drifts.

    The intervals have the level of those of the two, which must be one.

    What a judge once said is known under its EVAL_PIPELINE_HOME and is not asked again: to see drift, measure it the
    second time under another.

    Exits 0, or 1 if the two cannot be compared.
    """
    one, other = read_calibration(first), read_calibration(second)
    found = compared(one, other)
    if out is not None:
        write_atomically(out, document_bytes(comparison_document(one, other, found)))
    for line in _lines(one, other, found):
        typer.echo(line)
    if out is not None:
        typer.echo(f"comparison: {out}")


def _lines(first: Calibration, second: Calibration, found: Comparison) -> Iterator[str]:
    yield f"first: {_calibration(first)}"
    yield f"second: {_calibration(second)}"
    yield f"gold set: {found.everything.n} tuples, {first.hashes.gold[:_HASH_SHOWN]}"
    yield _SAME_JUDGE if found.same_judge else "two judges, or one that was changed: their fingerprints differ"
    yield f"all {_cells(found.everything)}"
    yield f"alignment {_cells(found.alignment)}"
    yield f"constraint {_cells(found.constraint)}"
    yield f"FNR {_change(found.false_negatives, found.level)}"
    yield f"FPR {_change(found.false_positives, found.level)}"
    yield f"{found.everything.changed} of {found.everything.n} tuples have another answer in the second"
    for name, wanted in (("first", True), ("second", False)):
        alone = [str(one.index) for one, _ in found.apart if one.right is wanted]
        yield f"right in the {name} alone: {', '.join(alone) or 'none'}"


def _calibration(one: Calibration) -> str:
    prints = ", ".join(f"{prompt} {print_[:_HASH_SHOWN]}" for prompt, print_ in one.judge.fingerprints.items())
    return f"{one.judge.kind} ({prints}), plan {one.plan} under seal {one.hashes.plan[:_HASH_SHOWN]}"


def _cells(cells: Cells) -> str:
    apart = "nothing tells them apart" if cells.p_value is None else f"exact McNemar p = {cells.p_value:.3g}"
    return (
        f"{cells.n}: right in both {cells.both_right}, in the first alone {cells.only_first}, in the second alone"
        f" {cells.only_second}, in neither {cells.both_wrong}; {apart}"
    )


def _change(change: Change, level: float) -> str:
    if change.first is None or change.second is None or change.change is None:
        return "not measured: no tuple that measures it has a label in both"
    ends = change.interval and f"{100 * level:g}% interval {change.interval.low:+.4f} to {change.interval.high:+.4f}"
    left_out = f" ({change.left_out} without a label left out)" if change.left_out else ""
    return (
        f"{float(change.first):.4f} in the first, {float(change.second):.4f} in the second, on {change.n} tuples"
        f"{left_out}: {float(change.change):+.4f}, {ends or 'too few for an interval'}"
    )

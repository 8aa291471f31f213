"""`eval-pipeline compare-runs`: what changed from one run to another, and whether it matters."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from eval_pipeline.document import document_bytes
from eval_pipeline.evidence import write_atomically
from eval_pipeline.studies.extraction.comparison import Change, PairedRuns, Shown, paired_document, paired_runs
from eval_pipeline.studies.recorded_run import RecordedClaim, read_run
from eval_pipeline.studies.run_comparison import Pair, RunComparison, compared_runs, comparison_document

_TEXT_SHOWN, _LISTED = 72, 5


def compare_runs(
    first: Annotated[Path, typer.Argument(help="The findings folder of a run, or the document in it.")],
    second: Annotated[Path, typer.Argument(help="That of another run of the same study.")],
    out: Annotated[Path | None, typer.Option(help="A file for the comparison, as JSON.")] = None,
    level: Annotated[
        float | None, typer.Option(help="Of the intervals of changes; else that of both runs.", min=0, max=1)
    ] = None,
) -> None:
    """Compare two runs of a study: what changed in what they rest on, which claims turned, and whether it matters.

    Of the extraction study each proposition is held against itself, with intervals over entries: recall, its loss from
    the first quarter of the text to the last, and precision, as the judge has them. Of every study the claims stand
    side by side.

    Exits 0, or 1 if the two cannot be compared.
    """
    one, other = read_run(first), read_run(second)
    found = compared_runs(one, other)
    paired = paired_runs(one, other, found, level=level) if found.study == "extraction" else None
    if out is not None:
        document = comparison_document(found) | {"paired": paired_document(paired) if paired else None}
        write_atomically(out, document_bytes(document))
    for line in _lines(found, paired):
        typer.echo(line)
    if found.study == "judge-calibration":
        typer.echo(f"tuple by tuple: eval-pipeline compare-calibrations {first} {second}")
    if out is not None:
        typer.echo(f"comparison: {out}")


def _lines(found: RunComparison, paired: PairedRuns | None) -> Iterator[str]:
    yield f"{found.study}: {len(found.changed) or 'nothing'} different in what the two runs rest on"
    for one in found.changed:
        yield f"  {one.what}: {_shortened(one.first)} -> {_shortened(one.second)}"
    for pair in found.claims:
        yield f"{pair.claim}: {_outcomes(pair)}"
    turned = [pair.claim for pair in found.claims if pair.turned]
    yield f"turned: {', '.join(turned) or 'no claim'}"
    if paired:
        yield from _paired_lines(paired, turned)


def _paired_lines(found: PairedRuns, turned: Sequence[str]) -> Iterator[str]:
    if found.withheld:
        yield f"propositions: not said: {found.withheld}"
    else:
        yield from _fates(found)
    for change, of in (
        (found.recall, f"on these {found.propositions}"),
        (found.uniformity, "recall in quartile 1 less quartile 4, on these"),
        (found.precision, f"over the spans of {found.span_entries} entries"),
    ):
        yield f"{change.claim}, {of}: {_change(change, found.level)}{_weighed(change, change.claim in turned)}"
    yield f"whose change: {found.cause}"


def _fates(found: PairedRuns) -> Iterator[str]:
    """What became of the propositions from the first run to the second."""
    left = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in found.left_out.items() if count)
    yield f"both decided {found.propositions} propositions of {found.entries} entries; left out: {left or 'none'}"
    yield (
        f"recovered in both {found.both_recovered}, gained {len(found.gained)}, lost {len(found.lost)}, missed in both"
        f" {found.both_missed}; {_mcnemar(found)}"
    )
    for word, keys in (("gained", found.gained), ("lost", found.lost)):
        for key in keys[:_LISTED]:
            yield f"  {word}: {key.entry_id}, quartile {key.quartile}: {_shortened(key.text)}"
        if len(keys) > _LISTED:
            yield f"  and {len(keys) - _LISTED} more {word}; --out holds them all"


def _mcnemar(found: PairedRuns) -> str:
    if found.p_value is None:
        return "nothing tells them apart"
    return f"exact McNemar p = {found.p_value:.3g}, as if those of one entry were independent"


def _change(change: Change, level: float) -> str:
    if change.change is None or change.first is None or change.second is None or change.interval is None:
        return f"not said: {change.withheld}"
    return (
        f"{change.first:.4f} in the first, {change.second:.4f} in the second: {change.change:+.4f},"
        f" {100 * level:g}% interval {change.interval.low:+.4f} to {change.interval.high:+.4f}"
    )


def _weighed(change: Change, turned: bool) -> str:
    """Whether the change matters: what is shown of the number, beside what became of the claim."""
    if change.shown is None:
        return ""
    if change.shown is Shown.NEITHER:
        return "; the claim turned, and no change of the number is shown" if turned else "; no change is shown"
    return f"; it is {change.shown.value}, beyond chance, and the claim {'turned' if turned else 'did not turn'}"


def _outcomes(pair: Pair) -> str:
    if pair.first is None or pair.second is None:
        there = "second" if pair.first is None else "first"
        return f"only in the {there}, {_said(pair.second if pair.first is None else pair.first)}"
    return f"{_said(pair.first)} -> {_said(pair.second)}{', turned' if pair.turned else ''}"


def _said(claim: RecordedClaim | None) -> str:
    assert claim is not None
    number = "withheld" if claim.estimate is None else f"{claim.estimate:.4f}"
    return f"{claim.outcome.value}{f' ({claim.reason})' if claim.reason else ''} {number}"


def _shortened(text: str | None) -> str:
    folded = " ".join((text or "none").split())
    return folded if len(folded) <= _TEXT_SHOWN else f"{folded[: _TEXT_SHOWN - 3]}..."

"""`eval-pipeline human-check`: draw what people are to label, and join what they wrote."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from assets.resources import Home, StudyInputs, home_folder
from assets.run import materialize_sheet
from eval_pipeline.cli.findings import FAILED, progress_shown
from eval_pipeline.cli.options import absolute, out_folder, require_file, safe_corpus, with_absolute_file
from eval_pipeline.corpus.source import SAMPLE
from eval_pipeline.errors import OutputRefused, Refused
from eval_pipeline.evidence import write_atomically
from eval_pipeline.human_check.filled import read_filled, require_different_people
from eval_pipeline.human_check.join import (
    Coefficient,
    HumanCheck,
    agreement_of,
    check_bytes,
    disagreements,
    joined,
    read_check,
)
from eval_pipeline.human_check.sheet import read_sheet
from eval_pipeline.plan import read_plan
from eval_pipeline.report.sheets import SHEET, forms, require_no_sheet, write_unfilled
from eval_pipeline.studies.extraction.correction.checking import require_share
from eval_pipeline.studies.extraction.plan import ExtractionPlan

CHECK, DISAGREEMENTS = "human_check.json", "disagreements"
_PEOPLE = 2

human_check = typer.Typer(no_args_is_help=True, help="Have people label a part of what a judge judged.")


@human_check.command(epilog="Example: eval-pipeline human-check draw --share 0.2 --corpus exports/ --judge chat")
def draw(
    share: Annotated[str, typer.Option(help="Of the entries, or of each kind of judgment; else the plan's.")] = "",
    corpus: Annotated[str, typer.Option(help="As for the run.")] = SAMPLE,
    propositions: Annotated[Path | None, typer.Option(help="As for the run.")] = None,
    judge: Annotated[
        str, typer.Option(help="As for the run; what it said is known and is not asked again.")
    ] = "lexical",
    plan: Annotated[Path | None, typer.Option(help="As for the run.")] = None,
    out: Annotated[str | None, typer.Option(help="Where the sheet goes; else a folder under the home.")] = None,
) -> None:
    """Draw a part of the judgments by the plan's seed, as a sheet that shows people texts and no verdicts.

    Writes sheet.html, a form for the browser, sheet.csv, the same for a spreadsheet, and sheet.json for `join`.
    """
    folder = out_folder(out, "human_check")
    for option, path in (("--propositions", propositions), ("--plan", plan)):
        require_file(option, path)
    require_no_sheet(folder)
    asked = StudyInputs(plan=absolute(plan), check_share=share)
    rules = read_plan(asked.plan_path("extraction"), ExtractionPlan)
    require_share(asked.share_to_check(rules.human_check.share), rules)  # before any judge is asked
    inputs: dict[str, Any] = {
        "corpus": safe_corpus(corpus),
        "propositions": absolute(propositions),
        "judge": with_absolute_file(judge),
        "plan": absolute(plan),
        "out": str(folder),
        "check_share": share,
    }
    with progress_shown():
        materialize_sheet(inputs)
    sheet = read_sheet(folder / SHEET)
    typer.echo(f"sheet {sheet.id}: {len(sheet.items)} items, drawn by {sheet.draw}")
    typer.echo(f"to be filled: {folder / 'sheet.html'} in a browser, or {folder / 'sheet.csv'}")


@human_check.command(epilog="Example: eval-pipeline human-check join anna.csv ben.csv")
def join(
    filled: Annotated[list[Path], typer.Argument(help="The filled sheet of one person, or of two.")],
    sheet: Annotated[Path | None, typer.Option(help="The sheet.json that was drawn; else the one beside them.")] = None,
    settled: Annotated[Path | None, typer.Option(help="What was settled of the items on which two differ.")] = None,
    out: Annotated[Path | None, typer.Option(help="The check; else human_check.json beside the sheet.")] = None,
) -> None:
    """Join what people wrote: say how far they agree, and freeze their labels under a hash.

    Exits 0, or 2 if they disagree or were unsure by more than the plan allows, so that nothing can rest on it.
    """
    drawn = _sheet_beside(filled, sheet)
    if len(filled) > _PEOPLE:
        raise Refused(f"{len(filled)} filled sheets were given; join those of one person or of two")
    read = read_sheet(drawn)
    every = frozenset(item.id for item in read.items)
    people = [read_filled(path, sheet_id=read.id, items=every) for path in filled]
    require_different_people(people)
    people.sort(key=lambda one: one.rater)  # in whichever order they were named, it is the same check
    if len(people) == _PEOPLE:
        found = agreement_of(people, read.items, read.rule)
        typer.echo(f"{found.same} of {found.items} items labelled alike before anything was settled")
        typer.echo(_in_words("Cohen's kappa", found.kappa))
        typer.echo(_in_words("Krippendorff's alpha", found.alpha))
    apart = disagreements(people, read.items)
    if apart and settled is None:
        unsettled = forms(read.id, apart, name=DISAGREEMENTS)
        write_unfilled(drawn.parent, unsettled, instead="if it is settled, give it with --settled")
        typer.echo(f"to be settled: {drawn.parent / f'{DISAGREEMENTS}.html'}, or {DISAGREEMENTS}.csv beside it")
    third = read_filled(settled, sheet_id=read.id, items=frozenset(i.id for i in apart)) if settled else None
    check = joined(read, people, third)
    path = out or drawn.parent / CHECK
    _freeze(check, path)
    typer.echo(f"{len(check.labels)} labels, {check.unsure} of them unsure, frozen as {check.hash[:12]}: {path}")
    rule = read.rule
    refusal = check.refusal(
        raters=rule.raters,
        kappa_at_least=Fraction(rule.kappa_at_least),
        unsure_at_most=Fraction(rule.unsure_at_most),
    )
    if refusal:
        typer.echo(f"blocks: {refusal.detail}")
        raise typer.Exit(FAILED)
    typer.echo(f"go on with: eval-pipeline run extraction ... --human-check {path}")


def _in_words(name: str, one: Coefficient) -> str:
    if one.estimate is None:
        return f"{name}: cannot be said, {one.undefined}"
    if one.interval is None or one.interval.low is None or one.interval.high is None:
        return f"{name}: {one.estimate:.3f}; too few premises vary for an interval"
    return (
        f"{name}: {one.estimate:.3f}, {one.interval.level:.0%} from {one.interval.low:.3f} to {one.interval.high:.3f}"
    )


def _sheet_beside(filled: list[Path], sheet: Path | None) -> Path:
    if sheet is not None:
        return sheet
    beside = filled[0].parent / SHEET
    if beside.exists():
        return beside
    known = Home(path=str(home_folder())).out("human_check") / SHEET
    if known.exists():
        return known
    raise Refused(f"{str(beside)!r} is not there; name the sheet.json that was drawn with --sheet")


def _freeze(check: HumanCheck, path: Path) -> None:
    """Writes the check, and never over another one."""
    if path.exists() and read_check(path).hash != check.hash:
        raise OutputRefused(f"{str(path)!r} holds another check, which is frozen; name another file with --out")
    write_atomically(path, check_bytes(check))

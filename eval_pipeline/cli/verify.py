"""`eval-pipeline verify` and `bundle`: how a number came about, shown anew, here or on another machine."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from assets.recorded import Recorded
from assets.resources import Home, evidence_store, home_folder
from assets.verification import Verified
from assets.verification import verify as verify_recorded
from eval_pipeline.bundle import EVIDENCE, FINDINGS, LEDGER, LOCKS, bundle_members, unpack, zipped
from eval_pipeline.errors import Refused
from eval_pipeline.evidence import write_atomically
from eval_pipeline.provenance import PROVENANCE, Provenance, read_provenance, read_provenance_of
from eval_pipeline.store import Store, store_at

_WHAT = typer.Argument(help="A folder of findings, a bundle, or the id of a run in this home.", metavar="OUT|RUN|ZIP")


def verify(what: Annotated[str, _WHAT]) -> None:
    """Make a verdict anew from its journal, fixture, plan and snapshot, offline, and compare it byte for byte.

    The chain of the ledger and the seals are checked too. Exits 0 if all is as it was recorded, and 1 with one sentence
    on the first thing that differs.
    """
    with _recorded(what) as recorded:
        for line in _lines(verify_recorded(recorded), recorded):
            typer.echo(line)


def bundle(
    what: Annotated[str, typer.Argument(help="A folder of findings, or the id of a run.", metavar="OUT|RUN")],
    to: Annotated[Path, typer.Option(help="The zip that is written.")],
) -> None:
    """Put a run, with all that it rests on, into one zip that `eval-pipeline verify` verifies on another machine.

    It holds the texts of the corpus, and the whole ledger, whose lines are chained.
    """
    with _recorded(what) as recorded:
        verified = verify_recorded(recorded)
        members = bundle_members(
            recorded.provenance,
            recorded.store,
            ledger=recorded.ledger,
            locks=recorded.locks,
            findings=recorded.out,
        )
        write_atomically(to, zipped(members))
    typer.echo(f"bundle: {to}: {verified.study}, {len(members)} files")


@contextmanager
def _recorded(what: str) -> Iterator[Recorded]:
    """What a run left, wherever it was named.

    Raises: Refused: there is no such folder, bundle or run, or its provenance cannot be read.
    """
    path, home = Path(what), Home(path=str(home_folder()))
    if path.is_file():
        with tempfile.TemporaryDirectory(prefix="eval_pipeline_bundle_") as folder:
            unpack(path, Path(folder))
            yield _in_bundle(path, Path(folder))
        return
    store = evidence_store()
    if path.is_dir():
        yield Recorded(read_provenance_of(path), store, home.ledger, home.locks, path)
        return
    yield Recorded(_of_run(what, store), store, home.ledger, home.locks, None)


def _in_bundle(bundle: Path, folder: Path) -> Recorded:
    try:
        data = (folder / PROVENANCE).read_bytes()
    except OSError:
        raise Refused(
            f"bundle {str(bundle)!r} has no {PROVENANCE}; give one that `eval-pipeline bundle` wrote"
        ) from None
    findings = folder / FINDINGS
    return Recorded(
        read_provenance(data, f"{PROVENANCE} of bundle {str(bundle)!r}"),
        store_at(str(folder / EVIDENCE)),
        folder / LEDGER,
        folder / LOCKS,
        findings if findings.is_dir() else None,
    )


def _of_run(run: str, store: Store) -> Provenance:
    """The provenance that a run recorded, by its id or the beginning of it.

    Raises: Refused: no run, or more than one, is called so; EvidenceRefused: it cannot be read.
    """
    pointers = [name for name in store.names("runs/") if name.removeprefix("runs/").startswith(run)] if run else []
    ends = [name for name in pointers if name.rpartition("/")[2].partition("@")[0].endswith("_provenance")]
    if not ends:
        raise Refused(
            f"{run!r} is no folder of findings, no bundle, and no run that came to its end in {store.location!r}; name"
            " one of them"
        )
    runs = {name.split("/")[1] for name in ends}
    if len(runs) > 1:
        raise Refused(f"{run!r} begins the ids of {len(runs)} runs; give more of it")
    if len(ends) > 1:
        several = ", ".join(name.split("/", 2)[2].removesuffix("_provenance") for name in ends)
        raise Refused(f"run {run!r} found more than one thing ({several}); name the folder of findings of one of them")
    asset = ends[0].split("/", 2)[2].partition("@")[0]
    file = store.read(ends[0]).decode("utf-8", "replace")
    return read_provenance(store.read(f"{asset}/{file}"), f"the provenance of run {run!r}")


def _lines(verified: Verified, recorded: Recorded) -> Iterator[str]:
    at = ", ".join(map(str, verified.lines))
    where = "findings byte for byte" if recorded.out else "findings made, none at hand to be compared"
    yield f"verified: {verified.study}: {len(verified.made)} assets made anew, {len(verified.files)} {where}"
    yield f"taken as recorded, each by its hash: {', '.join(verified.taken)}"
    yield f"ledger: its chain holds, and line {at} has the verdict"
    for page in verified.pages:
        yield f"{page} is as it was written, by another version of the report, and was not compared with a new one"
    for name, (was, here) in verified.other_versions.items():
        yield f"made with {name} {was}, verified with {here}"

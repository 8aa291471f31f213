"""A small study on the command line, in processes of its own, whose findings are known from one that nothing befell."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.begun import Begun, begin

PROJECT = Path(__file__).resolve().parents[2]
PLAN = PROJECT / "data" / "plans" / "extraction.toml"
# Of a history that is not looked at: writing each event to a table takes as long as the study.
_IN_MEMORY = "event_log_storage: {module: dagster._core.storage.event_log, class: InMemoryEventLogStorage}\n"
REPRODUCED = ("verdict.json", "report.html", "entry_quartiles.parquet")


@dataclass
class Place:
    """A folder with the corpus in it, and the command on it in homes below."""

    folder: Path
    begun: list[Begun] = field(default_factory=list)

    @property
    def corpus(self) -> Path:
        return self.folder / "corpus"

    @property
    def history(self) -> dict[str, str]:
        """The variable by which commands share one history of Dagster, which takes longer to make than a run."""
        return {"DAGSTER_HOME": str(self.folder / "dagster")}

    def begin(self, *arguments: str | Path, home: Path, bound: bool = False, **environment: str) -> Begun:
        """A command in a process of its own, with nothing of this environment but what it cannot do without."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        own = kept | {"EVAL_PIPELINE_HOME": str(home), "MPLCONFIGDIR": str(self.folder / "mpl")} | environment
        said = Path(tempfile.mkdtemp(prefix="said_", dir=self.folder))
        self.begun.append(begin(*arguments, folder=said, cwd=self.folder, environment=own, bound=bound))
        return self.begun[-1]

    def extraction(
        self, home: Path, out: Path, *arguments: str | Path, bound: bool = False, **environment: str
    ) -> Begun:
        """The study on the small corpus."""
        given = ["--corpus", self.corpus, "--plan", self.folder / "plan.toml", "--out", out, *arguments]
        return self.begin("run", "extraction", *given, home=home, bound=bound, **environment)


def sentence(run: Begun) -> str:
    """The one sentence with which a command refused: exit status 1, and on stderr no more but how it went on."""
    status, (_, err) = run.wait(), run.said
    told = re.compile("judged: |asked [0-9]+ questions|run [0-9a-f]{8} of ")
    lines = [line for line in err.splitlines() if not told.match(line)]
    assert (status, len(lines)) == (1, 1), f"exit status {status}: {err}"
    assert lines[0].startswith("eval-pipeline: ")
    return lines[0].removeprefix("eval-pipeline: ")


def found_in(out: Path) -> dict[str, bytes]:
    """The findings that two runs on the same inputs have alike."""
    return {name: (out / name).read_bytes() for name in REPRODUCED}


def left_half_done(*folders: Path) -> list[Path]:
    """What no run may leave: files under a name for the time of writing, and evidence that is not what it is named."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    hidden = [path for path in files if (path.name.startswith(".") and path.name != ".lock") or path.suffix == ".tmp"]
    named = [path for path in files if re.fullmatch("[0-9a-f]{64}", path.stem)]
    return hidden + [path for path in named if hashlib.sha256(path.read_bytes()).hexdigest() != path.stem]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_corpus(folder: Path, *, notes: int) -> None:
    """Notes of four sentences, a signal with its span and a proposition for each."""
    folder.mkdir(parents=True)
    tables: Mapping[str, list[dict[str, Any]]] = {"entries": [], "signals": [], "propositions": []}
    for note in range(1, notes + 1):
        key, sentences = f"note-{note}", [f"Crew {note} replaced valve {10 * note + q}." for q in (1, 2, 3, 4)]
        text = " ".join(sentences)
        tables["entries"].append({"lookup_key": key, "workspace": "w", "band": "b", "content": text})
        for quartile, said in enumerate(sentences, 1):
            span = {"start": text.index(said), "end": text.index(said) + len(said)}
            signal = {"lookup_key": f"signal-{note}-{quartile}", "entry_id": key, "content": f"Done: {said}"}
            tables["signals"].append(signal | {"provenance": {"span": span}})
            tables["propositions"].append({"entry_id": key, "quartile": quartile, "proposition": said})
    for name, rows in tables.items():
        write_lines(folder / f"{name}.jsonl", rows)


def small_plan() -> str:
    """The bundled plan, which asks for no more than a few notes."""
    plan = PLAN.read_text("utf-8")
    asked = {"entries": 3, "entries_per_workspace": 3, "bands": 1, "judged_at_least": 12}
    for name, number in asked.items():
        plan = re.sub(rf"^{name} = \d+$", f"{name} = {number}", plan, flags=re.MULTILINE)
    return re.sub(r"^\[design\.dense\]\n(.+\n)+", "", plan, flags=re.MULTILINE)


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """A folder that every user of this machine may look into, unlike those of pytest."""
    quick = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a disk that is told to keep things takes its time
    with tempfile.TemporaryDirectory(prefix="faults_", dir=quick, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_corpus(folder / "corpus", notes=3)
        (folder / "plan.toml").write_text(small_plan(), "utf-8")
        (folder / "dagster").mkdir()
        (folder / "dagster" / "dagster.yaml").write_text(_IN_MEMORY + (PROJECT / "dagster.yaml").read_text("utf-8"))
        found = Place(folder)
        yield found
        for one in found.begun:
            one.kill()


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing befell."""

    home: Path
    out: Path
    found: Mapping[str, bytes]
    evidence: frozenset[str]


@pytest.fixture(scope="session")
def undisturbed(place: Place) -> Undisturbed:
    home, out = place.folder / "undisturbed", place.folder / "undisturbed_out"
    run = place.extraction(home, out, **place.history)
    assert run.wait() == 0, run.said
    return Undisturbed(home, out, found_in(out), evidence_in(home))


def evidence_in(home: Path) -> frozenset[str]:
    """The names of all evidence, with the asset that each is of; but for the looks, which say when they were."""
    folder = home / "evidence"
    named = [path.relative_to(folder) for path in folder.rglob("*") if re.fullmatch("[0-9a-f]{64}", path.stem)]
    return frozenset(str(path) for path in named if not path.parts[0].endswith("_history"))


@pytest.fixture
def new_folder(place: Place) -> Callable[[str], Path]:
    """Makes folders for one test."""

    def make(name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{name}_", dir=place.folder))

    return make

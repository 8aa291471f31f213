"""A small corpus whose truth is known by construction, and the extraction job in a home and a history of its own."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager
from assets.resources import Home

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
Rows = list[dict[str, Any]]


def write_lines(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small_corpus() -> Callable[[Path], Path]:
    """Writes three notes of four sentences, a signal with its span and a proposition for each, to a folder."""

    def write(folder: Path) -> Path:
        entries: Rows = []
        signals: Rows = []
        propositions: Rows = []
        for note in (1, 2, 3):
            sentences = [f"Crew {note} replaced valve {10 * note + q} at the harbour station." for q in (1, 2, 3, 4)]
            content = " ".join(sentences)
            entries.append({"lookup_key": f"note-{note}", "workspace": "north", "band": "triage", "content": content})
            for quartile, sentence in enumerate(sentences, 1):
                valve, start = 10 * note + quartile, content.index(sentence)
                signals.append(
                    {
                        "lookup_key": f"signal-{valve}",
                        "entry_id": f"note-{note}",
                        "content": f"Valve {valve} replaced by crew {note} at harbour station",
                        "provenance": {"span": {"start": start, "end": start + len(sentence)}},
                    }
                )
                said = f"At the harbour station crew {note} replaced valve {valve}."
                propositions.append({"entry_id": f"note-{note}", "quartile": quartile, "proposition": said})
        write_lines(folder / "entries.jsonl", entries)
        write_lines(folder / "signals.jsonl", signals)
        write_lines(folder / "propositions.jsonl", propositions)
        return folder

    return write


@dataclass(frozen=True)
class Bench:
    """A home, a history, and the job that runs in them."""

    home: Path
    instance: dg.DagsterInstance

    def run(
        self,
        inputs: Mapping[str, str],
        *,
        only: str | None = None,
        io_manager: dg.ConfigurableIOManager | None = None,
        raise_on_error: bool = True,
    ) -> dg.ExecuteInProcessResult:
        """The job `extraction`, or one asset of it."""
        resources = {
            "home": Home(path=str(self.home)),
            "io_manager": io_manager or EvidenceIOManager(home=str(self.home)),
        }
        job = build_defs(resource_overrides=resources).resolve_job_def("extraction")
        return job.execute_in_process(
            run_config={"resources": {"inputs": {"config": dict(inputs)}}, **QUIET},
            instance=self.instance,
            asset_selection=[dg.AssetKey(only)] if only else None,
            raise_on_error=raise_on_error,
        )

    def evidence(self, asset: str) -> Path:
        """The file that the latest pointer of an asset names."""
        folder = self.home / "evidence" / asset
        return folder / (folder / "latest").read_text()

    def forge(self, asset: str, data: bytes) -> None:
        """Puts evidence in the place of the latest of an asset, under the name that its content has."""
        latest = self.evidence(asset)
        name = hashlib.sha256(data).hexdigest() + latest.suffix
        latest.with_name(name).write_bytes(data)
        latest.with_name("latest").write_text(name)


@pytest.fixture(scope="module")
def new_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Bench]]:
    """Makes benches; the history of each is in memory and goes with the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVAL_PIPELINE_HOME", str(tmp_path_factory.mktemp("home")))
        instances: list[dg.DagsterInstance] = []

        def make() -> Bench:
            instances.append(dg.DagsterInstance.ephemeral())
            return Bench(tmp_path_factory.mktemp("home"), instances[-1])

        yield make
        for instance in instances:
            instance.dispose()


@pytest.fixture(scope="module")
def bench(new_bench: Callable[[], Bench]) -> Bench:
    """One bench for all tests of a module that change nothing in it."""
    return new_bench()

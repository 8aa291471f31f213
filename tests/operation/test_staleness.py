"""What is stale: a byte of a fixture, a plan or a prompt changed, and Dagster marks exactly what rests on it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assets.jobs import EXTRACTION_INPUTS
from assets.run import WORKSPACE, dagster_home, look_at_inputs, run_study
from eval_pipeline.bundled import bundled
from eval_pipeline.cli.look import look
from eval_pipeline.judge import prompt
from tests.webserver import Server, free_port, wait_until_loaded

_NODES = """
{ assetNodes(group: {groupName: "extraction", repositoryName: "__repository__",
                     repositoryLocationName: "eval_pipeline"}) {
  assetKey { path } staleStatus staleCauses { key { path } reason } dependencyKeys { path } } }
"""
NEVER_MADE = "human_check_sheet"  # the sheet for people has a job of its own


@dataclass(frozen=True)
class Operated:
    """A run of the study in a history that Dagster serves, and the files that it was made from."""

    server: Server
    corpus: Path
    plan: Path

    @property
    def inputs(self) -> dict[str, str]:
        return {"corpus": str(self.corpus), "plan": str(self.plan), "out": str(self.corpus / "out")}

    def looked_at(self) -> tuple[dict[str, str], dict[str, set[str]]]:
        """The mark of each asset, and what each rests on, as the server says once the inputs were read again."""
        look_at_inputs(self.inputs)
        nodes = self.server.ask(_NODES)["assetNodes"]
        marks = {node["assetKey"]["path"][-1]: node["staleStatus"] for node in nodes}
        above = {node["assetKey"]["path"][-1]: {key["path"][-1] for key in node["dependencyKeys"]} for node in nodes}
        return marks, above


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    folder, port = tmp_path_factory.mktemp("operated"), free_port()
    corpus, plan = folder / "corpus", folder / "extraction.toml"
    corpus.mkdir()
    for name in ("entries.jsonl", "signals.jsonl", "propositions.jsonl"):
        shutil.copy(bundled("sample") / name, corpus)
    shutil.copy(bundled("plans") / "extraction.toml", plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAGSTER_HOME", raising=False)
        patch.setenv("EVAL_PIPELINE_HOME", str(folder / "home"))
        environment = os.environ | {"DAGSTER_HOME": str(dagster_home())}
        command = [sys.executable, "-W", "ignore", "-m", "dagster_webserver", "-w", str(WORKSPACE)]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "-h", "127.0.0.1", "-p", str(port)],
                stdout=log, stderr=log, env=environment, cwd=folder, start_new_session=True,
            )  # fmt: skip
        try:
            at = Operated(Server(f"http://127.0.0.1:{port}"), corpus, plan)
            run_study("extraction", at.inputs)
            wait_until_loaded(at.server, process, folder / "log")
            yield at
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=15)


def resting_on(changed: str, above: dict[str, set[str]]) -> set[str]:
    """All that rests on an asset, near or far, and was made, but not by the look itself."""
    found: set[str] = set()
    while more := {name for name, parents in above.items() if parents & (found | {changed})} - found:
        found |= more
    return found - {NEVER_MADE, *EXTRACTION_INPUTS}


def edit_fixture(at: Operated) -> None:
    fixture = at.corpus / "propositions.jsonl"
    data = bytearray(fixture.read_bytes())
    place = data.index(b'"proposition": "') + len(b'"proposition": "')
    data[place] ^= 0x20  # the other case of a letter
    fixture.write_bytes(bytes(data))


def change_plan(at: Operated) -> None:
    text = at.plan.read_text("utf-8")
    assert "recall_at_least = 0.80" in text
    at.plan.write_text(text.replace("recall_at_least = 0.80", "recall_at_least = 0.81"), "utf-8")


def bump_prompt(_: Operated) -> None:
    of_plan = prompt.PROMPTS["nli-v1"]
    prompt.PROMPTS["nli-v1"] = replace(of_plan, system=f"{of_plan.system} ")  # type: ignore[index]


def change_corpus(at: Operated) -> None:
    signals = at.corpus / "signals.jsonl"
    signals.write_text(signals.read_text("utf-8").replace("the", "The", 1), "utf-8")


def test_the_command_says_that_nothing_is_stale_where_nothing_changed(
    operated: Operated, capsys: pytest.CaptureFixture[str]
) -> None:
    look(corpus=str(operated.corpus), plan=operated.plan)
    assert capsys.readouterr().out == "nothing is stale\n"


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (edit_fixture, "proposition_fixture"),
        (change_corpus, "corpus"),
        (change_plan, "sealed_plan"),
        (bump_prompt, "judge_prompt"),
    ],
    ids=["fixture", "corpus", "plan", "prompt"],
)
def test_what_rests_on_a_changed_input_is_stale_and_nothing_else_is(
    operated: Operated, change: Callable[[Operated], None], changed: str
) -> None:
    kept = {path: path.read_bytes() for path in [operated.plan, *operated.corpus.glob("*.jsonl")]}
    prompts = dict(prompt.PROMPTS)
    try:
        marks, above = operated.looked_at()
        assert {name: mark for name, mark in marks.items() if mark != "FRESH"} == {NEVER_MADE: "MISSING"}
        change(operated)
        marks, _ = operated.looked_at()
    finally:
        for path, data in kept.items():
            path.write_bytes(data)
        prompt.PROMPTS.update(prompts)  # type: ignore[attr-defined]
    downstream = resting_on(changed, above)
    assert {"extraction_verdict", "extraction_report"} <= downstream
    assert {name for name, mark in marks.items() if mark == "STALE"} == downstream

"""A bundle: a run in one zip, verified where nothing else of it is; what was done to it on the way is named."""

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.bundle import bundle_members, unpack, zipped
from eval_pipeline.cli import main as command_line
from eval_pipeline.errors import BundleRefused
from eval_pipeline.provenance import PROVENANCE
from tests.operation.conftest import Run

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line in a home; gives its exit status and what it said."""

    def call(*words: object, home: Path) -> tuple[int, str, str]:
        monkeypatch.setenv("EVAL_PIPELINE_HOME", str(home))
        monkeypatch.setattr("sys.argv", ["eval-pipeline", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        said = capsys.readouterr()
        return int(str(ended.value.code)), said.out, said.err

    return call


@pytest.fixture(scope="module")
def packed(extraction: Run) -> bytes:
    at = extraction.recorded()
    members = bundle_members(at.provenance, at.store, ledger=at.ledger, locks=at.locks, findings=at.out)
    return zipped(members)


def test_a_bundle_verifies_on_a_machine_that_has_nothing_else(
    extraction: Run, command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "run.zip"
    status, said, _ = command("bundle", extraction.out, "--to", file, home=extraction.home)
    assert (status, said) == (0, f"bundle: {file}: extraction, 29 files\n")
    status, said, _ = command("verify", file, home=tmp_path / "nothing")
    assert status == 0
    assert said.splitlines()[0] == "verified: extraction: 13 assets made anew, 5 findings byte for byte"
    assert not (tmp_path / "nothing" / "evidence").exists()


def test_a_loop_verifies_from_its_bundle_with_its_ledger_and_its_lock(
    loop: Run, command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "run.zip"
    assert command("bundle", loop.out, "--to", file, home=loop.home)[0] == 0
    assert command("verify", file, home=tmp_path / "nothing")[0] == 0


def test_a_run_is_verified_by_its_id_too(extraction: Run, command: Command) -> None:
    (run,) = (extraction.home / "evidence" / "runs").iterdir()
    status, said, _ = command("verify", run.name[:10], home=extraction.home)
    assert status == 0
    assert said.startswith("verified: extraction: 13 assets made anew, 5 findings made, none at hand to be compared")


@pytest.mark.parametrize(
    ("pointer", "said"),
    [
        ("aa-2/extraction_provenance", "'aa' begins the ids of 2 runs; give more of it"),
        ("aa-1/judge_calibration_provenance", "found more than one thing (extraction, judge_calibration); name the"),
    ],
)
def test_an_id_that_may_mean_more_than_one_thing_is_refused(
    pointer: str, said: str, command: Command, tmp_path: Path
) -> None:
    for name in ("aa-1/extraction_provenance", pointer):
        path = tmp_path / "evidence" / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("0" * 64 + ".json")
    status, _, err = command("verify", "aa", home=tmp_path)
    assert (status, said in err) == (1, True)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("no-such-run", "'no-such-run' is no folder of findings, no bundle, and no run that came to its end in"),
        (".", "provenance.json' cannot be read (No such file or directory); name the folder of findings of a run"),
    ],
)
def test_what_is_no_run_is_refused_in_one_sentence(
    what: str, said: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = command("verify", what, home=tmp_path)
    assert status == 1
    assert said in err
    assert err.count("\n") == 1


def test_the_same_run_gives_the_same_bundle(extraction: Run, packed: bytes) -> None:
    at = extraction.recorded()
    again = zipped(bundle_members(at.provenance, at.store, ledger=at.ledger, locks=at.locks, findings=at.out))
    assert again == packed


def unpacked(data: bytes) -> dict[str, bytes] | None:
    """The members of a bundle, None where it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.zip").write_bytes(data)
        into = Path(folder) / "into"
        try:
            unpack(Path(folder) / "x.zip", into)
        except BundleRefused:
            return None
        return {path.relative_to(into).as_posix(): path.read_bytes() for path in into.rglob("*") if path.is_file()}


@settings(max_examples=60, deadline=None)
@given(place=st.floats(0, 1), bit=st.integers(0, 7))
def test_no_bit_of_a_bundle_turns_without_being_seen(packed: bytes, place: float, bit: int) -> None:
    """A bundle is refused, or what stands in it is the same; a zip has fields that say nothing of its members."""
    at = int(place * (len(packed) - 1))
    found = unpacked(packed[:at] + bytes([packed[at] ^ (1 << bit)]) + packed[at + 1 :])
    whole = unpacked(packed)
    assert whole is not None
    assert found is None or sorted(found.values()) == sorted(whole.values())


def zip_of(*names: str, data: bytes = b"{}") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/evil", "findings/../../evil", "evidence/corpus/..", "evidence\\corpus\\x", "C:/evil", "run.sh",
     "findings/", "locks/a/b.json", "evidence//x", "findings/./x"],
)  # fmt: skip
def test_a_member_that_is_none_of_a_bundle_s_is_refused_and_nothing_is_written_outside(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "x.zip").write_bytes(zip_of(PROVENANCE, name))
    with pytest.raises(BundleRefused, match="which is none of a bundle; do not trust it"):
        unpack(tmp_path / "x.zip", tmp_path / "into")
    assert not list(tmp_path.parent.rglob("evil*"))


def test_a_member_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        (tmp_path / "x.zip").write_bytes(zip_of(PROVENANCE, PROVENANCE))
    with pytest.raises(BundleRefused, match="one of them twice"):
        unpack(tmp_path / "x.zip", tmp_path / "into")


def test_a_bundle_that_would_fill_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval_pipeline.bundle._MOST_BYTES", 10_000)
    (tmp_path / "x.zip").write_bytes(zip_of(PROVENANCE, "findings/x", data=b"0" * 6_000))
    with pytest.raises(BundleRefused, match="unpacks to more than 10000 bytes"):
        unpack(tmp_path / "x.zip", tmp_path / "into")


@pytest.mark.parametrize("data", [b"", b"PK", b"no zip at all" * 50])
def test_what_is_no_zip_is_refused_in_one_sentence(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(BundleRefused, match=r"bundle '.*x\.zip' is damaged \(.*\); copy it again"):
        unpack(tmp_path / "x.zip", tmp_path / "into")


def test_a_bundle_without_a_provenance_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zip_of("ledger.jsonl"))
    status, _, err = command("verify", tmp_path / "x.zip", home=tmp_path)
    assert (status, "has no provenance.json" in err) == (1, True)


def test_a_finding_that_was_changed_within_a_bundle_is_named(packed: bytes, command: Command, tmp_path: Path) -> None:
    """The zip is made anew around it, so that its own checksums hold."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    verdict = json.loads(members["findings/verdict.json"])
    verdict["claims"][0]["outcome"] = "pass"
    members["findings/verdict.json"] = (json.dumps(verdict, indent=2, ensure_ascii=False) + "\n").encode()
    (tmp_path / "x.zip").write_bytes(zipped(members))
    status, _, err = command("verify", tmp_path / "x.zip", home=tmp_path)
    assert status == 1
    assert "verdict.json' is not what the run gives: /claims/0/outcome: found 'pass', expected" in err

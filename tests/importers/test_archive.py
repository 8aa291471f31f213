"""An archive is data: nothing of it leaves it, runs, or grows past the limits."""

import io
import pickle
import tracemalloc
import zipfile

import pytest

from eval_pipeline.errors import MalformedLog
from eval_pipeline.importers import archive
from eval_pipeline.importers.archive import open_archive
from eval_pipeline.importers.kinds import log_of
from tests.importers.logs import archived, as_bytes, inspect_log, inspect_sample, zipped


def first_member(data):
    found = open_archive(data, "run.eval")
    return found.read(next(iter(found.members)))


def fault(data):
    with pytest.raises(MalformedLog) as refusal:
        first_member(data)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.json", "samples/../../x", "C:/x.json", "a\\..\\x"])
def test_a_path_that_leads_out_refuses_the_whole_archive(name):
    if "\\" in name:
        data = zipped({name.replace("\\", "#"): b"{}"}).replace(name.replace("\\", "#").encode(), name.encode())
    else:
        data = zipped({name: b"{}"})
    assert "expected a path within the archive; do not trust this file" in fault(data)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
def test_a_member_that_unpacks_to_more_than_the_limit_is_stopped_there(monkeypatch, method):
    monkeypatch.setattr(archive, "MEMBER_BYTES", 10_000)
    data = zipped({"header.json": b"0" * 5_000_000}, method=method)
    assert len(data) < 10_000
    assert "in member 'header.json': found more than 10000 bytes in it, expected at most so many" in fault(data)
    assert open_archive(zipped({"a": b"0" * 10_000}, method=method), "f").read("a") == b"0" * 10_000


def test_a_member_that_lies_of_its_size_is_stopped_too(monkeypatch):
    monkeypatch.setattr(archive, "MEMBER_BYTES", 1_000)
    data = zipped({"a": b"0" * 50_000}, method=93).replace((50_000).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    assert "found more than 1000 bytes" in fault(data)


def test_all_members_together_have_a_limit(monkeypatch):
    monkeypatch.setattr(archive, "ALL_BYTES", 150)
    found = open_archive(zipped({"a": b"0" * 100, "b": b"0" * 100}), "run.eval")
    assert len(found.read("a")) == 100
    with pytest.raises(MalformedLog, match="found more than 50 bytes"):
        found.read("b")


def test_an_archive_of_very_many_members_is_refused(monkeypatch):
    monkeypatch.setattr(archive, "MEMBERS", 3)
    assert "found 4 members, expected at most 3" in fault(zipped({str(n): b"" for n in range(4)}))


def test_a_pickle_in_an_archive_is_never_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    log = inspect_log([inspect_sample(1, match="C")])
    data = io.BytesIO(archived(log))
    with zipfile.ZipFile(data, "a") as added:
        added.writestr("samples/2_epoch_1.pkl", pickle.dumps(Trap()))
        added.writestr("setup.py", "raise SystemExit")
    assert len(log_of("inspect", data.getvalue(), "run.eval").rows) == 1
    assert not (tmp_path / "sprung").exists()
    with zipfile.ZipFile(data, "a") as added:
        added.writestr("samples/3_epoch_1.json", pickle.dumps(Trap()))
    with pytest.raises(MalformedLog, match=r"samples/3_epoch_1\.json"):
        log_of("inspect", data.getvalue(), "run.eval")
    assert not (tmp_path / "sprung").exists()


def test_of_a_header_that_was_written_again_the_last_counts():
    data = io.BytesIO(archived(inspect_log([inspect_sample(1, match="C")])))
    header = inspect_log([], model="acme/renamed")
    del header["samples"]
    with zipfile.ZipFile(data, "a") as added, pytest.warns(UserWarning, match="Duplicate name"):
        added.writestr("header.json", as_bytes(header))
    assert log_of("inspect", data.getvalue(), "run.eval").rows[0].system == "acme/renamed"


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
def test_a_damaged_member_is_refused(method):
    whole = zipped({"a": bytes(range(256)) * 40}, method=method)
    damaged = bytearray(whole)
    damaged[60:64] = b"\0\1\2\3"
    assert "in member 'a': found a member that cannot be read" in fault(bytes(damaged))


def test_what_is_no_archive_is_refused():
    assert "found no zip archive that can be read" in fault(b"PK\x03\x04 and nothing more")
    assert "found no header.json in it" in str(_refused(zipped({"x.json": b"{}"})))


def test_a_member_under_a_password_is_refused():
    data = bytearray(zipped({"a": b"secret"}, method=zipfile.ZIP_STORED))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "found a member under a password" in fault(bytes(data))


def test_an_unknown_way_to_pack_is_refused():
    data = bytearray(zipped({"a": b"text"}, method=zipfile.ZIP_STORED))
    data[8] = 97
    data[data.index(b"PK\x01\x02") + 10] = 97
    assert "in member 'a': found a member that cannot be read" in fault(bytes(data))


def _refused(data):
    with pytest.raises(MalformedLog) as refusal:
        log_of("inspect", data, "run.eval")
    return refusal.value


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
def test_of_a_member_that_is_too_large_no_more_is_held_than_the_limit(monkeypatch, method):
    monkeypatch.setattr(archive, "MEMBER_BYTES", 10_000)
    data = zipped({"a": b"0" * 60_000_000}, method=method)
    tracemalloc.start()
    try:
        assert "found more than 10000 bytes" in fault(data)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()

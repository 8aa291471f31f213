"""The parts of a log of Inspect: its header, samples and reductions, from JSON or from an .eval archive."""

from dataclasses import dataclass

from eval_pipeline.errors import MalformedLog
from eval_pipeline.importers.archive import open_archive
from eval_pipeline.importers.place import Place, parse_log

VERSIONS = (1, 2)
_ARCHIVE = b"PK\x03\x04"
_READ = ("id", "epoch", "scores", "score", "error", "invalidation")  # the rest of a sample is its long transcript


@dataclass(frozen=True, slots=True)
class Parts:
    """What a log holds; `header` is all but the samples."""

    header: Place
    samples: list[Place]
    reductions: list[Place]


def parts_of(data: bytes, file: str) -> Parts:
    """The parts of a log's bytes.

    Raises: MalformedLog: it is no log of a version that is known, or it was written without its samples.
    """
    if not data.startswith(_ARCHIVE):
        log = parse_log(data, file)
        _require_version(log)
        samples, reductions = log.maybe("samples"), log.maybe("reductions")
        if samples is None:
            raise log.refusal("a log with its samples", "run Inspect without --no-log-samples")
        return Parts(log, samples.items(), reductions.items() if reductions else [])
    archive = open_archive(data, file)

    def member(name: str) -> Place:
        return parse_log(archive.read(name), f"{file}, {name}")

    start = next((name for name in ("header.json", "_journal/start.json") if name in archive.members), None)
    if start is None:
        raise MalformedLog(f"log {file!r}", ["found no header.json in it, expected one; give a log of Inspect"])
    header = member(start)
    _require_version(header)
    samples_of = [name for name in archive.members if _is_sample(name)]
    reductions_of = member("reductions.json").items() if "reductions.json" in archive.members else []
    return Parts(header, [_shortened(member(name)) for name in samples_of], reductions_of)


def _shortened(sample: Place) -> Place:
    """The sample without what nobody reads, so that one transcript at a time is held."""
    return Place(sample.file, sample.path, {name: one.value for name, one in sample.entries().items() if name in _READ})


def _is_sample(name: str) -> bool:
    """A sample in one piece is a file; one that is kept in pieces is a folder, whose sample.json holds its scores."""
    folders = name.split("/")
    return folders[0] == "samples" and (
        (len(folders) == 2 and name.endswith(".json")) or (len(folders) == 3 and folders[2] == "sample.json")
    )


def _require_version(header: Place) -> None:
    version = header.maybe("version")
    if version is not None and version.value not in VERSIONS:
        raise version.refusal("version 1 or 2 of the format", "write the log with a release of Inspect that has it")

"""A bundle: one zip with what a run rests on and what it found, laid out as a home is, to be verified elsewhere."""

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from eval_pipeline.errors import BundleRefused
from eval_pipeline.evidence import write_atomically
from eval_pipeline.provenance import PROVENANCE, Provenance, provenance_bytes
from eval_pipeline.store import Store

FINDINGS, EVIDENCE, LOCKS, LEDGER = "findings", "evidence", "locks", "ledger.jsonl"
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # of a zip's calendar: the same run gives the same bytes
_MOST_MEMBERS = 100_000
_MOST_BYTES = 8 * 2**30
_PIECE = 2**20
_PART = r"[^/\\\x00:]+"
_NAMES = re.compile(
    rf"({FINDINGS}|{EVIDENCE}/{_PART})(/{_PART})+|{LOCKS}/{_PART}\.json|{re.escape(LEDGER)}(\.head)?|{re.escape(PROVENANCE)}"
)


def bundle_members(
    provenance: Provenance, store: Store, *, ledger: Path, locks: Path, findings: Path | None
) -> dict[str, bytes]:
    """All members of a bundle, by their names.

    Args:
        provenance: of the run.
        store: where its evidence is.
        ledger: its ledger; the whole of it goes along, since its lines are chained.
        locks: the folder of the locks of held-out data, those of the study go along.
        findings: the folder of its findings, where they are at hand.

    Raises: EvidenceRefused: a file of the evidence is not there or cannot be read.

    """
    members = {PROVENANCE: provenance_bytes(provenance)}
    for name, file in provenance.evidence.items():
        asset = name.partition("@")[0]
        members[f"{EVIDENCE}/{asset}/{file}"] = store.read(f"{asset}/{file}")
    for path in (ledger, ledger.with_name(f"{ledger.name}.head")):
        if path.exists():
            members[path.name] = path.read_bytes()
    for path in sorted(locks.glob(f"{provenance.study.replace('_', '-')}-*.json")):
        members[f"{LOCKS}/{path.name}"] = path.read_bytes()
    if findings is not None:
        for name in [*provenance.files, PROVENANCE]:
            members[f"{FINDINGS}/{name}"] = (findings / name).read_bytes()
    return members


def zipped(members: Mapping[str, bytes]) -> bytes:
    """The members as a zip, the same bytes for the same members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name in sorted(members):
            bundle.writestr(zipfile.ZipInfo(name, _FIRST_DAY), members[name], zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def unpack(bundle: Path, into: Path) -> None:
    """Writes the members of a bundle below a folder.

    Raises: BundleRefused: it is no bundle, is damaged, is too large, or a member's name is none of a bundle's.
    """
    try:
        with zipfile.ZipFile(bundle) as opened:
            _unpack(bundle, opened, into)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError) as error:
        raise BundleRefused(f"bundle {str(bundle)!r} is damaged ({error}); copy it again") from None
    except OSError as error:
        raise BundleRefused(f"bundle {str(bundle)!r} cannot be read ({error.strerror}); name a bundle") from None


def _unpack(bundle: Path, opened: zipfile.ZipFile, into: Path) -> None:
    members, left = opened.infolist(), _MOST_BYTES
    names = [member.filename for member in members]
    if len(names) > _MOST_MEMBERS or len(set(names)) != len(names):
        raise BundleRefused(f"bundle {str(bundle)!r} has too many members, or one of them twice; do not trust it")
    for member in members:
        if not _NAMES.fullmatch(member.filename) or {".", ".."} & set(member.filename.split("/")):
            raise BundleRefused(
                f"bundle {str(bundle)!r} has a member {member.filename!r}, which is none of a bundle; do not trust it"
            )
        with opened.open(member) as packed:
            data = bytearray()
            while piece := packed.read(_PIECE):
                data += piece
                if len(data) > left:
                    raise BundleRefused(f"bundle {str(bundle)!r} unpacks to more than {_MOST_BYTES} bytes")
        left -= len(data)
        write_atomically(into / member.filename, bytes(data))

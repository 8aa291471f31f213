"""A log that is a zip archive, read in memory: nothing is written or run, and no member grows past a limit."""

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass

import pyarrow as pa

from eval_pipeline.errors import MalformedLog

MEMBERS = 200_000
MEMBER_BYTES = 512 * 2**20
ALL_BYTES = 4 * 2**30
_ZSTANDARD = 93  # a method that zipfile reads from Python 3.14 on only
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_PIECE = 2**20


@dataclass
class Archive:
    """The members of an archive by their names; `left` bytes may still be read."""

    file: str
    data: bytes
    members: dict[str, zipfile.ZipInfo]
    left: int

    def read(self, name: str) -> bytes:
        """The bytes of a member.

        Raises: MalformedLog: they are damaged, locked, packed in an unknown way, or more than the limit.
        """
        member = self.members[name]
        limit = min(MEMBER_BYTES, self.left)
        if member.flag_bits & 1:
            raise self._refusal(name, "found a member under a password, expected an open one; write the log without")
        try:
            data = self._unpacked(member, limit)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error, NotImplementedError) as error:
            raise self._refusal(name, f"found a member that cannot be read ({error}); copy the log again") from None
        if len(data) > limit:
            raise self._refusal(
                name, f"found more than {limit} bytes in it, expected at most so many; write the log in smaller parts"
            )
        self.left -= len(data)
        return data

    def _unpacked(self, member: zipfile.ZipInfo, limit: int) -> bytes:
        """At most one byte more than the limit, whatever the member says of its size."""
        if member.compress_type != _ZSTANDARD:
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive, archive.open(member) as packed:
                return packed.read(limit + 1)
        mark, name_length, extra_length = _LOCAL_HEADER.unpack_from(self.data, member.header_offset)
        if mark != b"PK\x03\x04":
            raise zipfile.BadZipFile("no local header")
        start = member.header_offset + _LOCAL_HEADER.size + name_length + extra_length
        frames = pa.BufferReader(self.data[start : start + member.compress_size])
        pieces: list[bytes] = []
        read = 0
        with pa.CompressedInputStream(frames, "zstd") as stream:
            while read <= limit and (piece := stream.read(_PIECE)):
                pieces.append(piece)
                read += len(piece)
        data = b"".join(pieces)
        if read <= limit and (len(data) != member.file_size or zlib.crc32(data) != member.CRC):
            raise zipfile.BadZipFile("its checksum differs")
        return data[: limit + 1]

    def _refusal(self, name: str, fault: str) -> MalformedLog:
        return MalformedLog(f"log {self.file!r}", [f"in member {name!r}: {fault}"])


def open_archive(data: bytes, file: str) -> Archive:
    """The archive of these bytes; of members with one name the last counts, as for every reader of zip archives.

    Raises: MalformedLog: it is none, has too many members, or one whose name leads out of it.
    """
    what = f"log {file!r}"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {member.filename: member for member in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, struct.error, EOFError, NotImplementedError) as error:
        raise MalformedLog(
            what, [f"found no zip archive that can be read ({error}), expected one; copy the log again"]
        ) from None
    if len(members) > MEMBERS:
        raise MalformedLog(
            what, [f"found {len(members)} members, expected at most {MEMBERS}; write the log in smaller parts"]
        )
    for name in members:
        if name.startswith("/") or "\\" in name or ":" in name.split("/")[0] or ".." in name.split("/"):
            raise MalformedLog(
                what, [f"found a member named {name!r}, expected a path within the archive; do not trust this file"]
            )
    return Archive(file, data, members, ALL_BYTES)

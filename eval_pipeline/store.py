"""Where evidence lies: a local folder, or a bucket of an S3 server; a name holds all that was written, or nothing."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from pyarrow.fs import FileSelector, FileType, S3FileSystem

from eval_pipeline.errors import EvidenceAbsent, EvidenceRefused, InputRefused, StoreRefused
from eval_pipeline.evidence import write_atomically

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ENDPOINT = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+/?")
_REFUSES = ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN_ID", "EXPIRED")
_AWS_ERROR = re.compile(r"AWS Error (\w+)")


class Store(Protocol):
    """A place of files by name; names are relative, with `/` between their parts."""

    @property
    def location(self) -> str:
        """Where it is, as it was named; never a credential."""

    def place(self, name: str) -> str:
        """Where a file is, for people and for other programs."""

    def read(self, name: str) -> bytes:
        """The whole of a file.

        Raises: EvidenceAbsent, EvidenceRefused: it is not there, it cannot be read; StoreRefused: nor can the place.
        """

    def write(self, name: str, data: bytes) -> None:
        """Writes the whole file or leaves what was there.

        Raises: OutputRefused, StoreRefused: it cannot be written.
        """

    def exists(self, name: str) -> bool:
        """Whether a file of that name is there.

        Raises: StoreRefused: the place cannot be reached.
        """

    def names(self, prefix: str) -> list[str]:
        """The names that begin so, in order; '' gives all.

        Raises: StoreRefused: the place cannot be reached.
        """


def store_at(location: str, *, endpoint: str = "") -> Store:
    """The store of a local folder or of `s3://bucket/prefix`; nothing is made and nobody is asked yet.

    Args:
        location: credentials never stand in it; those of S3 are found as every AWS program finds them.
        endpoint: the URL of an S3 server other than that of AWS; '' for AWS.

    Raises: InputRefused: it is neither, or the endpoint is no URL of a server.

    """
    if "://" not in location:
        return FolderStore(Path(location).resolve())
    scheme, _, rest = location.partition("://")
    bucket, _, prefix = rest.partition("/")
    prefix = prefix.strip("/")
    if "@" in bucket:
        raise InputRefused("a place of evidence has credentials in it; leave them out, and set AWS_ACCESS_KEY_ID")
    if scheme != "s3" or not _BUCKET.fullmatch(bucket):
        raise InputRefused(
            f"evidence: found {location!r}, expected a folder or s3://bucket/prefix; set EVAL_PIPELINE_EVIDENCE again"
        )
    if endpoint and not _ENDPOINT.fullmatch(endpoint):
        raise InputRefused(
            "the endpoint of the S3 server is not of the form http://host:port or https://host:port, without"
            " credentials or a path; set EVAL_PIPELINE_S3_ENDPOINT again"
        )
    return S3Store(bucket, _checked(prefix) if prefix else "", endpoint)


@dataclass(frozen=True, slots=True)
class FolderStore:
    """A folder of this machine."""

    folder: Path

    @property
    def location(self) -> str:
        """Where it is."""
        return str(self.folder)

    def place(self, name: str) -> str:
        """The path of a file."""
        return str(self._path(name))

    def read(self, name: str) -> bytes:
        """See `Store.read`."""
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            raise _absent(self, name) from None
        except OSError as error:
            raise EvidenceRefused(
                f"evidence {self.place(name)!r} cannot be read ({error.strerror}); permit it, or mend the disk"
            ) from None

    def write(self, name: str, data: bytes) -> None:
        """See `Store.write`."""
        write_atomically(self._path(name), data)

    def exists(self, name: str) -> bool:
        """See `Store.exists`."""
        return self._path(name).is_file()

    def names(self, prefix: str) -> list[str]:
        """See `Store.names`; what is being written has a name that begins with a dot, and is none of them."""
        within = self.folder / prefix.rpartition("/")[0]
        files = (path for path in within.rglob("*") if not path.name.startswith(".") and path.is_file())
        names = (path.relative_to(self.folder).as_posix() for path in files)
        return sorted(name for name in names if name.startswith(prefix))

    def _path(self, name: str) -> Path:
        return self.folder / _checked(name)


@dataclass(frozen=True)
class S3Store:
    """A bucket of an S3 server, below a prefix.

    An object is there when its upload was completed, and not before: what a killed process began is never seen.
    """

    bucket: str
    prefix: str
    endpoint: str

    @property
    def location(self) -> str:
        """Where it is."""
        return f"s3://{self._key('')}".rstrip("/")

    def place(self, name: str) -> str:
        """The address of a file."""
        return f"s3://{self._key(_checked(name))}"

    def read(self, name: str) -> bytes:
        """See `Store.read`."""
        try:
            with self._files.open_input_file(self._key(_checked(name))) as file:
                return bytes(file.read())
        except FileNotFoundError:
            self._require_bucket()
            raise _absent(self, name) from None
        except OSError as error:
            raise self._refused(error) from None

    def write(self, name: str, data: bytes) -> None:
        """See `Store.write`."""
        # In a thread, since an interrupt reaches the main one alone: between opening and writing it would complete an
        # upload of nothing.
        with ThreadPoolExecutor(max_workers=1) as uninterrupted:
            uninterrupted.submit(self._upload, self._key(_checked(name)), data).result()

    def _upload(self, key: str, data: bytes) -> None:
        try:
            with self._files.open_output_stream(key) as stream:
                stream.write(data)
        except OSError as error:
            raise self._refused(error) from None

    def exists(self, name: str) -> bool:
        """See `Store.exists`."""
        try:
            there = bool(self._files.get_file_info(self._key(_checked(name))).type == FileType.File)
        except OSError as error:
            raise self._refused(error) from None
        if not there:
            self._require_bucket()
        return there

    def names(self, prefix: str) -> list[str]:
        """See `Store.names`."""
        within = self._key(prefix.rpartition("/")[0]).rstrip("/")
        try:
            found = self._files.get_file_info(FileSelector(within, recursive=True, allow_not_found=True))
        except OSError as error:
            raise self._refused(error) from None
        if not found:
            self._require_bucket()
        above = len(self._key(""))
        names = (info.path[above:] for info in found if info.type == FileType.File)
        return sorted(name for name in names if name.startswith(prefix))

    @cached_property
    def _files(self) -> S3FileSystem:
        """The connection, made when it is first needed, so that a process that only names a store starts nothing."""
        options: dict[str, Any] = {"background_writes": False, "allow_delayed_open": True}
        if self.endpoint:  # whose region no answer tells
            options |= {"endpoint_override": self.endpoint, "region": "us-east-1"}
        return S3FileSystem(**options)

    def _key(self, name: str) -> str:
        return "/".join(part for part in (self.bucket, self.prefix) if part) + f"/{name}"

    def _require_bucket(self) -> None:
        """Asked where a file is absent: of a bucket that is not there every file is, which is half of the truth."""
        if not self._has_bucket:
            raise self._no_bucket()

    @cached_property
    def _has_bucket(self) -> bool:
        try:
            return bool(self._files.get_file_info(self.bucket).type != FileType.NotFound)
        except OSError as error:
            raise self._refused(error) from None

    def _no_bucket(self) -> StoreRefused:
        return StoreRefused(
            f"bucket {self.bucket!r} is not there{self._at()}; make it, or set EVAL_PIPELINE_EVIDENCE again"
        )

    def _refused(self, error: OSError) -> StoreRefused:
        """What the server said, in one sentence; its own text may quote what it was sent, and is left out."""
        found = _AWS_ERROR.search(str(error))
        said = found[1] if found else "no answer that can be read"
        if said == "NO_SUCH_BUCKET":
            return self._no_bucket()
        if said == "NETWORK_CONNECTION":
            return StoreRefused(
                f"the S3 server{self._at()} cannot be reached; start it, or set EVAL_PIPELINE_S3_ENDPOINT again"
            )
        if said.startswith(_REFUSES):
            return StoreRefused(
                f"the S3 server{self._at()} refuses the credentials for {self.location} ({said}); set"
                " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to ones that may list, read and write there"
            )
        return StoreRefused(f"the S3 server{self._at()} failed at {self.location} ({said}); try again later")

    def _at(self) -> str:
        return f" at {self.endpoint}" if self.endpoint else ""


def _absent(store: Store, name: str) -> EvidenceAbsent:
    return EvidenceAbsent(f"evidence {store.place(name)!r} is not there; materialize the asset again")


def _checked(name: str) -> str:
    """The name, if it leads nowhere but below its store.

    Raises: InputRefused: it does not.
    """
    parts = name.split("/")
    if not name or {"", ".", ".."} & set(parts) or "\0" in name or "\\" in name or PurePosixPath(name).is_absolute():
        raise InputRefused(f"evidence: found the name {name!r}, expected parts between single slashes; mend it")
    return name

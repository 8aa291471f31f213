"""A real S3 server on loopback, in a thread of the tests: buckets, what has arrived of an upload, and its refusals."""

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any


@dataclass(frozen=True)
class S3:
    """A running server at `endpoint`."""

    endpoint: str
    _client: Any
    _settings: Any
    _numbers: Iterator[int] = field(default_factory=count)

    def bucket(self) -> str:
        """The name of a fresh, empty bucket."""
        name = f"bucket-{next(self._numbers)}"
        self._client.create_bucket(Bucket=name)
        return name

    def arrived(self, bucket: str) -> int:
        """The bytes that have arrived of uploads to a bucket that are not complete."""
        uploads = self._client.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
        parts = [
            self._client.list_parts(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"]).get("Parts", [])
            for upload in uploads
        ]
        return sum(part["Size"] for of_upload in parts for part in of_upload)

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """While it lasts, the server knows nobody's credentials."""
        known = self._settings.INITIAL_NO_AUTH_ACTION_COUNT
        self._settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
        try:
            yield
        finally:
            self._settings.INITIAL_NO_AUTH_ACTION_COUNT = known


@contextlib.contextmanager
def s3_server() -> Iterator[S3]:
    """The server, until the context ends; its modules take a second to import."""
    server = importlib.import_module("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        client = importlib.import_module("boto3").client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="tests", aws_secret_access_key="x"
        )
        yield S3(endpoint, client, importlib.import_module("moto.settings"))
    finally:
        server.stop()

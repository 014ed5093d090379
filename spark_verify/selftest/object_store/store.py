"""An S3-compatible server in a process of its own (moto), and a history in it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pa_fs

from checkers.places import StoredPath

BUCKET = "runs"
_START_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A running server."""

    endpoint: str

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process must have in its environment to read from it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "highwater",
            "AWS_SECRET_ACCESS_KEY": "highwater",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def keep(self, history: Path, name: str) -> StoredPath:
        """Copy a directory into the bucket, and say where it is. Needs `environment`."""
        pa_fs.copy_files(str(history), f"{BUCKET}/{name}", destination_filesystem=self._client())
        return StoredPath.of(f"s3://{BUCKET}/{name}")

    def make_bucket(self) -> None:
        """Make the bucket; raises OSError while the server does not answer."""
        self._client().create_dir(BUCKET)

    def _client(self) -> pa_fs.FileSystem:
        return pa_fs.S3FileSystem(endpoint_override=self.endpoint, allow_bucket_creation=True)


@contextmanager
def store(host: str, port: int, log: Path) -> Iterator[Store]:
    """A server on an address of this machine, with an empty bucket. This process can read from it, too."""
    found = Store(endpoint=f"http://{host}:{port}")
    before = {name: os.environ.get(name) for name in found.environment}
    os.environ.update(found.environment)
    command = [sys.executable, "-m", "moto.server", "-H", host, "-p", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        _await(found, process, log)
        yield found
    finally:
        process.terminate()
        process.wait()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _await(found: Store, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_WITHIN_S
    while True:
        try:
            return found.make_bucket()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the S3 server did not start:\n{log.read_text()[-2000:]}") from None
            time.sleep(0.2)

"""Where a history may lie: in a directory of this machine, or in a store that pyarrow's file systems read.

    place_of("/runs/7/history")            a pathlib.Path
    place_of("s3://bucket/runs/7/history") a StoredPath

A `StoredPath` answers what the readers of a history ask a Path. Credentials, an endpoint and a region are
given as the store's own client takes them: for S3 in the environment (`AWS_ACCESS_KEY_ID`,
`AWS_SECRET_ACCESS_KEY`, `AWS_ENDPOINT_URL`, `AWS_DEFAULT_REGION`), or as options behind the question mark.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TypeAlias
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

_SCHEME = "://"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class StoredPath:
    """A file or folder of a store: `root` is scheme and authority, `path` what is below it without a leading
    slash, `options` what stands behind the question mark."""

    root: str
    path: str
    options: str = ""

    @classmethod
    def of(cls, uri: str) -> "StoredPath":
        """From a URI with a scheme."""
        parts = urlsplit(uri)
        return cls(
            root=f"{parts.scheme}{_SCHEME}{parts.netloc}", path=parts.path.strip("/"), options=parts.query
        )

    @property
    def uri(self) -> str:
        """All of it, as `place_of` takes it."""
        return f"{self.root}/{self.path}" + (f"?{self.options}" if self.options else "")

    def __str__(self) -> str:
        """For people: without options and without user and password, which may be secret."""
        scheme, _, authority = self.root.partition(_SCHEME)
        return f"{scheme}{_SCHEME}{authority.rpartition('@')[2]}/{self.path}"

    def __truediv__(self, below: str) -> "StoredPath":
        return replace(self, path=f"{self.path}/{below}" if self.path else below)

    @property
    def parent(self) -> "StoredPath":
        """The folder that it lies in."""
        return replace(self, path=self.path.rpartition("/")[0])

    @property
    def name(self) -> str:
        """The last component."""
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        """The last component without its suffix."""
        return PurePosixPath(self.path).stem

    def absolute(self) -> "StoredPath":
        """Itself."""
        return self

    def is_file(self) -> bool:
        """Whether the store has a file of this name."""
        return self._info().type is pa_fs.FileType.File

    def is_dir(self) -> bool:
        """Whether the store has files below it."""
        return self._info().type is pa_fs.FileType.Directory

    def exists(self) -> bool:
        """Whether it is either."""
        return self._info().type is not pa_fs.FileType.NotFound

    def glob(self, pattern: str) -> Iterator["StoredPath"]:
        """The files and folders right below it whose name has the pattern; none if it is not there."""
        system, path = self._system()
        for info in system.get_file_info(pa_fs.FileSelector(path, allow_not_found=True)):
            if PurePosixPath(info.base_name).match(pattern):
                yield self / info.base_name

    def open(self) -> pa.NativeFile:
        """The file, to be read at any place of it; raises OSError."""
        system, path = self._system()
        return system.open_input_file(path)

    def _info(self) -> pa_fs.FileInfo:
        system, path = self._system()
        return system.get_file_info(path)

    def _system(self) -> tuple[pa_fs.FileSystem, str]:
        system, base = _file_system(self.root, self.options)
        return system, f"{base.rstrip('/')}/{self.path}" if base else self.path


Place: TypeAlias = Path | StoredPath


def place_of(text: str | Place) -> Place:
    """A place from what a user writes: a URI or a path of this machine."""
    if isinstance(text, Path | StoredPath):
        return text
    if _SCHEME not in text:
        return Path(text)
    found = StoredPath.of(text)
    return Path("/", found.path) if found.root == "file://" else found


def as_text(place: Place) -> str:
    """What `place_of` makes the same place of."""
    return place.uri if isinstance(place, StoredPath) else str(place)


def open_parquet(place: Place) -> pq.ParquetFile:
    """A Parquet file with its footer read; raises what pyarrow raises.

    Of a store, the columns of a row group are asked for together.
    """
    if isinstance(place, StoredPath):
        return pq.ParquetFile(place.open(), pre_buffer=True)
    return pq.ParquetFile(place)


@lru_cache(maxsize=16)
def _file_system(root: str, options: str) -> tuple[pa_fs.FileSystem, str]:
    """A client of a store, and the path that its root has there; it holds connections, so there is one."""
    found: tuple[pa_fs.FileSystem, str] = pa_fs.FileSystem.from_uri(
        f"{root}/" + (f"?{options}" if options else "")
    )
    return found

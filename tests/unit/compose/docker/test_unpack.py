"""An archive that the engine sends in portions becomes files."""

import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from compose.docker.containers import unpack

FILES = {
    "replicas-1/meta.properties": b"version=1\n",
    "replicas-1/orders-0/00000000000000000000.log": bytes(range(256)) * 5000,
    "replicas-1/orders-0/leader-epoch-checkpoint": b"",
}


def archive(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for directory in ("replicas-1/", "replicas-1/orders-0/"):
            entry = tarfile.TarInfo(directory)
            entry.type = tarfile.DIRTYPE
            tar.addfile(entry)
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def portions(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [511, 512, 100_000, 10_000_000])
def test_files_are_whole_whatever_the_portions(tmp_path: Path, size: int) -> None:
    unpack(portions(archive(FILES), size), tmp_path)
    found = {
        str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    }
    assert found == {name.removeprefix("replicas-1/"): content for name, content in FILES.items()}


def test_an_archive_that_breaks_off_is_an_error(tmp_path: Path) -> None:
    data = archive(FILES)
    with pytest.raises(OSError, match="broke off: unexpected end of data"):
        unpack(portions(data[: len(data) // 2], 65_536), tmp_path)


def test_an_archive_that_never_begins_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="broke off"):
        unpack(iter(()), tmp_path)


def test_a_file_that_would_lie_elsewhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"a file named 'replicas-1/\.\./\.\./x'"):
        unpack(portions(archive({"replicas-1/../../x": b"x"}), 512), tmp_path / "below" / "it")
    assert list(tmp_path.rglob("x")) == []

"""log_ends.pl, run on data directories that are written here batch by batch."""

import os
import struct
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

SCRIPT = str(files("compose.recipes.programs").joinpath("log_ends.pl"))


def batch(offset: int, records: int = 1, *, size: int = 70, magic: int = 2) -> bytes:
    """A record batch of `size` bytes whose header counts and whose records are zeros."""
    head = struct.pack(">qiibIhi", offset, size - 12, 0, magic, 0, 0, records - 1)
    return head + bytes(size - len(head))


def segment(home: Path, name: str, base: int, batches: Sequence[bytes]) -> Path:
    directory = home / name
    directory.mkdir(exist_ok=True)
    path = directory / f"{base:020d}.log"
    path.write_bytes(b"".join(batches))
    return path


def checkpoint(home: Path, name: str, *lines: str) -> None:
    (home / name).write_text("\n".join(["0", str(len(lines)), *lines, ""]))


def ends(home: Path) -> list[str]:
    done = subprocess.run(["perl", SCRIPT, str(home)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_log_ends_after_its_last_batch(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", 0, [batch(0, 3), batch(3), batch(4, 10)])
    segment(tmp_path, "orders-1", 0, [])
    assert ends(tmp_path) == ["0 14 orders-0", "0 0 orders-1"]


def test_a_torn_batch_is_no_part_of_the_log(tmp_path: Path) -> None:
    path = segment(tmp_path, "orders-0", 0, [batch(0, 3), batch(3)])
    os.truncate(path, 139)
    assert ends(tmp_path) == ["0 3 orders-0"]
    os.truncate(path, 71)
    assert ends(tmp_path) == ["0 3 orders-0"]
    os.truncate(path, 69)
    assert ends(tmp_path) == ["0 0 orders-0"]


def test_what_follows_zeros_or_an_offset_that_falls_is_no_part_of_the_log(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", 0, [batch(0, 3), bytes(140), batch(5)])
    segment(tmp_path, "orders-1", 0, [batch(0, 3), batch(1)])
    segment(tmp_path, "orders-2", 0, [batch(0, 3), batch(3, magic=1)])
    segment(tmp_path, "orders-3", 0, [batch(0, 3), batch(3, 0)])
    assert ends(tmp_path) == ["0 3 orders-0", "0 3 orders-1", "0 3 orders-2", "0 3 orders-3"]


def test_a_batch_longer_than_a_portion_is_passed_over(tmp_path: Path) -> None:
    segment(
        tmp_path, "orders-0", 0, [batch(0, size=3_000_000), batch(1, 2), batch(3, size=1_048_570), batch(4)]
    )
    assert ends(tmp_path) == ["0 5 orders-0"]


def test_a_log_starts_at_its_first_segment_or_where_records_were_deleted_up_to(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", 10, [batch(10, 5)])
    segment(tmp_path, "orders-0", 15, [batch(15, 2)])
    segment(tmp_path, "my-topic.x-12", 10, [batch(10, 5)])
    checkpoint(tmp_path, "log-start-offset-checkpoint", "my-topic.x 12 13")
    assert ends(tmp_path) == ["13 15 my-topic.x-12", "10 17 orders-0"]


def test_segments_behind_a_broken_one_that_was_not_flushed_are_no_part_of_the_log(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", 0, [batch(0, 5)])
    segment(tmp_path, "orders-0", 5, [batch(5, 5), b"torn"])
    segment(tmp_path, "orders-0", 10, [batch(10, 5)])
    assert ends(tmp_path) == ["0 10 orders-0"]


def test_what_was_flushed_is_not_walked(tmp_path: Path) -> None:
    """As Kafka, which recovers from the segment of the recovery point on."""
    segment(tmp_path, "orders-0", 0, [b"whatever"])
    segment(tmp_path, "orders-0", 5, [batch(5, 5)])
    segment(tmp_path, "orders-0", 10, [batch(10, 5)])
    checkpoint(tmp_path, "recovery-point-offset-checkpoint", "orders 0 7")
    assert ends(tmp_path) == ["0 15 orders-0"]


def test_other_directories_and_files_are_left_out(tmp_path: Path) -> None:
    for name in ("__cluster_metadata-0", "orders-0.5f3a-delete", "orders-1.77-stray", "lost+found"):
        segment(tmp_path, name, 0, [batch(0)])
    (tmp_path / "orders-2").mkdir()
    (tmp_path / "orders-3").write_text("a file")
    assert ends(tmp_path) == []


def test_a_long_segment_is_walked_from_an_entry_of_its_index(tmp_path: Path) -> None:
    """48 MB; its first bytes are broken, which only a walk from the start could find."""
    batches = [batch(offset, size=1_000_000) for offset in range(48)]
    path = segment(tmp_path, "orders-0", 0, [bytes(1_000_000), *batches[1:]])
    index = b"".join(struct.pack(">ii", offset, offset * 1_000_000) for offset in range(1, 48, 2))
    path.with_suffix(".index").write_bytes(index + bytes(1_000))
    assert ends(tmp_path) == ["0 48 orders-0"]


def test_an_index_that_points_elsewhere_is_not_believed(tmp_path: Path) -> None:
    batches = [batch(offset, size=1_000_000) for offset in range(48)]
    path = segment(tmp_path, "orders-0", 0, batches)
    path.with_suffix(".index").write_bytes(struct.pack(">ii", 3, 3_000_500) + bytes(80))
    assert ends(tmp_path) == ["0 48 orders-0"]
    with path.open("r+b") as log:
        log.seek(3_000_500)
        log.write(batch(1_000_000))  # a record may hold whatever looks like a batch
    assert ends(tmp_path) == ["0 48 orders-0"]
    path.with_suffix(".index").write_bytes(bytes(80))
    assert ends(tmp_path) == ["0 48 orders-0"]
    path.with_suffix(".index").unlink()
    assert ends(tmp_path) == ["0 48 orders-0"]

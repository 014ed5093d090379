"""A journal gives every whole batch back, wherever the file was torn."""

from pathlib import Path

import pyarrow as pa
import pytest

from workloads.errors import JournalUnreadable
from workloads.record.journal import Journal, facts, read

SCHEMA = pa.schema([("n", pa.int64())])


def written(path: Path, batches: int) -> list[int]:
    """Write batches [0], [1, 1], [2, 2, 2]...; the size of the file after each of them."""
    sizes = []
    with Journal(path, SCHEMA, {"producer": "7"}) as journal:
        sizes.append(path.stat().st_size)
        for number in range(batches):
            journal.write([pa.array([number] * (number + 1), pa.int64())])
            sizes.append(path.stat().st_size)
    return sizes


def values(path: Path) -> list[int]:
    return [n for batch in read(path) for n in batch.column("n").to_pylist()]


def test_what_was_written_is_read_in_order(tmp_path: Path) -> None:
    written(tmp_path / "j", 3)
    assert values(tmp_path / "j") == [0, 1, 1, 2, 2, 2]
    assert facts(tmp_path / "j") == {"producer": "7"}


def test_a_batch_has_left_the_process_when_write_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", SCHEMA, {})
    journal.write([pa.array([5])])
    assert values(tmp_path / "j") == [5]


def test_wherever_it_is_torn_every_batch_that_was_whole_is_read(tmp_path: Path) -> None:
    sizes = written(tmp_path / "whole", 3)
    everything = (tmp_path / "whole").read_bytes()
    torn = tmp_path / "torn"
    for length in range(len(everything)):
        torn.write_bytes(everything[:length])
        whole = sum(length >= size for size in sizes[1:])
        assert values(torn) == [0, 1, 1, 2, 2, 2][: (0, 1, 3, 6)[whole]], f"torn after {length} bytes"


def test_a_journal_torn_within_its_head_has_no_facts(tmp_path: Path) -> None:
    head = written(tmp_path / "j", 0)[0]
    whole = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(whole[: head - 1])
    assert facts(tmp_path / "j") is None
    (tmp_path / "j").write_bytes(b"")
    assert facts(tmp_path / "j") is None


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    written(tmp_path / "j", 1)
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "j", SCHEMA, {})


def test_a_missing_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalUnreadable, match=r"nowhere: no such journal"):
        facts(tmp_path / "nowhere")

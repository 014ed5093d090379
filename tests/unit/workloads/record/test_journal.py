"""A journal gives every whole batch back, wherever its end was torn; any other damage is named."""

import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from workloads.errors import JournalUnreadable
from workloads.record import journal as journals
from workloads.record.journal import (
    CRC,
    HEAD,
    HEAD_BYTES,
    MAGIC,
    Journal,
    JournalState,
    inspect,
    read,
    read_portions,
    rows_at,
)

SCHEMA = pa.schema([("n", pa.int64())])
PER_BATCH = [0, 1, 3, 6]
"""Rows in the first n batches."""


def written(path: Path, batches: int, *, killed: bool = False) -> list[int]:
    """Write batches [0], [1, 1], [2, 2, 2]...; the size of the file after its head and each of them."""
    sizes = []
    journal = Journal(path, SCHEMA, {"producer": "7"})
    sizes.append(path.stat().st_size)
    for number in range(batches):
        journal.write([pa.array([number] * (number + 1), pa.int64())])
        sizes.append(path.stat().st_size)
    if not killed:
        journal.close({"ok": 4})
    return sizes


def values(path: Path) -> list[int]:
    return [n for batch in read(inspect(path)) for n in batch.column("n").to_pylist()]


def known(state: JournalState | None) -> tuple[dict[str, str], dict[str, int] | None]:
    """The facts of a journal, and what its writer counted."""
    assert state is not None
    return dict(state.facts), None if state.counted is None else dict(state.counted)


def damage(path: Path) -> str:
    """What is wrong with a journal, without its name."""
    with pytest.raises(JournalUnreadable) as refused:
        inspect(path)
    return str(refused.value).removeprefix(f"{path}: ")


def test_what_was_written_is_read_in_order_with_what_its_writer_counted(tmp_path: Path) -> None:
    written(tmp_path / "j", 3)
    assert values(tmp_path / "j") == [0, 1, 1, 2, 2, 2]
    assert known(inspect(tmp_path / "j")) == ({"producer": "7"}, {"rows": 6, "ok": 4})


def test_a_batch_has_left_the_process_when_write_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", SCHEMA, {})
    journal.write([pa.array([5])])
    assert values(tmp_path / "j") == [5]
    assert known(inspect(tmp_path / "j")) == ({}, None)


def test_wherever_it_is_torn_every_batch_that_was_whole_is_read(tmp_path: Path) -> None:
    sizes = written(tmp_path / "whole", 3)
    everything = (tmp_path / "whole").read_bytes()
    torn = tmp_path / "torn"
    for length in range(len(everything)):
        torn.write_bytes(everything[:length])
        whole = sum(length >= size for size in sizes[1:])
        state = inspect(torn)
        assert values(torn) == [0, 1, 1, 2, 2, 2][: PER_BATCH[whole]], f"torn after {length} bytes"
        if length < sizes[0]:
            assert state is None
        else:
            assert known(state) == ({"producer": "7"}, None)


def test_a_byte_that_is_not_what_was_written_is_found_wherever_it_is(tmp_path: Path) -> None:
    sizes = written(tmp_path / "whole", 3)
    everything = (tmp_path / "whole").read_bytes()
    bad = tmp_path / "bad"
    for place in range(len(everything)):
        changed = bytearray(everything)
        changed[place] ^= 0x10
        bad.write_bytes(changed)
        frame = sum(place >= size for size in sizes)
        begin = [0, *sizes][frame]
        wrong = (
            f"no frame begins there, where frame {frame} should"
            if place < begin + HEAD_BYTES
            else f"frame {frame} is not what was written"
        )
        assert damage(bad) == f"damaged at byte {begin}: {wrong}", f"byte {place}"


def test_bytes_after_a_tear_are_damage_and_not_the_end_of_a_killed_run(tmp_path: Path) -> None:
    """Five bytes of the second batch are gone; the third is whole, behind them."""
    sizes = written(tmp_path / "j", 3, killed=True)
    whole = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(whole[: sizes[1] + 40] + whole[sizes[1] + 45 :])
    assert damage(tmp_path / "j") == f"damaged at byte {sizes[1]}: frame 2 is not what was written"


def test_a_batch_that_was_cut_out_is_missed(tmp_path: Path) -> None:
    sizes = written(tmp_path / "j", 3, killed=True)
    whole = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(whole[: sizes[1]] + whole[sizes[2] :])
    assert damage(tmp_path / "j") == f"damaged at byte {sizes[1]}: frame 3 stands where frame 2 should"


@pytest.mark.parametrize("more", [b"x", b"more than the head of a frame, behind the end"])
def test_bytes_behind_the_end_are_damage(tmp_path: Path, more: bytes) -> None:
    written(tmp_path / "j", 1)
    size = (tmp_path / "j").stat().st_size
    with (tmp_path / "j").open("ab") as file:
        file.write(more)
    assert damage(tmp_path / "j").startswith(f"damaged at byte {size}: bytes ")


def test_a_few_bytes_that_begin_no_frame_are_no_tear(tmp_path: Path) -> None:
    (size,) = written(tmp_path / "j", 0, killed=True)
    with (tmp_path / "j").open("ab") as file:
        file.write(bytes(3))
    assert damage(tmp_path / "j") == f"damaged at byte {size}: bytes that no writer wrote"


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    written(tmp_path / "j", 1)
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "j", SCHEMA, {})


def test_a_second_close_writes_no_second_end(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", SCHEMA, {}) as journal:
        journal.close({"ok": 1})
    assert known(inspect(tmp_path / "j")) == ({}, {"rows": 0, "ok": 1})


def test_a_missing_journal_is_named(tmp_path: Path) -> None:
    assert damage(tmp_path / "nowhere") == "no such journal"


@pytest.mark.parametrize("portion_bytes", [1, 400, 1000, 1 << 20])
def test_rows_come_in_portions_that_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, portion_bytes: int
) -> None:
    """Of whatever size they are; an empty batch is in none, and the last one may be smaller."""
    monkeypatch.setattr(journals, "PORTION_BYTES", portion_bytes)
    path = tmp_path / "a.arrow"
    with Journal(path, SCHEMA, {}) as journal:
        for number in range(30):
            journal.write([pa.array([number] * (number % 4), pa.int64())])
    wanted = [number for number in range(30) for _ in range(number % 4)]
    state = inspect(path)
    assert state is not None
    portions = dict(read_portions(state))
    assert [n for batch in portions.values() for n in batch.column("n").to_pylist()] == wanted
    assert values(path) == wanted
    assert len(portions) > 1 or portion_bytes == 1 << 20
    for portion, batch in portions.items():
        (again,) = rows_at(path, [portion])
        assert again.equals(batch)


def test_rows_that_are_not_as_many_as_the_writer_counted_are_refused(tmp_path: Path) -> None:
    """Whole frames, each with the number that it should have: the writer lost rows before it wrote them."""
    journal = Journal(tmp_path / "j", SCHEMA, {})
    journal.write([pa.array([5, 6])])
    journal._rows += 1
    journal.close()
    with pytest.raises(JournalUnreadable) as refused:
        values(tmp_path / "j")
    assert str(refused.value) == f"{tmp_path / 'j'}: damaged: it has 2 rows, its writer counted 3"


def test_a_journal_that_begins_with_something_else_than_its_schema_is_named(tmp_path: Path) -> None:
    message = b"no schema"
    head = HEAD.pack(MAGIC, 0, len(message), zlib.crc32(message))
    (tmp_path / "j").write_bytes(head + CRC.pack(zlib.crc32(head)) + message)
    assert damage(tmp_path / "j") == "damaged at byte 0: frame 0 has no schema"

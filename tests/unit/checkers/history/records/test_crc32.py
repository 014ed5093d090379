"""CRC-32 of many rows at once is that of zlib for each."""

import zlib

import numpy as np
import pytest

from checkers.history.records.crc32 import crc32_rows


def rows_that_differ_in(columns: int, *, size: int, count: int = 50) -> np.ndarray:
    rng = np.random.default_rng([columns, size])
    rows = np.tile(rng.integers(0, 256, size, np.uint8), (count, 1))
    rows[:, :columns] = rng.integers(0, 256, (count, columns))
    return rows


@pytest.mark.parametrize("size", [1, 4, 20, 333])
@pytest.mark.parametrize("columns", [0, 1, 4, 12, 32, 33, 333])
def test_rows_have_the_crcs_of_zlib(columns: int, size: int) -> None:
    rows = rows_that_differ_in(min(columns, size), size=size)
    assert crc32_rows(rows).tolist() == [zlib.crc32(row.tobytes()) for row in rows]


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9])
def test_a_few_rows_have_the_crcs_of_zlib(count: int) -> None:
    rows = rows_that_differ_in(3, size=20, count=count)
    assert crc32_rows(rows).tolist() == [zlib.crc32(row.tobytes()) for row in rows]
    seeds = np.arange(7, 7 + count, dtype=np.uint32)
    wanted = [zlib.crc32(row.tobytes(), seed) for row, seed in zip(rows, seeds.tolist(), strict=True)]
    assert crc32_rows(rows, seeds).tolist() == wanted


@pytest.mark.parametrize("size", [4, 5, 200])
def test_each_row_may_begin_with_another_crc(size: int) -> None:
    rows = rows_that_differ_in(3, size=size)
    seeds = np.random.default_rng(1).integers(0, 1 << 32, len(rows), np.uint32)
    wanted = [zlib.crc32(row.tobytes(), seed) for row, seed in zip(rows, seeds.tolist(), strict=True)]
    assert crc32_rows(rows, seeds).tolist() == wanted


def test_no_rows_and_rows_of_nothing_have_crcs_too() -> None:
    assert crc32_rows(np.zeros((0, 16), np.uint8)).tolist() == []
    assert crc32_rows(np.zeros((2, 0), np.uint8)).tolist() == [0, 0]


def test_the_rows_stay_as_they_are() -> None:
    rows = rows_that_differ_in(2, size=8)
    before = rows.copy()
    crc32_rows(rows, np.arange(len(rows), dtype=np.uint32))
    assert (rows == before).all()

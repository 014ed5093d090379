"""The fuzz of damaged files: the parsers pass it, and a parser with a mistake does not."""

import zlib
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest

from spark_verify.segments import batches, decode, record_starts, records
from spark_verify.segments.producer_snapshot import parse_snapshot
from spark_verify.selftest.segments import damaged_segments, damaged_texts
from spark_verify.selftest.segments.damaged_segments import report, run

REAL = sorted(Path("tests/fixtures/segments").rglob("*.log"))


def test_the_parsers_pass() -> None:
    result = run(range(500), seed=1, real=REAL)
    assert result.failures == [], report(result)
    assert result.files == 500
    assert len(result.done) == 19
    assert all(result.reported.values())
    assert result.grown_bytes < damaged_segments.MORE_MEMORY_BYTES


def test_a_file_is_a_function_of_seed_and_number() -> None:
    together = run(range(40), seed=3)
    alone = [run([number], seed=3) for number in range(40)]
    assert sum((each.done for each in alone), alone[0].done.__class__()) == together.done


MISTAKES = {
    "the CRC is believed": (batches, "_unreadable", lambda *_: ""),
    "the CRC covers one byte more": (batches, "CRC_FROM", 20),
    "a shorter batch is allowed": (batches, "_SHORTEST", {0: 0, 1: 0, 2: 0}),
    "the rest of a batch is not looked at": (record_starts, "_refuse_rest", lambda _: None),
    "a varint may have any width": (records, "_VARINT_BYTES", 10),
    "offsets are not compared": (decode, "_out_of_range", lambda *_: []),
    "timestamps of the broker are not used": (decode, "LOG_APPEND_TIME", 0),
    "control batches are data": (batches, "CONTROL", 0),
    "header fields do not count": (decode, "checksum", lambda *_: 0),
    "a guessed record is not compared": (
        record_starts,
        "_same_length",
        lambda _, candidate, *__: np.ones(len(candidate), np.bool_),
    ),
    "checksums start anew at the key": (
        decode,
        "crc32_spans",
        lambda data, at, size, _: np.array(
            [zlib.crc32(data[a : a + max(0, s)]) for a, s in zip(at.tolist(), size.tolist(), strict=True)],
            np.uint32,
        ),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_parser_with_a_mistake_fails(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, value = MISTAKES[mistake]
    monkeypatch.setattr(owner, name, value)
    # Steps, not the loop, find the records: segments are small.
    monkeypatch.setattr(record_starts, "_FEW", 0)
    monkeypatch.setattr(damaged_segments, "SECONDS_A_FILE", 0.5)
    assert any(run([number], seed=2).failures for number in range(1, 600))


def test_a_parser_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damaged_segments, "SECONDS_A_FILE", 0.2)
    monkeypatch.setattr(record_starts, "_step", lambda *_: 1 << 20)
    monkeypatch.setattr(record_starts, "_FEW", 0)
    (failure,) = run([1], seed=1).failures
    assert failure == "file 1, ?: _Stuck: it took more than 0.2 s of processor time"


def test_a_snapshot_of_which_the_crc_is_believed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def believing(file: Path) -> Any:
        content = file.read_bytes()
        if len(content) < 6:
            return parse_snapshot(file, content)
        crc = google_crc32c.value(content[6:]).to_bytes(4, "big")
        return parse_snapshot(file, content[:2] + crc + content[6:])

    monkeypatch.setattr(damaged_texts, "read_snapshot", believing)
    assert any("damage was not reported" in failure for failure in run(range(0, 2000, 5), seed=1).failures)

"""How fast one core audits a replica: checks CRCs, decodes records, computes ids and checksums, writes rows.

    python -m spark_verify.selftest.audit_bench --megabytes 150

The peer is aiokafka's parser of record batches, which is compiled (Cython): it does the same for each record,
but writes no rows. Both take turns on the same file, and the median of the rounds counts. Records are those
of a run: 200 bytes, batches of 80 records; a megabyte is one of records before they are compressed.
"""

import argparse
import os
import random
import statistics
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka.record.memory_records import MemoryRecords

from spark_verify.passes.replicas.audit_piece import Piece, audit_piece
from spark_verify.segments.data_directory import SegmentFile
from spark_verify.segments.layout import Codec
from spark_verify.selftest.bench import WORKDIR
from spark_verify.selftest.segments.segment_bytes import MadeBatch, MadeRecord, batch_bytes, id_value

MEGABYTES = 150
TARGET_MB_S = 300
_CODECS = (Codec.NONE, Codec.LZ4, Codec.ZSTD)
_RECORD_BYTES = 200
_BATCH_RECORDS = 80
_ROUNDS = 5
_PEER = "aiokafka"
_NOW_MS = 1_795_261_297_448


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one core reads in a second, in megabytes of uncompressed records."""

    codec: Codec
    megabytes_a_second: float
    peer_megabytes_a_second: float

    def rows(self) -> list[dict[str, Any]]:
        """As rows of the bench's report: the speed against the peer's, and of uncompressed records alone."""
        name = f"replica audit, a core, {self.codec.name.lower()}"
        speed, peer = self.megabytes_a_second, self.peer_megabytes_a_second
        row = {"name": name, "value": speed, "unit": "MB/s", "peer": "", "peer_value": None, "ratio": None}
        against = {"peer": _PEER, "peer_value": peer, "ratio": speed / peer}
        rows = [row | against | {"target": 1.0, "met": speed >= peer}]
        if self.codec is Codec.NONE:
            bound = {"target": TARGET_MB_S, "met": speed >= TARGET_MB_S}
            rows.append(row | {"name": f"{name}, CRCs checked"} | bound)
        return rows


def bench_audit(megabytes: int = MEGABYTES, workdir: Path = WORKDIR) -> list[dict[str, Any]]:
    """Measure the audit of so many MB of records, in each codec of `_CODECS`; `workdir` keeps the files.

    Each row is one of `spark_verify.selftest.bench`.
    """
    workdir.mkdir(parents=True, exist_ok=True)
    return [row for codec in _CODECS for row in _measure(codec, megabytes, workdir).rows()]


def _measure(codec: Codec, megabytes: int, workdir: Path) -> Measurement:
    file = workdir / f"segment-{codec.name.lower()}-{megabytes}.log"
    if not file.exists():
        growing = file.with_suffix(".growing")
        _write_segment(growing, codec, megabytes)
        growing.rename(file)
    ours_s, peer_s = _in_turns(file)
    return Measurement(
        codec=codec, megabytes_a_second=megabytes / ours_s, peer_megabytes_a_second=megabytes / peer_s
    )


def _write_segment(path: Path, codec: Codec, megabytes: int) -> None:
    """Batches of four producers in turn; the value of each record differs in its first 20 bytes only."""
    padding = random.Random(_RECORD_BYTES).randbytes(_RECORD_BYTES)
    offset = 0
    with path.open("wb") as file:
        while offset * _RECORD_BYTES < megabytes * 1_000_000:
            producer = offset // _BATCH_RECORDS % 4
            records = [
                MadeRecord(value=id_value(producer, at) + padding[20:], timestamp_ms=_NOW_MS + at // 50)
                for at in range(offset, offset + _BATCH_RECORDS)
            ]
            batch = MadeBatch(base_offset=offset, records=records, codec=codec, producer_id=producer)
            file.write(batch_bytes(batch))
            offset += _BATCH_RECORDS


def _in_turns(file: Path) -> tuple[float, float]:
    rounds = [(_seconds(lambda: _ours(file)), _seconds(lambda: _theirs(file))) for _ in range(_ROUNDS)]
    ours_s, peer_s = (statistics.median(column) for column in zip(*rounds, strict=True))
    return ours_s, peer_s


def _ours(file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        segment = SegmentFile(base_offset=0, path=file, bytes=file.stat().st_size)
        piece = Piece(
            history_dir=folder, run="", topic="bench", partition=0, broker=1, number=0, segments=(segment,)
        )
        read = audit_piece(piece)
    assert read.log_end > 0, "nothing was read"
    assert not read.reasons, f"not everything was read: {read.reasons}"


def _theirs(file: Path) -> int:
    """CRC, every record, its id and its checksum."""
    batches = MemoryRecords(file.read_bytes())
    total = 0
    while (batch := batches.next_batch()) is not None:
        assert batch.validate_crc(), "a CRC is wrong"
        for record in batch:
            value = record.value
            magic, producer, sequence, crc = struct.unpack_from("<4siqI", value)
            if crc == zlib.crc32(value[:16]) and magic == b"HW\x01\x00":
                total += producer + sequence
            total += zlib.crc32(record.key or b"", zlib.crc32(value, record.timestamp & 0xFFFFFFFF))
    return total


def _seconds(action: Callable[[], object]) -> float:
    """Processor time: what a core needs, whoever else wants it."""
    began = time.process_time()
    action()
    return time.process_time() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a line for each measurement; the exit code is 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m spark_verify.selftest.audit_bench", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=MEGABYTES)
    parser.add_argument("--workdir", type=Path, default=WORKDIR)
    asked = parser.parse_args(arguments)
    rows = bench_audit(asked.megabytes, asked.workdir)
    for row in rows:
        against = f", {row['peer']} {row['peer_value']:.0f}, ratio {row['ratio']:.2f}" if row["peer"] else ""
        verdict = "met" if row["met"] else "MISSED"
        print(f"{row['name']}: {row['value']:.0f} MB/s{against}, target {row['target']:g}: {verdict}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 1 if any(row["met"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

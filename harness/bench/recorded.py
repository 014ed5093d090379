"""What is done with what a load has recorded, by the number of sends: sealing its journals, and measuring its
exposure. Each size in a process of its own, for its peak memory.

    python -m harness.bench.recorded SENDS
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.history.rows import Context, TopicPartition
from checkers.verdict.exposure.exposure import measure
from compose.host import shell
from workloads.record.journal import Journal
from workloads.record.recorder import Recorder, SendRecorder
from workloads.record.seal import seal

SIZES = (10_000_000, 100_000_000)
LINEAR, PEAK_GB = 1.2, 1.5
WITHIN_S = 1800.0
PARTITIONS = tuple(TopicPartition("orders", number) for number in range(6))
PRODUCERS = 4
CHUNK = 5_000
"""Sends between two writes of a journal, as at 20,000/s."""
STEP_NS = 250_000


def lines() -> Iterator[Mapping[str, Any]]:
    """A line for the time of each size, against what the smallest would be in proportion, and its memory."""
    measured = {size: _in_a_process(size) for size in SIZES}
    least = SIZES[0]
    for size, its in measured.items():
        seconds, per_send = its["seal_s"] + its["exposure_s"], measured[least]["seal_s"] / least
        name = f"{size // 1_000_000}M sends sealed and measured"
        expected = size * (per_send + measured[least]["exposure_s"] / least)
        ratio = round(seconds / expected, 3)
        peer = f"in proportion to {least // 1_000_000}M" if size != least else ""
        yield {
            "name": name,
            "value": round(seconds, 1),
            "unit": "s",
            "peer": peer,
            "peer_value": round(expected, 1) if peer else None,
            "ratio": ratio if peer else None,
            "target": LINEAR if peer else None,
            "met": ratio <= LINEAR if peer else None,
        }
        memory = {"value": its["peak_gb"], "unit": "GB", "target": PEAK_GB, "met": its["peak_gb"] <= PEAK_GB}
        yield {"name": f"{name}, peak memory", "peer": "", "peer_value": None, "ratio": None, **memory}


def _in_a_process(sends: int) -> dict[str, float]:
    command = [sys.executable, "-m", "harness.bench.recorded", str(sends)]
    measured: dict[str, float] = json.loads(shell.run(command, timeout_s=WITHIN_S).stdout)
    return measured


def main(sends: int) -> None:
    """Record, seal and measure so many sends in a temporary directory; print the figures as JSON."""
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as scratch:
        run = Path(scratch)
        _record(run, sends)
        # A load writes its journals over hours; here the kernel would still write them while they are sealed.
        os.sync()
        begin = time.monotonic()
        sealed = seal(run, ended=True)
        sealed_s = time.monotonic() - begin
        found = measure(run / "history", Context(partitions=PARTITIONS, collected=frozenset()), -1)
        measured_s = time.monotonic() - begin - sealed_s
        if not sealed.sends == found.acked == sealed.reads == sends:
            raise RuntimeError(
                f"{sends} sends: {sealed.sends} sealed, {sealed.reads} read, {found.acked} acked"
            )
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    figures = {"seal_s": sealed_s, "exposure_s": measured_s, "peak_gb": peak_gb}
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


def _record(run: Path, sends: int) -> None:
    """Journals of a load that read what it wrote; completions come a little out of order."""
    random = np.random.default_rng(7)
    with Recorder(run, PARTITIONS) as recorder:
        producers = [recorder.sends(acks="all", idempotent=True) for _ in range(PRODUCERS)]
        reader = recorder.reads(1)._journal
        ends = np.zeros(len(PARTITIONS), np.int64)
        for first in range(0, sends // PRODUCERS, CHUNK):
            count = min(CHUNK, sends // PRODUCERS - first)
            for producer in producers:
                _send(producer, first, count, ends, reader, random)
        for producer in producers:
            producer.close()


def _send(
    producer: SendRecorder,
    first: int,
    count: int,
    ends: NDArray[np.int64],
    reader: Journal,
    random: np.random.Generator,
) -> None:
    sequences = np.arange(first, first + count)
    lanes = (sequences % len(PARTITIONS)).astype(np.int16)
    checksums = random.integers(0, 1 << 40, count)
    at_ns = 1 + first * STEP_NS
    producer.sent(lanes, at_ns, checksums)
    offsets = np.empty(count, np.int64)
    for lane in range(len(PARTITIONS)):
        here = lanes == lane
        offsets[here] = ends[lane] + np.arange(int(here.sum()))
        ends[lane] += int(here.sum())
    shuffled = random.permutation(count)
    for part in np.array_split(shuffled, 10):
        producer.acknowledged(sequences[part], offsets[part], at_ns + 40_000_000)
    producer.flush(at_ns)
    ids = (np.full(count, producer.producer, np.int32), sequences, checksums)
    once, zeros = np.ones(count, np.int32), np.zeros(count, np.int32)
    columns = (lanes, once, zeros, offsets, zeros, *ids, np.full(count, at_ns + 50_000_000))
    reader.write([pa.array(column) for column in columns])


if __name__ == "__main__":
    main(int(sys.argv[1]))

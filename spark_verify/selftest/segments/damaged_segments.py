"""Damages small segments, checkpoints and producer snapshots at random, and holds what the parsers say of
them against what they must say.

    python -m spark_verify.selftest.segments.damaged_segments --files 100000 --real tests/fixtures/segments

Of every file: the parser ends within seconds, raises nothing but DamagedFile, accounts for every byte, and
agrees with a plain parser batch by batch, digests included; what lies before the damage is read as before.
Of a flipped bit that a batch's CRC covers: this batch is reported, and no other one changes. Each file is a
function of the seed and its number, so `--only N` shows one again. `--real` adds a folder of segments that
Kafka wrote. Ends with a table of what was damaged and how often that was reported.
"""

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from types import FrameType

from spark_verify.segments.batches import SegmentWalk
from spark_verify.segments.decode import batch_digests
from spark_verify.selftest.scratch import roomy_memory
from spark_verify.selftest.segments import damage_bytes, plain_parser
from spark_verify.selftest.segments.damage_bytes import Damaged
from spark_verify.selftest.segments.damaged_texts import check_text_or_snapshot
from spark_verify.selftest.segments.random_segments import random_segment

SECONDS_A_FILE = 5.0
"""Of processor time. A bomb is decompressed up to its limit by each of the parsers: half a second."""
MORE_MEMORY_BYTES = 1 << 30
"""What a run may add to a process: the largest batch that is decompressed, by each of the parsers."""
_CHUNKS = (1, 700, 1 << 22, 1 << 22, 1 << 22)
"""Chunks of one batch, of some, of all: the answer does not depend on it."""
_TEXT_EVERY = 5
"""One file of so many is a checkpoint or a producer snapshot."""
_BASES = 400
"""How many healthy segments are made; each is damaged again and again."""
_REAL_BYTES = 1 << 16


class _Stuck(Exception):
    """A file took longer than SECONDS_A_FILE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSeen:
    """What is known of one batch after parsing."""

    position: int
    size: int
    crc_ok: bool
    digest: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSeen:
    """What is known of a segment after parsing."""

    batches: tuple[BatchSeen, ...]
    tail_bytes: int


@dataclass(slots=True, kw_only=True)
class DamageResult:
    """What a run found."""

    files: int = 0
    done: Counter[str] = field(default_factory=Counter)
    reported: Counter[str] = field(default_factory=Counter)
    """Files of which the parser reported something; damage outside of any checksum may look healthy."""
    failures: list[str] = field(default_factory=list)
    grown_bytes: int = 0
    """How much memory a process took in addition, at most."""

    def add(self, other: "DamageResult") -> None:
        """Add what another process found."""
        self.files += other.files
        self.done += other.done
        self.reported += other.reported
        self.failures += other.failures
        self.grown_bytes = max(self.grown_bytes, other.grown_bytes)


def seen(data: bytes, *, chunk_bytes: int = 1 << 22) -> SegmentSeen:
    """Parse a segment's bytes with the parser under test."""
    walk = SegmentWalk(data, chunk_bytes=chunk_bytes)
    found: list[BatchSeen] = []
    for batches in walk.chunks():
        digests, errors = batch_digests(data, batches)
        sizes = batches.end - batches.position
        found += [
            BatchSeen(
                position=int(batches.position[row]),
                size=int(sizes[row]),
                crc_ok=bool(batches.crc_ok[row]),
                digest=int(digests[row]),
                error=errors.get(row, ""),
            )
            for row in range(len(batches))
        ]
    return SegmentSeen(batches=tuple(found), tail_bytes=walk.tail.size)


def mistake(base: SegmentSeen, damaged: Damaged, found: SegmentSeen) -> str:
    """What is wrong with what was found in a damaged segment that was `base`; "" if nothing is."""
    accounted = sum(batch.size for batch in found.batches) + found.tail_bytes
    if accounted != len(damaged.data):
        return f"{accounted} of {len(damaged.data)} bytes are accounted for"
    plain = plain_parser.parse(damaged.data)
    ours = [(batch.position, batch.crc_ok, batch.digest) for batch in found.batches]
    theirs = [(batch.position, batch.crc_ok, batch.digest) for batch in plain]
    if ours != theirs:
        return f"the plain parser differs: {sorted(set(ours) ^ set(theirs))[:4]}"
    unread = [batch for batch in found.batches if not batch.crc_ok and not batch.error]
    if unread:
        return f"a batch is not right, and no error says so: {unread[0]}"
    whole = [batch for batch in base.batches if batch.position + batch.size <= damaged.first]
    if list(found.batches[: len(whole)]) != whole:
        return f"batches before byte {damaged.first} changed"
    if damaged.crc_of is not None:
        return _flip_unnoticed(base, found, damaged.crc_of)
    return ""


def _flip_unnoticed(base: SegmentSeen, found: SegmentSeen, position: int) -> str:
    """Whether the batch at `position` is reported, and no other one changed."""
    for before, after in zip(base.batches, found.batches, strict=True):
        if before.position == position and (after.crc_ok or after.digest != -1 or not after.error):
            return f"a flipped bit in the batch at {position} was not reported"
        if before.position != position and before != after:
            return f"a flipped bit in the batch at {position} changed that at {before.position}"
    return ""


def run(numbers: Sequence[int], seed: int, real: Sequence[Path] = ()) -> DamageResult:
    """Damage and parse one file for each number; `real` are segments that Kafka wrote."""
    result = DamageResult()
    before = _peak_bytes()
    bases: dict[int, tuple[bytes, SegmentSeen]] = {}
    reals = [path.read_bytes()[:_REAL_BYTES] for path in real]
    with tempfile.TemporaryDirectory(prefix="highwater-damaged-", dir=roomy_memory()) as folder:
        for number in numbers:
            rng = Random(f"{seed}/{number}")
            try:
                with _deadline(SECONDS_A_FILE):
                    kind, reported, failure = _one(number, rng, bases, reals, Path(folder), seed)
            except Exception as error:  # whatever a parser raises is what is looked for
                kind, reported, failure = "?", False, f"{type(error).__name__}: {error}"
            result.files += 1
            result.done[kind] += 1
            result.reported[kind] += reported
            if failure:
                result.failures.append(f"file {number}, {kind}: {failure}")
    result.grown_bytes = _peak_bytes() - before
    return result


def run_on_all_cores(numbers: Sequence[int], seed: int, real: Sequence[Path] = ()) -> DamageResult:
    """The same, in a process for each core: every other is of Kafka, so each gets neighbours."""
    result = DamageResult()
    cores = os.cpu_count() or 1
    shares = [[number for number in numbers if number // 2 % cores == core] for core in range(cores)]
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        parts = [pool.submit(run, share, seed, real) for share in shares]
        for part in parts:
            result.add(part.result())
    return result


def _one(
    number: int,
    rng: Random,
    bases: dict[int, tuple[bytes, SegmentSeen]],
    reals: Sequence[bytes],
    folder: Path,
    seed: int,
) -> tuple[str, bool, str]:
    """Kind of damage, whether the parser reported something, and what is wrong with its answer."""
    if number % _TEXT_EVERY == 0:
        return check_text_or_snapshot(rng, folder)
    at = number % _BASES
    if at not in bases:
        data = (
            reals[at // 2 % len(reals)] if reals and at % 2 else random_segment(Random(f"{seed}/base/{at}"))
        )
        bases[at] = data, seen(data)
    data, base = bases[at]
    damaged = damage_bytes.damage(data, [(b.position, b.size) for b in base.batches], rng)
    found = seen(damaged.data, chunk_bytes=rng.choice(_CHUNKS))
    healthy = not found.tail_bytes and not any(batch.error for batch in found.batches)
    return damaged.kind, not healthy, mistake(base, damaged, found)


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise _Stuck(f"it took more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def report(result: DamageResult) -> str:
    """The table and the failures, as text."""
    lines = ["damage                                   files reported"]
    lines += [f"  {kind:<38} {n:>6} {result.reported[kind]:>8}" for kind, n in sorted(result.done.items())]
    lines += [f"failure: {line}" for line in result.failures[:20]]
    lines.append(f"{result.files} files, {len(result.failures)} failures")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit code is 1 if a parser failed on a file, or memory grew beyond its bound."""
    parser = argparse.ArgumentParser(
        prog="python -m spark_verify.selftest.segments.damaged_segments", description=__doc__
    )
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this one file")
    parser.add_argument("--real", type=Path, help="a folder of segments that Kafka wrote")
    asked = parser.parse_args(arguments)
    real = sorted(asked.real.rglob("*.log")) if asked.real else []
    numbers = range(asked.files) if asked.only is None else [asked.only]
    began = time.monotonic()
    result = run_on_all_cores(numbers, asked.seed, real)
    print(report(result))
    more = f"{result.grown_bytes >> 20} MiB more memory"
    print(f"{time.monotonic() - began:.0f} s, {more}, seed {asked.seed}")
    return 1 if result.failures or result.grown_bytes > MORE_MEMORY_BYTES else 0


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())

"""Compares the Spark verdict with the reference on random small histories with random damage.

    python -m spark_verify.selftest.fuzz --histories 5000 --seed 1

Most histories are verified many to a job, through the same code as one alone; a sample goes through
`verify` one by one. Each core has a process with a Spark session and a part of the histories; another process
draws, writes and judges (by the reference) the next ones meanwhile. Each history is a function of the seed
and its number, so `--only N` shows one again. Ends with a kill table: for each kind of damage, done alone to
a healthy history, how often it was noticed. Exits with 1 on a mismatch, or if damage that must be noticed was
not.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, pairwise
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from checkers.damage import KINDS, damage, random_history, write
from checkers.damage.editable_history import EditableHistory, NotApplicable
from checkers.history.rows import History
from checkers.judgement import Judgement
from checkers.reference import check
from spark_verify.passes.parts.cut import Cutting
from spark_verify.selftest.scratch import roomy_memory
from spark_verify.session.session import SessionOptions, session
from spark_verify.verify import Asked, verify, verify_each

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH = 125
"""Histories that are written and read in one way."""
_BATCHES_TOGETHER = 2
"""How many batches are verified in the same jobs: each job costs as much as ten histories."""
_SIDE_BY_SIDE = 2
"""How many verifications go on at once."""
_BATCH_ROWS = (2, 65_536, 7)
"""Small histories are read in batches of so few rows too, so that what spans two batches is tried."""
_CUT_EVERY = 2
"""One batch of so many is judged in parts, cut anywhere, from files with row groups of a few rows."""
_CUTS, _GROUP_ROWS = (1, 2, 4, 10), (1, 3, 8, 1000)
_HIGHEST_CUT = 45
"""The logs of these histories seldom reach further."""
_PRINT_EVERY_S = 10
_ALONE_EVERY = 100
"""One history of so many is verified by itself."""
_SINGLE_EVERY = 4
"""One history of so many has one kind of damage, all kinds in turn; it counts in the kill table."""
_AS_SEALED_EVERY = 5
"""One batch of so many is written as a run's history is; the others without compression, which is quicker."""
_AHEAD = 4
"""Batches that are made while others are verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """One random history. `kind` is the only damage it has, if it counts in the kill table."""

    number: int
    history: History
    kind: str | None = None

    @property
    def alone(self) -> bool:
        """Whether it is to be verified by itself."""
        return self.number % _ALONE_EVERY == 0


@dataclass(slots=True, kw_only=True)
class FuzzResult:
    """What a fuzz run found."""

    compared: int = 0
    alone: int = 0
    violated: int = 0
    """Histories in which the reference found an anomaly: agreement on healthy ones alone would prove little.
    """
    mismatches: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)

    def add(self, other: "FuzzResult") -> None:
        """Add what another process has found."""
        self.compared += other.compared
        self.alone += other.alone
        self.violated += other.violated
        self.mismatches += other.mismatches
        self.done.update(other.done)
        self.noticed.update(other.noticed)

    @property
    def survivors(self) -> list[str]:
        """Kinds of damage that must always be noticed, and were not."""
        return [
            name for name, kind in KINDS.items() if kind.noticed_by and self.noticed[name] < self.done[name]
        ]


def specimen(seed: int, number: int) -> Specimen:
    """The history with this number; the same whenever it is asked for."""
    rng = Random(f"{seed}/{number}")
    healthy = random_history(rng)
    turn, single = divmod(number, _SINGLE_EVERY)
    if single:
        return Specimen(number=number, history=damage(healthy, rng, most=rng.choice((2, 4, 8))))
    kind = list(KINDS.values())[turn % len(KINDS)]
    damaged = EditableHistory.of(healthy)
    try:
        kind.apply(damaged, rng)
    except NotApplicable:
        return Specimen(number=number, history=healthy)
    return Specimen(number=number, history=damaged.freeze(), kind=kind.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A specimen on disk, and what the reference says of it."""

    number: int
    kind: str | None
    alone: bool
    wanted: Judgement


def fuzz_on_all_cores(seed: int, numbers: Sequence[int], master: str, folder: Path) -> FuzzResult:
    """The same as `fuzz`, with a process and a Spark session for each core: while the Python of one opens and
    decides, the workers of another read."""
    count = max(1, min(os.cpu_count() or 1, len(numbers) // _BATCH))
    edges = [len(numbers) * at // count for at in range(count + 1)]
    result = FuzzResult()
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        some = [numbers[begin:end] for begin, end in pairwise(edges)]
        for part in pool.map(partial(_part, seed, master, folder), some):
            result.add(part)
    return result


def _part(seed: int, master: str, folder: Path, numbers: Sequence[int]) -> FuzzResult:
    with session(SessionOptions(master=master)) as spark:
        return fuzz(seed, numbers, spark, folder)


def fuzz(seed: int, numbers: Sequence[int], spark: "SparkSession", folder: Path) -> FuzzResult:
    """Compare both implementations on each specimen; the files of those that differ stay in `folder`."""
    result = FuzzResult()
    printed = time.monotonic()
    for judged in _all_judged(seed, numbers, spark, folder):
        for one, found in judged:
            _compare(one, found, folder / str(one.number), result)
        if time.monotonic() - printed > _PRINT_EVERY_S:
            printed = time.monotonic()
            print(f"{result.compared} compared, {len(result.mismatches)} mismatches", flush=True)
    return result


def _all_judged(
    seed: int, numbers: Sequence[int], spark: "SparkSession", folder: Path
) -> Iterator[list[tuple[Prepared, Judgement]]]:
    """All specimens in order, some batches at a time."""
    coming: deque[Future[list[tuple[Prepared, Judgement]]]] = deque()
    batches = _prepared(seed, numbers, folder)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        while some := list(islice(batches, _BATCHES_TOGETHER)):
            coming.append(threads.submit(_judged, some, spark, folder))
            if len(coming) > _SIDE_BY_SIDE:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def _prepared(seed: int, numbers: Sequence[int], folder: Path) -> Iterator[list[Prepared]]:
    """Batches in order, made by another process a little ahead of their use."""
    coming: deque[Future[list[Prepared]]] = deque()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for begin in range(0, len(numbers), _BATCH):
            coming.append(pool.submit(prepare, seed, numbers[begin : begin + _BATCH], folder))
            if len(coming) > _AHEAD:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def prepare(seed: int, numbers: Sequence[int], folder: Path) -> list[Prepared]:
    """Draw the specimens with these numbers, write them below `folder`, and judge them by the reference."""
    prepared = []
    for number in numbers:
        one = specimen(seed, number)
        plain = bool(number // _BATCH % _AS_SEALED_EVERY)
        group_rows = Random(number).choice(_GROUP_ROWS)
        write(one.history, folder / str(number), plain=plain, group_rows=group_rows)
        wanted = check(one.history)
        prepared.append(Prepared(number=number, kind=one.kind, alone=one.alone, wanted=wanted))
    return prepared


def _judged(
    batches: Sequence[Sequence[Prepared]], spark: "SparkSession", folder: Path
) -> list[tuple[Prepared, Judgement]]:
    together = [(one, way) for batch in batches for one, way in _ways(batch, folder) if not one.alone]
    found = verify_each([way for _, way in together], spark)
    judged = [(one, judgement) for (one, _), judgement in zip(together, found, strict=True)]
    alone = [one for batch in batches for one in batch if one.alone]
    return judged + [(one, verify(folder / str(one.number), spark)) for one in alone]


def _ways(batch: Sequence[Prepared], folder: Path) -> Iterator[tuple[Prepared, Asked]]:
    """How each history of a batch is to be read."""
    turn = batch[0].number // _BATCH
    cutting = None if turn % _CUT_EVERY else random_cutting(Random(turn))
    for one in batch:
        place, batch_rows = folder / str(one.number), _BATCH_ROWS[turn % len(_BATCH_ROWS)]
        yield one, Asked(history_dir=place, batch_rows=batch_rows, cutting=cutting)


def random_cutting(rng: Random) -> Cutting:
    """Parts of small histories that end in the middle of anything."""
    return Cutting(at=tuple(rng.randrange(1, _HIGHEST_CUT) for _ in range(rng.choice(_CUTS))))


def _compare(one: Prepared, found: Judgement, folder: Path, result: FuzzResult) -> None:
    result.compared += 1
    result.alone += one.alone
    result.violated += bool(one.wanted.anomalies)
    if one.kind:
        must = KINDS[one.kind].noticed_by
        result.done[one.kind] += 1
        result.noticed[one.kind] += any(not must or a.property in must for a in found.anomalies)
    if agree(found, one.wanted):
        shutil.rmtree(folder)
    else:
        result.mismatches.append(f"history {one.number} ({folder}): {_difference(found, one.wanted)}")


def agree(found: Judgement, wanted: Judgement) -> bool:
    """Whether two judgements are equal, evidence included."""
    return found.key() == wanted.key() and _with_evidence(found) == _with_evidence(wanted)


def _with_evidence(judgement: Judgement) -> Counter[str]:
    """The anomalies with all of their evidence, in any order."""
    return Counter(map(repr, judgement.anomalies))


def _difference(found: Judgement, wanted: Judgement) -> str:
    """What only one of them reports, in short."""
    ours, theirs = _with_evidence(found), _with_evidence(wanted)
    parts = [f"only Spark: {anomaly}" for anomaly in ours - theirs]
    parts += [f"only reference: {anomaly}" for anomaly in theirs - ours]
    for name in ("examined", "undecided", "totals", "undecided_partitions"):
        if getattr(found, name) != getattr(wanted, name):
            parts.append(f"{name} {getattr(found, name)} instead of {getattr(wanted, name)}")
    return "; ".join(parts)[:1000]


def report(result: FuzzResult) -> str:
    """The kill table and the counts, as text."""
    lines = ["damage, alone in a healthy history       done  noticed"]
    for name, kind in KINDS.items():
        note = "" if kind.noticed_by else "  (may be harmless)"
        lines.append(f"  {name:<37} {result.done[name]:>5} {result.noticed[name]:>8}{note}")
    lines += [f"mismatch: {line}" for line in result.mismatches]
    lines += [f"not always noticed: {name}" for name in result.survivors]
    lines.append(
        f"{result.compared} histories ({result.violated} with anomalies, {result.alone} verified alone), "
        f"{len(result.mismatches)} mismatches"
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit code is 1 if the implementations differ or damage went unnoticed."""
    parser = argparse.ArgumentParser(prog="python -m spark_verify.selftest.fuzz", description=__doc__)
    parser.add_argument("--histories", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="compare this one history, and keep its files")
    parser.add_argument("--spark-master", default="local[*]")
    asked = parser.parse_args(arguments)
    numbers = range(asked.histories) if asked.only is None else [asked.only]
    print(f"seed {asked.seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="highwater-fuzz-", dir=roomy_memory()))
    began = time.monotonic()
    result = fuzz_on_all_cores(asked.seed, numbers, asked.spark_master, folder)
    if not result.mismatches:
        shutil.rmtree(folder)
    print(report(result))
    print(f"{time.monotonic() - began:.0f} s, seed {asked.seed}")
    return 1 if result.mismatches or result.survivors else 0


if __name__ == "__main__":
    sys.exit(main())

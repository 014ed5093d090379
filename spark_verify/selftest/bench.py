"""How fast the verifier decides, against DuckDB SQL that decides the same properties on the same files.

    python -m spark_verify.selftest.bench --rows 1000000 --rows 10000000

`rows` are send attempts; a history has three times as many rows. *Warm* is a session that has verified
before, *cold* a new process from its start to its verdict, *first* a session that was started while the
cluster ran. Spark and DuckDB take turns, so that both have the same neighbours on a busy machine; the
median of the rounds counts. Both get all cores.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.history.tables import SCHEMA_VERSION
from checkers.judgement import Judgement
from checkers.properties import Property
from checkers.verdict.algebra import RunState
from checkers.verdict.decide import decide
from checkers.verdict.explanation.explain import explain_gravest
from checkers.verdict.explanation.findings import group
from spark_verify.make_class_archive import make_archive
from spark_verify.selftest.duckdb_peer import count_anomalies
from spark_verify.selftest.inject_damage import inject_damage
from spark_verify.selftest.lose_tail import realised, write_cut_history
from spark_verify.session.session import SessionOptions, session
from spark_verify.synthetic import Shape, write_history
from spark_verify.verify import verify
from spark_verify.warm_up import warm_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = (1_000_000, 10_000_000)
LIVE = 1_000_000
"""A run on one machine has at most so many sends: its user waits for the verdict."""
LOST = 1_000_000
ONE_PARTITION = 50_000_000
"""Sends to a single partition, which must occupy all cores and all executors."""
TWICE = 1 / 1.7
"""What two cores, or two executors, may take of the time of one."""
WARM = {1_000_000: 0.5, 10_000_000: 0.17, 50_000_000: 0.12}
COLD = {10_000_000: 0.8, 50_000_000: 0.3}
"""Bounds of the ratio to DuckDB, by sends. Of a small history, cold is the start of the session, which a run
does not wait for."""
WORKDIR = Path("build/bench")
PEAK_GB = 1.5
"""Driver, JVM and workers, whatever the number of sends."""
_ROUNDS = 5
_TURNS = 2
_PEER = "DuckDB SQL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measurement. `ratio` is value / peer_value; `target` its bound (of the value, where there is
    no peer)."""

    name: str
    value: float
    unit: str
    peer: str = ""
    peer_value: float | None = None
    target: float | None = None
    """None: reported, not promised."""

    def as_row(self) -> dict[str, Any]:
        """The measurement as a row of the bench's report."""
        ratio = self.value / self.peer_value if self.peer_value else None
        met = None if self.target is None else (self.value if ratio is None else ratio) <= self.target
        return asdict(self) | {"ratio": ratio, "met": met}


def bench_verifier(sends: Sequence[int] = SIZES, workdir: Path = WORKDIR) -> Iterator[dict[str, Any]]:
    """Measure the verifier on histories of so many sends; `workdir` keeps them for the next time.

    Each row has name, value, unit, peer, peer_value, ratio, target and met.
    """
    workdir.mkdir(parents=True, exist_ok=True)
    make_archive()
    for rows in sends:
        yield from (record.as_row() for record in _measure(rows, workdir))
    yield from (record.as_row() for record in _losses(workdir))


def bench_one_partition(sends: int = ONE_PARTITION, workdir: Path = WORKDIR) -> Iterator[dict[str, Any]]:
    """Measure one large partition: two cores against one, two executors against one, and the memory of it.

    Rows as of `bench_verifier`.
    """
    workdir.mkdir(parents=True, exist_ok=True)
    make_archive()
    label, shape = f"verifier, one partition of {sends / 1e6:g}M sends", Shape(sends=sends, partitions=1)
    history = _made(workdir / f"one-partition-{sends}", lambda directory: write_history(directory, shape))
    cores, executors = ("local[1]", "local[2]"), ("local-cluster[1,1,1024]", "local-cluster[2,1,1024]")
    yield _one_against_two(f"{label}, two cores", "one core", cores, history).as_row()
    yield _one_against_two(f"{label}, two executors", "one executor", executors, history).as_row()
    cold_s, peak_bytes = _cold(history)
    peak_gb = peak_bytes / 1e9
    yield Measurement(name=f"{label}, cold", value=cold_s, unit="s").as_row()
    peak = f"{label}, cold, peak memory"
    yield Measurement(name=peak, value=peak_gb, unit="GB", target=PEAK_GB).as_row()


def _one_against_two(name: str, peer: str, masters: tuple[str, str], history: Path) -> Measurement:
    """Sessions take turns, a new one for each turn; of each the fastest of its warm verifications, for what
    else runs on the machine only makes one slower."""
    fastest = [float("inf"), float("inf")]
    for _ in range(_TURNS):
        for at, master in enumerate(masters):
            with session(SessionOptions(master=master)) as spark:
                verify(history, spark)
                fastest[at] = min(
                    [fastest[at], *(_seconds(lambda: verify(history, spark)) for _ in range(2))]
                )
    return Measurement(name=name, value=fastest[1], unit="s", peer=peer, peer_value=fastest[0], target=TWICE)


def _losses(workdir: Path) -> list[Measurement]:
    """A million records lost in a power loss: from the files to the explanations of the gravest findings."""
    label = f"verifier, {LOST / 1e6:g}M lost records"
    history = _made(workdir / f"lost-{LOST}", lambda directory: write_cut_history(directory, lost=LOST))
    with session() as spark:
        lost = sizes(explained(history, spark).anomalies)
        rounds = [
            (
                _seconds(lambda: explained(history, spark)),
                _seconds(lambda: verify(history, spark)),
                _seconds(lambda: count_anomalies(history, threads=_cores())),
            )
            for _ in range(_ROUNDS)
        ]
    explained_s, found_s, peer_s = (statistics.median(column) for column in zip(*rounds, strict=True))
    theirs = count_anomalies(history, threads=_cores())
    others = sum(lost[each] != count for each, count in theirs.items())
    assert lost[Property.ACKED_LOSS] >= LOST, f"only {lost[Property.ACKED_LOSS]} records were lost"
    return [
        Measurement(name=f"{label}, found, labelled and explained", value=explained_s, unit="s", target=10.0),
        Measurement(name=f"{label}, found", value=found_s, unit="s", peer=_PEER, peer_value=peer_s),
        Measurement(name=f"{label}: counts that differ from {_PEER}", value=others, unit="", target=0),
    ]


def explained(history: Path, spark: "SparkSession") -> Judgement:
    """The whole way of a verdict: judge, label, decide, group and explain the gravest findings."""
    facts = realised(history)
    judgement = verify(history, spark)
    labels = judge_contract(judgement.anomalies, facts)
    decide(judgement, labels, facts.context, "any", RunState(state="complete"))
    explain_gravest(group(judgement.anomalies, labels, facts.timeline), facts)
    return judgement


def _measure(rows: int, workdir: Path) -> list[Measurement]:
    label = f"verifier, {rows / 1e6:g}M sends"
    path = workdir / f"verifier-{rows}"
    history = _made(path, lambda directory: write_history(directory, Shape(sends=rows)))
    cold_s, peak_bytes = _cold(history)
    first_s, warm_s, peer_s = _in_turns(history)
    records = [
        Measurement(
            name=f"{label}, warm",
            value=warm_s,
            unit="s",
            peer=_PEER,
            peer_value=peer_s,
            target=WARM.get(rows),
        ),
        Measurement(
            name=f"{label}, cold",
            value=cold_s,
            unit="s",
            peer=_PEER,
            peer_value=peer_s,
            target=COLD.get(rows),
        ),
        Measurement(name=f"{label}, cold, peak memory", value=peak_bytes / 1e9, unit="GB", target=PEAK_GB),
    ]
    if rows <= LIVE:
        others = len(disagreements(history, workdir))
        records += [
            Measurement(
                name=f"{label}, first of a warmed-up session",
                value=first_s,
                unit="s",
                peer=_PEER,
                peer_value=peer_s,
                target=2.0,
            ),
            Measurement(
                name=f"{label}, damaged: counts that differ from {_PEER}", value=others, unit="", target=0
            ),
        ]
    return records


def disagreements(history: Path, workdir: Path) -> dict[Property, tuple[int, int]]:
    """The properties of which Spark and DuckDB count another number of anomalies in a damaged copy."""
    with tempfile.TemporaryDirectory(dir=workdir) as folder, session() as spark:
        damaged = Path(shutil.copytree(history, Path(folder) / "damaged"))
        inject_damage(damaged)
        ours = sizes(verify(damaged, spark).anomalies)
        theirs = count_anomalies(damaged, threads=_cores())
    assert all(theirs.values()), f"the damage left a property unharmed: {theirs}"
    return {each: (ours[each], count) for each, count in theirs.items() if ours[each] != count}


def sizes(anomalies: Anomalies) -> Counter[Property]:
    """How many records each property's anomalies are about; of holes, their offsets."""
    found: Counter[Property] = Counter()
    for block in anomalies.blocks:
        found[block.property] += int((block.last_offset - block.offset + 1).sum())
    return found


def _made(directory: Path, write: Callable[[Path], object]) -> Path:
    """A history that is written once, and kept until the schema is another."""
    directory = directory.with_name(f"{directory.name}-schema-{SCHEMA_VERSION}")
    if not directory.exists():
        growing = directory.with_name(f"{directory.name}.growing")
        shutil.rmtree(growing, ignore_errors=True)
        write(growing)
        growing.rename(directory)
    return directory


def _in_turns(history: Path) -> tuple[float, float, float]:
    """Seconds of a session's first verification, warmed up as a run does, of a later one, and of DuckDB."""
    with session() as spark:
        warm_up(spark)
        first_s = _seconds(lambda: verify(history, spark))
        rounds = [
            (
                _seconds(lambda: verify(history, spark)),
                _seconds(lambda: count_anomalies(history, threads=_cores())),
            )
            for _ in range(_ROUNDS)
        ]
    warm_s, peer_s = (statistics.median(column) for column in zip(*rounds, strict=True))
    return first_s, warm_s, peer_s


_COLD = """
import sys, time
from pathlib import Path
from spark_verify.session.session import start, stop
from spark_verify.verify import verify
spark = start()
verify(Path(sys.argv[1]), spark)
print(time.monotonic(), flush=True)
stop(spark)
"""


def _cold(history: Path) -> tuple[float, int]:
    """Seconds from the start of a new process to its verdict, and the most memory of it and its children."""
    began = time.monotonic()
    with psutil.Popen([sys.executable, "-c", _COLD, str(history)], stdout=subprocess.PIPE) as process:
        peak_bytes = 0
        while process.poll() is None:
            peak_bytes = max(peak_bytes, _resident_bytes(process))
            time.sleep(0.05)
        output = process.stdout.read()
    return float(output) - began, peak_bytes


def _resident_bytes(root: psutil.Process) -> int:
    """The memory of a process and all below it; pages that they share count for each."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
    return total


def _seconds(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


def _cores() -> int:
    return os.cpu_count() or 1


def main() -> int:
    """Measure, and print a line for each measurement; the exit code is 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m spark_verify.selftest.bench", description=__doc__)
    parser.add_argument("--rows", type=int, action="append", help="send attempts; may be given again")
    parser.add_argument("--one-partition", type=int, help="only this: so many sends to a single partition")
    parser.add_argument("--workdir", type=Path, default=WORKDIR)
    asked = parser.parse_args()
    if asked.one_partition:
        rows = bench_one_partition(asked.one_partition, asked.workdir)
    else:
        rows = bench_verifier(asked.rows or SIZES, asked.workdir)
    missed = False
    for row in rows:
        missed = missed or row["met"] is False
        against = f", {row['peer']} {row['peer_value']:.2f}, ratio {row['ratio']:.2f}" if row["peer"] else ""
        verdict = {True: "met", False: "MISSED", None: "no target"}[row["met"]]
        bound = "" if row["target"] is None else f", target {row['target']}"
        print(f"{row['name']}: {row['value']:.2f} {row['unit']}{against}{bound}: {verdict}", flush=True)
    print(f"load average {os.getloadavg()[0]:.1f} on {_cores()} cores")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

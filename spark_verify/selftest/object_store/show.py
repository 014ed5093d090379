"""Judges a history on object storage with a Spark cluster that shares nothing else with the driver.

    python -m spark_verify.selftest.object_store.show        (make object-store; as root)

A history that lost a part of its records is written here and copied to an S3-compatible server. It is judged
here from its directory, and on a standalone cluster of two workers from the server, each partition in parts.
Both must give the same judgement, labels, decision and explanations. Then one object is damaged, and that
must show. Exits with 1 if anything is otherwise.
"""

import argparse
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from checkers.contract.judge_contract import judge_contract
from checkers.history.tables import unit_path, write_table
from checkers.judgement import Judgement
from checkers.places import Place
from checkers.verdict.algebra import RunState
from checkers.verdict.decide import decide
from checkers.verdict.explanation.explain import explain_gravest
from checkers.verdict.explanation.findings import group
from spark_verify.passes.parts.cut import Cutting
from spark_verify.selftest.lose_tail import realised, write_cut_history
from spark_verify.selftest.object_store.machines import DRIVER, HIDDEN, cluster, network
from spark_verify.selftest.object_store.store import store
from spark_verify.session.session import SessionOptions, session
from spark_verify.synthetic import TOPIC
from spark_verify.verify import verify_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORKERS = 2
_PORT = 5055
_PARTS = Cutting(rows=60_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """All that the verdict on a history says, in a form that can be compared."""

    verdict: str
    reasons: tuple[str, ...]
    findings: tuple[str, ...]
    labels: tuple[tuple[str, str, str], ...]
    """Of each anomaly: kind, clause, cause."""
    judgement: Judgement

    def differences(self, other: "Judged") -> list[str]:
        """What is not the same in both."""
        names = [
            name
            for name in ("verdict", "reasons", "findings", "labels")
            if getattr(self, name) != getattr(other, name)
        ]
        if self.judgement.key() != other.judgement.key():
            names.append("judgement")
        if list(map(repr, self.judgement.anomalies)) != list(map(repr, other.judgement.anomalies)):
            names.append("evidence")
        return names


def judged(history: Place, spark: "SparkSession", cutting: Cutting | None = None) -> Judged:
    """The whole way from the history's files to the explanations."""
    facts = realised(history)
    (judgement,) = verify_all([history], spark, cutting=cutting)
    labels = judge_contract(judgement.anomalies, facts)
    decision = decide(judgement, labels, facts.context, "any", RunState(state="complete"))
    findings = explain_gravest(group(judgement.anomalies, labels, facts.timeline), facts)
    return Judged(
        verdict=str(decision.verdict),
        reasons=tuple(each.sentence for each in decision.reasons),
        findings=tuple(map(repr, findings)),
        labels=tuple((each.kind, each.clause, each.cause) for each in labels),
        judgement=judgement,
    )


def where(hidden: tuple[str, ...]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """On an executor: its network, its Python's first folder, the file of our code, and which folders of the
    driver it finds anything in."""
    import spark_verify.passes.partition.scan as ours

    seen = tuple(folder for folder in hidden if any(Path(folder).glob("*highwater*")))
    return [(str(Path("/proc/self/ns/net").readlink()), sys.path[-1], str(ours.__file__), seen)]


def show(folder: Path, lost: int) -> list[str]:
    """Judge here and there; what is not as it should be."""
    history = folder / "history"
    write_cut_history(history, lost=lost)
    with session() as spark:
        here = _told("local directory", history, spark)
    with network(), store(DRIVER, _PORT, folder / "store.log") as kept:
        stored = kept.keep(history, "one/history")
        changed = kept.keep(_damaged(history, folder / "damaged"), "two/history")
        with cluster(WORKERS, kept.environment, folder) as url, session(_options(url)) as spark:
            problems = _unlike_machines(spark)
            there = _told(str(stored), stored, spark, _PARTS)
            otherwise = _told(f"{changed} (damaged)", changed, spark, _PARTS)
    problems += [f"not the same on object storage: {name}" for name in here.differences(there)]
    if not here.differences(otherwise):
        problems.append("a damaged object changed nothing")
    return problems


def _options(url: str) -> SessionOptions:
    return SessionOptions(master=url, settings={"spark.driver.host": DRIVER, "spark.executor.memory": "512m"})


def _told(name: str, history: Place, spark: "SparkSession", cutting: Cutting | None = None) -> Judged:
    began = time.monotonic()
    found = judged(history, spark, cutting)
    print(
        f"{name}: {found.verdict}, {len(found.judgement.anomalies)} anomalies, "
        f"{found.judgement.totals.sends} sends, {time.monotonic() - began:.1f} s",
        flush=True,
    )
    return found


def _unlike_machines(spark: "SparkSession") -> list[str]:
    """What shows that the executors are not machines of their own."""
    context, hidden = spark.sparkContext, tuple(map(str, HIDDEN))
    places = context.parallelize(range(64), 64).map(lambda _: hidden).flatMap(where).collect()
    networks = {network for network, *_ in places} - {str(Path("/proc/self/ns/net").readlink())}
    problems = [f"an executor sees {seen} of the driver" for *_, seen in places if seen]
    problems += [f"our code is not what was shipped: {code}" for *_, code, _ in places if ".zip" not in code]
    if len(networks) != WORKERS:
        problems.append(f"executors in {len(networks)} networks of their own, not {WORKERS}")
    print(f"executors in {len(networks)} networks, {len(problems)} problems", flush=True)
    return problems


def _damaged(history: Path, copy: Path) -> Path:
    """A copy of which one partition has lost its last read record."""
    shutil.copytree(history, copy)
    path = unit_path(copy, "final_log", TOPIC, 0)
    log = pq.read_table(path, partitioning=None)
    write_table(path, "final_log", log.slice(0, len(log) - 1), TOPIC, 0)
    return copy


def main() -> int:
    """The command line; the exit code is 1 if anything was not as it should be."""
    parser = argparse.ArgumentParser(
        prog="python -m spark_verify.selftest.object_store.show", description=__doc__
    )
    parser.add_argument("--lost", type=int, default=30_000, help="acknowledged records that the history lost")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="highwater-store-") as folder:
        problems = show(Path(folder), asked.lost)
    print("\n".join(problems) or "the verdict on object storage is the local one")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

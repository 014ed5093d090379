"""The command line of the fuzz against the truth; the exit code is 1 if a verdict is not the truth."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from checkers.model import Bug, Case, simulate
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import NAMES, disagreements, passed_without_trace
from spark_verify.selftest.model_fuzz.many_runs import (
    Bugs,
    judge_broken,
    judge_correct,
    judge_crowded,
    processes,
    summed,
)
from spark_verify.selftest.model_fuzz.side_by_side import in_words, side_by_side
from spark_verify.selftest.model_fuzz.tables import broken_table, correct_table, names_of, page
from spark_verify.selftest.model_fuzz.through_spark import sample, spark_disagrees
from spark_verify.selftest.model_fuzz.verdict_of import verdict_of
from spark_verify.session.session import SessionOptions, session

PAIRS = 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge many runs, or one again."""
    asked = _parser().parse_args(arguments)
    if asked.replay:
        return replay(Case.from_json(asked.replay))
    began = time.monotonic()
    sets = [frozenset({bug}) for bug in Bug if not asked.bug or bug.name in asked.bug]
    sets += pairs(asked.seed) if not asked.bug else []
    with processes() as pool:
        parts = judge_correct(pool, asked.seed, asked.runs)
        crowded_parts = judge_crowded(pool, asked.seed, asked.crowded)
        under_way = judge_broken(
            pool, asked.seed, sets, manifested=asked.manifested, most_runs=asked.most_runs
        )
        differing = through_spark(asked.seed, asked.spark) if asked.spark else []  # meanwhile
        correct = summed(parts)
        of_correct = correct_table(correct, asked.seed)
        print(of_correct, flush=True)
        crowded = summed(crowded_parts)
        of_crowded = correct_table(crowded, asked.seed)
        print(of_crowded, flush=True)
        broken = list(under_way)
    of_broken = broken_table(broken, asked.manifested, asked.seed)
    print(of_broken, flush=True)
    if asked.tables:
        asked.tables.write_text(page(of_correct, of_crowded, of_broken))
    tallies = (correct, crowded, *(tally for _, tally in broken))
    disagreeing = [each for tally in tallies for each in tally.disagreeing]
    for each in disagreeing:
        print(in_words(each))
    print("\n".join(differing), end="\n" * bool(differing))
    # A crowded run may allow another explanation than the true one, of the same ruling.
    named = sum(crowded.kinds[kind] for kind in NAMES)
    total = sum(tally.kinds.total() for tally in tallies) - named + len(differing)
    rare = [bugs for bugs, tally in broken if len(bugs) == 1 and tally.manifested < asked.manifested]
    print("".join(f"shown too rarely: {names_of(bugs)}\n" for bugs in rare), end="")
    print(f"{total} runs disagree; {time.monotonic() - began:.0f} s, seed {asked.seed}")
    return 1 if total or rare else 0


def through_spark(seed: int, correct: int) -> list[str]:
    """A sample of runs, `correct` of them of a correct Kafka, judged by Spark: in what it differs."""
    cases = sample(seed, correct=correct, of_each_bug=max(1, correct // 40))
    folder = Path(tempfile.mkdtemp(prefix="highwater-model-fuzz-"))
    with session(SessionOptions(master="local[*]")) as spark:
        differing = list(spark_disagrees(cases, spark, folder))
    shutil.rmtree(folder)
    print(f"{len(cases)} runs through Spark, {len(differing)} judged otherwise")
    return differing


def pairs(seed: int) -> list[Bugs]:
    """Some bugs two at a time."""
    rng = Random(f"pairs/{seed}")
    return [frozenset(rng.sample(list(Bug), 2)) for _ in range(PAIRS)]


def replay(case: Case) -> int:
    """Judge one case, and print all of it."""
    simulated = simulate(case)
    judged = verdict_of(simulated.history, asked_of(simulated))
    print(f"{case}\nmanifested: {names_of(simulated.manifested) or 'none'}\n{judged.decision.verdict}")
    for reason in judged.decision.reasons:
        print(f"  {reason.verdict}: {reason.sentence}")
    found = disagreements(simulated, judged)
    if passed_without_trace(simulated, judged):
        print("without a trace: a correct Kafka has the same history of the same case")
    print("\n".join(side_by_side(found)) if found else "verdict and truth agree")
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m spark_verify.selftest.model_fuzz", description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="of a correct Kafka")
    parser.add_argument(
        "--crowded", type=int, default=10_000, help="more of them, with schedules that hit a broker again"
    )
    parser.add_argument("--manifested", type=int, default=100, help="runs that show each bug")
    parser.add_argument("--most-runs", type=int, default=3_000, help="tries of one bug")
    parser.add_argument("--spark", type=int, default=100, help="runs of a correct Kafka through Spark, too")
    parser.add_argument("--bug", action="append", help="only this one; may be given several times")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", type=Path, help="write the tables to this page: docs/model.md")
    parser.add_argument("--replay", metavar="CASE", help="one case, as a disagreement prints it")
    return parser


if __name__ == "__main__":
    sys.exit(main())

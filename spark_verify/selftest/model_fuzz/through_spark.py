"""A sample of simulated runs through Spark, the way that users' runs take: from files, with evidence.

Spark's judgement must be the reference's in every word, and so must be the verdict that follows.
"""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from checkers.damage import write
from checkers.history.rows import History
from checkers.judgement import Judgement
from checkers.model import Bug, Case, draw_case, simulate
from spark_verify.selftest.fuzz import agree
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.many_runs import NO_BUGS, seeds_of
from spark_verify.selftest.model_fuzz.verdict_of import Asked, Judged, verdict_of
from spark_verify.verify import verify_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A simulated run on disk, and what the reference makes of it."""

    case: Case
    folder: Path
    history: History
    asked: Asked
    wanted: Judged


def sample(seed: int, *, correct: int, of_each_bug: int) -> list[Case]:
    """Runs of a correct Kafka, and of each bug, that the other parts of the fuzz have not judged."""
    first = 500_000_000
    cases = [draw_case(each) for each in seeds_of(seed, range(first, first + correct))]
    for place, bug in enumerate(Bug, 1):
        numbers = range(first + place * 1000, first + place * 1000 + of_each_bug)
        cases += [draw_case(each, NO_BUGS | {bug}) for each in seeds_of(seed, numbers)]
    return cases


def spark_disagrees(cases: Sequence[Case], spark: "SparkSession", folder: Path) -> Iterator[str]:
    """A sentence for each run that Spark judges otherwise."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        numbered = [(case, folder / str(number)) for number, case in enumerate(cases)]
        batches = [numbered[begin : begin + _BATCH] for begin in range(0, len(numbered), _BATCH)]
        for written in pool.map(prepare, batches):
            found = verify_all([one.folder for one in written], spark)
            for one, judgement in zip(written, found, strict=True):
                yield from _difference(one, judgement)
                shutil.rmtree(one.folder)


def prepare(batch: Sequence[tuple[Case, Path]]) -> list[Written]:
    """Simulate and judge each case, and write its history to its folder."""
    written = []
    for case, folder in batch:
        run = simulate(case)
        asked = asked_of(run)
        write(run.history, folder, plain=True)
        wanted = verdict_of(run.history, asked)
        written.append(Written(case=case, folder=folder, history=run.history, asked=asked, wanted=wanted))
    return written


def _difference(one: Written, found: Judgement) -> Iterator[str]:
    if not agree(found, one.wanted.judgement):
        yield f"Spark judges another history than the reference: {one.case.to_json()}"
        return
    judged = verdict_of(one.history, one.asked, lambda _: found)
    if judged.decision != one.wanted.decision:
        yield f"Spark leads to {judged.decision.verdict}: {one.case.to_json()}"

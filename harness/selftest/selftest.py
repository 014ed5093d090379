"""Judges damaged copies of one run as the product judges a run, and finds out which damage goes unnoticed.

A mutant is *killed* if its verdict has a reason that the verdict on the run itself does not have, and that
reason is not PASS. So a mutant of a run that passes is killed if it does not pass; of a run that is UNKNOWN
for a reason of its own, only if the damage has a reason, too. A run that fails already is refused. A mutant
whose judgement crashes is not killed: a crash names no damage.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue

from checkers.verdict.algebra import Verdict
from harness.errors import UsageError
from harness.report.judge import Verify, judge
from harness.run_directory.layout import RunDir
from harness.selftest.damaged_copy import Original
from harness.selftest.judge_mutant import JudgeMutant, Known, Result, judge_mutant
from harness.selftest.mutant import Mutant


class SelfTest:
    """The mutants of one run; iterating judges them, and gives the result of each, in order, once known."""

    def __init__(
        self, run: RunDir, verify: Verify, mutants: Sequence[Mutant], judges: Sequence[JudgeMutant] = ()
    ) -> None:
        """Judge the run itself; UsageError if its mutants could not be told from it.

        Each of `judges` judges a mutant at a time, side by side with the others; without any, one thread
        does.
        """
        self.mutants = mutants
        self.report = judge(run, verify)
        self._verify = verify
        if self.report.verdict in (Verdict.FAIL, Verdict.ERROR) or not self.report.document:
            raise UsageError(
                f"{run.path}: is {self.report.verdict} already ({self.report.outcome}); take a run that "
                "passes, or one that is UNKNOWN for want of evidence"
            )
        self._judges = judges or [partial(judge_mutant, Original(run))]

    def __iter__(self) -> Iterator[Result]:
        known = frozenset(self.report.reasons)
        idle: SimpleQueue[JudgeMutant] = SimpleQueue()
        for each in self._judges:
            idle.put(each)
        with ThreadPoolExecutor(len(self._judges), "mutant") as pool:
            yield from pool.map(partial(self._result, idle, known), self.mutants)

    def _result(self, idle: SimpleQueue[JudgeMutant], known: Known, mutant: Mutant) -> Result:
        judge_one = idle.get()
        try:
            return judge_one(mutant, known, self._verify)
        finally:
            idle.put(judge_one)

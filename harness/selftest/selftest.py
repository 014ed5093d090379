"""Judges damaged copies of one run as the product judges a run, and finds out which damage goes unnoticed.

A mutant is *killed* if its verdict has a reason that the verdict on the run itself does not have, and that
reason is not PASS. So a mutant of a run that passes is killed if it does not pass; of a run that is UNKNOWN
for a reason of its own, only if the damage has a reason, too. A run that fails already is refused. A mutant
whose judgement crashes is not killed: a crash names no damage.
"""

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from checkers.verdict.algebra import Reason, Verdict
from harness.errors import UsageError, is_ours
from harness.report.judge import Verify, judge
from harness.run_directory.layout import RunDir
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Original
from harness.selftest.mutant import Mutant

SIDE_BY_SIDE = 8
"""Mutants at a time: while Spark verifies some together, the driver prepares and explains others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one mutant.

    `verdict` is None if it could not be applied, for `lack`; or if its judgement crashed, with `crash`.
    `reasons` are those that the run itself does not have.
    """

    mutant: Mutant
    verdict: Verdict | None = None
    reasons: tuple[Reason, ...] = ()
    lack: str = ""
    crash: str = ""

    @property
    def applied(self) -> bool:
        """Whether the run had what the mutant damages."""
        return not self.lack

    @property
    def killed(self) -> bool:
        """Whether the verdict has noticed it."""
        return bool(self.reasons)

    @property
    def survived(self) -> bool:
        """Whether it was damaged, and nobody has noticed."""
        return self.applied and not self.killed


class SelfTest:
    """The mutants of one run; iterating judges them, and gives the result of each, in order, once known."""

    def __init__(self, run: RunDir, verify: Verify, mutants: Sequence[Mutant]) -> None:
        """Judge the run itself; UsageError if its mutants could not be told from it."""
        self.mutants = mutants
        self.report = judge(run, verify)
        self._verify = verify
        if self.report.verdict in (Verdict.FAIL, Verdict.ERROR) or not self.report.document:
            raise UsageError(
                f"{run.path}: is {self.report.verdict} already ({self.report.outcome}); take a run that "
                "passes, or one that is UNKNOWN for want of evidence"
            )
        self._original = Original(run)

    def __iter__(self) -> Iterator[Result]:
        known = frozenset(self.report.reasons)
        with ThreadPoolExecutor(SIDE_BY_SIDE, "mutant") as pool:
            yield from pool.map(partial(judge_mutant, self._original, known, self._verify), self.mutants)


def judge_mutant(original: Original, known: frozenset[Reason], verify: Verify, mutant: Mutant) -> Result:
    """Make one mutant, judge it, remove it; `known` are the reasons of the run itself."""
    try:
        with damaged(original, mutant) as copy:
            return _judged(copy, known, verify, mutant)
    except NotApplicable as missing:
        return Result(mutant=mutant, lack=str(missing))


@contextmanager
def damaged(original: Original, mutant: Mutant) -> Iterator[RunDir]:
    """A damaged copy of a run, for the length of a `with` block."""
    with tempfile.TemporaryDirectory(prefix="highwater-selftest-") as folder:
        copy = DamagedCopy(original, Path(folder))
        mutant.damage(copy)
        copy.close(sealed=mutant.sealed)
        yield copy.run


def _judged(copy: RunDir, known: frozenset[Reason], verify: Verify, mutant: Mutant) -> Result:
    try:
        report = judge(copy, verify)
    except Exception as error:  # whatever it is: the product has not judged what it was given
        text = str(error) if is_ours(error) else f"{type(error).__name__}: {error}"
        return Result(mutant=mutant, crash=_without_folder(text, copy))
    found = report.reasons or (Reason(report.verdict, report.outcome),)
    new = [each for each in found if each.verdict is not Verdict.PASS and each not in known]
    reasons = tuple(Reason(each.verdict, _without_folder(each.sentence, copy)) for each in new)
    return Result(mutant=mutant, verdict=report.verdict, reasons=reasons)


def _without_folder(text: str, copy: RunDir) -> str:
    return text.replace(f"{copy.path}/", "")

"""Makes one damaged copy of a run, and judges it as the product judges a run: what did it notice?"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checkers.verdict.algebra import Reason, Verdict
from harness.errors import is_ours
from harness.report.judge import Verify, judge
from harness.run_directory.layout import RunDir
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Original
from harness.selftest.mutant import Mutant

Known = frozenset[Reason]
"""The reasons of the verdict on the run itself."""


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


JudgeMutant = Callable[[Mutant, Known, Verify], Result]
"""Whatever judges one mutant at a time."""


def judge_mutant(original: Original, mutant: Mutant, known: Known, verify: Verify) -> Result:
    """Make one mutant, judge it, remove it."""
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


def _judged(copy: RunDir, known: Known, verify: Verify, mutant: Mutant) -> Result:
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

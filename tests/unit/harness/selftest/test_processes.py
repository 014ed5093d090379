"""Mutants judged in another process: as in this one, with the verifier of this one."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from time import sleep

import pytest
from fakes.run.evidence import whole_run
from fakes.run.run_directories import reference

from checkers.judgement import Judgement
from checkers.verdict.algebra import Verdict
from harness.errors import HighwaterError
from harness.report.judge import judge
from harness.run_directory.layout import RunDir
from harness.selftest.damaged_copy import Original
from harness.selftest.judge_mutant import Result, judge_mutant
from harness.selftest.mutants.every import MUTANTS, named
from harness.selftest.processes import JudgeProcess
from harness.selftest.selftest import SelfTest


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    return whole_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def process(run: RunDir) -> Iterator[JudgeProcess]:
    started = JudgeProcess(run, at_a_time=2)
    yield started
    started.end()


@pytest.mark.parametrize(
    ("name", "verdict", "lack"),
    [
        ("drop-record", Verdict.FAIL, ""),
        ("mix-in-file", Verdict.UNKNOWN, ""),
        ("damage-manifest", Verdict.UNKNOWN, ""),
        ("drop-fault", None, "no fault with evidence"),
    ],
)
def test_another_process_judges_as_this_one_does(
    run: RunDir, process: JudgeProcess, name: str, verdict: Verdict | None, lack: str
) -> None:
    (mutant,) = named([name])
    known = frozenset(judge(run, reference).reasons)
    found = process.judges[0](mutant, known, reference)
    assert (found.verdict, found.lack) == (verdict, lack)
    assert found == judge_mutant(Original(run), mutant, known, reference)


def test_an_error_of_the_verifier_comes_back_as_a_crash(run: RunDir, process: JudgeProcess) -> None:
    def verify(_: Path) -> Judgement:
        raise KeyError("outcome")

    (mutant,) = named(["drop-record"])
    judge_one = process.judges[1]
    assert judge_one(mutant, frozenset(), verify).crash == "KeyError: 'outcome'"
    assert judge_one(mutant, frozenset(), reference).verdict is Verdict.FAIL


def test_a_process_that_has_ended_is_an_error_with_the_name_of_the_mutant(run: RunDir) -> None:
    process = JudgeProcess(run)
    process.end()
    (mutant,) = named(["drop-record"])
    with pytest.raises(HighwaterError, match="drop-record: the process that judged it has ended"):
        process.judges[0](mutant, frozenset(), reference)


class Judge:
    """Takes its time, and notes if it was asked for two mutants at once."""

    def __init__(self) -> None:
        self.asked, self.overlapped, self._busy = 0, False, Lock()

    def __call__(self, mutant, known, verify) -> Result:
        self.overlapped |= not self._busy.acquire(blocking=False)
        self.asked += 1
        sleep(0.002 * (len(mutant.name) % 5))
        self._busy.release()
        return Result(mutant=mutant)


def test_each_judge_has_one_mutant_at_a_time_and_results_are_in_order(run: RunDir) -> None:
    judges, mutants = [Judge(), Judge(), Judge()], named([])[:40]
    found = [each.mutant.name for each in SelfTest(run, reference, mutants, judges)]
    assert found == [each.name for each in mutants]
    assert not any(each.overlapped for each in judges)
    assert min(each.asked for each in judges) > 0


def test_every_mutant_can_be_sent_to_a_process() -> None:
    """What a process answers has the mutant in it."""
    for mutant in MUTANTS:
        assert pickle.loads(pickle.dumps(mutant)).name == mutant.name

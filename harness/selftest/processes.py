"""Judges mutants in several processes side by side.

Most of a judgement is Python, of which a process runs one thread at a time: with one process the second core
would wait. Each of these damages and judges some copies at a time, all of it as `highwater check` does, but
for the verification, which it asks of the process that has the Spark session:

    main      → process    the next mutant
    process   → main       a history, to be verified
    main      → process    its judgement, or the error
    process   → main       the result of the mutant
"""

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from checkers.judgement import Judgement
from harness.errors import HighwaterError
from harness.report.judge import Verify
from harness.run_directory.layout import RunDir
from harness.selftest.damaged_copy import Original
from harness.selftest.judge_mutant import JudgeMutant, Known, Result, judge_mutant
from harness.selftest.mutant import Mutant

AT_A_TIME = 4
"""Mutants of one process: while Spark verifies some together, it prepares and judges others."""
FEW = 8
"""So few mutants are judged sooner than processes have started."""
ENDS_WITHIN_S = 10.0


class JudgeProcess:
    """A process that judges mutants of one run, so many at a time; it begins to start at once."""

    def __init__(self, run: RunDir, at_a_time: int = AT_A_TIME) -> None:
        context = get_context("spawn")
        ends = [context.Pipe() for _ in range(at_a_time)]
        self._pipes = [ours for ours, _ in ends]
        theirs = [end for _, end in ends]
        self._process = context.Process(target=_serve, args=(run.path, theirs), daemon=True)
        self._process.start()
        for end in theirs:
            end.close()

    @property
    def judges(self) -> list[JudgeMutant]:
        """One for each mutant at a time: raises HighwaterError if the process is gone."""
        return [partial(_judge, pipe) for pipe in self._pipes]

    def end(self) -> None:
        """End the process: what it asks or answers next fails, and it removes its copies."""
        for pipe in self._pipes:
            pipe.close()
        self._process.join(ENDS_WITHIN_S)
        self._process.kill()


@contextmanager
def judges(run: RunDir, mutants: int) -> Iterator[Sequence[JudgeMutant]]:
    """What judges so many mutants of a run, in a process for each core, for the length of a `with` block."""
    processes = [JudgeProcess(run) for _ in range(os.cpu_count() or 1 if mutants > FEW else 0)]
    try:
        yield [judge for each in processes for judge in each.judges]
    finally:
        for each in processes:
            each.end()


def _judge(pipe: Connection, mutant: Mutant, known: Known, verify: Verify) -> Result:
    """Have a mutant judged at the other end of a pipe; `verify` answers meanwhile."""
    try:
        pipe.send((mutant, known))
        while isinstance(said := pipe.recv(), Path):
            pipe.send(_answer(verify, said))
    except (EOFError, OSError) as error:
        raise HighwaterError(f"{mutant.name}: the process that judged it has ended: {error!r}") from None
    if isinstance(said, Exception):
        raise said
    assert isinstance(said, Result)
    return said


def _answer(verify: Verify, history: Path) -> Judgement | Exception:
    try:
        return verify(history)
    except Exception as error:  # the one who has asked gets it
        return error


def _serve(run: Path, pipes: Sequence[Connection]) -> None:
    """In the process: judge what is asked over each pipe, until nobody is left to ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the main process's
    original = Original(RunDir(path=run))
    with ThreadPoolExecutor(len(pipes), "mutant") as pool:
        list(pool.map(partial(_serve_one, original), pipes))


def _serve_one(original: Original, pipe: Connection) -> None:
    with suppress(EOFError, OSError):
        while True:
            mutant, known = pipe.recv()
            pipe.send(_result(original, mutant, known, partial(_ask, pipe)))


def _result(original: Original, mutant: Mutant, known: Known, verify: Verify) -> Result | Exception:
    try:
        return judge_mutant(original, mutant, known, verify)
    except Exception as error:  # a defect of the self-test: the main process raises it
        return error


def _ask(pipe: Connection, history: Path) -> Judgement:
    pipe.send(history)
    answer: Judgement | Exception = pipe.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer

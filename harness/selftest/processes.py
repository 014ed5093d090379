"""Judges mutants in several processes side by side.

Most of a judgement is Python, of which a process runs one thread at a time: with one process the second core
would wait. Each of these damages and judges one copy at a time, all of it as `highwater check` does, but for
the verification, which it asks of the process that has the Spark session:

    main      → process    the next mutant
    process   → main       a history, to be verified
    main      → process    its judgement, or the error
    process   → main       the result of the mutant
"""

import os
import signal
from collections.abc import Iterator, Sequence
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

FOR_EACH_CORE = 2
"""Processes: while one waits for Spark, another goes on."""
FEW = 8
"""So few mutants are judged sooner than processes have started."""
ENDS_WITHIN_S = 10.0


class JudgeProcess:
    """A process that judges the mutants of one run; it begins to start at once."""

    def __init__(self, run: RunDir) -> None:
        context = get_context("spawn")
        self._pipe, others = context.Pipe()
        self._process = context.Process(target=_serve, args=(run.path, others), daemon=True)
        self._process.start()
        others.close()

    def judge(self, mutant: Mutant, known: Known, verify: Verify) -> Result:
        """The result of one mutant; `verify` answers meanwhile. HighwaterError if the process is gone."""
        try:
            self._pipe.send((mutant, known))
            while isinstance(said := self._pipe.recv(), Path):
                self._pipe.send(_answer(verify, said))
        except (EOFError, OSError) as error:
            raise HighwaterError(f"{mutant.name}: the process that judged it has ended: {error!r}") from None
        if isinstance(said, BaseException):
            raise said
        assert isinstance(said, Result)
        return said

    def end(self) -> None:
        """End the process: what it asks or answers next fails, and it removes its copy."""
        self._pipe.close()
        self._process.join(ENDS_WITHIN_S)
        self._process.kill()


@contextmanager
def judges(run: RunDir, mutants: int) -> Iterator[Sequence[JudgeMutant]]:
    """What judges so many mutants of a run, each in a process, for the length of a `with` block."""
    count = FOR_EACH_CORE * (os.cpu_count() or 1) if mutants > FEW else 0
    processes = [JudgeProcess(run) for _ in range(count)]
    try:
        yield [each.judge for each in processes]
    finally:
        for each in processes:
            each.end()


def _answer(verify: Verify, history: Path) -> Judgement | Exception:
    try:
        return verify(history)
    except Exception as error:  # the one who has asked gets it
        return error


def _serve(run: Path, pipe: Connection) -> None:
    """In the process: judge what is asked, until nobody is left to ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the main process's
    original = Original(RunDir(path=run))
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

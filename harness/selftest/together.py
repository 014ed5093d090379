"""Verifies the histories of several callers in the same Spark jobs.

A job costs 15 ms a task whatever the task does, so the small histories of many mutants are verified
together: whoever asks while a verification goes on is served by the next one. A history that is malformed
spoils nobody else's.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType

from checkers.errors import MalformedHistory
from checkers.judgement import Judgement

VerifyAll = Callable[[Sequence[Path]], Sequence[Judgement]]
Asked = tuple[Path, "Future[Judgement]"]


class TogetherVerifier:
    """Callable as a verifier of one history, from any thread, within its `with` block."""

    def __init__(self, verify_all: VerifyAll) -> None:
        """Nothing is verified yet."""
        self._verify_all = verify_all
        self._asked: SimpleQueue[Asked | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="verify-together", daemon=True)

    def __enter__(self) -> "TogetherVerifier":
        """Begin to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End when all that was asked is answered."""
        self._asked.put(None)
        self._thread.join()

    def __call__(self, history: Path) -> Judgement:
        """The judgement of one history; raises as a verification of it alone does."""
        answer: Future[Judgement] = Future()
        self._asked.put((history, answer))
        return answer.result()

    def _serve(self) -> None:
        while (asked := self._asked.get()) is not None:
            batch, ends = [asked], False
            while not ends:
                try:
                    more = self._asked.get_nowait()
                except Empty:
                    break
                ends = more is None
                batch += [more] if more is not None else []
            _answer(self._verify_all, batch)
            if ends:
                return


def _answer(verify_all: VerifyAll, batch: Sequence[Asked]) -> None:
    """Answer all of a batch; whoever's history is malformed gets that, and the others are tried again."""
    waiting = list(batch)
    while waiting:
        try:
            found = verify_all([history for history, _ in waiting])
        except MalformedHistory as error:
            spoiled = [asked for asked in waiting if Path(str(error.file)).is_relative_to(asked[0])]
            for _, answer in spoiled or waiting:
                answer.set_exception(error)
            waiting = [asked for asked in waiting if spoiled and asked not in spoiled]
        except Exception as error:  # each caller gets it
            for _, answer in waiting:
                answer.set_exception(error)
            return
        else:
            for (_, answer), judgement in zip(waiting, found, strict=True):
                answer.set_result(judgement)
            return

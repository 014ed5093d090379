"""The Spark verifier as one callable: its session starts in the background and is there when needed."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from checkers.judgement import Judgement
from compose.errors import JavaMissing
from harness.errors import HighwaterError
from spark_verify.audit import audit
from spark_verify.errors import SparkVerifyError
from spark_verify.session.session import SessionOptions, StartingSession, start_in_background
from spark_verify.verify import verify_all
from spark_verify.warm_up import warm_up

STAYS_WARM_S = 45.0
"""Spark ends workers that were idle for a minute."""


class SparkVerifier:
    """One Spark session for any number of histories."""

    def __init__(self, master: str) -> None:
        """Nothing is started yet."""
        self._options = SessionOptions(master=master)
        self._starting: StartingSession | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._used_s = -STAYS_WARM_S

    def begin(self) -> StartingSession:
        """Begin to start the session, once; returns at once. HighwaterError if it was ended."""
        with self._lock:
            if self._closed:
                raise HighwaterError("Spark was ended, so nothing is judged any more")
            self._starting = self._starting or start_in_background(self._options)
            return self._starting

    def warm_up(self) -> None:
        """Have the session judge something small, in a thread of its own; that it fails is no error here.

        Nothing to do for a session that is at work, or was a moment ago.
        """
        if time.monotonic() - self._used_s < STAYS_WARM_S:
            return
        threading.Thread(target=self._warm, name="spark-warm-up", daemon=True).start()

    def _warm(self) -> None:
        try:
            warm_up(self.begin().result())
        except Exception:  # the verification fails for the same reason, and reports it
            return

    def __call__(self, history: Path) -> Judgement:
        """Judge one history. HighwaterError if Spark fails; MalformedHistory for what cannot be read."""
        return self.verify_all([history])[0]

    def verify_all(self, histories: Sequence[Path]) -> list[Judgement]:
        """Judge several in the same jobs. Raises as a call does, if any of them cannot be read."""
        self._used_s = time.monotonic()
        try:
            return verify_all(histories, self.begin().result())
        except (SparkVerifyError, JavaMissing) as error:
            raise HighwaterError(str(error)) from error

    def audit(self, replicas: Path, history: Path, *, run: str) -> None:
        """Turn copied replicas into tables of the history. Raises as a call does."""
        try:
            audit(replicas, history, self.begin().result(), run=run)
        except (SparkVerifyError, JavaMissing) as error:
            raise HighwaterError(str(error)) from error

    def close(self) -> None:
        """End the session if there is one; a second call does nothing."""
        with self._lock:
            starting, self._starting, self._closed = self._starting, None, True
        if starting is not None:
            starting.stop()


@contextmanager
def spark_verifier(master: str) -> Iterator[SparkVerifier]:
    """A verifier for the length of a `with` block."""
    verifier = SparkVerifier(master)
    try:
        yield verifier
    finally:
        verifier.close()

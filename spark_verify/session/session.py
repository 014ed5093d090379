"""Starts Spark for one verification run, quietly and without leaving anything behind.

    handle = start_in_background()      while the cluster runs
    spark = handle.result()             when the history is complete
    stop(spark)                         ends the JVM too, and removes its temporary directory

All that the JVM and the workers print goes to `spark.log` in the session's temporary directory; if
Spark fails, the last lines of it are in the error. The JVM dies with this process: it reads the pipe
that it was started with.
"""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from compose.errors import JavaMissing
from spark_verify.errors import SessionFailed, SparkVerifyError
from spark_verify.session.jvm import last_lines
from spark_verify.session.launch import SessionOptions, launch, stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SessionOptions", "StartingSession", "session", "start", "start_in_background", "stop", "warm"]

TEMPORARY_PREFIX = "highwater-spark-"
"""Temporary directories are named `<prefix><process id>-<random>`, so that their owner is known."""


class StartingSession:
    """A Spark session that starts in a thread of its own. `result` gives it; `stop` ends it in any state."""

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY_PREFIX}{os.getpid()}-"))
        self._session: Future[SparkSession] = Future()
        # Not only to be in the background: in the main thread, Spark would replace the handler of Ctrl-C.
        threading.Thread(target=self._start, name="spark-session", daemon=True).start()

    def result(self, timeout_s: float = 180.0) -> "SparkSession":
        """The session, once it is there; raises SessionFailed or JavaMissing."""
        try:
            return self._session.result(timeout_s)
        except TimeoutError:
            raise self._failure(f"did not start within {timeout_s:.0f} s") from None

    def stop(self, timeout_s: float = 180.0) -> None:
        """Wait for the start to end, whatever comes of it, and take everything down."""
        with suppress(TimeoutError):  # its JVM dies with this process, if not before
            if self._session.exception(timeout_s) is None:
                stop(self._session.result())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        try:
            self._session.set_result(launch(self._options, self._folder))
        except (SparkVerifyError, JavaMissing) as error:
            self._session.set_exception(error)
        except Exception as error:  # py4j and pyspark raise anything; `result` raises it
            self._session.set_exception(self._failure(f"did not start: {_words(error)}"))

    def _failure(self, what: str) -> SessionFailed:
        return SessionFailed(
            f"Spark on {self._options.master} {what}. Its last lines:\n{last_lines(self._folder)}"
        )


def _words(error: Exception) -> str:
    """What an error says; py4j asks the JVM for it, which may be gone."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__


def _sweep() -> None:
    """Remove what sessions left whose driver was killed; their JVMs have died with it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{TEMPORARY_PREFIX}*-*"):
        owner = folder.name.removeprefix(TEMPORARY_PREFIX).partition("-")[0]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def start_in_background(options: SessionOptions | None = None) -> StartingSession:
    """Begin to start a session; returns at once."""
    return StartingSession(options or SessionOptions())


def start(options: SessionOptions | None = None) -> "SparkSession":
    """Start a session and wait for it; raises SessionFailed or JavaMissing. End it with `stop`."""
    handle = start_in_background(options)
    try:
        return handle.result()
    except BaseException:
        handle.stop()
        raise


@contextmanager
def session(options: SessionOptions | None = None) -> Iterator["SparkSession"]:
    """A session for the length of a `with` block."""
    spark = start(options)
    try:
        yield spark
    finally:
        stop(spark)


def warm(spark: "SparkSession") -> None:
    """Have each core run a first Python worker, which costs 2 s that are then not part of the verification.

    `spark_verify.warm_up` does this and more.
    """
    cores = spark.sparkContext.defaultParallelism
    spark.sparkContext.parallelize(range(cores), cores).foreach(_import_scan)


def _import_scan(_: int) -> None:
    # What costs time in a new worker are these imports.
    import spark_verify.passes.partition.scan
    import spark_verify.passes.replicas.audit_piece  # noqa: F401

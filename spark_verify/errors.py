"""Every error of this room, in one tree. A broken history is `checkers.errors.MalformedHistory`, not
one of these; that there is no Java is `compose.errors.JavaMissing`.

SparkVerifyError
  SessionFailed    Spark did not start, or died
  WorkerFailed     our code failed on a worker: a defect of the verifier, never a verdict
  DamagedFile      a file of a broker's data directory is not what Kafka writes; `audit` makes it a reason
"""

from pathlib import Path


class SparkVerifyError(Exception):
    """Base of every error of this room."""


class SessionFailed(SparkVerifyError):
    """Spark did not start or died; the message ends with the last lines it wrote."""


class WorkerFailed(SparkVerifyError):
    """A worker raised something that is not about the history; the message ends with its traceback."""


class DamagedFile(SparkVerifyError):
    """A file of a broker's data directory is not what Kafka writes.

    `place` says where in the file ("line 2", "byte 6"), `what` is found there and what was expected.
    """

    def __init__(self, file: Path, place: str, what: str) -> None:
        super().__init__(f"{file.name}, {place}: {what}")
        self.file, self.place, self.what = file, place, what

    def __reduce__(self) -> tuple[type["DamagedFile"], tuple[Path, str, str]]:
        """Survive the way from a Spark worker to the driver."""
        return type(self), (self.file, self.place, self.what)

"""Every error of this room, in one tree. A broken history is `checkers.errors.MalformedHistory`, not
one of these; that there is no Java is `compose.errors.JavaMissing`.

SparkVerifyError
  SessionFailed    Spark did not start, or died
  WorkerFailed     our code failed on a worker: a defect of the verifier, never a verdict
"""


class SparkVerifyError(Exception):
    """Base of every error of this room."""


class SessionFailed(SparkVerifyError):
    """Spark did not start or died; the message ends with the last lines it wrote."""


class WorkerFailed(SparkVerifyError):
    """A worker raised something that is not about the history; the message ends with its traceback."""

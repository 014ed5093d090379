"""Every error of this room, in one tree. A broken history is `checkers.history.MalformedHistory`, not
one of these.

SparkVerifyError
  JavaMissing      no Java that Spark can run on
  SessionFailed    Spark did not start, or died
  WorkerFailed     our code failed on a worker: a defect of the verifier, never a verdict
"""


class SparkVerifyError(Exception):
    """Base of every error of this room."""


class JavaMissing(SparkVerifyError):
    """No Java that Spark can run on; the message lists where it was looked for."""


class SessionFailed(SparkVerifyError):
    """Spark did not start or died; the message ends with the last lines it wrote."""


class WorkerFailed(SparkVerifyError):
    """A worker raised something that is not about the history; the message ends with its traceback."""

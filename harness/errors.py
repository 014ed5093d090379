"""What can stop a run or a command, and the exit code each kind means.

HighwaterError              4  the harness or what it stands on failed
├── UsageError              2  the command line asks for something that is not there
│   └── ScenarioError       2  a scenario file asks for the impossible; one complaint a line
├── RunDirectoryError       2  the named directory holds no run
├── HistoryError            3  the run's files cannot be judged: which file, what is wrong
└── StepFailed              4  a step of the run failed: which step, why, what to do next
Interrupted                    not a failure: the user asked to stop (130 or 143)
"""

import tempfile
import traceback
from collections.abc import Sequence

EXIT_SURVIVED = 1
EXIT_USAGE = 2
EXIT_UNKNOWN = 3
EXIT_ERROR = 4
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141
"""As of any program that SIGPIPE ends: nobody read stdout to its end."""


class HighwaterError(Exception):
    """Base of all errors the command line reports in one plain sentence."""

    exit_code = EXIT_ERROR


def is_ours(error: BaseException) -> bool:
    """Whether the message of `error` stands alone: what failed, where, the value found, the next step."""
    # Imported here: the history's tables need Arrow, and `highwater --help` does not wait for it.
    from checkers.errors import CheckersError
    from compose.errors import ComposeError
    from faults.errors import FaultsError
    from spark_verify.errors import SparkVerifyError
    from workloads.errors import WorkloadError

    roots = (HighwaterError, CheckersError, ComposeError, FaultsError, WorkloadError, SparkVerifyError)
    return isinstance(error, roots)


def unforeseen(error: Exception) -> str:
    """A foreign error with its type, in one line, and where its traceback is kept."""
    what = f"{type(error).__name__}: {error}"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="highwater-", suffix=".log", delete=False) as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError as second:  # where a full disk was the error, it is one again
        return f"{what}; the traceback could not be kept: {second}"
    return f"{what}; the traceback is in {file.name}"


class UsageError(HighwaterError):
    """The command line names something that does not exist or does not fit together."""

    exit_code = EXIT_USAGE


class ScenarioError(UsageError):
    """A scenario is refused before anything starts; `complaints` are lines "file:line:column: text"."""

    def __init__(self, complaints: Sequence[str]) -> None:
        super().__init__("\n".join(complaints))
        self.complaints = tuple(complaints)


class RunDirectoryError(HighwaterError):
    """There is no run in the named directory, so there is nothing to judge."""

    exit_code = EXIT_USAGE


class HistoryError(HighwaterError):
    """A file of a run is missing, truncated or foreign: the run can only be UNKNOWN."""

    exit_code = EXIT_UNKNOWN


class StepFailed(HighwaterError):
    """A step of the run failed; the message names the step, the reason and what to do next."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"{step}: {reason}")
        self.step = step
        self.reason = reason


class Interrupted(BaseException):
    """The user asked to stop; not an Exception, so no recovery code swallows it by accident."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"interrupted by signal {signal_number}")
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
        return 128 + self.signal_number

"""Every error of this room, in one tree.

CheckersError
  MalformedHistory     a file or directory of the history is not what checkers/history/tables.py says
"""

from pathlib import Path

from checkers.places import Place, StoredPath


class CheckersError(Exception):
    """Base of every error of this room."""


class MalformedHistory(CheckersError):
    """A file of the history is missing, truncated, foreign, or does not hold what its schema says.

    `file` is the path (a directory if a whole table is gone); `what` says what is wrong with it, with the
    value found there.
    """

    def __init__(self, file: Place | str, what: str) -> None:
        super().__init__(f"{file}: {what}")
        self.file: Place = file if isinstance(file, StoredPath) else Path(file)
        self.what = what

    def __reduce__(self) -> tuple[type["MalformedHistory"], tuple[Place, str]]:
        """Survive the way from a Spark worker to the driver."""
        return type(self), (self.file, self.what)

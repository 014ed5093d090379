"""A report in plain words: on the terminal, side by side for several runs, and as summary.md."""

from collections.abc import Sequence

from harness.report import Report


def words(report: Report) -> str:
    """The outcome, then each reason, then where to read on."""
    raise NotImplementedError


def table(reports: Sequence[Report]) -> str:
    """The outcomes of several runs below each other."""
    raise NotImplementedError

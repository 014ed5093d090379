"""Did the run show anything? What a scenario needs to show something, and what was not there, one by one.

Invariant: no verdict is green for want of evidence.
Evidence: the exposure, measured on the history.
Counterexample to "no property is violated, so nothing below the high watermark was lost":
    no reader was given a record, and no sample has a high watermark
    an unacknowledged record that every consumer could see is gone: nobody would know
"""

from collections.abc import Iterator

from checkers.verdict.algebra import Reason, Verdict
from checkers.verdict.exposure.exposure import Exposure
from checkers.verdict.names import first_of

MOST_NAMED = 3


def vacuous(exposure: Exposure, readers: int) -> Iterator[Reason]:
    """A reason for each thing that was to be shown and was not; `readers` is how many the scenario has.

    A run without any acknowledgement has a reason of its own, see `decide`.
    """
    if exposure.acked:
        yield from _faults(exposure)
        yield from _witnesses(exposure, readers)
        yield from _replicas(exposure)


def _faults(exposure: Exposure) -> Iterator[Reason]:
    for window in exposure.fault_windows:
        if window["proven"] and not window["at_risk"]:
            sentence = f"nothing was at risk in the window of fault {window['fault']}"
            yield Reason(Verdict.UNKNOWN, f"{sentence}: {_why(window['partitions'])}")


def _why(touched: int) -> str:
    if not touched:
        return "it touches no partition of the load"
    on = f"the {touched} partitions" if touched > 1 else "the partition"
    when = "from shortly before it, and what it overlaps, until it was over"
    return f"no send was acknowledged on {on} that it touches, {when}"


def _witnesses(exposure: Exposure, readers: int) -> Iterator[Reason]:
    if readers and not exposure.reads:
        yield Reason(
            Verdict.UNKNOWN,
            f"no reader was given a record, and the scenario has {readers}: nobody saw what the log held",
        )
    if names := exposure.unwitnessed:
        yield Reason(
            Verdict.UNKNOWN,
            f"hw-loss: nothing was examined of {first_of(names, MOST_NAMED)}: no reader was given a record, "
            "and no sample has a high watermark",
        )


def _replicas(exposure: Exposure) -> Iterator[Reason]:
    """Divergence hides in the one replica that nobody has read."""
    if unread := exposure.replicas_unread:
        yield Reason(Verdict.UNKNOWN, f"replicas were not read: {first_of(unread, MOST_NAMED)}")

"""What producers claim, laid over the final log: which log record is explained by an acknowledgement of
that place.

A *claim* is an ok send whose acknowledged offset holds a log record with its id. What claims nothing
(no offset, info, fail, or another record at that place) is the *residue*, which explain.py resolves by
id.
"""

from dataclasses import dataclass

import numpy as np

from checkers.history.tables import NONE, MalformedHistory, Outcome
from spark_verify.kernels.final_log import FinalLog
from spark_verify.partition_task import Bools, Columns, Ints, Unit

SEND_COLUMNS = ("producer", "sequence", "invoked_ns", "completed_ns", "outcome", "offset", "checksum")
NEVER = np.iinfo(np.int64).max
NOT_YET = np.iinfo(np.int64).min


@dataclass(slots=True, kw_only=True)
class SendCounts:
    """How many sends of a partition there are, by outcome; times in ns, NONE without any ack."""

    sends: int = 0
    ok: int = 0
    fail: int = 0
    ok_without_offset: int = 0
    ok_unread: int = 0
    """Acknowledged where nobody could read."""
    first_ack_ns: int = NONE
    last_ack_ns: int = NONE


class Claims:
    """`invoked_ns` and `completed_ns` of the ok send at each row of the log; NOT_YET and NEVER where
    there is none."""

    def __init__(self, unit: Unit, log: FinalLog) -> None:
        self._unit = unit
        self._log = log
        self.invoked_ns: Ints = np.full(len(log), NOT_YET)
        self.completed_ns: Ints = np.full(len(log), NEVER)
        self.counts = SendCounts()
        self.altered: list[Ints] = []
        """Rows that are claimed, with another checksum than was sent."""
        self._residue: list[Columns] = []
        self.total = 0
        """How many sends claim a row. More than there are claimed rows: two sends have one id."""

    def add(self, sends: Columns) -> None:
        """Lay one batch of sends over the log."""
        ok = self._count(sends)
        rows = self._log.rows_at(sends["offset"])
        # A send with a negative sequence is no send of ours: its id may be that of records without id.
        placed = np.flatnonzero(ok & (rows >= 0) & (sends["sequence"] >= 0))
        row = rows[placed]
        here = (self._log.sequence[row] == sends["sequence"][placed]) & (
            self._log.producer[row] == sends["producer"][placed]
        )
        if not here.all():
            placed, row = placed[here], row[here]
        self.invoked_ns[row] = sends["invoked_ns"][placed]
        self.completed_ns[row] = sends["completed_ns"][placed]
        self.total += len(row)
        altered = self._log.checksum[row] != sends["checksum"][placed]
        if altered.any():
            self.altered.append(row[altered])
        if len(placed) < len(ok):
            rest = np.ones(len(ok), bool)
            rest[placed] = False
            self._residue.append({name: column[rest] for name, column in sends.items()})

    def residue(self) -> Columns:
        """The sends that claim nothing, in file order."""
        if not self._residue:
            return {name: np.empty(0, np.int64) for name in SEND_COLUMNS}
        return {name: np.concatenate([part[name] for part in self._residue]) for name in SEND_COLUMNS}

    def claimed(self) -> Bools:
        """Which rows of the log are claimed; to be asked before other rows get times."""
        claimed: Bools = self.completed_ns != NEVER
        return claimed

    def _count(self, sends: Columns) -> Bools:
        outcome, offset, counts = sends["outcome"], sends["offset"], self.counts
        strange = outcome[(outcome < Outcome.OK) | (outcome > Outcome.INFO)]
        if strange.size:
            raise MalformedHistory(
                self._unit.path("sends"), f"outcome {strange[0]} is none of 0 ok, 1 fail, 2 info"
            )
        ok: Bools = outcome == Outcome.OK
        counts.sends += len(outcome)
        counts.ok += int(np.count_nonzero(ok))
        counts.fail += int(np.count_nonzero(outcome == Outcome.FAIL))
        counts.ok_without_offset += int(np.count_nonzero(ok & (offset == NONE)))
        window = self._unit.window
        if window and window.log_end > window.high_watermark:
            counts.ok_unread += int(np.count_nonzero(ok & window.unread(offset)))
        if ok.any():
            done = sends["completed_ns"] if ok.all() else sends["completed_ns"][ok]
            first, last = int(done.min()), int(done.max())
            counts.first_ack_ns = first if counts.ok == len(done) else min(counts.first_ack_ns, first)
            counts.last_ack_ns = max(counts.last_ack_ns, last)
        return ok


def acked_offsets(residue: Columns) -> Ints:
    """The offsets at which sends of the residue were acknowledged: something else is there, or nothing."""
    offset: Ints = residue["offset"]
    acked: Bools = (residue["outcome"] == Outcome.OK) & (offset != NONE)
    return offset[acked]

"""The acks of one partition laid over its final log: which log record is acknowledged in its place.

An ack is *placed* if it is an ok send whose acknowledged offset holds the log record with its id. All other
sends (no offset, info, fail, or another record at that offset) are *unplaced*: match_by_id.py searches their
ids in the log.

Arrays here have one entry for each *row* of the log (shape (log rows,)) or for each send of a batch.
"""

from dataclasses import dataclass

import numpy as np

from checkers.errors import MalformedHistory
from checkers.history.tables import NONE, Outcome
from spark_verify.kernels.final_log import FinalLog
from spark_verify.partition_task import Bools, Columns, Ints, PartitionTask

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
    """Acknowledged in [high watermark, log end), where no reader gets."""
    first_ack_ns: int = NONE
    last_ack_ns: int = NONE


class PlacedAcks:
    """The placed acks of a partition, taken batch by batch.

    Fields, for a log of n rows:
        log            that log
        invoked_ns     shape (n,), int64, ns: when the ok send of each row was invoked; NOT_YET without one
        completed_ns   shape (n,), int64, ns: when it was acknowledged; NEVER without one
        altered        arrays of shape (k,), int64: rows with another checksum than was sent
    """

    def __init__(self, task: PartitionTask, log: FinalLog) -> None:
        self._task = task
        self.log = log
        self.invoked_ns: Ints = np.full(len(log), NOT_YET)
        self.completed_ns: Ints = np.full(len(log), NEVER)
        self.counts = SendCounts()
        self.altered: list[Ints] = []
        self._unplaced: list[Columns] = []
        self.total = 0
        """How many acks are placed. More than there are rows with an ack: two sends have one id."""

    def add(self, sends: Columns) -> None:
        """Lay one batch of sends over the log: the columns SEND_COLUMNS, each of shape (batch rows,).

        Raises MalformedHistory for an unknown outcome.
        """
        ok = self._count(sends)
        rows = self.log.rows_at(sends["offset"])
        # A send with a negative sequence is no send of ours: its id may be that of records without id.
        placed = np.flatnonzero(ok & (rows >= 0) & (sends["sequence"] >= 0))
        row = rows[placed]
        here = (self.log.sequence[row] == sends["sequence"][placed]) & (
            self.log.producer[row] == sends["producer"][placed]
        )
        if not here.all():
            placed, row = placed[here], row[here]
        self.invoked_ns[row] = sends["invoked_ns"][placed]
        self.completed_ns[row] = sends["completed_ns"][placed]
        self.total += len(row)
        altered = self.log.checksum[row] != sends["checksum"][placed]
        if altered.any():
            self.altered.append(row[altered])
        if len(placed) < len(ok):
            rest = np.ones(len(ok), bool)
            rest[placed] = False
            self._unplaced.append({name: column[rest] for name, column in sends.items()})

    def unplaced(self) -> Columns:
        """The unplaced sends in file order: the columns SEND_COLUMNS, each of shape (unplaced sends,)."""
        if not self._unplaced:
            return {name: np.empty(0, np.int64) for name in SEND_COLUMNS}
        return {name: np.concatenate([part[name] for part in self._unplaced]) for name in SEND_COLUMNS}

    def rows_with_ack(self) -> Bools:
        """Shape (log rows,): which rows have a placed ack. Call it before other rows get times."""
        with_ack: Bools = self.completed_ns != NEVER
        return with_ack

    def answered_ns(self) -> Ints:
        """Shape (log rows,): `completed_ns`, but NEVER where the producer asked for no answer (acks=0)."""
        if not self._task.unanswered:
            return self.completed_ns
        unanswered = np.isin(self.log.producer, np.array(self._task.unanswered, np.int32))
        return np.where(unanswered, NEVER, self.completed_ns)

    def _count(self, sends: Columns) -> Bools:
        outcome, offset, counts = sends["outcome"], sends["offset"], self.counts
        strange = outcome[(outcome < Outcome.OK) | (outcome > Outcome.INFO)]
        if strange.size:
            raise MalformedHistory(
                self._task.path("sends"), f"outcome {strange[0]} is none of 0 ok, 1 fail, 2 info"
            )
        ok: Bools = outcome == Outcome.OK
        counts.sends += len(outcome)
        counts.ok += int(np.count_nonzero(ok))
        counts.fail += int(np.count_nonzero(outcome == Outcome.FAIL))
        counts.ok_without_offset += int(np.count_nonzero(ok & (offset == NONE)))
        window = self._task.window
        if window and window.log_end > window.high_watermark:
            counts.ok_unread += int(np.count_nonzero(ok & window.unread(offset)))
        if ok.any():
            done = sends["completed_ns"] if ok.all() else sends["completed_ns"][ok]
            first, last = int(done.min()), int(done.max())
            counts.first_ack_ns = first if counts.ok == len(done) else min(counts.first_ack_ns, first)
            counts.last_ack_ns = max(counts.last_ack_ns, last)
        return ok

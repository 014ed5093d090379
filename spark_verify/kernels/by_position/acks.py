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
from spark_verify.partition_task import Bools, Columns, Ints, PartitionTask, joined

SEND_COLUMNS = ("producer", "sequence", "invoked_ns", "completed_ns", "outcome", "offset", "checksum")
UNPLACED = (*SEND_COLUMNS, "row")
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

    def __add__(self, other: "SendCounts") -> "SendCounts":
        acked = [each for each in (self, other) if each.ok]
        return SendCounts(
            sends=self.sends + other.sends,
            ok=self.ok + other.ok,
            fail=self.fail + other.fail,
            ok_without_offset=self.ok_without_offset + other.ok_without_offset,
            ok_unread=self.ok_unread + other.ok_unread,
            first_ack_ns=min((each.first_ack_ns for each in acked), default=NONE),
            last_ack_ns=max((each.last_ack_ns for each in acked), default=NONE),
        )

    def add(self, task: PartitionTask, sends: Columns) -> Bools:
        """Count a batch of sends, and return which are ok; shape (batch rows,).

        Raises MalformedHistory for an unknown outcome.
        """
        outcome, offset = sends["outcome"], sends["offset"]
        strange = outcome[(outcome < Outcome.OK) | (outcome > Outcome.INFO)]
        if strange.size:
            raise MalformedHistory(
                task.path("sends"), f"outcome {strange[0]} is none of 0 ok, 1 fail, 2 info"
            )
        ok: Bools = outcome == Outcome.OK
        self.sends += len(outcome)
        self.ok += int(np.count_nonzero(ok))
        self.fail += int(np.count_nonzero(outcome == Outcome.FAIL))
        self.ok_without_offset += int(np.count_nonzero(ok & (offset == NONE)))
        window = task.window
        if window and window.log_end > window.high_watermark:
            self.ok_unread += int(np.count_nonzero(ok & window.unread(offset)))
        if ok.any():
            done = sends["completed_ns"] if ok.all() else sends["completed_ns"][ok]
            first, last = int(done.min()), int(done.max())
            self.first_ack_ns = first if self.ok == len(done) else min(self.first_ack_ns, first)
            self.last_ack_ns = max(self.last_ack_ns, last)
        return ok


class PlacedAcks:
    """The placed acks of a partition, or of a part, taken batch by batch.

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
        """Lay one batch of sends over the log: the columns SEND_COLUMNS and `row`, their numbers in their
        file; each of shape (batch rows,).

        Raises MalformedHistory for an unknown outcome.
        """
        ok = self.counts.add(self._task, sends)
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
        """The unplaced sends in file order: the columns UNPLACED, each of shape (unplaced sends,)."""
        return joined(UNPLACED, self._unplaced)

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

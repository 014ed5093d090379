"""What one partition lost, as blocks of anomalies: decided by position and by the ids at home, in numpy.

    acked-loss, unknown-offset-ack   an ok send without a copy in its home partition
    hw-loss                          what readers were given there, or what was acknowledged there below a
                                     sampled high watermark of its epoch; and holes below a sampled one
    read-uncommitted                 what readers were given and the log does not hold there
    same-for-all                     where they were given different records

The reference's rules for these look at one partition only. Only the *send* of a read may be one to another
partition: it is evidence, and fetched later (`orphans`).

Unplaced sends are m rows with the columns SEND_COLUMNS of acks.py, differing reads k rows with DIFFERING of
reads.py, both in file order. Holes have shape (h, 2): runs [first, end) of offsets.
"""

from dataclasses import dataclass

import numpy as np

from checkers.anomalies import AnomalyBlock
from checkers.history.tables import NONE, Outcome
from checkers.properties import Property
from spark_verify.kernels.anomalies.blocks import block
from spark_verify.kernels.anomalies.notes import DisagreementNote, FixedNote, GivenNote, NowAt
from spark_verify.kernels.by_id.given import Given, Senders, disagreements
from spark_verify.kernels.by_id.match_by_id import absent
from spark_verify.kernels.by_position.reads import COMMITTED_ROWS
from spark_verify.kernels.final_log import FinalLog
from spark_verify.kernels.ids import Ids
from spark_verify.partition_task import Bools, Columns, Ints, PartitionTask, Window

_SEND_EVIDENCE = ("offset", "producer", "sequence", "invoked_ns", "completed_ns")
_READ_EVIDENCE = ("offset", "producer", "sequence", "reader", "read_ns", "row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexplained:
    """A decided partition, with the sends and the reads that its log does not explain."""

    task: PartitionTask
    window: Window
    log: FinalLog
    unplaced: Columns
    copies: Ints
    """Shape (m,): how many log rows have the id of each unplaced send."""
    differing: Columns
    given: Given
    senders: Senders
    """Of each (offset, id) of `given`."""
    matched: Bools
    """Shape (log rows,): rows that a reader was given as they are, among those at differing reads' offsets.
    """

    def decided_acks(self) -> Bools:
        """Shape (m,): which unplaced sends are acks about which the final log decides."""
        acked: Bools = self.unplaced["outcome"] == Outcome.OK
        return acked & ~self.window.unread(self.unplaced["offset"])

    def contradicted(self, offset: Ints) -> Bools:
        """Which differing reads, by their offsets (any shape), the final log contradicts."""
        decided: Bools = (offset >= self.window.log_start) & ~self.window.unread(offset)
        return decided

    def now_at(self, offset: Ints) -> NowAt:
        """What the log holds at j offsets."""
        return NowAt.of(self.log, self.window, offset)


def lost_acks(its: Unexplained) -> list[AnomalyBlock]:
    """acked-loss and unknown-offset-ack."""
    lost = np.flatnonzero(absent(its.unplaced, its.copies) & its.decided_acks())
    sends = _sends(its, lost[np.argsort(its.unplaced["offset"][lost], kind="stable")])
    without = sends["offset"] == NONE
    unknown = {name: column[without] for name, column in sends.items()}
    nowhere = FixedNote("acknowledged without an offset, nowhere in the log")
    return [
        block(Property.ACKED_LOSS, its.task, sends, its.now_at(sends["offset"])),
        block(Property.UNKNOWN_OFFSET_ACK, its.task, unknown, nowhere),
    ]


def lost_reads(its: Unexplained) -> list[AnomalyBlock]:
    """read-uncommitted and same-for-all."""
    offset = its.differing["offset"][its.given.content]
    contents = np.flatnonzero(its.contradicted(offset))
    reads = _reads(its, its.given.content[contents], its.given.of[contents])
    reads["under_epoch"] = its.given.epoch[contents]
    differ = disagreements(its.differing, its.given, its.log, its.matched)
    names = {name: differ.records[name] for name in ("producer", "sequence", "checksum")}
    note = DisagreementNote(edges=differ.edges, **names)
    return [
        block(Property.READ_UNCOMMITTED, its.task, reads, _given_note(its, reads)),
        block(Property.SAME_FOR_ALL, its.task, {"offset": differ.offset}, note),
    ]


def lost_below_watermark(its: Unexplained) -> AnomalyBlock:
    """The hw-loss of records that an ack or a read names; where both do, the ack is the evidence."""
    witnesses = _acks_below_watermark(its)
    acks = _sends(its, np.flatnonzero(witnesses))
    acks |= {name: np.full(len(acks["offset"]), NONE) for name in ("seen_ns", "reader", "row")}
    offset, source = its.differing["offset"][its.given.first], its.senders.unplaced
    named = (source >= 0) & (its.senders.acked_offset == offset)
    named[named] = witnesses[source[named]]
    groups = np.flatnonzero(its.contradicted(offset) & ~named)
    reads = _reads(its, its.given.first[groups], groups)
    both = {name: np.concatenate((column, reads[name])) for name, column in acks.items()}
    order = np.argsort(both["offset"], kind="stable")
    both = {name: column[order] for name, column in both.items()}
    return block(Property.HW_LOSS, its.task, both, _given_note(its, both, given=order >= len(acks["offset"])))


def orphans(its: Unexplained) -> Ids:
    """The ids that readers were given, that the log contradicts, and that nobody sent to this partition."""
    rows = its.given.first[~its.senders.known]
    rows = rows[its.contradicted(its.differing["offset"][rows])]
    return Ids.of({name: its.differing[name][rows] for name in ("producer", "sequence")})


def _acks_below_watermark(its: Unexplained) -> Bools:
    """Shape (m,): which acks left a place that was below the high watermark of the epoch that gave them.

    The samples of that epoch begin before the send and end after its acknowledgement.
    """
    offset, found = its.unplaced["offset"], np.zeros(len(its.unplaced["offset"]), bool)
    rows = np.flatnonzero(its.decided_acks() & (offset >= its.window.log_start) & _left(its))
    invoked_ns, completed_ns, at = (
        its.unplaced[name][rows] for name in ("invoked_ns", "completed_ns", "offset")
    )
    for _, first_ns, last_ns, highest in its.task.epochs:
        found[rows[(first_ns <= invoked_ns) & (completed_ns <= last_ns) & (at < highest)]] = True
    return found


def _left(its: Unexplained) -> Bools:
    """Shape (m,): at whose acknowledged offset the log has no record of that id."""
    row = its.log.rows_at(its.unplaced["offset"])
    left = row < 0
    there = np.flatnonzero(~left)
    left[there] = (its.log.sequence[row[there]] != its.unplaced["sequence"][there]) | (
        its.log.producer[row[there]] != its.unplaced["producer"][there]
    )
    return left


def _sends(its: Unexplained, places: Ints) -> Columns:
    """The evidence of some unplaced sends."""
    sends = {name: its.unplaced[name][places] for name in _SEND_EVIDENCE}
    return sends | {"acked_offset": sends["offset"]}


def _reads(its: Unexplained, rows: Ints, groups: Ints) -> Columns:
    """The evidence of some differing reads, each with its (offset, id) in `given`."""
    columns = {name: its.differing[name][rows] for name in _READ_EVIDENCE}
    columns["seen_ns"] = columns.pop("read_ns")
    return columns | {
        "invoked_ns": its.senders.invoked_ns[groups],
        "completed_ns": its.senders.completed_ns[groups],
        "acked_offset": its.senders.acked_offset[groups],
    }


def _given_note(its: Unexplained, reads: Columns, given: Bools | None = None) -> GivenNote:
    """`given`: which of them a reader is the witness of; None: all."""
    return GivenNote(
        now_at=its.now_at(reads["offset"]),
        given=np.ones(len(reads["offset"]), bool) if given is None else given,
        committed=reads["row"] >= COMMITTED_ROWS,
        reader=reads["reader"],
        producer=reads["producer"],
        sequence=reads["sequence"],
    )

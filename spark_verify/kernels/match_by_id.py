"""Matches by id what no placed ack explains by position: what is lost, and what the rules by id decide on.

All of it is about one partition. What is at home in another one matches nothing here; pass 2 finds it.

Arrays have one entry for each row of the log (shape (n,), n log rows), for each unplaced send (shape (m,)),
or for each of some chosen rows (shape (k,)); rows and places in arrays are int64.
"""

from dataclasses import dataclass

import numpy as np

from checkers.history.tables import NONE, Outcome
from spark_verify.kernels.acks import PlacedAcks
from spark_verify.kernels.final_log import FinalLog
from spark_verify.kernels.ids import Ids, match
from spark_verify.partition_task import Bools, Columns, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """What the ids of m unplaced sends and of the log rows without a placed ack say about each other."""

    copies: Ints
    """Shape (m,): how many log rows of this partition have the id of each send; 2 if the one is altered."""
    strays: Ids
    """Of the log rows that no unplaced send of this partition explains; some more than once."""


def match_by_id(log: FinalLog, acks: PlacedAcks, with_ack: Bools, unplaced: Columns) -> Matched:
    """Search the log for the ids of the m sends that are not placed.

    `with_ack`, shape (n,), is which rows have a placed ack. Rows that are copies out of place get the times
    of their ok sends in `acks`: those stand in real time too.
    """
    rows = np.flatnonzero(~with_ack)
    if not rows.size:
        return Matched(copies=np.zeros(len(unplaced["outcome"]), np.int64), strays=Ids.none())
    ids = log.ids()[rows]
    source = match(ids, Ids.of(unplaced))
    known = source >= 0
    copies = np.bincount(source[known], minlength=len(unplaced["outcome"]))
    altered = log.checksum[rows[known]] != unplaced["checksum"][source[known]]
    copies[source[known][altered]] = 2  # no longer the one copy that explains
    acked = np.flatnonzero(known)
    acked = acked[unplaced["outcome"][source[acked]] == Outcome.OK]
    sends = source[acked]
    _give_times(acks, rows[acked], unplaced["invoked_ns"][sends], unplaced["completed_ns"][sends])
    _give_times_of_placed(log, acks, rows[~known], ids[~known], with_ack)
    return Matched(copies=copies, strays=ids[~known])


def present_otherwise(unplaced: Columns, copies: Ints) -> Bools:
    """Shape (m,): which sends have a copy here that a rule by id must decide on: not the one intact copy that
    an info send, or an ack without an offset, may have. Nameless sends (NO_ID) are among them.
    """
    outcome, has_offset = unplaced["outcome"], unplaced["offset"] != NONE
    may_be_there = (outcome == Outcome.INFO) | ((outcome == Outcome.OK) & ~has_offset)
    otherwise: Bools = (copies > 1) | ((copies == 1) & ~may_be_there) | Ids.of(unplaced).nameless()
    return otherwise


def absent(unplaced: Columns, copies: Ints) -> Bools:
    """Shape (m,): which acknowledged sends have no copy in their home partition. What has no id (NO_ID) is no
    copy of anything."""
    gone: Bools = (unplaced["outcome"] == Outcome.OK) & ((copies == 0) | Ids.of(unplaced).nameless())
    return gone


def placed_rows(log: FinalLog, ids: Ids, with_ack: Bools) -> Ints:
    """The row of the placed ack of each of k ids, -1 where there is none; shape (k,).

    `with_ack`, shape (n,), is which rows have a placed ack.
    """
    if not len(ids):
        return np.empty(0, np.int64)
    among = np.flatnonzero(with_ack)
    source = match(ids, log.ids()[among])
    rows = np.full(len(ids), -1)
    rows[source >= 0] = among[source[source >= 0]]
    return rows


def _give_times_of_placed(log: FinalLog, acks: PlacedAcks, rows: Ints, ids: Ids, with_ack: Bools) -> None:
    """Give k rows the times of the placed ack with their id: they are second copies of an ok record.

    `rows`, shape (k,), and `ids`, k of them, are those rows; `with_ack`, shape (n,), as above.
    """
    original = placed_rows(log, ids, with_ack)
    found = original >= 0
    original = original[found]
    _give_times(acks, rows[found], acks.invoked_ns[original], acks.completed_ns[original])


def _give_times(acks: PlacedAcks, rows: Ints, invoked_ns: Ints, completed_ns: Ints) -> None:
    """Set the times, each of shape (k,), int64, ns, of k rows."""
    acks.invoked_ns[rows] = invoked_ns
    acks.completed_ns[rows] = completed_ns

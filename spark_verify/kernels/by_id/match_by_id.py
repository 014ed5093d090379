"""Matches by id what no placed ack explains by position: what is lost, and what the rules by id decide on.

All of it is about one partition. What is at home in another one matches nothing here; pass 2 finds it.

Arrays have one entry for each record of a residue (shape (n,)), for each unplaced send (shape (m,)), or for
each of some chosen rows (shape (k,)); rows and places in arrays are int64.
"""

from dataclasses import dataclass

import numpy as np

from checkers.history.tables import NONE, Outcome
from spark_verify.kernels.by_id.residue import Residue
from spark_verify.kernels.final_log import FinalLog
from spark_verify.kernels.ids import Ids, match
from spark_verify.partition_task import Bools, Columns, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Times of sends for k rows of a residue, each of shape (k,)."""

    rows: Ints
    invoked_ns: Ints
    completed_ns: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """What the ids of m unplaced sends and of the records without a placed ack say about each other."""

    copies: Ints
    """Shape (m,): how many records of this partition have the id of each send; 2 if the one is altered."""
    strays: Ids
    """Of the records that no unplaced send of this partition explains; some more than once."""
    given: Times
    """Of the records that are copies out of place of ok sends: those stand in real time too."""


def match_by_id(residue: Residue) -> Matched:
    """Search the log for the ids of the m sends that are not placed."""
    log, unplaced, with_ack = residue.log, residue.unplaced, residue.with_ack()
    rows = np.flatnonzero(~with_ack)
    ids = log.ids()[rows]
    source = match(ids, Ids.of(unplaced))
    known = source >= 0
    copies = np.bincount(source[known], minlength=len(unplaced["outcome"]))
    altered = log.checksum[rows[known]] != unplaced["checksum"][source[known]]
    copies[source[known][altered]] = 2  # no longer the one copy that explains
    acked = np.flatnonzero(known)
    acked = acked[unplaced["outcome"][source[acked]] == Outcome.OK]
    original = placed_rows(log, ids[~known], with_ack)
    copied = rows[~known][original >= 0]
    original = original[original >= 0]
    given = Times(
        rows=np.concatenate((rows[acked], copied)),
        invoked_ns=np.concatenate((unplaced["invoked_ns"][source[acked]], residue.invoked_ns[original])),
        completed_ns=np.concatenate(
            (unplaced["completed_ns"][source[acked]], residue.completed_ns[original])
        ),
    )
    return Matched(copies=copies, strays=ids[~known], given=given)


def unresolved(residue: Residue) -> Ids:
    """The ids of records without a placed ack and of differing reads that no unplaced send has, each once.

    If a placed ack has one of them, its record belongs into the residue: its send is evidence.
    """
    sends, differing = Ids.of(residue.unplaced), Ids.of(residue.differing)
    own = acked_there(residue.differing["offset"], differing, residue.unplaced["offset"], sends) >= 0
    ids = Ids.joined([residue.log.ids()[~residue.with_ack()], differing[~own]]).unique()
    return ids[match(ids, sends) < 0]


def acked_there(offset: Ints, ids: Ids, acked: Ints, sends: Ids) -> Ints:
    """For each of g reads the place of the first send acknowledged at its offset, if it is its own; else -1.

    `offset` and the answer have shape (g,), `acked` shape (m,).
    """
    if not len(acked) or not len(offset):
        return np.full(len(offset), -1)
    order = np.argsort(acked, kind="stable")
    nearest = order[np.minimum(np.searchsorted(acked[order], offset), len(order) - 1)]
    own = (acked[nearest] == offset) & (sends.producer[nearest] == ids.producer)
    own &= sends.sequence[nearest] == ids.sequence
    return np.where(own, nearest, -1)


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

    `with_ack`, shape (log rows,), is which rows have a placed ack.
    """
    if not len(ids):
        return np.empty(0, np.int64)
    among = np.flatnonzero(with_ack)
    source = match(ids, log.ids()[among])
    rows = np.full(len(ids), -1)
    rows[source >= 0] = among[source[source >= 0]]
    return rows

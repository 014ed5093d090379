"""Matches by id what no placed ack explains by position, and names the ids that the rules decide on.

All of it is about one partition. What is at home in another one matches nothing here; pass 2 finds it.

Arrays have one entry for each row of the log (shape (n,), n log rows), for each unplaced send (shape (m,)),
or for each of some chosen rows (shape (k,)); rows and places in arrays are int64.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.tables import NONE, Outcome
from spark_verify.kernels.acks import PlacedAcks
from spark_verify.kernels.final_log import FinalLog
from spark_verify.kernels.ids import Ids, match
from spark_verify.partition_task import Bools, Columns, Ints


def unexplained_ids(log: FinalLog, acks: PlacedAcks, with_ack: Bools, unplaced: Columns) -> Ids:
    """The ids of this partition about which a rule might have something to report; some more than once.

    `with_ack`, shape (n,), is which rows have a placed ack; `unplaced` are the m other sends. Rows that are
    copies out of place get the times of their ok sends in `acks`: those stand in real time too.
    """
    rows = np.flatnonzero(~with_ack)
    if not rows.size:
        return Ids.of(unplaced)[_unexplained(unplaced, np.zeros(len(unplaced["outcome"]), np.int64))]
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
    return Ids.joined([Ids.of(unplaced)[_unexplained(unplaced, copies)], ids[~known]])


def _unexplained(unplaced: Columns, copies: Ints) -> Bools:
    """Shape (m,): which sends are neither absent and allowed to be, nor there once, intact, and allowed to
    be.

    `copies`, shape (m,), int64, is how many log rows of this partition have the id of each send.
    """
    outcome, has_offset = unplaced["outcome"], unplaced["offset"] != NONE
    acked = outcome == Outcome.OK
    absent = (copies == 0) & ~acked
    present = (copies == 1) & ((outcome == Outcome.INFO) | (acked & ~has_offset))
    unexplained: Bools = ~(absent | present) | Ids.of(unplaced).nameless()
    return unexplained


def _give_times_of_placed(log: FinalLog, acks: PlacedAcks, rows: Ints, ids: Ids, with_ack: Bools) -> None:
    """Give k rows the times of the placed ack with their id: they are second copies of an ok record.

    `rows`, shape (k,), and `ids`, k of them, are those rows; `with_ack`, shape (n,), as above.
    """
    if not rows.size:
        return
    values = pa.array(np.unique(ids.sequence))
    listed = pc.is_in(pa.array(log.sequence), value_set=values).to_numpy(zero_copy_only=False)
    among = np.flatnonzero(listed & with_ack)
    source = match(ids, log.ids()[among])
    found = source >= 0
    original = among[source[found]]
    _give_times(acks, rows[found], acks.invoked_ns[original], acks.completed_ns[original])


def _give_times(acks: PlacedAcks, rows: Ints, invoked_ns: Ints, completed_ns: Ints) -> None:
    """Set the times, each of shape (k,), int64, ns, of k rows."""
    acks.invoked_ns[rows] = invoked_ns
    acks.completed_ns[rows] = completed_ns

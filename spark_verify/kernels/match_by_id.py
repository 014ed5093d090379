"""Explains by id what no claim explains by place, and names the ids that are left for the reference rules.

All of it is about one partition; what is at home in another partition is unexplained here, and found in
pass 2.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.tables import NONE, Outcome
from spark_verify.kernels.acks import Claims
from spark_verify.kernels.final_log import FinalLog
from spark_verify.kernels.ids import Ids, match
from spark_verify.partition_task import Bools, Columns, Ints


def explain(log: FinalLog, claims: Claims, claimed: Bools, residue: Columns) -> Ids:
    """The ids of this partition about which a rule might have something to say; some more than once.

    Gives the times of their ok sends to the rows that are copies out of place: those stand in real time too.
    """
    rows = np.flatnonzero(~claimed)
    if not rows.size:
        return Ids.of(residue)[_unexplained(residue, np.zeros(len(residue["outcome"]), np.int64))]
    ids = log.ids()[rows]
    source = match(ids, Ids.of(residue))
    known = source >= 0
    copies = np.bincount(source[known], minlength=len(residue["outcome"]))
    altered = log.checksum[rows[known]] != residue["checksum"][source[known]]
    copies[source[known][altered]] = 2  # no longer the one copy that explains
    acked = np.flatnonzero(known)
    acked = acked[residue["outcome"][source[acked]] == Outcome.OK]
    sends = source[acked]
    _give_times(claims, rows[acked], residue["invoked_ns"][sends], residue["completed_ns"][sends])
    _give_times_of_claims(log, claims, rows[~known], ids[~known], claimed)
    return Ids.joined([Ids.of(residue)[_unexplained(residue, copies)], ids[~known]])


def _unexplained(residue: Columns, copies: Ints) -> Bools:
    """Which sends are neither absent and allowed to be, nor there once, intact, and allowed to be."""
    outcome, placed = residue["outcome"], residue["offset"] != NONE
    acked = outcome == Outcome.OK
    absent = (copies == 0) & ~acked
    present = (copies == 1) & ((outcome == Outcome.INFO) | (acked & ~placed))
    unexplained: Bools = ~(absent | present) | Ids.of(residue).nameless()
    return unexplained


def _give_times_of_claims(log: FinalLog, claims: Claims, rows: Ints, ids: Ids, claimed: Bools) -> None:
    """The times of rows whose id is claimed by another row: second copies of an ok record."""
    if not rows.size:
        return
    values = pa.array(np.unique(ids.sequence))
    listed = pc.is_in(pa.array(log.sequence), value_set=values).to_numpy(zero_copy_only=False)
    among = np.flatnonzero(listed & claimed)
    source = match(ids, log.ids()[among])
    found = source >= 0
    original = among[source[found]]
    _give_times(claims, rows[found], claims.invoked_ns[original], claims.completed_ns[original])


def _give_times(claims: Claims, rows: Ints, invoked_ns: Ints, completed_ns: Ints) -> None:
    claims.invoked_ns[rows] = invoked_ns
    claims.completed_ns[rows] = completed_ns

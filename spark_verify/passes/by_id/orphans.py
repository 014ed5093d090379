"""Adds to what readers were given the sends that were made to other partitions: evidence that pass 1 lacks.

A record that was read in a partition that it was not sent to is a phantom, or its copy was. That
it is lost there is decided without its send; when that was made and acknowledged, its home partition knows.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from checkers.anomalies import AnomalyBlock
from checkers.history.tables import NONE, Outcome
from checkers.properties import Property
from spark_verify.kernels.ids import Ids, match
from spark_verify.partition_task import Columns, Ints
from spark_verify.passes.by_id.fetch import Fetched
from spark_verify.passes.partition.scan import Suspects

_GIVEN = (Property.HW_LOSS, Property.READ_UNCOMMITTED)
"""Whose anomalies may have a reader for a witness."""
_SEND_COLUMNS = ("producer", "sequence", "outcome", "offset", "invoked_ns", "completed_ns")


def with_senders(suspects: Sequence[Suspects], fetched: Sequence[Fetched]) -> list[AnomalyBlock]:
    """The blocks of all partitions, with what the fetched sends say about their orphans."""
    if not any(len(its.orphans) for its in suspects):
        return [block for its in suspects for block in its.blocks]
    sends = {
        name: np.concatenate([part.sends[name].to_numpy() for part in fetched]) for name in _SEND_COLUMNS
    }
    return [_completed(block, its.orphans, sends) for its in suspects for block in its.blocks]


def _completed(block: AnomalyBlock, orphans: Ids, sends: Columns) -> AnomalyBlock:
    """The columns of `sends` have shape (fetched sends,)."""
    if block.property not in _GIVEN or not len(orphans):
        return block
    ids = Ids.of({"producer": block.producer, "sequence": block.sequence})
    rows = np.flatnonzero(match(ids, orphans) >= 0)
    source = match(ids[rows], Ids.of(sends))
    rows, source = rows[source >= 0], source[source >= 0]
    offset, completed_ns = sends["offset"][source], sends["completed_ns"][source]
    acked_there = (sends["outcome"][source] == Outcome.OK) & (offset == block.offset[rows])
    return replace(
        block,
        invoked_ns=_set(block.invoked_ns, rows, sends["invoked_ns"][source]),
        completed_ns=_set(block.completed_ns, rows, np.where(acked_there, completed_ns, NONE)),
        acked_offset=_set(block.acked_offset, rows, offset),
    )


def _set(column: Ints, rows: Ints, values: Ints) -> Ints:
    changed = column.copy()
    changed[rows] = values
    return changed

"""The steps of read_committed readers that tail the log: where they go back, or leave out what is visible.

`reads` are the columns READ_COLUMNS of reads.py and `row`, of all that read_committed readers were given of a
partition, in file order: shape (reads,) each.
"""

import numpy as np

from checkers.history.records.transactions import FINAL_READER
from spark_verify.kernels.by_position.reads import JUMP_COLUMNS, Streams
from spark_verify.partition_task import Columns

_CONTENT = ("offset", "producer", "sequence", "checksum", "leader_epoch")


def committed_leaps(reads: Columns) -> Columns:
    """The columns JUMP_COLUMNS of the reads that do not rise above the one before them, or skip a record that
    the fresh reader was given: if that was given the read itself, too, of the same batch."""
    fresh = reads["reader"] == FINAL_READER
    final = {name: reads[name][fresh] for name in _CONTENT}
    order = np.argsort(final["offset"], kind="stable")
    final = {name: column[order] for name, column in final.items()}
    streams = Streams()
    streams.add({name: column[~fresh] for name, column in reads.items()}, 0, run=False)
    jumps = streams.jumps()
    jumped = np.flatnonzero(~fresh)[jumps["row"]]
    first = np.searchsorted(final["offset"], jumps["before"] + 1)
    bad = jumps["offset"] <= jumps["before"]
    for at in np.flatnonzero(~bad & (first < np.searchsorted(final["offset"], jumps["offset"]))).tolist():
        read = {name: reads[name][jumped[at]] for name in _CONTENT}
        same = np.logical_and.reduce([final[name] == read[name] for name in _CONTENT])
        bad[at] = same.any()
    return {name: jumps[name][bad] for name in JUMP_COLUMNS}

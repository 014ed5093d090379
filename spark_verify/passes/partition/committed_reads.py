"""What read_committed readers were given of one partition, on a worker: rows of the one file of that table.

Memory: the columns of the partition that are asked for, as a whole.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from checkers.history.load import read_groups
from checkers.history.tables import unit_path
from checkers.places import place_of
from spark_verify.partition_task import Columns, PartitionTask, joined, values_of

READS = "transaction_reads"


def committed_reads(task: PartitionTask, columns: Sequence[str]) -> Columns:
    """The rows of the partition, whatever part of it the task is, in file order: these columns, and as `row`
    how many of them lie before; raises MalformedHistory."""
    path = unit_path(place_of(task.history_dir), READS)
    parts = []
    for group in read_groups(path, READS, columns=("topic", "partition", *columns)):
        here = pc.and_(pc.equal(group["topic"], task.topic), pc.equal(group["partition"], task.partition))
        for rows in group.filter(here).to_batches():
            parts.append({name: values_of(path, name, rows.column(name)) for name in columns})
    found = joined(columns, parts)
    return found | {"row": np.arange(len(found[columns[0]]))}

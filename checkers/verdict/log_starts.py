"""Which partitions' logs begin later in the end of a run than they did in it."""

from collections.abc import Iterator
from dataclasses import dataclass

from checkers.history.columnar import columns_of
from checkers.history.rows import Context, TopicPartition
from checkers.history.tables import NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedLogStart:
    """A partition that was seen to begin at offset `first`, and begins at `last` in the end."""

    tp: TopicPartition
    first: int
    last: int


def moved_log_starts(context: Context) -> Iterator[MovedLogStart]:
    """Those that the final read reached, and of which an earlier log start was sampled."""
    samples = columns_of(context.watermarks, ("topic", "partition", "log_start"))
    starts = samples["log_start"]
    for proof in context.proofs:
        here = (samples["topic"] == proof.topic) & (samples["partition"] == proof.partition)
        first = int(starts[here & (starts != NONE)].min(initial=proof.log_start))
        if first < proof.log_start:
            yield MovedLogStart(tp=proof.tp, first=first, last=proof.log_start)

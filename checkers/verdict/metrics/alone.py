"""How much a leader committed while it was the only replica in sync.

Invariant: what counts is the rise of a high watermark between two samples of one leader, under one epoch, of
which each, and each in between, names the leader alone as in sync.
Evidence: the samples of watermarks: each broker is asked by itself, for the in-sync replicas too.
Counterexample to "the ISR shrank to the leader, so it acknowledged alone":
    the ISR is {1}, min.insync.replicas is 2: every write is refused, and the high watermark stands still
"""

from collections.abc import Iterable

from checkers.history.rows import TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.verdict.metrics.metric import Measured


def committed_alone(watermarks: Iterable[Watermark]) -> Measured:
    """Offsets, of the partition with the most; unknown without a sample of a leader."""
    since: dict[tuple[TopicPartition, int, int], int] = {}
    most, where, sampled = 0, "", False
    for sample in watermarks:
        if NONE in (sample.leader, sample.leader_epoch, sample.high_watermark):
            continue
        sampled = True
        key = (sample.tp, sample.leader, sample.leader_epoch)
        if sample.isr != (sample.leader,):
            since.pop(key, None)
            continue
        rose = sample.high_watermark - since.setdefault(key, sample.high_watermark)
        if rose > most:
            most, where = rose, str(sample.tp)
    if not sampled:
        return Measured(value=None, unknown="no broker was sampled as a leader")
    return Measured(value=float(most), where=where)

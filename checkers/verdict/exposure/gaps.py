"""The longest times that a partition went without an acknowledgement."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE

Times = NDArray[np.int64]
"""Shape (acks of one partition,), ns of the run's clock, ascending."""
SECOND_NS = 1_000_000_000
MOST_OF_ONE = 20
"""The gaps of one partition that are kept, the longest first: one bound decides by all that exceed it, and
the longest may not be the one that counts."""

SLICE = 1 << 20
"""So many acks are looked at together: what is made of them takes memory too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """No ack of `tp` came between these two times."""

    tp: TopicPartition
    from_ns: int
    to_ns: int

    @property
    def length_ns(self) -> int:
        """How long it was."""
        return self.to_ns - self.from_ns

    @property
    def length_s(self) -> float:
        """How long it was, to the millisecond."""
        return round(self.length_ns / SECOND_NS, 3)


def longest_gaps(
    acks: Mapping[TopicPartition, Times], load_ended_ns: int, *, load_began_ns: int = NONE
) -> tuple[Gap, ...]:
    """The gaps between the first ack of each partition and the end of the load, the longest first.

    `load_ended_ns` -1: it is not known, and the last ack ends the last gap. A partition without an ack went
    without for the whole load, which began at `load_began_ns` (-1: not known, and the partition has no gap).
    """
    ended_ns = max([load_ended_ns, load_began_ns, *(int(times[-1]) for times in acks.values() if len(times))])
    gaps: list[Gap] = []
    for tp, times in acks.items():
        if len(times):
            gaps.extend(_of_one(tp, times, load_ended_ns))
        elif load_began_ns != NONE:
            gaps.append(Gap(tp=tp, from_ns=load_began_ns, to_ns=ended_ns))
    return tuple(sorted(gaps, key=lambda gap: -gap.length_ns))


def _of_one(tp: TopicPartition, times: Times, load_ended_ns: int) -> list[Gap]:
    last = int(times[-1])
    found = [Gap(tp=tp, from_ns=last, to_ns=max(load_ended_ns, last))]
    for begin in range(0, len(times), SLICE):  # each with the first of the next
        bounds = times[begin : begin + SLICE + 1]
        longest = np.argsort(bounds[:-1] - bounds[1:], kind="stable")[:MOST_OF_ONE]
        found += [Gap(tp=tp, from_ns=int(bounds[at]), to_ns=int(bounds[at + 1])) for at in longest.tolist()]
    return sorted(found, key=lambda gap: (-gap.length_ns, gap.from_ns))[:MOST_OF_ONE]

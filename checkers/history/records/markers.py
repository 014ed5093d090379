"""Where an empty offset of a log lost no record: the ends of transactions occupy offsets, too.

A broker writes a marker of its own into each partition of a transaction that ends. No reader is given it:
only the disks show that it is there. So in a run with transactions an empty offset is a hole only where a
disk was read that reaches so far, and has no marker there.

A marker counts if every replica has it that was read as a whole and reaches its offset: a forged one on one
disk explains nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.history.rows import Context, Marker, Replica, TopicPartition
from checkers.history.tables import NONE

FAR = 1 << 62
"""Behind every offset: what a broker that stopped cleanly has not got is nowhere on its disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyOffsets:
    """Of one partition of a run with transactions: what an empty offset means.

    In [known_from, known_to) the disks show it: at an offset of `marked` there is a marker, and at any other
    a record is missing. Elsewhere nobody knows.
    """

    marked: frozenset[int] = frozenset()
    known_from: int = 0
    known_to: int = 0

    def is_hole(self, offset: int) -> bool:
        """Whether a record is missing at an empty offset."""
        return self.known_from <= offset < self.known_to and offset not in self.marked

    def unknown(self, first: int, end: int) -> int:
        """Of how many offsets in [first, end) nobody knows what it means if they are empty."""
        known = min(end, self.known_to) - max(first, self.known_from)
        return max(0, end - first) - max(0, known)


EVERY_HOLE = EmptyOffsets(known_from=-FAR, known_to=FAR)
"""Of a run without transactions: each empty offset is a hole."""


def empty_offsets(context: Context) -> Mapping[TopicPartition, EmptyOffsets]:
    """For each partition; nothing at all for a history without transactions."""
    if not context.transactions:
        return {}
    markers: dict[TopicPartition, list[Marker]] = defaultdict(list)
    replicas: dict[TopicPartition, list[Replica]] = defaultdict(list)
    for marker in context.markers:
        markers[marker.tp].append(marker)
    for row in context.replicas if "markers" in context.collected else ():
        if row.complete:
            replicas[row.tp].append(row)
    return {tp: _of_partition(markers[tp], replicas[tp]) for tp in context.partitions}


def counted(context: Context) -> Mapping[TopicPartition, Sequence[Marker]]:
    """The markers of each partition that count, by offset."""
    known = empty_offsets(context)
    found: dict[TopicPartition, list[Marker]] = defaultdict(list)
    for marker in sorted(context.markers, key=lambda row: (row.tp, row.offset)):
        if marker.tp in known and marker.offset in known[marker.tp].marked:
            found[marker.tp].append(marker)
    return found


def _of_partition(markers: Sequence[Marker], replicas: Sequence[Replica]) -> EmptyOffsets:
    if not replicas:
        return EmptyOffsets()
    return EmptyOffsets(
        marked=frozenset(_marked(markers, replicas)),
        known_from=min(row.log_start for row in replicas),
        known_to=max(FAR if row.clean else row.log_end for row in replicas),
    )


def _marked(markers: Sequence[Marker], replicas: Sequence[Replica]) -> Iterator[int]:
    for marker in markers:
        reaching = {row.broker for row in replicas if row.log_start <= marker.offset < row.log_end}
        if marker.offset != NONE and reaching and reaching <= set(marker.brokers):
            yield marker.offset

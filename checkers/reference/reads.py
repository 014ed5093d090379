"""Readers: what one reader is given rises without holes, and all readers are given the same.

Invariant: within one generation of a reader, offsets rise and skip nothing that exists; an offset has one
record.
Evidence: what the readers wrote down, in the order they were given it. A seek or assignment begins another
generation.
Counterexample:
    reader 0, generation 1, is given offsets 4, 5, 7 of orders-0, and the final log has a record at offset 6
    the hole covers offset 6: monotone-read, at offset 7
    reader 1 is given 2/9 at offset 5, where reader 0 got 1/7: same-for-all, at offset 5

A read_committed reader leaves out what was aborted. It skips a record only if a fresh one is given that in
the end, and if what it was given behind it is there still, of the same batch: else another leader's log may
have had other records in between.

That a reader was given what did not stay is read-uncommitted: see high_watermark.py.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.rows import Read, RecordId, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule


def monotone_read(facts: Facts) -> Iterator[Anomaly]:
    """A read that does not rise above the one before it, or skips a record of the log; of a read_committed
    reader, one that is visible. Subset: whole.

    `invoked_ns` and `acked_offset` are the time and the offset of the read before.
    """
    for before, read in _steps(facts.reads):
        skipped = any((read.tp, o) in facts.at for o in range(before.offset + 1, read.offset))
        if read.offset <= before.offset or skipped:
            yield _leap("reader", before, read)
    kept = {_content(read) for read in facts.committed_at_last}
    visible: dict[TopicPartition, set[int]] = defaultdict(set)
    for read in facts.committed_at_last:
        visible[read.tp].add(read.offset)
    for before, read in _steps(facts.committed_reads):
        skipped = any(o in visible[read.tp] for o in range(before.offset + 1, read.offset))
        if read.offset <= before.offset or (skipped and _content(read) in kept):
            yield _leap("read_committed reader", before, read)


def _steps(reads: Sequence[Read]) -> Iterator[tuple[Read, Read]]:
    """Each read of a generation of a reader, with the one before it."""
    streams: dict[tuple[TopicPartition, int, int], list[Read]] = defaultdict(list)
    for read in reads:
        streams[read.tp, read.reader, read.generation].append(read)
    return (step for stream in streams.values() for step in pairwise(stream))


def _content(read: Read) -> tuple[TopicPartition, int, RecordId, int, int]:
    return read.tp, read.offset, read.id, read.checksum, read.leader_epoch


def _leap(who: str, before: Read, read: Read) -> Anomaly:
    return Anomaly(
        property=Property.MONOTONE_READ,
        topic=read.topic,
        partition=read.partition,
        offset=read.offset,
        producer=read.reader,
        sequence=read.generation,
        invoked_ns=before.read_ns,
        completed_ns=read.read_ns,
        acked_offset=before.offset,
        note=f"{who} {read.reader} was given offset {before.offset}, then {read.offset}",
    )


def same_for_all(facts: Facts) -> Iterator[Anomaly]:
    """Each offset at which readers were given different records. Subset: by offset."""
    given: dict[tuple[TopicPartition, int], set[tuple[RecordId, int]]] = defaultdict(set)
    for _, read in facts.given():
        given[read.tp, read.offset].add((read.id, read.checksum))
    for (tp, offset), records in sorted(given.items()):
        if len(records) > 1:
            names = " and ".join(f"{name} (checksum {checksum})" for name, checksum in sorted(records))
            yield Anomaly(
                property=Property.SAME_FOR_ALL,
                topic=tp.topic,
                partition=tp.partition,
                offset=offset,
                producer=NONE,
                sequence=NONE,
                note=f"readers were given {names}",
            )


RULES: Mapping[Property, Rule] = MappingProxyType(
    {
        Property.MONOTONE_READ: monotone_read,
        Property.SAME_FOR_ALL: same_for_all,
    }
)

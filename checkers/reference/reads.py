"""Readers: what one reader is given rises without holes, and all readers are given the same.

Invariant: within one generation of a reader, offsets rise and skip nothing that exists; an offset has one
record.
Evidence: what the readers wrote down, in the order they were given it. A seek or assignment begins another
generation.
Counterexample:
    reader 0, generation 1, is given offsets 4, 5, 7 of orders-0, and the final log has a record at offset 6
    the hole covers offset 6: monotone-read, at offset 7
    reader 1 is given 2/9 at offset 5, where reader 0 got 1/7: same-for-all, at offset 5

That a reader was given what did not stay is read-uncommitted: see high_watermark.py.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.rows import Read, RecordId, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule


def monotone_read(facts: Facts) -> Iterator[Anomaly]:
    """A read that does not rise above the one before it, or skips a record of the log. Subset: whole.

    `invoked_ns` and `acked_offset` are the time and the offset of the read before.
    """
    streams: dict[tuple[TopicPartition, int, int], list[Read]] = defaultdict(list)
    for read in facts.reads:
        streams[read.tp, read.reader, read.generation].append(read)
    for stream in streams.values():
        for before, read in pairwise(stream):
            skipped = any((read.tp, o) in facts.at for o in range(before.offset + 1, read.offset))
            if read.offset <= before.offset or skipped:
                yield Anomaly(
                    property=Property.MONOTONE_READ,
                    topic=read.topic,
                    partition=read.partition,
                    offset=read.offset,
                    producer=read.reader,
                    sequence=read.generation,
                    invoked_ns=before.read_ns,
                    completed_ns=read.read_ns,
                    acked_offset=before.offset,
                    note=f"reader {read.reader} was given offset {before.offset}, then {read.offset}",
                )


def same_for_all(facts: Facts) -> Iterator[Anomaly]:
    """Each offset at which readers were given different records. Subset: by offset."""
    given: dict[tuple[TopicPartition, int], set[tuple[RecordId, int]]] = defaultdict(set)
    for read in facts.reads:
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

"""Order and uniqueness: each record once, each producer's in sequence, and none before what was done earlier.

Invariant: no id is at two places, sequences of a producer rise along a partition, offsets respect real time.
Evidence: positions in the final log, and invoke and completion times on one clock.
Counterexample:
    send 1/7 invoked at 10, completed at 20 (ok);  send 2/9 invoked at 30 (ok)
    the final log holds 2/9 at offset 3 and 1/7 at offset 5
    1/7 was done before 2/9 began, and lies behind it: real-time-order, of 1/7

Records without an id take no part. A completion under acks=0 shows only that the record left its client: it
may be appended long after, so nothing has to lie behind it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.rows import NO_ID, LogRecord, Send, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule, of_record


def duplicate(facts: Facts) -> Iterator[Anomaly]:
    """Each copy of an id but the first, in (topic, partition, offset) order. Subset: by id.

    `acked_offset` is where the first copy in the partition of this one is, -1 if this is the first one there.
    """
    for each in facts.ids():
        first, *others = facts.copies(each)
        first_in = {first.tp: first.offset}
        for copy in others:
            note = f"the first copy is at {first.tp} offset {first.offset}"
            found = of_record(Property.DUPLICATE, copy, facts.send_of.get(copy.id), note)
            yield replace(found, acked_offset=first_in.get(copy.tp, NONE))
            first_in.setdefault(copy.tp, copy.offset)


def producer_order(facts: Facts) -> Iterator[Anomaly]:
    """A record whose sequence is below one of the same producer at a lower offset. Subset: whole."""
    greatest: dict[tuple[TopicPartition, int], LogRecord] = {}
    for record in facts.log:
        if record.id == NO_ID:
            continue
        line = record.tp, record.producer
        before = greatest.setdefault(line, record)
        if record.sequence < before.sequence:
            note = f"sequence {before.sequence} is before it, at offset {before.offset}"
            yield of_record(Property.PRODUCER_ORDER, record, facts.send_of.get(record.id), note)
        elif record.sequence > before.sequence:
            greatest[line] = record


def real_time_order(facts: Facts) -> Iterator[Anomaly]:
    """An ok record that lies behind one invoked after its own completion, unless acks=0 completed it.
    Subset: whole.

    Positions are those of all copies of ok records in their home partitions.
    """
    positions: dict[TopicPartition, list[tuple[LogRecord, Send]]] = defaultdict(list)
    for record in facts.log:
        send, tp = facts.send_of.get(record.id), record.tp
        if send and send.acked and send.tp == tp:
            positions[tp].append((record, send))
    for along in positions.values():
        latest, at = along[0][1], along[0][0].offset
        for record, send in along[1:]:
            answered = send.producer not in facts.unanswered
            if answered and latest.invoked_ns > send.completed_ns:
                note = f"{latest.id}, invoked only after it was done, is before it, at offset {at}"
                yield of_record(Property.REAL_TIME_ORDER, record, send, note)
            if send.invoked_ns > latest.invoked_ns:
                latest, at = send, record.offset


RULES: Mapping[Property, Rule] = MappingProxyType(
    {
        Property.DUPLICATE: duplicate,
        Property.PRODUCER_ORDER: producer_order,
        Property.REAL_TIME_ORDER: real_time_order,
    }
)

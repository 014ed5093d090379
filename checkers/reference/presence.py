"""Presence: the log holds what was sent there, and nothing else, without holes.

Invariant: a send to that partition explains each log record; offsets are dense up to the high watermark.
Evidence: the recorded sends (none is unknown, for each was numbered before it was sent) and a final read
proven complete; of a run with transactions, the markers on the disks (checkers/history/records/markers.py).
Counterexample:
    the only send is 1/7 to orders-0
    the final log of orders-1 holds 1/7 at offset 0: phantom (a copy in the wrong partition explains nothing)
    and its proof says log start 0, high watermark 3: offset-gap, offsets 1 to 2
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule, holes, of_record


def phantom(facts: Facts) -> Iterator[Anomaly]:
    """A log record that was never sent, or sent to another partition, or that has no id. Subset: by id."""
    for record in facts.log:
        send = facts.send_of.get(record.id)
        if send is None:
            yield of_record(Property.PHANTOM, record, None, f"nobody sent {record.id}")
        elif send.tp != record.tp:
            yield of_record(Property.PHANTOM, record, send, f"{record.id} was sent to {send.tp}")


def offset_gap(facts: Facts) -> Iterator[Anomaly]:
    """Each run of missing offsets in [log start, high watermark). Subset: whole."""
    for tp, proof in sorted(facts.proof.items()):
        below = range(proof.log_start, proof.high_watermark)
        missing = (offset for offset in below if facts.is_hole(tp, offset))
        words = f"{{nothing}}, the high watermark is {proof.high_watermark}"
        yield from holes(Property.OFFSET_GAP, tp, missing, words)


RULES: Mapping[Property, Rule] = MappingProxyType(
    {
        Property.PHANTOM: phantom,
        Property.OFFSET_GAP: offset_gap,
    }
)

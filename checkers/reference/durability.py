"""Durability: what was acknowledged is in the final log, where and as it was acknowledged.

Invariant: an ok send has a copy in its home partition's final log, unaltered, at the acknowledged offset.
Evidence: the delivery report, and a final read proven complete. That somebody once read it is no evidence.
Counterexample:
    send 1/7 → ok at orders-0, offset 5;  a reader gets 1/7 at offset 5
    the leader dies, the new one never had offset 5, another record takes it
    the final log of orders-0 holds 2/9 at offset 5, and 1/7 nowhere: acked-loss

An ok report without an offset is an acknowledgement like any other. A record that was acknowledged at an
offset in [high watermark, log end) is undecided: it is on disk, but no reader could get it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.tables import NONE, Outcome
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule, of_record, of_send


def acked_loss(facts: Facts) -> Iterator[Anomaly]:
    """An ok record without any copy in its home partition. Subset: by id."""
    for send in facts.acked():
        if not facts.copies_at_home(send):
            yield of_send(Property.ACKED_LOSS, send, facts.now_at(send.tp, send.offset))


def unknown_offset_ack(facts: Facts) -> Iterator[Anomaly]:
    """An ok record without an offset and without any copy in its home partition. Subset: by id."""
    for send in facts.acked():
        if send.offset == NONE and not facts.copies_at_home(send):
            yield of_send(
                Property.UNKNOWN_OFFSET_ACK, send, "acknowledged without an offset, nowhere in the log"
            )


def ack_offset(facts: Facts) -> Iterator[Anomaly]:
    """An ok record that is in its home partition, but not at its acknowledged offset. Subset: by id.

    `acked_offset` is where its last copy is.
    """
    for send in facts.acked():
        places = [copy.offset for copy in facts.copies_at_home(send)]
        if send.offset != NONE and places and send.offset not in places:
            found = of_send(Property.ACK_OFFSET, send, f"it is at offset {', '.join(map(str, places))}")
            yield replace(found, acked_offset=max(places))


def content(facts: Facts) -> Iterator[Anomaly]:
    """A copy in the home partition with another checksum than the send's. Subset: by id."""
    for send in facts.sends:
        for copy in facts.copies_at_home(send):
            if copy.checksum != send.checksum:
                note = f"checksum {copy.checksum}, {send.checksum} was sent"
                yield of_record(Property.CONTENT, copy, send, note)


def resurrected(facts: Facts) -> Iterator[Anomaly]:
    """A copy in the home partition of a send that was definitely not written. Subset: by id."""
    for send in facts.sends:
        if send.outcome is Outcome.FAIL:
            for copy in facts.copies_at_home(send):
                yield of_record(
                    Property.RESURRECTED, copy, send, f"it had failed: {send.error or 'no reason'}"
                )


RULES: Mapping[Property, Rule] = MappingProxyType(
    {
        Property.ACKED_LOSS: acked_loss,
        Property.ACK_OFFSET: ack_offset,
        Property.CONTENT: content,
        Property.UNKNOWN_OFFSET_ACK: unknown_offset_ack,
        Property.RESURRECTED: resurrected,
    }
)

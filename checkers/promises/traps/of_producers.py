"""Traps of producers: what an acknowledgement is worth, and what a repeated send does."""

from collections.abc import Iterator

from checkers.promises.configuration import Configuration
from checkers.promises.traps.trap import Find, Trap, milliseconds


def _acks(its: Configuration) -> Iterator[Trap]:
    if its.waits_for_all:
        return
    waited = "no broker" if its.producer.acks == "0" else "the leader alone"
    yield Trap(
        id=f"acks-{its.producer.acks}",
        sentence=f"acks={its.producer.acks} waits for {waited}: acknowledged records may be lost with one "
        "broker, or with a planned change of leaders",
        change="producer: acks: all",
        shown_by=("nothing-promised", "unreplicated-tail"),
    )
    if its.topic.min_isr > 1:
        shown = (
            "readers do not see them until enough replicas are in sync again"
            if its.hidden_below_min_isr
            else "readers see them, however few replicas have them"
        )
        yield Trap(
            id="min-isr-without-acks-all",
            sentence=f"min.insync.replicas={its.topic.min_isr} refuses no write of acks={its.producer.acks}: "
            f"below it records are acknowledged, and {shown}",
            change="producer: acks: all",
        )


def _idempotence(its: Configuration) -> Iterator[Trap]:
    producer = its.producer
    if producer.idempotence:
        return
    if producer.asked_idempotence is None and its.waits_for_all:
        conflict = "retries=0" if producer.retries == 0 else f"{producer.max_in_flight} requests in flight"
        yield Trap(
            id="idempotence-silently-off",
            sentence="idempotence is on by default, and off here without a word, since it conflicts with "
            f"{conflict}",
            change="producer: enable.idempotence: true",
        )
    if producer.retries > 0:
        yield Trap(
            id="retries-without-idempotence",
            sentence="a send is repeated when its answer is lost, and without idempotence the record is "
            "there twice",
            change="producer: enable.idempotence: true"
            if its.waits_for_all
            else "producer: acks: all, enable.idempotence: true",
        )
    if producer.retries > 0 and producer.max_in_flight > 1:
        yield Trap(
            id="reordered-retries",
            sentence=f"{producer.max_in_flight} requests in flight without idempotence: one that is repeated "
            "comes behind those sent after it",
            change="producer: max.in.flight.requests.per.connection: 1",
        )


def _delivery(its: Configuration) -> Iterator[Trap]:
    producer, waits_s = its.producer, its.fail_over_s
    if producer.retries > 0 and producer.delivery_timeout_s <= waits_s:
        again = (
            "sends it again under a new epoch, twice there" if producer.idempotence else "may send it twice"
        )
        yield Trap(
            id="delivery-below-fail-over",
            sentence=f"delivery.timeout.ms of {producer.delivery_timeout_s:g} s is over before a fail-over "
            f"is ({waits_s:g} s): a send fails that may be written, and who repeats it {again}",
            change=f"producer: delivery.timeout.ms: {milliseconds(max(120.0, 2 * waits_s))}",
        )
    if producer.retries == 0 and its.producer.acks != "0":
        yield Trap(
            id="no-retries",
            sentence="retries=0: every election and every ISR below its minimum is an error of the "
            "application's",
            change="producer: retries: leave it out, and bound the time by delivery.timeout.ms",
        )


def _unknown(its: Configuration) -> Iterator[Trap]:
    for name, near in its.producer.unknown:
        yield Trap(
            id="unknown-producer-setting",
            sentence=f"the producer of this release has no setting {name!r}: it hands it on to its "
            "serializers and interceptors, and does nothing by it itself",
            change=f"producer: {near}" if near else "producer: leave it out, unless one of these reads it",
        )


EVERY: tuple[Find, ...] = (_acks, _idempotence, _delivery, _unknown)

"""Traps of producers: what an acknowledgement is worth, and what a repeated send does."""

from collections.abc import Iterator

from checkers.promises.configuration import MOST_IN_FLIGHT_OF_IDEMPOTENCE, Configuration
from checkers.promises.traps.trap import (
    IN_FLIGHT,
    LARGEST_INT,
    OF_BROKERS,
    OF_CONTROLLERS,
    Change,
    Find,
    Place,
    Trap,
    milliseconds,
)

ACKS: Place = ("producer", "acks")
RETRIES: Place = ("producer", "retries")
KAFKAS_OWN_TIMES: Change = {
    (*OF_BROKERS, "replica.lag.time.max.ms"): 30_000,
    (*OF_CONTROLLERS, "broker.session.timeout.ms"): 9_000,
}


def _acks(its: Configuration) -> Iterator[Trap]:
    if its.acknowledged_by_all:
        return
    waited = "no broker" if its.producer.acks == "0" else "the leader alone"
    planned = ", or with a planned change of leaders" * (its.topic.replication > 1)
    yield Trap(
        id=f"acks-{its.producer.acks}",
        sentence=f"acks={its.producer.acks} waits for {waited}: acknowledged records may be lost with one "
        f"broker{planned}",
        change={ACKS: "all"},
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
            change={ACKS: "all"},
        )


def _idempotence(its: Configuration) -> Iterator[Trap]:
    """With acks=0 a send is over once it is on its way: it is repeated only if it was not."""
    producer = its.producer
    if producer.idempotence or producer.acks == "0":
        return
    if producer.asked_idempotence is None and its.waits_for_all:
        conflict = "retries=0" if producer.retries == 0 else f"{producer.max_in_flight} requests in flight"
        yield Trap(
            id="idempotence-silently-off",
            sentence="idempotence is on by default, and off here without a word, since it conflicts with "
            f"{conflict}",
            change=_without_conflict(its),
        )
    if producer.retries > 0:
        yield Trap(
            id="retries-without-idempotence",
            sentence="a send is repeated when its answer is lost, and without idempotence the record is "
            "there twice",
            change={**_without_conflict(its), ("producer", "enable.idempotence"): True},
        )
    if producer.retries > 0 and producer.max_in_flight > 1:
        yield Trap(
            id="reordered-retries",
            sentence=f"{producer.max_in_flight} requests in flight without idempotence: one that is repeated "
            "comes behind those sent after it",
            change={IN_FLIGHT: 1},
        )


def _without_conflict(its: Configuration) -> Change:
    """What lets a producer be idempotent."""
    change: dict[Place, str | int | None] = {}
    if its.producer.acks != "all":
        change[ACKS] = "all"
    if its.producer.retries == 0:
        change[RETRIES] = None
    if its.producer.max_in_flight > MOST_IN_FLIGHT_OF_IDEMPOTENCE:
        change[IN_FLIGHT] = MOST_IN_FLIGHT_OF_IDEMPOTENCE
    return change


def _delivery(its: Configuration) -> Iterator[Trap]:
    producer, waits_s = its.producer, its.fail_over_s
    fails_over = its.topic.replication > 1 and producer.acks != "0"
    if fails_over and producer.retries > 0 and producer.delivery_timeout_s <= waits_s:
        again = (
            "sends it again under a new epoch, twice there" if producer.idempotence else "may send it twice"
        )
        yield Trap(
            id="delivery-below-fail-over",
            sentence=f"delivery.timeout.ms of {producer.delivery_timeout_s:g} s is over before a fail-over "
            f"is ({waits_s:g} s): a send fails that may be written, and who repeats it {again}",
            change=_longer_delivery(waits_s),
        )
    if producer.retries == 0 and its.producer.acks != "0":
        yield Trap(
            id="no-retries",
            sentence="retries=0: every election and every ISR below its minimum is an error of the "
            "application's",
            change={RETRIES: None},
            beyond="delivery.timeout.ms bounds the time",
        )


def _longer_delivery(waits_s: float) -> Change:
    """Of a time-out that is longer than a fail-over; where there is none that long, of a fail-over like
    Kafka's own.
    """
    wanted_ms = milliseconds(max(120.0, 2 * waits_s))
    return {("producer", "delivery.timeout.ms"): wanted_ms} if wanted_ms <= LARGEST_INT else KAFKAS_OWN_TIMES


def _unknown(its: Configuration) -> Iterator[Trap]:
    for name, near in its.producer.unknown:
        yield Trap(
            id="unknown-producer-setting",
            sentence=f"the producer of this release has no setting {name!r}: it hands it on to its "
            "serializers and interceptors, and does nothing by it itself",
            change={("producer", name): None},
            beyond=f"it has {near}" if near else "one of these may read it",
        )


EVERY: tuple[Find, ...] = (_acks, _idempotence, _delivery, _unknown)

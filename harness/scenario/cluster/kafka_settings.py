"""The topic settings that decide which acknowledged records may be lost, and the form of their values.

Kafka keeps every value as text. A topic without a setting of its own takes the brokers' one, which has
another name for two of them.
"""

import re
from collections.abc import Iterator, Mapping

from checkers.promises.configuration import COUNTS_AT_MOST_ALL

NUMBER = "a whole number"
BOOLEAN = "true or false"

MIN_ISR = "min.insync.replicas"
LAG = "replica.lag.time.max.ms"
FETCH_WAIT = "replica.fetch.wait.max.ms"
UNCLEAN = "unclean.leader.election.enable"

LOSS_SETTINGS: Mapping[str, str] = {
    MIN_ISR: NUMBER,
    UNCLEAN: BOOLEAN,
    "flush.messages": NUMBER,
    "flush.ms": NUMBER,
    "retention.ms": NUMBER,
}
"""Each setting of a topic, and the form of its values."""

OF_BROKERS: Mapping[str, str] = {
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "max.message.bytes": "message.max.bytes",
    "segment.bytes": "log.segment.bytes",
}
"""The brokers' name of a topic's setting, where it is another one."""

FORMS = {
    **LOSS_SETTINGS,
    **{of_broker: LOSS_SETTINGS[name] for name, of_broker in OF_BROKERS.items() if name in LOSS_SETTINGS},
}
PATTERNS = {NUMBER: re.compile(r"-?[0-9]{1,19}"), BOOLEAN: re.compile(r"true|false", re.IGNORECASE)}


def malformed(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with its value) of each such setting of a topic or of the brokers."""
    for key, form in FORMS.items():
        if key in config and not PATTERNS[form].fullmatch(config[key]):
            yield key, f"expected {form}, found {config[key]!r}"


def counts_at_most_all(release: str) -> bool:
    """Whether a topic with fewer replicas than min.insync.replicas takes acks=all writes, from all of them.

    Source: `Partition.effectiveMinIsr` in Kafka (KAFKA-15583); releases before it refuse each such write.
    """
    return tuple(int(part) for part in release.split(".")) >= COUNTS_AT_MOST_ALL


def lag_below_wait(its: Mapping[str, str]) -> str:
    """Why a node does not start by when its followers lag and how long a fetch of theirs waits; "" if it
    does. `its` has both settings.

    Source: `KafkaConfig.validateValues`, of brokers and of controllers.
    """
    lag_ms, wait_ms = int(its[LAG]), int(its[FETCH_WAIT])
    if wait_ms <= lag_ms:
        return ""
    return f"Kafka does not start with {LAG}={lag_ms} below {FETCH_WAIT}={wait_ms}"


def effective(name: str, of_topic: Mapping[str, str], of_brokers: Mapping[str, str]) -> str | None:
    """The value of a topic's setting: its own, else the brokers', else None (Kafka's default)."""
    return of_topic.get(name, of_brokers.get(OF_BROKERS.get(name, name)))

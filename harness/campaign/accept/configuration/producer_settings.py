"""The settings of Kafka's own producer, as each release knows them, and what they come to.

A name that the producer does not know it ignores; values that contradict each other it refuses to start with.
Source: `ProducerConfig` of Kafka's clients, with its `postProcessParsedConfig`, and
`KafkaProducer.configureDeliveryTimeout`.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from checkers.contract.realised.settings import Acks
from checkers.promises.configuration import (
    DEFAULT_RETRIES,
    MOST_IN_FLIGHT_OF_IDEMPOTENCE,
    ProducerSettings,
)
from harness.scenario.text.hidden import OF_CONNECTIONS

Release = tuple[int, int]
NEVER: Release = (99, 0)

IN_FLIGHT = "max.in.flight.requests.per.connection"
ALWAYS = (
    *("acks", "batch.size", "bootstrap.servers", "buffer.memory", "client.dns.lookup", "client.id"),
    *("compression.type", "config.providers", "connections.max.idle.ms", "delivery.timeout.ms"),
    *("enable.idempotence", "interceptor.classes", "key.serializer", "linger.ms", "max.block.ms", IN_FLIGHT),
    *("max.request.size", "metadata.max.age.ms", "metadata.max.idle.ms", "metric.reporters"),
    *("metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms"),
    *("partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms"),
    *("partitioner.class", "partitioner.ignore.keys", "receive.buffer.bytes", "reconnect.backoff.max.ms"),
    *("reconnect.backoff.ms", "request.timeout.ms", "retries", "retry.backoff.ms", "send.buffer.bytes"),
    *("socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms"),
    *("transaction.timeout.ms", "transactional.id", "value.serializer"),
)
"""Settings that every supported release has."""
SINCE: Mapping[str, tuple[Release, Release]] = {
    "auto.include.jmx.reporter": ((3, 4), (4, 0)),
    "retry.backoff.max.ms": ((3, 7), NEVER),
    "enable.metrics.push": ((3, 7), NEVER),
    "compression.gzip.level": ((3, 8), NEVER),
    "compression.lz4.level": ((3, 8), NEVER),
    "compression.zstd.level": ((3, 8), NEVER),
    "metadata.recovery.strategy": ((3, 8), NEVER),
    "metadata.recovery.rebootstrap.trigger.ms": ((4, 0), NEVER),
    "transaction.two.phase.commit.enable": ((4, 1), NEVER),
}
"""The others: the first release that has a setting, and the first that has it no more."""
LINGERS_SINCE: Release = (4, 0)
"""From this release on linger.ms is 5 by default (KIP-1030)."""
STRICT_SINCE: Release = (4, 0)
"""From this release on too many requests in flight are an error, and turn idempotence off no more by
themselves."""

TIMES_MS: Mapping[str, int] = {"delivery.timeout.ms": 120_000, "request.timeout.ms": 30_000}
ACKS: Mapping[str, Acks] = {"0": "0", "1": "1", "all": "all", "-1": "all"}
WHOLE = re.compile(r"\d{1,19}")
INT, LONG = 2**31 - 1, 2**63 - 1
LARGEST: Mapping[str, int] = {
    **dict.fromkeys(("retries", IN_FLIGHT, *TIMES_MS), INT),
    "linger.ms": LONG,
}
"""The settings that are whole numbers and count here, and what each holds at most."""
ALIKE = 0.8


def known_settings(release: Release) -> frozenset[str]:
    """The names of the settings of a release's producer, without those of connections."""
    some = (name for name, (first, gone) in SINCE.items() if first <= release < gone)
    return frozenset((*ALWAYS, *some))


def refused(config: Mapping[str, str], release: Release) -> Iterator[tuple[str, str]]:
    """(setting, what is wrong with its value) of each with which the producer does not start."""
    malformed = list(_malformed(config))
    yield from malformed or _contradictory(config, release)


def _malformed(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if (acks := config.get("acks", "all")) not in ACKS:
        yield "acks", f"unknown {acks!r}; allowed: 0, 1, all, -1"
    if (asked := config.get("enable.idempotence", "true").lower()) not in ("true", "false"):
        yield "enable.idempotence", f"expected true or false, found {asked!r}"
    for name, largest in LARGEST.items():
        text = config.get(name, "1")
        if not WHOLE.fullmatch(text) or int(text) > largest:
            yield name, f"expected a whole number up to {largest}, found {text!r}"
    if config.get(IN_FLIGHT) == "0":
        yield IN_FLIGHT, "0 is too small; allowed: at least 1"


def _contradictory(config: Mapping[str, str], release: Release) -> Iterator[tuple[str, str]]:
    its = settings(config, release)
    if its.asked_idempotence and (reason := _conflict(its)):
        yield "enable.idempotence", f"Kafka's producer does not start with it: {reason}"
    elif its.asked_idempotence is None and release >= STRICT_SINCE and _has_too_many_in_flight(its):
        text = f"{its.max_in_flight}: Kafka's producer does not start, since idempotence is on by default"
        allowed = f"at most {MOST_IN_FLIGHT_OF_IDEMPOTENCE}, or enable.idempotence: false"
        yield IN_FLIGHT, f"{text}; allowed: {allowed}"
    if "transactional.id" in config and not its.idempotence:
        reason = _conflict(its) or "enable.idempotence is false"
        yield "transactional.id", f"Kafka's producer does not start with it: it needs idempotence; {reason}"
    least_s = its.linger_s + its.request_timeout_s
    if "delivery.timeout.ms" in config and its.delivery_timeout_s < least_s:
        text = f"{config['delivery.timeout.ms']} is less than linger.ms and request.timeout.ms together"
        yield (
            "delivery.timeout.ms",
            f"{text}: Kafka's producer does not start; allowed: at least {least_s * 1000:g}",
        )


def _conflict(its: ProducerSettings) -> str:
    """Why a producer cannot be idempotent; "" if it can."""
    if its.acks != "all":
        return f"it needs acks=all, found acks={its.acks}"
    if its.retries == 0:
        return "it needs retries, found retries=0"
    if _has_too_many_in_flight(its):
        return f"it needs {IN_FLIGHT} of at most {MOST_IN_FLIGHT_OF_IDEMPOTENCE}, found {its.max_in_flight}"
    return ""


def _has_too_many_in_flight(its: ProducerSettings) -> bool:
    return its.max_in_flight > MOST_IN_FLIGHT_OF_IDEMPOTENCE


def settings(config: Mapping[str, str], release: Release) -> ProducerSettings:
    """What is in force, of settings that are well formed. Idempotence is on by default, and goes off by
    itself where it conflicts with another setting; a delivery time-out that nobody has set grows with
    linger.ms and request.timeout.ms."""
    asked = config.get("enable.idempotence")
    linger_s = int(config.get("linger.ms", 5 if release >= LINGERS_SINCE else 0)) / 1000
    request_timeout_s, delivery_timeout_s = (
        _seconds(name, config) for name in ("request.timeout.ms", "delivery.timeout.ms")
    )
    if "delivery.timeout.ms" not in config:
        delivery_timeout_s = max(delivery_timeout_s, linger_s + request_timeout_s)
    its = ProducerSettings(
        acks=ACKS[config.get("acks", "all")],
        idempotence=True,
        asked_idempotence=None if asked is None else asked.lower() == "true",
        retries=int(config.get("retries", DEFAULT_RETRIES)),
        max_in_flight=int(config.get(IN_FLIGHT, MOST_IN_FLIGHT_OF_IDEMPOTENCE)),
        delivery_timeout_s=delivery_timeout_s,
        request_timeout_s=request_timeout_s,
        linger_s=linger_s,
        unknown=tuple(_unknown(config, release)),
    )
    idempotence = its.asked_idempotence is not False and not _conflict(its)
    return replace(its, idempotence=idempotence)


def _seconds(name: str, config: Mapping[str, str]) -> float:
    return int(config.get(name, TIMES_MS[name])) / 1000


def _unknown(config: Mapping[str, str], release: Release) -> Iterator[tuple[str, str]]:
    known = known_settings(release)
    for name in config:
        if name not in known and not name.startswith(OF_CONNECTIONS):
            near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=ALIKE)
            yield name, near[0] if near else ""

"""The settings of Kafka's own producer, as each release knows them, and what they come to.

A name that the producer does not know it ignores; a value that it does not take, and values that contradict
each other, it refuses to start with. Source: the definitions of `ProducerConfig` in Kafka's clients
(compose/releases/settings.tsv), its `postProcessParsedConfig`, and `KafkaProducer.configureDeliveryTimeout`.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from checkers.contract.realised.settings import Acks
from checkers.promises.configuration import (
    MOST_IN_FLIGHT_OF_IDEMPOTENCE,
    ProducerSettings,
)
from compose.releases.settings import settings_of
from compose.releases.upgrades import version_of
from compose.releases.values import refusal
from harness.scenario.text.hidden import OF_CONNECTIONS, may_be_secret

IN_FLIGHT = "max.in.flight.requests.per.connection"
TWO_PHASE = "transaction.two.phase.commit.enable"
STRICT_SINCE = (4, 0)
"""From this release on too many requests in flight are an error, and turn idempotence off no more by
themselves."""
ACKS: Mapping[str, Acks] = {"0": "0", "1": "1", "all": "all", "-1": "all"}
ALIKE = 0.8


def known_settings(release: str) -> frozenset[str]:
    """The names of the settings of a release's producer, without those of connections."""
    return frozenset(name for name in settings_of(release, "producer") if not name.startswith(OF_CONNECTIONS))


def refused(config: Mapping[str, str], release: str) -> Iterator[tuple[str, str]]:
    """(setting, what is wrong with its value) of each with which the producer does not start."""
    malformed = list(_malformed(config, release))
    yield from malformed or _contradictory(config, release)


def _malformed(config: Mapping[str, str], release: str) -> Iterator[tuple[str, str]]:
    known = settings_of(release, "producer")
    for name, value in config.items():
        if name in known and (text := refusal(known[name], value)):
            yield name, "Kafka's producer does not take its value" if may_be_secret(name) else text


def _contradictory(config: Mapping[str, str], release: str) -> Iterator[tuple[str, str]]:
    its, strict = settings(config, release), version_of(release) >= STRICT_SINCE
    if its.asked_idempotence and (reason := _conflict(its)):
        yield "enable.idempotence", f"Kafka's producer does not start with it: {reason}"
    elif its.asked_idempotence is None and strict and _has_too_many_in_flight(its):
        text = f"{its.max_in_flight}: Kafka's producer does not start, since idempotence is on by default"
        allowed = f"at most {MOST_IN_FLIGHT_OF_IDEMPOTENCE}, or enable.idempotence: false"
        yield IN_FLIGHT, f"{text}; allowed: {allowed}"
    if "transactional.id" in config and not its.idempotence:
        reason = _conflict(its) or "enable.idempotence is false"
        yield "transactional.id", f"Kafka's producer does not start with it: it needs idempotence; {reason}"
    two_phases = TWO_PHASE in settings_of(release, "producer") and _is_true(config.get(TWO_PHASE, ""))
    if two_phases and "transaction.timeout.ms" in config:
        text = "Kafka's producer does not start with it: transactions of two phases do not time out"
        yield "transaction.timeout.ms", f"{text} ({TWO_PHASE})"
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


def settings(config: Mapping[str, str], release: str) -> ProducerSettings:
    """What is in force, of settings that are well formed. Idempotence is on by default, and goes off by
    itself where it conflicts with another setting; a delivery time-out that nobody has set grows with
    linger.ms and request.timeout.ms."""
    asked, known = config.get("enable.idempotence"), settings_of(release, "producer")

    def value(name: str) -> str:
        return config.get(name, known[name].default).strip()

    linger_s, request_timeout_s, delivery_timeout_s = (
        int(value(name)) / 1000 for name in ("linger.ms", "request.timeout.ms", "delivery.timeout.ms")
    )
    if "delivery.timeout.ms" not in config:
        delivery_timeout_s = max(delivery_timeout_s, linger_s + request_timeout_s)
    its = ProducerSettings(
        acks=ACKS[value("acks")],
        idempotence=True,
        asked_idempotence=None if asked is None else _is_true(asked),
        retries=int(value("retries")),
        max_in_flight=int(value(IN_FLIGHT)),
        delivery_timeout_s=delivery_timeout_s,
        request_timeout_s=request_timeout_s,
        linger_s=linger_s,
        unknown=tuple(_unknown(config, release)),
    )
    idempotence = its.asked_idempotence is not False and not _conflict(its)
    return replace(its, idempotence=idempotence)


def _is_true(text: str) -> bool:
    """As Kafka reads it, which ignores blanks around a value."""
    return text.strip().lower() == "true"


def _unknown(config: Mapping[str, str], release: str) -> Iterator[tuple[str, str]]:
    known = known_settings(release)
    for name in config:
        if name not in known and not name.startswith(OF_CONNECTIONS):
            near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=ALIKE)
            yield name, near[0] if near else ""

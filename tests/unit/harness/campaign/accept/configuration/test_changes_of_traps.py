"""What a trap says to change: with that the configuration is accepted, and the trap is gone."""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checkers.promises import traps
from checkers.promises.traps import of_clusters, of_producers, of_topics
from checkers.promises.traps.trap import Change, Trap
from harness.campaign.accept.acceptance import promised, record_of
from harness.campaign.accept.configuration.configuration_file import AcceptFile, parse_configuration
from harness.campaign.accept.configuration.in_force import configuration_of
from harness.errors import ScenarioError

IN_FLIGHT = "max.in.flight.requests.per.connection"
NO_SETTING_SAYS_IT = {"replicas-in-one-rack", "racks-of-some", "no-racks", "one-rack", "few-racks"}
"""Traps of where machines stand."""
ID = re.compile(r'id="([a-z0-9-]+)"')
ACKS = {"acks-0", "acks-1"}
"""Their ids are put together."""

FALLEN: list[tuple[str, Mapping[str, Any]]] = [
    ("one-replica", {"cluster": {"brokers": 1}, "topic": {"replication": 1}}),
    ("two-replicas", {"cluster": {"brokers": 2}, "topic": {"replication": 2}}),
    ("min-isr-of-one", {}),
    ("min-isr-of-one", {"cluster": {"brokers": 2}, "topic": {"replication": 2}}),
    ("min-isr-of-all", {"topic": {"config": {"min.insync.replicas": 3}}}),
    ("min-isr-above-replication", {"topic": {"config": {"min.insync.replicas": 4}}}),
    (
        "min-isr-above-replication",
        {
            "cluster": {"kafka": "3.6.1", "brokers": 2},
            "topic": {"replication": 2, "config": {"min.insync.replicas": 3}},
            "producer": {"acks": 1},
        },
    ),
    ("no-spare-broker", {"cluster": {"combined": True}}),
    ("unclean-election", {"cluster": {"controller_config": {"unclean.leader.election.enable": True}}}),
    (
        "unclean-without-effect",
        {"cluster": {"kafka": "3.8.1"}, "topic": {"config": {"unclean.leader.election.enable": True}}},
    ),
    ("flush-without-acks-all", {"topic": {"config": {"flush.messages": 1}}, "producer": {"acks": 1}}),
    ("flush-ms-without-scheduler", {"topic": {"config": {"flush.ms": 0}}}),
    ("flush-ms-without-scheduler", {"topic": {"config": {"flush.ms": 2**63 - 2}}}),
    ("retention-against-clocks", {"cluster": {"broker_config": {"log.retention.minutes": 5}}}),
    (
        "timestamps-older-than-retention",
        {
            "cluster": {"broker_config": {"log.message.timestamp.before.max.ms": 86_400_001}},
            "topic": {"config": {"retention.ms": 86_400_000}},
        },
    ),
    ("retention-by-size", {"cluster": {"broker_config": {"log.retention.bytes": 1}}}),
    ("compacted", {"topic": {"config": {"cleanup.policy": "compact, delete"}}}),
    ("acks-0", {"producer": {"acks": 0}}),
    ("acks-1", {"producer": {"acks": 1, "retries": 0}}),
    (
        "min-isr-without-acks-all",
        {"topic": {"config": {"min.insync.replicas": 2}}, "producer": {"acks": 1}},
    ),
    ("idempotence-silently-off", {"producer": {"retries": 0}}),
    ("idempotence-silently-off", {"cluster": {"kafka": "3.9.1"}, "producer": {IN_FLIGHT: 6}}),
    (
        "idempotence-silently-off",
        {"cluster": {"kafka": "3.9.1"}, "producer": {IN_FLIGHT: 6, "retries": 0}},
    ),
    ("retries-without-idempotence", {"producer": {"enable.idempotence": False, IN_FLIGHT: 6}}),
    ("retries-without-idempotence", {"cluster": {"kafka": "3.9.1"}, "producer": {IN_FLIGHT: 6}}),
    (
        "retries-without-idempotence",
        {"producer": {"acks": 1, "enable.idempotence": False, IN_FLIGHT: 6}},
    ),
    ("reordered-retries", {"producer": {"enable.idempotence": False}}),
    ("delivery-below-fail-over", {"producer": {"delivery.timeout.ms": 31_000}}),
    (
        "delivery-below-fail-over",
        {"cluster": {"broker_config": {"replica.lag.time.max.ms": 2_000_000_000_000}}},
    ),
    ("no-retries", {"producer": {"retries": " 0 ", "enable.idempotence": False}}),
    ("unknown-producer-setting", {"producer": {"ack": "all", "schema.registry.url": "here"}}),
    (
        "no-eligible-leader-replicas",
        {"cluster": {"elr": False}, "topic": {"config": {"min.insync.replicas": 2}}},
    ),
    (
        "no-eligible-leader-replicas",
        {"cluster": {"formatted": "3.9.1"}, "topic": {"config": {"min.insync.replicas": 2}}},
    ),
    (
        "no-eligible-leader-replicas",
        {
            "cluster": {"kafka": "3.9.1", "formatted": "3.6.1", "elr": False},
            "topic": {"config": {"min.insync.replicas": 2}},
        },
    ),
    (
        "no-eligible-leader-replicas",
        {
            "cluster": {"kafka": "3.9.1"},
            "topic": {"config": {"min.insync.replicas": 2}},
            "producer": {IN_FLIGHT: 6},
        },
    ),
    (
        "session-of-few-heartbeats",
        {"cluster": {"broker_config": {"broker.heartbeat.interval.ms": 4000}}},
    ),
    (
        "session-of-few-heartbeats",
        {"cluster": {"broker_config": {"broker.heartbeat.interval.ms": 2_000_000_000}}},
    ),
    ("lag-below-session", {"cluster": {"broker_config": {"replica.lag.time.max.ms": 8000}}}),
    ("lag-below-fetch-wait", {"cluster": {"broker_config": {"replica.fetch.wait.max.ms": 30_000}}}),
    ("controllers-without-majority", {"cluster": {"controllers": 2}}),
    ("controllers-without-majority", {"cluster": {"controllers": 50}}),
    (
        "controllers-without-majority",
        {"cluster": {"brokers": 2, "controllers": 2, "combined": True}, "topic": {"replication": 2}},
    ),
    ("topics-made-by-a-write", {}),
    (
        "offsets-with-fewer-replicas",
        {"cluster": {"broker_config": {"offsets.topic.replication.factor": 1}}},
    ),
    (
        "transactions-with-one-copy",
        {
            "cluster": {"broker_config": {"transaction.state.log.min.isr": 1}},
            "topic": {"config": {"min.insync.replicas": 2}},
        },
    ),
]
DRAWN = 40


def accepted(document: Mapping[str, Any]) -> AcceptFile:
    """The configuration of a file with these keys. ScenarioError."""
    return parse_configuration(json.dumps({"name": "mine", **document}), "mine.yaml")


def fallen_into(document: Mapping[str, Any]) -> list[Trap]:
    return list(traps(configuration_of(accepted(document))))


def changed(document: Mapping[str, Any], change: Change) -> Mapping[str, Any]:
    """The keys of a file with a trap's change."""
    new: dict[str, Any] = deepcopy(dict(document))
    for place, value in change.items():
        below = new
        for key in place[:-1]:
            below = below.setdefault(key, {})
        if value is None:
            del below[place[-1]]
        else:
            below[place[-1]] = value
    return new


def test_every_trap_whose_change_is_a_setting_is_among_the_configurations() -> None:
    modules = (of_topics, of_producers, of_clusters)
    named = {its for module in modules for its in ID.findall(Path(module.__file__).read_text())}
    assert {trap for trap, _ in FALLEN} == named - NO_SETTING_SAYS_IT | ACKS


@pytest.mark.parametrize(("trap", "document"), FALLEN)
def test_with_its_change_a_configuration_is_accepted_and_the_trap_is_gone(
    trap: str, document: Mapping[str, Any]
) -> None:
    found = fallen_into(document)
    assert trap in {each.id for each in found}
    assert [problem(document, each) for each in found if problem(document, each)] == []


def problem(document: Mapping[str, Any], trap: Trap) -> str:
    """What is wrong with a trap's change; "" if nothing is. Of several traps with one id each has its own."""
    if not trap.change:
        return "" if trap.id in NO_SETTING_SAYS_IT and trap.beyond else f"{trap.id} changes nothing"
    try:
        left = fallen_into(changed(document, trap.change))
    except ScenarioError as refused:
        return f"{trap.id}: {trap.to_change}: {refused}"
    still = any((each.id, each.change) == (trap.id, trap.change) for each in left)
    return f"{trap.id} is still there" if still else ""


@pytest.mark.parametrize("seed", range(DRAWN))
def test_so_it_is_of_configurations_that_are_drawn(seed: int) -> None:
    document = drawn(Random(seed))
    found = fallen_into(document)
    assert found
    assert [problem(document, each) for each in found if problem(document, each)] == []


def drawn(random: Random) -> Mapping[str, Any]:
    """One that is accepted, of settings that traps are about."""
    while True:
        document = _any(random)
        try:
            accepted(document)
        except ScenarioError:
            continue
        return document


def _any(random: Random) -> Mapping[str, Any]:
    def some(choices: Mapping[str, Any]) -> dict[str, Any]:
        return {key: random.choice(values) for key, values in choices.items() if random.random() < 0.4}

    brokers = random.choice([1, 2, 3, 3, 4, 6])
    topic_config = {
        "min.insync.replicas": [1, 2, 3, 4],
        "unclean.leader.election.enable": [True, False],
        "flush.messages": [1, 100],
        "flush.ms": [0, 1000],
        "retention.ms": [0, 60_000, -1],
        "retention.bytes": [1, -1],
        "cleanup.policy": ["compact", "compact,delete", "delete"],
        "message.timestamp.type": ["CreateTime", "LogAppendTime"],
        "message.timestamp.before.max.ms": [0, 90_000_000, 10**12],
    }
    broker_config = {
        "replica.lag.time.max.ms": [500, 5000, 900_000],
        "broker.heartbeat.interval.ms": [500, 4000],
        "log.flush.scheduler.interval.ms": [1000],
        "auto.create.topics.enable": [True, False],
        "offsets.topic.replication.factor": [1, 3],
    }
    cluster = {
        "controllers": [1, 2, 3, 4, 5],
        "combined": [True, False],
        "kafka": ["3.6.1", "3.9.1", "4.0.0", "4.3.1"],
        "elr": [False],
        "broker_config": [some(broker_config)],
        "controller_config": [{"broker.session.timeout.ms": random.choice([1000, 18_000])}],
    }
    producer = {
        "acks": [0, 1, "all"],
        "enable.idempotence": [True, False],
        "retries": [0, 3],
        IN_FLIGHT: [1, 5, 6],
        "delivery.timeout.ms": [31_000, 200_000],
        "ack": ["all"],
    }
    return {
        "cluster": {"brokers": brokers, **some(cluster)},
        "topic": {"replication": random.choice([1, 2, 3]), "config": some(topic_config)},
        "producer": some(producer),
    }


def test_the_answer_names_the_settings_as_the_command_line_takes_them() -> None:
    record = record_of(promised(accepted({"producer": {"acks": 1, "retries": 0}})))
    found = {row.id: (row.change, row.settings) for row in record.traps}
    assert found["acks-1"] == ("producer: acks: all", {"producer.acks": "all"})
    text, settings = found["no-retries"]
    assert text == "producer: retries: leave it out; delivery.timeout.ms bounds the time"
    assert settings == {"producer.retries": None}
    assert json.loads(record.as_text())["traps"][0]["settings"] == record.traps[0].settings

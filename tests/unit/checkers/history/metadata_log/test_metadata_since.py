"""A metadata log that holds earlier runs says of a run what a log of its own would have said."""

from typing import Any

from checkers.history.metadata_log.replay import replay
from checkers.history.metadata_log.since import states_since


def record(offset: int, kind: str, **data: Any) -> dict[str, Any]:
    return {"offset": offset, "timestamp_ms": 5_000 + offset, "type": kind, "data": data}


def topic(offset: int, name: str) -> list[dict[str, Any]]:
    partition = {"partitionId": 0, "replicas": [1, 2], "isr": [1, 2], "leader": 1}
    return [
        record(offset, "TOPIC_RECORD", name=name, topicId=name),
        record(offset + 1, "PARTITION_RECORD", topicId=name, leaderEpoch=0, partitionEpoch=0, **partition),
        record(offset + 2, "CONFIG_RECORD", resourceType=2, resourceName=name, name="flush.ms", value="7"),
    ]


def registered(offset: int, node: int, epoch: int) -> dict[str, Any]:
    return record(offset, "REGISTER_BROKER_RECORD", brokerId=node, brokerEpoch=epoch, fenced=True)


def unfenced(offset: int, node: int, epoch: int) -> dict[str, Any]:
    data = {"brokerId": node, "brokerEpoch": epoch, "fenced": -1}
    return record(offset, "BROKER_REGISTRATION_CHANGE_RECORD", **data)


LOG = [
    record(0, "FEATURE_LEVEL_RECORD", name="metadata.version", featureLevel=20),
    record(1, "CONFIG_RECORD", resourceType=4, resourceName="", name="min.insync.replicas", value="1"),
    registered(2, 1, 2),
    unfenced(3, 1, 2),
    registered(4, 2, 4),
    unfenced(5, 2, 4),
    *topic(10, "orders-r0"),
    registered(20, 2, 20),
    unfenced(21, 2, 20),
    record(22, "CONFIG_RECORD", resourceType=4, resourceName="", name="min.insync.replicas", value="2"),
    record(25, "REMOVE_TOPIC_RECORD", topicId="orders-r0"),
    *topic(30, "orders-r1"),
    registered(40, 1, 40),
    unfenced(41, 1, 40),
]
"""The run before killed broker 2; this one, of orders-r1, kills broker 1."""


def test_only_the_run_s_topics_are_there() -> None:
    tables = states_since(replay(LOG), {"orders-r1"})
    assert [(row.topic, row.log_offset) for row in tables.metadata] == [("orders-r1", 31)]
    assert [(row.name, row.value) for row in tables.configs if row.kind == "topic"] == [("orders-r1", "7")]


def test_a_broker_that_an_earlier_run_has_killed_registered_once_before_this_one() -> None:
    tables = states_since(replay(LOG), {"orders-r1"})
    assert [(row.log_offset, row.node, row.broker_epoch, row.fenced) for row in tables.brokers] == [
        (3, 1, 2, False),
        (21, 2, 20, False),
        (40, 1, 40, True),
        (41, 1, 40, False),
    ]


def test_a_cluster_wide_setting_is_what_it_was_when_the_run_began() -> None:
    tables = states_since(replay(LOG), {"orders-r1"})
    rows = [(row.kind, row.key or row.name, row.value) for row in tables.configs if row.kind != "topic"]
    assert rows == [("feature", "metadata.version", "20"), ("cluster", "min.insync.replicas", "2")]


def test_a_topic_that_all_runs_share_is_what_it_was_when_the_run_began() -> None:
    moved = record(15, "PARTITION_CHANGE_RECORD", topicId="__transaction_state", partitionId=0, leader=2)
    again = record(35, "PARTITION_CHANGE_RECORD", topicId="__transaction_state", partitionId=0, leader=1)
    log = sorted([*LOG, *topic(7, "__transaction_state"), moved, again], key=lambda each: each["offset"])
    tables = states_since(replay(log), {"orders-r1"}, {"__transaction_state"})
    assert [(row.topic, row.log_offset, row.leader) for row in tables.metadata] == [
        ("__transaction_state", 15, 2),
        ("orders-r1", 31, 1),
        ("__transaction_state", 35, 1),
    ]


def test_the_first_run_of_a_cluster_keeps_all_that_came_after_its_topics() -> None:
    tables = states_since(replay(LOG[:9]), {"orders-r0"})
    assert [(row.log_offset, row.node) for row in tables.brokers] == [(3, 1), (5, 2)]
    assert [row.topic for row in tables.metadata] == ["orders-r0"]


def test_of_the_appends_those_from_the_run_s_first_topic_on_are_there() -> None:
    """Its first partition is at offset 31, in one append with what makes the topic, at 30."""
    no_ops = [record(offset, "NO_OP_RECORD") for offset in (26, 27, 50)]
    first = [{**each, "timestamp_ms": 7_000} if 30 <= each["offset"] <= 32 else each for each in LOG]
    log = sorted([*first, *no_ops], key=lambda each: each["offset"])
    tables = states_since(replay(log), {"orders-r1"})
    assert [row.log_offset for row in tables.appends] == [30, 40, 41, 50]

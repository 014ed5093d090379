"""Partition history from metadata records, as Kafka's decoder prints them."""

from typing import Any

import pytest

from checkers.history.metadata_log.replay import replay
from checkers.history.rows import MetadataChange


def metadata(records: list[dict[str, Any]]) -> list[MetadataChange]:
    """The partitions' states after each of the records."""
    return list(replay(records).metadata)


TOPIC = {"type": "TOPIC_RECORD", "data": {"name": "orders", "topicId": "bzxG"}}
CREATED = {
    "type": "PARTITION_RECORD",
    "data": {
        "partitionId": 0, "topicId": "bzxG", "replicas": [3, 1, 2], "isr": [3, 1, 2], "removingReplicas": [],
        "addingReplicas": [], "leader": 3, "leaderEpoch": 0, "partitionEpoch": 0,
    },
}  # fmt: skip


def change(**fields: Any) -> dict[str, Any]:
    """A PARTITION_CHANGE_RECORD of partition 0 with these fields."""
    return {"type": "PARTITION_CHANGE_RECORD", "data": {"partitionId": 0, "topicId": "bzxG", **fields}}


def log(*records: dict[str, Any]) -> list[dict[str, Any]]:
    """`records` at offsets 0, 1, … and 100, 101, … ms."""
    return [{"offset": n, "timestamp_ms": 100 + n, **record} for n, record in enumerate(records)]


def row(
    at_ms: int, leader: int, epochs: tuple[int, int], isr: tuple[int, ...], **more: Any
) -> MetadataChange:
    """A row of partition 0 of `orders`; `epochs`: of the leader, of the partition."""
    return MetadataChange(
        at_ms=at_ms, topic="orders", partition=0, leader=leader, leader_epoch=epochs[0],
        partition_epoch=epochs[1], replicas=(3, 1, 2), isr=isr, elr=more.get("elr", ()),
        last_known_elr=more.get("last_known_elr", ()),
    )  # fmt: skip


def test_creation() -> None:
    """A new partition is one row with the epochs that its record carries."""
    assert metadata(log(TOPIC, CREATED)) == [row(101, 3, (0, 0), (3, 1, 2))]


def test_shrink_keeps_the_leader_epoch() -> None:
    """A change of the ISR alone is a new partition epoch, and no new leader epoch."""
    assert metadata(log(TOPIC, CREATED, change(isr=[3, 1])))[-1] == row(102, 3, (0, 1), (3, 1))


def test_election() -> None:
    """A change that names a leader is a new leader epoch, even if the leader is none, or the same again."""
    rows = metadata(log(TOPIC, CREATED, change(isr=[1], leader=1), change(leader=-1), change(leader=1)))
    assert [(r.leader, r.leader_epoch, r.partition_epoch) for r in rows] == [
        (3, 0, 0),
        (1, 1, 1),
        (-1, 2, 2),
        (1, 3, 3),
    ]


def test_elr() -> None:
    """ELR stays until a record changes it: by a change, by a clearing of the topic, or of all topics."""
    lost = change(isr=[], leader=-1, eligibleLeaderReplicas=[1, 2], lastKnownElr=[3])
    rows = metadata(log(TOPIC, CREATED, lost, change(leader=1, isr=[1]), change(eligibleLeaderReplicas=[])))
    assert [(r.elr, r.last_known_elr) for r in rows[1:]] == [((1, 2), (3,)), ((1, 2), (3,)), ((), (3,))]
    for topic in ("orders", ""):
        clear = {"type": "CLEAR_ELR_RECORD", "data": {"topicName": topic}}
        assert metadata(log(TOPIC, CREATED, lost, clear, clear))[2:] == [row(103, -1, (1, 2), ())]


def test_old_spelling() -> None:
    """Releases before 4.0 spell the field lastKnownELR."""
    assert metadata(log(TOPIC, CREATED, change(lastKnownELR=[2])))[-1].last_known_elr == (2,)


def test_recreated_topic() -> None:
    """A topic of the same name made anew begins anew."""
    removed = {"type": "REMOVE_TOPIC_RECORD", "data": {"topicId": "bzxG"}}
    again = {"type": "TOPIC_RECORD", "data": {"name": "orders", "topicId": "new1"}}
    created = {"type": "PARTITION_RECORD", "data": {**CREATED["data"], "topicId": "new1"}}
    rows = metadata(log(TOPIC, CREATED, change(leader=1), removed, again, created))
    assert [(r.leader, r.leader_epoch) for r in rows] == [(3, 0), (1, 1), (3, 0)]


def test_aborted_transaction() -> None:
    """What a metadata transaction did counts when it ends, and never if it is aborted or does not end."""
    begin = {"type": "BEGIN_TRANSACTION_RECORD", "data": {"name": "x"}}
    for last, rows in (("END", 1), ("ABORT", 0)):
        end = {"type": f"{last}_TRANSACTION_RECORD", "data": {}}
        assert len(metadata(log(begin, TOPIC, CREATED, end))) == rows
    assert metadata(log(begin, TOPIC, CREATED)) == []


def test_other_records() -> None:
    """Records that are not about partitions make no rows."""
    assert metadata(log({"type": "NO_OP_RECORD", "data": {}}, TOPIC)) == []


def test_gap() -> None:
    """A change of a partition that was never created shows where the log is not whole."""
    with pytest.raises(ValueError, match="offset 1: no earlier record creates partition 0 of bzxG"):
        metadata(log(TOPIC, change(leader=1)))
    with pytest.raises(ValueError, match="offset 0: no earlier record creates topic bzxG"):
        metadata(log(CREATED))

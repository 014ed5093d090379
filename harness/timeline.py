"""The KRaft metadata log replayed into the history's `metadata` table: a row for each change of a partition.

A change record carries no epochs (Kafka 4.3, PartitionRegistration.merge): the partition epoch rises by 1
with each change, the leader epoch with each change that names a leader; -2 means "as before", -1 "none".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from checkers.history import TABLES
from checkers.rows import MetadataChange

SAME_LEADER = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    topic_id: str
    partition: int


def table(records: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The rows of the topics that clients made; Kafka's internal ones (named __…) are left out."""
    rows = [asdict(row) for row in replay(records) if not row.topic.startswith("__")]
    return pa.Table.from_pylist(rows, schema=TABLES["metadata"])


def replay(records: Iterable[Mapping[str, Any]]) -> Iterator[MetadataChange]:
    """Each partition's state after each of its records, in the order of the log.

    `records` are dicts of timestamp_ms, type and data, as `Cluster.metadata_records` gives them.
    """
    names: dict[str, str] = {}
    states: dict[_Key, MetadataChange] = {}
    for record in records:
        kind, data = record["type"], record["data"]
        if kind == "TOPIC_RECORD":
            names[data["topicId"]] = data["name"]
        if kind not in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"):
            continue
        key = _Key(topic_id=data["topicId"], partition=data["partitionId"])
        if kind == "PARTITION_RECORD":
            states[key] = _created(record, names[key.topic_id])
        else:
            states[key] = _changed(states[key], record)
        yield states[key]


def _created(record: Mapping[str, Any], topic: str) -> MetadataChange:
    data = record["data"]
    return MetadataChange(
        at_ms=record["timestamp_ms"],
        topic=topic,
        partition=data["partitionId"],
        leader=data["leader"],
        leader_epoch=data["leaderEpoch"],
        partition_epoch=data["partitionEpoch"],
        replicas=tuple(data["replicas"]),
        isr=tuple(data["isr"]),
        elr=tuple(data.get("eligibleLeaderReplicas") or ()),
        last_known_elr=tuple(data.get("lastKnownElr") or ()),
    )


def _changed(before: MetadataChange, record: Mapping[str, Any]) -> MetadataChange:
    data = record["data"]
    leader = data.get("leader", SAME_LEADER)
    named = leader != SAME_LEADER
    return replace(
        before,
        at_ms=record["timestamp_ms"],
        leader=leader if named else before.leader,
        leader_epoch=before.leader_epoch + (1 if named else 0),
        partition_epoch=before.partition_epoch + 1,
        replicas=_or(data.get("replicas"), before.replicas),
        isr=_or(data.get("isr"), before.isr),
        elr=_or(data.get("eligibleLeaderReplicas"), before.elr),
        last_known_elr=_or(data.get("lastKnownElr"), before.last_known_elr),
    )


def _or(told: list[int] | None, before: tuple[int, ...]) -> tuple[int, ...]:
    return before if told is None else tuple(told)

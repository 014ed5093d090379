"""The history of every partition's leader and in-sync replicas, replayed from the decoded KRaft metadata log.

A PARTITION_CHANGE_RECORD carries only what changes, and no epochs: on replay the leader epoch rises by one
iff it names a leader (also -1, none; -2, unchanged, is not written), the partition epoch always. Source:
`PartitionRegistration.merge` and `TopicDelta` in Kafka's metadata module; KIP-966 for ELR.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from checkers.history.rows import MetadataChange

Record = Mapping[str, Any]

UNCHANGED = -2


def timeline(records: Iterable[Record]) -> list[MetadataChange]:
    """One row for each change of each partition, in the order of the log.

    Raises ValueError if a record changes a partition that no earlier record creates.
    """
    replay = _Replay()
    return [row for record in committed(records) for row in replay.apply(record)]


def committed(records: Iterable[Record]) -> Iterator[Record]:
    """`records` without those of metadata transactions (KIP-868) that were aborted, or have not ended."""
    pending: list[Record] | None = None
    for record in records:
        match record["type"]:
            case "BEGIN_TRANSACTION_RECORD":
                pending = []
            case "END_TRANSACTION_RECORD":
                yield from pending or ()
                pending = None
            case "ABORT_TRANSACTION_RECORD":
                pending = None
            case _ if pending is not None:
                pending.append(record)
            case _:
                yield record


class _Replay:
    """The topics and partitions as they are after the records applied so far."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._partitions: dict[tuple[str, int], MetadataChange] = {}

    def apply(self, record: Record) -> list[MetadataChange]:
        """The partitions that `record` changes, as they are after it."""
        data, at_ms = record["data"], record["timestamp_ms"]
        match record["type"]:
            case "TOPIC_RECORD":
                self._names[data["topicId"]] = data["name"]
            case "REMOVE_TOPIC_RECORD":
                self._partitions = {
                    key: row for key, row in self._partitions.items() if key[0] != data["topicId"]
                }
            case "PARTITION_RECORD":
                return [self._put(data["topicId"], self._created(record))]
            case "PARTITION_CHANGE_RECORD":
                return [self._put(data["topicId"], _changed(self._known(record), data, at_ms))]
            case "CLEAR_ELR_RECORD":
                return self._clear_elr(data["topicName"], at_ms)
        return []

    def _put(self, topic_id: str, row: MetadataChange) -> MetadataChange:
        self._partitions[(topic_id, row.partition)] = row
        return row

    def _created(self, record: Record) -> MetadataChange:
        data = record["data"]
        if data["topicId"] not in self._names:
            raise ValueError(f"offset {record['offset']}: no earlier record creates topic {data['topicId']}")
        return MetadataChange(
            at_ms=record["timestamp_ms"],
            topic=self._names[data["topicId"]],
            partition=data["partitionId"],
            leader=data["leader"],
            leader_epoch=data["leaderEpoch"],
            partition_epoch=data["partitionEpoch"],
            replicas=tuple(data["replicas"]),
            isr=tuple(data["isr"]),
            elr=_ids(data, "eligibleLeaderReplicas") or (),
            last_known_elr=_ids(data, "lastKnownElr") or (),
        )

    def _known(self, record: Record) -> MetadataChange:
        key = (record["data"]["topicId"], record["data"]["partitionId"])
        if key not in self._partitions:
            raise ValueError(
                f"offset {record['offset']}: no earlier record creates partition {key[1]} of {key[0]}"
            )
        return self._partitions[key]

    def _clear_elr(self, topic: str, at_ms: int) -> list[MetadataChange]:
        """Of one topic, or of all if `topic` is empty; partitions that have none do not change."""
        cleared: Record = {"eligibleLeaderReplicas": [], "lastKnownElr": []}
        return [
            self._put(topic_id, _changed(row, cleared, at_ms))
            for (topic_id, _), row in list(self._partitions.items())
            if topic in ("", row.topic) and (row.elr or row.last_known_elr)
        ]


def _changed(row: MetadataChange, data: Record, at_ms: int) -> MetadataChange:
    leader = data.get("leader", UNCHANGED)
    elr, last_known = _ids(data, "eligibleLeaderReplicas"), _ids(data, "lastKnownElr")
    replicas, isr = _ids(data, "replicas"), _ids(data, "isr")
    return replace(
        row,
        at_ms=at_ms,
        leader=row.leader if leader == UNCHANGED else leader,
        leader_epoch=row.leader_epoch + (leader != UNCHANGED),
        partition_epoch=row.partition_epoch + 1,
        replicas=row.replicas if replicas is None else replicas,
        isr=row.isr if isr is None else isr,
        elr=row.elr if elr is None else elr,
        last_known_elr=row.last_known_elr if last_known is None else last_known,
    )


def _ids(data: Record, field: str) -> tuple[int, ...] | None:
    """A list of node ids; None if not in the record. Kafka has spelt lastKnownElr with ELR, too."""
    value = data.get(field, data.get(field.replace("Elr", "ELR")))
    return None if value is None else tuple(value)

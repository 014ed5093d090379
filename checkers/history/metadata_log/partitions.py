"""The partitions as they are after each record: leader, epochs, replicas, ISR, ELR, recovery state.

A PARTITION_CHANGE_RECORD carries only what changes, and no epochs: on replay the leader epoch rises by one
iff it names a leader (also -1, none; -2, unchanged, is not written), the partition epoch always. Source:
`PartitionRegistration.merge` and `TopicDelta` in Kafka's metadata module; KIP-966 for ELR.
"""

from collections.abc import Sequence
from dataclasses import replace

from checkers.history.metadata_log.records import Record
from checkers.history.rows import MetadataChange
from checkers.history.tables import NONE

UNCHANGED = -2
RECOVERING, RECOVERY_UNCHANGED = 1, -1
"""Values of leaderRecoveryState (KIP-704); 0, recovered, is not written in a PARTITION_RECORD."""


class Partitions:
    """The topics and partitions as they are after the records applied so far."""

    def __init__(self) -> None:
        """Nothing exists yet."""
        self._names: dict[str, str] = {}
        self._partitions: dict[tuple[str, int], MetadataChange] = {}

    def topic(self, topic_id: str) -> str:
        """The name of a topic; raises KeyError if no record has created it."""
        return self._names[topic_id]

    def apply(self, record: Record) -> Sequence[MetadataChange]:
        """The partitions that `record` changes, as they are after it.

        Raises ValueError if a record changes a partition that no earlier record creates.
        """
        data = record["data"]
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
                return [self._put(data["topicId"], _changed(self._known(record), data, record))]
            case "CLEAR_ELR_RECORD":
                return self._clear_elr(data["topicName"], record)
        return ()

    def _put(self, topic_id: str, row: MetadataChange) -> MetadataChange:
        self._partitions[(topic_id, row.partition)] = row
        return row

    def _created(self, record: Record) -> MetadataChange:
        data = record["data"]
        if data["topicId"] not in self._names:
            raise ValueError(f"offset {record['offset']}: no earlier record creates topic {data['topicId']}")
        return MetadataChange(
            at_ms=record["timestamp_ms"],
            log_offset=record["offset"],
            topic=self._names[data["topicId"]],
            partition=data["partitionId"],
            leader=data["leader"],
            leader_epoch=data["leaderEpoch"],
            partition_epoch=data["partitionEpoch"],
            replicas=tuple(data["replicas"]),
            isr=tuple(data["isr"]),
            elr=_ids(data, "eligibleLeaderReplicas") or (),
            last_known_elr=_ids(data, "lastKnownElr") or (),
            recovering=data.get("leaderRecoveryState", 0) == RECOVERING,
            controller=record.get("controller", NONE),
        )

    def _known(self, record: Record) -> MetadataChange:
        key = (record["data"]["topicId"], record["data"]["partitionId"])
        if key not in self._partitions:
            raise ValueError(
                f"offset {record['offset']}: no earlier record creates partition {key[1]} of {key[0]}"
            )
        return self._partitions[key]

    def _clear_elr(self, topic: str, record: Record) -> list[MetadataChange]:
        """Of one topic, or of all if `topic` is empty; partitions that have none do not change."""
        cleared: Record = {"eligibleLeaderReplicas": [], "lastKnownElr": []}
        return [
            self._put(topic_id, _changed(row, cleared, record))
            for (topic_id, _), row in list(self._partitions.items())
            if topic in ("", row.topic) and (row.elr or row.last_known_elr)
        ]


def _changed(row: MetadataChange, data: Record, record: Record) -> MetadataChange:
    leader = data.get("leader", UNCHANGED)
    elr, last_known = _ids(data, "eligibleLeaderReplicas"), _ids(data, "lastKnownElr")
    replicas, isr = _ids(data, "replicas"), _ids(data, "isr")
    recovery = data.get("leaderRecoveryState", RECOVERY_UNCHANGED)
    return replace(
        row,
        at_ms=record["timestamp_ms"],
        log_offset=record["offset"],
        leader=row.leader if leader == UNCHANGED else leader,
        leader_epoch=row.leader_epoch + (leader != UNCHANGED),
        partition_epoch=row.partition_epoch + 1,
        replicas=row.replicas if replicas is None else replicas,
        isr=row.isr if isr is None else isr,
        elr=row.elr if elr is None else elr,
        last_known_elr=row.last_known_elr if last_known is None else last_known,
        recovering=row.recovering if recovery == RECOVERY_UNCHANGED else recovery == RECOVERING,
        controller=record.get("controller", NONE),
    )


def _ids(data: Record, field: str) -> tuple[int, ...] | None:
    """A list of node ids; None if not in the record. Kafka has spelt lastKnownElr with ELR, too."""
    value = data.get(field, data.get(field.replace("Elr", "ELR")))
    return None if value is None else tuple(value)

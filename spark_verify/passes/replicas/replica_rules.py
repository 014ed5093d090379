"""Makes anomalies of what the workers found in the replicas: a rule for each property adds the words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from checkers.anomalies import Anomaly
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from spark_verify.kernels.replicas.between import AGAIN, LACKS, OTHER_BATCH, OTHER_RECORDS
from spark_verify.passes.replicas.scan_replicas import ReplicaScan

Words = Callable[[int, Mapping[str, Any]], str]
"""A note, of the broker and the evidence of one run."""
_DIVERGES = MappingProxyType(
    {
        LACKS: "broker {broker} lacks what was read there",
        OTHER_RECORDS: "broker {broker} holds other records than were read there",
        OTHER_BATCH: "brokers {yardstick} and {broker} hold different batches there",
        AGAIN: "broker {broker} has a batch there behind later offsets",
    }
)


def anomalies(wanted: Property, found: Sequence[tuple[TopicPartition, ReplicaScan]]) -> Iterator[Anomaly]:
    """The anomalies of one property of replicas."""
    for tp, scan in found:
        for runs in scan.runs.get(wanted.value, ()):
            names = list(runs.evidence)
            columns = (runs.first, runs.last, *runs.evidence.values())
            for first, last, *values in zip(*(column.tolist() for column in columns), strict=True):
                yield Anomaly(
                    property=wanted,
                    topic=tp.topic,
                    partition=tp.partition,
                    offset=first,
                    last_offset=last,
                    producer=NONE,
                    sequence=NONE,
                    replica=runs.broker,
                    note=WORDS[wanted](runs.broker, dict(zip(names, values, strict=True))),
                )


def _divergence(broker: int, its: Mapping[str, Any]) -> str:
    acked = f"; records acknowledged at these offsets: {its['acked']}" if its["acked"] else ""
    return _DIVERGES[its["kind"]].format(broker=broker, yardstick=its["yardstick"]) + acked


def _log_matching(broker: int, its: Mapping[str, Any]) -> str:
    return (
        f"brokers {its['other']} and {broker} differ there "
        f"and share offset {its['offset']} under leader epoch {its['epoch']}"
    )


def _one_leader(broker: int, its: Mapping[str, Any]) -> str:
    return f"brokers {its['other']} and {broker} hold different batches of leader epoch {its['epoch']}"


def _crc(broker: int, its: Mapping[str, Any]) -> str:
    return (
        f"broker {broker}: the CRC of the batch at position {its['position']} of segment {its['segment']} "
        "is not that of its bytes"
    )


def _epoch_monotone(broker: int, its: Mapping[str, Any]) -> str:
    return f"broker {broker}: leader epoch {its['epoch']} lies behind epoch {its['before']}"


def _sequence_dense(broker: int, its: Mapping[str, Any]) -> str:
    named = f"broker {broker}: producer id {its['producer_id']}, epoch {its['producer_epoch']}"
    if its["fenced_by"] != NONE:
        return f"{named}, writes behind epoch {its['fenced_by']}"
    return f"{named}, goes on with sequence {its['sequence']}; {its['wanted']} was next"


def _checkpoint_sane(_: int, its: Mapping[str, Any]) -> str:
    return str(its["text"])


WORDS: Mapping[Property, Words] = MappingProxyType(
    {
        Property.DIVERGENCE: _divergence,
        Property.EPOCH_MONOTONE: _epoch_monotone,
        Property.LOG_MATCHING: _log_matching,
        Property.CRC: _crc,
        Property.CHECKPOINT_SANE: _checkpoint_sane,
        Property.SEQUENCE_DENSE: _sequence_dense,
        Property.ONE_LEADER: _one_leader,
    }
)

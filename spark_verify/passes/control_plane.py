"""The control plane, on the driver: what the workers need to judge acks, and what follows from the samples.

The rules over the small tables are those of checkers/reference/control_plane; apply_rules.py calls them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from checkers.anomalies import Anomalies, AnomalyBlock
from checkers.history.columnar import columns_of
from checkers.history.rows import Context, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.control_plane.ack_contract import backing_of, too_few_note, waits_for_all
from checkers.reference.control_plane.backing import Backing, Span
from checkers.reference.control_plane.early_read import ReadLimit, ReadLimits, TopRead, early
from checkers.reference.control_plane.rule_result import NOT_COLLECTED, RuleResult
from spark_verify.kernels.control_plane.backed_acks import BackedAcks
from spark_verify.kernels.control_plane.reads_before import ReadsBefore
from spark_verify.kernels.control_plane.watermark_falls import Falls, falls
from spark_verify.partition_task import AckSpans, Bools, Ints

UNKNOWN = Backing(certain=(), possible=(), near=(), slack_ns=0)
"""Of a partition that the metadata log does not name."""


def spans_by_partition(context: Context) -> Mapping[TopicPartition, AckSpans]:
    """For each partition when it could acknowledge acks=all; none at all if that is not decided."""
    backings = backing_of(context)
    if backings is None:
        return {}
    waits = sorted(waits_for_all(context.producers).items())
    producers = np.array([producer for producer, _ in waits], np.int64)
    asked = np.array([asked for _, asked in waits], bool)
    return {
        tp: AckSpans(
            certain=_array(backings.get(tp, UNKNOWN).certain),
            possible=_array(backings.get(tp, UNKNOWN).possible),
            near=_array(backings.get(tp, UNKNOWN).near),
            known=tp in backings,
            producers=producers,
            waits=asked,
        )
        for tp in context.partitions
    }


def unbacked(context: Context, acks: Sequence[tuple[TopicPartition, BackedAcks]]) -> Iterator[AnomalyBlock]:
    """The ack-contract anomalies that the workers found."""
    if not any(len(backed.flagged()["offset"]) for _, backed in acks):
        return
    backings = backing_of(context) or {}
    for tp, backed in acks:
        rows = backed.flagged()
        nothing = np.full(len(rows["offset"]), NONE, np.int64)
        yield AnomalyBlock(
            property=Property.ACK_CONTRACT,
            tp=tp,
            offset=rows["offset"],
            last_offset=rows["offset"],
            producer=rows["producer"].astype(np.int64),
            sequence=rows["sequence"],
            invoked_ns=rows["invoked_ns"],
            completed_ns=rows["completed_ns"],
            seen_ns=nothing,
            under_epoch=nothing,
            acked_offset=rows["offset"],
            note=partial(_too_few, backings.get(tp, UNKNOWN)),
        )


def fallen_watermarks(context: Context) -> Iterator[AnomalyBlock]:
    """The hw-monotone anomalies."""
    names = ("topic", "partition", "at_ns", "leader_epoch", "high_watermark")
    columns = columns_of(context.watermarks, names)
    for tp, rows in _by_partition(columns["topic"], columns["partition"]):
        at_ns, epoch, value = (columns[name][rows] for name in names[2:])
        found = falls(at_ns, epoch, value)
        nothing = np.full(len(found.value), NONE, np.int64)
        yield AnomalyBlock(
            property=Property.HW_MONOTONE,
            tp=tp,
            offset=found.value,
            last_offset=found.top - 1,
            producer=nothing,
            sequence=nothing,
            invoked_ns=nothing,
            completed_ns=found.at_ns,
            seen_ns=found.top_ns,
            under_epoch=found.top_epoch,
            acked_offset=nothing,
            note=partial(_fallen, found),
        )


def times_of(limits: ReadLimits | None) -> Mapping[TopicPartition, Ints]:
    """For each partition the times before which it must be known how far readers had got; none at all if
    what was read early is not decided."""
    if limits is None:
        return {}
    return {tp: np.array([each.before_ns for each in its], np.int64) for tp, its in limits.of.items()}


def early_reads(
    limits: ReadLimits | None,
    proven: Iterable[TopicPartition],
    reads: Sequence[tuple[TopicPartition, ReadsBefore]],
) -> RuleResult:
    """What the samples say against how far the workers found readers to be, in the decided partitions."""
    if limits is None:
        return NOT_COLLECTED
    examined, undecided = limits.counted(proven)
    return RuleResult(anomalies=Anomalies(_early(limits, reads)), examined=examined, undecided=undecided)


def _early(limits: ReadLimits, reads: Iterable[tuple[TopicPartition, ReadsBefore]]) -> Iterator[AnomalyBlock]:
    for tp, found in reads:
        its = limits.of[tp]
        top = found.highest()
        exposed = np.array([each.exposed for each in its], np.int64)
        passed = exposed <= top.offset
        if passed.any():
            begins = np.flatnonzero(passed & ~_passed_before(its, passed)).tolist()
            yield from Anomalies.of(
                early(tp, its[at], TopRead(*(int(column[at]) for column in top))) for at in begins
            ).blocks


def _passed_before(limits: Sequence[ReadLimit], passed: Bools) -> Bools:
    """Shape (k,): whether the limit before each of the same epoch was passed, too; False for the first."""
    epochs = np.array([each.leader_epoch for each in limits], np.int64)
    before = np.zeros(len(epochs), bool)
    for epoch in np.unique(epochs):
        own = np.flatnonzero(epochs == epoch)
        before[own[1:]] = passed[own[:-1]]
    return before


def comparable_samples(context: Context) -> int:
    """How many samples name their leader epoch and a high watermark."""
    columns = columns_of(context.watermarks, ("leader_epoch", "high_watermark"))
    return int(np.count_nonzero((columns["leader_epoch"] != NONE) & (columns["high_watermark"] != NONE)))


def _array(spans: Sequence[Span]) -> Ints:
    return np.array(spans, np.int64).reshape(-1, 2)


def _by_partition(topics: Ints, partitions: Ints) -> Iterator[tuple[TopicPartition, Ints]]:
    """Each partition with the places of its rows, in their order."""
    names, codes = np.unique(topics.astype(str), return_inverse=True)
    keys = codes.astype(np.int64) << 32 | partitions.astype(np.int64)
    for key in np.unique(keys).tolist():
        yield TopicPartition(str(names[key >> 32]), key & 0xFFFFFFFF), np.flatnonzero(keys == key)


def _too_few(of: Backing, _row: int) -> str:
    return too_few_note(of)


def _fallen(found: Falls, row: int) -> str:
    return (
        f"it was {found.top[row]} under leader epoch {found.top_epoch[row]}, "
        f"then {found.value[row]} under {found.epoch[row]}"
    )

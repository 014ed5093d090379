"""The control plane in columns: the kernels answer what the reference rules answer one by one, evidence
included.

Each history is verified by our code in this process.
"""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from fakes.history.control_plane import ALL, acked, clocks, given, history, report, state, strict
from fakes.history.inline_spark import InlineSpark

from checkers.damage import write
from checkers.history.rows import Producer, Proof, TopicPartition, Watermark
from checkers.history.tables import Outcome
from checkers.properties import Property
from checkers.reference import Facts, check
from checkers.reference.hw_monotone import hw_monotone
from spark_verify.kernels.control_plane.backed_acks import BackedAcks
from spark_verify.kernels.control_plane.reads_before import ReadsBefore
from spark_verify.kernels.control_plane.watermark_falls import falls
from spark_verify.partition_task import AckSpans
from spark_verify.verify import verify

SMALL_ISR = (
    state(10, 1, (0, 0), (1, 2, 3), ms=0),
    state(11, 1, (0, 1), (1,), ms=5_000),
    state(12, 1, (0, 2), (1, 2), ms=9_000),
    report(5.2, 1, 0, (1,), high_watermark=90),
    report(5.6, 1, 0, (1,), high_watermark=70),
)


@pytest.mark.parametrize("producers", [(ALL,), (), (Producer(producer=1, acks="1", idempotence=False), ALL)])
def test_both_find_the_same_acks_and_falls_with_the_same_words(tmp_path, producers):
    """Also where no producer is described, or one of several."""
    sends = [acked(number, 4 + number / 10, 4.2 + number / 10, producer=number % 3) for number in range(60)]
    made = history(*SMALL_ISR, strict(), clocks(), *producers, *sends)
    write(made, tmp_path)
    ours, wanted = verify(tmp_path, InlineSpark()), check(made)
    assert ours.key() == wanted.key()
    control = (Property.ACK_CONTRACT, Property.HW_MONOTONE)
    mine, theirs = (
        sorted(repr(a) for a in judgement.anomalies if a.property in control) for judgement in (ours, wanted)
    )
    assert mine == theirs
    assert (Property.ACK_CONTRACT in {a.property for a in ours.anomalies}) == bool(producers)
    assert [a.last_offset for a in ours.anomalies if a.property is Property.HW_MONOTONE] == [89]


@pytest.mark.parametrize("last", [4.5, 6.05, 7.5])
def test_both_count_the_same_acks_as_doubtful(tmp_path, last):
    """The leader said last at this time that it knew of all replicas in sync: of broker 1 alone it never
    did."""
    sends = [acked(number, 4 + number / 10, 4.2 + number / 10) for number in range(60)]
    reports = [report(at, 1, 0) for at in (1, last)]
    made = history(*SMALL_ISR[:3], *reports, strict(), clocks(), ALL, *sends)
    write(made, tmp_path)
    ours, wanted = verify(tmp_path, InlineSpark()), check(made)
    assert ours.key() == wanted.key()
    until_ns = round((last + 1) * 1e9)
    beyond = [send for send in sends if until_ns <= send.invoked_ns and send.completed_ns < 8_999_000_000]
    assert ours.doubtful_acks == len(beyond) > 0


def test_both_find_the_same_early_reads_with_the_same_words(tmp_path):
    """Of two partitions' reads, in one file each; several runs of samples, one behind a later epoch. Of
    one read nobody knows under which epoch its batch was written."""
    states = (state(10, 1, (0, 0), (1, 2, 3), ms=0), state(11, 2, (1, 1), (2, 3), ms=9_000))
    answers = [
        (5.2, 40, 0),
        (5.4, 41, 0),
        (5.6, 45, 0),
        (6.5, 45, 0),
        (6.6, 55, 0),
        (10.2, 44, 0),
        (10.3, 60, 1),
    ]
    samples = [
        report(asked + 0.1, 1 + epoch, epoch, high_watermark=value, asked_s=asked)
        for asked, value, epoch in answers
    ]
    reads = [
        *(given(41, 5), given(50, 6, epoch=0), given(10, 7, reader=1, epoch=0)),
        *(given(59, 10, epoch=1), given(70, 11, epoch=1)),
    ]
    proof = Proof(topic="orders", partition=0, log_start=0, high_watermark=80, log_end=80, complete=True)
    made = history(*states, clocks(), ALL, *samples, *reads, proof)
    write(made, tmp_path)
    ours, wanted = verify(tmp_path, InlineSpark()), check(made)
    assert ours.key() == wanted.key()
    mine, theirs = (
        sorted(repr(a) for a in judgement.anomalies if a.property is Property.EARLY_READ)
        for judgement in (ours, wanted)
    )
    assert mine == theirs
    early = [a for a in ours.anomalies if a.property is Property.EARLY_READ]
    assert [(a.offset, a.last_offset, a.under_epoch) for a in early] == [(40, 41, -1), (45, 50, 0)]
    assert (ours.examined[Property.EARLY_READ], ours.undecided[Property.EARLY_READ]) == (7, 0)


def test_how_far_readers_were_is_the_same_however_the_reads_are_cut():
    """Batches of any length, times that are equal, reads at just a time, rows that are not by time."""
    compared = 0
    for seed in range(200):
        rng = Random(seed)
        times = np.array(sorted(rng.randrange(20) for _ in range(rng.randrange(6))), np.int64)
        rows = [(rng.randrange(20), rng.randrange(50)) for _ in range(rng.randrange(25))]
        rows = sorted(rows) if rng.random() < 0.5 else rows
        whole = ReadsBefore(times=times)
        cuts = sorted(rng.randrange(len(rows) + 1) for _ in range(3))
        for first, end in pairwise([0, *cuts, len(rows)]):
            part = ReadsBefore(times=times)
            of = np.array(rows[first:end], np.int64).reshape(-1, 2)
            part.add({"read_ns": of[:, 0], "offset": of[:, 1], "leader_epoch": of.sum(axis=1)})
            whole = whole + part
        wanted = [max((offset for at, offset in rows if at < time), default=-1) for time in times]
        highest, read_ns, epochs = (column.tolist() for column in whole.highest())
        assert highest == wanted
        assert read_ns == [min((at for at, of in rows if of == top), default=-1) for top in wanted]
        assert epochs == [at + top if top >= 0 else -1 for at, top in zip(read_ns, wanted, strict=True)]
        compared += sum(value >= 0 for value in wanted)
    assert compared > 200


def test_falls_are_those_of_the_reference_however_the_samples_lie():
    """Few epochs, few values, equal times, samples without an epoch or a value."""
    compared = 0
    for seed in range(300):
        rng = Random(seed)
        rows = [
            Watermark(
                at_ns=rng.randrange(12),
                topic="orders",
                partition=0,
                leader_epoch=rng.randint(-1, 3),
                high_watermark=rng.randint(-1, 6),
            )
            for _ in range(rng.randrange(15))
        ]
        columns = [
            np.array([getattr(row, name) for row in rows], np.int64)
            for name in ("at_ns", "leader_epoch", "high_watermark")
        ]
        found = falls(*columns)
        wanted = [
            (a.offset, a.last_offset, a.completed_ns, a.seen_ns) for a in hw_monotone(Facts(watermarks=rows))
        ]
        assert list(zip(found.value, found.top - 1, found.at_ns, found.top_ns, strict=True)) == wanted
        compared += len(wanted)
    assert compared > 300


def test_an_ack_meets_a_span_if_any_part_of_it_does():
    """Spans [10, 20) and [30, 40): an end is outside, a beginning inside; an ack may last over several."""
    spans = AckSpans(
        certain=np.array([[10, 20], [30, 40]]),
        possible=np.empty((0, 2), np.int64),
        near=np.empty((0, 2), np.int64),
        known=True,
        producers=np.array([4]),
        waits=np.array([True]),
    )
    times = [(1, 9), (1, 10), (19, 21), (20, 29), (20, 30), (40, 99), (1, 99)]
    backed = BackedAcks(spans=spans)
    backed.add(
        {
            "producer": np.full(len(times), 4, np.int32),
            "sequence": np.arange(len(times)),
            "invoked_ns": np.array([begin for begin, _ in times]),
            "completed_ns": np.array([end for _, end in times]),
            "outcome": np.full(len(times), Outcome.OK, np.int8),
            "offset": np.arange(len(times)),
            "row": np.arange(len(times)),
        }
    )
    assert backed.flagged()["sequence"].tolist() == [0, 3, 5]
    assert (backed.examined, backed.undecided) == (7, 0)


def test_sends_that_are_not_acknowledged_take_no_part():
    """Neither failed nor indeterminate ones, whatever their times are."""
    spans = AckSpans(
        certain=np.empty((0, 2), np.int64),
        possible=np.empty((0, 2), np.int64),
        near=np.empty((0, 2), np.int64),
        known=True,
        producers=np.array([4]),
        waits=np.array([True]),
    )
    backed = BackedAcks(spans=spans)
    columns = {name: np.array([1, 1]) for name in ("sequence", "invoked_ns", "completed_ns", "offset")}
    outcome = np.array([Outcome.FAIL, Outcome.INFO], np.int8)
    backed.add({**columns, "producer": np.array([4, 4], np.int32), "outcome": outcome})
    assert (backed.examined, backed.undecided, len(backed.flagged()["offset"])) == (0, 0, 0)


def test_partitions_are_kept_apart(tmp_path):
    """The high watermark of partition 1 is below that of partition 0, and falls nowhere."""
    samples = (report(1, 1, 0, high_watermark=50), report(2, 1, 0, high_watermark=5, on=1))
    made = history(SMALL_ISR[0], state(13, 1, (0, 0), (1, 2, 3), on=1), *samples)
    write(made, tmp_path)
    judgement = verify(tmp_path, InlineSpark())
    assert judgement.anomalies == ()
    assert judgement.key() == check(made).key()
    assert made.partitions == (TopicPartition("orders", 0),)

"""What a delivery report leaves, and when a producer counts as warm."""

from collections.abc import Callable

import numpy as np
from confluent_kafka import KafkaError, Message

from checkers.history.rows import TopicPartition
from workloads.clients.delivery_reports import DeliveryReports
from workloads.clients.send_counts import CountedSends, SendCounts
from workloads.payload import Encoder

VALUES = Encoder(1, 40, keyed=False).block(7, 3, 1).values


def report(number: int, offset: int) -> Message:
    return Message(topic="t", partition=0, value=VALUES[number], offset=offset)


def test_reports_are_taken_once_each_with_the_send_they_are_about() -> None:
    reports = DeliveryReports(40, acks="all")
    reports.deliver(None, report(2, 50))
    reports.deliver(None, report(0, 48))
    reports.deliver(KafkaError(KafkaError._MSG_TIMED_OUT), report(1, -1001))
    sequences, offsets = reports.take_acked()
    assert (sequences.tolist(), offsets.tolist()) == ([9, 7], [50, 48])
    sequences, errors = reports.take_failed()
    assert (sequences.tolist(), [error.code() for error in errors]) == ([8], [KafkaError._MSG_TIMED_OUT])
    assert [len(reports.take_acked()[0]), len(reports.take_failed()[1])] == [0, 0]


def test_an_acknowledgement_without_an_offset_has_offset_minus_one_however_the_client_reports_it() -> None:
    class Unset(Message):
        """A message whose offset is what librdkafka calls invalid."""

        def offset(self) -> int:
            return -1001

    reports = DeliveryReports(40, acks="all")
    reports.deliver(None, report(0, -1001))
    reports.deliver(None, report(1, 5))
    assert reports.take_acked()[1].tolist() == [-1, 5]
    reports.deliver(None, Unset(topic="t", partition=0, value=VALUES[2]))
    assert reports.take_acked()[1].tolist() == [-1]


def test_with_acks_0_no_offset_is_known_though_the_client_counts_upwards_from_an_invalid_one() -> None:
    reports = DeliveryReports(40, acks="0")
    for number, offset in enumerate((-1, 0, 1)):
        reports.deliver(None, report(number, offset))
    sequences, offsets = reports.take_acked()
    assert (sequences.tolist(), offsets.tolist()) == ([7, 8, 9], [-1, -1, -1])


class Recorded:
    """DeliveryReports that were passed on, by name."""

    producer = 3

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: self.calls.append(name)


def counted(*, offsets_known: bool = True) -> tuple[SendCounts, CountedSends, Recorded]:
    """The counts of a producer on two partitions whose sequence s goes to lane s % 2."""
    two = [TopicPartition("t", 0), TopicPartition("t", 1)]
    counts, recorded = SendCounts(two, offsets_known=offsets_known), Recorded()
    return (
        counts,
        CountedSends(recorded, counts, lambda sequences: (sequences % 2).astype(np.int16)),
        recorded,
    )


def test_an_acknowledgement_without_an_offset_is_counted_apart_and_warms_nothing() -> None:
    counts, sends, _ = counted()
    sends.acknowledged(np.array([0, 1]), np.array([4, -1]), at_ns=9)
    assert (counts.acked, counts.acked_without_offset, counts.cold_lanes) == (2, 1, [1])
    assert counts.last_ack_ns.tolist() == [9, 9]
    sends.acknowledged(np.array([3]), np.array([5]), at_ns=10)
    assert counts.cold_lanes == []


def test_with_acks_0_any_acknowledgement_warms() -> None:
    counts, sends, _ = counted(offsets_known=False)
    sends.acknowledged(np.array([0, 1]), np.array([-1, -1]), at_ns=9)
    assert counts.cold_lanes == []


def test_a_new_client_is_cold_and_what_was_counted_stays() -> None:
    counts, sends, _ = counted()
    sends.acknowledged(np.array([0, 1]), np.array([4, 4]), at_ns=9)
    sends.failed(np.array([2]), ["MSG_SIZE_TOO_LARGE"], at_ns=9)
    sends.indeterminate(np.array([3, 4]), ["_MSG_TIMED_OUT"] * 2, at_ns=9)
    counts.begin_instance()
    assert (counts.acked, counts.failed, counts.indeterminate) == (2, 1, 2)
    assert (counts.instances, counts.cold_lanes) == (2, [0, 1])
    assert counts.errors == {"MSG_SIZE_TOO_LARGE": 1, "_MSG_TIMED_OUT": 2}


def test_sends_that_never_end_are_outstanding_and_indeterminate_when_the_instance_ends() -> None:
    counts, sends, recorded = counted()
    sends.sent(np.zeros(5, np.int16), 1, np.zeros(5, np.int64))
    sends.acknowledged(np.array([0, 1]), np.array([4, 5]), at_ns=9)
    sends.failed(np.array([2]), ["_QUEUE_FULL"], at_ns=9)
    assert (counts.sent, sends.outstanding, counts.indeterminate) == (5, 2, 0)
    sends.close()
    assert counts.indeterminate == 2
    assert recorded.calls == ["sent", "acknowledged", "failed", "close"]

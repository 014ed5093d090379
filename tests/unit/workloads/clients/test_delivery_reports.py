"""What a delivery report leaves, and when a producer counts as warm."""

import numpy as np
from confluent_kafka import KafkaError, Message

from checkers.history.rows import TopicPartition
from checkers.history.tables import Outcome
from workloads.clients.delivery_reports import Reports
from workloads.clients.producer_stats import Progress
from workloads.payload import Encoder

VALUES = Encoder(1, 40, keyed=False).block(7, 3, 1).values


def report(number: int, offset: int) -> Message:
    return Message(topic="t", partition=0, value=VALUES[number], offset=offset)


def test_reports_are_taken_once_each_with_the_send_they_are_about() -> None:
    reports = Reports(40)
    reports.deliver(None, report(2, 50))
    reports.deliver(None, report(0, 48))
    reports.deliver(KafkaError(KafkaError._MSG_TIMED_OUT), report(1, -1001))
    sequences, offsets = reports.take_acked()
    assert (sequences.tolist(), offsets.tolist()) == ([9, 7], [50, 48])
    sequences, errors = reports.take_failed()
    assert (sequences.tolist(), [error.code() for error in errors]) == ([8], [KafkaError._MSG_TIMED_OUT])
    assert [len(reports.take_acked()[0]), len(reports.take_failed()[1])] == [0, 0]


def test_an_acknowledgement_without_an_offset_has_offset_minus_one_however_the_client_says_it() -> None:
    class Told(Message):
        """A message whose offset is what librdkafka calls invalid."""

        def offset(self) -> int:
            return -1001

    reports = Reports(40)
    reports.deliver(None, report(0, -1001))
    reports.deliver(None, report(1, 5))
    assert reports.take_acked()[1].tolist() == [-1, 5]
    reports.deliver(None, Told(topic="t", partition=0, value=VALUES[2]))
    assert reports.take_acked()[1].tolist() == [-1]


def progress(*, offsets_told: bool) -> Progress:
    two = [TopicPartition("t", 0), TopicPartition("t", 1)]
    return Progress(two, offsets_told=offsets_told)


def test_an_acknowledgement_without_an_offset_is_counted_apart_and_warms_nothing() -> None:
    told = progress(offsets_told=True)
    told.acknowledge(np.array([0, 1], np.int16), np.array([4, -1]), now_ns=9)
    assert (told.acked, told.acked_without_offset, told.cold_lanes, told.warm) == (2, 1, [1], False)
    assert told.last_ack_ns.tolist() == [9, 9]
    told.acknowledge(np.array([1], np.int16), np.array([5]), now_ns=10)
    assert told.warm


def test_with_acks_0_any_acknowledgement_warms() -> None:
    told = progress(offsets_told=False)
    told.acknowledge(np.array([0, 1], np.int16), np.array([-1, -1]), now_ns=9)
    assert told.warm


def test_a_new_client_is_cold_and_what_was_counted_stays() -> None:
    told = progress(offsets_told=True)
    told.acknowledge(np.array([0, 1], np.int16), np.array([4, 4]), now_ns=9)
    told.fail([Outcome.FAIL, Outcome.INFO, Outcome.INFO], [10, -192, -192])
    told.begin_instance()
    assert (told.acked, told.failed, told.unknown_sends, told.instances, told.warm) == (2, 1, 2, 1, False)
    assert told.errors == {10: 1, -192: 2}

"""Each broker is asked by itself, on a connection that stays, and a silent one costs the others nothing."""

import time

import pytest
from fakes.world.mock_kafka import MockKafka

from compose.errors import BrokerSilent
from compose.kafka import broker_api
from compose.kafka.brokers import Brokers, addresses
from compose.kafka.view import ClusterView
from compose.kafka.wire import Connection


def known_brokers(_number: int, broker: Connection) -> tuple[int, ...]:
    return broker_api.metadata(broker, []).brokers


def test_every_broker_answers_for_itself() -> None:
    with MockKafka(3) as kafka, Brokers(kafka.bootstrap, within_s=2) as brokers:
        assert brokers.numbers == (1, 2, 3)
        answers = brokers.ask_all(lambda number, broker: (number, broker.address))
        assert answers.given == {n: (n, a) for n, a in enumerate(addresses(kafka.bootstrap), start=1)}
        assert brokers.ask_all(lambda number, _: number, only={3, 1}).given == {1: 1, 3: 3}


def test_a_connection_stays_open_from_question_to_question() -> None:
    with MockKafka(1) as kafka, Brokers(kafka.bootstrap, within_s=2) as brokers:
        asked = [brokers.ask(1, lambda _, broker: (broker.is_open, known_brokers(1, broker))) for _ in "ab"]
    assert asked == [(False, (1,)), (True, (1,))]


def test_a_broker_that_is_down_is_silent_with_the_reason_and_the_others_answer() -> None:
    with MockKafka(3) as kafka, Brokers(kafka.bootstrap, within_s=0.5) as brokers:
        brokers.ask_all(known_brokers)
        kafka.down(2)
        answers = brokers.ask_all(known_brokers)
        assert answers.given.keys() == {1, 3}
        host, port = addresses(kafka.bootstrap)[1]
        assert answers.silent[2].startswith(f"broker at {host}:{port}: ")
        with pytest.raises(BrokerSilent, match=f"broker at {host}:{port}: "):
            brokers.ask(2, known_brokers)


def test_a_connection_that_broke_between_two_questions_is_replaced_within_the_second() -> None:
    """As after a restart, or after an edge that was cut and mended."""
    with MockKafka(1) as kafka, Brokers(kafka.bootstrap, within_s=2) as brokers:
        brokers.ask(1, known_brokers)
        kafka.down(1)
        kafka.up(1)
        assert brokers.ask(1, known_brokers) == (1,)


def test_a_broker_that_never_answers_costs_one_deadline_for_the_whole_question() -> None:
    def forever(_number: int, broker: Connection) -> None:
        while True:
            broker_api.metadata(broker, [])

    with MockKafka(2) as kafka, Brokers(kafka.bootstrap, within_s=0.3) as brokers:
        begin = time.monotonic()
        answers = brokers.ask_all(forever)
        assert time.monotonic() - begin < 2
    assert set(answers.silent) == {1, 2}
    assert "TimeoutError: timed out" in answers.silent[1]


def test_a_view_reads_brokers_that_offer_no_elr() -> None:
    with MockKafka(3, t=2) as kafka, ClusterView(kafka.bootstrap) as view:
        kafka.lead("t", 1, 2)
        assert [(s.partition, s.isr, s.elr) for s in view.describe("t")] == [
            (0, (1, 2, 3), ()),
            (1, (1, 2, 3), ()),
        ]
        assert view.leaders()["t", 1] == 2
        view.wait_for_full_isr(["t"], within_s=2)

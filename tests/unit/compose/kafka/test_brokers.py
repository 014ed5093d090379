"""Each broker is asked by itself, on a connection that stays, and a silent one costs the others nothing."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakes.waiting import until
from fakes.world.mock_kafka import MockKafka

from compose.errors import BrokerSilent
from compose.kafka import broker_api
from compose.kafka.brokers import STANDING, Brokers, addresses
from compose.kafka.view import ClusterView
from compose.kafka.wire import Connection

BOOTSTRAP = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"


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


def test_one_who_asks_does_not_wait_for_another() -> None:
    """As long as a broker is silent, each question to it takes its whole time: these go on side by side."""
    together = threading.Barrier(3)

    def meet(_number: int, broker: Connection) -> tuple[int, ...]:
        together.wait(5)
        return known_brokers(1, broker)

    with MockKafka(1) as kafka, Brokers(kafka.bootstrap, within_s=5) as brokers:
        answers: list[Mapping[int, tuple[int, ...]]] = []
        askers = [threading.Thread(target=lambda: answers.append(brokers.ask_all(meet).given)) for _ in "abc"]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        assert answers == [{1: (1,)}] * 3
        assert brokers.ask(1, lambda _, broker: broker.is_open)


def test_of_connections_that_were_wanted_at_one_time_the_usual_number_stays_open() -> None:
    """Else whoever asks for hours holds as many as ever met."""
    together = threading.Barrier(STANDING + 3)

    def was_open(_number: int, broker: Connection) -> bool:
        before = broker.is_open
        together.wait(5)
        known_brokers(1, broker)
        return before

    with MockKafka(1) as kafka, Brokers(kafka.bootstrap, within_s=5) as brokers:
        for stood in (0, STANDING):
            with ThreadPoolExecutor(STANDING + 3) as askers:
                asked = [askers.submit(brokers.ask, 1, was_open) for _ in range(STANDING + 3)]
            assert sum(one.result() for one in asked) == stood


def test_who_asks_single_brokers_starts_no_threads() -> None:
    with MockKafka(1) as kafka:
        before = threading.active_count()
        with Brokers(kafka.bootstrap, within_s=5) as brokers:
            assert brokers.ask(1, known_brokers) == (1,)
            assert threading.active_count() == before
            assert brokers.ask_all(known_brokers).given == {1: (1,)}
            assert threading.active_count() > before
        assert threading.active_count() == before


class Silence:
    """A question to which some brokers give no answer, until they go on."""

    def __init__(self, *brokers: int) -> None:
        self.brokers = set(brokers)
        self.goes_on = threading.Event()
        self.waited = threading.Event()

    def ask(self, number: int, _broker: Connection) -> int:
        """The broker's number; TimeoutError at once of one that is silent."""
        if number in self.brokers:
            raise TimeoutError("timed out")
        return number

    def ask_again(self, number: int, _broker: Connection) -> int:
        """The same, but one that was silent answers when it goes on."""
        if number in self.brokers:
            self.waited.set()
            self.goes_on.wait(10)
        return number


def made(silence: Silence, *, skips_silent: bool = True) -> Brokers:
    """Three brokers, of which some were silent when they were asked just before."""
    brokers = Brokers(BOOTSTRAP, within_s=10, skips_silent=skips_silent)
    assert brokers.ask_all(silence.ask).silent.keys() == silence.brokers
    return brokers


def test_a_broker_that_was_silent_a_moment_ago_is_not_waited_for() -> None:
    """It is asked all the same, so that it counts again as soon as it has answered."""
    silence = Silence(2)
    with made(silence) as brokers:
        answers = brokers.ask_all(silence.ask_again)
        assert (answers.given, silence.goes_on.is_set()) == ({1: 1, 3: 3}, False)
        assert answers.silent[2] == "broker at 127.0.0.1:2: it was silent a moment ago"
        assert silence.waited.wait(10)
        silence.goes_on.set()
        until(lambda: brokers.ask_all(silence.ask_again).given == {1: 1, 2: 2, 3: 3}, within_s=10)


def test_brokers_that_were_silent_are_waited_for_if_no_other_answers() -> None:
    """Else nothing would be known. So is the only one that is asked."""
    silence = Silence(1, 2, 3)
    silence.goes_on.set()
    with made(silence) as brokers:
        assert brokers.ask_all(silence.ask_again).given == {1: 1, 2: 2, 3: 3}
    with made(silence) as brokers:
        assert brokers.ask_all(silence.ask_again, only={2}).given == {2: 2}


def test_who_waits_for_all_waits_for_a_broker_that_was_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """By whose word a recovery is proven; and who skips, if the silence was long ago."""
    silence = Silence(2)
    silence.goes_on.set()
    with made(silence, skips_silent=False) as brokers:
        assert brokers.ask_all(silence.ask_again).given == {1: 1, 2: 2, 3: 3}
    monkeypatch.setattr("compose.kafka.brokers.SILENT_S", 0.0)
    with made(silence) as brokers:
        assert brokers.ask_all(silence.ask_again).given == {1: 1, 2: 2, 3: 3}


def test_a_view_reads_brokers_that_offer_no_elr() -> None:
    with MockKafka(3, t=2) as kafka, ClusterView(kafka.bootstrap) as view:
        kafka.lead("t", 1, 2)
        assert [(s.partition, s.isr, s.elr) for s in view.describe("t")] == [
            (0, (1, 2, 3), ()),
            (1, (1, 2, 3), ()),
        ]
        assert view.leaders()["t", 1] == 2
        view.wait_for_full_isr(["t"], within_s=2)

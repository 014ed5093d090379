import os
import signal
from collections.abc import Iterator

import pytest

from harness.errors import Interrupted
from harness.run.interrupts import SIGNALS, Interrupts


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """As before, whatever a test sets, or leaves ignored because a signal has come."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def press(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_in_an_orderly_part_the_first_signal_only_asks_to_stop() -> None:
    lines: list[str] = []
    with Interrupts(lines.append) as interrupts, interrupts.orderly():
        stop = interrupts.new_stop()
        assert not stop.is_set()
        press()
        assert stop.is_set()
        assert interrupts.received == signal.SIGINT
    assert lines == ["stopping the load and healing all faults, then judging; once more tears down now"]


def test_what_ends_one_run_does_not_end_the_next_but_a_signal_ends_all() -> None:
    with Interrupts(lambda text: None) as interrupts, interrupts.orderly():
        interrupts.new_stop().set()  # as an alarm does
        assert not interrupts.new_stop().is_set()
        press()
        assert interrupts.new_stop().is_set()


def test_the_second_signal_tears_down_now_and_the_exit_code_is_that_of_the_first() -> None:
    with Interrupts(lambda text: None) as interrupts, interrupts.orderly():
        press(signal.SIGTERM)
        with pytest.raises(Interrupted):
            press(signal.SIGINT)
        assert interrupts.received == signal.SIGTERM


def test_where_there_is_nothing_to_judge_yet_the_first_signal_tears_down() -> None:
    with Interrupts(lambda text: None), pytest.raises(Interrupted) as raised:
        press(signal.SIGTERM)
    assert raised.value.exit_code == 143


def test_a_user_who_goes_on_pressing_cannot_break_the_tear_down() -> None:
    lines: list[str] = []
    with Interrupts(lines.append):
        with pytest.raises(Interrupted):
            press()
        press()
        press()
    assert lines[1:] == ["already tearing down; this takes a few seconds"] * 2


def test_the_handlers_that_were_there_before_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts(lambda text: None):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize("number", SIGNALS)
def test_once_one_has_come_no_signal_breaks_the_end_of_the_process(number: signal.Signals) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with Interrupts(lambda text: None) as interrupts, interrupts.orderly():
        press(signal.SIGTERM)
    press(number)
    assert interrupts.received == signal.SIGTERM


def test_a_lost_terminal_is_an_orderly_end_too() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with Interrupts(lambda text: None) as interrupts, interrupts.orderly():
        press(signal.SIGHUP)
        assert interrupts.new_stop().is_set()
    assert Interrupted(signal.SIGHUP).exit_code == 129


def test_under_nohup_a_lost_terminal_is_nothing() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Interrupts(lambda text: None) as interrupts:
        press(signal.SIGHUP)
        assert not interrupts.new_stop().is_set()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_when_what_one_signal_tore_down_is_gone_the_next_one_is_the_second() -> None:
    with Interrupts(lambda text: None) as interrupts:
        with pytest.raises(Interrupted):
            press()
        assert interrupts.go_on_in_order()
        with interrupts.orderly(), pytest.raises(Interrupted):
            press()
        assert not interrupts.go_on_in_order()


def test_a_second_signal_during_the_tear_down_lets_nothing_go_on_in_order() -> None:
    with Interrupts(lambda text: None) as interrupts:
        with pytest.raises(Interrupted):
            press()
        press()
        assert not interrupts.go_on_in_order()

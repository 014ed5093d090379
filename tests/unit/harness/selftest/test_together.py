"""Histories of several threads, verified together: each caller gets its own answer, or its own error."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from checkers.errors import MalformedHistory
from harness.selftest.together import TogetherVerifier

FOLDERS = [Path("/runs", str(number)) for number in range(6)]


class Verifier:
    """Answers each history with its name; a history in `broken` spoils the whole call."""

    def __init__(self, *broken: str) -> None:
        self.broken = broken
        self.calls: list[int] = []

    def __call__(self, histories: Sequence[Path]) -> list[str]:
        self.calls.append(len(histories))
        for each in histories:
            if each.name in self.broken:
                raise MalformedHistory(each / "sends", "truncated")
        return [each.name for each in histories]


def answers(verifier) -> list[str]:
    def asked(folder: Path) -> str:
        try:
            return str(together(folder))
        except (MalformedHistory, ValueError) as error:
            return f"{type(error).__name__} of {folder.name}: {error}"

    with TogetherVerifier(verifier) as together, ThreadPoolExecutor(len(FOLDERS)) as pool:
        return list(pool.map(asked, FOLDERS))


def test_each_caller_gets_the_answer_of_its_own_history() -> None:
    verifier = Verifier()
    assert answers(verifier) == ["0", "1", "2", "3", "4", "5"]
    assert sum(verifier.calls) == 6


def test_a_malformed_history_spoils_nobody_elses() -> None:
    assert answers(Verifier("1", "4")) == [
        "0",
        "MalformedHistory of 1: /runs/1/sends: truncated",
        "2",
        "3",
        "MalformedHistory of 4: /runs/4/sends: truncated",
        "5",
    ]


def test_an_error_of_the_verifier_reaches_every_caller() -> None:
    def fails(_: Sequence[Path]) -> list[str]:
        raise ValueError("the session is gone")

    assert answers(fails) == [f"ValueError of {folder.name}: the session is gone" for folder in FOLDERS]


def test_an_error_about_no_history_that_was_asked_for_reaches_every_caller() -> None:
    def fails(_: Sequence[Path]) -> list[str]:
        raise MalformedHistory("/elsewhere", "missing")

    assert answers(fails)[0] == "MalformedHistory of 0: /elsewhere: missing"


def test_after_the_block_nothing_is_served() -> None:
    with TogetherVerifier(Verifier()) as together:
        assert together(FOLDERS[0]) == "0"
    assert not together._thread.is_alive()


@pytest.mark.parametrize("number", [0, 3])
def test_a_single_caller_is_served_alone(number: int) -> None:
    verifier = Verifier()
    with TogetherVerifier(verifier) as together:
        assert together(FOLDERS[number]) == str(number)
    assert verifier.calls == [1]

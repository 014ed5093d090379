"""The longest times without an ack, of each partition."""

import numpy as np
import pytest

from checkers.history.rows import TopicPartition
from checkers.verdict.exposure import gaps
from checkers.verdict.exposure.gaps import Gap, longest_gaps

A, B, NEVER = (TopicPartition("orders", number) for number in range(3))


def test_gaps_are_sorted_by_length_over_all_partitions() -> None:
    acks = {A: np.array([0, 10, 40]), B: np.array([5, 25]), NEVER: np.array([], np.int64)}
    assert longest_gaps(acks, 50) == (
        Gap(tp=A, from_ns=10, to_ns=40),
        Gap(tp=B, from_ns=25, to_ns=50),
        Gap(tp=B, from_ns=5, to_ns=25),
        Gap(tp=A, from_ns=0, to_ns=10),
        Gap(tp=A, from_ns=40, to_ns=50),
    )


def test_without_the_end_of_the_load_the_last_ack_ends_the_last_gap() -> None:
    assert longest_gaps({A: np.array([0, 10])}, -1)[0] == Gap(tp=A, from_ns=0, to_ns=10)


def test_of_one_partition_the_twenty_longest_are_kept() -> None:
    times = np.cumsum(np.arange(100))
    kept = longest_gaps({A: times}, -1)
    assert [gap.length_ns for gap in kept] == list(range(99, 79, -1))


def test_a_partition_without_an_ack_went_without_for_the_whole_load() -> None:
    acks = {A: np.array([10, 40]), NEVER: np.array([], np.int64)}
    assert longest_gaps(acks, 50, load_began_ns=5)[0] == Gap(tp=NEVER, from_ns=5, to_ns=50)
    assert longest_gaps(acks, -1, load_began_ns=5)[0] == Gap(tp=NEVER, from_ns=5, to_ns=40)
    assert longest_gaps({NEVER: acks[NEVER]}, -1, load_began_ns=5) == (Gap(tp=NEVER, from_ns=5, to_ns=5),)
    assert longest_gaps({NEVER: acks[NEVER]}, 50) == ()


def test_looking_at_a_few_acks_at_a_time_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    times = np.cumsum(np.random.default_rng(7).integers(0, 50, 1000))
    whole = longest_gaps({A: times}, 1 << 20)
    monkeypatch.setattr(gaps, "SLICE", 7)
    assert longest_gaps({A: times}, 1 << 20) == whole
    assert len(whole) == 20

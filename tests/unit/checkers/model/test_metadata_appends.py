"""When the simulated controllers append to the metadata log: every half second, and only with a majority."""

from bisect import bisect_right
from itertools import pairwise

import pytest

from checkers.history.rows import MetadataAppend
from checkers.model import (
    Action,
    Case,
    Kill,
    ModelSettings,
    Pause,
    PreferredElection,
    Simulated,
    draw_case,
    simulate,
)
from checkers.model.case import ACTIVE_CONTROLLER, CONTROLLERS
from checkers.model.kafka.controller import TOPIC_RECORDS
from checkers.model.observe.clock import ORIGIN_MS

SEEDS = range(4)


def run(seed: int, *schedule: Action) -> Simulated:
    return simulate(Case(seed=seed, settings=ModelSettings(load_s=16.0), schedule=schedule))


def silences(appends: list[MetadataAppend]) -> list[tuple[float, float]]:
    """(begin, end) in seconds of each time of more than half a second between two appends."""
    seconds = [(row.at_ms - ORIGIN_MS) / 1000 for row in appends]
    return [(early, late) for early, late in pairwise(seconds) if late - early > 0.5]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_quorum_appends_every_half_second(seed: int) -> None:
    history = run(seed, Kill(at_s=5.0, hold_s=3.0, nodes=(1,))).history
    assert silences(history.metadata_appends) == []
    lasts_ms = history.metadata_appends[-1].at_ms - history.metadata_appends[0].at_ms
    assert lasts_ms > 16_000


@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_majority_nothing_is_appended(seed: int) -> None:
    """What was not appended meanwhile is not made up for, and takes no offsets."""
    history = run(seed, Pause(at_s=5.2, hold_s=6.0, nodes=(ACTIVE_CONTROLLER, 101))).history
    ((begin, end),) = silences(history.metadata_appends)
    assert 4.5 < begin <= 5.5
    assert 11.0 < end < 12.0
    offsets = [row.log_offset for row in history.metadata_appends]
    at = [row.at_ms for row in history.metadata_appends].index(ORIGIN_MS + round(end * 1000))
    assert offsets[at] == offsets[at - 1] + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_another_controller_goes_on_after_a_fail_over(seed: int) -> None:
    history = run(seed, Pause(at_s=5.2, hold_s=9.0, nodes=(ACTIVE_CONTROLLER,))).history
    ((begin, end),) = silences(history.metadata_appends)
    assert 2.0 < end - begin < 3.5
    (later,) = {row.controller for row in history.metadata_appends if row.at_ms > ORIGIN_MS + 9_000}
    assert later in {*CONTROLLERS} - {ACTIVE_CONTROLLER}


def test_what_changes_nothing_is_not_appended() -> None:
    """Each first replica leads already."""
    history = run(1, PreferredElection(at_s=5.2, hold_s=1.0)).history
    offsets = [row.log_offset for row in history.metadata_appends]
    assert offsets == sorted(set(offsets))


@pytest.mark.parametrize("seed", range(6))
def test_every_change_was_appended_with_its_date(seed: int) -> None:
    history = simulate(draw_case(seed)).history
    offsets = [row.log_offset for row in history.metadata_appends]
    assert offsets == sorted(set(offsets))

    def holding(offset: int) -> MetadataAppend:
        return history.metadata_appends[bisect_right(offsets, offset) - 1]

    first = history.metadata[0].log_offset
    assert holding(first).log_offset == first - TOPIC_RECORDS
    for row in (*history.metadata, *history.brokers):
        its = holding(row.log_offset)
        assert (its.at_ms, its.controller) == (row.at_ms, row.controller)

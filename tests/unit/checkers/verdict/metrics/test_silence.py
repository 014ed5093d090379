"""How long nothing was committed to the metadata log, from the dates of its appends."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import CLOCK, led, ns

from checkers.contract.realised.timeline import Clock
from checkers.history.clocks.true_times import on_engines_clock
from checkers.history.rows import ClockPair, Context, MetadataAppend
from checkers.history.tables import OPTIONAL
from checkers.model import Action, Case, ClockSkew, ModelSettings, Pause, simulate
from checkers.model.observe.clock import ORIGIN_MS, ORIGIN_NS
from checkers.verdict.metrics.metric import Measured
from checkers.verdict.metrics.silence import longest_silence

WALL_MS = CLOCK.wall_ns // 1_000_000
TOPIC_AT = 10
"""The offset of the run's first partition."""


def appended(*seconds: float, first: int = TOPIC_AT) -> list[MetadataAppend]:
    """An append at each of these seconds of the run, each a record behind the one before."""
    return [
        MetadataAppend(at_ms=WALL_MS + round(second * 1000), log_offset=offset)
        for offset, second in enumerate(seconds, first)
    ]


def silence(appends: list[MetadataAppend], *, topic_at: int = TOPIC_AT, ended: float = 0) -> Measured:
    """Of a load that ended at a second."""
    created = replace(led(0, 1, 0, (1, 2, 3)), log_offset=topic_at)
    return longest_silence(Context(metadata=[created], metadata_appends=appends), CLOCK, ns(ended))


def test_the_longest_time_between_two_appends_counts() -> None:
    assert silence(appended(0, 0.5, 3.25, 3.5, 5)) == Measured(value=2.75)
    assert silence(appended(0, 0.5, 1)[::-1]) == Measured(value=0.5)


def test_what_was_before_the_run_s_first_topic_is_left_out() -> None:
    """Its append has the topic's own record in front of that of the partition."""
    rows = appended(-60, -30, first=1) + appended(0, first=TOPIC_AT - 1) + appended(1.5, 2, first=20)
    assert silence(rows) == Measured(value=1.5)


def test_a_log_that_nothing_is_added_to_is_silent_to_the_end_of_the_load() -> None:
    assert silence(appended(0, 0.5, 1), ended=31) == Measured(value=30.0)
    assert silence(appended(0, 0.5, 1, 31.5), ended=31) == Measured(value=30.5)
    assert silence(appended(0), ended=0) == Measured(value=0.0)


def test_a_date_that_steps_back_makes_no_silence() -> None:
    """The order is that of the log."""
    assert silence(appended(0, 4, 8, 1, 8.5)) == Measured(value=4.0)


def test_a_wall_clock_that_was_set_makes_no_silence() -> None:
    """At 4 s it was set 20 s ahead, and the readings of the clocks show it."""
    set_at = [(0, 0), (2, 0), (4, 20), (6, 20)]
    pairs = tuple(
        ClockPair(at_ns=ns(at), wall_ns=CLOCK.wall_ns + (at + ahead) * 1_000_000_000) for at, ahead in set_at
    )
    created = replace(led(0, 1, 0, (1, 2, 3)), log_offset=TOPIC_AT)
    context = Context(metadata=[created], metadata_appends=appended(0, 1, 2, 3, 24, 25, 26))
    clock = Clock(monotonic_ns=CLOCK.monotonic_ns, wall_ns=CLOCK.wall_ns, pairs=pairs)
    assert longest_silence(context, clock, ns(6)) == Measured(value=1.0)


def test_a_record_that_nobody_can_date_makes_it_unknown() -> None:
    """One of before the run does not."""
    undated = [replace(row, at_ms=-1) for row in appended(0, first=12)]
    assert silence(appended(0, 1) + undated) == Measured(
        value=None,
        unknown="nobody knows when the record at offset 12 of the metadata log was written: a clock was off "
        "then",
    )
    before = [replace(row, at_ms=-1) for row in appended(0, first=2)]
    assert silence(before + appended(0, 1)) == Measured(value=1.0)


def test_a_log_that_begins_in_the_run_shows_too_little() -> None:
    """Its topic is from a snapshot: what was appended until then is gone."""
    assert silence(appended(20, 21, first=70), topic_at=-1) == Measured(
        value=None, unknown="the metadata log does not reach back to the run's first topic"
    )


def test_a_history_without_the_appends_is_not_known() -> None:
    without = frozenset(OPTIONAL) - {"metadata_appends"}
    assert longest_silence(Context(collected=without), CLOCK, ns(60)) == Measured(
        value=None, unknown="not collected: metadata_appends"
    )
    assert silence([]) == Measured(value=None, unknown="the metadata log has no append")


def simulated(*schedule: Action) -> Measured:
    """Of a run in which a controller was active at all times but for what the schedule does."""
    history = simulate(Case(seed=1, settings=ModelSettings(load_s=22.0), schedule=schedule)).history
    clock = Clock(monotonic_ns=ORIGIN_NS, wall_ns=ORIGIN_MS * 1_000_000)
    return longest_silence(on_engines_clock(history), clock, -1)


@pytest.mark.parametrize("nodes", [(103,), (101, 102, 103)])
@pytest.mark.parametrize("ahead_s", [-3600.0, -8.0, 8.0, 300.0])
def test_the_wrong_clock_of_a_controller_makes_no_silence_and_hides_none(
    nodes: tuple[int, ...], ahead_s: float
) -> None:
    """The active one stands still for a while, or does not."""
    skew = ClockSkew(at_s=6.0, hold_s=14.0, nodes=nodes, ahead_s=ahead_s)
    pause = Pause(at_s=9.0, hold_s=6.0, nodes=(103,))
    assert simulated(skew) == simulated() == Measured(value=0.5)
    assert simulated(skew, pause) == simulated(pause) == Measured(value=3.0)

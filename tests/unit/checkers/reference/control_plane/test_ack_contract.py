"""acks=all is backed by min.insync.replicas, as far as a leader could know: counterexample and near misses.

Times are seconds. Broker 1 leads ISR [1, 2, 3] from 0 s, ISR [1] from 5 s to 9 s, and ISR [1, 2] from then
on; min.insync.replicas=2.
"""

from dataclasses import replace

import pytest
from fakes.history.control_plane import (
    ALL,
    SECOND,
    acked,
    clocks,
    history,
    report,
    setting,
    state,
    strict,
)

from checkers.history.rows import ClockPair, Fault, Producer
from checkers.reference.control_plane.ack_contract import ack_contract
from checkers.reference.control_plane.rule_result import RuleResult

STATES = [
    state(10, 1, (0, 0), (1, 2, 3), ms=0),
    state(11, 1, (0, 1), (1,), ms=5_000),
    state(12, 1, (0, 2), (1, 2), ms=9_000),
]
KNOWS = report(5.2, 1, 0, (1,))
"""Broker 1 shows at 5.2 s that it knows of ISR [1]; it may act by the older one for one more second."""


def ruled(*rows, states=STATES, settings=None, pairs=None, producers=(ALL,), missing=()) -> RuleResult:
    """What the rule finds among the sends of `rows`."""
    made = history(
        *rows,
        *producers,
        list(states),
        strict() if settings is None else settings,
        clocks() if pairs is None else pairs,
        missing=missing,
    )
    return ack_contract(made, made.sends)


def found(result) -> tuple[list[int], int, int]:
    """The sequences of the anomalies, how many were examined, how many are undecided."""
    return [anomaly.sequence for anomaly in result.anomalies], result.examined, result.undecided


def test_an_ack_under_a_small_isr_that_the_leader_knew_of_is_found():
    """Sent and acknowledged between 6.5 s and 7 s."""
    result = ruled(KNOWS, acked(7, 6.5, 7))
    assert found(result) == ([7], 1, 0)
    (anomaly,) = result.anomalies
    assert (anomaly.offset, anomaly.producer, anomaly.invoked_ns) == (7, 0, 6_500_000_000)
    assert anomaly.note == (
        "from its sending to its acknowledgement no leader knew of min.insync.replicas in sync "
        "(the clocks agree to 1.0 ms)"
    )


def test_an_ack_is_backed_if_the_isr_was_large_enough_at_some_time_of_it():
    """Before, across the shrink, across the growth, after, and waiting all along."""
    sends = [acked(0, 1, 2), acked(1, 4.9, 6.5), acked(2, 8, 9.5), acked(3, 20, 21), acked(4, 4, 12)]
    assert found(ruled(KNOWS, *sends)) == ([], 5, 0)


def test_a_leader_that_may_not_have_known_is_undecided():
    """Sent within the second after its report; or never reported: it may be cut off with its followers."""
    assert found(ruled(KNOWS, acked(7, 6.1, 6.2))) == ([], 0, 1)
    assert found(ruled(acked(7, 6.5, 7))) == ([], 0, 1)


def test_a_leader_of_the_isr_shows_by_leading_that_it_follows_no_more():
    """Broker 2 leads from 6 s on, alone; it was in the ISR [1, 2, 3] that broker 1 may still believe in."""
    elected = [*STATES[:1], state(11, 2, (1, 1), (2,), ms=6_000)]
    assert found(ruled(acked(7, 8.5, 9), report(7, 2, 1, (2,)), states=elected)) == ([7], 1, 0)


def test_a_leader_from_outside_the_isr_shows_nothing_of_the_old_one():
    """Broker 3 was elected uncleanly; 1 and 2 may be cut off together, and keep what they acknowledge."""
    shrunk = state(11, 1, (0, 1), (1, 2), ms=5_000)
    elected = [STATES[0], shrunk, state(12, 3, (1, 2), (3,), ms=6_000, recovering=True)]
    settled = report(7, 3, 1, (3,))
    assert found(ruled(acked(7, 8.5, 9), settled, states=elected)) == ([], 0, 1)


def test_no_leader_acknowledges_nothing():
    """ISR [1, 2] with leader -1 backs no acknowledgement, once broker 2 has shown that it leads no more."""
    states = [STATES[0], state(11, -1, (1, 1), (1, 2), ms=5_000), state(12, 2, (2, 2), (2,), ms=6_000)]
    assert found(ruled(acked(7, 9, 9.5), report(7, 2, 2, (2,)), states=states)) == ([7], 1, 0)


def test_the_slack_of_the_clocks_is_undecided():
    """The ISR shrinks at 5 s, but the clocks agree only to 0.5 s: the ack of 9.2 s before 9.4 s is open, the
    one at 8 s is not."""
    apart = clocks(error_ns=499_000_000)
    assert found(ruled(KNOWS, acked(7, 8.6, 8.8), acked(8, 7, 8), pairs=apart)) == ([8], 1, 1)


def test_clocks_that_step_widen_the_slack_by_as_much():
    """The wall clock is set 3 s forward at 30 s: nothing is placed better than that."""
    stepped = [
        ClockPair(at_ns=pair.at_ns, wall_ns=pair.wall_ns + (pair.at_ns >= 30_000_000_000) * 3_000_000_000)
        for pair in clocks()
    ]
    assert found(ruled(KNOWS, acked(7, 6.5, 7), pairs=stepped)) == ([], 0, 1)
    assert found(ruled(KNOWS, acked(7, 6.5, 7), pairs=clocks()[:1])) == ([], 0, 0)


def test_only_acks_of_all_are_examined():
    """acks=1 promises nothing of the kind; an unknown producer may have asked for all."""
    one = Producer(producer=1, acks="1", idempotence=False)
    sends = [acked(7, 6.5, 7, producer=1), acked(8, 6.5, 7, producer=2)]
    assert found(ruled(KNOWS, *sends, producers=(ALL, one))) == ([], 0, 1)


def test_the_setting_counts_as_it_was_at_that_time():
    """min.insync.replicas is 1 until 6 s, and 2 after that: the ack at 8 s follows the leader's next ISR."""
    settings = [setting("min.insync.replicas", "1"), setting("min.insync.replicas", "2", 11)]
    states = [STATES[0], STATES[1], state(12, 1, (0, 2), (1,), ms=6_000), STATES[2]]
    assert found(ruled(acked(7, 5.2, 5.4), states=states[:2], settings=settings[:1])) == ([], 1, 0)
    assert found(ruled(KNOWS, acked(7, 7, 8), settings=settings[:1])) == ([], 1, 0)
    assert found(ruled(KNOWS, acked(7, 7, 8), settings=[])) == ([], 0, 1)


RAISED = [
    STATES[0],
    state(11, 1, (0, 1), (1,), ms=5_000),
    state(14, 1, (0, 2), (1, 2), ms=30_000),
]
"""Broker 1 is alone in sync from 5 s to 30 s, and says so all the time."""
TO_TWO = [
    setting("min.insync.replicas", "1"),
    replace(setting("min.insync.replicas", "2", 12), at_ms=1_009_000),
]
"""At 9 s two have to be in sync."""
ALONE = [report(at, 1, 0, (1,)) for at in (6, 8, 9.5, 12, 20, 25, 29)]


def changed(**more) -> Fault:
    """The fault that raised it; every broker said so at 9.4 s."""
    its = Fault(
        index=0,
        name="raise",
        kind="config",
        target="topic orders: min.insync.replicas=2",
        inject_ns=round(8.9 * SECOND),
        effect_ns=round(9.4 * SECOND),
        proven=True,
    )
    return replace(its, **more)


def test_once_every_broker_knows_of_a_larger_setting_no_leader_goes_by_the_smaller_one():
    """Three seconds after all have said so; until then the leader may have acted by what was before."""
    sends = [acked(7, 8, 8.5), acked(8, 9.2, 12), acked(9, 12.5, 13), acked(10, 24, 25), acked(11, 29, 31)]
    result = ruled(*ALONE, changed(), *sends, states=RAISED, settings=TO_TWO)
    assert (found(result), result.doubtful) == (([9, 10], 4, 1), 0)


@pytest.mark.parametrize(
    "fault",
    [
        changed(proven=False),
        changed(target="topic others: min.insync.replicas=2"),
        changed(target="topic orders: min.insync.replicas=1"),
        changed(target="topic orders: flush.messages=1"),
        changed(inject_ns=10 * SECOND, effect_ns=11 * SECOND),
    ],
    ids=["nobody knows", "another topic", "another value", "another setting", "another time"],
)
def test_without_that_it_may_for_ever_but_that_is_in_doubt(fault):
    """What the leader says of its ISR tells nothing of the setting; just after the change is in
    none."""
    sends = [acked(8, 9, 9.1), acked(9, 12.5, 13), acked(10, 24, 25)]
    result = ruled(*ALONE, fault, *sends, states=RAISED, settings=TO_TWO)
    assert (found(result), result.doubtful) == (([], 0, 3), 2)


def test_with_the_old_setting_back_the_smaller_one_counts_again():
    """From 20 s on one is enough; every broker said so at 20.3 s, and a broker has all states of before."""
    back = [*TO_TWO, replace(setting("min.insync.replicas", "1", 13), at_ms=1_020_000)]
    its = changed(end_ns=20 * SECOND, recovered_ns=round(20.3 * SECOND), recovered=True)
    sends = [acked(9, 18, 19), acked(10, 20.1, 25)]
    result = ruled(*ALONE, its, *sends, states=RAISED, settings=back)
    assert (found(result), result.doubtful) == (([9], 2, 0), 0)


def test_an_older_isr_is_in_doubt_where_its_leader_has_long_shown_nothing():
    """It said at 12 s that it knew of ISR [1, 2, 3], and was not asked again; or was, and learnt of the later
    one; or is known to be of an epoch that nobody sampled."""
    before = [report(at, 1, 0) for at in (4, 12)]
    states, sends = STATES[:2], [acked(7, 11, 12), acked(8, 12.5, 12.9), acked(9, 13.5, 14)]
    result = ruled(*before, *sends, states=states)
    assert (found(result), result.doubtful) == (([], 0, 3), 1)
    result = ruled(*before, report(14.5, 1, 0, (1,)), *sends, states=states)
    assert (found(result), result.doubtful) == (([], 0, 3), 0)
    result = ruled(*sends, states=states)
    assert (found(result), result.doubtful) == (([], 0, 3), 3)


def test_a_partition_with_fewer_replicas_than_the_setting_needs_all_of_them():
    """Kafka takes the lesser of min.insync.replicas and the number of replicas."""
    alone = [state(10, 1, (0, 0), (1,), ms=0, replicas=(1,))]
    assert found(ruled(acked(7, 6, 7), states=alone)) == ([], 1, 0)


def test_a_clock_of_a_controller_that_steps_back_decides_nothing():
    """The growth at offset 12 is dated 7 s, before the shrink at offset 11 (8 s): from 7 s on all is open."""
    states = [
        STATES[0],
        state(11, 1, (0, 1), (1,), ms=8_000),
        state(12, 1, (0, 2), (1, 2), ms=7_000),
    ]
    assert found(ruled(acked(7, 7.2, 7.8), report(7.9, 1, 0, (1, 2)), states=states)) == ([], 0, 1)


def test_a_partition_without_a_timeline_is_undecided():
    """The metadata log does not name partition 1."""
    assert found(ruled(acked(7, 6.5, 7, on=1))) == ([], 0, 1)


def test_without_its_evidence_nothing_is_decided():
    """A history from before these tables existed."""
    for table in ("configs", "producers", "clocks"):
        assert ruled(KNOWS, acked(7, 6.5, 7), missing=[table]) == RuleResult()

"""A broker that may not lead leaves every ISR first: the counterexample and its near misses."""

from fakes.history.control_plane import broker, history, named, state, up

from checkers.reference.control_plane.fencing import fenced_out
from checkers.reference.control_plane.rule_result import RuleResult

CREATED = state(10, 1, (0, 0), (1, 2, 3))


def ruled(*rows) -> RuleResult:
    """What the rule finds; brokers 1, 2 and 3 were unfenced before."""
    return fenced_out(history(up(1, 2, 3), *rows))


def test_a_fenced_broker_that_stays_in_the_isr_is_found():
    """Whatever bars it, and though it leaves the ISR in a later append."""
    gone = state(30, 1, (0, 1), (1, 3))
    for flags in ({"fenced": True}, {"stopping": True}, {"registered": False}):
        result = ruled(CREATED, broker(20, 2, **flags), gone)
        assert named(result) == [(2, 0)]
        assert (result.examined, result.undecided) == (2, 0)


def test_the_note_says_why_and_since_when():
    """With the ISR that names it."""
    (anomaly,) = ruled(CREATED, broker(20, 2, fenced=True)).anomalies
    assert anomaly.note == (
        "broker 2 is fenced since metadata offset 20, and in the ISR [1, 2, 3] (metadata offset 10)"
    )


def test_a_broker_leaves_the_isr_before_the_record_that_fences_it():
    """That is how the controller writes it when a session ends."""
    assert named(ruled(CREATED, state(20, 1, (0, 1), (1, 3), ms=20), broker(21, 2, fenced=True, ms=20))) == []


def test_a_broker_that_leaves_the_isr_only_after_it_is_fenced_is_found():
    """Though in the same append: for a moment the ISR has a fenced broker."""
    rows = (broker(20, 2, fenced=True, ms=20), state(21, 1, (0, 1), (1, 3), ms=20))
    assert named(ruled(CREATED, *rows)) == [(2, 0)]
    assert named(ruled(CREATED, broker(20, 2, fenced=True, ms=20), broker(21, 2, ms=20))) == [(2, 0)]


def test_a_broker_that_leaves_the_isr_long_after_its_shutdown_began_is_found():
    """In the next append, not in the same one."""
    rows = (broker(20, 1, stopping=True, ms=20), state(21, 2, (1, 1), (2, 3), ms=21))
    assert named(ruled(CREATED, *rows)) == [(1, 0)]


def test_a_broker_leaves_the_isr_after_the_record_that_begins_its_shutdown():
    """In the same append, so nobody ever acts by the state between them."""
    assert named(
        ruled(
            CREATED,
            broker(20, 1, stopping=True, ms=20),
            state(21, 2, (1, 1), (2, 3), ms=20),
            broker(30, 1, fenced=True, stopping=True),
        )
    ) == []  # fmt: skip


def test_a_broker_comes_back_into_the_isr_after_it_is_unfenced():
    """Registered anew (fenced), unfenced, caught up: in that order."""
    assert named(
        ruled(
            CREATED,
            state(20, 1, (0, 1), (1, 3), ms=20),
            broker(21, 2, fenced=True, ms=20),
            broker(30, 2, fenced=True),
            broker(31, 2),
            state(32, 1, (0, 2), (1, 3, 2)),
        )
    ) == []  # fmt: skip


def test_a_broker_in_the_isr_before_it_is_unfenced_is_found():
    """The unfencing comes with a later append."""
    assert named(
        ruled(
            CREATED,
            state(20, 1, (0, 1), (1, 3), ms=20),
            broker(21, 2, fenced=True, ms=20),
            state(32, 1, (0, 2), (1, 3, 2)),
            broker(33, 2),
        )
    ) == [(2, 0)]  # fmt: skip


def test_without_elr_the_last_in_sync_replica_stays_in_the_isr_of_an_offline_partition():
    """ISR [1], leader -1: the partition waits for broker 1, which is dead, registers anew, and leads
    again."""
    assert named(
        ruled(
            CREATED,
            state(20, 1, (0, 1), (1,)),
            state(30, -1, (1, 2), (1,), ms=30),
            broker(31, 1, fenced=True, ms=30),
            broker(40, 1, fenced=True),
            broker(41, 1, ms=41),
            state(42, 1, (2, 3), (1,), ms=41),
        )
    ) == []  # fmt: skip


def test_a_fenced_leader_is_found():
    """Alone in its ISR, but still the leader: the partition is not offline."""
    assert named(ruled(CREATED, state(20, 1, (0, 1), (1,)), broker(30, 1, fenced=True))) == [(1, 0)]


def test_a_broker_of_which_no_registration_is_known_is_undecided():
    """Its states count as undecided, and are no violation."""
    result = fenced_out(history(up(1, 2), CREATED, state(20, 1, (0, 1), (1, 2))))
    assert (named(result), result.examined, result.undecided) == ([], 1, 1)


def test_without_registrations_nothing_is_decided():
    """A history from before that table existed."""
    assert fenced_out(history(CREATED, missing=["brokers"])) == RuleResult()

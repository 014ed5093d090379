"""Who comes into ISR and ELR, and leaves: the counterexamples, and all that Kafka does."""

from dataclasses import replace

import pytest
from fakes.history.control_plane import (
    SECOND,
    broker,
    clocks,
    history,
    named,
    setting,
    state,
    strict,
    up,
)

from checkers.history.rows import Fault, NodeEvent
from checkers.reference.control_plane.eligibility import eligible_step
from checkers.reference.control_plane.rule_result import RuleResult

FEATURE = "eligible.leader.replicas.version"
MIN_ISR = "min.insync.replicas"
CREATED = state(10, 1, (0, 0), (1, 2))
ALONE = state(20, 1, (0, 1), (1,), elr=(2,))
"""Broker 2 has left the ISR: fewer than two are in sync, so it is eligible. Broker 3 never was in sync."""


def elr(level="1", offset=-1):
    """The level of the feature after the record at an offset."""
    return setting("", level, offset, kind="feature", name=FEATURE)


def ruled(*rows, settings=None) -> RuleResult:
    """What the rule finds, with ELR on and min.insync.replicas=2 unless `settings` say otherwise."""
    settings = [*strict(), elr()] if settings is None else settings
    return eligible_step(history(*rows, up(1, 2, 3), clocks(), settings))


def gone(**more):
    """ELR [] follows ELR [2], at offset 30, with nothing else changed but `more`."""
    changes = {"log_offset": 30, "at_ms": ALONE.at_ms + 10, "partition_epoch": 3, "elr": (), **more}
    return replace(ALONE, **changes)


def test_an_eligible_replica_does_not_leave_by_itself():
    result = ruled(CREATED, ALONE, gone())
    assert named(result) == [(2, 0)]
    assert result.anomalies[0].note.startswith(
        "broker 2 is neither in the ISR nor in the ELR any more, and nothing has taken it out: "
        "ISR [1], ELR [2], then ISR [1], ELR []"
    )
    assert (result.examined, result.undecided) == (2, 0)


def test_who_leaves_the_isr_below_min_isr_is_eligible():
    """ISR [1, 2] becomes [1], and 2 is forgotten; ISR [1, 2, 3] becomes [1, 2], and 3 may be."""
    assert named(ruled(state(9, 1, (0, 0), (1, 2, 3)), state(10, 1, (0, 1), (1, 2)))) == []
    assert named(ruled(CREATED, state(12, 1, (0, 1), (1,)))) == [(2, 0)]
    assert named(ruled(CREATED, ALONE)) == []


@pytest.mark.parametrize(
    "after",
    [
        gone(isr=(1, 2)),
        gone(replicas=(1, 3)),
        state(30, 3, (1, 2), (3,), recovering=True),
        state(30, 2, (1, 2), (2,), elr=(1,)),
    ],
    ids=["in sync again", "moved away", "an unclean election", "elected from the ELR"],
)
def test_a_step_of_the_partition_takes_it_out(after):
    assert named(ruled(CREATED, ALONE, after)) == []


def test_another_min_isr_empties_the_elr():
    """By a record of its own behind that of the setting, which may be the topic's or that of all."""
    for kind, name in (("topic", "orders"), ("cluster", "")):
        changed = [setting(MIN_ISR, "3", 29, kind=kind, name=name), *strict(), elr()]
        assert named(ruled(CREATED, ALONE, gone(), settings=changed)) == []
        too_early = [setting(MIN_ISR, "3", 19, kind=kind, name=name), *strict(), elr()]
        assert named(ruled(CREATED, ALONE, gone(), settings=too_early)) == [(2, 0)]


def test_as_many_in_sync_as_min_isr_wants_leave_nobody_eligible():
    """min.insync.replicas is lowered to 1, or was never above the fewest replicas of the topic."""
    assert named(ruled(CREATED, ALONE, gone(), settings=[*strict(min_isr="1"), elr()])) == []
    single = state(9, 1, (0, 0), (1,), replicas=(1,), on=1)
    assert named(ruled(single, CREATED, ALONE, gone())) == []


def test_without_elr_nobody_is_eligible():
    """It is off, is turned off before, or on only since; or no feature is recorded."""
    for settings in (
        [*strict(), elr("0")],
        [*strict(), elr(), elr("0", 25)],
        [*strict(), elr("0"), elr("1", 25)],
        strict(),
    ):
        assert named(ruled(CREATED, ALONE, gone(), settings=settings)) == []


def test_it_is_undecided_where_min_isr_is_not_known():
    result = ruled(CREATED, ALONE, gone(), settings=[elr()])
    assert named(result) == []
    assert (result.examined, result.undecided) == (1, 1)


def test_nobody_becomes_eligible_who_was_not_in_sync():
    """Whatever ELR is set to."""
    for settings in (None, strict()):
        result = ruled(CREATED, state(12, 1, (0, 1), (1,), elr=(2, 3)), settings=settings)
        assert named(result) == [(3, 0)]


def test_nobody_comes_into_the_isr_while_nobody_leads():
    headless = state(21, -1, (1, 2), (), elr=(1, 2), last_known_elr=(1,))
    result = ruled(CREATED, ALONE, headless, state(22, -1, (1, 3), (3,), elr=(1, 2)))
    assert named(result) == [(3, 1)]


ENDED = NodeEvent(at_ns=2 * SECOND, node=2, role="broker", event="exited", exit_code=143, fault="stop")
"""Broker 2 is stopped by SIGTERM at 2 s; it had registered at 1 s, and does so again at 4 s."""
REGISTERED = [broker(1, 2, fenced=True, ms=1000, epoch=1), broker(2, 2, ms=1100, epoch=1)]
ANEW = broker(31, 2, fenced=True, ms=4000, epoch=31)


def back(*rows, events=(ENDED,), registered=REGISTERED, anew=ANEW) -> RuleResult:
    """The ELR loses broker 2 by the append of its new registration."""
    rows = (
        CREATED,
        replace(ALONE, at_ms=ALONE.at_ms + 2500),
        gone(at_ms=anew.at_ms),
        *registered,
        anew,
        *rows,
    )
    settings = [*strict(), elr()]
    return eligible_step(history(*rows, up(1, 3), clocks(), settings, *events))


def test_a_broker_that_was_stopped_in_order_stays_eligible():
    result = back()
    assert named(result) == [(2, 0)]
    assert "since it registered anew, though it was stopped in order" in result.anomalies[0].note


def fault(kind, **more):
    return Fault(index=0, name="stop", kind=kind, target="", nodes=(2,), inject_ns=SECOND, **more)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [replace(ENDED, exit_code=137)],
        [replace(ENDED, exit_code=1)],
        [ENDED, replace(ENDED, at_ns=3 * SECOND)],
        [ENDED, fault("stop", down=(2,), down_ns=(-1,), up_ns=(-1,), unclean=(2,))],
        [ENDED, fault("disk-full")],
        [ENDED, fault("log-dir-failure")],
    ],
    ids=[
        "unseen",
        "killed",
        "halted",
        "ended twice",
        "counted as unclean",
        "disk was full",
        "lost a directory",
    ],
)
def test_one_whose_process_may_have_ended_otherwise_does_not(events):
    assert named(back(events=events)) == []


def test_one_that_was_stopped_before_it_had_loaded_its_logs_does_not():
    """It was never unfenced: it leaves no mark of a clean shutdown."""
    assert named(back(registered=REGISTERED[:1])) == []


def test_one_that_is_unregistered_does_not():
    removed = broker(31, 2, registered=False, ms=4000, epoch=1)
    assert named(back(anew=removed)) == []


def test_without_registrations_or_settings_nothing_is_decided():
    for table in ("brokers", "configs"):
        rows = (CREATED, ALONE, gone(), up(1, 2, 3), strict(), elr())
        assert eligible_step(history(*rows, missing=[table])) == RuleResult()

"""Who may be elected: the counterexample, and what looks like one and is not."""

from dataclasses import replace

from fakes.history.control_plane import (
    SECOND,
    WALL_MS,
    broker,
    clocks,
    history,
    named,
    setting,
    state,
    strict,
    up,
)

from checkers.history.rows import BrokerLine, Fault
from checkers.reference.control_plane.elections import leader_legal
from checkers.reference.control_plane.rule_result import RuleResult

UNCLEAN = "unclean.leader.election.enable"
CREATED = state(10, 1, (0, 0), (1, 2, 3))


def ruled(*rows, settings=None) -> RuleResult:
    """What the rule finds, with unclean election off unless `settings` say otherwise."""
    return leader_legal(history(*rows, up(1, 2, 3), strict() if settings is None else settings))


def test_a_replica_from_outside_the_isr_is_not_eligible():
    """Also if the controller marks the election as unclean: the topic does not allow one."""
    shrunk = state(11, 1, (0, 1), (1, 2))
    for recovering in (True, False):
        forged = state(12, 3, (1, 2), (3,), recovering=recovering)
        result = ruled(CREATED, shrunk, forged)
        assert named(result) == [(3, 1)]
        assert (result.examined, result.undecided) == (1, 0)


def test_the_note_says_what_there_was_to_choose_from():
    """ISR, ELR, last known leader and the setting, and where in the metadata log it is."""
    before = state(11, -1, (1, 1), (), elr=(2,), last_known_elr=(1,))
    (anomaly,) = ruled(CREATED, before, state(12, 3, (2, 2), (3,), recovering=True)).anomalies
    assert anomaly.note == (
        "broker 3 was elected under ISR [], ELR [2], last known [1], with "
        "unclean.leader.election.enable=false (metadata offset 12)"
    )
    assert (anomaly.offset, anomaly.property.value) == (-1, "leader-legal")


def test_an_in_sync_replica_is_elected():
    """After a kill, and by a preferred election, which leaves the ISR as it is."""
    killed = state(11, 2, (1, 1), (2, 3))
    back = state(12, 2, (1, 2), (2, 3, 1))
    preferred = state(13, 1, (2, 3), (2, 3, 1))
    result = ruled(CREATED, killed, back, preferred)
    assert named(result) == []
    assert result.examined == 2


def test_a_leader_is_in_the_isr_that_comes_with_it():
    """An ISR without its leader could not acknowledge anything."""
    assert named(ruled(CREATED, state(11, 2, (1, 1), (1, 3)))) == [(2, 1)]


def test_an_eligible_replica_is_elected_when_no_in_sync_one_is_left():
    """KIP-966: ISR [], ELR [1, 2]; broker 2 comes back and leads alone."""
    lost = state(11, -1, (1, 1), (), elr=(1, 2), last_known_elr=(1,))
    assert named(ruled(CREATED, lost, state(12, 2, (2, 2), (2,), elr=(1,)))) == []


def test_an_eligible_replica_is_not_elected_while_others_are_in_sync():
    """The ELR counts only when the ISR is empty."""
    shrunk = state(11, 1, (0, 1), (1,), elr=(2,))
    assert named(ruled(CREATED, shrunk, state(12, 2, (1, 2), (1, 2)))) == [(2, 1)]


LOST = state(11, -1, (1, 1), (), elr=(2,), last_known_elr=(1,))
LAST_KNOWN = {"recovering": True}


def test_the_last_known_leader_is_elected_when_nobody_is_eligible():
    """KIP-966: broker 2 was killed and left the ELR by its new registration; unclean election is off."""
    emptied = state(12, -1, (1, 2), (), last_known_elr=(1,))
    assert named(ruled(CREATED, LOST, emptied, state(13, 1, (2, 3), (1,), **LAST_KNOWN))) == []


def test_the_last_known_leader_is_elected_in_the_append_that_empties_the_elr():
    """The record of broker 2's new registration follows in the same append."""
    elected = state(12, 1, (2, 2), (1,), ms=12, **LAST_KNOWN)
    anew = broker(13, 2, fenced=True, ms=12, epoch=13)
    assert named(ruled(CREATED, LOST, elected, anew)) == []


def test_an_eligible_replica_that_is_only_fenced_in_that_append_is_not_passed_over():
    """The broker epoch is the one of before: no new process, so broker 2 has what it had."""
    elected = state(12, 1, (2, 2), (1,), ms=12, **LAST_KNOWN)
    before, fenced = broker(1, 2, epoch=1), broker(13, 2, fenced=True, ms=12, epoch=1)
    assert named(ruled(CREATED, LOST, elected, before, fenced)) == [(1, 2)]


def test_the_last_known_leader_does_not_pass_over_an_eligible_replica():
    """Broker 2 is still in the ELR: it alone may lead."""
    assert named(ruled(CREATED, LOST, state(12, 1, (2, 2), (1,), **LAST_KNOWN))) == [(1, 2)]


def test_another_than_the_last_known_leader_is_not_elected():
    """Even with nobody eligible."""
    emptied = state(12, -1, (1, 2), (), last_known_elr=(1,))
    assert named(ruled(CREATED, LOST, emptied, state(13, 3, (2, 3), (3,), **LAST_KNOWN))) == [(3, 2)]


def dead(offset, node):
    """A broker is fenced by an append of its own, before it is missed."""
    return broker(offset, node, fenced=True)


def test_an_unclean_election_needs_permission_at_that_time():
    """Allowed from offset 12 to 15; the election at 14 is legal, the one at 17 is not."""
    shrunk = state(11, 1, (0, 1), (1,))
    settings = [
        setting(UNCLEAN, "false"),
        setting(UNCLEAN, "true", 12),
        setting(UNCLEAN, "false", 15),
    ]
    allowed = state(14, 2, (1, 2), (2,), recovering=True)
    refused = state(17, 3, (2, 3), (3,), recovering=True)
    rows = (CREATED, shrunk, dead(13, 1), allowed, dead(16, 2), refused)
    assert named(ruled(*rows, settings=settings)) == [(3, 2)]


UNCLEANLY = state(13, 3, (1, 2), (3,), recovering=True)
"""Broker 3 is elected, which is not in the ISR [1, 2] of before."""


def test_an_unclean_election_is_the_last_resort():
    """Leader 1 is fenced behind it, in the same append, as the controller does; 2 is in sync, and alive."""
    shrunk = state(11, 1, (0, 1), (1, 2))
    fenced = broker(14, 1, fenced=True, ms=13)
    (anomaly,) = ruled(CREATED, shrunk, UNCLEANLY, fenced, settings=strict(unclean="true")).anomalies
    assert (anomaly.producer, anomaly.sequence) == (3, 1)
    assert anomaly.note.startswith(
        "broker 3 was elected under ISR [1, 2], ELR [], past broker 2, who could have led"
    )


def test_who_cannot_lead_is_passed_over_by_nobody():
    """Broker 2 was fenced or stopping before, is so by the same append, or registers anew in it; or it lacks
    a log directory, perhaps the one of this replica; or no record registers it."""
    shrunk = state(11, 1, (0, 1), (1, 2))
    fenced = broker(15, 1, fenced=True, ms=13)
    both = [replace(each, log_dirs=2) for each in (broker(0, 2), broker(0, 3))]
    for others in (
        [broker(12, 2, fenced=True)],
        [broker(12, 2, stopping=True)],
        [broker(14, 2, fenced=True, ms=13)],
        [broker(14, 2, ms=13, epoch=14)],
        [*both, replace(broker(12, 2), log_dirs=1)],
    ):
        result = ruled(CREATED, shrunk, UNCLEANLY, fenced, others, settings=strict(unclean="true"))
        assert named(result) == []
    rows = (CREATED, shrunk, UNCLEANLY, fenced, strict(unclean="true"))
    assert named(leader_legal(history(*rows, up(1, 3)))) == []
    assert named(leader_legal(history(*rows, up(1, 2, 3)))) == [(3, 1)]


def test_one_that_becomes_unfenced_in_that_append_could_have_led():
    """Its record comes before the elections that it brings about."""
    headless = state(11, -1, (1, 1), (2,))
    back = [broker(10, 2, fenced=True), broker(12, 2, ms=13)]
    elected = state(13, 3, (2, 2), (3,), recovering=True)
    assert named(ruled(CREATED, headless, back, elected, settings=strict(unclean="true"))) == [(3, 2)]


def test_one_whose_disk_was_replaced_may_not_have_told_its_new_directory():
    """Until it has, the controller takes it for no leader."""
    wipe = Fault(index=0, name="wipe", kind="disk-wipe", nodes=(2,), inject_ns=SECOND, data_lost=(2,))
    rows = (CREATED, state(11, 1, (0, 1), (1, 2)), UNCLEANLY, broker(14, 1, fenced=True, ms=13))
    assert named(ruled(*rows, wipe, settings=strict(unclean="true"))) == []


def test_the_elr_could_have_led_while_it_is_on_and_nobody_is_in_sync():
    """ELR [2] is left, for broker 2 was stopped in order; where ELR is off, what is left leads nothing."""
    headless = state(11, -1, (1, 1), (), elr=(2,))
    elected = state(13, 3, (2, 2), (3,), recovering=True)
    feature = "eligible.leader.replicas.version"
    for level, found in (("1", [(3, 2)]), ("0", [])):
        on = setting("", level, kind="feature", name=feature)
        settings = [*strict(unclean="true"), on]
        assert named(ruled(CREATED, headless, elected, settings=settings)) == found


def test_one_that_is_moved_away_is_not_passed_over():
    """The same record that elects takes it off the replicas."""
    growing = state(11, 1, (0, 1), (1, 2), replicas=(3, 1, 2))
    done = state(13, 3, (1, 2), (3,), replicas=(3,), recovering=True)
    assert named(ruled(CREATED, growing, done, settings=strict(unclean="true"))) == []


def version(node, release, ms=0):
    """A node names its release."""
    line = f"INFO Kafka version: {release} (org.apache.kafka.common.utils.AppInfoParser)"
    return BrokerLine(topic="", partition=-1, at_ms=WALL_MS + ms, node=node, kind="version", line=line)


def test_a_controller_before_3_9_does_not_read_what_the_topic_allows():
    """Controller 101 is brought to 3.9 between the two elections; on brokers nothing depends."""
    shrunk = state(11, 1, (0, 1), (1,))
    first = state(14, 2, (1, 2), (2,), recovering=True, controller=101)
    second = state(17, 3, (2, 3), (3,), recovering=True, controller=101)
    lines = [version(101, "3.8.1"), version(101, "3.9.1", ms=15), version(1, "4.3.1")]
    allowed = strict(unclean="true")
    rows = (CREATED, shrunk, dead(13, 1), first, dead(16, 2), second)
    (anomaly,) = ruled(*rows, *lines, settings=allowed).anomalies
    assert (anomaly.producer, anomaly.sequence) == (2, 1)
    assert "by a controller that does not read unclean.leader.election.enable" in anomaly.note
    assert named(ruled(*rows, settings=allowed)) == []


def test_an_election_under_an_unknown_setting_is_undecided():
    """Neither legal nor a violation; the one from the ISR is decided all the same."""
    shrunk = state(11, 2, (1, 1), (2,))
    unclean = state(13, 3, (2, 2), (3,), recovering=True)
    result = ruled(CREATED, shrunk, dead(12, 2), unclean, settings=[])
    assert named(result) == []
    assert (result.examined, result.undecided) == (1, 1)


def test_the_end_of_a_reassignment_may_elect_the_replica_that_it_added():
    """Replicas [1, 2, 3] become [4]: the leader's last AlterPartition brings 4 into the ISR, and ends it."""
    growing = state(11, 1, (0, 1), (1, 2, 3), replicas=(4, 1, 2, 3))
    done = state(12, 4, (1, 2), (4,), replicas=(4,))
    assert named(ruled(CREATED, growing, done)) == []


def test_a_change_of_replicas_excuses_no_unclean_election():
    """It is marked as recovering, so 4 had not caught up."""
    growing = state(11, 1, (0, 1), (1, 2, 3), replicas=(4, 1, 2, 3))
    done = state(12, 4, (1, 2), (4,), replicas=(4,), recovering=True)
    assert named(ruled(CREATED, growing, done)) == [(4, 1)]


def test_the_order_is_that_of_the_log_and_not_of_time():
    """The controller that wrote offset 12 has a clock that is 5 s behind: by time, 2 was not in sync."""
    shrunk = state(11, 1, (0, 1), (1,))
    grown = state(12, 1, (0, 2), (1, 2), ms=-5_000)
    assert named(ruled(state(13, 2, (1, 3), (2,)), grown, shrunk, CREATED)) == []


def test_a_topic_made_anew_begins_anew():
    """Its first leader is elected from nothing."""
    again = state(20, 3, (0, 0), (3, 1, 2), replicas=(3, 1, 2))
    assert named(ruled(CREATED, state(11, 2, (1, 1), (2,)), again)) == []


def test_without_settings_or_registrations_nothing_is_decided():
    """A history from before these tables existed."""
    rows = (CREATED, state(11, 3, (1, 1), (3,), recovering=True))
    for table in ("brokers", "configs"):
        assert leader_legal(history(*rows, up(1, 2, 3), strict(), missing=[table])) == RuleResult()
    assert leader_legal(history(up(1), strict())) == RuleResult()


FORCED = Fault(
    index=0,
    name="force",
    kind="unclean-election",
    target="topic orders",
    inject_ns=5 * SECOND,
    begin_ns=5 * SECOND,
    effect_ns=6 * SECOND,
    heal_ns=8 * SECOND,
)
"""Asked for at 5 s, seen to have taken effect at 6 s."""


def forced(at_s, *faults, read=True) -> RuleResult:
    """An unclean election at a time, of a topic that allows none, in a run with these faults."""
    headless = state(11, -1, (1, 1), (1,))
    elected = state(13, 3, (2, 2), (3,), ms=at_s * 1000, recovering=True)
    return ruled(CREATED, headless, dead(12, 1), elected, *faults, clocks() if read else [])


def test_an_unclean_election_that_was_asked_for_is_legal():
    """Between the request and the time at which its effect was seen; not before, and not long after."""
    assert [named(forced(at, FORCED)) for at in (4, 5, 6, 7)] == [[(3, 2)], [], [], [(3, 2)]]


def test_another_fault_is_no_request():
    """Of another kind, for another topic, or one that was never injected."""
    for other in (
        replace(FORCED, kind="preferred-election"),
        replace(FORCED, target="topic audit"),
        replace(FORCED, inject_ns=-1, effect_ns=-1),
    ):
        assert named(forced(6, other)) == [(3, 2)]


def test_a_request_that_was_not_seen_to_take_effect_may_do_so_later():
    """Then it is not decided; nor where nobody can say when the election was."""
    unproven = replace(FORCED, proven=False, effect_ns=-1)
    results = [forced(9, unproven), forced(5, FORCED, read=False)]
    assert [(named(result), result.undecided) for result in results] == [([], 1), ([], 1)]
    assert named(forced(4, unproven)) == [(3, 2)]

"""Who led, who was in sync, and who may have gone on acknowledging, at any second of a run."""

import pytest
from fakes.history.judged_run import (
    CLOCK,
    begins_to,
    cut,
    down,
    led,
    lost_directory,
    ns,
    sampled,
    world,
)

from checkers.history.rows import NodeEvent, TopicPartition

TP = TopicPartition("orders", 0)
EVERYBODY = (1, 2, 3)


def timeline(*events):
    """The timeline of a run with these events."""
    return world(*events).timeline


def test_wall_clock_times_become_seconds_of_the_run():
    """One pair of readings ties the clocks."""
    assert CLOCK.at(5_002_500) == ns(2.5)
    assert CLOCK.seconds(ns(2.5)) == "2.50 s"


def test_the_state_at_a_time_is_the_last_one_told_before_it():
    """Or the first one, for any time before that."""
    observed = timeline(led(5, 2, 6, (2, 3)), led(1, 1, 5, EVERYBODY))
    seen = [observed.at(TP, ns(second)).leader_epoch for second in (0, 1, 4.9, 5, 9)]
    assert seen == [5, 5, 5, 6, 6]
    assert observed.at(TopicPartition("orders", 1), ns(3)) is None


def test_changes_of_one_millisecond_keep_the_order_of_their_partition_epochs():
    """The metadata log's clock is coarse."""
    first, second = led(1.0, 1, 5, EVERYBODY), led(1.0, 2, 6, (2, 3))
    object.__setattr__(second, "partition_epoch", first.partition_epoch + 1)
    assert timeline(second, first).at(TP, ns(2)).leader == 2


def test_a_change_of_the_isr_is_no_election():
    """Nor is a partition without a leader, nor its first leader."""
    observed = timeline(led(0, 1, 5, EVERYBODY), led(1, 1, 5, (1,)), led(2, -1, 6, (1,)), led(3, 1, 7, (1,)))
    assert [(e.at_ns, e.leader, e.deposed, e.unclean) for e in observed.elections(TP)] == [
        (ns(3), 1, 1, False)
    ]


@pytest.mark.parametrize(
    ("isr", "elr", "unclean"), [((1, 2), (), False), ((), (2,), False), ((1,), (3,), True), ((), (), True)]
)
def test_an_election_is_clean_from_the_isr_or_the_elr_just_before_it(isr, elr, unclean):
    """Anybody else is elected uncleanly."""
    observed = timeline(led(0, 1, 5, EVERYBODY), led(1, -1, 6, isr, elr), led(2, 2, 7, (2,)))
    assert [e.unclean for e in observed.elections(TP)] == [unclean]


@pytest.mark.parametrize(
    ("at", "least", "wanted"),
    [(0.5, 2, 0.5), (3, 3, 2), (3, 2, 3), (4.5, 2, 4), (7, 2, 7), (7, 3, 2), (7, 1, 7), (7, 4, None)],
)
def test_the_last_time_at_which_so_many_were_in_sync(at, least, wanted):
    """Until the change that made them fewer."""
    observed = timeline(
        led(0, 1, 5, EVERYBODY), led(2, 1, 5, (1, 3)), led(4, 3, 6, (3,)), led(6, 3, 6, (2, 3))
    )
    changed = wanted in (2, 4)
    assert observed.last_enough_ns(TP, ns(at), least) == (-1 if wanted is None else ns(wanted) - changed)


FOR_EVER = 1 << 62


@pytest.mark.parametrize(
    ("event", "until"),
    [
        (led(9, 2, 6, EVERYBODY), ns(9)),
        (cut(3), FOR_EVER),
        (down(3, 2), FOR_EVER),
        (down(3, 2, kind="stop"), FOR_EVER),
        (down(0.5, 1, recovered=0.9), FOR_EVER),
        (down(7, 1), ns(7)),
        (down(4.9, 1, kind="stop", ended=5.5), ns(5.5)),
        (down(3, 1, recovered=4), FOR_EVER),
        (down(1, 1), -1),
        (down(3, 1), -1),
        (down(5, 1), -1),
        (down(3, 1, kind="stop"), -1),
    ],
)
def test_a_deposed_leader_acts_until_it_is_in_sync_again_or_its_process_has_ended(event, until):
    """Broker 1 led from second 1 to 5. One that is down when its successor is elected acts no more."""
    observed = timeline(led(0, 3, 4, EVERYBODY), led(1, 1, 5, EVERYBODY), led(5, 2, 6, (2, 3)), cut(2), event)
    election = observed.elections(TP)[1]
    assert (election.leader, election.deposed, election.deposed_until_ns) == (2, 1, until)


@pytest.mark.parametrize(
    ("events", "until"),
    [
        ((), 5),
        ((begins_to("follow", 5.6, 1, 6),), 5.6),
        ((begins_to("follow", 5.6, 1, 6), begins_to("follow", 5.8, 1, 7)), 5.6),
        ((begins_to("lead", 5.7, 1, 7),), 5.7),
        ((begins_to("follow", 5.6, 1, 6), down(5.2, 1)), 5.2),
        ((begins_to("follow", 5.6, 3, 6),), 5),
        ((begins_to("follow", 4.6, 1, 5),), 5),
    ],
)
def test_a_leader_that_stays_in_sync_learns_of_its_successor_when_it_writes_so(events, until):
    """Broker 1 led until 5, and all are in sync all along: a planned move."""
    observed = timeline(led(1, 1, 5, EVERYBODY), led(5, 2, 6, EVERYBODY), *events)
    (election,) = observed.elections(TP)
    assert (election.deposed, election.deposed_until_ns) == (1, ns(until))


@pytest.mark.parametrize(
    ("event", "until"),
    [
        (lost_directory(3, 1, restarted=8), -1),
        (lost_directory(3, 1, restarted=8, kind="disk-full"), -1),
        (lost_directory(4.7, 1, restarted=8), -1),
        (lost_directory(4.7, 1, restarted=8, kind="disk-full"), ns(5.2)),
        (lost_directory(6, 1, restarted=8), ns(6.1)),
        (lost_directory(3, 1, restarted=8, partition=1), ns(8)),
        (lost_directory(3, 1, restarted=8, proven=False), ns(8)),
        (lost_directory(3, 2, restarted=8), FOR_EVER),
    ],
)
def test_a_deposed_leader_without_its_log_directory_acts_no_more(event, until):
    """Broker 1 led until 5. Once its file system is cut off no append succeeds; where that is full, one may
    until the directory is seen to be offline. Of another partition, or where nobody saw that, it may go on
    until it is restarted."""
    observed = timeline(led(0, 3, 4, EVERYBODY), led(1, 1, 5, EVERYBODY), led(5, 2, 6, (2, 3)), event)
    election = observed.elections(TP)[1]
    assert (election.leader, election.deposed, election.deposed_until_ns) == (2, 1, until)


def test_a_broker_that_was_started_by_another_fault_has_its_log_directory_again():
    """At 4 s, before its successor is elected: it may have led again."""
    started = NodeEvent(
        at_ns=ns(4), node=1, role="broker", event="started", exit_code=-1, planned=True, fault="kill"
    )
    lost = lost_directory(3, 1, restarted=8)
    observed = timeline(led(0, 3, 4, EVERYBODY), led(1, 1, 5, EVERYBODY), led(5, 2, 6, (2, 3)), lost, started)
    assert observed.elections(TP)[1].deposed_until_ns == ns(8)


def deposed_at(observed, second):
    """Who may have appended at a time without knowing of its successor."""
    return [each.leader for each in observed.leaders(TP, ns(second), ns(second)) if each.deposed_by]


def test_a_deposed_leader_is_suspect_from_a_second_before_its_election_until_one_after_its_return():
    """So exactly are the two clocks known to agree."""
    observed = timeline(led(1, 1, 5, EVERYBODY), led(5, 2, 6, (2, 3)), led(9, 2, 6, EVERYBODY))
    assert [deposed_at(observed, second) for second in (3.9, 4, 8, 9.9, 10)] == [[], [1], [1], [1], []]


def test_a_leader_that_is_elected_again_is_no_suspect():
    """It knows."""
    observed = timeline(led(1, 1, 5, EVERYBODY), led(5, 1, 6, EVERYBODY))
    assert deposed_at(observed, 5) == []


def led_to_and_fro(*events):
    """Broker 1 leads from 1 s on, and is elected again at 3 s, under epoch 6; broker 2 is at 5 s."""
    return timeline(led(1, 1, 5, EVERYBODY), led(3, 1, 6, EVERYBODY), led(5, 2, 7, (2, 3)), *events)


def under(observed, second):
    """Under which epochs broker 1 may have appended at a time, each with that of the successor it did not
    know."""
    its = [each for each in observed.leaders(TP, ns(second), ns(second)) if each.leader == 1]
    return {(each.epoch, each.deposed_by.leader_epoch if each.deposed_by else None) for each in its}


def test_a_leader_goes_on_in_its_old_epoch_until_it_has_learnt_that_it_was_elected_again():
    """It stands still until 9 s, and writes then that it leads under epoch 6, and that it follows under 7."""
    late = (begins_to("lead", 9, 1, 6), begins_to("follow", 9, 1, 7))
    assert under(led_to_and_fro(*late), 1.5) == {(5, None)}
    assert under(led_to_and_fro(*late), 4) == {(6, None), (6, 7), (5, None), (5, 7)}
    assert under(led_to_and_fro(*late), 8) == {(6, 7), (5, 7)}
    assert under(led_to_and_fro(*late), 10.1) == set()


def test_a_leader_that_has_written_of_its_new_epoch_goes_on_in_no_older_one():
    """Or that wrote nothing, and is in sync; or whose process has ended."""
    learnt = (begins_to("lead", 3.2, 1, 6), begins_to("follow", 9, 1, 7))
    assert under(led_to_and_fro(*learnt), 6.5) == {(6, 7)}
    assert under(led_to_and_fro(), 6.5) == {(6, 7)}
    late = (begins_to("lead", 9, 1, 6), begins_to("follow", 9, 1, 7))
    assert under(led_to_and_fro(*late, down(5.1, 1)), 6.5) == set()


def test_a_leader_that_does_not_know_that_nobody_leads_goes_on():
    """The controllers miss it at 3 s, and elect broker 2 at 6 s; it stands still meanwhile."""
    observed = timeline(led(1, 1, 5, EVERYBODY), led(3, -1, 6, ()), led(6, 2, 7, (2,)))
    assert under(observed, 4.5) == {(5, None)}
    assert under(observed, 8) == {(5, 7)}


@pytest.mark.parametrize(
    ("isrs", "runs", "back"),
    [
        ([(0, EVERYBODY), (4, (2, 3)), (9, EVERYBODY)], 3, 9),
        ([(0, EVERYBODY), (4, (2, 3))], 3, None),
        ([(0, EVERYBODY)], 3, None),
        ([(0, EVERYBODY), (5, EVERYBODY)], 3, None),
        ([(0, (2, 3)), (6, EVERYBODY)], 3, 6),
        ([(0, (2, 3)), (2, EVERYBODY), (6, (2, 3))], 3, None),
        ([(0, EVERYBODY), (3, (2, 3)), (6, EVERYBODY), (7, (2, 3)), (8, EVERYBODY)], 3, 6),
        ([(0, EVERYBODY), (3, (2, 3)), (6, EVERYBODY), (7, (2, 3)), (8, EVERYBODY)], 7.5, 8),
        ([(0, (2, 3)), (4, (1,)), (6, (2, 3))], 5, None),
    ],
)
def test_a_node_is_back_when_it_is_in_sync_after_having_been_out(isrs, runs, back):
    """Broker 1, counted from second 3; what was before does not count, nor that it is elected before a new
    process of it runs."""
    observed = timeline(*(led(second, 2, 5, isr) for second, isr in isrs))
    assert observed.rejoined(TP, 1, ns(3), ns(runs)) == (None if back is None else ns(back))


def test_samples_tell_of_epochs_and_of_the_isr_where_there_is_no_metadata_log():
    """In the order of time; a lower epoch is a deposed leader's, an unknown one is nobody's."""
    observed = timeline(
        sampled(6, 0, leader=2, epoch=6, isr=(2, 3)),
        sampled(1, 0, leader=1, epoch=5),
        sampled(2, 0, leader=1, epoch=5),
        sampled(3, 0, leader=1, epoch=5, isr=(1, 2)),
        sampled(7, 0, leader=1, epoch=5),
        sampled(8, 0, leader=-1, epoch=-1, isr=()),
        sampled(9, 0, leader=2, epoch=6),
    )
    assert [(s.since_ns, s.leader, s.leader_epoch, sorted(s.isr)) for s in observed.states(TP)] == [
        (ns(1), 1, 5, [1, 2, 3]),
        (ns(3), 1, 5, [1, 2]),
        (ns(6), 2, 6, [2, 3]),
        (ns(9), 2, 6, [1, 2, 3]),
    ]


def test_samples_without_any_epoch_tell_nothing():
    """Nobody said who led."""
    assert timeline(sampled(1, 0, epoch=-1), sampled(2, 0, epoch=-1, isr=(1,))).states(TP) == ()


def test_the_metadata_log_outranks_the_samples():
    """It is complete."""
    observed = timeline(sampled(1, 0, leader=3, epoch=9), led(1, 1, 5, EVERYBODY))
    assert [s.leader for s in observed.states(TP)] == [1]

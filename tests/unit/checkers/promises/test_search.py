"""The shortest schedule that loses or blocks something: what it is for known configurations, and when it
ends.
"""

from itertools import islice
from multiprocessing import Pipe, active_children, get_context

import pytest

from checkers.model.case import CleanStop, DiskWipe, Kill, Partition, PowerLoss
from checkers.promises import (
    ClusterSettings,
    Configuration,
    ProducerSettings,
    TopicSettings,
    clauses,
    may_be_lost_by,
)
from checkers.promises.search import in_words, search
from checkers.promises.search.schedules import MOST_FAULTS, Kind, Timed, actions, schedules
from checkers.promises.search.search import MOST_RUNS
from checkers.promises.search.side_by_side import _serve, trials
from checkers.promises.search.trial import FAST, Times, Trial, case_of, simulated_alike


def configuration(
    *, acks="all", replication=3, min_isr=2, unclean=False, elr=True, flush=None, release=(4, 3)
):
    topic = TopicSettings(replication=replication, min_isr=min_isr, unclean=unclean, flush_messages=flush)
    producer = ProducerSettings(acks=acks, idempotence=acks == "all")
    return Configuration(topic=topic, producer=producer, cluster=ClusterSettings(elr=elr, release=release))


ALONE_AND_POWERLESS = "broker 1 serves no other broker; 6.5 s later broker 1 loses its power"


@pytest.mark.parametrize(
    ("settings", "words", "causes"),
    [
        ({"elr": False}, ALONE_AND_POWERLESS, {"last replica standing"}),
        ({"min_isr": 1}, ALONE_AND_POWERLESS, {"ISR of one with min.isr 1"}),
        (
            {"replication": 2},
            "brokers 1 and 2 lose their power",
            {"power loss of all in-sync replicas"},
        ),
        (
            {"replication": 2, "unclean": True},
            "brokers 1 and 2 lose their power",
            # Who is up first leads: the last in sync, or the other one.
            {"power loss of all in-sync replicas", "unclean election"},
        ),
        ({"replication": 1, "min_isr": 1}, "broker 1 loses its power", {"ISR of one with min.isr 1"}),
        (
            {"flush": 1, "min_isr": 1},
            "broker 1 serves no other broker; 6.5 s later broker 1 loses its disk",
            {"ISR of one with min.isr 1"},
        ),
        (
            {"flush": 1, "replication": 2},
            "broker 1 loses its power; 2 s later broker 2 loses its disk",
            {"disk loss among all in-sync replicas"},
        ),
        (
            {"acks": "1"},
            "broker 1 reaches neither controllers nor brokers",
            {"acks=1 unreplicated tail", "deposed leader"},
        ),
    ],
)
def test_the_shortest_schedule_that_loses_what_was_acknowledged(settings, words, causes):
    its = configuration(**settings)
    result = search(its, "loss")
    assert in_words(result.found.schedule) == words
    assert set(result.found.causes) == causes
    assert causes <= may_be_lost_by(its)
    assert result.whole_until == len(result.found.schedule) - 1
    assert result.why_ended == ""


@pytest.mark.parametrize(
    ("settings", "words", "named"),
    [
        ({}, "broker 1 serves no other broker", "unreached-leader"),
        ({"min_isr": 3}, "broker 1 loses its power", "below-min-isr"),
        ({"min_isr": 1}, ALONE_AND_POWERLESS, "offline"),
    ],
)
def test_the_shortest_schedule_that_stops_writes_is_one_that_a_clause_names(settings, words, named):
    its = configuration(**settings)
    found = search(its, "unavailability").found
    assert in_words(found.schedule) == words
    assert found.waited_s > 10.5
    assert named in {clause.id for clause in clauses(its) if clause.kind == "unavailable"}


def test_no_single_fault_loses_what_two_replicas_have():
    result = search(configuration(), "loss", most_faults=1)
    assert (result.found, result.whole_until, result.runs, result.why_ended) == (None, 1, 7, "")


def test_a_flush_before_each_acknowledgement_leaves_nothing_to_lose_but_disks():
    kinds = [kind for kind in Kind if kind is not Kind.DISK_LOSS]
    result = search(configuration(flush=1, min_isr=1), "loss", kinds=kinds, most_faults=2)
    assert (result.found, result.whole_until) == (None, 2)
    assert result.kinds == tuple(kinds)


def test_a_search_is_bounded_by_its_runs_and_by_time():
    few = search(configuration(), "loss", most_runs=10)
    assert (few.found, few.whole_until, few.why_ended) == (None, 1, "10 simulated runs were enough")
    ticks = iter(range(1000))
    short = search(configuration(), "loss", time_limit_s=5.0, clock=lambda: float(next(ticks)))
    assert (short.found, short.whole_until) == (None, 0)
    assert short.why_ended == "the time limit of 5 s was over"


def test_equal_configurations_give_equal_answers():
    first, second = (search(configuration(acks="1"), "loss") for _ in range(2))
    assert (first.found, first.runs) == (second.found, second.runs)


def test_four_faults_fit_within_the_bounds_of_a_search():
    every = sum(1 for length in range(1, MOST_FAULTS + 1) for _ in schedules(length, FAST.fail_over_s))
    assert every == 12_172
    assert every < MOST_RUNS


def test_processes_side_by_side_show_the_same_in_the_same_order():
    trial = Trial(configuration=configuration(min_isr=1), goal="loss")
    some = list(islice(schedules(2, FAST.fail_over_s), 24))
    with trials(trial, iter(some), processes=0) as here:
        expected = list(here)
    with trials(trial, iter(some), processes=2) as shown:
        found = list(shown)
    assert any(all(each) for each in expected)
    assert found == expected


def test_what_a_process_does_not_answer_is_tried_here():
    trial = Trial(configuration=configuration(min_isr=1), goal="loss")
    some = list(islice(schedules(2, FAST.fail_over_s), 20))
    with trials(trial, iter(some), processes=1) as shown:
        (process,) = active_children()
        process.kill()
        process.join()
        found = list(shown)
    assert found == [trial.of(schedule) for schedule in some]


def test_a_process_ends_with_whoever_asks_it():
    trial = Trial(configuration=configuration(), goal="loss")
    ours, theirs = Pipe()
    process = get_context("spawn").Process(target=_serve, args=(trial, theirs))
    process.start()
    theirs.close()
    ours.close()
    process.join(20)
    assert process.exitcode == 0


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (
            configuration(replication=1, min_isr=1),
            configuration(replication=1, min_isr=1, unclean=True),
            True,
        ),
        (configuration(), configuration(unclean=True), False),
        (configuration(), configuration(min_isr=1), False),
        (configuration(), configuration(acks="1"), False),
        (configuration(elr=False, release=(3, 6)), configuration(elr=False, release=(3, 7)), False),
        (configuration(elr=False, release=(3, 9)), configuration(elr=False, release=(3, 7)), True),
        (
            configuration(elr=False, release=(3, 8), unclean=True),
            configuration(elr=False, release=(3, 8)),
            True,
        ),
        (
            configuration(elr=False, release=(3, 9), unclean=True),
            configuration(elr=False, release=(3, 9)),
            False,
        ),
    ],
)
def test_configurations_that_the_model_cannot_tell_apart_are_searched_once(one, other, alike):
    assert (simulated_alike(one, FAST) == simulated_alike(other, FAST)) is alike


def test_more_replicas_than_the_model_has_brokers_cannot_be_searched():
    with pytest.raises(ValueError, match="4 replicas do not fit on 3 brokers"):
        search(configuration(replication=4), "loss")


def test_schedules_name_nodes_in_their_order_and_end_each_node_once():
    assert [len(list(schedules(length, 4.5))) for length in (1, 2, 3)] == [7, 150, 1251]
    for schedule in schedules(3, 4.5):
        nodes = [fault.node for fault in schedule]
        assert nodes[0] == 1
        assert max(nodes) <= len(set(nodes))


def test_ends_of_one_kind_at_one_instant_are_one_step():
    schedule = (
        Timed(kind=Kind.BEHIND, node=1),
        Timed(kind=Kind.STOP, node=2, after_s=6.5),
        Timed(kind=Kind.KILL, node=3, after_s=2.0),
    )
    assert actions(schedule, 4.5) == (
        Partition(at_s=4.0, hold_s=21.0, edges=("1->2", "1->3"), refuse=True),
        CleanStop(at_s=10.5, hold_s=14.5, nodes=(2,)),
        Kill(at_s=12.5, hold_s=12.5, nodes=(3,)),
    )
    together = (Timed(kind=Kind.POWER_LOSS, node=1), Timed(kind=Kind.POWER_LOSS, node=2))
    assert actions(together, 4.5) == (PowerLoss(at_s=4.0, hold_s=12.5, nodes=(1, 2)),)
    wiped = (Timed(kind=Kind.DISK_LOSS, node=1), Timed(kind=Kind.DISK_LOSS, node=2))
    assert actions(wiped, 4.5) == (DiskWipe(at_s=4.0, hold_s=12.5, nodes=(1, 2)),)
    assert in_words(wiped) == "brokers 1 and 2 lose their disks"


def test_the_times_of_the_brokers_stretch_a_schedule():
    slow = Times(session_s=9.0, lag_max_s=30.0)
    gaps = {fault.after_s for schedule in schedules(2, slow.fail_over_s) for fault in schedule}
    assert gaps == {0.0, 2.0, 47.0}
    case = case_of(configuration(), slow, (Timed(kind=Kind.KILL, node=1),), 1)
    assert (case.settings.session_s, case.settings.lag_max_s) == (9.0, 30.0)
    assert FAST.fail_over_s == 4.5

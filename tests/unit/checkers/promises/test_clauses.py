"""What a configuration promises, in words, and that it promises what the contract holds it to."""

from itertools import product

import pytest
from fakes.history.judged_run import (
    ALL_CUT,
    LEADER_KILLED,
    down,
    led,
    lost,
    power_cut,
    sampled,
    wiped,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.clauses import RETENTION, UNCLEAN_ELECTION
from checkers.contract.judge_contract import judge_contract
from checkers.history.records.log_runs import LogRun
from checkers.model import simulate
from checkers.model.case import BROKERS, CONTROLLERS, Case, ModelSettings, Partition
from checkers.promises import (
    ClusterSettings,
    Configuration,
    ProducerSettings,
    TopicSettings,
    clauses,
    may_be_lost_by,
)
from checkers.promises.matrix import promise_of


def configuration(*, acks="all", replication=3, min_isr=2, unclean=False, flush=None, elr=True, **of_cluster):
    return Configuration(
        topic=TopicSettings(replication=replication, min_isr=min_isr, unclean=unclean, flush_messages=flush),
        producer=ProducerSettings(acks=acks, idempotence=acks == "all"),
        cluster=ClusterSettings(elr=elr, **of_cluster),
    )


def given(**settings):
    """The clauses by their ids."""
    return {clause.id: clause.sentence for clause in clauses(configuration(**settings))}


def test_three_replicas_of_which_two_must_be_in_sync_survive_one_broker():
    assert given() == {
        "process-kill": "keeps what it acknowledged when brokers are killed, all of them at once too: the "
        "page cache outlives a process",
        "broker-loss": "survives the loss of any one broker with all that was not flushed",
        "deposed-leader": "a leader that was deposed and does not know it acknowledges nothing: its "
        "successor was in sync with it, and follows it no more",
        "power-of-all": "loses what was acknowledged within the last 30 s or so, before the kernel wrote it "
        "back, when all in-sync replicas lose their power",
        "unclean-shutdowns": "loses what was acknowledged within the last 30 s or so, before the kernel "
        "wrote it back, when 2 brokers that have it shut down uncleanly before they are in sync again, and "
        "the one that leads then has lost its power",
        "disk-loss": "loses what was acknowledged, flushed or not, when 2 brokers that have it shut down "
        "uncleanly before they are in sync again, and the one that leads then has lost its disk",
        "retention-by-clock": "loses what was acknowledged when the clock of a broker that leads, or leads "
        "later, runs more than 7 days ahead, or its producer dates it so far back: by that retention deletes "
        "the record, and with it on every replica",
        "spare-replicas": "takes writes with one replica of 3 away, as long as 2 in sync stay up; a write "
        "waits up to about 45 s until one whose process stands still is missed",
        "below-min-isr": "unavailable below 2 in-sync replicas: with 2 away it takes no write",
        "unreached-leader": "takes no write of a partition while no follower reaches a leader that the "
        "controllers hear: they elect no other",
        "stalled-leader": "takes no write of a partition while the disk of its leader stands still: "
        "heartbeats need no disk, so nobody misses it",
        "offline": "neither written nor read while no replica that counts as in sync or eligible is up: "
        "nobody else may lead",
        "last-leader-away": "neither written nor read, once all that are in sync or eligible were down at "
        "one time without a clean stop, until the one that led last is back: no other is in sync or "
        "eligible then, though it may have everything",
    }


def test_with_acks_1_a_leader_that_hands_over_loses_its_tail_too():
    assert given(acks="1")["unreplicated-tail"] == (
        "loses what the leader had acknowledged and its successor had not fetched, when the leader dies, and "
        "when the leadership is moved too (acks=1)"
    )
    assert "a leader dies or hands over" in promise_of(configuration(acks="1"))


def test_without_eligible_leader_replicas_one_broker_is_survived_while_another_one_stays_in_sync():
    words = given(elr=False)
    assert words["broker-loss"].endswith(", as long as another replica stays in sync")
    assert "eligible leader replicas, which are off," in words["last-replica-standing"]
    assert "which Kafka before 4.0 does not have" in given(elr=False, release=(3, 9))["last-replica-standing"]


BEFORE_3_9 = {"release": (3, 8), "elr": False}
NEVER_MET = {"release": (3, 6), "elr": False}


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"acks": "1"}, set()),
        ({"acks": "0"}, set()),
        ({"min_isr": 1}, {"process-kill", "deposed-leader"}),
        ({"unclean": True}, {"loss-beside-in-sync"}),
        ({"unclean": True, "min_isr": 1}, set()),
        ({"unclean": True, "flush": 1}, {"loss-beside-in-sync"}),
        ({"unclean": True, "acks": "1"}, set()),
        ({"unclean": True, **BEFORE_3_9}, {"process-kill", "broker-loss", "deposed-leader"}),
        ({"unclean": True, "replication": 1}, {"process-kill"}),
        ({"flush": 1}, {"process-kill", "broker-loss", "deposed-leader", "power-flushed"}),
        ({"replication": 1, "min_isr": 1}, {"process-kill"}),
        ({"replication": 1, "min_isr": 1, "acks": "1"}, {"process-kill"}),
        ({"replication": 1, "min_isr": 1, "acks": "1", "flush": 1}, {"process-kill", "power-flushed"}),
        ({"replication": 1, "min_isr": 1, "acks": "0", "flush": 1}, set()),
        ({"min_isr": 5, **NEVER_MET}, set()),
        ({"replication": 1, "min_isr": 2, **NEVER_MET}, set()),
        ({"replication": 1, "min_isr": 2, "acks": "1", **NEVER_MET}, {"process-kill"}),
    ],
)
def test_what_is_kept_follows_from_acks_replicas_elections_and_flushes(settings, kept):
    assert {one.id for one in clauses(configuration(**settings)) if one.kind == "kept"} == kept


@pytest.mark.parametrize("release", [(3, 6), (3, 7), (3, 8)])
@pytest.mark.parametrize("settings", [{}, {"acks": "1"}, {"min_isr": 1}, {"replication": 2}, {"flush": 1}])
def test_controllers_before_3_9_do_not_read_that_a_stale_replica_may_lead(release, settings):
    """They elect one only when a person asks for it (KAFKA-12670): it is as if the setting were off."""
    old = {**settings, "release": release, "elr": False}
    off, on = (clauses(configuration(**old, unclean=unclean)) for unclean in (False, True))
    assert on == off
    assert {"offline", "last-leader-away"} < {clause.id for clause in on}
    assert UNCLEAN_ELECTION not in may_be_lost_by(configuration(**old, unclean=True))
    assert promise_of(configuration(**old, unclean=True)) == promise_of(configuration(**old))
    reads = configuration(**old | {"release": (3, 9)}, unclean=True)
    assert "offline" not in {clause.id for clause in clauses(reads)}
    assert UNCLEAN_ELECTION in may_be_lost_by(reads)


@pytest.mark.parametrize(
    ("settings", "waits"),
    [
        ({}, "a write waits up to about 45 s until"),
        ({"session_s": 60.0}, "a write waits up to about 60 s until"),
        ({"acks": "1"}, "a write waits up to about 9 s until"),
        ({"acks": "0"}, "goes nowhere until it is missed, after about 9 s"),
    ],
)
def test_a_write_waits_for_whom_its_producer_waits(settings, waits):
    """With acks=1 for the leader, which the controllers miss, and for no follower."""
    assert waits in given(**settings)["spare-replicas"]
    one = configuration(**settings, replication=1, min_isr=1)
    assert one.fail_over_s == one.cluster.session_s


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "takes writes with one replica of 3 away, as long as 2 in sync stay up; "),
        ({"min_isr": 1}, "takes writes with 2 replicas of 3 away, as long as one in sync stays up; "),
        ({"acks": "1"}, "takes writes with 2 replicas of 3 away, as long as one in sync stays up; "),
        ({"unclean": True}, "takes writes with one replica of 3 away; "),
    ],
)
def test_replicas_may_be_away_while_as_many_as_a_write_needs_stay_in_sync(settings, words):
    """Else only whoever counts as in sync may lead, however many are up."""
    assert given(**settings)["spare-replicas"].startswith(words)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "no other is in sync or eligible then"),
        ({"elr": False}, "no other is in sync then"),
        ({"unclean": True}, ""),
        ({"unclean": True, "min_isr": 3}, ""),
        ({"unclean": True, **BEFORE_3_9}, "no other is in sync then"),
        ({"replication": 1, "min_isr": 1}, ""),
    ],
)
def test_after_all_ended_at_once_only_the_one_that_led_last_may_lead(settings, words):
    its = given(**settings)
    assert ("last-leader-away" in its) is bool(words)
    assert words in its.get("last-leader-away", "")


def test_a_leader_whose_disk_stands_still_is_missed_by_nobody_whatever_is_configured():
    every = ({}, {"acks": "0"}, {"unclean": True}, {"replication": 1, "min_isr": 1}, {"elr": False})
    assert all("stalled-leader" in given(**settings) for settings in every)


def test_more_in_sync_replicas_than_there_are_count_as_all_of_them():
    """Also before 3.7, of what a record may have: there a leader counts on, and takes no write."""
    its = given(min_isr=5, **NEVER_MET)
    assert "when 3 brokers that have it shut down uncleanly" in its["unclean-shutdowns"]
    assert "when 3 brokers that have it shut down uncleanly" in its["disk-loss"]
    one = given(replication=1, min_isr=2, **NEVER_MET)
    assert one["below-min-isr"] == "takes no write at all: 2 in-sync replicas of 1 are never there"
    assert "below-min-isr" not in given(replication=1, min_isr=2, release=(3, 7), elr=False)


def test_with_one_replica_acks_1_keeps_what_acks_all_keeps():
    """The leader is all that is in sync."""
    one, every = (configuration(replication=1, min_isr=1, acks=acks) for acks in ("1", "all"))
    assert clauses(one) == clauses(every)
    assert promise_of(one) == promise_of(every)


@pytest.mark.parametrize(
    ("acks", "lost"),
    [
        ("all", {"disk-loss", "retention-by-clock"}),
        ("1", {"unreplicated-tail", "deposed-leader-acks", "disk-loss", "retention-by-clock"}),
        ("0", {"nothing-promised", "disk-loss", "retention-by-clock"}),
    ],
)
def test_where_each_append_is_flushed_no_clause_names_a_loss_of_power(acks, lost):
    for of_more in ({}, {"min_isr": 1}, {"elr": False}):
        its = clauses(configuration(acks=acks, flush=1, **of_more))
        assert {one.id for one in its if one.kind == "lost"} == lost


@pytest.mark.parametrize(
    ("replication", "min_isr", "release", "words"),
    [
        (3, 2, (4, 3), "unavailable below 2 in-sync replicas: with 2 away it takes no write"),
        (2, 2, (4, 3), "takes no write while any one of its 2 replicas is away"),
        (3, 3, (4, 3), "takes no write while any one of its 3 replicas is away"),
        (2, 3, (3, 7), "takes no write while any one of its 2 replicas is away"),
        (2, 3, (3, 6), "takes no write at all: 3 in-sync replicas of 2 are never there"),
    ],
)
def test_below_its_in_sync_replicas_a_topic_takes_no_write(replication, min_isr, release, words):
    its = given(replication=replication, min_isr=min_isr, release=release, elr=False)
    assert its["below-min-isr"] == words


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "while no follower reaches a leader"),
        ({"replication": 2, "unclean": True}, "while no follower reaches a leader"),
        ({"min_isr": 3}, "while fewer than 2 followers reach a leader"),
        ({"min_isr": 4, "release": (3, 6), "elr": False}, ""),
        ({"min_isr": 1}, ""),
        ({"acks": "1"}, ""),
        ({"replication": 1}, ""),
    ],
)
def test_a_leader_that_its_followers_do_not_reach_takes_no_write_that_needs_them(settings, words):
    its = given(**settings)
    assert ("unreached-leader" in its) is bool(words)
    assert words in its.get("unreached-leader", "")


@pytest.mark.parametrize(
    ("settings", "controllers", "away"),
    [
        ({"acks": "1"}, 3, 1),
        ({"min_isr": 1}, 3, 1),
        ({}, 3, 1),
        ({"replication": 5}, 5, 2),
        ({"replication": 5, "min_isr": 3}, 9, 2),
        ({}, 2, 0),
        ({"min_isr": 3}, 3, 0),
    ],
)
def test_brokers_that_are_controllers_are_spared_only_as_long_as_these_have_a_majority(
    settings, controllers, away
):
    its = configuration(**settings, combined=True, controllers=controllers)
    assert its.spare == away
    assert configuration(**settings, controllers=controllers).spare == its.topic.replication - its.needed
    assert ("spare-replicas" in {clause.id for clause in clauses(its)}) is (away > 0)
    assert promise_of(its).endswith(f"takes writes with {away} away")


def test_a_promise_says_where_it_is_the_controllers_that_cannot_be_spared():
    one = given(acks="1", unclean=True, combined=True)
    assert one["spare-replicas"].startswith(
        "takes writes with one replica of 3 away; with more away the controllers, which are brokers, have no "
        "majority; "
    )
    assert given(min_isr=1, combined=True)["spare-replicas"].startswith(
        "takes writes with one replica of 3 away, as long as one in sync stays up; with more away the "
        "controllers, which are brokers, have no majority; "
    )
    assert one["stays-up"] == (
        "takes writes again while any one replica is up, in sync or not, as long as a majority of the "
        "controllers is, which are brokers"
    )
    enough = given(combined=True)
    assert enough["spare-replicas"] == given()["spare-replicas"]
    assert enough["below-min-isr"] == given()["below-min-isr"]
    few = given(combined=True, controllers=1)
    assert few["below-min-isr"] == "unavailable below 2 in-sync replicas: with 2 away it takes no write"


@pytest.mark.parametrize(
    ("flush_s", "check_s", "since"),
    [
        (1.0, None, "within the last 30 s or so, before the kernel wrote it back,"),
        (None, None, "within the last 30 s or so, before the kernel wrote it back,"),
        (1.0, 2.0, "within the last 3 s, before its brokers flushed it,"),
        (0.0, 0.5, "within the last 0.5 s, before its brokers flushed it,"),
        (1.0, 29.0, "within the last 30 s or so, before the kernel wrote it back,"),
        (None, 2.0, "within the last 30 s or so, before the kernel wrote it back,"),
    ],
)
def test_a_flush_interval_counts_from_one_look_of_the_brokers_to_the_next(flush_s, check_s, since):
    its = Configuration(
        topic=TopicSettings(min_isr=2, flush_s=flush_s), cluster=ClusterSettings(flush_check_s=check_s)
    )
    words = {clause.id: clause.sentence for clause in clauses(its)}
    assert words["power-of-all"] == (
        f"loses what was acknowledged {since} when all in-sync replicas lose their power"
    )


@pytest.mark.parametrize(
    ("topic", "takes"),
    [
        ({}, True),
        ({"oldest_stamp_s": 8 * 86_400.0}, True),
        ({"oldest_stamp_s": 7 * 86_400.0}, False),
        ({"stamped_by_broker": True}, False),
    ],
)
def test_a_producers_own_clock_deletes_unless_brokers_refuse_or_replace_its_time(topic, takes):
    its = {one.id: one.sentence for one in clauses(Configuration(topic=TopicSettings(**topic)))}
    assert ("its producer dates it so far back" in its["retention-by-clock"]) is takes


def test_what_is_kept_for_ever_no_clock_deletes():
    for_ever = Configuration(topic=TopicSettings(min_isr=2, retention_s=None))
    assert "retention-by-clock" not in {clause.id for clause in clauses(for_ever)}
    assert RETENTION not in may_be_lost_by(for_ever)
    assert RETENTION in may_be_lost_by(configuration())


def test_records_that_are_kept_for_no_time_are_lost_by_right_clocks_too():
    nothing = Configuration(topic=TopicSettings(retention_s=0.0))
    (sentence,) = (each.sentence for each in clauses(nothing) if each.id == "retention-by-clock")
    assert sentence == "loses what was acknowledged, whatever the clocks: retention.ms=0 keeps nothing"


def lost_by_a_deposed_leader(min_isr, unclean):
    """By which causes the simulated Kafka loses what was acknowledged: as many replicas as must be in sync
    stay in sync, and are cut from the controllers; the others are behind until those have missed them.
    """
    in_sync, behind = BROKERS[:min_isr], BROKERS[min_isr:]
    fetches = tuple(f"{one}->{other}" for one in behind for other in in_sync)
    reports = tuple(f"{one}->{other}" for one in in_sync for other in CONTROLLERS)
    case = Case(
        seed=1,
        settings=ModelSettings(
            partitions=3, min_isr=min_isr, unclean_election=unclean, records=300, load_s=24.0
        ),
        schedule=(
            Partition(at_s=4.0, hold_s=12.0, edges=fetches, refuse=True),
            Partition(at_s=10.5, hold_s=14.0, edges=reports, refuse=True),
        ),
    )
    return {record.cause for record in simulate(case).truth.lost}


@pytest.mark.parametrize("min_isr", [1, 2])
@pytest.mark.parametrize("unclean", [False, True])
def test_what_a_deposed_leader_acknowledges_is_kept_unless_a_stale_replica_may_lead(unclean, min_isr):
    assert lost_by_a_deposed_leader(min_isr, unclean) == ({UNCLEAN_ELECTION} if unclean else set())
    assert ("deposed-leader" in given(min_isr=min_isr, unclean=unclean)) is not unclean


# Promise and contract

REPLICATED = sampled(3.2, 9)
LAST_ONE_LEFT = (
    led(0, 1, 5, (1, 2)),
    REPLICATED,
    down(4, 2, kind="stop", recovered=16),
    led(4, 1, 5, (1,)),
)
LAST_ONE_LEADS_AGAIN = (led(8, -1, 6, (1,)), led(14, 1, 7, (1,)), led(16, 1, 7, (1, 2)))
LAST_ONE_POWERED_OFF = (
    *LAST_ONE_LEFT,
    down(5, 1, kind="power-loss", recovered=17),
    *power_cut(5, 1, before=30, after=2, mounted=13),
    *LAST_ONE_LEADS_AGAIN,
    LogRun(5, 0, 1),
    LogRun(7, 2, 50),
)
LAST_ONE_WIPED = (
    *LAST_ONE_LEFT,
    down(5, 1, kind="disk-wipe", recovered=17),
    *wiped(5, 1, before=30, mounted=13),
    *LAST_ONE_LEADS_AGAIN,
    LogRun(7, 0, 50),
)
BOTH_WIPED = (
    led(0, 1, 5, (1, 2)),
    REPLICATED,
    down(4, 1, 2, kind="disk-wipe", recovered=16),
    *(row for node in (1, 2) for row in wiped(5, node, before=30, mounted=6)),
    led(8, -1, 6, (), last_known=(1,)),
    led(14, 1, 7, (1,)),
    LogRun(7, 0, 50),
)
STALE_ELECTED = (
    led(0, 1, 5, (1, 2, 3)),
    REPLICATED,
    led(3.6, 1, 5, (1,)),
    down(4, 1, recovered=15),
    led(8, 2, 6, (2,)),
    LogRun(5, 0, 2),
    LogRun(6, 3, 50),
)
FATES = {
    "all lose their power": (REPLICATED, *ALL_CUT),
    "both in sync lose their disks": BOTH_WIPED,
    "the last in sync loses its power": LAST_ONE_POWERED_OFF,
    "the last in sync loses its disk": LAST_ONE_WIPED,
    "a replica that was behind is elected": STALE_ELECTED,
    "the leader dies before it was replicated": LEADER_KILLED,
}
CELLS = list(product(("1", "all"), (1, 2, 3), (False, True), (0, 1), (False, True)))


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize(("acks", "min_isr", "unclean", "flush", "elr"), CELLS)
def test_what_the_contract_permits_to_be_lost_a_clause_names_and_nothing_else(
    fate, acks, min_isr, unclean, flush, elr
):
    settings = {"acks": acks, "min_isr": min_isr, "unclean": unclean, "elr": elr}
    record = lost(offset=7, sent=3, acked=3.5)
    label = judge_contract(Anomalies.of([record]), world(*FATES[fate], **settings, flush=flush))[0]
    promised = may_be_lost_by(configuration(**settings, flush=flush or None))
    assert label.kind in ("permitted", "violation")
    causes = set(label.cause.split(" or "))
    assert (label.kind == "permitted") == bool(causes & promised), (label, promised)


def test_every_fate_is_permitted_by_some_cell_and_forbidden_by_another():
    """Else the comparison above would compare nothing."""
    record = Anomalies.of([lost(offset=7, sent=3, acked=3.5)])
    for events in FATES.values():
        kinds = {
            judge_contract(
                record, world(*events, acks=acks, min_isr=least, unclean=unclean, elr=elr, flush=flush)
            )[0].kind
            for acks, least, unclean, flush, elr in CELLS
        }
        assert kinds == {"permitted", "violation"}

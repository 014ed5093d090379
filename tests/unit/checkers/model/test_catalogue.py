"""The schedules that were run on a real Kafka 4.3.1, on the model: the same fate, about the same times.

The partition is the one whose preferred leader is broker 1; there are three, so there is always one.
"""

from dataclasses import replace

import pytest

from checkers.model import (
    Case,
    CleanStop,
    DiskFull,
    DiskWipe,
    Kill,
    ModelSettings,
    Partition,
    PowerLoss,
    ProducerSettings,
    simulate,
)

SEEDS = range(3)
ALL = ProducerSettings(acks="all", idempotence=True)
ONE = ProducerSettings(acks="1", idempotence=False)
SETTINGS = ModelSettings(partitions=3, producers=(ALL, ALL), records=200, load_s=16.0, elr=True)
ACKS_1 = replace(SETTINGS, producers=(ONE, ONE))


def run(seed, schedule, settings=SETTINGS):
    """The run, and the number of the partition that broker 1 prefers to lead."""
    simulated = simulate(Case(seed=seed, settings=settings, schedule=schedule))
    partition = next(row.partition for row in simulated.history.metadata if row.replicas[0] == 1)
    return simulated, partition


def lost(simulated, partition):
    return [one for one in simulated.truth.lost if one.tp.partition == partition]


def states(simulated, partition):
    """The changes of a partition: time in seconds, leader, ISR, ELR."""
    rows = [row for row in simulated.history.metadata if row.partition == partition]
    return [((row.at_ms - 1_795_317_100_000) / 1000, row.leader, set(row.isr), set(row.elr)) for row in rows]


LEADER_KILL = (
    Partition(at_s=5.0, hold_s=2.7, edges=("2->1", "3->1")),
    Kill(at_s=7.5, hold_s=6.0, nodes=(1,)),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_acks_1_loses_the_tail_that_a_killed_leader_had_alone(seed):
    simulated, partition = run(seed, LEADER_KILL, ACKS_1)
    fates = lost(simulated, partition)
    assert fates
    assert {(one.cause, one.permitted) for one in fates} == {("acks=1 unreplicated tail", True)}


@pytest.mark.parametrize("seed", SEEDS)
def test_acks_all_loses_nothing_with_a_killed_leader(seed):
    simulated, _ = run(seed, LEADER_KILL)
    assert simulated.truth.lost == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_election_follows_a_kill_after_the_session(seed):
    simulated, partition = run(seed, (Kill(at_s=5.0, hold_s=8.0, nodes=(1,)),))
    elected_s = next(at_s for at_s, leader, _, _ in states(simulated, partition) if leader != 1)
    assert 3.4 <= elected_s - 5.0 <= 4.6


@pytest.mark.parametrize("seed", SEEDS)
def test_the_isr_shrinks_after_a_cut_and_grows_after_its_end(seed):
    simulated, partition = run(seed, (Partition(at_s=5.0, hold_s=8.0, edges=("2->1",)),))
    changes = states(simulated, partition)
    shrunk_s = next(at_s for at_s, _, isr, _ in changes if 2 not in isr)
    grown_s = next(at_s for at_s, _, isr, _ in changes if at_s > shrunk_s and 2 in isr)
    assert 3.0 <= shrunk_s - 5.0 <= 6.1
    assert 0.05 <= grown_s - 13.0 <= 1.1


ZOMBIE = (Partition(at_s=5.0, hold_s=8.0, edges=("1->101", "1->102", "1->103")),)
LONE_ZOMBIE = (
    Partition(at_s=5.0, hold_s=8.0, edges=("1->101", "1->102", "1->103", "1->2", "1->3", "2->1", "3->1")),
)


@pytest.mark.parametrize("schedule", [ZOMBIE, LONE_ZOMBIE], ids=["with followers", "alone"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_deposed_leader_acknowledges_acks_1_and_loses_it(seed, schedule):
    simulated, partition = run(seed, schedule, ACKS_1)
    causes = {one.cause for one in lost(simulated, partition)}
    assert "deposed leader" in causes
    assert causes <= {"deposed leader", "acks=1 unreplicated tail"}


@pytest.mark.parametrize("schedule", [ZOMBIE, LONE_ZOMBIE], ids=["with followers", "alone"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_deposed_leader_acknowledges_no_acks_all(seed, schedule):
    simulated, _ = run(seed, schedule)
    assert simulated.truth.lost == ()


def standing(end):
    return (
        Partition(at_s=4.0, hold_s=9.0, edges=("3->1",)),
        end(at_s=11.0, hold_s=6.0, nodes=(2,)),
        PowerLoss(at_s=12.2, hold_s=10.0, nodes=(1,)),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_replica_standing_returns_empty_and_leads_without_elr(seed):
    simulated, partition = run(seed, standing(CleanStop), replace(SETTINGS, elr=False))
    leaders = [leader for _, leader, _, _ in states(simulated, partition)]
    assert leaders[-1] == 1
    assert 2 not in leaders
    assert {(one.cause, one.permitted) for one in lost(simulated, partition)} == {
        ("last replica standing", True)
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_elr_remembers_the_one_that_was_stopped(seed):
    simulated, partition = run(seed, standing(CleanStop))
    changes = states(simulated, partition)
    assert any(isr == {1} and elr == {2} for _, _, isr, elr in changes)
    assert any(isr == set() and elr == {1, 2} for _, _, isr, elr in changes)
    assert changes[-1][1] == 2
    assert lost(simulated, partition) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_known_leader_is_elected_without_its_log(seed):
    simulated, partition = run(seed, standing(Kill))
    fates = lost(simulated, partition)
    assert fates
    assert {(one.cause, one.permitted) for one in fates} == {
        ("last known ELR elected without the data", True)
    }
    assert {one.removed_by.election for one in fates} == {"last-known-elr"}


ALONE = Partition(at_s=4.0, hold_s=14.0, edges=("2->1", "3->1"))
MIN_ISR_1 = replace(SETTINGS, min_isr=1, elr=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_min_isr_1_loses_what_the_only_in_sync_replica_had_in_its_page_cache(seed):
    simulated, partition = run(seed, (ALONE, PowerLoss(at_s=10.5, hold_s=4.0, nodes=(1,))), MIN_ISR_1)
    fates = lost(simulated, partition)
    assert fates
    assert "ISR of one with min.isr 1" in {one.cause for one in fates}
    assert all(one.permitted for one in fates)


@pytest.mark.parametrize("seed", SEEDS)
def test_unclean_election_loses_what_only_the_killed_leader_had(seed):
    settings = replace(MIN_ISR_1, unclean_election=True)
    simulated, partition = run(seed, (ALONE, Kill(at_s=10.5, hold_s=7.0, nodes=(1,))), settings)
    fates = lost(simulated, partition)
    assert {(one.cause, one.permitted) for one in fates} == {("unclean election", True)}


@pytest.mark.parametrize("seed", SEEDS)
def test_an_offline_partition_waits_for_its_only_in_sync_replica(seed):
    simulated, partition = run(seed, (ALONE, Kill(at_s=10.5, hold_s=7.0, nodes=(1,))), MIN_ISR_1)
    assert {leader for _, leader, _, _ in states(simulated, partition)} == {1, -1}
    assert simulated.truth.lost == ()


@pytest.mark.parametrize("hides", [True, False], ids=["since 3.7", "before 3.7"])
@pytest.mark.parametrize("seed", SEEDS)
def test_below_min_isr_the_high_watermark_stands_still_by_release(seed, hides):
    """Broker 1 is alone in the ISR from 6.1 s after the cut at the latest, and acknowledges until its end."""
    settings = replace(ACKS_1, hides_below_min_isr=hides, elr=False)
    simulated, partition = run(seed, (ALONE,), settings)
    cut_ns = simulated.history.faults[0].inject_ns
    alone = range(cut_ns + 6_500_000_000, cut_ns + 12_000_000_000)
    samples = {
        row.high_watermark
        for row in simulated.history.watermarks
        if row.partition == partition and row.at_ns in alone
    }
    assert (len(samples) == 1) is hides
    assert samples


POWER = {"one": (1,), "all": (1, 2, 3)}


@pytest.mark.parametrize("seed", SEEDS)
def test_one_power_loss_loses_nothing(seed):
    simulated, _ = run(seed, (PowerLoss(at_s=5.0, hold_s=2.0, nodes=(1,)),))
    assert simulated.truth.lost == ()


@pytest.mark.parametrize("elr", [False, True], ids=["without ELR", "with ELR"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_power_loss_of_all_loses_all_that_was_acknowledged(seed, elr):
    schedule = (PowerLoss(at_s=5.0, hold_s=2.0, nodes=(1, 2, 3)),)
    simulated, _ = run(seed, schedule, replace(SETTINGS, elr=elr))
    cut_ns = simulated.history.faults[0].inject_ns
    acked = [row for row in simulated.history.sends if row.acked and row.completed_ns < cut_ns]
    assert len(acked) > 20
    assert len(simulated.truth.lost) >= len(acked)
    assert {one.cause for one in simulated.truth.lost} == {"power loss of all in-sync replicas"}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_flushed_survives_the_power_loss_of_all(seed):
    schedule = (PowerLoss(at_s=5.0, hold_s=2.0, nodes=(1, 2, 3)),)
    simulated, _ = run(seed, schedule, replace(SETTINGS, flush_messages=1))
    assert simulated.truth.lost == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_killing_all_loses_nothing(seed):
    simulated, _ = run(seed, (Kill(at_s=5.0, hold_s=2.0, nodes=(1, 2, 3)),))
    assert simulated.truth.lost == ()


@pytest.mark.parametrize(("replication", "min_isr"), [(1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("seed", SEEDS)
def test_fewer_replicas_than_brokers_lose_what_all_of_them_have_lost(seed, replication, min_isr):
    settings = replace(SETTINGS, replication=replication, min_isr=min_isr)
    simulated, partition = run(seed, (PowerLoss(at_s=5.0, hold_s=2.0, nodes=(1, 2, 3)),), settings)
    fates = lost(simulated, partition)
    assert fates
    assert all(one.permitted for one in fates)
    assert {len(row.replicas) for row in simulated.history.metadata} == {replication}
    assert simulated.truth.wrong == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_replica_of_two_is_enough_after_one_power_loss(seed):
    settings = replace(SETTINGS, replication=2, min_isr=2)
    simulated, _ = run(seed, (PowerLoss(at_s=5.0, hold_s=2.0, nodes=(1,)),), settings)
    assert simulated.truth.lost == ()


# Disks


LAST_LEADER = (
    CleanStop(at_s=4.0, hold_s=12.0, nodes=(2, 3)),
    DiskWipe(at_s=9.0, hold_s=16.0, nodes=(1,)),
)


@pytest.mark.parametrize("elr", [False, True], ids=["without ELR", "with ELR"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_that_is_alone_and_loses_its_disk_loses_all_with_min_isr_1(seed, elr):
    simulated, partition = run(seed, LAST_LEADER, replace(SETTINGS, min_isr=1, elr=elr))
    wiped_ns = simulated.history.faults[1].inject_ns
    acked = [
        row
        for row in simulated.history.sends
        if row.acked and row.completed_ns < wiped_ns and row.partition == partition
    ]
    fates = lost(simulated, partition)
    assert len(fates) >= len(acked) > 0
    assert {(one.cause, one.permitted) for one in fates} == {("ISR of one with min.isr 1", True)}
    assert [state[1] for state in states(simulated, partition)][-1] == 1
    assert simulated.truth.wrong == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_follower_is_elected_uncleanly_where_that_is_allowed_and_keeps_what_it_had(seed):
    settings = replace(SETTINGS, min_isr=1, unclean_election=True)
    simulated, partition = run(seed, LAST_LEADER, settings)
    stopped_s = simulated.history.faults[0].inject_ns / 1e9 - 1000
    fates = lost(simulated, partition)
    assert fates
    assert {(one.cause, one.permitted) for one in fates} == {("unclean election", True)}
    early = {
        (row.producer, row.sequence)
        for row in simulated.history.sends
        if row.acked and row.completed_ns / 1e9 - 1000 < stopped_s
    }
    assert early
    assert early.isdisjoint(tuple(one.id) for one in fates)


@pytest.mark.parametrize("seed", SEEDS)
def test_with_min_isr_2_eligible_replicas_keep_what_the_wiped_leader_loses(seed):
    kept, _ = run(seed, LAST_LEADER)
    assert kept.truth.lost == ()
    gone, partition = run(seed, LAST_LEADER, replace(SETTINGS, elr=False))
    assert {(one.cause, one.permitted) for one in lost(gone, partition)} == {("last replica standing", True)}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_disks_of_all_take_what_was_flushed_too(seed):
    schedule = (DiskWipe(at_s=5.0, hold_s=1.0, nodes=(1, 2, 3)),)
    simulated, _ = run(seed, schedule, replace(SETTINGS, flush_messages=1))
    assert {one.cause for one in simulated.truth.lost} == {"disk loss among all in-sync replicas"}
    (fault,) = simulated.history.faults
    assert (fault.kind, fault.data_lost, fault.unclean) == ("disk-wipe", (1, 2, 3), (1, 2, 3))
    measured = {
        source: [row.log_end for row in simulated.history.replica_offsets if row.source == source]
        for source in ("before-wipe", "after-wipe", "disk-down")
    }
    assert len(measured["before-wipe"]) == len(measured["after-wipe"]) == 9
    assert (set(measured["after-wipe"]), measured["disk-down"]) == ({0}, [])


@pytest.mark.parametrize("nodes", [(1,), (1, 2, 3)], ids=["one", "all"])
@pytest.mark.parametrize("seed", SEEDS)
def test_brokers_that_halt_for_want_of_room_lose_nothing(seed, nodes):
    simulated, _ = run(seed, (DiskFull(at_s=5.0, hold_s=8.0, nodes=nodes),))
    assert simulated.truth.lost == ()
    (fault,) = simulated.history.faults
    assert (fault.kind, fault.down, fault.unclean, fault.data_lost) == ("disk-full", nodes, nodes, ())
    halted = [row for row in simulated.history.node_events if row.fault and row.event == "exited"]
    assert sorted((row.node, row.exit_code) for row in halted) == [(node, 1) for node in nodes]


# One direction of an edge


@pytest.mark.parametrize("direction", ["to", "from"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_follower_that_is_unheard_or_hears_nothing_leaves_the_isr_and_returns(seed, direction):
    schedule = (Partition(at_s=5.0, hold_s=10.0, edges=("2->1",), directions=(direction,)),)
    simulated, partition = run(seed, schedule)
    changes = states(simulated, partition)
    shrunk_s = next(at_s for at_s, _, isr, _ in changes if 2 not in isr)
    grown_s = next(at_s for at_s, _, isr, _ in changes if at_s > shrunk_s and 2 in isr)
    assert 3.0 <= shrunk_s - 5.0 <= 6.1
    assert 0.05 <= grown_s - 15.0 <= 1.1
    assert simulated.truth.lost == ()

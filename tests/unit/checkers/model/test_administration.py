"""Replicas and leaders that are moved on the simulated Kafka."""

from dataclasses import replace

import pytest

from checkers.model import (
    Case,
    Latency,
    ModelSettings,
    Pause,
    PreferredElection,
    ProducerSettings,
    Reassign,
    simulate,
)

SEEDS = range(5)
ALL = ProducerSettings(acks="all", idempotence=True)
ONE = ProducerSettings(acks="1", idempotence=False)
SETTINGS = ModelSettings(partitions=3, producers=(ALL, ALL), records=300, load_s=20.0)
FEWER = Reassign(at_s=5.0, hold_s=6.0, count=2)
ROTATED = Reassign(at_s=5.0, hold_s=6.0)


def run(seed, *schedule, settings=SETTINGS):
    return simulate(Case(seed=seed, settings=settings, schedule=schedule))


def replicas(simulated, partition=0):
    """The replicas of a partition, whenever they became others."""
    found = []
    for row in simulated.history.metadata:
        if row.partition == partition and row.replicas not in found[-1:]:
            found.append(row.replicas)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replica_goes_and_returns(seed):
    simulated = run(seed, FEWER)
    first, fewer, again = replicas(simulated)
    assert (first[:2], first) == (fewer, again)
    (fault,) = simulated.history.faults
    assert (fault.kind, fault.proven, fault.recovered, fault.nodes) == ("reassign", True, True, ())
    assert (simulated.truth.lost, simulated.truth.wrong) == ((), ())
    held = {(row.partition, row.broker) for row in simulated.history.replicas}
    assert held == {(partition, broker) for partition in range(3) for broker in (1, 2, 3)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_broker_that_is_no_replica_holds_nothing_until_it_is_one_again(seed):
    simulated = run(seed, FEWER)
    gone = replicas(simulated)[0][2]
    (fault,) = simulated.history.faults
    measured = [
        row
        for row in simulated.history.replica_offsets
        if (row.partition, row.broker) == (0, gone)
        and fault.effect_ns + 500_000_000 < row.at_ns < fault.heal_ns
    ]
    assert measured == []


@pytest.mark.parametrize("seed", SEEDS)
def test_replicas_that_go_to_the_next_broker_take_the_lead_with_them(seed):
    settings = replace(SETTINGS, replication=2, min_isr=1)
    simulated = run(seed, ROTATED, settings=settings)
    before, both, after = replicas(simulated)[:3]
    assert (set(both), len(after)) == ({1, 2, 3}, 2)
    assert after == (before[1], (*{1, 2, 3} - set(before),)[0])
    led = [row.leader for row in simulated.history.metadata if row.partition == 0 and row.replicas == after]
    assert led[0] == after[0]
    assert (simulated.truth.lost, simulated.truth.wrong) == ((), ())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_move_waits_for_a_leader_that_stands_still_and_loses_nothing(seed):
    simulated = run(seed, FEWER, Pause(at_s=10.0, hold_s=8.0, nodes=(1,)))
    assert replicas(simulated)[0] == replicas(simulated)[-1]
    assert all(fault.proven and fault.recovered for fault in simulated.history.faults)
    assert (simulated.truth.lost, simulated.truth.wrong) == ((), ())


MOVED = (Reassign(at_s=5.0, hold_s=8.0), PreferredElection(at_s=7.0, hold_s=1.0))


@pytest.mark.parametrize("seed", SEEDS)
def test_preferred_leaders_are_elected_without_a_crash(seed):
    simulated = run(seed, *MOVED)
    changes = [row for row in simulated.history.metadata if row.partition == 0]
    first, second = changes[0].replicas[:2]
    assert [row.leader for row in changes if row.leader != first][:1] == [second]
    assert len({row.broker_epoch for row in simulated.history.brokers}) == 3
    assert (simulated.truth.lost, simulated.truth.wrong) == ((), ())


@pytest.mark.parametrize("seed", SEEDS)
def test_acks_1_loses_what_slow_followers_lack_when_the_leader_moves(seed):
    edges = tuple(f"{one}->{other}" for one in (1, 2, 3) for other in (1, 2, 3) if one != other)
    slow = Latency(at_s=3.0, hold_s=12.0, edges=edges, delay_s=1.0)
    settings = replace(SETTINGS, producers=(ONE, ONE), lag_max_s=10.0)
    simulated = run(seed, slow, *MOVED, settings=settings)
    causes = {one.cause for one in simulated.truth.lost}
    assert {"acks=1 unreplicated tail"} <= causes <= {"acks=1 unreplicated tail", "deposed leader"}
    assert all(one.permitted for one in simulated.truth.lost)
    assert run(seed, slow, *MOVED, settings=replace(settings, producers=(ALL, ALL))).truth.lost == ()


def test_where_every_first_replica_leads_there_is_nothing_to_elect():
    assert run(1, PreferredElection(at_s=5.0, hold_s=1.0)).history.faults == []

"""Brokers with two log directories on the model: odd partitions lie in the second one, which fails."""

from dataclasses import replace
from itertools import groupby

import pytest

from checkers.model import (
    Case,
    LogDirFailure,
    ModelSettings,
    Partition,
    PowerLoss,
    ProducerSettings,
    simulate,
)
from checkers.model.case import log_dir_of

SEEDS = range(5)
ALL = ProducerSettings(acks="all", idempotence=True)
SETTINGS = ModelSettings(partitions=6, producers=(ALL, ALL), records=200, load_s=16.0, log_dirs=2)
MIN_ISR_1 = replace(SETTINGS, min_isr=1, elr=False)
FAILURE = LogDirFailure(at_s=5.0, hold_s=5.0, nodes=(1,))


def run(seed, *schedule, settings=SETTINGS):
    """The run, and by log directory the partition there that broker 1 prefers to lead."""
    simulated = simulate(Case(seed=seed, settings=settings, schedule=schedule))
    preferred = {row.partition for row in simulated.history.metadata if row.replicas[0] == 1}
    return simulated, {log_dir_of(partition, settings): partition for partition in preferred}


def states(simulated, partition):
    """The changes of a partition: time in seconds, leader, ISR."""
    rows = [row for row in simulated.history.metadata if row.partition == partition]
    return [((row.at_ms - 1_795_317_100_000) / 1000, row.leader, set(row.isr)) for row in rows]


def test_each_directory_has_the_replicas_of_some_partitions():
    assert [log_dir_of(partition, SETTINGS) for partition in range(6)] == [1, 2, 1, 2, 1, 2]
    assert [log_dir_of(partition, replace(SETTINGS, log_dirs=1)) for partition in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_broker_goes_on_without_a_log_directory_and_others_lead_what_lay_there(seed):
    simulated, preferred = run(seed, FAILURE)
    after = [change for change in states(simulated, preferred[2]) if change[0] >= 5.0]
    assert after[0][0] < 5.2
    assert after[0][1] in (2, 3)
    assert after[0][2] == {2, 3}
    assert after[-1][2] == {1, 2, 3}
    stays = [leader for at_s, leader, _ in states(simulated, preferred[1]) if at_s < 10.0]
    assert set(stays) == {1}
    assert simulated.truth.lost == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_controllers_know_how_many_directories_a_broker_has(seed):
    simulated, _ = run(seed, FAILURE)
    counts = [row.log_dirs for row in simulated.history.brokers if row.node == 1]
    assert [count for count, _ in groupby(counts)] == [2, 1, 2]
    assert {row.log_dirs for row in simulated.history.brokers if row.node != 1} == {2}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_fault_names_its_replicas_and_counts_the_restart_as_unclean(seed):
    simulated, _ = run(seed, FAILURE)
    (fault,) = simulated.history.faults
    assert fault.replicas == ("1/orders-1", "1/orders-3", "1/orders-5")
    assert (fault.proven, fault.recovered) == (True, True)
    assert (fault.down, fault.unclean, fault.data_lost) == ((1,), (1,), (1,))
    assert fault.inject_ns < fault.begin_ns < fault.effect_ns < fault.end_ns < fault.down_ns[0]
    read = [row for row in simulated.history.replica_offsets if row.source == "disk-down"]
    assert {(row.broker, row.partition) for row in read} == {(1, partition) for partition in range(6)}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_only_in_sync_replica_in_the_directory_loses_what_was_unsynced_and_no_other_does(seed):
    alone = Partition(at_s=4.0, hold_s=14.0, edges=("2->1", "3->1"))
    simulated, preferred = run(seed, alone, replace(FAILURE, at_s=10.5), settings=MIN_ISR_1)
    fates = simulated.truth.lost
    assert {one.tp.partition for one in fates} == {preferred[2]}
    assert "ISR of one with min.isr 1" in {one.cause for one in fates}
    assert all(one.permitted for one in fates)
    assert -1 in {leader for _, leader, _ in states(simulated, preferred[2])}


@pytest.mark.parametrize("elr", [False, True], ids=["without ELR", "with ELR"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_directories_of_all_lose_what_lay_there(seed, elr):
    everywhere = replace(FAILURE, nodes=(1, 2, 3))
    simulated, _ = run(seed, everywhere, settings=replace(SETTINGS, elr=elr))
    fates = simulated.truth.lost
    assert {log_dir_of(one.tp.partition, SETTINGS) for one in fates} == {2}
    assert all(one.permitted for one in fates)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_flushed_survives_the_failure_of_all(seed):
    flushed = replace(SETTINGS, flush_messages=1)
    simulated, _ = run(seed, replace(FAILURE, nodes=(1, 2, 3)), settings=flushed)
    assert simulated.truth.lost == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loss_of_power_takes_both_directories(seed):
    simulated, _ = run(seed, PowerLoss(at_s=5.0, hold_s=2.0, nodes=(1, 2, 3)))
    assert {log_dir_of(one.tp.partition, SETTINGS) for one in simulated.truth.lost} == {1, 2}


def test_a_case_with_log_directories_is_read_as_it_was_written():
    case = Case(seed=1, settings=SETTINGS, schedule=(replace(FAILURE, log_dir=2),))
    assert Case.from_json(case.to_json()) == case

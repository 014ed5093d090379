"""Settings that change on the simulated Kafka: what controller and leaders make of them, and what is seen."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from checkers.history.metadata_log.settings import MIN_ISR
from checkers.history.tables import Outcome
from checkers.model import (
    Case,
    CleanStop,
    ElrFeature,
    Kill,
    MinIsr,
    ModelSettings,
    Partition,
    Pause,
    PowerLoss,
    ProducerSettings,
    simulate,
)
from checkers.model.kafka.changed_settings import ElrSet, MinIsrSet, cleared
from checkers.model.kafka.partition_change import PartitionState
from checkers.model.promised import Promised

SEEDS = range(3)
ALL = ProducerSettings(acks="all", idempotence=True)
ONE = ProducerSettings(acks="1", idempotence=False)
SETTINGS = ModelSettings(
    partitions=1, min_isr=2, elr=True, producers=(ALL, ONE), records=200, load_s=24.0, first_leader=1
)
ALONE = Partition(at_s=4.0, hold_s=14.0, edges=("2->1", "3->1"))
"""Leader 1 is alone in sync from 7 s to 9 s on, until 18 s."""


def run(seed, *schedule, settings=SETTINGS):
    return simulate(Case(seed=seed, settings=settings, schedule=schedule))


def changes(simulated, kind, key=""):
    """The records that changed a setting after the topic was made."""
    made = max(row.log_offset for row in simulated.history.metadata if row.partition_epoch == 0)
    rows = [row for row in simulated.history.configs if (row.kind, row.key) == (kind, key)]
    return [row for row in rows if row.log_offset > made]


def acked(simulated, begin_s, end_s):
    """How many sends of acks=all were acknowledged within a time."""
    begin_ns, end_ns = ((1000 + at_s) * 1_000_000_000 for at_s in (begin_s, end_s))
    return sum(
        row.producer == 1 and row.outcome == Outcome.OK and begin_ns <= row.completed_ns <= end_ns
        for row in simulated.history.sends
    )


# The controller


@pytest.mark.parametrize("value", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_another_value_empties_the_elr_whether_it_is_raised_or_lowered(seed, value):
    simulated = run(seed, ALONE, MinIsr(at_s=12.0, hold_s=8.0, value=value))
    lowered, _ = changes(simulated, "topic", MIN_ISR)
    states = sorted(simulated.history.metadata, key=lambda row: row.log_offset)
    (at,) = (place for place, row in enumerate(states) if row.log_offset == lowered.log_offset + 1)
    assert [(row.isr, row.elr) for row in states[at - 1 : at + 1]] == [((1,), (2, 3)), ((1,), ())]
    assert states[at].partition_epoch == states[at - 1].partition_epoch + 1
    assert states[at].leader_epoch == states[at - 1].leader_epoch


@pytest.mark.parametrize("seed", SEEDS)
def test_with_a_value_of_one_nobody_but_the_last_is_eligible(seed):
    stops = [CleanStop(at_s=at_s, hold_s=4.0, nodes=(node,)) for at_s, node in ((6.0, 2), (6.2, 3))]
    one, two = (
        run(seed, *stops, *(MinIsr(at_s=2.0, hold_s=14.0, value=1) for _ in range(changed)))
        for changed in (1, 0)
    )
    assert {row.elr for row in one.history.metadata} == {()}
    assert (3,) in {row.elr for row in two.history.metadata}


@pytest.mark.parametrize("seed", SEEDS)
def test_one_record_clears_all_partitions_and_takes_an_offset_where_it_clears_none(seed):
    settings = replace(SETTINGS, partitions=3)
    stops = [CleanStop(at_s=4.0, hold_s=9.0, nodes=(2, 3)), MinIsr(at_s=8.0, hold_s=3.0, value=3)]
    simulated = run(seed, *stops, settings=settings)
    raised, lowered = changes(simulated, "topic", MIN_ISR)
    offsets = [row.log_offset for row in simulated.history.metadata]
    assert offsets.count(raised.log_offset + 1) == 3
    taken = {*offsets, *(row.log_offset for row in simulated.history.brokers)}
    assert lowered.log_offset + 1 not in taken


def test_nothing_is_cleared_where_elr_is_off():
    simulated = run(1, ALONE, MinIsr(at_s=12.0, hold_s=8.0, value=1), settings=replace(SETTINGS, elr=False))
    assert {row.elr for row in simulated.history.metadata} == {()}
    lowered, _ = changes(simulated, "topic", MIN_ISR)
    epochs = [row for row in simulated.history.metadata if row.log_offset > lowered.log_offset]
    assert len(epochs[0].isr) == 2  # the first one after it is a follower that is back


def test_a_partition_that_has_nobody_eligible_does_not_change():
    kept = PartitionState(partition=0, replicas=(1, 2, 3), isr=(1,), leader=1, elr=(2,), partition_epoch=4)
    known = replace(kept, partition=1, isr=(), leader=-1, elr=(), last_known_elr=(1,))
    assert cleared([kept, known, replace(kept, partition=2, elr=())]).states == (
        replace(kept, elr=(), partition_epoch=5),
        replace(known, last_known_elr=(), partition_epoch=5),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_partition_without_a_leader_gets_none_once_its_elr_is_emptied(seed):
    ends = (Kill(at_s=4.0, hold_s=9.0, nodes=(2, 3)), CleanStop(at_s=9.0, hold_s=4.0, nodes=(1,)))
    simulated = run(seed, *ends, MinIsr(at_s=11.0, hold_s=1.0, value=3))
    last = max(simulated.history.metadata, key=lambda row: row.log_offset)
    assert (last.leader, last.isr, last.elr, last.last_known_elr) == (-1, (), (), ())
    assert not simulated.history.proofs[0].complete
    assert all(one.permitted for one in simulated.truth.lost)


@pytest.mark.parametrize("seed", SEEDS)
def test_elr_that_is_off_keeps_nobody_and_is_seen_as_a_feature(seed):
    simulated = run(seed, ALONE, ElrFeature(at_s=2.0, hold_s=18.0, on=False))
    assert {row.elr for row in simulated.history.metadata} == {()}
    off, on = changes(simulated, "feature")
    assert [(row.value, row.removed) for row in (off, on)] == [("", True), ("1", False)]
    fault = simulated.history.faults[0]
    assert (fault.kind, fault.target) == ("feature", "eligible.leader.replicas.version=0")
    assert (fault.proven, fault.recovered) == (True, True)


def test_elr_that_is_on_at_last_comes_with_a_default_of_min_insync_replicas():
    settings = replace(SETTINGS, elr=False)
    simulated = run(1, ALONE, ElrFeature(at_s=2.0, hold_s=18.0, on=True), settings=settings)
    (default,) = changes(simulated, "cluster", MIN_ISR)
    on, _ = changes(simulated, "feature")
    assert (default.value, default.log_offset) == ("2", on.log_offset - 1)
    assert (2, 3) in {row.elr for row in simulated.history.metadata}


# The leaders


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_refuses_and_takes_records_by_the_value_that_it_knows(seed):
    alone = (9.5, 12.0), (12.5, 15.0), (15.5, 18.0)
    simulated = run(seed, ALONE, MinIsr(at_s=12.0, hold_s=3.0, value=1))
    assert [acked(simulated, *times) > 0 for times in alone] == [False, True, False]
    raised = run(
        seed,
        ALONE,
        MinIsr(at_s=12.0, hold_s=3.0, value=3),
        settings=replace(SETTINGS, min_isr=1),
    )
    assert [acked(raised, *times) > 0 for times in alone] == [True, False, True]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_high_watermark_of_a_leader_stands_still_by_the_value_that_it_knows(seed):
    settings = replace(SETTINGS, producers=(ONE,))
    simulated = run(seed, ALONE, MinIsr(at_s=12.0, hold_s=3.0, value=1), settings=settings)

    def moved(begin_s, end_s):
        marks = [
            row.high_watermark
            for row in simulated.history.watermarks
            if (1000 + begin_s) * 1_000_000_000 <= row.at_ns < (1000 + end_s) * 1_000_000_000
        ]
        return max(marks) > min(marks)

    assert [moved(9.5, 12.0), moved(12.0, 15.0), moved(16.0, 17.9)] == [False, True, False]


def test_a_leader_that_hears_late_goes_by_the_older_value():
    cut_off = Partition(at_s=11.0, hold_s=3.0, edges=("1->101", "1->102", "1->103"))
    simulated = run(1, ALONE, cut_off, MinIsr(at_s=12.0, hold_s=6.0, value=1))
    (fault,) = [each for each in simulated.history.faults if each.kind == "config"]
    assert 1014.0e9 < fault.effect_ns < 1015.0e9
    assert acked(simulated, 12.0, 14.0) == 0
    assert acked(simulated, 14.5, 17.0) > 0


# What is seen


@pytest.mark.parametrize("seed", SEEDS)
def test_the_fault_says_when_every_broker_knew_the_value_and_the_one_before(seed):
    simulated = run(seed, MinIsr(at_s=8.0, hold_s=4.0, value=1))
    lowered, raised = changes(simulated, "topic", MIN_ISR)
    assert [(row.name, row.value, row.removed) for row in (lowered, raised)] == [
        ("orders", "1", False),
        ("orders", "2", False),
    ]
    (fault,) = simulated.history.faults
    assert (fault.kind, fault.target, fault.nodes) == ("config", "topic orders: min.insync.replicas=1", ())
    assert (fault.inject_ns, fault.end_ns) == (1008_000_000_000, 1012_000_000_000)
    assert 0 < fault.effect_ns - fault.inject_ns < 400_000_000
    assert 0 < fault.recovered_ns - fault.heal_ns < 400_000_000
    assert (fault.proven, fault.recovered) == (True, True)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_broker_that_stands_still_must_know_it_and_one_that_is_down_need_not(seed):
    paused = run(seed, Pause(at_s=7.5, hold_s=2.0, nodes=(2,)), MinIsr(at_s=8.0, hold_s=6.0, value=1))
    assert 1009.4e9 < paused.history.faults[1].effect_ns < 1010.5e9
    down = run(seed, CleanStop(at_s=5.0, hold_s=7.0, nodes=(2,)), MinIsr(at_s=8.0, hold_s=3.0, value=1))
    assert down.history.faults[1].effect_ns < 1008.5e9
    never = run(seed, Pause(at_s=7.5, hold_s=6.0, nodes=(2,)), MinIsr(at_s=8.0, hold_s=3.0, value=1))
    assert not never.history.faults[1].proven


def test_a_broker_that_starts_knows_the_value_of_now():
    simulated = run(
        1,
        Kill(at_s=5.0, hold_s=5.0, nodes=(1,)),
        MinIsr(at_s=7.0, hold_s=14.0, value=3),
        Partition(at_s=15.0, hold_s=5.0, edges=("2->1", "3->1", "3->2", "1->2", "1->3", "2->3")),
    )
    assert acked(simulated, 15.0, 20.0) == 0


def test_no_two_faults_hold_a_setting_and_there_must_be_something_to_change():
    simulated = run(
        1,
        MinIsr(at_s=5.0, hold_s=5.0, value=1),
        MinIsr(at_s=7.0, hold_s=5.0, value=3),
        MinIsr(at_s=14.0, hold_s=2.0, value=2),
    )
    assert [fault.name for fault in simulated.history.faults] == ["config-1"]


# What is promised


def promised(*states):
    """Of a record that is removed behind all of these."""
    records = [SimpleNamespace(offset=at, state=state) for at, state in enumerate(states)]
    removal = SimpleNamespace(offset=len(records))
    found = Promised(records, 0, min_isr=2, elr=True).outlived(removal)
    return found.by_min_isr, found.guards


def isr(*nodes, elr=()):
    return PartitionState(partition=0, replicas=(1, 2, 3), isr=nodes, leader=nodes[0], elr=elr)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([isr(1, 2, 3), isr(1, elr=(2,))], (2, None)),
        ([isr(1, 2, 3), MinIsrSet(value=3), isr(1, 2, elr=(3,))], (3, None)),
        ([isr(1, 2, 3), isr(1, 2), MinIsrSet(value=3)], (2, None)),
        ([isr(1, 2, 3), isr(1, elr=(2,)), MinIsrSet(value=1)], (1, None)),
        ([isr(1, 2, 3), isr(1, elr=(2,)), MinIsrSet(value=3)], (2, {1})),
        ([isr(1, 2, 3), isr(1, elr=(2,)), MinIsrSet(value=3), isr(1), isr(1, 2)], (2, {1, 2})),
        ([isr(1, 2, 3), isr(1, elr=(2,)), MinIsrSet(value=3), isr(1), isr(1, 2, 3)], (3, None)),
        ([isr(1, 2, 3), ElrSet(on=False), isr(1), ElrSet(on=True), isr(1, elr=())], (2, {1})),
    ],
)
def test_what_is_promised_follows_from_what_the_controller_had(states, expected):
    assert promised(*states) == expected


def test_a_reassignment_leaves_it_to_those_in_sync_and_the_eligible():
    """Broker 3, in sync or eligible, is no replica any more; where it was neither, the promise is what it
    was."""
    left = replace(isr(1, elr=(2,)), replicas=(1, 2))
    assert promised(isr(1, 2, 3), isr(1, 3, elr=(2,)), left) == (2, {1, 2})
    assert promised(isr(1, 2, 3), isr(1, elr=(2, 3)), left) == (2, {1, 2})
    assert promised(isr(1, 2, 3), isr(1, elr=(2,)), left) == (2, None)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_power_cut_takes_what_two_values_of_two_had_promised(seed):
    schedule = (ALONE, MinIsr(at_s=12.0, hold_s=10.0, value=3), PowerLoss(at_s=14.0, hold_s=1.0, nodes=(1,)))
    lost = run(seed, *schedule).truth.lost
    of_all = {(one.cause, one.permitted) for one in lost if one.id.producer == 1}
    assert of_all == {("eligible replicas forgotten", True)}
    unchanged = run(seed, ALONE, PowerLoss(at_s=14.0, hold_s=1.0, nodes=(1,))).truth.lost
    assert {one.id.producer for one in unchanged} <= {2}

"""Which acknowledgements a fault put at risk: around it, on the partitions that it touches."""

from dataclasses import replace

import numpy as np
import pytest

from checkers.history.rows import Fault, MetadataChange, TopicPartition
from checkers.verdict.exposure.at_risk import AtRisk, at_risk, beginnings, replicas_of, touched

SECOND = 1_000_000_000
FIRST, SECOND_TP = TopicPartition("orders", 0), TopicPartition("orders", 1)
BOTH = (FIRST, SECOND_TP)
REPLICAS = {FIRST: frozenset({1, 2, 3}), SECOND_TP: frozenset({3, 4, 5})}
CONTROLLERS = (101, 102, 103)


def fault(begin=5.0, heal=-1.0, recovered=-1.0, **more) -> Fault:
    """A kill with these times, in seconds of the run."""
    times = {"inject_ns": begin, "heal_ns": heal, "recovered_ns": recovered}
    in_ns = {name: -1 if second == -1 else int(second * SECOND) for name, second in times.items()}
    return Fault(index=0, name="kill", kind="kill", **in_ns, **more)


def risked(hit: Fault, *seconds: float) -> int:
    """How many acks of one partition, at these seconds, the fault put at risk."""
    times = np.array(sorted(int(second * SECOND) for second in seconds), np.int64)
    return at_risk(hit, {FIRST: times}, [FIRST]).acks


@pytest.mark.parametrize(
    ("at", "counts"), [(3.9, 0), (4.1, 1), (5.0, 1), (30.0, 1), (60.0, 1), (60.5, 1), (61.5, 0), (70.0, 0)]
)
def test_at_risk_is_what_is_acknowledged_from_shortly_before_a_fault_until_it_is_over(at, counts):
    assert risked(fault(5, heal=60, recovered=61), at) == counts


def test_a_kill_whose_next_ack_comes_after_it_was_over_put_nothing_at_risk():
    """From 5 s to 60 s; acknowledged at 3 s and at 70 s only."""
    assert risked(fault(5, heal=60, recovered=60), 3, 70) == 0


@pytest.mark.parametrize(("heal", "recovered", "until"), [(9, -1, 9), (9, 12, 12), (-1, -1, 1000)])
def test_a_fault_lasts_until_it_is_recovered_or_healed_or_for_ever(heal, recovered, until):
    assert risked(fault(5, heal=heal, recovered=recovered), until) == 1
    assert risked(fault(5, heal=heal, recovered=recovered), until + 1) == (1 if until == 1000 else 0)


def test_dropped_pages_put_at_risk_what_was_not_written_back():
    """All brokers lose power, so nothing is acknowledged until it is over."""
    power = {"begin": 60, "recovered": 70, "unclean": (1, 2, 3)}
    assert risked(fault(**power, data_lost=(1, 2, 3)), 29, 31, 45, 71) == 2
    assert risked(fault(**power), 29, 31, 45, 71) == 0


def test_a_disk_that_was_replaced_puts_at_risk_whatever_was_acknowledged_before():
    wipe = replace(fault(5000, heal=5010, data_lost=(1,)), kind="disk-wipe")
    assert risked(wipe, 1, 4000, 5005, 5011) == 3


def test_what_the_first_of_overlapping_faults_put_at_risk_is_at_risk_in_all_of_them():
    """Nothing was acknowledged any more when the second came, and the third began after the first had ended;
    the fourth is by itself."""
    times = ((5, 10), (9, 20), (15, 30), (31, 40))
    faults = [replace(fault(begin, recovered=over), index=at) for at, (begin, over) in enumerate(times)]
    assert beginnings([*reversed(faults), fault(-1)]) == {
        0: 4 * SECOND,
        1: 4 * SECOND,
        2: 4 * SECOND,
        3: 30 * SECOND,
    }
    acks = {FIRST: np.array([int(4.5 * SECOND)], np.int64)}
    assert at_risk(faults[2], acks, [FIRST]).acks == 0
    assert at_risk(faults[2], acks, [FIRST], since_ns=beginnings(faults)[2]).acks == 1
    assert at_risk(faults[3], acks, [FIRST], since_ns=beginnings(faults)[3]).acks == 0


def test_a_fault_that_was_never_injected_puts_nothing_at_risk():
    assert risked(fault(-1), 0, 1, 2) == 0


def test_acks_are_counted_on_the_partitions_that_are_touched_alone():
    acks = {tp: np.array([6 * SECOND], np.int64) for tp in BOTH}
    acks[SECOND_TP] = np.array([], np.int64)
    hit = fault(5, recovered=9)
    assert at_risk(hit, acks, BOTH) == AtRisk(acks=1, partitions=2, partitions_with_acks=1)
    assert at_risk(hit, acks, [SECOND_TP]) == AtRisk(acks=0, partitions=1, partitions_with_acks=0)


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ({"nodes": (1,)}, [FIRST]),
        ({"nodes": (3,)}, [FIRST, SECOND_TP]),
        ({"nodes": (9,)}, []),
        ({"nodes": (101,)}, [FIRST, SECOND_TP]),
        ({"nodes": (1, 101)}, [FIRST, SECOND_TP]),
        ({"nodes": ()}, [FIRST, SECOND_TP]),
        ({"nodes": (4, 5), "edges": ("4->5",)}, [SECOND_TP]),
        ({"nodes": (1, 4), "edges": ("1->4",)}, [FIRST, SECOND_TP]),
        ({"nodes": (2, 101), "edges": ("2->101",)}, [FIRST]),
        ({"nodes": (101, 103), "edges": ("103->101",)}, [FIRST, SECOND_TP]),
        ({"nodes": (4,), "edges": ("client->4",)}, [SECOND_TP]),
    ],
)
def test_a_fault_touches_the_partitions_of_its_replicas_and_a_fault_of_controllers_touches_all(
    hits, expected
):
    assert touched(fault(**hits), BOTH, REPLICAS, CONTROLLERS) == expected


def test_a_lost_log_directory_touches_the_partitions_that_lie_in_it():
    """Those of the other one are led on. A broker that is a controller too goes on as that."""
    one = replace(fault(nodes=(3,), replicas=("3/orders-1",)), kind="log-dir-failure")
    assert touched(one, BOTH, REPLICAS, CONTROLLERS) == [SECOND_TP]
    assert touched(one, BOTH, {}, CONTROLLERS) == [SECOND_TP]
    combined = replace(one, nodes=(1,), replicas=("1/orders-0",))
    assert touched(combined, BOTH, REPLICAS, (1, 2, 3)) == [FIRST]


def test_of_a_partition_that_the_metadata_log_does_not_name_any_broker_may_be_a_replica():
    assert touched(fault(nodes=(9,)), BOTH, {FIRST: REPLICAS[FIRST]}, CONTROLLERS) == [SECOND_TP]


def test_the_replicas_of_a_partition_are_all_that_it_ever_had():
    changes = [
        MetadataChange(
            at_ms=at,
            topic="orders",
            partition=0,
            leader=1,
            leader_epoch=0,
            partition_epoch=at,
            replicas=nodes,
        )
        for at, nodes in ((0, (1, 2)), (1, (2, 3)), (2, ()))
    ]
    assert replicas_of(changes) == {FIRST: frozenset({1, 2, 3})}

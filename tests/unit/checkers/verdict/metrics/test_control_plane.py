"""What the controllers did, counted from the metadata log of one or two partitions."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import CLOCK, led, ns, sampled, world

from checkers.history.rows import BrokerState, TopicPartition
from checkers.verdict.metrics.control_plane import ControlPlane
from checkers.verdict.metrics.metric import Measured

ALL = (1, 2, 3)
ORDERS = (TopicPartition("orders", 0),)


def control_plane(*events, partitions=ORDERS, brokers=None) -> ControlPlane:
    """Of a load that ended at 60 s; without `brokers`, no registration was collected."""
    facts = world(*events)
    collected = facts.context.collected - ({"brokers"} if brokers is None else set())
    context = replace(facts.context, partitions=partitions, brokers=brokers or (), collected=collected)
    return ControlPlane(context=context, timeline=facts.timeline, load_ended_ns=ns(60))


def on(partition: int, *changes):
    return [replace(change, partition=partition) for change in changes]


BOUNCED = (
    led(0, 1, 0, ALL),
    led(5, 1, 0, (1, 2)),
    led(6, -1, 1, (2,)),
    led(8.5, 2, 2, (2,)),
    led(9, 2, 2, (2, 3)),
    led(10, 2, 2, ALL),
    led(14, 3, 3, (3, 1)),
)


@pytest.mark.parametrize(
    ("metric", "value", "where"),
    [
        ("elections.max", 2.0, "orders-0"),
        ("elections.apart", 5.5, "orders-0"),
        ("leaders.moved", 2.0, "orders-0"),
        ("elections.unclean", 0.0, ""),
        ("offline.max", 2.5, "orders-0"),
        ("isr.min", 1.0, "orders-0"),
        ("isr.shrinks", 3.0, "orders-0"),
        ("isr.expands", 2.0, "orders-0"),
    ],
)
def test_elections_and_isr_moves_of_one_partition(metric: str, value: float, where: str) -> None:
    assert control_plane(*BOUNCED).measured(metric) == Measured(value=value, where=where)


def test_a_number_of_the_partition_that_had_the_most_names_that_partition() -> None:
    quiet = on(1, led(0, 1, 0, ALL), led(3, 1, 0, (1, 2)))
    both = (*ORDERS, TopicPartition("orders", 1))
    its = control_plane(*quiet, *BOUNCED, partitions=both)
    assert its.measured("isr.shrinks") == Measured(value=3.0, where="orders-0")
    assert its.measured("isr.min") == Measured(value=1.0, where="orders-0")


@pytest.mark.parametrize(
    ("isr", "elr", "last_known", "metric"),
    [
        ((1,), (), (), "elections.unclean"),
        ((), (2,), (), "elections.elr"),
        ((), (), (2,), "elections.last-known"),
    ],
)
def test_an_election_counts_as_what_the_controller_elected_from(isr, elr, last_known, metric) -> None:
    its = control_plane(led(0, 1, 0, ALL), led(5, -1, 1, isr, elr, last_known), led(8, 2, 2, (2,)))
    kinds = ("elections.unclean", "elections.elr", "elections.last-known")
    assert {name: its.measured(name).value for name in kinds} == dict.fromkeys(kinds, 0.0) | {metric: 1.0}


def test_nothing_that_happened_is_zero_and_names_nobody() -> None:
    its = control_plane(led(0, 1, 0, ALL))
    for metric in ("elections.max", "leaders.moved", "offline.max", "isr.shrinks", "isr.expands"):
        assert its.measured(metric) == Measured(value=0.0)
    assert its.measured("isr.min") == Measured(value=3.0, where="orders-0")
    assert its.measured("elections.apart") == Measured(value=None, unknown="no partition had two elections")


def test_a_leader_that_is_elected_again_has_not_moved() -> None:
    """Under a new epoch as it was, as when a reassignment takes a replica away; or after a time without."""
    kept = (led(0, 1, 0, ALL), led(3, 1, 1, ALL), led(5, -1, 2, (1,)), led(6, 1, 3, (1,)))
    its = control_plane(*kept)
    assert its.measured("elections.max").value == 2.0
    assert its.measured("leaders.moved") == Measured(value=0.0)
    moved = control_plane(*kept, led(9, -1, 4, (2,)), led(10, 2, 5, (2,)))
    assert moved.measured("leaders.moved") == Measured(value=1.0, where="orders-0")


def test_the_leadership_of_the_partition_that_moved_the_most_is_named() -> None:
    twice = on(1, led(0, 1, 0, ALL), led(3, 2, 1, ALL), led(4, 1, 2, ALL))
    once = (led(0, 1, 0, ALL), led(3, 2, 1, ALL))
    both = (*ORDERS, TopicPartition("orders", 1))
    its = control_plane(*once, *twice, partitions=both)
    assert its.measured("leaders.moved") == Measured(value=2.0, where="orders-1")


def test_a_partition_that_gets_no_leader_again_is_offline_to_the_end_of_the_load() -> None:
    its = control_plane(led(0, 1, 0, ALL), led(40, -1, 1, (1,)), led(41, -1, 1, ()))
    assert its.measured("offline.max") == Measured(value=20.0, where="orders-0")


def test_a_partition_that_only_the_samples_know_makes_the_number_unknown() -> None:
    """They are a quarter of a second apart: what came and went between them would not count."""
    both = (*ORDERS, TopicPartition("orders", 1))
    sample = replace(sampled(1, 5), partition=1)
    its = control_plane(*BOUNCED, sample, partitions=both)
    unknown = Measured(value=None, unknown="the metadata log has no state of orders-1")
    assert its.measured("isr.min") == unknown
    assert its.measured("elections.unclean") == unknown


def registration(offset: int, node: int, epoch: int, **more) -> BrokerState:
    at_ms = CLOCK.wall_ns // 1_000_000 + offset
    return BrokerState(at_ms=at_ms, log_offset=offset, node=node, broker_epoch=epoch, **more)


def test_brokers_that_were_fenced_or_registered_again_are_counted() -> None:
    """Broker 1 is fenced twice and stays; 2 stops by itself and returns; 3 is killed and returns."""
    brokers = [
        registration(1, 1, 10, fenced=True),
        registration(2, 2, 20, fenced=True),
        registration(3, 3, 30, fenced=False),
        registration(4, 1, 10, fenced=False),
        registration(5, 2, 20, fenced=False),
        registration(6, 1, 10, fenced=True),
        registration(7, 1, 10, fenced=False),
        registration(8, 1, 10, fenced=True),
        registration(9, 2, 20, in_controlled_shutdown=True),
        registration(10, 2, 20, in_controlled_shutdown=True, fenced=True),
        registration(11, 3, 30, fenced=True),
        registration(12, 2, 21, fenced=True),
        registration(13, 3, 31, fenced=True),
    ]
    its = control_plane(led(0, 1, 0, ALL), brokers=brokers)
    assert its.measured("brokers.fenced") == Measured(value=3.0)
    assert its.measured("brokers.restarted") == Measured(value=2.0)


def test_log_directories_that_went_offline_under_a_running_broker_are_counted() -> None:
    """Broker 1 loses one of three, is started with all, and loses two; 2 registers with one less."""
    brokers = [
        registration(1, 1, 10, log_dirs=3),
        registration(2, 2, 20, log_dirs=2),
        registration(3, 1, 10, log_dirs=2),
        registration(4, 1, 10, log_dirs=2, fenced=True),
        registration(5, 1, 11, log_dirs=3),
        registration(6, 1, 11, log_dirs=1),
        registration(7, 2, 21, log_dirs=1),
    ]
    its = control_plane(led(0, 1, 0, ALL), brokers=brokers)
    assert its.measured("log-dirs.offline") == Measured(value=3.0)


def test_log_directories_that_no_registration_names_are_not_known() -> None:
    """As of releases before 3.7."""
    its = control_plane(led(0, 1, 0, ALL), brokers=[registration(1, 1, 10)])
    assert its.measured("log-dirs.offline") == Measured(
        value=None, unknown="the metadata log names no log directories"
    )


def test_brokers_of_whom_nothing_was_collected_are_not_known() -> None:
    its = control_plane(led(0, 1, 0, ALL))
    assert its.measured("brokers.fenced") == Measured(
        value=None, unknown="not collected: the brokers' registrations"
    )


def test_a_partition_that_gets_other_replicas_is_counted_and_another_order_of_them_is_not() -> None:
    def on_brokers(second, replicas):
        return replace(led(second, 1, 0, (1, 2)), replicas=replicas, log_offset=second)

    its = control_plane(
        on_brokers(0, (1, 2, 3)),
        on_brokers(4, (1, 2)),
        on_brokers(5, (2, 1)),
        on_brokers(9, (2, 1, 3)),
        on_brokers(10, (2, 1, 3)),
    )
    assert its.measured("replicas.changes") == Measured(value=2.0, where="orders-0")
    assert control_plane(*BOUNCED).measured("replicas.changes") == Measured(value=0.0)

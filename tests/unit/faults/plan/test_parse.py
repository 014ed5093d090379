"""The words of a scenario become plain data and come back; what is wrong is refused with its field."""

from dataclasses import replace

import pytest
from fakes.world.view import partition

from compose.protocols import PartitionOffsets, PartitionState
from faults.durations import parse_duration
from faults.errors import BadStep
from faults.kinds.fault.step import After, At, When
from faults.kinds.network.partition import PartitionStep
from faults.kinds.process.kill import KillStep
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.targets.conditions import (
    BrokerFenced,
    BrokerUnfenced,
    Condition,
    ControllerMoved,
    CoordinatorMoved,
    ElrSize,
    FirstAck,
    FollowerBehind,
    HwBelowLeo,
    IsrIsLeader,
    IsrSize,
    LeaderChanged,
    LeaderMoved,
    NoLeader,
    ProducerFenced,
    TransactionCoordinatorMoved,
    parse_condition,
)
from faults.targets.edges import parse_edges
from faults.targets.moments import StepMoment
from faults.targets.observed import Observed, holds
from faults.targets.target import Target, TopicPartition

KILL = {"do": "kill", "target": "leader", "for": "8s"}


def test_a_scenario() -> None:
    """The steps of the acks=1 leader kill become a partition at 5 s and a kill 2 s after its begin."""
    cut, kill = parse_steps(
        [
            {"at": "5s", "do": "partition", "edges": "followers -> leader", "mode": "refuse", "for": "3s"},
            {"after": "previous.begin + 2s", "do": "kill", "target": "leader", "for": "8s"},
        ]
    )
    assert cut == PartitionStep(
        name="partition-1",
        start=At(offset_s=5.0),
        hold_s=3.0,
        edges=parse_edges("followers -> leader"),
        mode="refuse",
    )
    assert cut.kind == "partition"
    assert kill == KillStep(
        name="kill-2",
        start=After(of=StepMoment(step="partition-1", moment="begin"), delay_s=2.0),
        hold_s=8.0,
        target=Target(role="leader"),
    )


@pytest.mark.parametrize(
    "words",
    [
        {"at": "0s", "do": "partition", "edges": "all <-> node 1", "mode": "blackhole", "for": "1.5s"},
        {"after": "x.end + 250ms", "do": "pause", "target": "follower 2(orders-0)", "for": "2m"},
        {"after": "x.recovered", "do": "disk-stall", "target": "nodes 1+2", "for": "500ms"},
        {"when": "isr.size(orders-0) <= 1", "within": "20s", "do": "power-loss", "target": 1, "for": "0s"},
        {"at": "9s", "once": "cut + kill-2", "do": "pause", "target": "node 1", "for": "2s"},
        {"when": "leader.changed", "do": "stop", "target": "active controller", "for": "1h"},
        {"when": "hw(orders-0) < leo - 20", "do": "kill", "target": "leader", "for": "1s"},
        {"when": "follower 2 behind by 100", "do": "kill", "target": "leader", "for": "1s"},
        {"when": "broker 2 unfenced", "since": "start", "do": "kill", "target": "leader", "for": "1s"},
        {"when": "first ack after any(x.end, y.begin)", "do": "kill", "target": "leader", "for": "1s"},
        {"when": "elr.size >= 1", "since": "all(x.end, y.end)", "do": "kill", "target": 1, "for": "1s"},
        {"after": "any(x.end, all(y.end, z.end)) + 2s", "once": "w", "do": "kill", "target": 1, "for": "1s"},
        {"after": "kill#2#10.end", "do": "kill", "target": "leader", "for": "1s", "name": "kill#3"},
    ],
)
def test_writing(words: dict[str, object]) -> None:
    """A step is written as words that read back to the same step."""
    step = parse_step({"name": "it"} | words)
    assert parse_step(write_step(step)) == step


def test_a_partition_of_a_target() -> None:
    """A partition that names a target and no edges cuts it off from everybody, clients too."""
    step = parse_step({"at": "1s", "do": "partition", "target": "leader", "for": "2s"})
    assert isinstance(step, PartitionStep)
    assert (str(step.edges), step.mode) == ("all <-> leader", "refuse")
    assert step.asked == "all <-> leader"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"do": "meteor"}, "do"),
        ({"do": None}, "do"),
        ({"for": "-2s"}, "for"),
        ({"for": 3}, "for"),
        ({"for": "3"}, "for"),
        ({"for": None}, "for"),
        ({"for": "1e3s"}, "for"),
        ({"at": "soon"}, "at"),
        ({"at": True}, "at"),
        ({"after": "previous.end", "at": "1s"}, "at"),
        ({"after": "previous.end"}, "after"),
        ({"after": "x.middle"}, "after"),
        ({"after": "x.end - 1s"}, "after"),
        ({"after": "x.end + 1"}, "after"),
        ({"when": "moon == full"}, "when"),
        ({"when": "isr.size <= -1"}, "when"),
        ({"when": "hw < leo - -1"}, "when"),
        ({"when": "hw > leo"}, "when"),
        ({"when": "follower 0 behind by 1"}, "when"),
        ({"when": "follower behind by 0"}, "when"),
        ({"when": "leader behind by 1"}, "when"),
        ({"at": "1s", "within": "2s"}, "within"),
        ({"when": "leader.moved", "within": "0s"}, "within"),
        ({"when": "leader.moved", "within": "0ms"}, "within"),
        ({"at": "1s", "once": "Cut"}, "once"),
        ({"at": "1s", "once": ["cut"]}, "once"),
        ({"at": "1s", "once": "cut +"}, "once"),
        ({"when": "leader.changed", "once": "cut"}, "once"),
        ({"after": "all()"}, "after"),
        ({"after": "all(x.end"}, "after"),
        ({"after": "all(x.end, y)"}, "after"),
        ({"after": "all(x.end), any(y.end)"}, "after"),
        ({"after": "some(x.end)"}, "after"),
        ({"after": "all(x.end + 1s)"}, "after"),
        ({"at": "1s", "since": "x.end"}, "since"),
        ({"when": "leader.moved", "since": "x"}, "since"),
        ({"when": "leader.moved", "since": 5}, "since"),
        ({"when": "first ack"}, "when"),
        ({"when": "first ack after x"}, "when"),
        ({"when": "first ack after x.end", "since": "x.end"}, "since"),
        ({"when": "isr.size < 2"}, "when"),
        ({"when": "elr.size == many"}, "when"),
        ({"when": "broker fenced"}, "when"),
        ({"when": "broker 1 moved"}, "when"),
        ({"when": "controller.moved(orders-0)"}, "when"),
        ({"when": "coordinator.moved"}, "when"),
        ({"when": "coordinator().moved"}, "when"),
        ({"name": "kill#0"}, "name"),
        ({"name": "kill#"}, "name"),
        ({"mode": "refuse"}, "mode"),
        ({"edges": "1->2"}, "edges"),
        ({"target": "boss"}, "target"),
        ({"name": "previous"}, "name"),
        ({"name": "Two words"}, "name"),
        ({"colour": "red"}, "colour"),
        ({"do": "partition"} | {"mode": "slow"}, "mode"),
        ({"do": "partition", "edges": "1->2"}, "edges"),
    ],
)
def test_refusing(change: dict[str, object], field: str) -> None:
    """A wrong value is refused with the key it stood at."""
    start = {} if {"at", "after", "when"} & set(change) else {"at": "1s"}
    with pytest.raises(BadStep) as caught:
        parse_step(KILL | start | change)
    assert caught.value.field == field


def test_refusing_no_start() -> None:
    """A step without a beginning is refused."""
    with pytest.raises(BadStep, match="exactly one of at, after, when"):
        parse_step(KILL)


def test_a_refusal_names_the_step() -> None:
    """In a plan the refusal carries the index of the step, and its message the bad and the allowed values."""
    with pytest.raises(BadStep) as caught:
        parse_steps([KILL | {"at": "1s"}, KILL | {"at": "1s", "do": "meteor"}])
    assert caught.value.step == 1
    assert str(caught.value) == (
        "step 2, do: 'meteor' is refused; "
        "allowed: one of partition, pause, pulses, kill, stop, rolling-restart, rolling-upgrade, cpu-limit, "
        "memory-limit, disk-stall, disk-stutter, disk-full, power-loss, disk-wipe, log-dir-failure, "
        "clock-skew, latency, bandwidth, slicing, reset, reassign, preferred-election, unclean-election, "
        "create-topic, create-partitions, config, feature, finalize, refused-downgrade"
    )


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0.0), ("500ms", 0.5), ("2.5s", 2.5), ("10m", 600.0), ("1 h", 3600.0)]
)
def test_durations(text: str, seconds: float) -> None:
    """Durations carry their unit."""
    assert parse_duration(text, "for") == seconds


ORDERS = TopicPartition(topic="orders", partition=0)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("isr.size(orders-0) <= 1", IsrSize(how="<=", size=1, of=ORDERS)),
        ("isr.size<=2", IsrSize(how="<=", size=2)),
        ("isr.size == 2", IsrSize(how="==", size=2)),
        ("isr.size(orders-0)>=3", IsrSize(how=">=", size=3, of=ORDERS)),
        ("elr.size >= 1", ElrSize(how=">=", size=1)),
        ("elr.size(orders-0) == 0", ElrSize(how="==", size=0, of=ORDERS)),
        ("leader.moved", LeaderMoved()),
        ("first ack(orders-0)", FirstAck(of=ORDERS)),
        ("broker 2 fenced", BrokerFenced(broker=2)),
        ("broker 2 unfenced", BrokerUnfenced(broker=2)),
        ("controller.moved", ControllerMoved()),
        ("coordinator(billing.v2-x).moved", CoordinatorMoved(group="billing.v2-x")),
        (
            "transaction coordinator(payments-1).moved",
            TransactionCoordinatorMoved(transactional_id="payments-1"),
        ),
        ("producer fenced", ProducerFenced()),
        ("isr(orders-0) == {leader}", IsrIsLeader(of=ORDERS)),
        ("isr == { leader }", IsrIsLeader()),
        ("leader.changed(orders-0)", LeaderChanged(of=ORDERS)),
        ("leader == none", NoLeader()),
        ("hw < leo", HwBelowLeo()),
        ("hw(orders-0)<leo - 500", HwBelowLeo(by=500, of=ORDERS)),
        ("follower behind by 1", FollowerBehind(by=1)),
        ("follower 2(orders-0) behind by 100", FollowerBehind(by=100, rank=2, of=ORDERS)),
    ],
)
def test_conditions(text: str, condition: object) -> None:
    """Each event, with or without a partition, is read and written."""
    assert parse_condition(text) == condition
    assert parse_condition(str(condition)) == condition


def _holds(condition: Condition, before: PartitionState, now: PartitionState) -> bool:
    return holds(condition, Observed(partition=before), Observed(partition=now))


def test_when_conditions_hold() -> None:
    """Each event holds exactly when the brokers' state fulfils it."""
    before = partition("orders", 0, leader=1)
    alone = partition("orders", 0, leader=1, isr=(1,))
    moved = partition("orders", 0, leader=2, isr=(2, 3))
    leaderless = partition("orders", 0, leader=-1, isr=(1,))
    truth = {
        "isr.size <= 1": (False, True, False, True),
        "isr.size <= 2": (False, True, True, True),
        "isr.size == 2": (False, False, True, False),
        "isr.size >= 2": (True, False, True, False),
        "leader.moved": (False, False, True, False),
        "isr == {leader}": (False, True, False, False),
        "leader.changed": (False, False, True, False),
        "leader == none": (False, False, False, True),
    }
    for text, expected in truth.items():
        found = tuple(
            _holds(parse_condition(text), before, now) for now in (before, alone, moved, leaderless)
        )
        assert found == expected, text


def test_when_conditions_of_offsets_hold() -> None:
    """They hold by what the replicas report, and not while nothing is known of them."""
    state = partition("orders", 0, leader=1)
    truth = {
        #                     nothing, equal, behind by 50, behind by 51 and 3 silent
        "hw < leo": (False, False, True, True),
        "hw < leo - 50": (False, False, False, True),
        "follower behind by 50": (False, False, True, True),
        "follower behind by 51": (False, False, False, True),
        "follower 2 behind by 50": (False, False, True, False),
        "follower 3 behind by 1": (False, False, False, False),
    }
    known = (
        None,
        PartitionOffsets(high_watermark=100, log_ends=((1, 100), (2, 100), (3, 100))),
        PartitionOffsets(high_watermark=100, log_ends=((1, 150), (2, 100), (3, 100))),
        PartitionOffsets(high_watermark=100, log_ends=((1, 151), (2, 100))),
    )
    for text, expected in truth.items():
        condition = parse_condition(text)
        assert tuple(_holds(condition, state, replace(state, offsets=each)) for each in known) == expected, (
            text
        )


def test_the_default_wait_for_an_event() -> None:
    """A step without `within` waits for its event for a minute."""
    step = parse_step(KILL | {"when": "leader.changed"})
    assert step.start == When(condition=LeaderChanged(), within_s=60.0)

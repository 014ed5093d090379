"""Topics that are made while the cluster runs: known to every broker, and gone again."""

from dataclasses import replace

import pytest
from fakes.world.fault_steps import FACTS, refusal, run, shown
from fakes.world.fault_world import World

from faults.clock import ns
from faults.errors import BadStep
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate
from faults.targets.facts import TopicFacts

TOPIC = {"name": "more", "at": "5s", "do": "create-topic", "partitions": "2", "for": "2s"}
PARTITIONS = {**TOPIC, "do": "create-partitions"}
LEADERS = {"leaders": {"fault-more-0": 1, "fault-more-1": 1}}


def changes(world: World) -> list[str]:
    """What Kafka was asked for."""
    return [call for call in world.calls if "fault-more" in call]


def test_a_topic_comes_and_goes() -> None:
    """It is proven by what the brokers know of it, and healed by its deletion."""
    world = World()
    (more,) = run(world, TOPIC)
    assert (more.proven, more.recovered, more.nodes) == (True, True, ())
    assert shown(more) == LEADERS
    assert shown(more, "recovery") == {"deleted": "fault-more"}
    assert changes(world) == ["create_topic fault-more 2 x 3", "delete_topic fault-more"]


def test_partitions_are_added_to_a_topic_of_one() -> None:
    """A topic of the scenario could never lose them again."""
    world = World()
    (more,) = run(world, PARTITIONS)
    assert (more.proven, more.recovered) == (True, True)
    assert shown(more) == LEADERS
    assert changes(world) == [
        "create_topic fault-more 1 x 3",
        "add_partitions fault-more 2",
        "delete_topic fault-more",
    ]


@pytest.mark.parametrize(
    ("words", "ignored", "reason"),
    [
        (TOPIC, "create_topic", "no evidence of an effect: topic fault-more: no broker knows it"),
        (PARTITIONS, "add_partitions", "no evidence of an effect: fault-more has 1 partitions, of 2"),
    ],
)
def test_what_no_broker_knows_is_unproven(words, ignored, reason) -> None:
    """Whatever the controller said."""
    (more,) = run(World(ignores={ignored}), words)
    assert (more.proven, more.recovered) == (False, True)
    assert shown(more, "reason") == reason


def test_a_topic_that_stays_is_no_recovery() -> None:
    """Until no broker knows it; here, never."""
    (more,) = run(World(ignores={"delete_topic"}), TOPIC)
    assert (more.proven, more.recovered) == (True, False)
    assert shown(more, "recovery") == {"lacking": "a broker still knows 2 partitions of fault-more"}


def test_a_topic_made_while_a_broker_is_down() -> None:
    """Its effect is no less proven; its recovery waits for the ISR of the others."""
    kill = {"name": "kill", "at": "4s", "do": "kill", "target": "node 3", "for": "6s"}
    _, more = run(World(), kill, TOPIC)
    assert (more.proven, more.recovered) == (True, True)
    assert more.recovered_ns >= ns(7)


def test_each_repetition_makes_a_topic_of_its_own() -> None:
    """Kafka takes no # in the name of a topic."""
    steps = parse_steps([{**TOPIC, "repeat": {"every": "5s", "times": 2}}])
    assert [(step.name, step.topic) for step in steps] == [
        ("more#1", "fault-more.1"),
        ("more#2", "fault-more.2"),
    ]


def test_writing_and_reading() -> None:
    """Six partitions, if nothing else is said."""
    (step,) = validate(parse_steps([{k: v for k, v in TOPIC.items() if k != "partitions"}]), FACTS)
    words = write_step(step)
    assert words == {"name": "more", "do": "create-topic", "at": "5s", "partitions": "6", "for": "2s"}
    assert parse_step(words) == step


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"partitions": 0}, "partitions: 0 is refused; allowed: a number from 1 to 1000"),
        ({"partitions": "many"}, "partitions: 'many' is refused"),
        ({"partitions": True}, "partitions: True is refused"),
        ({"partitions": 1001}, "partitions: 1001 is refused"),
        ({"name": "a" * 244}, "allowed: at most 243 letters: Kafka takes no longer name of a topic"),
        ({"do": "create-partitions", "partitions": 1}, "allowed: a number from 2 to 1000"),
        (
            {"topic": "orders"},
            "topic: 'orders' is refused; allowed: nothing: a create-topic takes partitions",
        ),
    ],
)
def test_refusing(change, expected) -> None:
    """What could not be made, or not be shown."""
    assert expected in refusal({**TOPIC, **change})


@pytest.mark.parametrize("name", ["a" * 243, "a" * 241 + "#2"])
def test_the_longest_name_that_kafka_takes(name: str) -> None:
    """Of 249 letters, with what stands before that of the step."""
    (step,) = validate(parse_steps([{**TOPIC, "name": name}]), FACTS)
    assert len(step.asked.removeprefix("topic ").partition(",")[0]) == 249


def test_a_name_that_kafka_takes_for_that_of_another_topic() -> None:
    """It differs in `.` and `_` only."""
    facts = replace(FACTS, topics=(TopicFacts(name="fault-more_2", partitions=1, replication=1),))
    with pytest.raises(BadStep, match="another one: fault-more_2 is a topic of the scenario"):
        validate(parse_steps([{**TOPIC, "name": "more#2"}]), facts)

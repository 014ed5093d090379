"""A storm is drawn from its seed, holds every kind of fault, and stays within what acks=all promises."""

import pytest
from fakes.cluster import full_mesh

from faults.errors import BadStep
from faults.kinds.network.partition import PartitionStep
from faults.kinds.step import After, At, TargetStep
from faults.plan.parse import parse_steps, write_step
from faults.plan.storm import Storm, parse_storm, storm
from faults.plan.validate import validate
from faults.targets.facts import Facts, TopicFacts

BROKERS, CONTROLLERS = (1, 2, 3), (101, 102, 103)
FACTS = Facts(
    brokers=BROKERS,
    controllers=CONTROLLERS,
    edges=full_mesh(BROKERS, CONTROLLERS),
    topics=(TopicFacts(name="orders", partitions=6, replication=3),),
)
MINUTE = Storm(duration_s=60.0)


def is_one_way(step: PartitionStep) -> bool:
    """Whether a partition cuts one direction only."""
    return not step.edges.arrows[0].both_ways


def test_the_same_seed_gives_the_same_storm() -> None:
    """Steps depend on the seed alone, and two seeds differ."""
    assert storm(MINUTE, seed=7, facts=FACTS) == storm(MINUTE, seed=7, facts=FACTS)
    assert storm(MINUTE, seed=7, facts=FACTS) != storm(MINUTE, seed=8, facts=FACTS)


def test_a_known_storm() -> None:
    """The first steps of seed 1 stay what they were when this was written: replays must not drift."""
    first, second, *_ = storm(MINUTE, seed=1, facts=FACTS)
    assert write_step(first) == {
        "name": "storm-1-disk-stall",
        "do": "disk-stall",
        "at": "1.022s",
        "target": "node 2",
        "for": "2.965s",
    }
    assert write_step(second) == {
        "name": "storm-2-partition",
        "do": "partition",
        "after": "storm-1-disk-stall.recovered + 0.929s",
        "edges": "all <-> active controller",
        "mode": "refuse",
        "for": "2.768s",
    }


@pytest.mark.parametrize("seed", range(50))
def test_every_storm_holds_every_kind(seed: int) -> None:
    """Refused and swallowed, one-way and two-way partitions, a pause and a disk stall occur."""
    steps = storm(MINUTE, seed=seed, facts=FACTS)
    cuts = [step for step in steps if isinstance(step, PartitionStep)]
    assert {step.kind for step in steps} == {"partition", "pause", "disk-stall"}
    assert {step.mode for step in cuts} == {"refuse", "blackhole"}
    assert {is_one_way(step) for step in cuts} == {True, False}


@pytest.mark.parametrize("seed", range(50))
def test_one_node_at_a_time(seed: int) -> None:
    """Each step waits for the recovery of the one before, so never are two nodes impaired."""
    first, *others = steps = storm(MINUTE, seed=seed, facts=FACTS)
    assert isinstance(first.start, At)
    for step, before in zip(others, steps[:-1], strict=True):
        assert isinstance(step.start, After)
        assert (step.start.anchor, step.start.moment) == (before.name, "recovered")
        assert 0.5 <= step.start.delay_s <= 2.0


@pytest.mark.parametrize("seed", range(50))
def test_one_node_a_step(seed: int) -> None:
    """Every step names one node; a cut goes out of it or both ways around it, never only towards it."""
    for step in storm(MINUTE, seed=seed, facts=FACTS):
        if isinstance(step, PartitionStep):
            (arrow,) = step.edges.arrows
            node = arrow.right if arrow.both_ways else arrow.left
            other = arrow.left if arrow.both_ways else arrow.right
            assert other.role in (("all",) if arrow.both_ways else ("brokers", "controllers", "nodes"))
        else:
            assert isinstance(step, TargetStep)
            node = step.target
        assert node.role in ("leader", "active controller") or len(node.ids) == 1


def test_a_storm_lasts_about_as_long_as_asked() -> None:
    """Holds, gaps and an allowance for each recovery fill the time, and do not pass it."""
    for seed in range(20):
        steps = storm(Storm(duration_s=600.0), seed=seed, facts=FACTS)
        gaps = [step.start.delay_s for step in steps if isinstance(step.start, After)]
        spent = sum(step.hold_s + 2.0 for step in steps) + sum(gaps)
        assert 589 <= spent <= 600


def test_a_resolved_storm_is_a_plan_like_any_other() -> None:
    """Its steps, written as words, read back to the same valid steps: a replay draws nothing."""
    steps = storm(MINUTE, seed=3, facts=FACTS)
    assert validate(parse_steps([write_step(step) for step in steps]), FACTS) == steps


def test_reading_a_storm() -> None:
    """Only the duration must be given."""
    assert parse_storm({"duration": "60s"}) == MINUTE
    words = {"duration": "2m", "kinds": ["pause"], "hold": ["2s", "4s"], "gap": ["100ms", "1s"]}
    asked = parse_storm(words)
    assert (asked.duration_s, asked.kinds) == (120.0, ("pause",))
    assert (asked.holds.low_s, asked.holds.high_s, asked.gaps.low_s, asked.gaps.high_s) == (
        2.0,
        4.0,
        0.1,
        1.0,
    )


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({}, "duration"),
        ({"duration": "-1s"}, "duration"),
        ({"duration": "60s", "kinds": ["kill"]}, "kinds"),
        ({"duration": "60s", "kinds": []}, "kinds"),
        ({"duration": "60s", "hold": "2s"}, "hold"),
        ({"duration": "60s", "gap": ["3s", "2s"]}, "gap"),
        ({"duration": "60s", "fury": "much"}, "fury"),
    ],
)
def test_refusing_words(words: dict[str, object], field: str) -> None:
    """A wrong value is refused with its key."""
    with pytest.raises(BadStep) as caught:
        parse_storm(words)
    assert caught.value.field == field


def test_refusing_a_storm_that_is_too_short() -> None:
    """A storm in which a kind might not occur is refused, with the time that it needs."""
    with pytest.raises(BadStep, match="'20s' is refused; allowed: at least 44s"):
        storm(Storm(duration_s=20.0), seed=1, facts=FACTS)


def test_refusing_a_cluster_without_a_node_to_spare() -> None:
    """With one controller, taking it away would stop the cluster: that is not a storm."""
    small = Facts(brokers=BROKERS, controllers=(101,), edges=full_mesh(BROKERS, (101,)), topics=FACTS.topics)
    with pytest.raises(BadStep, match="1 controllers"):
        storm(MINUTE, seed=1, facts=small)

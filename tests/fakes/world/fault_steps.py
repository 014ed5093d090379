"""Runs steps of a plan on a world's own clock, and reads what they left."""

import json
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from fakes.world.cluster import full_mesh
from fakes.world.fault_world import Inline, World, WorldView
from faults.errors import BadStep
from faults.plan.parse import parse_steps
from faults.plan.validate import validate
from faults.schedule.record import FaultEvent, FaultRecord
from faults.schedule.scheduler import run_schedule
from faults.targets.facts import Facts, TopicFacts

BROKERS, CONTROLLERS = (1, 2, 3), (101, 102, 103)
FACTS = Facts(
    brokers=BROKERS,
    controllers=CONTROLLERS,
    edges=full_mesh(BROKERS, CONTROLLERS),
    topics=(TopicFacts(name="orders", partitions=1, replication=3, min_isr=2),),
)
"""The world as a scenario describes it."""


def run(
    world: World, *words: dict[str, str], log: Callable[[FaultEvent], None] = lambda _: None
) -> tuple[FaultRecord, ...]:
    """Run validated steps."""
    steps = validate(parse_steps(words), FACTS)
    return run_schedule(
        steps, world, WorldView(world), world.clock, stop=Event(), on_event=log, threads=Inline()
    )


def shown(record: FaultRecord, part: str = "effect") -> Any:
    """The values that prove the effect, or the recovery; or the reason why there are none."""
    return json.loads(record.evidence)[part]


def refusal(*words: dict[str, object]) -> str:
    """What is said against a plan before anything starts."""
    with pytest.raises(BadStep) as caught:
        validate(parse_steps(words), FACTS)
    return str(caught.value)

"""Runs steps of a plan on a world's own clock, and reads what they left."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
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
    world: World,
    *words: Mapping[str, object],
    log: Callable[[FaultEvent], None] = lambda _: None,
    stop: Event | None = None,
    threads: Inline | None = None,
) -> tuple[FaultRecord, ...]:
    """Run validated steps, the first 5 s after the start if it does not say when."""
    first, facts = {"at": "5s", **words[0]}, replace(FACTS, log_dirs=world.log_dir_count)
    steps = validate(parse_steps([first, *words[1:]]), facts)
    return run_schedule(
        steps,
        world,
        WorldView(world),
        world.clock,
        stop=stop or Event(),
        on_event=log,
        threads=threads or Inline(),
    )


def shown(record: FaultRecord, part: str = "effect") -> Any:
    """The values that prove the effect, or the recovery; or the reason why there are none."""
    return json.loads(record.evidence)[part]


def refusal(*words: dict[str, object]) -> str:
    """What is said against a plan before anything starts."""
    with pytest.raises(BadStep) as caught:
        validate(parse_steps(words), FACTS)
    return str(caught.value)

"""What the engine is asked for when a container is limited."""

import json

import pytest
from fakes.world.engine_server import EngineServer

from compose.docker.containers import memory_limit, set_memory_limit

UPDATE = "POST /containers/c1/update"


def test_a_container_meets_the_limit_of_its_memory_before_that_of_memory_and_swap(
    engine: EngineServer,
) -> None:
    """Only the first is counted in control groups of version 1; and it has hardly any swap to live on."""
    engine.answers[UPDATE] = {"Warnings": None}
    set_memory_limit("c1", 400 << 20, name="hw-1")
    (asked,) = engine.of(UPDATE)
    assert json.loads(asked.body) == {"Memory": 400 << 20, "MemorySwap": 416 << 20}


@pytest.mark.parametrize(("memory", "limit"), [(400 << 20, 400 << 20), (0, None), (1 << 50, None)])
def test_a_limit_is_read_back(engine: EngineServer, memory: int, limit: int | None) -> None:
    """The engine says 0 of a container that never had one."""
    engine.answers["GET /containers/c1/json"] = {"Id": "c1", "HostConfig": {"Memory": memory}}
    assert memory_limit("c1") == limit


def test_a_limit_is_taken_away_by_one_that_no_machine_has(engine: EngineServer) -> None:
    engine.answers[UPDATE] = {"Warnings": None}
    set_memory_limit("c1", None, name="hw-1")
    (asked,) = engine.of(UPDATE)
    engine.answers["GET /containers/c1/json"] = {"Id": "c1", "HostConfig": json.loads(asked.body)}
    assert memory_limit("c1") is None

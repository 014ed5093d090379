"""Limits of a node's processor time and memory: proven by what the kernel counts, and taken away again."""

import json

import pytest
from fakes.world.fault_steps import run
from fakes.world.fault_world import World

from compose.errors import NodeStateError
from compose.protocols import MemoryUse
from faults.clock import ns
from faults.errors import BadStep
from faults.plan.parse import parse_step, write_step
from faults.schedule.record import FaultRecord

CPU: dict[str, object] = {"name": "cpu", "do": "cpu-limit", "target": "node 2", "cpus": "0.1", "for": "3s"}


def reason(record: FaultRecord) -> str:
    return str(json.loads(record.evidence)["reason"])


def test_a_limit_of_processor_time_is_set_and_taken_away() -> None:
    world = World()
    world.clock.call_at(ns(7), lambda: world.calls.append(f"limits {world.cpu_limits}"))
    (record,) = run(world, CPU)
    assert (record.proven, record.recovered, record.down) == (True, True, ())
    assert [call for call in world.calls if "limit" in call] == [
        "limit_cpu 2",
        "limits {2: 0.1}",
        "unlimit_cpu 2",
    ]
    assert json.loads(record.evidence)["effect"] == {"cpus": {"2": 0.1}, "waited_s": {"2": 0.1}}
    assert world.cpu_limits == {}


def test_a_limit_that_nobody_waits_for_is_no_evidence() -> None:
    """Nodes that need less than they may use are as they were."""
    world = World()
    world.throttled_ns = lambda node: 40_000_000  # type: ignore[method-assign]
    (record,) = run(world, CPU)
    assert not record.proven
    assert "for it the nodes have waited {'2': 0.0} s" in reason(record)


def test_a_limit_that_is_not_set_is_no_evidence() -> None:
    (record,) = run(World(ignores={"limit_cpu"}), CPU)
    assert not record.proven
    assert "limits: {'2': None}" in reason(record)


def test_a_kernel_that_counts_nothing_is_refused_before_anything_is_limited() -> None:
    world = World()

    def throttled_ns(node: int) -> int:
        raise NodeStateError(f"node {node}: no throttled time of its processes is counted on this machine")

    world.throttled_ns = throttled_ns  # type: ignore[method-assign]
    (record,) = run(world, CPU)
    assert reason(record) == (
        "not injected: node 2: no throttled time of its processes is counted on this machine, for 5 s"
    )
    assert "limit_cpu 2" not in world.calls


def test_a_node_that_is_limited_already_is_not_limited_again() -> None:
    """The second limit would end with the first."""
    second = CPU | {"name": "other", "cpus": "0.5", "after": "previous.begin + 1s", "for": "20s"}
    first, other = run(World(), CPU | {"for": "20s"}, second)
    assert first.proven
    assert "the limit of node 2's processors: cpu has changed it, and is not healed" in reason(other)


def test_a_limit_is_taken_from_a_node_that_was_killed_meanwhile() -> None:
    world = World()
    kill = {"do": "kill", "target": "node 2", "after": "previous.begin + 1s", "for": "6s"}
    cpu, killed = run(world, CPU, kill)
    assert (cpu.recovered, killed.recovered, world.cpu_limits) == (True, True, {})


@pytest.mark.parametrize("value", ["0", "0.001", "9", "much", None, True])
def test_a_limit_that_cannot_be_is_refused(value: object) -> None:
    with pytest.raises(BadStep, match=r"cpus: .* allowed: processors that a node may use, from 0\.01 to 8"):
        parse_step({"at": "5s"} | CPU | {"cpus": value})


@pytest.mark.parametrize("value", ["0.2", 0.2])
def test_a_limit_is_written_as_it_was_read(value: object) -> None:
    step = parse_step({"at": "5s"} | CPU | {"cpus": value})
    assert write_step(step)["cpus"] == "0.2"
    assert parse_step(write_step(step)) == step


MEMORY: dict[str, object] = {
    "name": "memory",
    "do": "memory-limit",
    "target": "node 2",
    "memory": "400MiB",
    "for": "3s",
}


def test_a_limit_of_memory_is_set_and_taken_away() -> None:
    world = World()
    world.clock.call_at(ns(7), lambda: world.calls.append(f"limits {world.memory_limits}"))
    (record,) = run(world, MEMORY)
    assert (record.proven, record.recovered, record.down) == (True, True, ())
    assert [call for call in world.calls if "limit" in call] == [
        "limit_memory 2",
        "limits {2: 419430400}",
        "unlimit_memory 2",
    ]
    assert json.loads(record.evidence)["effect"] == {"limit_mib": 400, "limit_met": {"2": 100}}
    assert world.memory_limits == {}


def test_a_memory_limit_that_is_not_met_is_no_evidence() -> None:
    world = World()
    world.memory_use = lambda node: MemoryUse(held_bytes=1, limit_met=7)  # type: ignore[method-assign]
    (record,) = run(world, MEMORY)
    assert not record.proven
    assert "was met so many times: {'2': 0}" in reason(record)


def test_where_memory_is_not_counted_nothing_is_limited() -> None:
    world = World()

    def memory_use(node: int) -> MemoryUse:
        raise NodeStateError(f"node {node}: the memory of its processes is not counted on this machine")

    world.memory_use = memory_use  # type: ignore[method-assign]
    (record,) = run(world, MEMORY)
    assert reason(record) == (
        "not injected: node 2: the memory of its processes is not counted on this machine, for 5 s"
    )
    assert "limit_memory 2" not in world.calls


def test_a_memory_limit_that_would_end_the_node_is_refused() -> None:
    """It holds 300 MiB itself."""
    world = World()
    (record,) = run(world, MEMORY | {"memory": "331MiB"})
    assert "331 MiB would end node 2, not limit it: it holds 300 MiB itself" in reason(record)
    assert "limit_memory 2" not in world.calls
    (record,) = run(World(), MEMORY | {"memory": "332MiB"})
    assert record.proven


@pytest.mark.parametrize("memory", ["64MiB", "127MiB", "1025GiB", "99999999GiB"])
def test_a_memory_limit_that_no_node_lives_with_or_ever_meets_is_refused(memory: str) -> None:
    allowed = "what a node may have, from 128MiB to 1024GiB"
    with pytest.raises(BadStep, match=f"memory: '{memory}' is refused; allowed: {allowed}"):
        parse_step({"at": "5s"} | MEMORY | {"memory": memory})


def test_a_memory_limit_is_written_as_it_was_read() -> None:
    step = parse_step({"at": "5s"} | MEMORY | {"memory": "1GiB"})
    assert write_step(step)["memory"] == "1024MiB"
    assert parse_step(write_step(step)) == step

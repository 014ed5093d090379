"""The watch of a real cluster: every end with its time, its exit code, and who had asked for it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import docker
import pytest

from compose.cluster.start import DockerCluster
from compose.protocols import PROXY, ProcessEvent

WITHIN_S = 15.0
LATE_NS = 100_000_000
"""An event's time is the engine's; clocks are tied by a question of 10 to 14 ms."""


@dataclass
class Seen:
    """The events of a watch, and those that came after the first look."""

    events: list[ProcessEvent] = field(default_factory=list)

    def wait(self, count: int) -> list[ProcessEvent]:
        deadline = time.monotonic() + WITHIN_S
        while len(self.events) < count + 7:
            assert time.monotonic() < deadline, self.events[7:]
            time.sleep(0.02)
        return self.events[7:]


@pytest.fixture
def seen(cluster: DockerCluster) -> Iterator[Seen]:
    """What a watch of the shared cluster reports."""
    found = Seen()
    with cluster.watch(found.events.append):
        yield found


def test_six_nodes_and_the_proxy_run_when_the_watch_begins(seen: Seen) -> None:
    assert {(each.node, each.role) for each in seen.events[:7]} == {
        *((node, "broker") for node in (1, 2, 3)),
        *((node, "controller") for node in (101, 102, 103)),
        (PROXY, "proxy"),
    }
    assert all(each.event == "started" and each.planned for each in seen.events[:7])


def test_what_the_harness_does_is_planned_and_named(cluster: DockerCluster, seen: Seen) -> None:
    cluster.kill(2, owner="kill-leader")
    cluster.start(2, owner="kill-leader")
    cluster.stop(103, within_s=30, owner="stop-103")
    cluster.pause(1)
    cluster.kill(1, owner="power")
    assert [(each.node, each.event, each.exit_code, each.planned, each.owner) for each in seen.wait(4)] == [
        (2, "exited", 137, True, "kill-leader"),
        (2, "started", -1, True, "kill-leader"),
        (103, "exited", 143, True, "stop-103"),
        (1, "exited", 137, True, "power"),
    ]
    assert (cluster.ended_by(1), cluster.ended_by(103), cluster.ended_by(2)) == ("power", "stop-103", None)


def test_a_kill_from_outside_is_seen_at_once_and_is_nobodys(cluster: DockerCluster, seen: Seen) -> None:
    container = docker.from_env().containers.get(f"hw-{cluster.run_id}-3")
    before_ns = time.monotonic_ns()
    container.kill()
    killed_ns = time.monotonic_ns()
    (end,) = seen.wait(1)
    assert time.monotonic_ns() - killed_ns < 2_000_000_000
    assert before_ns - LATE_NS < end.at_ns < killed_ns + LATE_NS
    assert (end.node, end.event, end.exit_code, end.planned) == (3, "exited", 137, False)
    assert end.detail
    assert cluster.ended_by(3) is None
    container.start()
    _, start = seen.wait(2)
    assert (start.node, start.event, start.planned) == (3, "started", False)


def test_the_engines_clock_is_read_with_its_error(cluster: DockerCluster) -> None:
    """On one machine it is the harness's own, give or take half of the question."""
    reading = cluster.read_clocks()
    assert 0 < reading.error_ns < 1_000_000_000
    assert abs(reading.engine_ns - reading.wall_ns) <= reading.error_ns + 1_000_000

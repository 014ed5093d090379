"""Whether a cluster that has served a run is as good as new: each thing that a fault may leave is seen."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from fakes.world.cluster import FakeCluster
from fakes.world.view import FakeView

from compose.cluster.cleanness import before, what_is_left
from compose.errors import DiskError
from compose.impairments import Delayed
from compose.protocols import ClockAhead, ClockReading, Edge

GIB = 1 << 30
EDGE = Edge.parse("2->1")


def left(change: Callable[[FakeCluster], object]) -> list[str]:
    """What is left after a change that nobody has undone."""
    cluster = FakeCluster(clocks={3: 0, 101: 0})
    then = before(cluster)
    change(cluster)
    return what_is_left(cluster, FakeView(), then, volume_bytes=GIB)


def test_a_cluster_to_which_nothing_happened_is_clean() -> None:
    assert left(lambda cluster: None) == []


def test_what_was_healed_leaves_nothing() -> None:
    def cut_and_mend(cluster: FakeCluster) -> None:
        cluster.mesh.cut([EDGE], mode="refuse", owner="cut")
        cluster.mesh.mend([EDGE], owner="cut")
        cluster.pause(2)
        cluster.unpause(2)
        cluster.freeze(3)
        cluster.thaw(3)
        cluster.allow_end(1, owner="disk")
        cluster.disallow_end(1, owner="disk")
        cluster.set_clock(3, 300_000)
        cluster.set_clock(3, 0)

    assert left(cut_and_mend) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda c: c.pause(2), "node 2 is paused"),
        (lambda c: c.die(102), "node 102 is exited"),
        (lambda c: (c.kill(2), c.start(2)), "node 2 is another process than the run before has left"),
        (lambda c: c.freeze(3), "the disk of node 3 is frozen"),
        (lambda c: c.allow_end(1, owner="disk"), "node 1 may still end for disk"),
        (lambda c: c.limit_cpu(1, 0.1), "node 1 may use only 0.1 processors"),
        (lambda c: c.limit_memory(101, 400 << 20), "node 101 may have only 400 MiB of memory"),
        (lambda c: c.room.update({2: 100 << 20}), "/data/kafka of node 2 has 100 MiB left of 1024"),
        (
            lambda c: c.set_clock(101, 300_000),
            "the clock of node 101 is set 300000 ms ahead, and shows 299998 ms or more",
        ),
        (lambda c: c.mesh.cut([EDGE], mode="refuse", owner="cut"), "edge 2->1: held by cut"),
        (lambda c: c.mesh.impair([EDGE], Delayed(delay_s=1), owner="lag"), "edge 2->1: held by lag"),
        (lambda c: c.mesh.toxics.update({EDGE: "its proxy has slow"}), "edge 2->1: its proxy has slow"),
        (lambda c: setattr(c, "controller", None), "the controllers have no leader"),
        (lambda c: c.fail_once.update({"room_bytes": DiskError("sda: EIO")}), "not known: sda: EIO"),
    ],
)
def test_what_is_left_is_named(change: Callable[[FakeCluster], object], line: str) -> None:
    assert left(change) == [line]


def test_every_log_directory_has_to_be_online_with_room() -> None:
    cluster, view = FakeCluster(log_dir_count=2), FakeView(offline={3})
    cluster.other_rooms[2, 2] = 100 << 20
    assert what_is_left(cluster, view, before(cluster), volume_bytes=GIB) == [
        "/data-2/kafka of node 2 has 100 MiB left of 1024",
        "/data/kafka of node 3 is offline",
    ]


def test_an_edge_that_is_open_and_does_not_answer_is_named() -> None:
    def fall_silent(cluster: FakeCluster) -> None:
        cluster.mesh.probe = lambda edges, *, within_s: frozenset(edges) - {EDGE}

    assert left(fall_silent) == ["no answer over 2->1"]


@pytest.mark.parametrize(
    ("clock", "lines"),
    [
        ({}, []),
        ({"wall_ns": 20_000_000_000}, ["the clock of this machine was set by 10.0 s"]),
        ({"engine_ns": 6_000_000_000}, ["the clock of the engine was set by -4.0 s"]),
        ({"engine_ns": -1}, ["the engine does not say what time it is"]),
    ],
)
def test_a_clock_that_was_set_between_two_runs_is_named(clock: dict[str, int], lines: list[str]) -> None:
    now = ClockReading(at_ns=10_000_000_000, wall_ns=10_000_000_000, engine_ns=10_000_000_000, error_ns=0)
    assert left(lambda cluster: setattr(cluster, "read_clocks", lambda: replace(now, **clock))) == lines


def test_a_process_that_shows_another_time_than_it_was_set_to_is_named() -> None:
    def misread(cluster: FakeCluster) -> None:
        shown = ClockAhead(least_ms=-3_600_002, most_ms=-3_599_998)
        cluster.clock_ahead = lambda node: shown if node == 3 else ClockAhead(least_ms=-2, most_ms=2)

    assert left(misread) == ["the clock of node 3 is set 0 ms ahead, and shows -3600002 ms or more"]

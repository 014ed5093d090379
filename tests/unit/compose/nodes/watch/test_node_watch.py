"""The watch of the nodes: every end is reported at once, with whose it was, also after a broken stream."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from fakes.world.engine import FakeEngine

from compose.docker.events import Inspected
from compose.errors import EngineUnreachable, NodeStateError
from compose.nodes.watch import node_watch
from compose.nodes.watch.node_watch import NodeWatch, Watched, fatal_lines
from compose.nodes.watch.planned_ends import KILLED, STOPPED, PlannedEnds
from compose.protocols import ProcessEvent

WATCHED = (
    Watched(container="c2", node=2, role="broker"),
    Watched(container="cp", node=-1, role="proxy"),
)
WITHIN_S = 5.0
HALT = """\
[2026-11-22 00:19:16,000] INFO [broker-2] Fetching (kafka.server.ReplicaFetcherThread)
[2026-11-22 00:19:17,000] ERROR Shutdown broker because all log dirs have failed (kafka.log.LogManager)
"""


class Watching:
    """A watch of broker 2 and the proxy, with what it has reported."""

    def __init__(self) -> None:
        now_ns = time.monotonic_ns() + 5_000_000_000_000
        up = Inspected(is_up=True, started_ns=now_ns - 60_000_000_000)
        self.engine = FakeEngine({"c2": up, "cp": up}, logs={"c2": HALT})
        self.planned = PlannedEnds()
        self.events: list[ProcessEvent] = []
        self.watch = NodeWatch(WATCHED, self.engine, self.planned, self.events.append)

    def wait(self, count: int) -> list[ProcessEvent]:
        """Return the events after the first two (both run), once there are `count` of them."""
        deadline = time.monotonic() + WITHIN_S
        while len(self.events) < count + 2:
            assert time.monotonic() < deadline, f"{len(self.events) - 2} events of {count}"
            time.sleep(0.005)
        return self.events[2:]

    def end(self, container: str, exit_code: int) -> None:
        """The container ends, and the stream does not tell."""
        was = self.engine.containers[container]
        now_ns = self.engine.now_ns()
        self.engine.containers[container] = replace(was, is_up=False, finished_ns=now_ns, exit_code=exit_code)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that looks often."""
    monkeypatch.setattr(node_watch, "BROKEN_POLL_S", 0.02)
    monkeypatch.setattr(node_watch, "RECONNECT_S", 0.02)


@pytest.fixture
def watching(quick: None) -> Iterator[Watching]:
    made = Watching()
    yield made
    made.engine.away = False
    made.watch.close()


def test_each_process_that_runs_when_the_watch_begins_is_reported_as_started(watching: Watching) -> None:
    found = [(event.node, event.role, event.event, event.planned) for event in watching.events]
    assert found == [(2, "broker", "started", True), (-1, "proxy", "started", True)]
    for event in watching.events:
        assert 59 < (time.monotonic_ns() - event.at_ns) / 1e9 < 65


def test_an_end_that_nobody_announced_is_reported_with_the_lines_that_say_why(watching: Watching) -> None:
    told_ns = watching.engine.tell("c2", "die", exit_code=1) - watching.engine.ahead_ns
    (end,) = watching.wait(1)
    assert (end.node, end.event, end.exit_code, end.planned, end.owner) == (2, "exited", 1, False, "")
    assert end.detail == HALT.splitlines()[1]
    assert abs(end.at_ns - told_ns) < 50_000_000


def test_an_end_and_a_start_that_were_announced_are_planned_and_name_the_fault(watching: Watching) -> None:
    watching.planned.ending(2, owner="kill", codes=KILLED)
    watching.engine.tell("c2", "die", exit_code=137)
    watching.wait(1)
    watching.planned.starting(2, owner="kill")
    watching.engine.tell("c2", "start")
    end, start = watching.wait(2)
    assert (end.event, end.exit_code, end.planned, end.owner, end.detail) == ("exited", 137, True, "kill", "")
    assert (start.event, start.exit_code, start.planned, start.owner) == ("started", -1, True, "kill")


def test_a_container_that_takes_the_place_of_another_is_the_next_life_of_its_node(watching: Watching) -> None:
    """As of a node that gets another release: the old one is removed, the new one has its name."""
    watching.planned.ending(2, owner="upgrade", codes=STOPPED)
    watching.engine.tell("c2", "die", exit_code=143)
    (end,) = watching.wait(1)
    gone = watching.engine.containers.pop("c2")
    time.sleep(0.1)
    watching.planned.starting(2, owner="upgrade")
    now_ns = watching.engine.now_ns()
    watching.engine.containers["c2"] = replace(gone, is_up=True, started_ns=now_ns, finished_ns=-1)
    watching.engine.tell("c2", "start")
    _, start = watching.wait(2)
    assert (end.exit_code, end.planned, start.event, start.owner) == (143, True, "started", "upgrade")
    assert start.at_ns > end.at_ns
    watching.watch.close()
    assert len(watching.events) == 4


def test_a_node_that_somebody_else_starts_is_reported_as_not_planned(watching: Watching) -> None:
    watching.engine.tell("c2", "die", exit_code=137)
    watching.engine.tell("c2", "start")
    end, start = watching.wait(2)
    assert (end.planned, start.event, start.planned) == (False, "started", False)


def test_lack_of_memory_is_never_planned(watching: Watching) -> None:
    watching.planned.ending(2, owner="kill", codes=KILLED)
    watching.engine.tell("c2", "oom")
    watching.engine.tell("c2", "die", exit_code=137)
    (end,) = watching.wait(1)
    assert (end.event, end.planned) == ("oom-killed", False)


def test_a_death_while_the_stream_is_broken_is_found(watching: Watching) -> None:
    watching.engine.streams[0].close()
    watching.end("cp", 2)
    (end,) = watching.wait(1)
    assert (end.node, end.role, end.event, end.exit_code) == (-1, "proxy", "exited", 2)


def test_a_death_while_the_engine_was_away_is_found_when_it_is_back(watching: Watching) -> None:
    watching.engine.away = True
    watching.engine.streams[0].close()
    time.sleep(0.1)
    assert len(watching.events) == 2
    watching.engine.away = False
    watching.end("c2", 143)
    (end,) = watching.wait(1)
    assert (end.node, end.exit_code, end.planned) == (2, 143, False)


def test_a_new_stream_is_followed_after_a_broken_one(watching: Watching) -> None:
    watching.engine.streams[0].close()
    deadline = time.monotonic() + WITHIN_S
    while len(watching.engine.streams) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    watching.engine.tell("c2", "die", exit_code=137)
    assert [event.exit_code for event in watching.wait(1)] == [137]


def test_closing_looks_once_more(watching: Watching) -> None:
    watching.end("c2", 1)
    watching.watch.close()
    assert [(event.node, event.exit_code) for event in watching.events[2:]] == [(2, 1)]


def test_a_container_that_is_gone_has_ended(watching: Watching) -> None:
    del watching.engine.containers["cp"]
    watching.watch.close()
    assert [(event.node, event.event, event.exit_code) for event in watching.events[2:]] == [
        (-1, "exited", -1)
    ]


def test_a_watch_that_cannot_look_at_the_end_has_died(quick: None) -> None:
    watching = Watching()
    watching.engine.away = True
    with pytest.raises(NodeStateError, match="the watch of the nodes has died: EngineUnreachable"):
        watching.watch.close()


def test_a_watch_whose_reports_fail_has_died(quick: None) -> None:
    watching = Watching()

    def fail(event: ProcessEvent) -> None:
        raise OSError("no space left")

    watching.watch._on_event = fail
    watching.end("c2", 1)
    with pytest.raises(NodeStateError, match="OSError: no space left"):
        watching.watch.close()


def test_no_watch_begins_without_an_engine() -> None:
    engine = FakeEngine({}, away=True)
    with pytest.raises(EngineUnreachable):
        NodeWatch((), engine, PlannedEnds(), print)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("a\nb\n\nc\nd\n", "b\nc\nd"),
        ("[t] INFO a\n[t] ERROR b (k)\n\tat x\n[t] INFO c\n", "[t] ERROR b (k)"),
        ("[t] FATAL b\n[t] INFO c", "[t] FATAL b"),
        (
            "x\n# A fatal error has been detected by the Java Runtime Environment:\n#  SIGBUS (0x7)\n",
            "# A fatal error has been detected by the Java Runtime Environment:\n#  SIGBUS (0x7)",
        ),
        ("x\njava.lang.OutOfMemoryError: Java heap space\ny", "java.lang.OutOfMemoryError: Java heap space"),
        ("x\npanic: runtime error\ngoroutine 1", "panic: runtime error"),
        ("", ""),
    ],
)
def test_the_lines_that_say_why_are_the_errors_or_else_the_last_ones(log: str, expected: str) -> None:
    assert fatal_lines(log) == expected


def test_a_long_line_is_cut() -> None:
    assert fatal_lines("x" * 5000) == "x" * 300

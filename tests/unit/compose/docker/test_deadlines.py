"""An engine that stands still holds nobody for good: each call ends, also if its answer comes in pieces."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.world.engine import FakeEngine
from fakes.world.engine_server import MUTE, EngineServer, Pieces

from compose.docker import api, containers, images
from compose.docker.containers import ContainerSpec
from compose.docker.events import SECOND_NS, EventStream, Inspected
from compose.errors import EngineUnreachable, ImageUnavailable, NodeStateError
from compose.nodes.watch import node_watch
from compose.nodes.watch.node_watch import NodeWatch, Watched
from compose.nodes.watch.planned_ends import PlannedEnds
from compose.protocols import ProcessEvent

SHORT_S, LONG_S = 0.5, 0.7
"""A busy machine takes some of it for what is answered at once."""
AT_ONCE_S = 8.0
"""Less than the silence of the pretended engine, after which it hangs up."""

OUTPUT = b'{"stream": "Step 1/2"}\r\n'
SPEC = ContainerSpec(name="hw-1", image="highwater/kafka:1", command=["run"], labels={}, network="none")
EVERYWHERE = pytest.mark.parametrize("engine", ["port", "socket"], indirect=True)


def is_silent_over(what: str, within_s: float) -> str:
    return f"{what}.*: the Docker Engine has not answered for {within_s:g} s"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine is waited for only briefly, and each test ends long before it hangs up."""
    monkeypatch.setattr(api, "API_TIMEOUT_S", SHORT_S)
    monkeypatch.setattr(images, "LONG_TIMEOUT_S", LONG_S)
    begin_s = time.monotonic()
    yield
    assert time.monotonic() - begin_s < AT_ONCE_S


def build(tmp_path: Path) -> None:
    (tmp_path / "context").mkdir()
    (tmp_path / "context/Dockerfile").write_text("FROM scratch\n")
    images.build(tmp_path / "context", dockerfile="Dockerfile", name="highwater/x:1", arguments={})


def import_root(tmp_path: Path) -> None:
    (tmp_path / "root.tar").write_bytes(b"\0" * 10240)
    images.import_root(tmp_path / "root.tar", "highwater/base:1")


def pull(tmp_path: Path) -> None:
    images.pull("debian:bookworm-slim")


@pytest.mark.parametrize("silence", [MUTE, Pieces([OUTPUT])], ids=["mute", "broken off"])
@pytest.mark.parametrize(
    ("make", "what", "asked"),
    [
        (pull, "pulling debian:bookworm-slim", "POST /images/create"),
        (build, "building highwater/x:1", "POST /build"),
        (import_root, "importing highwater/base:1", "POST /images/create"),
    ],
)
def test_no_image_is_waited_for_in_vain(
    engine: EngineServer,
    tmp_path: Path,
    make: Callable[[Path], None],
    what: str,
    asked: str,
    silence: Pieces,
) -> None:
    engine.answers[asked] = silence
    with pytest.raises(ImageUnavailable, match=is_silent_over(what, LONG_S)):
        make(tmp_path)


def test_an_engine_that_ends_while_it_builds_is_named(engine: EngineServer, tmp_path: Path) -> None:
    engine.answers["POST /build"] = Pieces([OUTPUT], silence_s=0)
    with pytest.raises(EngineUnreachable, match="building highwater/x:1: no Docker Engine answers"):
        build(tmp_path)


@EVERYWHERE
@pytest.mark.parametrize("silence", [MUTE, Pieces()], ids=["mute", "broken off"])
def test_nothing_else_is_waited_for_in_vain(engine: EngineServer, silence: Pieces) -> None:
    engine.answers["GET /containers/c1/json"] = silence
    with pytest.raises(NodeStateError, match=is_silent_over("inspecting container c1", SHORT_S)):
        containers.inspect("c1")


@EVERYWHERE
def test_an_archive_that_breaks_off_is_not_waited_for(engine: EngineServer, tmp_path: Path) -> None:
    """The SDK takes the deadline of such an answer away."""
    stat = {"X-Docker-Container-Path-Stat": "e30="}
    engine.answers["GET /containers/c1/archive"] = Pieces([b"\0" * 100], stat)
    with pytest.raises(NodeStateError, match=is_silent_over("copying /disk", SHORT_S)):
        containers.save_directory("c1", "/disk", tmp_path / "into")


def test_a_container_whose_image_is_pulled_is_not_waited_for(engine: EngineServer) -> None:
    """An image that somebody removed after it was made: the library that starts containers pulls it."""
    engine.answers["POST /images/create"] = MUTE
    with pytest.raises(NodeStateError, match=is_silent_over("starting container hw-1", SHORT_S)):
        containers.start(SPEC)
    assert engine.of("POST /images/create")


def test_an_engine_that_is_mute_from_the_beginning(engine: EngineServer) -> None:
    engine.answers["GET /version"] = MUTE
    with pytest.raises(EngineUnreachable, match="no Docker Engine answers"):
        api.client()


def event(action: str, at_ns: int, **attributes: str) -> bytes:
    actor = {"ID": "c2", "Attributes": {"name": "hw-2", **attributes}}
    return json.dumps({"Type": "container", "Action": action, "Actor": actor, "timeNano": at_ns}).encode()


def test_events_that_nobody_opens_are_not_waited_for(engine: EngineServer) -> None:
    engine.answers["GET /events"] = MUTE
    with pytest.raises(NodeStateError, match=is_silent_over("following the containers of run r1", SHORT_S)):
        EventStream("r1", since_ns=0)


@EVERYWHERE
def test_a_silent_stream_of_events_ends_and_says_so(engine: EngineServer) -> None:
    engine.answers["GET /events"] = Pieces([event("die", 7, exitCode="1")])
    stream = iter(EventStream("r1", since_ns=0))
    assert next(stream).at_ns == 7
    with pytest.raises(NodeStateError, match=is_silent_over("reading the engine's events", SHORT_S)):
        next(stream)


class OverHttp(FakeEngine):
    """Its events come over HTTP; the rest is a list in memory."""

    def events(self, since_ns: int) -> EventStream:  # type: ignore[override]
        return EventStream("r1", since_ns=since_ns)


def test_the_watch_opens_a_silent_stream_again_and_misses_nothing(
    engine: EngineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the end, the first stream tells, and the second again; of the start after it only the second."""
    monkeypatch.setattr(node_watch, "RECONNECT_S", 0.02)
    monkeypatch.setattr(node_watch, "BROKEN_POLL_S", 60.0)
    now_ns = time.monotonic_ns() + FakeEngine({}).ahead_ns
    die, start = event("die", now_ns + SECOND_NS, exitCode="137"), event("start", now_ns + 2 * SECOND_NS)
    engine.answers["GET /events"] = [Pieces([die]), Pieces([die, start]), Pieces()]
    up = Inspected(is_up=True, started_ns=now_ns - SECOND_NS)
    events: list[ProcessEvent] = []
    watched = [Watched(container="hw-2", node=2, role="broker")]
    states = OverHttp({"hw-2": up})
    watch = NodeWatch(watched, states, PlannedEnds(), events.append)
    wait_until(lambda: len(engine.of("GET /events")) >= 4)
    states.containers["hw-2"] = replace(up, started_ns=now_ns + 2 * SECOND_NS)
    watch.close()
    assert [(each.event, each.exit_code) for each in events] == [
        ("started", -1),
        ("exited", 137),
        ("started", -1),
    ]
    asked = [int(each.query["since"]) for each in engine.of("GET /events")]
    ended_s, started_s = (now_ns + SECOND_NS) // SECOND_NS, (now_ns + 2 * SECOND_NS) // SECOND_NS
    assert asked[1:4] == [ended_s, started_s, started_s]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + AT_ONCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)

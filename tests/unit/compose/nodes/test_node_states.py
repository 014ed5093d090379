"""What is done to a node's container, and how it is made sure of."""

from contextlib import nullcontext
from typing import Any

import pytest

from compose.docker import containers as docker_containers
from compose.errors import ComposeError, NodeStateError, Refused, Vanished
from compose.nodes import node as node_module
from compose.nodes.node import Node, read_state

NODE = Node(number=1, container_id="c1", name="hw-r-1", network="hw-r-net-1", release="4.3.1", properties="")
AFTER = {"pause": "paused", "unpause": "running", "kill": "exited", "start": "running"}


class FakeEngine:
    """One container; `refuses` makes it refuse everything, `stubborn` makes it do nothing."""

    def __init__(self, status: str) -> None:
        self.status: str | None = status
        self.asked: list[str] = []
        self.refuses = self.stubborn = False

    def inspect(self, container_id: str) -> dict[str, Any]:
        if self.status is None:
            raise Vanished("no such container")
        return {"State": {"Status": self.status, "ExitCode": 137, "Pid": 42, "StartedAt": "t0"}}

    def act(self, container_id: str, action: str, *, name: str) -> None:
        self.asked.append(action)
        if self.refuses:
            raise Refused("conflict")
        if not self.stubborn:
            self.status = AFTER[action]

    def signal_stop(self, container_id: str, *, name: str) -> None:
        self.asked.append("SIGTERM")
        if self.refuses:
            raise Refused("is not running")
        self.status = self.status if self.stubborn else "exited"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """A running container."""
    made = FakeEngine("running")
    for name in ("inspect", "act", "signal_stop"):
        monkeypatch.setattr(docker_containers, name, getattr(made, name))
    monkeypatch.setattr(node_module, "CHANGE_S", 0.0)
    return made


def test_changes(engine: FakeEngine) -> None:
    """Each change is asked for once, and not again where it is so already."""
    for action in (
        NODE.pause,
        NODE.pause,
        NODE.unpause,
        NODE.unpause,
        NODE.kill,
        NODE.kill,
        NODE.start,
        NODE.start,
    ):
        action()
    assert engine.asked == ["pause", "unpause", "kill", "start"]


@pytest.mark.parametrize(("failures", "asked", "status"), [(2, 3, "paused"), (3, 3, "running")])
def test_a_freezer_that_gives_up_is_asked_again(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, failures: int, asked: int, status: str
) -> None:
    """Twice; after the third time it is an error."""

    def act(container_id: str, action: str, *, name: str) -> None:
        if len(engine.asked) < failures:
            engine.asked.append(action)
            raise ComposeError("OCI runtime pause failed: unable to freeze: unknown")
        FakeEngine.act(engine, container_id, action, name=name)

    monkeypatch.setattr(docker_containers, "act", act)
    with nullcontext() if failures < 3 else pytest.raises(ComposeError, match="unable to freeze"):
        NODE.pause()
    assert (len(engine.asked), engine.status) == (asked, status)


def test_kill_of_a_paused_node(engine: FakeEngine) -> None:
    """A paused node is killed as it is."""
    engine.status = "paused"
    NODE.kill()
    assert NODE.state().exit_code == 137


def test_change_that_does_not_happen(engine: FakeEngine) -> None:
    """An engine that answers with success and does nothing is noticed."""
    engine.stubborn = True
    with pytest.raises(
        NodeStateError, match=r"hw-r-1 is paused after pause: not so after .* last seen: .*running"
    ):
        NODE.pause()
    with pytest.raises(NodeStateError, match="hw-r-1 has stopped: not so"):
        NODE.stop(within_s=0)


def test_refusal(engine: FakeEngine) -> None:
    """A refusal is passed on with the state that the node was in."""
    engine.refuses = True
    with pytest.raises(NodeStateError, match="hw-r-1: running; conflict"):
        NODE.pause()


def test_stop_of_what_has_ended(engine: FakeEngine) -> None:
    """A node that has ended by itself has stopped."""
    engine.status, engine.refuses = "exited", True
    NODE.stop(within_s=0)
    NODE.kill()
    assert engine.asked == ["SIGTERM"]


def test_vanished(engine: FakeEngine) -> None:
    """Healing a node that is gone does nothing; a fault or a start reports that it is gone."""
    engine.status = None
    assert NODE.state().status == "missing"
    NODE.unpause()
    assert engine.asked == []
    engine.refuses = True
    for action in (NODE.kill, NODE.pause, NODE.start):
        with pytest.raises(NodeStateError, match="hw-r-1: missing"):
            action()


def test_states() -> None:
    """Docker's states of a container become ours."""
    state = {"Status": "running", "ExitCode": 0, "Pid": 7, "StartedAt": "t1"}
    assert (read_state(state).pid, read_state(state).exit_code) == (7, None)
    assert read_state({**state, "Status": "restarting"}).status == "running"
    assert read_state({**state, "Status": "removing"}).status == "missing"
    assert read_state({**state, "Status": "dead", "ExitCode": 9}).exit_code == 9
    with pytest.raises(NodeStateError, match="'dreaming', which is not a known state of a container"):
        read_state({**state, "Status": "dreaming"})


def test_a_node_whose_container_is_removed_is_waited_for_no_longer(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_containers, "signal_stop", lambda *_, **__: setattr(engine, "status", None))
    with pytest.raises(NodeStateError, match="hw-r-1 has stopped: it never will, its container is gone"):
        NODE.stop(within_s=600)

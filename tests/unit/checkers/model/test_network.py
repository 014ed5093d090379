"""Messages over an edge that is cut in both directions, or in one."""

from random import Random

import pytest

from checkers.model.case import BOTH
from checkers.model.kafka.event_loop import EventLoop
from checkers.model.kafka.network import Network, Node

EDGE = ("2", "1")


@pytest.fixture
def loop() -> EventLoop:
    return EventLoop(0.0)


@pytest.fixture
def network(loop: EventLoop) -> Network:
    its = Network(loop, Random(1))
    for name in ("1", "2"):
        its.nodes[name] = Node(name)
    return its


def arrived(network: Network, loop: EventLoop) -> list[str]:
    """Which of a request and an answer that are sent now arrive."""
    found: list[str] = []
    network.request(EDGE, found.append, "request")
    network.answer(EDGE, found.append, "answer")
    loop.run(loop.now_s + 1.0)
    return sorted(found)


@pytest.mark.parametrize(
    ("directions", "left"), [(BOTH, []), (("to",), ["answer"]), (("from",), ["request"])]
)
def test_a_cut_takes_what_goes_in_its_directions(network, loop, directions, left):
    assert arrived(network, loop) == ["answer", "request"]
    network.cut(EDGE, refuse=False, directions=directions)
    assert arrived(network, loop) == left
    assert not network.usable(EDGE)
    network.heal(EDGE, directions)
    assert arrived(network, loop) == ["answer", "request"]
    assert network.usable(EDGE)


def test_what_is_on_its_way_arrives_unless_both_directions_are_cut(network, loop):
    found: list[str] = []
    network.request(EDGE, found.append, "first")
    network.cut(EDGE, refuse=False, directions=("to",))
    loop.run(1.0)
    assert found == ["first"]
    network.heal(EDGE, ("to",))
    network.request(EDGE, found.append, "second")
    network.cut(EDGE, refuse=False)
    loop.run(2.0)
    assert found == ["first"]


def test_cuts_of_different_directions_add_up(network, loop):
    network.cut(EDGE, refuse=False, directions=("to",))
    network.cut(EDGE, refuse=False, directions=("from",))
    assert arrived(network, loop) == []
    network.heal(EDGE, ("to",))
    assert arrived(network, loop) == ["request"]
    assert not network.usable(EDGE)
    network.heal(EDGE, ("from",))
    assert arrived(network, loop) == ["answer", "request"]


def test_what_arrives_just_after_a_pause_does_not_overtake_what_waited(network, loop):
    found: list[int] = []
    node = network.nodes["1"]
    network.pause(node)
    for number in range(20):
        network.request(EDGE, found.append, number)
    loop.at(1.0, network.request, EDGE, found.append, 20)
    loop.at(1.0003, network.resume, node)  # while that one is on its way
    loop.run(2.0)
    assert found == list(range(21))


def test_what_waits_at_a_node_that_is_paused_again_waits_on(network, loop):
    found: list[int] = []
    node = network.nodes["1"]
    network.pause(node)
    for number in range(20):
        network.request(EDGE, found.append, number)
    loop.at(1.0, network.resume, node)
    loop.at(1.001, network.pause, node)
    loop.run(2.0)
    assert 0 < len(found) < 20
    network.resume(node)
    loop.run(3.0)
    assert found == list(range(20))

"""Roles and arrows: what may be written, and which nodes they mean when a fault is injected."""

from dataclasses import replace

import pytest
from fakes.world.cluster import FakeCluster
from fakes.world.view import FakeView, partition

from faults.errors import BadStep, NoTarget
from faults.targets.edges import parse_edges, resolve_edges
from faults.targets.roles import Roles
from faults.targets.target import Target, TopicPartition, parse_target


def roles(leader: int = 2, cluster: FakeCluster | None = None) -> Roles:
    """Three brokers; orders-0 is led by `leader`, orders-1 by 3."""
    view = FakeView()
    view.put(partition("orders", 0, leader=leader))
    view.put(partition("orders", 1, leader=3, isr=(3,)))
    for number, its_leader in enumerate((3, 1, 2, -1)):
        view.put(partition("__transaction_state", number, leader=its_leader))
    return Roles(cluster=cluster or FakeCluster(), view=view)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("leader", (2,)),
        ("leader(orders-1)", (3,)),
        ("follower", (1,)),
        ("follower 2", (3,)),
        ("follower 2(orders-1)", (2,)),
        ("followers", (1, 3)),
        ("active controller", (101,)),
        ("transaction coordinator(payments-1)", (1,)),
        ("transaction coordinator(payments-4)", (3,)),
        ("controllers", (101, 102, 103)),
        ("brokers", (1, 2, 3)),
        ("nodes", (1, 2, 3, 101, 102, 103)),
        ("node 3", (3,)),
        (2, (2,)),
        ("1 + 3", (1, 3)),
        ("nodes 3+1", (1, 3)),
        ("minority", (1,)),
        ("majority", (2, 3)),
        ("minority(controllers)", (101,)),
        ("majority(controllers)", (102, 103)),
    ],
)
def test_resolving(text: object, nodes: tuple[int, ...]) -> None:
    """Each role means the nodes that hold it now."""
    assert roles().nodes(parse_target(text)) == nodes


@pytest.mark.parametrize(
    "text",
    [
        *("leader", "leader(a.b-c-12)", "follower 2(orders-0)", "nodes 1+3", "node 2", "majority(brokers)"),
        *("leader(__transaction_state-3)", "transaction coordinator(a.b_c-1)"),
    ],
)
def test_writing(text: str) -> None:
    """A target is written as the words that read back to it."""
    assert str(parse_target(text)) == text


NOT_TARGETS = (
    "",
    "boss",
    "leader 2",
    "follower 0",
    "client",
    "all",
    "brokers(orders-0)",
    "majority(orders-0)",
    "transaction coordinator",
    "coordinator(a)",
    "leader coordinator",
)


@pytest.mark.parametrize(
    "value", [*NOT_TARGETS, "brokers(orders-0)", "majority(orders-0)", "-1", None, True, 1.5, ["leader"]]
)
def test_refusing(value: object) -> None:
    """Anything else is refused with the value and the words that are allowed."""
    with pytest.raises(BadStep) as caught:
        parse_target(value)
    assert caught.value.field == "target"
    assert "leader" in caught.value.allowed or "TOPIC-PARTITION" in caught.value.allowed


def test_no_leader() -> None:
    """A partition without a leader has no node in the leader's role, nor in the followers'."""
    for text in ("leader", "followers", "follower"):
        with pytest.raises(NoTarget, match="orders-0 has no leader"):
            roles(leader=-1).nodes(parse_target(text))


def test_no_active_controller() -> None:
    """While the quorum elects, no node is the active controller."""
    with pytest.raises(NoTarget, match="active controller"):
        roles(cluster=FakeCluster(controller=None)).nodes(parse_target("active controller"))


def test_no_transaction_coordinator() -> None:
    """Its partition has no leader, or there is no transaction log yet."""
    with pytest.raises(NoTarget, match="no node holds this role now"):
        roles().nodes(parse_target("transaction coordinator(payments-3)"))
    nothing = Roles(cluster=FakeCluster(), view=FakeView())
    with pytest.raises(NoTarget, match="__transaction_state: no broker knows it"):
        nothing.nodes(parse_target("transaction coordinator(payments-1)"))


def test_unknown_partition() -> None:
    """A partition that no broker reports is no target."""
    with pytest.raises(NoTarget, match="orders-7"):
        roles().nodes(Target(role="leader", of=TopicPartition(topic="orders", partition=7)))


def test_one_answer_for_one_step() -> None:
    """Both ends of an arrow are resolved from the same state, also if the leader moves in between."""
    them = roles(leader=2)
    assert them.nodes(parse_target("leader(orders-0)")) == (2,)
    assert isinstance(them.view, FakeView)
    moved = replace(them.view.states["orders", 0], leader=3)
    them.view.put(moved)
    assert them.nodes(parse_target("followers(orders-0)")) == (1, 3)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("followers -> leader", "1->2 3->2"),
        ("leader -> controllers", "2->101 2->102 2->103"),
        ("leader <-> controllers", "2->101 2->102 2->103"),
        ("1 <-> 2", "1->2 2->1"),
        ("2->1", "2->1"),
        ("client -> leader", "client->2"),
        ("client -> all", "client->1 client->2 client->3"),
        ("brokers -> minority", "2->1 3->1"),
        ("active controller <-> controllers", "101->102 101->103 102->101 103->101"),
        ("followers -> leader, client -> 1", "1->2 3->2 client->1"),
        ("all <-> node 1", "1->101 1->102 1->103 1->2 1->3 2->1 3->1 client->1"),
        ("all -> 101", "1->101 102->101 103->101 2->101 3->101"),
    ],
)
def test_resolving_edges(text: str, edges: str) -> None:
    """An arrow means the edges of the mesh between the two ends; pairs without an edge drop out."""
    assert {str(edge) for edge in resolve_edges(parse_edges(text), roles())} == set(edges.split())


@pytest.mark.parametrize("text", ["101 -> 1", "1 -> 1", "controllers -> leader"])
def test_no_edge(text: str) -> None:
    """Where the mesh has no edge there is nothing to cut."""
    with pytest.raises(NoTarget):
        resolve_edges(parse_edges(text), roles())


@pytest.mark.parametrize(
    "value",
    ["", "leader", "leader ->", "-> leader", "a -> b", "1 => 2", "1 -> 2 -> 3", "1 -> client", 12, None],
)
def test_refusing_edges(value: object) -> None:
    """Anything that is not an arrow between roles is refused."""
    with pytest.raises(BadStep) as caught:
        parse_edges(value)
    assert caught.value.field == "edges"


def test_writing_edges() -> None:
    """An edge set is written as the words that read back to it."""
    text = "followers(orders-0) -> leader(orders-0), all <-> nodes 1+2"
    assert str(parse_edges(text)) == text

"""Named cuts: which edges they mean, as a set of arrows does."""

import pytest
from fakes.world.cluster import FakeCluster, full_mesh
from fakes.world.view import FakeView, partition

from faults.errors import BadStep, NoTarget
from faults.plan.parse import parse_steps
from faults.plan.storm_round import edges_of
from faults.plan.validate import validate
from faults.targets.edges import parse_edges, resolve_edges
from faults.targets.facts import Facts, TopicFacts
from faults.targets.roles import Roles


def cut(text: str, *, leader: int = 2, brokers: tuple[int, ...] = (1, 2, 3)) -> str:
    """The edges that a text means, with their arrows where both directions are among them."""
    view = FakeView()
    view.put(partition("orders", 0, leader=leader))
    cluster = FakeCluster(brokers=brokers)
    found = [str(edge) for edge in resolve_edges(parse_edges(text), Roles(cluster=cluster, view=view))]
    assert not any(edge.startswith("client") for edge in found)
    both = [edge for edge in found if "->".join(reversed(edge.split("->"))) in found]
    pairs = sorted({" - ".join(sorted(edge.split("->"), key=int)) for edge in both})
    return ", ".join([*pairs, *(edge for edge in found if edge not in both)])


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("split 1+2 | 3", "1 - 3, 2 - 3"),
        ("split 1 | 2 | 3", "1 - 2, 1 - 3, 2 - 3"),
        ("split leader | followers", "1 - 2, 2 - 3"),
        ("split leader | brokers", "1 - 2, 2 - 3"),
        ("split brokers", "1 - 2, 1 - 3"),
        ("split controllers", "101 - 102, 101 - 103"),
        ("split minority(controllers) | majority(controllers)", "101 - 102, 101 - 103"),
        ("split active controller | controllers", "101 - 102, 101 - 103"),
        ("split 1+101 | 2+3+102+103", "1 - 2, 1 - 3, 101 - 102, 101 - 103, 1->102, 1->103, 2->101, 3->101"),
        ("bridge 102 between 101 | 103", "101 - 103"),
        ("bridge leader between followers", "1 - 3"),
        ("bridge leader between brokers", "1 - 3"),
        ("bridge active controller between controllers", "102 - 103"),
        ("ring 1+2+3+101", "1 - 3, 2->101"),
        ("split 1 | 2, 1 -> 3", "1 - 2, 1->3"),
    ],
)
def test_resolving(text: str, edges: str) -> None:
    """Every edge between nodes that are apart, both ways; no client's, and no other."""
    assert cut(text) == edges


def test_a_ring_of_five() -> None:
    """Each reaches the two beside it, the last the first."""
    assert cut("ring brokers", brokers=(1, 2, 3, 4, 5)) == "1 - 3, 1 - 4, 2 - 4, 2 - 5, 3 - 5"


def test_a_bridge_of_five() -> None:
    """Each half has two, and both reach the leader."""
    edges = cut("bridge leader between brokers", leader=1, brokers=(1, 2, 3, 4, 5))
    assert edges == "2 - 4, 2 - 5, 3 - 4, 3 - 5"


def test_roles_that_leave_nothing_apart() -> None:
    """All brokers are in the first group."""
    with pytest.raises(NoTarget, match="the mesh has no edge between the nodes"):
        cut("split brokers | leader")


@pytest.mark.parametrize(
    "text",
    [
        "split node 1 | nodes 2+3",
        "split leader(orders-1) | followers(orders-1) | controllers",
        "bridge active controller between controllers",
        "node 1 -> node 2, ring brokers",
    ],
)
def test_writing(text: str) -> None:
    """A named cut is written as the words that read back to it."""
    assert str(parse_edges(text)) == text


@pytest.mark.parametrize(
    ("edges", "refusal"),
    [
        ("split", "allowed: ROLE -> ROLE"),
        ("split 1 |", "allowed: leader, follower"),
        ("split client | 1", "allowed: leader, follower"),
        ("bridge 1", "a named cut: split GROUP | GROUP, bridge ROLE between GROUP | GROUP, ring GROUP"),
        ("ring brokers", "allowed: a ring of at least 4 nodes: in a smaller one all are neighbours"),
        ("split 1 | 9", "'node 9' is refused"),
        ("split 1 | 1", "'split node 1 | node 1' is refused; allowed: groups with edges between them"),
        ("bridge 1 between 1 | 2", "allowed: groups with edges between them"),
    ],
)
def test_refusing(edges: str, refusal: str) -> None:
    """What means no edge of this cluster, whichever nodes hold its roles."""
    words = {"do": "partition", "at": "1s", "for": "2s", "edges": edges}
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([words]), FACTS)
    assert refusal in str(caught.value)


FACTS = Facts(
    brokers=(1, 2, 3),
    controllers=(101, 102, 103),
    edges=full_mesh((1, 2, 3), (101, 102, 103)),
    topics=(TopicFacts(name="orders", partitions=1, replication=3),),
)


def test_the_default_partition_is_written_into_a_named_cut() -> None:
    words = {"do": "partition", "at": "1s", "for": "2s", "edges": "bridge leader between followers"}
    (step,) = validate(parse_steps([words]), FACTS)
    assert step.asked == "bridge leader(orders-0) between followers(orders-0)"


def test_what_a_named_cut_may_mean_with_roles_that_move() -> None:
    """Any edge between nodes that may hold them; with those that never move, just what it means."""
    between_brokers = {"1->2", "1->3", "2->1", "2->3", "3->1", "3->2"}
    moving = edges_of(parse_edges("bridge leader between followers"), FACTS)
    assert {str(edge) for edge in moving} == between_brokers
    fixed = edges_of(parse_edges("split 1 | 2"), FACTS)
    assert {str(edge) for edge in fixed} == {"1->2", "2->1"}

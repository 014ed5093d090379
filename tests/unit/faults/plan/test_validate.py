"""A plan that cannot be run is refused before anything starts."""

from dataclasses import replace

import pytest
from fakes.world.cluster import full_mesh

from faults.errors import BadStep
from faults.plan.parse import parse_steps, write_step
from faults.plan.validate import validate
from faults.targets.facts import Facts, TopicFacts

BROKERS, CONTROLLERS = (1, 2, 3), (101, 102, 103)
FACTS = Facts(
    brokers=BROKERS,
    controllers=CONTROLLERS,
    edges=full_mesh(BROKERS, CONTROLLERS),
    topics=(
        TopicFacts(name="orders", partitions=2, replication=3),
        TopicFacts(name="single", partitions=1, replication=1),
    ),
)
CUT = {"at": "1s", "do": "partition", "edges": "followers -> leader", "for": "2s"}
KILL = {"at": "1s", "do": "kill", "target": "leader", "for": "0s"}


def test_the_default_partition_is_written_out() -> None:
    """Roles and events that name no partition get partition 0 of the first topic."""
    waiting = {"do": "pause", "target": "brokers", "for": "1s", "when": "leader.changed"}
    cut, kill, pause = validate(parse_steps([CUT, KILL, waiting]), FACTS)
    assert (cut.asked, kill.asked, pause.asked) == (
        "followers(orders-0) -> leader(orders-0)",
        "leader(orders-0)",
        "brokers",
    )
    assert write_step(pause)["when"] == "leader.changed(orders-0)"


@pytest.mark.parametrize(
    ("step", "field", "value"),
    [
        (KILL | {"target": "node 4"}, "target", "node 4"),
        (KILL | {"target": "leader(orders-2)"}, "target", "orders-2"),
        (KILL | {"target": "leader(bills-0)"}, "target", "bills-0"),
        (KILL | {"target": "follower 3"}, "target", "follower 3(orders-0)"),
        (KILL | {"target": "followers(single-0)"}, "target", "followers(single-0)"),
        (CUT | {"edges": "101 -> 1"}, "edges", "node 101 -> node 1"),
        (CUT | {"edges": "1 -> 2, controllers -> leader"}, "edges", "controllers -> leader(orders-0)"),
        (CUT | {"edges": "9 -> 1"}, "edges", "node 9"),
        (CUT | {"for": "900ms"}, "for", "0.9s"),
        (KILL | {"do": "pause", "for": "500ms"}, "for", "0.5s"),
        (KILL | {"do": "disk-stall", "for": "1s"}, "for", "1s"),
    ],
)
def test_refusing_a_step(step: dict[str, object], field: str, value: str) -> None:
    """What the cluster does not have, or what could never be proven, is refused."""
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([step]), FACTS)
    assert (caught.value.step, caught.value.field, caught.value.value) == (0, field, value)


def test_refusing_an_event_of_a_follower_that_there_is_not() -> None:
    """RF 3 has two followers."""
    words = {"do": "kill", "target": "leader", "for": "0s"}
    last = parse_steps([words | {"when": "follower 2 behind by 1"}])
    assert write_step(validate(last, FACTS)[0])["when"] == "follower 2(orders-0) behind by 1"
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([words | {"when": "follower 3 behind by 1"}]), FACTS)
    assert (caught.value.field, caught.value.value) == ("when", "follower 3(orders-0)")


TRANSACTIONS = replace(
    FACTS,
    internal=(TopicFacts(name="__transaction_state", partitions=4, replication=3, min_isr=2),),
    transactional_ids=("payments-1", "payments-2"),
)


@pytest.mark.parametrize(
    "words",
    [
        {"target": "transaction coordinator(payments-2)"},
        {"target": "leader(__transaction_state-3)"},
        {"when": "transaction coordinator(payments-1).moved"},
        {"when": "leader.moved(__transaction_state-0)"},
        {"when": "producer fenced"},
    ],
)
def test_what_only_a_load_with_transactions_has(words: dict[str, object]) -> None:
    """Its coordinators, its transaction log, and producers that are fenced."""
    words = {"do": "kill", "target": "leader", "for": "0s", "when": "leader.moved", **words}
    validate(parse_steps([words]), TRANSACTIONS)
    with pytest.raises(BadStep):
        validate(parse_steps([words]), FACTS)


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (
            {"target": "transaction coordinator(payments-3)"},
            "target",
            "transaction coordinator(payments-3)",
        ),
        ({"target": "leader(__transaction_state-4)"}, "target", "__transaction_state-4"),
        (
            {"when": "transaction coordinator(payments).moved"},
            "when",
            "transaction coordinator(payments).moved",
        ),
    ],
)
def test_refusing_a_coordinator_that_there_is_not(words: dict[str, object], field: str, value: str) -> None:
    """Of an id that no producer has, or of a partition that the transaction log has not."""
    step = {"do": "kill", "target": "leader", "for": "0s", "when": "leader.moved", **words}
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([step]), TRANSACTIONS)
    assert (caught.value.field, caught.value.value) == (field, value)


def test_refusing_an_event_of_an_unknown_partition() -> None:
    """An event of a partition that does not exist would never come."""
    words = {"do": "kill", "target": "leader", "for": "0s", "when": "isr.size(orders-9) <= 1"}
    with pytest.raises(BadStep, match="orders-9"):
        validate(parse_steps([words]), FACTS)


@pytest.mark.parametrize("anchor", ["later", "itself", "nobody"])
def test_refusing_an_anchor_that_is_not_earlier(anchor: str) -> None:
    """A step may follow an earlier step only."""
    first = {"name": "itself", "do": "kill", "target": "leader", "for": "0s", "after": f"{anchor}.end"}
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([first, KILL | {"name": "later"}]), FACTS)
    assert (caught.value.step, caught.value.field, caught.value.value) == (0, "after", anchor)


def test_refusing_to_wait_for_a_recovery_that_is_not_earlier() -> None:
    """Each name must be that of an earlier step."""
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([KILL | {"name": "first"}, KILL | {"once": "first + last"}]), FACTS)
    assert (caught.value.step, caught.value.field, caught.value.value) == (1, "once", "last")


def test_refusing_a_name_twice() -> None:
    """Two steps with one name could not be distinguished."""
    with pytest.raises(BadStep, match="step 2, name: 'x'"):
        validate(parse_steps([KILL | {"name": "x"}, KILL | {"name": "x"}]), FACTS)


def test_refusing_a_minority_of_one() -> None:
    """One broker has no minority."""
    alone = Facts(brokers=(1,), controllers=(101,), edges=full_mesh((1,), (101,)), topics=FACTS.topics)
    with pytest.raises(BadStep, match="minority"):
        validate(parse_steps([KILL | {"target": "minority"}]), alone)


WAITING = {"do": "kill", "target": "leader", "for": "0s"}
NO_ELR = replace(FACTS, has_elr=False)
ELR_ON = {"at": "1s", "do": "feature", "set": "eligible.leader.replicas.version=1", "for": "30s"}
MORE = {"at": "1s", "do": "reassign", "topic": "single", "to": "3 replicas", "for": "9s"}


@pytest.mark.parametrize(
    ("when", "facts", "allowed"),
    [
        ("isr.size >= 4", FACTS, "a number from 0 to 3, the replicas that there are"),
        ("isr.size == 4", FACTS, "a number from 0 to 3, the replicas that there are"),
        ("isr.size(single-0) >= 2", FACTS, "a number from 0 to 1, the replicas that there are"),
        ("elr.size >= 4", FACTS, "a number from 0 to 3, the replicas that there are"),
        ("isr.size <= 0", NO_ELR, "a number from 1 to 3, the replicas that there are"),
        ("isr.size == 0", NO_ELR, "a number from 1 to 3, the replicas that there are"),
        ("elr.size >= 1", NO_ELR, "an event of the ISR: cluster.elr is off"),
    ],
)
def test_refusing_a_size_that_no_isr_has(when: str, facts: Facts, allowed: str) -> None:
    """The last replica in sync stays so; with eligible leader replicas it leaves too."""
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([WAITING | {"when": when}]), facts)
    assert (caught.value.field, caught.value.allowed) == ("when", allowed)


@pytest.mark.parametrize(
    ("when", "facts", "other"),
    [
        ("isr.size >= 3", FACTS, KILL),
        ("isr.size <= 9", FACTS, KILL),
        ("isr.size <= 0", FACTS, KILL),
        ("isr.size <= 1", NO_ELR, KILL),
        ("elr.size == 0", FACTS, KILL),
        ("isr.size(single-0) >= 3", FACTS, MORE),
        ("follower 2(single-0) behind by 1", FACTS, MORE),
        ("elr.size >= 1", NO_ELR, ELR_ON),
        ("isr.size <= 0", NO_ELR, ELR_ON),
        ("elr.size >= 1", NO_ELR, {"at": "1s", "do": "finalize", "for": "1s"}),
    ],
)
def test_an_event_that_another_step_makes_possible(when: str, facts: Facts, other: dict[str, str]) -> None:
    """Whichever of the two is written first: the later one may begin sooner."""
    words = [other, WAITING | {"when": when, "since": "start"}]
    for steps in (words, words[::-1]):
        assert len(validate(parse_steps(steps), facts)) == 2


@pytest.mark.parametrize(
    "edges",
    [
        "leader -> leader",
        "leader <-> leader(orders-0)",
        "follower -> follower",
        "follower 2 -> follower 2",
        "active controller -> active controller",
        "split leader | leader",
        "bridge leader between leader | followers",
        "bridge followers between leader | follower 2",
        "split follower",
    ],
)
def test_refusing_edges_between_roles_that_one_node_holds(edges: str) -> None:
    """Whichever node that is."""
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([CUT | {"edges": edges}]), FACTS)
    assert caught.value.field == "edges"
    assert caught.value.allowed in (
        "roles of which different nodes can hold one each",
        "groups with edges between them",
    )


@pytest.mark.parametrize(
    "edges",
    [
        "follower 2 -> follower",
        "followers -> followers",
        "followers <-> follower",
        "leader -> leader(orders-1)",
        "leader(single-0) -> leader",
        "active controller -> controllers",
        "leader -> brokers",
        "client -> leader",
        "split leader | followers",
        "split leader | follower 2",
        "bridge leader between followers",
        "split leader | leader(orders-1)",
    ],
)
def test_edges_between_roles_that_different_nodes_may_hold(edges: str) -> None:
    """Of two partitions the leader may be one node, or two."""
    assert len(validate(parse_steps([CUT | {"edges": edges}]), FACTS)) == 1


def test_two_replicas_have_one_follower_unless_more_come() -> None:
    two = replace(FACTS, topics=(TopicFacts(name="pair", partitions=1, replication=2),))
    among = CUT | {"edges": "followers -> followers"}
    with pytest.raises(BadStep, match="roles of which different nodes can hold one each"):
        validate(parse_steps([among]), two)
    assert len(validate(parse_steps([among, MORE | {"topic": "pair"}]), two)) == 2

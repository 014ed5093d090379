"""Steps of which nothing can come: refused if that is certain from the plan, and only then."""

from dataclasses import replace

import pytest
from fakes.world.cluster import full_mesh

from faults.errors import BadStep
from faults.plan.parse import parse_steps
from faults.plan.validate import validate
from faults.targets.facts import Facts, TopicFacts

BROKERS, CONTROLLERS = (1, 2, 3), (101,)
ELR = "eligible.leader.replicas.version"
SETTINGS = (("min.insync.replicas", "2"), ("unclean.leader.election.enable", "false"))
FACTS = Facts(
    brokers=BROKERS,
    controllers=CONTROLLERS,
    edges=full_mesh(BROKERS, CONTROLLERS),
    topics=(
        TopicFacts(name="orders", partitions=2, replication=3, min_isr=2, settings=SETTINGS),
        TopicFacts(name="single", partitions=1, replication=1, settings=(("flush.messages", "1"),)),
    ),
    release=(4, 0),
    releases=tuple((node, "4.3.1") for node in (*BROKERS, *CONTROLLERS)),
    settings=(*SETTINGS, ("num.io.threads", "8"), ("num.network.threads", "3")),
)
"""Of a cluster that was formatted by an older release."""
OF_TOPIC = {"do": "config", "set": "min.insync.replicas=2"}
OF_BROKERS = {"do": "config", "target": "brokers", "set": "num.io.threads=8"}
MORE = {"do": "reassign", "topic": "single", "to": "2 replicas"}
FINALIZE = {"do": "finalize"}


def plan(*steps: dict[str, str], facts: Facts = FACTS) -> int:
    """How many steps are taken; BadStep if one is refused."""
    written = [{"at": f"{index}s", "for": "1s", **words} for index, words in enumerate(steps)]
    return len(validate(parse_steps(written), facts))


IN_VAIN = [
    (OF_TOPIC, "set: 'min.insync.replicas=2' is refused; allowed: other values: with these topic orders"),
    (
        OF_TOPIC | {"set": "min.insync.replicas=2, unclean.leader.election.enable=false"},
        "set: 'min.insync.replicas=2, unclean.leader.election.enable=false' is refused; allowed: other",
    ),
    (OF_TOPIC | {"topic": "single", "set": "flush.messages=1"}, "with these topic single begins"),
    (OF_BROKERS, "set: 'num.io.threads=8' is refused; allowed: other values: with these every broker begins"),
    (OF_BROKERS | {"target": "node 2"}, "allowed: other values: with these node 2 begins"),
    (
        OF_BROKERS | {"set": "num.io.threads=100000"},
        "set: 'num.io.threads=100000' is refused; allowed: from 4 to 16: at once Kafka halves a number of",
    ),
    (OF_BROKERS | {"set": "num.io.threads=17"}, "allowed: from 4 to 16"),
    (OF_BROKERS | {"set": "num.io.threads=3, min.insync.replicas=1"}, "'num.io.threads=3' is refused"),
    (OF_BROKERS | {"target": "node 1", "set": "num.network.threads=7"}, "allowed: from 1 to 6"),
    (
        {"do": "reassign", "to": "3 replicas"},
        "to: '3 replicas' is refused; allowed: another placement: orders",
    ),
    ({"do": "preferred-election", "topic": "single"}, "topic: 'single' is refused; allowed: a topic with"),
    ({"do": "feature", "set": f"{ELR}=1"}, f"set: '{ELR}=1' is refused; allowed: another level: the cluster"),
    ({"do": "feature", "set": "metadata.version=25"}, "allowed: another level: the cluster begins with"),
    (
        {"do": "rolling-upgrade", "target": "brokers", "release": "4.3.1"},
        "release: '4.3.1' is refused; allowed: another release than that of brokers from",
    ),
    (
        {"do": "rolling-upgrade", "target": "leader", "release": "4.3.1"},
        "allowed: another release than that of leader",
    ),
]


@pytest.mark.parametrize(("words", "complaint"), IN_VAIN)
def test_what_is_so_already_or_what_kafka_never_does_is_refused(
    words: dict[str, str], complaint: str
) -> None:
    """Also among steps that change something else, and among others like it."""
    for steps, index in (((words,), 1), (({"do": "kill", "target": "leader"}, words, words), 2)):
        with pytest.raises(BadStep) as refused:
            plan(*steps)
        assert f"step {index}, " in str(refused.value)
        assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (OF_TOPIC, OF_TOPIC | {"set": "min.insync.replicas=1"}),
        (OF_TOPIC, OF_BROKERS | {"set": "min.insync.replicas=1"}),
        (OF_TOPIC, {"do": "feature", "set": f"{ELR}=0"}),
        (OF_TOPIC, FINALIZE),
        (OF_BROKERS, OF_BROKERS | {"target": "node 1", "set": "num.io.threads=4"}),
        (OF_BROKERS | {"set": "num.io.threads=32"}, OF_BROKERS | {"set": "num.io.threads=16"}),
        ({"do": "reassign", "to": "3 replicas"}, {"do": "reassign", "to": "2 replicas"}),
        ({"do": "reassign", "to": "3 replicas"}, {"do": "reassign", "to": "rotated"}),
        ({"do": "preferred-election", "topic": "single"}, MORE),
        ({"do": "feature", "set": f"{ELR}=1"}, {"do": "feature", "set": f"{ELR}=0"}),
        ({"do": "feature", "set": f"{ELR}=1"}, FINALIZE),
        (
            {"do": "rolling-upgrade", "target": "brokers", "release": "4.3.1"},
            {"do": "rolling-upgrade", "target": "node 1", "release": "4.2.0"},
        ),
    ],
)
def test_what_another_step_may_have_changed_is_taken(words: dict[str, str], other: dict[str, str]) -> None:
    """In either order: the one that is written later may begin sooner."""
    assert plan(other, words) == 2
    assert plan(words, other) == 2


def test_a_step_that_another_one_gives_a_meaning_gives_one_to_others() -> None:
    """The first lets the second change both of its settings, and so the third one of them."""
    unclean = "unclean.leader.election.enable=false"
    both, one = OF_BROKERS | {"set": f"num.io.threads=8, {unclean}"}, OF_TOPIC | {"set": unclean}
    assert plan(OF_BROKERS | {"set": "num.io.threads=4"}, both, one) == 3
    with pytest.raises(BadStep, match="step 1, set: "):
        plan(both, one)


@pytest.mark.parametrize(
    "words",
    [
        OF_TOPIC | {"set": "min.insync.replicas=2, unclean.leader.election.enable=true"},
        OF_TOPIC | {"set": "flush.messages=1"},
        OF_BROKERS | {"set": "num.replica.fetchers=4"},
        OF_BROKERS | {"set": "num.io.threads=16"},
        OF_BROKERS | {"set": "num.io.threads=4"},
        OF_BROKERS | {"set": "num.network.threads=1"},
        {"do": "reassign", "to": "1+2+3"},
        {"do": "reassign", "to": "2 replicas"},
        MORE,
        {"do": "preferred-election"},
        {"do": "feature", "set": f"{ELR}=0"},
        {"do": "feature", "set": "metadata.version=27"},
        {"do": "feature", "set": "transaction.version=2"},
        {"do": "rolling-upgrade", "target": "brokers", "release": "4.2.0"},
        FINALIZE,
    ],
)
def test_what_changes_something_or_is_not_known_to_change_nothing_is_taken(words: dict[str, str]) -> None:
    """Where replicas are put nobody knows before; what a scenario leaves open has no value here."""
    assert plan(words) == 1


def test_one_node_that_runs_another_release() -> None:
    """All nodes of the target would have to run it already."""
    mixed = replace(FACTS, releases=((1, "4.2.0"), *FACTS.releases[1:]))
    words = {"do": "rolling-upgrade", "target": "brokers", "release": "4.3.1"}
    assert plan(words, facts=mixed) == 1
    with pytest.raises(BadStep, match=r"that of nodes 2\+3 from"):
        plan(words | {"target": "2+3"}, facts=mixed)


def test_one_broker_has_all_replicas() -> None:
    alone = replace(FACTS, brokers=(1,), topics=(TopicFacts(name="one", partitions=1, replication=1),))
    for to in ("1", "1 replica"):
        with pytest.raises(BadStep, match="another placement: one begins with 1 replica"):
            plan({"do": "reassign", "to": to}, facts=alone)

"""What a plan of faults is checked against: settings as brokers say them, from wherever they come."""

from collections.abc import Mapping

import pytest

from harness.errors import ScenarioError
from harness.scenario.cluster.facts import facts_of
from harness.scenario.model import topology_of
from harness.scenario.resolve import resolve

NEVER = "9223372036854775807"
UNCLEAN = "unclean.leader.election.enable"


def settings(text: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Of the first topic, and of every broker."""
    scenario = resolve(f"name: demo\n{text}\n", "demo.yaml", seed=1).scenario
    facts = facts_of(scenario, topology_of(scenario.cluster))
    return dict(facts.topics[0].settings), dict(facts.settings)


def test_defaults_of_ours_and_of_kafka() -> None:
    of_topic, of_brokers = settings("topics: [{name: orders}]")
    assert of_topic == {"min.insync.replicas": "2", UNCLEAN: "false", "flush.messages": NEVER}
    assert of_brokers == {
        "min.insync.replicas": "2",
        UNCLEAN: "false",
        "num.replica.fetchers": "1",
        "num.io.threads": "8",
        "num.network.threads": "3",
    }


def test_a_topic_has_its_own_or_those_of_the_brokers() -> None:
    """One of them has another name there; numbers and words are as brokers say them."""
    of_topic, of_brokers = settings(
        "topics: [{name: orders, config: {min.insync.replicas: '01'}}]\n"
        "cluster: {broker_config: {log.flush.interval.messages: 5, num.io.threads: 4,"
        " unclean.leader.election.enable: 'TRUE'}}"
    )
    assert of_topic == {"min.insync.replicas": "1", UNCLEAN: "true", "flush.messages": "5"}
    assert (of_brokers["min.insync.replicas"], of_brokers["num.io.threads"]) == ("2", "4")


def test_what_the_controllers_have_otherwise_is_not_known() -> None:
    """With eligible leader replicas theirs outranks the brokers'."""
    of_topic, of_brokers = settings(
        "topics: [{name: orders}]\ncluster: {controller_config: {min.insync.replicas: 1}}"
    )
    assert "min.insync.replicas" not in of_topic.keys() | of_brokers.keys()


FAULTY = """\
name: demo
topics: [{name: orders}]
faults: [{at: 2s, for: 1s, %s}]
"""


@pytest.mark.parametrize(
    ("fault", "key", "value", "allowed"),
    [
        ("do: config", "set", "min.insync.replicas=2", "other values: with these topic orders begins"),
        (
            "do: config, target: brokers",
            "set",
            "num.io.threads=17",
            "from 4 to 16: at once Kafka halves a number of threads, or doubles it",
        ),
        ("do: feature", "set", "metadata.version=99", "a level from 1 to 30, the newest of release 4.3"),
        ("do: feature", "set", "metadata.version=30", "another level: the cluster begins with "),
        (
            "do: rolling-upgrade, target: brokers",
            "release",
            "4.3.1",
            "another release than that of brokers from",
        ),
    ],
)
def test_a_fault_of_which_nothing_can_come_is_refused_at_its_place(
    fault: str, key: str, value: str, allowed: str
) -> None:
    text = FAULTY % f"{fault}, {key}: {value}"
    column = text.splitlines()[2].index(value) + 1
    with pytest.raises(ScenarioError) as refused:
        resolve(text, "demo.yaml")
    complaint = f"demo.yaml:3:{column}: faults[0].{key}: '{value}' is refused; allowed: {allowed}"
    assert str(refused.value).startswith(complaint)


def test_what_a_topic_begins_with_by_its_own_setting_can_be_what_others_change() -> None:
    """Kafka's default is a value as any other; a topic that has its own is not at it."""
    assert len(resolve(FAULTY % "do: config, set: flush.messages=1", "demo.yaml").steps) == 1
    own = FAULTY.replace("orders}", "orders, config: {min.insync.replicas: 1}}")
    assert len(resolve(own % "do: config, set: min.insync.replicas=2", "demo.yaml").steps) == 1

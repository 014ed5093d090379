"""What does not fit together in a scenario: found before anything starts, each finding at its place."""

from collections.abc import Callable, Iterator

from compose.errors import TopologyError
from compose.spec.server_properties import server_properties
from compose.spec.topology import Topology
from harness.scenario.model import ClusterPart, Scenario, TopicPart
from harness.scenario.positions import Path

Finding = tuple[Path, str]


def impossible(scenario: Scenario) -> Iterator[Finding]:
    """All contradictions, as (path of the value to blame, what is wrong with it)."""
    for rule in RULES:
        yield from rule(scenario)


def _topics(scenario: Scenario) -> Iterator[Finding]:
    seen: set[str] = set()
    default_min_isr = _min_isr_of_brokers(scenario.cluster)
    for index, topic in enumerate(scenario.topics):
        path: Path = ("topics", index)
        if topic.name in seen:
            yield (*path, "name"), f"topic {topic.name!r} is named twice"
        seen.add(topic.name)
        brokers = scenario.cluster.brokers
        if topic.replication > brokers:
            yield (
                (*path, "replication"),
                f"{topic.replication} replicas do not fit on {brokers} broker{'s' if brokers > 1 else ''}",
            )
        yield from _min_isr(topic, path, default_min_isr)


def _min_isr_of_brokers(cluster: ClusterPart) -> str:
    """What a topic gets that does not say; "1" for a cluster that cannot exist: another rule refuses it."""
    try:
        return server_properties(topology_of(cluster), 1, client_address="")["min.insync.replicas"]
    except TopologyError:
        return "1"


def _min_isr(topic: TopicPart, path: Path, default: str) -> Iterator[Finding]:
    key = (*path, "config", "min.insync.replicas")
    text = topic.config.get("min.insync.replicas", default)
    if not text.isdecimal() or int(text) < 1:
        yield key, f"expected a number of replicas from 1, found {text!r}"
    elif int(text) > topic.replication:
        whose = "" if key[-1] in topic.config else ", the brokers' setting"
        yield (
            key,
            f"{text} in-sync replicas of {topic.replication}{whose}: every acks=all write would be refused",
        )


def _cluster(scenario: Scenario) -> Iterator[Finding]:
    """What the compose room says; its message opens with the setting it refuses."""
    try:
        topology_of(scenario.cluster)
    except TopologyError as refusal:
        setting, _, reason = str(refusal).partition(": ")
        key = setting.replace(" ", "_")
        if key in ClusterPart.model_fields:
            yield ("cluster", key), reason
        else:
            yield ("cluster",), str(refusal)


def topology_of(cluster: ClusterPart) -> Topology:
    """The cluster part in the compose room's words; TopologyError if it cannot exist."""
    return Topology(
        brokers=cluster.brokers,
        controllers=cluster.controllers,
        combined=cluster.combined,
        kafka=cluster.kafka,
        elr=cluster.elr,
        broker_config=cluster.broker_config,
        controller_config=cluster.controller_config,
        volume_mib=cluster.volume >> 20,
    )


def _workload(scenario: Scenario) -> Iterator[Finding]:
    workload = scenario.workload
    if workload.idempotence and workload.acks != "all":
        yield (
            ("workload", "idempotence"),
            f"an idempotent producer needs acks: all, found acks: {workload.acks}",
        )
    for key in workload.client:
        if key in OWNED_BY_THE_HARNESS:
            yield (
                ("workload", "client", key),
                f"is set by the harness; use the key {OWNED_BY_THE_HARNESS[key]}",
            )


def _storm(scenario: Scenario) -> Iterator[Finding]:
    if scenario.storm is not None and scenario.faults:
        yield ("storm",), "a scenario has faults or a storm, not both"


OWNED_BY_THE_HARNESS = {
    "acks": "workload.acks",
    "request.required.acks": "workload.acks",
    "enable.idempotence": "workload.idempotence",
    "delivery.timeout.ms": "workload.delivery_timeout",
    "message.timeout.ms": "workload.delivery_timeout",
    "bootstrap.servers": "cluster",
}

RULES: tuple[Callable[[Scenario], Iterator[Finding]], ...] = (_topics, _cluster, _workload, _storm)

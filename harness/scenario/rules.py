"""What does not fit together in a scenario: each contradiction at its place, before anything starts."""

from collections.abc import Callable, Iterator, Mapping

from checkers.history.payload import HEADER_BYTES
from compose.errors import TopologyError
from compose.spec.server_properties import server_properties
from compose.spec.topology import Topology
from harness.scenario.deletion import deleting
from harness.scenario.kafka_settings import malformed
from harness.scenario.load_plan import client_refusal
from harness.scenario.model import ClusterPart, Scenario, TopicPart
from harness.scenario.positions import Path

Contradiction = tuple[Path, str]
"""The path of the value to blame, and what is wrong with it."""


def contradictions(scenario: Scenario) -> Iterator[Contradiction]:
    """All contradictions; the client library is asked only about a scenario that has no other one."""
    found = [each for rule in RULES for each in rule(scenario)]
    yield from found or _client(scenario)


def _topics(scenario: Scenario) -> Iterator[Contradiction]:
    names: set[str] = set()
    default_min_isr = _min_isr_of_brokers(scenario.cluster)
    for index, topic in enumerate(scenario.topics):
        path: Path = ("topics", index)
        if topic.name in names:
            yield (*path, "name"), f"topic {topic.name!r} is named twice"
        names.add(topic.name)
        brokers = scenario.cluster.brokers
        if topic.replication > brokers:
            yield (
                (*path, "replication"),
                f"{topic.replication} replicas do not fit on {brokers} broker{'s' if brokers > 1 else ''}",
            )
        yield from _min_isr(topic, path, default_min_isr)
        for key, text in malformed(topic.config):
            if key != MIN_ISR:
                yield (*path, "config", key), text


def _min_isr_of_brokers(cluster: ClusterPart) -> str:
    """A topic's setting if it has none of its own; "1" for a cluster that another rule refuses."""
    try:
        return server_properties(topology_of(cluster), 1, client_address="")[MIN_ISR]
    except TopologyError:
        return "1"


def _min_isr(topic: TopicPart, path: Path, default: str) -> Iterator[Contradiction]:
    key = (*path, "config", MIN_ISR)
    text = topic.config.get(MIN_ISR, default)
    if not text.isdecimal() or int(text) < 1:
        yield key, f"expected a number of replicas from 1, found {text!r}"
    elif int(text) > topic.replication:
        whose = "" if key[-1] in topic.config else ", the brokers' setting"
        yield (
            key,
            f"{text} in-sync replicas of {topic.replication}{whose}: every acks=all write would be refused",
        )


def _cluster(scenario: Scenario) -> Iterator[Contradiction]:
    """What `Topology` refuses; its message opens with the setting."""
    try:
        topology_of(scenario.cluster)
    except TopologyError as refusal:
        setting, _, reason = str(refusal).partition(": ")
        key = setting.replace(" ", "_")
        if key in ClusterPart.model_fields:
            yield ("cluster", key), reason
        else:
            yield ("cluster",), str(refusal)
        return
    for key, text in malformed(scenario.cluster.broker_config):
        yield ("cluster", "broker_config", key), text


def _deletion(scenario: Scenario) -> Iterator[Contradiction]:
    """Settings by which records go without being lost, or change their timestamps."""
    cluster = scenario.cluster
    places: list[tuple[Path, Mapping[str, str]]] = [
        *((("topics", index, "config"), topic.config) for index, topic in enumerate(scenario.topics)),
        (("cluster", "broker_config"), cluster.broker_config),
        (("cluster", "controller_config"), cluster.controller_config),
    ]
    for path, config in places:
        for key, text in deleting(config, scenario.workload.lasts_s):
            yield (*path, key), text


def topology_of(cluster: ClusterPart) -> Topology:
    """The cluster part as a topology; TopologyError if there can be no such cluster."""
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


def _workload(scenario: Scenario) -> Iterator[Contradiction]:
    workload = scenario.workload
    if workload.idempotence and workload.acks != "all":
        yield (
            ("workload", "idempotence"),
            f"an idempotent producer needs acks: all, found acks: {workload.acks}",
        )
    if workload.record < HEADER_BYTES:
        yield (
            ("workload", "record"),
            f"{workload.record} bytes cannot carry a record's id; at least {HEADER_BYTES}B",
        )
    for key in workload.client:
        if key in OWNED_BY_THE_HARNESS:
            yield (
                ("workload", "client", key),
                f"is set by the harness; use the key {OWNED_BY_THE_HARNESS[key]}",
            )


def _client(scenario: Scenario) -> Iterator[Contradiction]:
    """What the client library refuses of `workload.client`, or of the settings made from the other keys."""
    if refusal := client_refusal(scenario):
        yield ("workload", "client") if scenario.workload.client else ("workload",), refusal


def _storm(scenario: Scenario) -> Iterator[Contradiction]:
    if scenario.storm is not None and scenario.faults:
        yield ("storm",), "a scenario has faults or a storm, not both"


MIN_ISR = "min.insync.replicas"

OWNED_BY_THE_HARNESS = {
    "acks": "workload.acks",
    "request.required.acks": "workload.acks",
    "enable.idempotence": "workload.idempotence",
    "delivery.timeout.ms": "workload.delivery_timeout",
    "message.timeout.ms": "workload.delivery_timeout",
    "bootstrap.servers": "cluster",
}

RULES: tuple[Callable[[Scenario], Iterator[Contradiction]], ...] = (
    _topics,
    _cluster,
    _deletion,
    _workload,
    _storm,
)

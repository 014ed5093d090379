"""The cluster of a scenario as its plan of faults is checked against it."""

from collections.abc import Iterable, Mapping

from compose.kafka.coordinators import TRANSACTION_LOG
from compose.releases.settings import settings_of
from compose.spec.server_properties import server_properties
from compose.spec.topology import Topology, edges
from faults.kinds.admin.settings_text import CLUSTER_SETTINGS, TOPIC_SETTINGS
from faults.targets.facts import Facts, TopicFacts
from harness.scenario.cluster.kafka_settings import MIN_ISR, OF_BROKERS, effective
from harness.scenario.model import Scenario, TopicPart


def facts_of(scenario: Scenario, topology: Topology) -> Facts:
    """Nodes, edges, topics and settings with which the cluster begins."""
    return Facts(
        brokers=topology.broker_ids,
        controllers=topology.controller_ids,
        edges=edges(topology),
        has_elr=topology.elr_on,
        topics=tuple(_topic(topic, scenario, topology) for topic in scenario.topics),
        release=topology.oldest_version,
        releases=tuple((node, topology.release_of(node)) for node in topology.nodes),
        log_dirs=topology.log_dirs,
        settings=tuple(_of_brokers(CLUSTER_SETTINGS, topology).items()),
        internal=_internal(scenario, topology),
        transactional_ids=scenario.workload.transactional_ids,
    )


def _topic(topic: TopicPart, scenario: Scenario, topology: Topology) -> TopicFacts:
    min_isr = int(effective(MIN_ISR, topic.config, scenario.cluster.broker_config) or 1)
    names = {OF_BROKERS.get(key, key): key for key in TOPIC_SETTINGS}
    of_brokers = {names[key]: value for key, value in _of_brokers(names, topology).items()}
    own = {key: _as_said(topic.config[key]) for key in TOPIC_SETTINGS if key in topic.config}
    return TopicFacts(
        name=topic.name,
        partitions=topic.partitions,
        replication=topic.replication,
        min_isr=min(min_isr, topic.replication),
        settings=tuple((of_brokers | own).items()),
    )


def _of_brokers(names: Iterable[str], topology: Topology) -> Mapping[str, str]:
    """The settings of every broker, without those of which the controllers have a value of their own: some of
    these outrank the brokers'."""
    written = server_properties(topology, topology.broker_ids[0], client_address="")
    known = settings_of(topology.kafka, "broker")
    return {
        name: _as_said(written.get(name, known[name].default))
        for name in names
        if name not in topology.controller_config
    }


def _as_said(value: str) -> str:
    """A number or a word as brokers say it: "+02" is "2", "TRUE" is "true"."""
    text = value.strip().lower()
    return text if text in ("true", "false") else str(int(text))


def _internal(scenario: Scenario, topology: Topology) -> tuple[TopicFacts, ...]:
    """The transaction log, which Kafka makes for the first producer of a load with transactions."""
    if scenario.workload.transactions is None:
        return ()
    settings = server_properties(topology, 1, client_address="")
    partitions, replication, min_isr = (
        int(settings[f"transaction.state.log.{name}"])
        for name in ("num.partitions", "replication.factor", "min.isr")
    )
    log = TopicFacts(name=TRANSACTION_LOG, partitions=partitions, replication=replication, min_isr=min_isr)
    return (log,)

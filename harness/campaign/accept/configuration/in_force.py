"""The configuration that is in force: what a file says of the topic, else the setting of the brokers, or of
the controllers where these decide, else the release's default.
"""

from collections.abc import Mapping

from checkers.promises.configuration import ClusterSettings, Configuration, TopicSettings
from compose.releases.settings import settings_of
from compose.releases.upgrades import version_of
from harness.campaign.accept.configuration.configuration_file import UNKNOWN_RACK, AcceptFile
from harness.campaign.accept.configuration.producer_settings import settings
from harness.scenario.cluster.deletion import retention_ms
from harness.scenario.cluster.kafka_settings import MIN_ISR, OF_BROKERS
from harness.scenario.model import topology_of

UNCLEAN = "unclean.leader.election.enable"
NEVER = 2**63 - 1
"""How Kafka writes that a number has no bound."""
FOR_EVER_MS = 100 * 365 * 86_400_000
"""A century."""
FLUSH_CHECK = "log.flush.scheduler.interval.ms"
NAMES_OF_BROKERS: Mapping[str, str] = {
    **OF_BROKERS,
    "cleanup.policy": "log.cleanup.policy",
    "message.timestamp.type": "log.message.timestamp.type",
    "retention.bytes": "log.retention.bytes",
}
"""The brokers' name of a topic's setting, where it is another one."""


def configuration_of(asked: AcceptFile, *, replicas_in_one_rack: int = 0) -> Configuration:
    """All that decides a promise."""
    return Configuration(
        topic=_topic(asked),
        producer=settings(asked.producer, asked.cluster.kafka),
        cluster=_cluster(asked, replicas_in_one_rack),
    )


def value_of(asked: AcceptFile, name: str) -> str:
    """A topic's setting as Kafka would have it; "" for one that the release does not have."""
    known = settings_of(asked.cluster.kafka, "topic")
    of_nodes = asked.cluster.broker_config | {
        key: text for key, text in asked.cluster.controller_config.items() if key in _of_controllers(asked)
    }
    found = asked.topic.config.get(name, of_nodes.get(NAMES_OF_BROKERS.get(name, name)))
    return found if found is not None else known[name].default if name in known else ""


def _of_controllers(asked: AcceptFile) -> tuple[str, ...]:
    """The settings of which the controllers' value counts. They elect; a leader counts who is in sync, and
    with eligible leader replicas by the value that the controllers were formatted with.
    """
    return (UNCLEAN, MIN_ISR) if _elr_on(asked) else (UNCLEAN,)


def _elr_on(asked: AcceptFile) -> bool:
    return topology_of(asked.scenario().cluster).elr_on


def _topic(asked: AcceptFile) -> TopicSettings:
    flush_messages = int(value_of(asked, "flush.messages"))
    retention_bytes = int(value_of(asked, "retention.bytes")) if _deletes(asked) else -1
    oldest_ms = _oldest_ms(asked)
    return TopicSettings(
        replication=asked.topic.replication,
        min_isr=int(value_of(asked, MIN_ISR)),
        unclean=value_of(asked, UNCLEAN).lower() == "true",
        flush_messages=None if flush_messages == NEVER else flush_messages,
        flush_s=_flush_s(asked),
        retention_s=_retention_s(asked),
        retention_bytes=None if retention_bytes < 0 else retention_bytes,
        compacted="compact" in value_of(asked, "cleanup.policy").lower(),
        stamped_by_broker=value_of(asked, "message.timestamp.type").strip() == "LogAppendTime",
        oldest_stamp_s=None if oldest_ms == NEVER else oldest_ms / 1000,
    )


def _oldest_ms(asked: AcceptFile) -> int:
    """How old a record may be that a broker takes. Until 4.0 there was one bound for what is too old and what
    is too new, and it counts where the own one is at its default, of brokers and of a topic.

    Source: `KafkaConfig.logMessageTimestampBeforeMaxMs`, `LogConfig.getMessageTimestampBeforeMaxMs`.
    """
    before, both = "message.timestamp.before.max.ms", "message.timestamp.difference.max.ms"
    of_topic, of_brokers = asked.topic.config, asked.cluster.broker_config
    earlier = int(of_brokers.get(f"log.{both}", NEVER))
    brokers = int(of_brokers.get(f"log.{before}", NEVER))
    own = int(of_topic.get(before, earlier if brokers == NEVER else brokers))
    return int(of_topic.get(both, earlier)) if own == NEVER else own


def _deletes(asked: AcceptFile) -> bool:
    return "delete" in value_of(asked, "cleanup.policy").lower()


def _flush_s(asked: AcceptFile) -> float | None:
    """None: never for its age. Where nobody says flush.ms, it is the time between two looks for it."""
    own, brokers = asked.topic.config.get("flush.ms"), asked.cluster.broker_config
    of_brokers = brokers.get("log.flush.interval.ms", brokers.get(FLUSH_CHECK, str(NEVER)))
    return _seconds(of_brokers if own is None else own)


def _seconds(ms: str) -> float | None:
    return None if int(ms) == NEVER else int(ms) / 1000


def _retention_s(asked: AcceptFile) -> float | None:
    """None: for ever, or by size alone. So long that no clock is so wrong is for ever too."""
    if not _deletes(asked):
        return None
    kept_ms = retention_ms(asked.topic.config, asked.cluster.broker_config)
    return None if kept_ms < 0 or kept_ms >= FOR_EVER_MS else kept_ms / 1000


def _cluster(asked: AcceptFile, replicas_in_one_rack: int) -> ClusterSettings:
    brokers, known = asked.cluster.broker_config, settings_of(asked.cluster.kafka, "broker")
    controllers = {**brokers, **asked.cluster.controller_config}

    def seconds(name: str, config: Mapping[str, str] = brokers) -> float:
        return int(config.get(name, known[name].default)) / 1000

    racks = asked.cluster.racks
    creates = brokers.get("auto.create.topics.enable", known["auto.create.topics.enable"].default)

    def said(name: str) -> int | None:
        return int(brokers[name]) if name in brokers else None

    return ClusterSettings(
        release=asked.release,
        formatted=None if asked.cluster.formatted is None else version_of(asked.cluster.formatted),
        brokers=asked.cluster.brokers,
        controllers=asked.cluster.controllers,
        combined=asked.cluster.combined,
        elr=_elr_on(asked),
        session_s=seconds("broker.session.timeout.ms", controllers),
        heartbeat_s=seconds("broker.heartbeat.interval.ms"),
        lag_max_s=seconds("replica.lag.time.max.ms"),
        fetch_wait_s=seconds("replica.fetch.wait.max.ms"),
        flush_check_s=_seconds(brokers.get(FLUSH_CHECK, str(NEVER))),
        creates_topics=creates.strip().lower() == "true",
        default_replication=said("default.replication.factor"),
        offsets_replication=said("offsets.topic.replication.factor"),
        transactions_min_isr=said("transaction.state.log.min.isr"),
        racks={int(broker): rack for broker, rack in racks.items() if rack != UNKNOWN_RACK},
        unknown_racks=[*racks.values()].count(UNKNOWN_RACK),
        replicas_in_one_rack=replicas_in_one_rack,
    )

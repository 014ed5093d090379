"""A configuration to be accepted: the settings of a topic, its producers and its brokers that decide
anything.

Every value is the one in force: a topic's own, else the brokers', else the release's default. `None` of a
time is "never", or "for ever".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from checkers.contract.realised.settings import Acks
from checkers.history.operations.node_releases import UNCLEAN_EXISTS

DEFAULT_RETRIES = 2**31 - 1
MOST_IN_FLIGHT_OF_IDEMPOTENCE = 5
"""A broker remembers that many batches of each producer (KIP-98)."""
COUNTS_AT_MOST_ALL = (3, 7)
"""From this release on, min.insync.replicas counts as no more than there are replicas (KAFKA-15583)."""
HIDES_BELOW_MIN_ISR = (3, 7)
"""From this release on, the high watermark stands still while fewer than min.insync.replicas are in sync
(KAFKA-15583)."""
ELR_EXISTS = (4, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """A topic. `flush_messages`: records after which a log is flushed; None: whenever the kernel does.
    `flush_s`: the age of a log's last flush at which the brokers flush it again, once they look for that.
    """

    replication: int = 3
    min_isr: int = 1
    unclean: bool = False
    flush_messages: int | None = None
    flush_s: float | None = None
    retention_s: float | None = 7 * 86_400.0
    retention_bytes: int | None = None
    compacted: bool = False
    stamped_by_broker: bool = False
    """Whether message.timestamp.type is LogAppendTime."""
    oldest_stamp_s: float | None = None
    """message.timestamp.before.max.ms: how old a record may be that a broker takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """Every producer of the topic. `idempotence` is what is in force, `asked_idempotence` what is written.

    `unknown` are settings that the release's producer does not have, each with the nearest one ("": none).
    """

    acks: Acks = "all"
    idempotence: bool = True
    asked_idempotence: bool | None = None
    retries: int = DEFAULT_RETRIES
    max_in_flight: int = 5
    delivery_timeout_s: float = 120.0
    request_timeout_s: float = 30.0
    linger_s: float = 0.0
    unknown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The brokers and controllers. `racks`: of each broker that has one."""

    release: tuple[int, int] = (4, 3)
    formatted: tuple[int, int] | None = None
    """The release whose metadata.version the cluster has, where that is said to be another one."""
    brokers: int = 3
    controllers: int = 3
    combined: bool = False
    """Whether each controller is a broker too."""
    elr: bool = True
    session_s: float = 9.0
    heartbeat_s: float = 2.0
    lag_max_s: float = 30.0
    fetch_wait_s: float = 0.5
    flush_check_s: float | None = None
    """log.flush.scheduler.interval.ms: how often brokers look for logs whose last flush is too old."""
    creates_topics: bool = False
    """Whether a topic that is written to and does not exist is made: auto.create.topics.enable, as asked."""
    default_replication: int | None = None
    offsets_replication: int | None = None
    transactions_min_isr: int | None = None
    """What is None here is not said."""
    racks: Mapping[int, str] = field(default_factory=dict)
    unknown_racks: int = 0
    """Brokers that may have one, and nobody knows."""
    replicas_in_one_rack: int = 0
    """Of a live topic: partitions that have all their replicas in one rack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All of it."""

    topic: TopicSettings = TopicSettings()
    producer: ProducerSettings = ProducerSettings()
    cluster: ClusterSettings = ClusterSettings()

    @property
    def min_isr(self) -> int:
        """min.insync.replicas, as far as there are replicas: no more can have a record."""
        return min(self.topic.min_isr, self.topic.replication)

    @property
    def hidden_below_min_isr(self) -> bool:
        """Whether readers do not see what is written while fewer than min.insync.replicas are in sync."""
        return self.cluster.release >= HIDES_BELOW_MIN_ISR

    @property
    def waits_for_all(self) -> bool:
        """Whether an acknowledgement is of all in-sync replicas."""
        return self.producer.acks == "all"

    @property
    def acknowledged_by_all(self) -> bool:
        """Whether every in-sync replica has what is acknowledged: a single one is all of them."""
        return self.waits_for_all or (self.producer.acks == "1" and self.topic.replication == 1)

    @property
    def needed(self) -> int:
        """How many in-sync replicas a write needs, as a leader counts: before COUNTS_AT_MOST_ALL more than
        there are.
        """
        if not self.waits_for_all:
            return 1
        return self.topic.min_isr if self.cluster.release < COUNTS_AT_MOST_ALL else self.min_isr

    @property
    def beyond_needed(self) -> int:
        """How many replicas there are beyond those that a write needs; below 0: no write is ever taken."""
        return self.topic.replication - self.needed

    @property
    def spare(self) -> int:
        """How many replicas may be away while writes go on; below 0: no write is ever taken. Where brokers
        are controllers, no more than leave these a majority, which elects leaders.
        """
        if not self.cluster.combined:
            return self.beyond_needed
        return min(self.beyond_needed, (self.cluster.controllers - 1) // 2)

    @property
    def reads_unclean(self) -> bool:
        """Whether its controllers read unclean.leader.election.enable."""
        return self.cluster.release >= UNCLEAN_EXISTS

    @property
    def stale_may_lead(self) -> bool:
        """Whether a replica is elected that is not in sync, unasked, and there is another one."""
        return self.topic.unclean and self.reads_unclean and self.topic.replication > 1

    @property
    def flushed(self) -> bool:
        """Whether no power loss takes a record from a replica that has answered for it: leader and followers
        flush in the append, whatever a producer waits for.
        """
        return self.topic.flush_messages == 1

    @property
    def takes_what_is_too_old(self) -> bool:
        """Whether brokers take a record that its producer dates further back than records are kept."""
        kept_s, oldest_s = self.topic.retention_s, self.topic.oldest_stamp_s
        if kept_s is None or self.topic.stamped_by_broker:
            return False
        return oldest_s is None or oldest_s > kept_s

    @property
    def flushed_within_s(self) -> float | None:
        """After how long brokers have flushed what was appended, for its age alone; None: never."""
        if self.topic.flush_s is None or self.cluster.flush_check_s is None:
            return None
        return self.topic.flush_s + self.cluster.flush_check_s

    @property
    def fail_over_s(self) -> float:
        """After how long whoever a write waits for is missed: a leader by the controllers, and where a leader
        waits for its followers, a follower by it. The longer of both.

        A leader looks for followers that lag twice in replica.lag.time.max.ms, so one and a half times that.
        """
        if not self.waits_for_all or self.topic.replication == 1:
            return self.cluster.session_s
        return max(self.cluster.session_s, 1.5 * self.cluster.lag_max_s)

"""Changes of a running Kafka cluster, spoken over the wire: the first broker that answers passes them on.

A connection is opened for each change: a standing one may have been closed since, and a change that fails
half way is not sent again on the same connection. Over it the broker is asked for something else first, and
gets the change only when it has just answered. One that is paused would find the change when it goes on, and
pass it on then: after what it was to do was undone through another broker.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TypeVar

from compose.admin_protocol import ElectionKind, Feature, Place, Quorum, Resource
from compose.errors import AdminRefused, BrokerSilent, ViewError
from compose.kafka import admin_api
from compose.kafka.admin_api import Outcome
from compose.kafka.broker_api import offered
from compose.kafka.brokers import Ask, Brokers
from compose.kafka.wire import Connection

CHANGE_S = 6.0
"""For each broker that is asked. A change takes some milliseconds; while the controllers elect a leader the
broker that passes it on waits for that, for up to TIMEOUT_MS."""
TIMEOUT_MS = 5000
HELLO_S = 1.0
"""For each broker but the last one, to show that it answers: milliseconds, on a busy machine tenths."""
ASK_S = 2.0

UNKNOWN_TOPIC, TOPIC_EXISTS, INVALID_PARTITIONS, ELECTION_NOT_NEEDED = 3, 36, 37, 84
ERRORS = {
    UNKNOWN_TOPIC: "UNKNOWN_TOPIC_OR_PARTITION",
    7: "REQUEST_TIMED_OUT",
    17: "INVALID_TOPIC_EXCEPTION",
    35: "UNSUPPORTED_VERSION",
    TOPIC_EXISTS: "TOPIC_ALREADY_EXISTS",
    INVALID_PARTITIONS: "INVALID_PARTITIONS",
    38: "INVALID_REPLICATION_FACTOR",
    39: "INVALID_REPLICA_ASSIGNMENT",
    40: "INVALID_CONFIG",
    41: "NOT_CONTROLLER",
    42: "INVALID_REQUEST",
    80: "PREFERRED_LEADER_NOT_AVAILABLE",
    83: "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    ELECTION_NOT_NEEDED: "ELECTION_NOT_NEEDED",
    95: "INVALID_UPDATE_VERSION",
    96: "FEATURE_UPDATE_FAILED",
}
"""The names of Kafka's error codes, where it adds no words of its own (Errors.java)."""

Change = Callable[[Connection], tuple[Outcome, ...]]
Answer = TypeVar("Answer")


class ClusterAdmin:
    """Implements `compose.admin_protocol.Admin`. `bootstrap`: host:port of broker 1, 2, …, by commas."""

    def __init__(self, bootstrap: str) -> None:
        """Nothing is connected yet."""
        self._bootstrap = bootstrap

    def reassign(self, replicas: Mapping[Place, tuple[int, ...]]) -> None:
        """AlterPartitionReassignments."""
        self._change(partial(admin_api.reassign, replicas=replicas, timeout_ms=TIMEOUT_MS))

    def elect(self, partitions: Collection[Place], kind: ElectionKind) -> None:
        """ElectLeaders."""
        change = partial(admin_api.elect, partitions=partitions, kind=kind, timeout_ms=TIMEOUT_MS)
        self._change(change, fine=(ELECTION_NOT_NEEDED,))

    def create_topic(self, name: str, *, partitions: int, replication: int) -> None:
        """CreateTopics."""
        change = partial(
            admin_api.create_topic,
            name=name,
            partitions=partitions,
            replication=replication,
            timeout_ms=TIMEOUT_MS,
        )
        self._change(change, fine=(TOPIC_EXISTS,))

    def add_partitions(self, name: str, *, count: int) -> None:
        """CreatePartitions. Kafka refuses it of a topic that has as many already, and that is fine."""
        change = partial(admin_api.add_partitions, name=name, count=count, timeout_ms=TIMEOUT_MS)
        self._change(change, fine=(INVALID_PARTITIONS,))

    def delete_topic(self, name: str) -> None:
        """DeleteTopics."""
        change = partial(admin_api.delete_topic, name=name, timeout_ms=TIMEOUT_MS)
        self._change(change, fine=(UNKNOWN_TOPIC,))

    def change_settings(self, of: Resource, settings: Mapping[str, str]) -> None:
        """IncrementalAlterConfigs; a broker takes those of its own only."""
        only = (int(of.name),) if of.kind == "broker" and of.name else None
        self._change(partial(admin_api.change_settings, of=of, settings=settings), only=only)

    def settings(self, of: Resource, keys: Collection[str]) -> Mapping[int, Mapping[str, str]]:
        """DescribeConfigs: of a topic asked of every broker, of brokers asked of each about itself."""

        def ask(number: int, connection: Connection) -> dict[str, str]:
            own = of if of.kind == "topic" else Resource(kind="broker", name=str(number))
            return admin_api.settings(connection, own, keys)

        only = (int(of.name),) if of.kind == "broker" and of.name else None
        with Brokers(self._bootstrap, within_s=ASK_S) as brokers:
            return brokers.ask_all(ask, only).given

    def set_feature(self, name: str, level: int, *, only_check: bool = False) -> None:
        """UpdateFeatures, up or down from where the brokers say that it is; nothing if all are at the level.

        Where they differ, some have not learnt of the last change: it is not known which.
        """
        levels = {known.level for known in self.features(name).values()}
        if levels == {level}:
            return
        now = max(levels - {level}, default=0)
        change = partial(
            admin_api.set_feature,
            name=name,
            level=level,
            upgrade=level > now,
            only_check=only_check,
            timeout_ms=TIMEOUT_MS,
        )
        self._change(change)

    def features(self, name: str) -> Mapping[int, Feature]:
        """ApiVersions, of every broker."""
        with Brokers(self._bootstrap, within_s=ASK_S) as brokers:
            answers = brokers.ask_all(lambda _, connection: admin_api.feature(connection, name)).given
        return {number: known for number, known in answers.items() if known is not None}

    def quorum(self) -> Quorum:
        """DescribeQuorum, which a broker passes on to the active controller."""
        return self._by_any(lambda _, connection: admin_api.quorum(connection), None, within_s=ASK_S)

    def _change(
        self, change: Change, *, fine: Collection[int] = (), only: Collection[int] | None = None
    ) -> None:
        """Have it made; AdminRefused for an error that is not `fine`."""
        outcomes = self._by_any(lambda _, connection: change(connection), only, within_s=CHANGE_S)
        if refused := [each for each in outcomes if each.error not in (0, *fine)]:
            raise AdminRefused("; ".join(map(_in_words, refused)))

    def _by_any(self, ask: Ask[Answer], only: Collection[int] | None, *, within_s: float) -> Answer:
        """The answer of the first broker that gives one in time; the last one has as long to show that it
        answers at all, since there is no other."""
        silent: list[str] = []
        with Brokers(self._bootstrap, within_s=within_s) as brokers:
            *others, last = only or brokers.numbers
            for number, hello_s in (*((each, HELLO_S) for each in others), (last, within_s)):
                try:
                    return brokers.ask(number, _once_it_answers(ask, hello_s))
                except BrokerSilent as error:
                    silent.append(str(error))
        raise ViewError(f"no broker passes it on to the controllers: {'; '.join(silent)}")


def _once_it_answers(ask: Ask[Answer], hello_s: float) -> Ask[Answer]:
    """The same question of a broker that answers another one before, within `hello_s`."""

    def hello_and_ask(number: int, connection: Connection) -> Answer:
        connection.begin_question(hello_s)
        offered(connection)
        connection.begin_question()
        return ask(number, connection)

    return hello_and_ask


def _in_words(outcome: Outcome) -> str:
    name = ERRORS.get(outcome.error, f"error {outcome.error}")
    return f"Kafka refuses {outcome.of}: {name}" + (f", {outcome.reason}" if outcome.reason else "")

"""What a running cluster says of one topic and of its brokers: read only, nothing is written or changed.

Kafka's DescribeConfigs gives each setting with where it comes from; what nobody has set is left out.
"""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it re-exports without saying so
    AdminClient,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from workloads.errors import ClientRefused, TopicUnreadable
from workloads.plan import QUIET

ANSWER_S = 20.0
OWN = ("bootstrap.servers", "metadata.broker.list", "socket.timeout.ms")
"""Settings of the client that are not the user's; the second is another name of the first."""
ADDRESS = re.compile(r"(\w+://)?(\[[^\[\]\s]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})")
UNSAID = (ConfigSource.DEFAULT_CONFIG, ConfigSource.UNKNOWN_CONFIG)
SILENT = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.REQUEST_TIMED_OUT)
"""The errors of a broker that does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBroker:
    """One broker: its settings that are not Kafka's defaults, without secrets; `rack` "" for none.

    `address` is the host:port at which clients like this one reach it.
    """

    number: int
    address: str
    rack: str
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTopic:
    """One topic: the replicas of each partition, and its settings that are not Kafka's defaults.

    `brokers` are those that answer; a replica may be on one that does not.
    """

    name: str
    replicas: tuple[tuple[int, ...], ...]
    config: Mapping[str, str]
    brokers: tuple[LiveBroker, ...]


def read_topic(name: str, bootstrap: str, client: Mapping[str, str]) -> LiveTopic:
    """Ask the cluster at `bootstrap` ("host:port,…") for a topic; `client` are librdkafka's settings.

    Raises ClientRefused; TopicUnreadable: no answer within 20 s, no such topic, no right to read it.
    """
    refuse_settings(bootstrap, client)
    admin = _admin({**QUIET, **client, "bootstrap.servers": bootstrap, "socket.timeout.ms": "10000"})
    try:
        described = admin.describe_topics(TopicCollection([name]), request_timeout=ANSWER_S)
        topic = described[name].result(ANSWER_S)
        cluster = admin.describe_cluster(request_timeout=ANSWER_S).result(ANSWER_S)
        numbers = sorted(node.id for node in cluster.nodes)
        config = said(_asked(admin, ResourceType.TOPIC, name).result(ANSWER_S).values())
        answers = {number: _asked(admin, ResourceType.BROKER, str(number)) for number in numbers}
        of_brokers = {number: its for number in numbers if (its := _of_broker(answers[number])) is not None}
        if not of_brokers:
            raise TimeoutError("no broker says its settings")
    except (KafkaException, TimeoutError, ValueError) as error:
        raise TopicUnreadable(f"topic {name} at {bootstrap}: {_reason(error)}") from error
    nodes = {node.id: node for node in cluster.nodes}
    partitions = sorted(topic.partitions, key=lambda one: one.id)
    return LiveTopic(
        name=name,
        replicas=tuple(tuple(node.id for node in one.replicas) for one in partitions),
        config=config,
        brokers=tuple(
            LiveBroker(
                number=number,
                address=f"{nodes[number].host}:{nodes[number].port}",
                rack=nodes[number].rack or "",
                config=its,
            )
            for number, its in of_brokers.items()
        ),
    )


def refuse_settings(bootstrap: str, client: Mapping[str, str]) -> None:
    """ClientRefused for an address that is none, and for a setting that would be replaced."""
    for address in bootstrap.split(","):
        found = ADDRESS.fullmatch(address.strip())
        if found is None or not 0 < int(found["port"]) < 1 << 16:
            raise ClientRefused(f"bootstrap: {address!r} is no address; write host:port, as localhost:9092")
    for name in client:
        if name in OWN:
            raise ClientRefused(f"client: {name} is set by highwater; allowed: any other setting")


def _admin(settings: dict[str, str | int | float | bool]) -> AdminClient:
    try:
        return AdminClient(settings)
    except (KafkaException, ValueError, TypeError, AttributeError) as error:  # some settings are functions
        raise ClientRefused(f"client: {_reason(error)}") from error


def _asked(admin: AdminClient, kind: ResourceType, name: str) -> "Future[Any]":
    """The settings of one topic, or of one broker, which is asked itself."""
    resource = ConfigResource(kind, name)
    answer: Future[Any] = admin.describe_configs([resource], request_timeout=ANSWER_S)[resource]
    return answer


def _of_broker(answer: "Future[Any]") -> dict[str, str] | None:
    """What a broker says; None if it says nothing: one that has just ended is listed for a session more."""
    try:
        return said(answer.result(ANSWER_S).values())
    except TimeoutError:
        return None
    except KafkaException as error:
        if error.args[0].code() in SILENT:
            return None
        raise


def said(entries: Sequence[Any]) -> dict[str, str]:
    """The settings that somebody has set, without secrets. `entries` are the client's ConfigEntry."""
    return {
        entry.name: entry.value
        for entry in entries
        if ConfigSource(entry.source) not in UNSAID and not entry.is_sensitive and entry.value is not None
    }


def _reason(error: BaseException) -> str:
    if isinstance(error, KafkaException):
        return str(error.args[0].str())
    return str(error) or f"no answer within {ANSWER_S:g} s"

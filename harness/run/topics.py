"""Creates a scenario's topics, and reads back the settings they really got: the contract rests on them."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it re-exports without saying so
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from harness.errors import StepFailed
from harness.scenario.model import TopicPart

ANSWER_S = 30.0
DECISIVE = ("min.insync.replicas", "unclean.leader.election.enable", "flush.messages", "flush.ms")
"""The settings that decide what may be lost."""


def create(bootstrap: str, topics: Sequence[TopicPart]) -> None:
    """Create the topics. StepFailed if the brokers refuse one."""
    admin = _client(bootstrap)  # held until the answers are there: without it nobody waits for them
    made = admin.create_topics([_wanted(topic) for topic in topics], operation_timeout=ANSWER_S)
    for name, future in made.items():
        try:
            future.result(ANSWER_S)
        except KafkaException as error:
            raise StepFailed(f"topic {name}", f"the brokers refused it: {error.args[0].str()}") from None


def realised(bootstrap: str, topics: Sequence[TopicPart]) -> list[dict[str, Any]]:
    """The topics as the manifest lists them, with the settings that a broker tells; they must be settled."""
    admin = _client(bootstrap)
    return [_realised(admin, topic) for topic in topics]


def _client(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 500})


def _wanted(topic: TopicPart) -> NewTopic:
    return NewTopic(topic.name, topic.partitions, topic.replication, config=dict(topic.config))


def _realised(admin: AdminClient, topic: TopicPart) -> dict[str, Any]:
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    found = admin.describe_configs([resource], request_timeout=ANSWER_S)[resource].result(ANSWER_S)
    effective = {key: found[key].value for key in DECISIVE if key in found}
    return {
        "name": topic.name,
        "partitions": topic.partitions,
        "replication": topic.replication,
        "config": {**topic.config, **effective},
    }

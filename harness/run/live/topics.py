"""Creates and deletes topics, and reads back the settings they really got: the contract rests on them."""

from collections.abc import Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it re-exports without saying so
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from compose.errors import ViewError
from compose.host.waiting import wait_until
from compose.protocols import View
from harness.errors import StepFailed
from harness.run_directory.manifest import ManifestTopic
from harness.scenario.cluster.kafka_settings import LOSS_SETTINGS
from harness.scenario.model import TopicPart

ANSWER_S = 30.0
DELETED_S = 10.0
"""A broker learns of a deletion with its next fetch of the metadata log, within half a second."""


def create(bootstrap: str, topics: Sequence[TopicPart]) -> None:
    """Create the topics. StepFailed if the brokers refuse one."""
    admin = _client(bootstrap)  # kept until the answers are there: without the client no answer arrives
    made = admin.create_topics([_wanted(topic) for topic in topics], operation_timeout=ANSWER_S)
    for name, future in made.items():
        try:
            future.result(ANSWER_S)
        except KafkaException as error:
            raise StepFailed(f"topic {name}", f"the brokers refused it: {error.args[0].str()}") from None


def delete_all(bootstrap: str, view: View) -> None:
    """Delete every topic that is not internal, until no broker knows one. StepFailed, ViewError."""
    names = sorted({topic for topic, _ in view.leaders()})
    if not names:
        return
    admin = _client(bootstrap)
    for name, future in admin.delete_topics(names, operation_timeout=ANSWER_S).items():
        try:
            future.result(ANSWER_S)
        except KafkaException as error:
            raise StepFailed(f"topic {name}", f"it was not deleted: {error.args[0].str()}") from None
    wait_until(
        "topics that a broker knows: none",
        lambda: sorted({topic for topic, _ in view.leaders()}),
        lambda known: not known,
        within_s=DELETED_S,
        every_s=0.05,
        error=ViewError,
    )


def read_back(bootstrap: str, topics: Sequence[TopicPart]) -> tuple[ManifestTopic, ...]:
    """The topics for the manifest, with the settings that a broker reports; they must be settled."""
    admin = _client(bootstrap)
    return tuple(_read_back(admin, topic) for topic in topics)


def _client(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 500})


def _wanted(topic: TopicPart) -> NewTopic:
    return NewTopic(topic.name, topic.partitions, topic.replication, config=dict(topic.config))


def _read_back(admin: AdminClient, topic: TopicPart) -> ManifestTopic:
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    found = admin.describe_configs([resource], request_timeout=ANSWER_S)[resource].result(ANSWER_S)
    effective = {key: found[key].value for key in LOSS_SETTINGS if key in found}
    return ManifestTopic(
        name=topic.name,
        partitions=topic.partitions,
        replication=topic.replication,
        config={**topic.config, **effective},
    )

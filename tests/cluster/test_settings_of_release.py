"""The shipped table of settings says what the default release says of itself, in its own documentation."""

import html
import re

import pytest

from compose.docker import api as docker_api
from compose.releases.settings import Setting, settings_of
from compose.setup import prepare
from compose.spec import images

CLASSES = {"topic": "org.apache.kafka.storage.internals.log.LogConfig", "broker": "kafka.server.KafkaConfig"}
OF_THE_AUTHORIZER = {"super.users", "allow.everyone.if.no.acl.found"}
CHANGED_IN_A_RUNNING_BROKER_ONLY = {
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
}
INTERNAL = [
    "controller.performance.always.log.threshold.ms",
    "controller.performance.sample.period.ms",
    "group.consumer.regex.refresh.interval.ms",
    "group.share.initialize.retry.interval.ms",
    "group.share.persister.class.name",
    "internal.metadata.delete.delay.millis",
    "internal.metadata.log.segment.bytes",
    "internal.metadata.max.batch.size.in.bytes",
    "internal.segment.bytes",
    "log.initial.task.delay.ms",
    "producer.id.expiration.check.interval.ms",
    "remote.log.index.file.cache.ttl.ms",
    "remote.log.manager.task.retry.backoff.max.ms",
    "remote.log.manager.task.retry.backoff.ms",
    "remote.log.manager.task.retry.jitter",
    "server.max.startup.time.ms",
    "share.coordinator.cold.partition.snapshot.interval.ms",
    "share.coordinator.state.topic.prune.interval.ms",
    "unclean.leader.election.interval.ms",
    "unstable.api.versions.enable",
    "unstable.feature.versions.enable",
]
"""A node reads them, and the page of the documentation leaves them out."""
ENTRY = re.compile(
    r'<h4><a id="(?P<name>[^"]+)">.*?<th>Type:</th><td>(?P<type>\w+)</td>.*?'
    r"<th>Valid Values:</th><td>(?P<values>.*?)</td>",
    re.DOTALL,
)


SAID = {"(any case)": "", "(not empty)": "non-empty"}
"""What the page says of a word that stands for something else."""


@pytest.mark.parametrize("scope", ["topic", "broker"])
def test_names_types_and_ranges_are_those_that_the_release_prints(scope: str) -> None:
    prepare.ensure_images(on_line=lambda line: None)
    documented = entries(printed_by(CLASSES[scope]))
    for name in CHANGED_IN_A_RUNNING_BROKER_ONLY:
        documented.pop(name, None)
    shipped = settings_of("4.3.1", scope)
    assert len(documented) == {"topic": 33, "broker": 340}[scope]
    assert {name: as_documented(shipped[name], documented[name]) for name in documented} == documented
    assert shipped.keys() - documented.keys() <= {*OF_THE_AUTHORIZER, *INTERNAL}


def printed_by(main_class: str) -> str:
    """What the class's own `main` prints: the page of its settings in Kafka's documentation."""
    argv = ["java", "-cp", images.CLASSPATH, main_class]
    container = docker_api.client().containers.create(
        images.kafka_image("4.3.1"), argv, labels={"highwater.image": "test"}
    )
    try:
        container.start()
        container.wait(timeout=60)
        return container.logs(stderr=False).decode()
    finally:
        container.remove(force=True, v=True)


def entries(page: str) -> dict[str, tuple[str, str]]:
    """(type, valid values) of each setting of a page, by its name."""
    return {found["name"]: (found["type"], html.unescape(found["values"])) for found in ENTRY.finditer(page)}


def as_documented(setting: Setting, documented: tuple[str, str]) -> tuple[str, str]:
    """The same of a shipped setting; words and what only code checks, as the page has them."""
    values = documented[1]
    if setting.least or setting.greatest:
        values = f"[{setting.least or '...'},...{f',{setting.greatest}' if setting.greatest else ''}]"
    elif setting.words:
        assert all(SAID.get(word, word) in values for word in setting.words)
    else:
        assert not re.fullmatch(r"\[-?[\d.]+,.*\]", values)
    return setting.type.lower(), values

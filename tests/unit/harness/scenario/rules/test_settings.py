"""Settings that the chosen release does not know, or cannot take, are refused at their place."""

import pytest
from fakes.run.refusals import complaints

TOPIC = "{name: orders, config: {%s}}"


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (
            "message.timestamp.before.max.ms: 0",
            "demo.yaml:3:67: topics[0].config.message.timestamp.before.max.ms: 0 is refused: every record "
            "would be too old when it arrives; allowed: above 0",
        ),
        (
            "min.insynk.replicas: 2",
            "demo.yaml:3:34: topics[0].config.min.insynk.replicas: Kafka 4.3.1 has no setting "
            "'min.insynk.replicas' of topics; did you mean min.insync.replicas?",
        ),
        (
            "message.format.version: '2.8'",
            "demo.yaml:3:34: topics[0].config.message.format.version: Kafka 4.3.1 has no setting "
            "'message.format.version' of topics; only 3.6.0-3.9.2 have it",
        ),
        (
            "log.roll.ms: 1000",
            "demo.yaml:3:34: topics[0].config.log.roll.ms: Kafka 4.3.1 has no setting 'log.roll.ms' of "
            "topics; brokers have it",
        ),
        (
            "segment.bytes: 1MB",
            "demo.yaml:3:49: topics[0].config.segment.bytes: expected a whole number, found '1MB'",
        ),
        (
            "segment.bytes: 1000",
            "demo.yaml:3:49: topics[0].config.segment.bytes: 1000 is too small; allowed: at least 1048576",
        ),
        (
            "max.message.bytes: 2147483648",
            "demo.yaml:3:53: topics[0].config.max.message.bytes: 2147483648 is too large; allowed: "
            "at most 2147483647",
        ),
        (
            "flush.messages: 1e3",
            "demo.yaml:3:50: topics[0].config.flush.messages: expected a whole number, found '1000.0'",
        ),
        (
            "min.cleanable.dirty.ratio: 1.5",
            "demo.yaml:3:61: topics[0].config.min.cleanable.dirty.ratio: 1.5 is too large; "
            "allowed: at most 1",
        ),
        (
            "preallocate: 'on'",
            "demo.yaml:3:47: topics[0].config.preallocate: expected true or false, found 'on'",
        ),
        (
            "compression.type: zip",
            "demo.yaml:3:52: topics[0].config.compression.type: unknown 'zip'; allowed: gzip, lz4, producer, "
            "snappy, uncompressed, zstd",
        ),
    ],
)
def test_a_topic_has_the_settings_of_its_release(config: str, complaint: str) -> None:
    assert complaints(topics=TOPIC % config) == (complaint,)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (
            "broker_config: {replica.lag.time.max.ms: -1}",
            "demo.yaml:2:52: cluster.broker_config.replica.lag.time.max.ms: -1 is refused: no follower would "
            "stay in sync; allowed: above 0",
        ),
        (
            "broker_config: {log.message.timestamp.before.max.ms: 0}",
            "demo.yaml:2:64: cluster.broker_config.log.message.timestamp.before.max.ms: 0 is refused: every "
            "record would be too old when it arrives; allowed: above 0",
        ),
        (
            "broker_config: {replica.lag.tyme.max.ms: 3}",
            "demo.yaml:2:27: cluster.broker_config.replica.lag.tyme.max.ms: Kafka 4.3.1 has no setting "
            "'replica.lag.tyme.max.ms' of brokers; did you mean replica.lag.time.max.ms?",
        ),
        (
            "broker_config: {flush.messages: 1}",
            "demo.yaml:2:27: cluster.broker_config.flush.messages: Kafka 4.3.1 has no setting "
            "'flush.messages' of brokers; topics have it",
        ),
        (
            "broker_config: {num.io.threads: 0}",
            "demo.yaml:2:43: cluster.broker_config.num.io.threads: 0 is too small; allowed: at least 1",
        ),
        (
            "controller_config: {broker.session.time.ms: 4000}",
            "demo.yaml:2:31: cluster.controller_config.broker.session.time.ms: Kafka 4.3.1 has no setting "
            "'broker.session.time.ms' of controllers; did you mean broker.session.timeout.ms?",
        ),
        (
            "kafka: 3.6.1, broker_config: {compression.gzip.level: 1}",
            "demo.yaml:2:41: cluster.broker_config.compression.gzip.level: Kafka 3.6.1 has no setting "
            "'compression.gzip.level' of brokers; only 3.8.0-4.3.1 have it",
        ),
        (
            "broker_config: {listener.name.client.max.conections: 5}",
            "demo.yaml:2:27: cluster.broker_config.listener.name.client.max.conections: Kafka 4.3.1 has no "
            "setting 'max.conections' of brokers; did you mean max.connections?",
        ),
    ],
)
def test_brokers_and_controllers_have_the_settings_of_their_release(config: str, complaint: str) -> None:
    assert complaints(cluster=config) == (complaint,)


def test_what_looks_like_no_setting_of_brokers_is_answered_with_some_of_them() -> None:
    (complaint,) = complaints(cluster="broker_config: {foo: 1}")
    assert complaint.startswith(
        "demo.yaml:2:27: cluster.broker_config.foo: Kafka 4.3.1 has no setting 'foo' of brokers; allowed: "
        "add.partitions.to.txn.retry.backoff.max.ms, "
    )
    assert complaint.endswith(" and 322 more of its documentation")


def test_every_wrong_setting_is_listed_at_once_in_the_order_of_the_file() -> None:
    found = complaints(cluster="broker_config: {foo: 1}", topics=TOPIC % "bar: 1, segment.ms: 0")
    assert [line.split(": ")[1] for line in found] == [
        "topics[0].config.bar",
        "topics[0].config.segment.ms",
        "cluster.broker_config.foo",
    ]


@pytest.mark.parametrize(
    "cluster",
    [
        "kafka: 3.9.1, broker_config: {log.message.format.version: '3.0'}",
        "kafka: 3.6.0, broker_config: {num.io.threads: ' 4 '}",
        "broker_config: {group.consumer.migration.policy: Upgrade}",
        "broker_config: {group.coordinator.rebalance.protocols: 'classic, consumer'}",
        "broker_config: {listener.name.client.max.connections: 500}",
        "broker_config: {super.users: 'User:ANONYMOUS'}",
        "broker_config: {replica.lag.time.max.ms: 500, log.message.timestamp.before.max.ms: 1}",
    ],
)
def test_what_a_release_takes_is_not_refused(cluster: str) -> None:
    assert complaints(cluster=cluster) == ()


@pytest.mark.parametrize(
    ("topic", "cluster", "complaint"),
    [
        (
            "message.timestamp.type: LogAppendTime",
            "",
            "demo.yaml:3:58: topics[0].config.message.timestamp.type: 'LogAppendTime' replaces the "
            "timestamps that were sent; allowed: CreateTime",
        ),
        (
            "remote.storage.enable: true",
            "",
            "demo.yaml:3:57: topics[0].config.remote.storage.enable: 'true' moves records off the brokers' "
            "disks; allowed: false",
        ),
        (
            "",
            "broker_config: {remote.log.storage.system.enable: true}",
            "demo.yaml:2:61: cluster.broker_config.remote.log.storage.system.enable: 'true' moves records "
            "off the brokers' disks; allowed: false",
        ),
        (
            "",
            "controller_config: {metadata.max.retention.bytes: 1000000}",
            "demo.yaml:2:61: cluster.controller_config.metadata.max.retention.bytes: 1000000 may delete "
            "records during the run; allowed: -1",
        ),
    ],
)
def test_what_the_checker_cannot_judge_is_refused(topic: str, cluster: str, complaint: str) -> None:
    assert complaints(topics=TOPIC % topic, cluster=cluster) == (complaint,)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (
            "broker_config: {replica.fetch.wait.max.ms: 3001}",
            "demo.yaml:2:54: cluster.broker_config.replica.fetch.wait.max.ms: Kafka does not start with "
            "replica.lag.time.max.ms=3000 below replica.fetch.wait.max.ms=3001",
        ),
        (
            "broker_config: {replica.lag.time.max.ms: 499}",
            "demo.yaml:2:52: cluster.broker_config.replica.lag.time.max.ms: Kafka does not start with "
            "replica.lag.time.max.ms=499 below replica.fetch.wait.max.ms=500",
        ),
    ],
)
def test_nodes_start_with_their_settings_together(config: str, complaint: str) -> None:
    assert complaints(cluster=config) == (complaint,)

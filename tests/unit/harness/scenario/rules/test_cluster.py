"""Clusters and topics that cannot be."""

import pytest
from fakes.run.refusals import complaints


def test_a_release_that_there_is_not_is_refused_with_those_there_are() -> None:
    assert complaints(cluster="kafka: 4.3.7") == (
        "demo.yaml:2:18: cluster.kafka: unknown release '4.3.7'; did you mean 4.3.1? allowed: 3.6.0, 3.6.1, "
        "3.6.2, 3.7.0, 3.7.1, 3.7.2, 3.8.0, 3.8.1, 3.9.0, 3.9.1, 3.9.2, 4.0.0, 4.0.1, 4.0.2, 4.1.0, 4.1.1, "
        "4.1.2, 4.2.0, 4.2.1, 4.3.0, 4.3.1",
    )


def test_a_release_that_formats_is_known_and_not_newer_than_the_nodes() -> None:
    assert complaints(cluster="formatted: 4.0.0") == ()
    (unknown,) = complaints(cluster="formatted: 4.3.7")
    assert unknown.startswith(
        "demo.yaml:2:22: cluster.formatted: unknown release '4.3.7'; did you mean 4.3.1? allowed: 3.6.0, "
    )
    (newer,) = complaints(cluster="kafka: 4.0.0, formatted: 4.3.1")
    assert newer.endswith("4.0.0 does not know the metadata.version of 4.3.1; use it, or an older one")


def test_a_volume_is_a_file_of_ext4() -> None:
    assert complaints(cluster="volume: 16384GiB") == ()
    assert complaints(cluster="volume: 16385GiB") == (
        "demo.yaml:2:19: cluster.volume: 16385GiB is more than a file can hold; allowed: at most 16384GiB",
    )


@pytest.mark.parametrize(
    ("cluster", "complaint"),
    [
        ("log_dirs: 0", "demo.yaml:2:21: cluster.log_dirs: 0; give 1 to 4"),
        ("log_dirs: 5", "demo.yaml:2:21: cluster.log_dirs: 5; give 1 to 4"),
        (
            "log_dirs: 2, kafka: 3.6.1",
            "demo.yaml:2:21: cluster.log_dirs: 2 log directories do not work with KRaft in 3.6.1 (KIP-858); "
            "use 3.7.0 or newer",
        ),
    ],
)
def test_log_directories_that_no_broker_can_have_are_refused(cluster: str, complaint: str) -> None:
    assert complaints(cluster=cluster) == (complaint,)


@pytest.mark.parametrize("cluster", ["log_dirs: 1, kafka: 3.6.1", "log_dirs: 2, kafka: 3.7.0", "log_dirs: 4"])
def test_log_directories_that_a_broker_can_have_are_not(cluster: str) -> None:
    assert complaints(cluster=cluster) == ()


@pytest.mark.parametrize(
    ("cluster", "complaint"),
    [
        (
            "broker_config: {num.io.threads: 4, log.dirs: /tmp}",
            "demo.yaml:2:56: cluster.broker_config.log.dirs: log.dirs is set by highwater for each node; "
            "leave it out",
        ),
        (
            "broker_config: {delete.topic.enable: false}",
            "demo.yaml:2:48: cluster.broker_config.delete.topic.enable: only controllers read "
            "delete.topic.enable; set it in the controller config",
        ),
        (
            "controller_config: {replica.lag.time.max.ms: 30000}",
            "demo.yaml:2:56: cluster.controller_config.replica.lag.time.max.ms: only brokers read "
            "replica.lag.time.max.ms; set it in the broker config",
        ),
        (
            "combined: true, broker_config: {num.io.threads: 4}, controller_config: {num.io.threads: 5}",
            "demo.yaml:2:99: cluster.controller_config.num.io.threads: num.io.threads=5, and 4 in the broker "
            "config; a combined node has one value",
        ),
        (
            'broker_config: {broker.rack: "a\\rlog.dirs=/tmp"}',
            "demo.yaml:2:40: cluster.broker_config.broker.rack: the value of broker.rack has more than one "
            "line, or another control character ('\\r')",
        ),
        (
            "broker_config: {min.insync.replicas: 4}, kafka: 3.6.2, formatted: 3.6.2",
            "demo.yaml:2:48: cluster.broker_config.min.insync.replicas: 4 with 3 brokers can never be met",
        ),
    ],
)
def test_settings_that_would_be_ignored_or_bring_others_along_are_refused_at_their_places(
    cluster: str, complaint: str
) -> None:
    assert complaint in complaints(cluster=cluster)


@pytest.mark.parametrize(
    "cluster",
    [
        "controller_config: {delete.topic.enable: false}",
        "broker_config: {replica.lag.time.max.ms: 30000}",
        "combined: true, broker_config: {num.io.threads: 4}, controller_config: {num.io.threads: 4}",
        "broker_config: {num.io.threads: 4}, controller_config: {num.io.threads: 5}",
        "broker_config: {min.insync.replicas: 4}",
    ],
)
def test_settings_of_the_right_kind_of_node_are_taken(cluster: str) -> None:
    assert complaints(cluster=cluster) == ()


@pytest.mark.parametrize("release", ["4.3", "4", "latest", "'4.3'"])
def test_what_is_no_release_is_refused_with_those_there_are(release: str) -> None:
    (complaint,) = complaints(cluster=f"kafka: {release}")
    assert complaint.startswith(
        f"demo.yaml:2:18: cluster.kafka: unknown release '{release.strip(chr(39))}'; "
    )
    assert complaint.endswith(
        "allowed: 3.6.0, 3.6.1, 3.6.2, 3.7.0, 3.7.1, 3.7.2, 3.8.0, 3.8.1, 3.9.0, 3.9.1, "
        "3.9.2, 4.0.0, 4.0.1, 4.0.2, 4.1.0, 4.1.1, 4.1.2, 4.2.0, 4.2.1, 4.3.0, 4.3.1"
    )


@pytest.mark.parametrize(
    ("topics", "complaint"),
    [
        (
            "{name: orders, replication: 4}",
            "demo.yaml:3:38: topics[0].replication: 4 replicas do not fit on 3 brokers",
        ),
        (
            "{name: orders, replication: 0}",
            "demo.yaml:3:38: topics[0].replication: input should be greater than or equal to 1, found 0",
        ),
        (
            "{name: orders, partitions: -1}",
            "demo.yaml:3:37: topics[0].partitions: input should be greater than or equal to 1, found -1",
        ),
        (
            "{name: a}, {name: b}, {name: a}",
            "demo.yaml:3:39: topics[2].name: topic 'a' is named twice",
        ),
        (
            "{name: a.b}, {name: a_b}",
            "demo.yaml:3:30: topics[1].name: 'a_b' differs from 'a.b' in . and _ only, which Kafka refuses",
        ),
        (
            "{name: ..}",
            "demo.yaml:3:17: topics[0].name: '..' is no name for Kafka; allowed: any other",
        ),
        (
            "{name: __consumer_offsets}",
            "demo.yaml:3:17: topics[0].name: '__consumer_offsets' is a topic of Kafka's own; "
            "allowed: any other",
        ),
        (
            "{name: orders, config: {min.insync.replicas: 0}}",
            "demo.yaml:3:55: topics[0].config.min.insync.replicas: expected a number of replicas from 1, "
            "found '0'",
        ),
    ],
)
def test_a_topic_that_kafka_would_not_create_or_not_write_to_is_refused(topics: str, complaint: str) -> None:
    assert complaints(topics=topics) == (complaint,)


def test_the_partitions_of_all_topics_together_have_a_limit() -> None:
    many = ", ".join(f"{{name: t{number}, partitions: 1000}}" for number in range(33))
    assert complaints(topics=many, workload="warm: false") == (
        "demo.yaml:3:9: topics: 33000 partitions are too many; allowed: at most 32767 in all topics",
    )


MORE_THAN_ALL = "{name: orders, config: {min.insync.replicas: 4}}"


def test_more_in_sync_replicas_than_replicas_are_refused_before_kafka_counts_at_most_all_of_them() -> None:
    assert complaints(topics=MORE_THAN_ALL, cluster="kafka: 3.6.2") == (
        "demo.yaml:3:55: topics[0].config.min.insync.replicas: 4 in-sync replicas of 3: "
        "Kafka 3.6.2 would refuse every acks=all write",
    )
    assert complaints(topics=MORE_THAN_ALL, cluster="kafka: 3.7.0") == ()


def test_a_topic_of_one_replica_has_the_brokers_two_in_sync_replicas_since_3_7() -> None:
    alone = "{name: orders, replication: 1}"
    assert complaints(topics=alone, cluster="kafka: 3.6.2") == (
        "demo.yaml:3:10: topics[0].config.min.insync.replicas: 2 in-sync replicas of 1, the brokers' "
        "setting: "
        "Kafka 3.6.2 would refuse every acks=all write",
    )
    assert complaints(topics=alone) == ()

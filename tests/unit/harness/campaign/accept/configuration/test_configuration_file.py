"""A configuration as a file: what is refused, with which words at which place, and what is in force."""

from pathlib import Path

import pytest

from checkers.promises import clauses, traps
from harness.campaign.accept.configuration.configuration_file import profiles, read_configuration
from harness.campaign.accept.configuration.in_force import configuration_of, value_of
from harness.campaign.accept.scenarios import setup
from harness.errors import ScenarioError, UsageError


def read(tmp_path: Path, text: str, *sets: str):
    """The configuration of a file mine.yaml with this text."""
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    return read_configuration(str(file), sets)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(ScenarioError) as refused:
        read(tmp_path, text if text.startswith("name:") else f"name: mine\n{text}\n")
    return str(refused.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            f"name: {'x' * 40}",
            f"mine.yaml:1:7: name: string should have at most 39 characters, found '{'x' * 40}'",
        ),
        ("brokers: 3", "mine.yaml:2:1: brokers: unknown key 'brokers'; allowed: about, cluster, name,"),
        (
            "cluster: {kafka: 9.9.9}",
            "mine.yaml:2:18: cluster.kafka: unknown release '9.9.9'; did you mean 3.9.2?",
        ),
        (
            "topic: {replication: 4}",
            "mine.yaml:2:22: topic.replication: 4 replicas do not fit on 3 brokers",
        ),
        (
            "cluster: {brokers: 60}\ntopic: {replication: 51}",
            "mine.yaml:3:22: topic.replication: 51; a run has a broker for each replica, and 50 at most",
        ),
        (
            "cluster: {racks: {1: ''}}",
            "mine.yaml:2:22: cluster.racks.1: string should have at least 1 character, found ''",
        ),
        (
            "cluster: {brokers: 3, controllers: 5, combined: true}",
            "mine.yaml:2:36: cluster.controllers: 5 with 3 brokers; with combined roles each controller is a "
            "broker",
        ),
        (
            "cluster: {broker_config: {default.replication.factor: 0}}",
            "mine.yaml:2:55: cluster.broker_config.default.replication.factor: 0 with 3 brokers can never be "
            "met",
        ),
        (
            "cluster: {broker_config: {default.replication.factor: all}}",
            "mine.yaml:2:55: cluster.broker_config.default.replication.factor: 'all' is not a whole number",
        ),
        (
            "topic: {config: {min.insync.replica: 2}}",
            "mine.yaml:2:18: topic.config.min.insync.replica: Kafka 4.3.1 has no setting "
            "'min.insync.replica' of topics; did you mean min.insync.replicas?",
        ),
        (
            "topic: {config: {min.insync.replicas: many}}",
            "mine.yaml:2:39: topic.config.min.insync.replicas: expected a number of replicas from 1, found "
            "'many'",
        ),
        (
            "topic: {config: {min.insync.replicas: ' 2'}}",
            "mine.yaml:2:39: topic.config.min.insync.replicas: expected a number of replicas from 1, found "
            "' 2'",
        ),
        (
            "cluster: {racks: {4: a}}",
            "mine.yaml:2:19: cluster.racks.4: there is no broker 4; allowed: 1, 2, 3",
        ),
        ("producer: {acks: some}", "mine.yaml:2:18: producer.acks: unknown 'some'; allowed: -1, 0, 1, all"),
        (
            "producer: {acks: 1, enable.idempotence: true}",
            "mine.yaml:2:41: producer.enable.idempotence: Kafka's producer does not start with it: it needs "
            "acks=all, found acks=1",
        ),
        (
            "producer: {enable.idempotence: true, max.in.flight.requests.per.connection: 6}",
            "mine.yaml:2:32: producer.enable.idempotence: Kafka's producer does not start with it: it needs "
            "max.in.flight.requests.per.connection of at most 5, found 6",
        ),
        (
            "producer: {delivery.timeout.ms: 10000}",
            "mine.yaml:2:33: producer.delivery.timeout.ms: 10000 is less than linger.ms and "
            "request.timeout.ms together: Kafka's producer does not start; allowed: at least 30005",
        ),
        (
            "producer: {acks: 1, max.in.flight.requests.per.connection: 6}",
            "mine.yaml:2:60: producer.max.in.flight.requests.per.connection: 6: Kafka's producer does not "
            "start, since idempotence is on by default; allowed: at most 5, or enable.idempotence: false",
        ),
        (
            "producer: {acks: 1, transactional.id: mine}",
            "mine.yaml:2:39: producer.transactional.id: Kafka's producer does not start with it: it needs "
            "idempotence; it needs acks=all, found acks=1",
        ),
        ("producer: {acks: ALL}", "mine.yaml:2:18: producer.acks: unknown 'ALL'; allowed: -1, 0, 1, all"),
        (
            "producer: {linger.ms: 9223372036854775808}",
            "mine.yaml:2:23: producer.linger.ms: 9223372036854775808 is too large; allowed: at most "
            "9223372036854775807",
        ),
        (
            "producer: {retries: -1}",
            "mine.yaml:2:21: producer.retries: -1 is too small; allowed: at least 0",
        ),
        (
            "producer: {compression.type: nonsense}",
            "mine.yaml:2:30: producer.compression.type: unknown 'nonsense'; allowed: gzip, lz4, none, "
            "snappy, zstd",
        ),
        (
            "producer: {buffer.memory: abc}",
            "mine.yaml:2:27: producer.buffer.memory: expected a whole number, found 'abc'",
        ),
        (
            "producer: {batch.size: -5}",
            "mine.yaml:2:24: producer.batch.size: -5 is too small; allowed: at least 0",
        ),
        (
            "producer: {transactional.id: ''}",
            "mine.yaml:2:30: producer.transactional.id: expected some text, found none",
        ),
        (
            "producer: {security.protocol: hush}",
            "mine.yaml:2:31: producer.security.protocol: Kafka's producer does not take its value",
        ),
        (
            "producer: {transactional.id: a, transaction.two.phase.commit.enable: true, "
            "transaction.timeout.ms: 100}",
            "mine.yaml:2:100: producer.transaction.timeout.ms: Kafka's producer does not start with it: "
            "transactions of two phases do not time out (transaction.two.phase.commit.enable)",
        ),
        (
            "cluster: {broker_config: {replica.lag.time.max.ms: 499}}",
            "mine.yaml:2:52: cluster.broker_config.replica.lag.time.max.ms: Kafka does not start with "
            "replica.lag.time.max.ms=499 below replica.fetch.wait.max.ms=500",
        ),
        (
            "cluster: {broker_config: {replica.fetch.wait.max.ms: 30001}}",
            "mine.yaml:2:54: cluster.broker_config.replica.fetch.wait.max.ms: Kafka does not start with "
            "replica.lag.time.max.ms=30000 below replica.fetch.wait.max.ms=30001",
        ),
        (
            "cluster: {broker_config: {log.retention.hours: 0}}",
            "mine.yaml:2:48: cluster.broker_config.log.retention.hours: Kafka does not start with 0; "
            "allowed: at least 1, or -1 for ever",
        ),
        (
            "cluster: {controller_config: {log.retention.hours: 1, log.retention.ms: 0}}",
            "mine.yaml:2:73: cluster.controller_config.log.retention.ms: Kafka does not start with 0;",
        ),
        (
            "require: [broker-los]",
            "mine.yaml:2:11: require[0]: unknown 'broker-los'; did you mean broker-loss? allowed: ",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(tmp_path: Path, text: str, complaint: str) -> None:
    assert refusal(tmp_path, text).startswith(complaint)


@pytest.mark.parametrize(
    "text",
    [
        "cluster: {broker_config: {replica.lag.time.max.ms: 500}}",
        "cluster: {broker_config: {log.retention.hours: 0, log.retention.ms: 1}}",
        "cluster: {broker_config: {log.retention.ms: -1}}",
        "producer: {partitioner.class: org.example.Mine, ssl.protocol: any}",
        "cluster: {kafka: 4.0.2}\nproducer: {transaction.two.phase.commit.enable: true, "
        "transaction.timeout.ms: 100}",
    ],
)
def test_what_kafka_starts_with_is_not_refused(tmp_path: Path, text: str) -> None:
    read(tmp_path, f"name: mine\n{text}\n")


def test_blanks_around_the_values_of_a_producer_are_ignored_as_kafka_ignores_them(tmp_path: Path) -> None:
    producer = "{acks: ' 1', enable.idempotence: ' FALSE ', retries: ' 3', linger.ms: '7 '}"
    asked = read(tmp_path, f"name: mine\nproducer: {producer}\n")
    its = configuration_of(asked).producer
    assert (its.acks, its.asked_idempotence, its.retries, its.linger_s) == ("1", False, 3, 0.007)
    assert setup(asked).carried == {"retries": "3", "linger.ms": "7"}


def test_a_run_has_kafkas_time_until_a_follower_lags_where_fetches_wait_for_longer(tmp_path: Path) -> None:
    text = "name: mine\ncluster: {{broker_config: {{replica.fetch.wait.max.ms: {}}}}}\n"
    lags = [setup(read(tmp_path, text.format(wait_ms))).times.lag_max_s for wait_ms in (3000, 3001)]
    assert lags == [3.0, 30.0]


@pytest.mark.parametrize(
    ("text", "found"),
    [("", "an empty file"), ("- name: mine", "a list"), ("mine", "the single value 'mine'")],
)
def test_a_file_that_is_none_is_no_configuration(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read(tmp_path, text)
    assert str(refused.value) == f"{tmp_path}/mine.yaml:1:1: a configuration is a map of keys, found {found}"


def test_a_rack_may_be_a_number_and_one_that_nobody_knows_is_none(tmp_path: Path) -> None:
    its = configuration_of(read(tmp_path, "name: mine\ncluster: {racks: {1: 5, 2: not known, 3: a}}\n"))
    assert (its.cluster.racks, its.cluster.unknown_racks) == ({1: "5", 3: "a"}, 1)


HUSH = "hush-hush"
HELD = [
    f"producer: {{ssl.key.password: [{HUSH}]}}",
    f"producer: sasl.jaas.config={HUSH}",
    f"producer: [sasl.jaas.config={HUSH}]",
    f"producer: {{ssl.key.password: {HUSH}, ssl.key.password: {HUSH}}}",
    f"cluster: {{broker_config: [ssl.keystore.password={HUSH}]}}",
]


@pytest.mark.parametrize("text", HELD)
def test_no_complaint_shows_a_secret(tmp_path: Path, text: str) -> None:
    assert HUSH not in refusal(tmp_path, text)


@pytest.mark.parametrize(
    "words", [f"producer.ssl.key.password=[{HUSH}", f"producer={{acks: 7, ssl.a: {HUSH}}}"]
)
def test_no_complaint_shows_a_secret_of_the_command_line(words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read_configuration("payments", [words])
    assert HUSH not in str(refused.value)


def test_a_configuration_that_is_not_there_is_named_with_the_nearest_profile() -> None:
    with pytest.raises(UsageError) as refused:
        read_configuration("payment")
    assert str(refused.value) == (
        "accept: unknown 'payment'; did you mean payments? allowed: analytics, payments; or give the path "
        "of a file"
    )


def test_the_profiles_promise_what_they_require() -> None:
    assert profiles() == ["analytics", "payments"]
    for name in profiles():
        asked = read_configuration(name)
        assert set(asked.require) <= {clause.id for clause in clauses(configuration_of(asked))}


def test_payments_falls_into_no_trap() -> None:
    assert traps(configuration_of(read_configuration("payments"))) == ()


def test_without_any_setting_kafkas_own_defaults_are_in_force(tmp_path: Path) -> None:
    its = configuration_of(read(tmp_path, "name: mine\n"))
    assert (its.topic.min_isr, its.topic.unclean, its.topic.retention_s) == (1, False, 604_800.0)
    assert (its.producer.acks, its.producer.idempotence, its.producer.linger_s) == ("all", True, 0.005)
    assert (its.cluster.session_s, its.cluster.lag_max_s, its.cluster.elr) == (9.0, 30.0, True)
    assert (its.cluster.creates_topics, its.cluster.default_replication) == (True, None)
    (made,) = (trap.sentence for trap in traps(its) if trap.id == "topics-made-by-a-write")
    assert made.endswith("with 1 replica instead of 3")
    off = read(tmp_path, "name: mine\ncluster: {broker_config: {auto.create.topics.enable: false}}\n")
    assert not configuration_of(off).cluster.creates_topics


def test_a_cluster_may_want_more_replicas_of_other_topics_than_it_has_brokers(tmp_path: Path) -> None:
    """Kafka starts with that, and only those topics are never made."""
    text = "name: mine\ncluster: {brokers: 1, broker_config: {offsets.topic.replication.factor: 3}}\n"
    its = configuration_of(read(tmp_path, f"{text}topic: {{replication: 1}}\n"))
    assert its.cluster.offsets_replication == 3


def test_a_topic_takes_the_brokers_setting_under_their_name(tmp_path: Path) -> None:
    asked = read(
        tmp_path,
        "name: mine\ncluster:\n  broker_config: {log.flush.interval.messages: 1, log.retention.hours: 2, "
        "min.insync.replicas: 2, log.message.timestamp.type: LogAppendTime, "
        "unclean.leader.election.enable: true}\n",
    )
    its = configuration_of(asked).topic
    assert (its.flush_messages, its.retention_s, its.min_isr) == (1, 7200.0, 2)
    assert (its.stamped_by_broker, its.unclean) == (True, True)
    own = read(
        tmp_path,
        "name: mine\ncluster: {broker_config: {log.retention.hours: 2}}\ntopic: {config: "
        "{retention.ms: 1000}}\n",
    )
    assert configuration_of(own).topic.retention_s == 1.0
    assert value_of(own, "retention.ms") == "1000"


@pytest.mark.parametrize(
    ("brokers", "topic", "oldest_s"),
    [
        ("", "message.timestamp.difference.max.ms: 3600000", 3600.0),
        ("log.message.timestamp.difference.max.ms: 3600000", "", 3600.0),
        ("", "message.timestamp.difference.max.ms: 3600000, message.timestamp.before.max.ms: 1000", 1.0),
        (
            "log.message.timestamp.difference.max.ms: 3600000",
            "message.timestamp.difference.max.ms: 1000",
            3600.0,
        ),
        (
            "log.message.timestamp.difference.max.ms: 3600000",
            "message.timestamp.before.max.ms: 9223372036854775807",
            3600.0,
        ),
        ("log.message.timestamp.before.max.ms: 2000", "message.timestamp.difference.max.ms: 1000", 2.0),
        ("", "", None),
    ],
)
def test_until_4_0_one_bound_on_age_and_youth_counts_where_the_own_one_is_not_set(
    tmp_path: Path, brokers: str, topic: str, oldest_s: float | None
) -> None:
    text = f"cluster: {{kafka: 3.9.1, broker_config: {{{brokers}}}}}\ntopic: {{config: {{{topic}}}}}\n"
    assert configuration_of(read(tmp_path, f"name: mine\n{text}")).topic.oldest_stamp_s == oldest_s


@pytest.mark.parametrize(
    ("settings", "retention_s", "retention_bytes"),
    [
        ("retention.ms: 3153600000000", None, None),
        ("retention.ms: 3153599999999", 3153599999.999, None),
        ("retention.ms: 9223372036854775807", None, None),
        ("cleanup.policy: compact, retention.bytes: 5", None, None),
        ("cleanup.policy: 'compact,delete', retention.bytes: 5", 604_800.0, 5),
    ],
)
def test_nothing_is_deleted_by_age_after_a_century_and_by_compaction_alone_neither_by_age_nor_by_size(
    tmp_path: Path, settings: str, retention_s: float | None, retention_bytes: int | None
) -> None:
    its = configuration_of(read(tmp_path, f"name: mine\ntopic: {{config: {{{settings}}}}}\n")).topic
    assert (its.retention_s, its.retention_bytes) == (retention_s, retention_bytes)


@pytest.mark.parametrize(
    ("elr", "min_isr"),
    [("true", 3), ("false", 2)],
)
def test_what_controllers_decide_they_decide_by_their_own_settings(
    tmp_path: Path, elr: str, min_isr: int
) -> None:
    """With eligible leader replicas their min.insync.replicas stands above that of the brokers."""
    key, unclean = "min.insync.replicas", "unclean.leader.election.enable"
    text = (
        f"name: mine\ncluster:\n  elr: {elr}\n  broker_config: {{{key}: 2, {unclean}: false}}\n"
        f"  controller_config: {{{key}: 3, {unclean}: true}}\n"
    )
    its = configuration_of(read(tmp_path, text)).topic
    assert (its.min_isr, its.unclean) == (min_isr, True)
    own = configuration_of(read(tmp_path, f"{text}topic: {{config: {{{key}: 1, {unclean}: false}}}}\n")).topic
    assert (own.min_isr, own.unclean) == (1, False)


@pytest.mark.parametrize(
    ("brokers", "topic", "within_s"),
    [
        ("", "", None),
        ("", "flush.ms: 1000", None),
        ("log.flush.interval.ms: 1000", "", None),
        ("log.flush.scheduler.interval.ms: 2000", "", 4.0),
        ("log.flush.scheduler.interval.ms: 2000", "flush.ms: 1000", 3.0),
        ("log.flush.scheduler.interval.ms: 2000, log.flush.interval.ms: 500", "", 2.5),
        ("log.flush.scheduler.interval.ms: 2000, log.flush.interval.ms: 500", "flush.ms: 1000", 3.0),
        ("log.flush.scheduler.interval.ms: 2000", "flush.ms: 9223372036854775807", None),
    ],
)
def test_by_its_age_a_log_is_flushed_only_when_brokers_look_for_it(
    tmp_path: Path, brokers: str, topic: str, within_s: float | None
) -> None:
    text = f"name: mine\ncluster: {{broker_config: {{{brokers}}}}}\ntopic: {{config: {{{topic}}}}}\n"
    assert configuration_of(read(tmp_path, text)).flushed_within_s == within_s


def test_brokers_that_are_controllers_cannot_be_spared_beyond_these(tmp_path: Path) -> None:
    apart = configuration_of(read(tmp_path, "name: mine\nproducer: {acks: 1}\n"))
    combined = configuration_of(
        read(tmp_path, "name: mine\nproducer: {acks: 1}\ncluster: {combined: true}\n")
    )
    assert (apart.spare, combined.spare) == (2, 1)


@pytest.mark.parametrize(
    ("producer", "idempotent"),
    [
        ("{}", True),
        ("{acks: 1}", False),
        ("{acks: -1}", True),
        ("{retries: 0}", False),
        ("{enable.idempotence: false}", False),
        ("{enable.idempotence: false, max.in.flight.requests.per.connection: 6}", False),
    ],
)
def test_idempotence_goes_off_by_itself_where_it_conflicts(
    tmp_path: Path, producer: str, idempotent: bool
) -> None:
    its = configuration_of(read(tmp_path, f"name: mine\nproducer: {producer}\n"))
    assert its.producer.idempotence is idempotent


def test_before_4_0_too_many_requests_in_flight_turn_idempotence_off_without_a_word(tmp_path: Path) -> None:
    text = "name: mine\ncluster: {kafka: 3.9.1}\nproducer: {max.in.flight.requests.per.connection: 6}\n"
    its = configuration_of(read(tmp_path, text))
    assert (its.producer.idempotence, its.producer.asked_idempotence) == (False, None)
    assert "idempotence-silently-off" in {trap.id for trap in traps(its)}


def test_a_delivery_time_out_that_nobody_has_set_is_no_shorter_than_what_it_is_made_of(
    tmp_path: Path,
) -> None:
    longer = read(tmp_path, "name: mine\nproducer: {request.timeout.ms: 180000, linger.ms: 1000}\n")
    assert configuration_of(longer).producer.delivery_timeout_s == 181.0
    usual = read(tmp_path, "name: mine\nproducer: {linger.ms: 1000}\n")
    assert configuration_of(usual).producer.delivery_timeout_s == 120.0


def test_a_setting_that_the_release_of_the_producer_does_not_have_is_ignored_and_named(
    tmp_path: Path,
) -> None:
    text = (
        "name: mine\ncluster: {{kafka: {}}}\nproducer: "
        "{{ack: all, retry.backoff.max.ms: 1, ssl.protocol: x}}\n"
    )
    new, old = read(tmp_path, text.format("4.3.1")), read(tmp_path, text.format("3.6.1"))
    assert configuration_of(new).producer.unknown == (("ack", "acks"),)
    assert configuration_of(old).producer.unknown == (
        ("ack", "acks"),
        ("retry.backoff.max.ms", "retry.backoff.ms"),
    )


def test_set_changes_a_setting_with_dots_in_its_name() -> None:
    asked = read_configuration("payments", ["topic.config.min.insync.replicas=3", "producer.linger.ms=7"])
    its = configuration_of(asked)
    assert (its.min_isr, its.producer.linger_s) == (3, 0.007)

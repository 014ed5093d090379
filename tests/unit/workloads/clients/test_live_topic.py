"""What is read of a running cluster: settings that somebody has set, and one sentence where there is no
answer.
"""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigEntry, ConfigSource, ResourceType

from workloads.clients import live_topic
from workloads.clients.live_topic import read_topic, refuse_settings, said
from workloads.errors import ClientRefused, TopicUnreadable


def entry(name, value, source, **more):
    """A setting as the client gives it: its source is a number or a name."""
    return ConfigEntry(name, value, source, **more)


def test_settings_that_nobody_has_set_and_secrets_are_left_out():
    entries = [
        entry("min.insync.replicas", "2", ConfigSource.DYNAMIC_TOPIC_CONFIG.value),
        entry("unclean.leader.election.enable", "true", ConfigSource.STATIC_BROKER_CONFIG),
        entry("segment.bytes", "1073741824", ConfigSource.DEFAULT_CONFIG.value),
        entry("ssl.key.password", None, ConfigSource.STATIC_BROKER_CONFIG, is_sensitive=True),
        entry("flush.ms", "1000", ConfigSource.UNKNOWN_CONFIG.value),
    ]
    assert said(entries) == {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}


@pytest.mark.parametrize(
    "address", ["", "nonsense", "localhost:99999", "localhost:0", "localhost:1,", ":9092", "[::1]", "a b:1"]
)
def test_an_address_that_is_none_is_refused_before_anything_is_asked(address):
    with pytest.raises(ClientRefused, match="is no address; write host:port, as localhost:9092"):
        read_topic("orders", address, {})


@pytest.mark.parametrize("address", ["kafka-1:9092", "a:1, b:2", "[::1]:9092", "SSL://kafka.example:9093"])
def test_every_address_that_the_client_takes_is_taken(address):
    refuse_settings(address, {"security.protocol": "SSL"})


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"foo": "bar"}, 'client: No such configuration property: "foo"'),
        ({"security.protocol": "bogus"}, 'client: Invalid value "bogus" for configuration property'),
        ({"error_cb": "x"}, "client: expected error_cb property as a callable function"),
        ({"socket.timeout.ms": "1"}, "client: socket.timeout.ms is set by highwater"),
        ({"metadata.broker.list": "b:1"}, "client: metadata.broker.list is set by highwater"),
    ],
)
def test_a_setting_that_the_client_does_not_take_is_refused_and_none_is_replaced(setting, complaint):
    with pytest.raises(ClientRefused, match=complaint):
        read_topic("orders", "localhost:1", setting)


class FakeAdmin:
    """The client of a cluster of the brokers 1 and 2, each of which has the error of `errors` for its
    settings; broker 3 has a replica and is not there.
    """

    errors: ClassVar[dict[str, int]] = {}

    def __init__(self, settings):
        """Nothing is connected."""

    def describe_topics(self, topics, request_timeout):
        partition = SimpleNamespace(id=0, replicas=[SimpleNamespace(id=number) for number in (1, 2, 3)])
        return {"orders": done(SimpleNamespace(partitions=[partition]))}

    def describe_cluster(self, request_timeout):
        nodes = [
            SimpleNamespace(id=number, host=f"kafka-{number}", port=9092, rack=rack)
            for number, rack in ((2, None), (1, "a"))
        ]
        return done(SimpleNamespace(nodes=nodes))

    def describe_configs(self, resources, request_timeout):
        (resource,) = resources
        answer = done({"flush.ms": entry("flush.ms", "7", ConfigSource.STATIC_BROKER_CONFIG)})
        if resource.restype == ResourceType.BROKER and resource.name in self.errors:
            answer = Future()
            answer.set_exception(KafkaException(KafkaError(self.errors[resource.name])))
        return {resource: answer}


def done(its):
    answer = Future()
    answer.set_result(its)
    return answer


@pytest.mark.parametrize(
    ("errors", "answering"),
    [({}, [(1, "a"), (2, "")]), ({"2": KafkaError._TRANSPORT}, [(1, "a")])],
)
def test_a_broker_that_is_away_or_does_not_answer_keeps_its_replicas(monkeypatch, errors, answering):
    monkeypatch.setattr(live_topic, "AdminClient", FakeAdmin)
    monkeypatch.setattr(FakeAdmin, "errors", errors)
    its = read_topic("orders", "localhost:1", {})
    assert its.replicas == ((1, 2, 3),)
    assert [(broker.number, broker.rack) for broker in its.brokers] == answering
    assert its.brokers[0].address == "kafka-1:9092"
    assert [broker.config for broker in its.brokers] == [{"flush.ms": "7"}] * len(answering)


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        ({"1": KafkaError._TIMED_OUT, "2": KafkaError._TRANSPORT}, "no broker says its settings"),
        ({"1": KafkaError.CLUSTER_AUTHORIZATION_FAILED}, "Broker: Cluster authorization failed"),
    ],
)
def test_brokers_of_which_none_answers_or_one_refuses_are_one_sentence(monkeypatch, errors, reason):
    monkeypatch.setattr(live_topic, "AdminClient", FakeAdmin)
    monkeypatch.setattr(FakeAdmin, "errors", errors)
    with pytest.raises(TopicUnreadable, match=f"^topic orders at localhost:1: {reason}$"):
        read_topic("orders", "localhost:1", {})


def test_a_cluster_that_does_not_answer_is_one_sentence(monkeypatch):
    monkeypatch.setattr(live_topic, "ANSWER_S", 0.5)
    with pytest.raises(TopicUnreadable, match=r"^topic orders at localhost:1: "):
        read_topic("orders", "localhost:1", {})


def test_what_the_client_library_has_to_say_is_in_the_one_sentence(monkeypatch, capfd):
    """It writes a line for each attempt to reach a broker, hundreds of them."""
    monkeypatch.setattr(live_topic, "ANSWER_S", 1.0)
    with pytest.raises(TopicUnreadable, match=r"^topic orders at localhost:1: "):
        read_topic("orders", "localhost:1", {})
    assert capfd.readouterr().err == ""

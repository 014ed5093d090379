"""What is read of a running cluster: settings that somebody has set, and one sentence where there is no
answer.
"""

import pytest
from confluent_kafka.admin import ConfigEntry, ConfigSource

from workloads.clients import live_topic
from workloads.clients.live_topic import read_topic, said
from workloads.errors import TopicUnreadable


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


def test_a_cluster_that_does_not_answer_is_one_sentence(monkeypatch):
    monkeypatch.setattr(live_topic, "ANSWER_S", 0.5)
    with pytest.raises(TopicUnreadable, match=r"^topic orders at localhost:1: "):
        read_topic("orders", "localhost:1", {})


def test_a_setting_that_the_client_does_not_have_is_named():
    with pytest.raises(TopicUnreadable, match=r'No such configuration property: "no\.such"'):
        read_topic("orders", "localhost:1", {"no.such": "1"})

"""Which values are neither shown nor kept."""

import pytest

from harness.scenario.text.hidden import may_be_secret, without_secret

SECRET = [
    "ssl.key.password",
    "sasl.jaas.config",
    "security.providers",
    "listener.name.client.ssl.keystore.password",
    "basic.auth.user.info",
    "schema.registry.basic.auth.credentials.source",
    "delegation.token.secret.key",
    "ssl.keystore.key",
]
PLAIN = [
    "acks",
    "transactional.id",
    "retention.ms",
    "min.insync.replicas",
    "authorizer.class.name",
    "workload",
]


@pytest.mark.parametrize("name", SECRET)
def test_a_setting_of_connections_or_of_a_secret_is_known_by_its_name(name):
    assert may_be_secret(name)
    assert without_secret(f"producer.{name}=a=b") == f"producer.{name}=…"
    assert without_secret(f"producer={{acks: 1, {name}: a}}") == "producer=…"


@pytest.mark.parametrize("name", PLAIN)
def test_any_other_setting_is_shown(name):
    assert not may_be_secret(name)
    assert without_secret(f"{name}=1") == f"{name}=1"


def test_a_word_that_is_no_assignment_is_shown():
    assert without_secret("scenarios/ssl.yaml") == "scenarios/ssl.yaml"

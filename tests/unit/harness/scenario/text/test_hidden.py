"""Which values are neither shown nor kept."""

import pytest

from harness.scenario.text.hidden import may_be_secret, secrets_in, without, without_secret

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


def test_a_text_is_shown_without_the_secrets_of_a_tree():
    data = {
        "client": {
            "sasl.password": "hunter2",
            "acks": "1",
            "id": "secret-orders",
            "security.protocol": "SSL",
        },
        "sets": ["a", "token=b"],
    }
    found = tuple(secrets_in(data))
    assert found == ("hunter2", "token=b")
    assert (
        without("'hunter2' and hunter22 with 1, SSL and token=b", found)
        == "'…' and hunter22 with 1, SSL and …"
    )
    assert without("nothing of it", ()) == "nothing of it"

"""Settings of the producers' client library: what it does not know, and what the harness keeps to itself."""

from collections.abc import Iterator, Mapping

from harness.scenario.load_plan import refused_by_client, refused_settings
from harness.scenario.model import Scenario
from harness.scenario.rules.contradiction import Contradiction

OWNED_BY_THE_HARNESS: Mapping[str, str] = {
    "acks": "workload.acks",
    "request.required.acks": "workload.acks",
    "enable.idempotence": "workload.idempotence",
    "delivery.timeout.ms": "workload.delivery_timeout",
    "message.timeout.ms": "workload.delivery_timeout",
    "transactional.id": "workload.transactions.ids",
    "transaction.timeout.ms": "workload.transactions.timeout",
    "bootstrap.servers": "cluster",
    "metadata.broker.list": "cluster",
}
"""By the key of the scenario that stands for it."""

FOREIGN: Mapping[str, str] = {
    "statistics.interval.ms": "the client's statistics are evidence of its connections",
    "delivery.report.only.error": "every record's delivery report is evidence",
    "test.mock.": "records would go to a mock of Kafka",
    "ut_": "the client's own tests use it",
    "logger": "it is an object of Python, no text",
    "plugin.": "another library could change what is sent",
}
"""Settings, or their first letters, with which the run would not be what is judged; and why."""
PLAINTEXT = "plaintext"


def client_settings(scenario: Scenario) -> Iterator[Contradiction]:
    """Settings that are the harness's own, and those with which nothing could be judged."""
    for key, value in scenario.workload.client.items():
        path = ("workload", "client", key)
        if key in OWNED_BY_THE_HARNESS:
            text = f"is set by the harness; use the key {OWNED_BY_THE_HARNESS[key]}"
            yield Contradiction(path=path, text=text)
        for prefix, why in FOREIGN.items():
            if key.startswith(prefix):
                yield Contradiction(path=path, text=f"{value!r} is refused: {why}; leave it out")
        if key == "security.protocol" and value.lower() != PLAINTEXT:
            text = f"{value!r} is refused: the brokers listen without TLS and SASL; allowed: {PLAINTEXT}"
            yield Contradiction(path=path, text=text)


def client(scenario: Scenario) -> Iterator[Contradiction]:
    """What the client library refuses: single settings, else all of them together, else a record."""
    refused = refused_settings(scenario)
    for each in refused:
        yield Contradiction(path=("workload", "client", each.name), text=each.why, of_key=each.of_name)
    if not refused and (text := refused_by_client(scenario)):
        yield Contradiction(
            path=("workload", "client") if scenario.workload.client else ("workload",), text=text
        )

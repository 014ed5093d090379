"""Settings of the producers' client library: what it does not know, and what the harness keeps to itself.

The library takes a setting of topics, as `acks`, by the name `topic.acks` too; then the last one counts.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from harness.scenario.load.load_plan import refused_by_client, refused_settings
from harness.scenario.model import Scenario
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.text.positions import Path

if TYPE_CHECKING:
    from workloads.clients.check_settings import RefusedTogether

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
    "debug": "what the client writes of itself is kept nowhere",
    "log_level": "what the client writes of itself is kept nowhere",
}
"""Settings, or their first letters, with which the run would not be what is judged; and why."""
ONLY: Mapping[str, tuple[str, str]] = {
    "security.protocol": ("plaintext", "the brokers listen without TLS and SASL"),
    "queuing.strategy": ("fifo", "records would not be written in the order in which they were sent"),
}
"""The only value of a setting, in any case; and why."""
OF_TOPICS = "topic."


def client_settings(scenario: Scenario) -> Iterator[Contradiction]:
    """Settings that are the harness's own, and those with which nothing could be judged."""
    for key, value in scenario.workload.client.items():
        path, name = ("workload", "client", key), key.removeprefix(OF_TOPICS)
        if name in OWNED_BY_THE_HARNESS:
            text = f"is set by the harness; use the key {OWNED_BY_THE_HARNESS[name]}"
            yield Contradiction(path=path, text=text)
        for prefix, why in FOREIGN.items():
            if name.startswith(prefix):
                yield Contradiction(path=path, text=f"{value!r} is refused: {why}; leave it out")
        if name in ONLY and value.lower() != ONLY[name][0]:
            allowed, why = ONLY[name]
            yield Contradiction(path=path, text=f"{value!r} is refused: {why}; allowed: {allowed}")


def client(scenario: Scenario) -> Iterator[Contradiction]:
    """What the client library refuses: single settings, else all of them together, else a record."""
    refused = refused_settings(scenario)
    for each in refused:
        yield Contradiction(path=("workload", "client", each.name), text=each.why, of_key=each.of_name)
    if not refused and (together := refused_by_client(scenario)):
        yield Contradiction(path=_place(scenario, together), text=together.why)


def _place(scenario: Scenario, refused: "RefusedTogether") -> Path:
    """The key that stands for what is refused: of settings that contradict each other one that is given, else
    one that the harness makes of another key."""
    if refused.of_record:
        return ("workload", "record")
    given = [name for name in refused.names if name in scenario.workload.client]
    made = [OWNED_BY_THE_HARNESS[name] for name in refused.names if name in OWNED_BY_THE_HARNESS]
    if given:
        return ("workload", "client", given[0])
    if made:
        return tuple(made[0].split("."))
    return ("workload", "client") if scenario.workload.client else ("workload",)

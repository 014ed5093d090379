"""Settings of the client: the library's own judgement, each at its place."""

import pytest
from fakes.run.refusals import complaints


@pytest.mark.parametrize(
    ("client", "complaint"),
    [
        (
            "linger.mss: 5",
            "demo.yaml:4:21: workload.client.linger.mss: the client has no setting 'linger.mss'; "
            "did you mean linger.ms?",
        ),
        (
            "qwertz: 5",
            "demo.yaml:4:21: workload.client.qwertz: the client has no setting 'qwertz'",
        ),
        (
            "linger.ms: soon",
            "demo.yaml:4:32: workload.client.linger.ms: 'soon' is refused: Invalid value for configuration "
            'property "queue.buffering.max.ms"',
        ),
        (
            "message.max.bytes: 10",
            "demo.yaml:4:40: workload.client.message.max.bytes: '10' is refused: Configuration property "
            '"message.max.bytes" value 10 is outside allowed range 1000..1000000000',
        ),
        (
            "fetch.min.bytes: 5",
            "demo.yaml:4:21: workload.client.fetch.min.bytes: 'fetch.min.bytes' is a setting of consumers, "
            "which producers ignore; leave it out",
        ),
        (
            "error_cb: print",
            "demo.yaml:4:31: workload.client.error_cb: 'print' is refused: expected error_cb property as a "
            "callable function",
        ),
        (
            "metadata.broker.list: 'localhost:9092'",
            "demo.yaml:4:43: workload.client.metadata.broker.list: is set by the harness; "
            "use the key cluster",
        ),
        (
            "test.mock.num.brokers: 3",
            "demo.yaml:4:44: workload.client.test.mock.num.brokers: '3' is refused: records would go to a "
            "mock of Kafka; leave it out",
        ),
        (
            "transactional.id: a",
            "demo.yaml:4:39: workload.client.transactional.id: is set by the harness; "
            "use the key workload.transactions.ids",
        ),
        (
            "delivery.report.only.error: true",
            "demo.yaml:4:49: workload.client.delivery.report.only.error: 'true' is refused: every record's "
            "delivery report is evidence; leave it out",
        ),
        (
            "security.protocol: ssl",
            "demo.yaml:4:40: workload.client.security.protocol: 'ssl' is refused: the brokers listen without "
            "TLS and SASL; allowed: plaintext",
        ),
    ],
)
def test_what_the_client_does_not_take_or_the_harness_cannot_use_is_refused(
    client: str, complaint: str
) -> None:
    assert complaints(workload=f"client: {{{client}}}") == (complaint,)


def test_settings_that_contradict_each_other_are_refused_together() -> None:
    assert complaints(workload="client: {linger.ms: 70000}") == (
        "demo.yaml:4:20: workload.client: client settings {'linger.ms': '70000'}: Failed to create producer: "
        "`message.timeout.ms` must be greater than `linger.ms`",
    )


@pytest.mark.parametrize(
    "client",
    [
        "compression.type: lz4",
        "linger.ms: 0",
        "security.protocol: PLAINTEXT",
        "client.id: mine",
        "retries: 3",
    ],
)
def test_what_the_client_takes_is_not_refused(client: str) -> None:
    assert complaints(workload=f"client: {{{client}}}") == ()

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
            "topic.acks: 1",
            "demo.yaml:4:33: workload.client.topic.acks: is set by the harness; use the key workload.acks",
        ),
        (
            "topic.request.required.acks: 0",
            "demo.yaml:4:50: workload.client.topic.request.required.acks: is set by the harness; "
            "use the key workload.acks",
        ),
        (
            "topic.delivery.timeout.ms: 5",
            "demo.yaml:4:48: workload.client.topic.delivery.timeout.ms: is set by the harness; "
            "use the key workload.delivery_timeout",
        ),
        (
            "topic.compression.type: lz4",
            "demo.yaml:4:21: workload.client.topic.compression.type: 'topic.compression.type' is "
            "'compression.type'; write it so",
        ),
        (
            "queuing.strategy: lifo",
            "demo.yaml:4:39: workload.client.queuing.strategy: 'lifo' is refused: records would not be "
            "written in the order in which they were sent; allowed: fifo",
        ),
        (
            "topic.queuing.strategy: LIFO",
            "demo.yaml:4:45: workload.client.topic.queuing.strategy: 'LIFO' is refused: records would not be "
            "written in the order in which they were sent; allowed: fifo",
        ),
        (
            "debug: all",
            "demo.yaml:4:28: workload.client.debug: 'all' is refused: what the client writes of itself is "
            "kept nowhere; leave it out",
        ),
        (
            "log_level: 7",
            "demo.yaml:4:32: workload.client.log_level: '7' is refused: what the client writes of itself is "
            "kept nowhere; leave it out",
        ),
        (
            "throttle_cb: x",
            "demo.yaml:4:34: workload.client.throttle_cb: 'x' is refused: expected throttle_cb property as a "
            "callable function",
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
        "demo.yaml:4:32: workload.client.linger.ms: Failed to create producer: "
        "`message.timeout.ms` must be greater than `linger.ms`",
    )


def test_what_the_client_refuses_of_a_key_of_the_harness_is_refused_at_that_key() -> None:
    assert complaints(workload="delivery_timeout: 1ms") == (
        "demo.yaml:4:30: workload.delivery_timeout: Failed to create producer: `message.timeout.ms` must be "
        "greater than `linger.ms`",
    )
    assert complaints(
        workload="record: 1048000B",
        topics="{name: orders, config: {max.message.bytes: 2000000}}",
    ) == (
        "demo.yaml:4:20: workload.record: a record of 1048000 bytes: Unable to produce message: "
        "Broker: Message size too large, by message.max.bytes of the client",
    )


def test_no_complaint_shows_what_may_be_a_secret() -> None:
    (together,) = complaints(workload="client: {sasl.password: hunter2, linger.ms: 70000}")
    assert together == (
        "demo.yaml:4:56: workload.client.linger.ms: Failed to create producer: `message.timeout.ms` must be "
        "greater than `linger.ms`"
    )
    (alone,) = complaints(workload="client: {sasl.jaas.config: hunter2}")
    assert alone.startswith(
        "demo.yaml:4:39: workload.client.sasl.jaas.config: '…' is refused: Java JAAS configuration is not "
    )


@pytest.mark.parametrize(
    "client",
    [
        "compression.type: lz4",
        "linger.ms: 0",
        "security.protocol: PLAINTEXT",
        "queuing.strategy: FIFO",
        "topic.metadata.refresh.sparse: true",
        "client.id: mine",
        "retries: 3",
    ],
)
def test_what_the_client_takes_is_not_refused(client: str) -> None:
    assert complaints(workload=f"client: {{{client}}}") == ()

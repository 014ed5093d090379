"""Records, rates and times that no cluster of the scenario could take."""

import pytest
from fakes.run.refusals import complaints

from harness.scenario.rules.sizes import batch_bytes


def test_the_size_of_a_batch_is_that_of_the_message_format() -> None:
    """61 bytes of the batch, 13 of the record, two lengths that grow: 1 byte to 63, 2 to 8191, 3 above."""
    assert batch_bytes(20) == 61 + 1 + 13 + 1 + 20
    assert batch_bytes(50) == 61 + 2 + 13 + 1 + 50
    assert batch_bytes(200) == 61 + 2 + 13 + 2 + 200
    assert batch_bytes(100_000) == 61 + 3 + 13 + 3 + 100_000


@pytest.mark.parametrize(
    ("topic", "cluster", "record", "complaint"),
    [
        (
            "",
            "",
            "1MiB",
            "demo.yaml:4:20: workload.record: a record of 1048576 bytes makes a batch of 1048658, and topic "
            "orders takes batches of at most 1048588 bytes (max.message.bytes)",
        ),
        (
            "max.message.bytes: 200",
            "",
            "200B",
            "demo.yaml:3:53: topics[0].config.max.message.bytes: a record of 200 bytes makes a batch of 278, "
            "and topic orders takes batches of at most 200 bytes (max.message.bytes)",
        ),
        (
            "",
            "broker_config: {message.max.bytes: 100}",
            "200B",
            "demo.yaml:2:46: cluster.broker_config.message.max.bytes: a record of 200 bytes makes a batch "
            "of 278, and topic orders takes batches of at most 100 bytes (max.message.bytes)",
        ),
        (
            "max.message.bytes: 3000000, segment.bytes: 1500000",
            "",
            "2MiB",
            "demo.yaml:3:77: topics[0].config.segment.bytes: a record of 2097152 bytes makes a batch of "
            "2097234, and topic orders takes batches of at most 1500000 bytes (segment.bytes)",
        ),
        (
            "max.message.bytes: 200000000",
            "",
            "101MiB",
            "demo.yaml:4:20: workload.record: a record of 105906176 bytes makes a batch of 105906258, and "
            "brokers read requests of at most 104857600 bytes (socket.request.max.bytes)",
        ),
    ],
)
def test_a_record_larger_than_a_topic_takes_is_refused(
    topic: str, cluster: str, record: str, complaint: str
) -> None:
    topics, workload = f"{{name: orders, config: {{{topic}}}}}", f"record: {record}, rate: 1/s"
    found = complaints(topics=topics, cluster=cluster, workload=workload)
    assert found[:1] == (complaint,)


def test_a_record_that_the_client_refuses_is_refused() -> None:
    """1,000,000 bytes are the client's own limit, below the topic's."""
    assert complaints(workload="record: 1000000B, rate: 1/s") == (
        "demo.yaml:4:20: workload.record: a record of 1000000 bytes: Unable to produce message: "
        "Broker: Message size too large, by message.max.bytes of the client",
    )
    assert complaints(workload="record: 999000B, rate: 1/s") == ()


def test_a_rate_that_overflows_the_volumes_is_refused() -> None:
    """40,000/s of 10,000 bytes for 10 s are 4 GB, 12 GB with three replicas; the volumes hold 3 GiB."""
    assert complaints(workload="rate: 40000/s, record: 10000B") == (
        "demo.yaml:4:18: workload.rate: 40000/s of 10000 bytes for 10s is 11.2 GiB with its replicas, and "
        "the 3 volumes hold 3 GiB",
    )
    assert complaints(workload="rate: 40000/s, record: 10000B", cluster="volume: 4GiB") == ()
    assert complaints(workload="rate: 40000/s, record: 10000B, client: {compression.type: zstd}") == ()
    assert complaints(workload="rate: max, record: 10000B") == ()


def test_a_rate_that_overflows_the_volume_with_the_most_replicas_is_refused() -> None:
    """One partition with three replicas on three brokers with two log directories each: half of the volumes
    stay empty. 2,000/s of 10,000 bytes for 60 s are 1.2 GB."""
    workload, cluster = "rate: 2000/s, record: 10000B, lasts: 60s", "log_dirs: 2"
    assert complaints(workload=workload, cluster=cluster, topics="{name: orders, partitions: 1}") == (
        "demo.yaml:4:18: workload.rate: 2000/s of 10000 bytes for 60s is 3.35 GiB with its replicas, "
        "1.12 GiB of it on one volume, which holds 1 GiB",
    )
    assert complaints(workload=workload, cluster=cluster, topics="{name: orders, partitions: 2}") == ()


def test_a_rate_that_overflows_the_volumes_before_the_last_fault_is_refused() -> None:
    kill = "faults: [{at: 3h, do: kill, target: leader, for: 8s}]\n"
    load = "rate: 20000/s, record: 1000B, tail: 2s"
    assert complaints(cluster="volume: 64MiB", workload=load, rest=kill) == (
        "demo.yaml:4:18: workload.rate: 20000/s of 1000 bytes for 10810s is 604 GiB with its replicas, and "
        "the 3 volumes hold 0.188 GiB",
    )
    assert complaints(cluster="volume: 400GiB", workload=load, rest=kill) == ()
    assert complaints(workload=load, rest=kill) == ()


def test_volumes_that_overflow_are_named_where_their_size_or_their_load_is_written() -> None:
    """Without a rate of its own a load has 2,000 records of 200 bytes a second."""
    kill = "faults: [{at: 3h, do: kill, target: leader, for: 8s}]\n"
    (of_volume,) = complaints(cluster="volume: 64MiB", rest=kill)
    assert of_volume.startswith("demo.yaml:2:19: cluster.volume: 2000/s of 200 bytes for 10810s is ")
    (of_length,) = complaints(workload="lasts: 3h")
    assert of_length.startswith("demo.yaml:4:19: workload.lasts: 2000/s of 200 bytes for 10800s is ")


def test_a_storm_that_would_need_a_volume_larger_than_a_file_can_be_is_refused() -> None:
    """16 TiB a broker; a smaller one is as large as the storm needs."""
    storm = "storm: {duration: 30m}\n"
    (complaint,) = complaints(workload="rate: 10000000/s, record: 1000B", rest=storm)
    assert complaint.startswith("demo.yaml:4:18: workload.rate: 10000000/s of 1000 bytes for 1802s is ")
    assert complaint.endswith("and the 3 volumes hold 4.92e+04 GiB")
    assert complaints(workload="rate: 10000/s, record: 1000B", rest=storm) == ()


@pytest.mark.parametrize("rate", ["0/s", "-1/s", "0.0/s", "2000"])
def test_a_rate_is_above_zero(rate: str) -> None:
    (complaint,) = complaints(workload=f"rate: {rate}")
    assert complaint.startswith("demo.yaml:4:18: workload.rate: not a rate: ")
    assert complaint.endswith("; write records per second, as in 2000/s, or max")


def test_a_rate_too_slow_for_the_warm_up_is_refused() -> None:
    """4 producers and 6 partitions: 24 first records, the first four at once, 20 in 30 s."""
    assert complaints(workload="rate: 0.6/s") == (
        "demo.yaml:4:18: workload.rate: at 0.6/s, 4 producers do not reach every partition within the 30 s "
        "of the warm-up; allowed: at least 0.6666666667/s, or warm: false",
    )
    assert complaints(workload="rate: 0.7/s") == ()
    assert complaints(workload="rate: 0.6/s, warm: false") == ()


def test_a_load_that_outlasts_retention_is_refused() -> None:
    """A week is Kafka's default; a day before it is the last."""
    assert complaints(workload="rate: 1/s, lasts: 145h") == (
        "demo.yaml:4:30: workload.lasts: 522000s comes within a day of the 604800s after which Kafka deletes "
        "records by default; set retention.ms: -1",
    )
    assert complaints(workload="rate: 1/s, lasts: 144h") == ()
    kept = "{name: orders, config: {retention.ms: -1}}"
    assert complaints(workload="rate: 1/s, lasts: 145h", topics=kept) == ()


def test_faults_that_outlast_retention_are_refused_too() -> None:
    """By default, and with a time that is long enough for `lasts` alone."""
    late = "faults: [{at: 145h, do: kill, target: leader, for: 8s}]\n"
    assert complaints(workload="rate: 1/s", rest=late) == (
        "demo.yaml:5:9: faults: 522010s comes within a day of the 604800s after which Kafka deletes records "
        "by default; set retention.ms: -1",
    )
    two_days = "{name: orders, config: {retention.ms: 172800000}}"
    assert complaints(workload="rate: 1/s", topics=two_days) == ()
    assert complaints(workload="rate: 1/s", topics=two_days, rest=late) == (
        "demo.yaml:3:48: topics[0].config.retention.ms: 172800000 may delete records during the run; "
        "allowed: -1, or at least 608410000",
    )

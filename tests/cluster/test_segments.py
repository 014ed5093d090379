"""Segments of a real Kafka, in every codec and by several writers, are read as its own tool reads them."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from fakes.history.compare_with_dump import assert_same, assert_same_snapshot
from fakes.history.dumped_segments import parse

from compose.cluster.docker_cluster import DockerCluster
from compose.cluster.start import start
from compose.docker import containers
from compose.docker.api import client
from compose.docker.containers import Container, ContainerSpec
from compose.kafka.view import ClusterView
from compose.spec.images import java_argv, kafka_image
from compose.spec.topology import Topology
from spark_verify.segments import checkpoints
from spark_verify.segments.batches import SegmentWalk, TailKind

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST = "00000000000000000000.log"
RECORDS = 30
NOW_MS = time.time_ns() // 1_000_000
"""Of the day, as the broker's markers are: no segment holds batches more than `segment.ms` apart."""
KEEP = os.environ.get("HIGHWATER_KEEP_SEGMENTS")
"""A folder where the files and the tool's output stay: so those of tests/fixtures/segments were made."""


def test_every_codec_is_read_as_kafka_reads_it(tmp_path: Path) -> None:
    run_id = f"segments-{os.getpid()}"
    with start(Topology(brokers=1, controllers=1), run_id=run_id) as cluster:
        topics = write_all(cluster)
        cluster.stop(1, within_s=30)
        disk = Path(KEEP) if KEEP else tmp_path
        files = copy_disk(cluster, topics, disk)
        whole = files[f"librdkafka-none-0/{FIRST}"]
        last = [int(at) for chunk in SegmentWalk(whole).chunks() for at in chunk.position][-1]
        partial = f"partial-0/{FIRST}"
        files[partial] = whole[: last + 30]
        dumped = dump(cluster, files)
    if KEEP:
        (disk / "dumped.txt").write_text(dumped)
    printed = parse(dumped)

    for codec in CODECS:
        for writer in ("librdkafka", "broker"):
            name = f"{writer}-{codec}-0/{FIRST}"
            assert {batch.fields["compresscodec"] for batch in printed[name].batches} == {codec}
            assert assert_same(files[name], printed[name]) == RECORDS
    assert assert_same(files[f"appended-0/{FIRST}"], printed[f"appended-0/{FIRST}"]) == RECORDS
    # Two transactions of two records each, and the marker that ends each.
    assert assert_same(files[f"transactions-0/{FIRST}"], printed[f"transactions-0/{FIRST}"]) == 6
    markers = [r.marker for b in printed[f"transactions-0/{FIRST}"].batches for r in b.records if r.marker]
    assert [kind for kind, _ in markers] == ["COMMIT", "ABORT"]

    assert printed[partial].torn_bytes == 30
    assert assert_same(files[partial], printed[partial]) > 0
    assert tail_of(files[partial]) == (TailKind.PARTIAL, 30)
    # Kafka's tool ends with an error at zeros; so do its brokers' logs, and recovery cuts them off there.
    assert tail_of(whole + bytes(4096)) == (TailKind.ZEROS, 4096)

    for topic in topics:
        (file,) = (disk / f"{topic}-0").glob("*.snapshot")
        producers = assert_same_snapshot(file, printed[f"{topic}-0/{file.name}"])
        assert producers == (topic in ("librdkafka-zstd", "transactions"))
    assert_checkpoints(disk, topics)


def write_all(cluster: DockerCluster) -> dict[str, int]:
    """Write to every topic; by topic, how many offsets it has then."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    configs: dict[str, dict[str, str]] = {f"librdkafka-{codec}": {} for codec in CODECS}
    for codec in CODECS:
        configs[f"broker-{codec}"] = {"compression.type": "uncompressed" if codec == "none" else codec}
    configs["appended"] = {"message.timestamp.type": "LogAppendTime"}
    configs["transactions"] = {}
    made = admin.create_topics([NewTopic(name, 1, 1, config=config) for name, config in configs.items()])
    for future in made.values():
        future.result(30)
    with ClusterView(cluster.bootstrap) as view:
        for name in configs:
            view.wait_until_settled(name, within_s=30)
    for name in configs:
        if name != "transactions":
            codec = name.removeprefix("librdkafka-") if name.startswith("librdkafka") else "none"
            write(cluster, name, codec)
    write_transactions(cluster)
    return dict.fromkeys(configs, RECORDS) | {"transactions": 6}


def write(cluster: DockerCluster, topic: str, codec: str) -> None:
    """RECORDS records in a few batches: of one size, of many, with keys, headers, nothing."""
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "compression.type": codec,
        "linger.ms": 50,
        "enable.idempotence": topic == "librdkafka-zstd",
    }
    producer = Producer(settings)
    for at in range(RECORDS):
        alike = at < 20
        producer.produce(
            topic,
            value=None if at == 24 else f"value {at:03} ".encode() + b"x" * (20 if alike else 3 * at),
            key=None if alike else f"key-{at}".encode(),
            headers=[("trace", b"\x00\x01"), ("empty", None)] if at % 10 == 9 else None,
            timestamp=NOW_MS + (at // 4 * 70 if at % 2 else 0),
        )
        if at in (19, 27):
            assert producer.flush(30) == 0
    assert producer.flush(30) == 0


def write_transactions(cluster: DockerCluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "t"})
    producer.init_transactions(30)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for at in range(2):
            producer.produce("transactions", f"value {at}".encode(), timestamp=NOW_MS + at)
        assert producer.flush(30) == 0
        end(30)


def copy_disk(cluster: DockerCluster, topics: Mapping[str, int], into: Path) -> dict[str, bytes]:
    """Copy the broker's data directory; the segments and snapshots by `<folder>/<name>`."""
    disks = cluster._disks
    files: dict[str, bytes] = {}
    for folder in (".", *(f"{topic}-0" for topic in topics)):
        names = [name for name in disks.files(1, folder) if not name.endswith((".index", ".timeindex"))]
        path = disks.copy_out(1, folder, names, to=f"copy-{folder}")
        try:
            for name, content in containers.get_files(cluster.helper.container_id, path).items():
                file = into / folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                if name.endswith((".log", ".snapshot")):
                    files[f"{folder}/{name}"] = content
        finally:
            disks.discard(path)
    return files


def dump(cluster: DockerCluster, files: Mapping[str, bytes]) -> str:
    """What Kafka's tool prints of the files."""
    with tool_container(cluster) as container:
        containers.put_files(container.id, {f"/segments/{name}": data for name, data in files.items()})
        argv = java_argv(
            "org.apache.kafka.tools.DumpLogSegments",
            *("--deep-iteration", "--print-data-log", "--files"),
            ",".join(f"/segments/{name}" for name in files),
            heap_mib=256,
        )
        code, output = client().containers.get(container.id).exec_run(["timeout", "60", *argv])
    assert code == 0, output[-2000:]
    return str(output.decode())


@contextmanager
def tool_container(cluster: DockerCluster) -> Iterator[Container]:
    spec = ContainerSpec(
        name=f"hw-{cluster.run_id}-dump",
        image=kafka_image(),
        command=("sleep", "120"),
        labels=cluster._labels,
        network="none",
    )
    container = containers.start(spec)
    try:
        yield container
    finally:
        containers.remove(container.id, name=spec.name)


def tail_of(data: bytes) -> tuple[TailKind, int]:
    walk = SegmentWalk(data)
    list(walk.chunks())
    return walk.tail.kind, walk.tail.size


def assert_checkpoints(disk: Path, topics: Mapping[str, int]) -> None:
    """What the broker noted when it stopped cleanly."""
    for name in (checkpoints.HIGH_WATERMARKS, checkpoints.RECOVERY_POINTS):
        offsets = checkpoints.offsets(disk / name)
        assert {topic: offsets[topic, 0] for topic in topics} == topics
    assert checkpoints.offsets(disk / checkpoints.LOG_STARTS) == {}
    for topic in topics:
        epochs = checkpoints.leader_epochs(disk / f"{topic}-0" / checkpoints.LEADER_EPOCHS)
        assert (epochs.epochs, epochs.starts) == ((0,), (0,))
    assert checkpoints.meta_properties(disk / checkpoints.META_PROPERTIES).node_id == 1
    assert checkpoints.clean_shutdown_epoch(disk / checkpoints.CLEAN_SHUTDOWN) >= 0

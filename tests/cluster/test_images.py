"""The images hold what a cluster needs, and a node's class-data archive is really used."""

import re
import socket
import time
from collections.abc import Iterator

import pytest

from compose.docker import api as docker_api
from compose.docker import images as docker_images
from compose.errors import ImageUnavailable
from compose.setup import prepare, registry
from compose.spec import images

# Formats a node, runs it until it has started, and counts its classes from our archive and from jars.
COUNT_CLASSES = r"""
config=/opt/highwater/archive.properties
format='kafka.tools.StorageTool format --cluster-id highwaterArchive000000'
java -cp '/opt/kafka/libs/*' $format --config $config >/dev/null 2>&1
: >/tmp/node.log  # it must be there when grep first reads it
"$@" "$config" >>/tmp/node.log 2>&1 &
for _ in $(seq 300); do grep -q 'Kafka Server started' /tmp/node.log && break; sleep 0.1; done
grep -c 'Kafka Server started' /tmp/node.log
grep -c 'source: shared objects file (top)' /tmp/classes.log
grep -c 'source: file:/opt/kafka/libs' /tmp/classes.log
"""


@pytest.fixture(scope="module", autouse=True)
def _images() -> None:
    prepare.ensure_images(on_line=lambda line: None)


def run(image: str, *argv: str) -> str:
    """Run a command in a container of its own, and return all it wrote."""
    container = docker_api.client().containers.create(image, list(argv), labels={"highwater.image": "test"})
    try:
        container.start()
        container.wait(timeout=60)
        return container.logs().decode()
    finally:
        container.remove(force=True, v=True)


def count_classes(*flags: str, heap_mib: int) -> tuple[int, int]:
    """Return how many classes a node takes from our archive, and how many from jars, until it has started."""
    java, *words = images.java_argv("kafka.Kafka", heap_mib=heap_mib)
    logging = "-Xlog:class+load:file=/tmp/classes.log"
    output = run(
        images.kafka_image(), "sh", "-c", COUNT_CLASSES, "sh", java, *words[:-3], *flags, logging, *words[-3:]
    )
    started, shared, from_jars = map(int, output.split())
    assert started == 1
    return shared, from_jars


@pytest.mark.parametrize("heap_mib", [256, 512])
def test_a_node_takes_its_classes_from_the_archive_at_the_heap_sizes_of_both_roles(heap_mib):
    shared, from_jars = count_classes(heap_mib=heap_mib)
    assert shared > 20 * from_jars


def test_without_the_archive_the_same_count_is_zero_so_the_test_above_can_fail():
    shared, from_jars = count_classes("-XX:SharedArchiveFile=/nowhere", heap_mib=512)
    assert shared == 0
    assert from_jars > 3000


def test_kafka_writes_its_log_to_the_output_of_the_container():
    output = run(
        images.kafka_image(),
        *images.java_argv("kafka.Kafka", "/opt/highwater/archive.properties", heap_mib=256),
    )
    assert re.search(r"^\[\d{4}-\d\d-\d\d [0-9:,]+\] (ERROR|INFO) ", output, re.MULTILINE)


def test_the_disk_helper_has_the_tools_that_disk_faults_are_made_with():
    wanted = ["fsfreeze", "losetup", "mkfs.ext4", "mkfs.xfs", "mount", "perl", "ps", "truncate", "sync"]
    output = run(
        images.tools_image(), "sh", "-c", f"for tool in {' '.join(wanted)}; do command -v $tool; done"
    )
    assert [line.rpartition("/")[2] for line in output.split()] == wanted


def test_the_proxy_is_of_the_version_that_its_image_says():
    assert run(images.toxiproxy_image(), "-version").strip() == "toxiproxy-server version 2.12.0"


def test_an_image_that_is_there_is_found_at_once():
    begin_s = time.monotonic()
    assert prepare.missing_images() == ()
    assert time.monotonic() - begin_s < 2


@pytest.fixture
def mute_registry() -> Iterator[str]:
    """A registry on this machine that accepts connections and never answers; returns its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_registry_that_hangs_is_given_up_in_seconds(mute_registry, monkeypatch):
    monkeypatch.setattr(docker_images, "ASK_TIMEOUT_S", 2)
    begin_s = time.monotonic()
    assert registry.ask(f"{mute_registry}/apache/kafka:4.3.1") is registry.Answer.SILENT
    assert time.monotonic() - begin_s < 6


def test_a_registry_whose_name_does_not_resolve_is_given_up_in_seconds():
    begin_s = time.monotonic()
    assert registry.ask("registry.invalid/apache/kafka:4.3.1") is registry.Answer.SILENT
    assert time.monotonic() - begin_s < 12


def test_the_jars_of_a_published_image_are_copied_out_of_it(tmp_path):
    """Our own image stands for a published one: both keep the jars in one place."""
    from compose.setup import kafka_libs

    kafka_libs.from_image(images.kafka_image(), tmp_path)
    assert (tmp_path / "libs" / "kafka_2.13-4.3.1.jar").stat().st_size > 1_000_000
    leftovers = docker_api.client().containers.list(all=True, filters={"label": "highwater.image=copy"})
    assert leftovers == []


def test_a_release_that_does_not_exist_is_named_with_what_was_tried():
    with pytest.raises(ImageUnavailable, match=r"Kafka 4\.99\.0: not to be had from Maven packages"):
        prepare.ensure_images("4.99.0", on_line=lambda line: None)


def test_a_build_that_fails_says_its_last_lines(tmp_path):
    recipe = f"FROM {images.base_image()}\nRUN echo out of luck && false\n"
    (tmp_path / "Dockerfile").write_text(recipe)
    with pytest.raises(ImageUnavailable, match=r"building highwater/broken:1: .*\n(.*\n)*    out of luck"):
        docker_images.build(tmp_path, dockerfile="Dockerfile", name="highwater/broken:1", arguments={})

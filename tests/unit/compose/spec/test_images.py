"""Images are named after what goes into them: a changed recipe is built, an unchanged one is found."""

import re

import pytest

from compose.spec import images


def test_every_image_has_a_name_of_ours_and_a_tag_with_its_version():
    assert re.fullmatch(r"highwater/kafka:4\.3\.1-[0-9a-f]{12}", images.kafka_image())
    assert re.fullmatch(r"highwater/kafka:3\.6\.1-[0-9a-f]{12}", images.kafka_image("3.6.1"))
    assert re.fullmatch(r"highwater/toxiproxy:2\.12\.0-[0-9a-f]{12}", images.toxiproxy_image())
    assert re.fullmatch(r"highwater/base:bookworm-[0-9a-f]{12}", images.base_image())
    assert images.tools_image() == images.base_image()


def test_a_name_stays_the_same_from_call_to_call():
    assert images.kafka_image("4.3.1") == images.kafka_image()


@pytest.mark.parametrize("name", images.KAFKA_RECIPE)
def test_a_changed_recipe_file_gives_the_kafka_image_a_new_name(monkeypatch, name):
    before = images.kafka_image()
    original = images.recipe
    monkeypatch.setattr(
        images, "recipe", lambda asked: original(asked) + ("# changed" if asked == name else "")
    )
    assert images.kafka_image() != before


def test_a_new_package_below_changes_the_name_of_everything_above(monkeypatch):
    before = (images.base_image(), images.kafka_image(), images.toxiproxy_image())
    monkeypatch.setattr(images, "TOOL_PACKAGES", (*images.TOOL_PACKAGES, "strace"))
    after = (images.base_image(), images.kafka_image(), images.toxiproxy_image())
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, False, True]


def test_other_jvm_flags_change_the_name_because_the_archive_is_made_with_them(monkeypatch):
    before = images.kafka_image()
    monkeypatch.setattr(images, "JVM_FLAGS", ("-XX:+UseG1GC",))
    assert images.kafka_image() != before


def test_other_jars_change_the_name(monkeypatch):
    before = images.kafka_image()
    monkeypatch.setattr(images, "LEFT_OUT", images.LEFT_OUT[1:])
    assert images.kafka_image() != before


def test_a_node_is_started_with_the_flags_that_its_archive_was_made_with():
    assert images.java_argv("kafka.Kafka", "server.properties", heap_mib=512) == (
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-Xmx512m",
        "-Xshare:auto",
        "-XX:SharedArchiveFile=/opt/highwater/kafka.jsa",
        "-Dlog4j2.configurationFile=/opt/highwater/log4j2.properties",
        "-Dlog4j.configuration=file:/opt/highwater/log4j.properties",
        "-Duser.timezone=UTC",
        "-cp",
        "/opt/kafka/libs/*",
        "kafka.Kafka",
        "server.properties",
    )


def test_flags_of_one_node_stand_before_its_main_class():
    argv = images.java_argv("kafka.Kafka", "server.properties", heap_mib=512, flags=("-XX:+More",))
    assert [word for word in argv if word != "-XX:+More"] == [
        *images.java_argv("kafka.Kafka", "server.properties", heap_mib=512)
    ]
    assert argv.index("-XX:+More") < argv.index("kafka.Kafka")


def test_the_bench_can_start_a_node_without_the_archive():
    argv = images.java_argv("kafka.Kafka", heap_mib=256, archive=False)
    assert "-Xshare:off" in argv
    assert not [word for word in argv if "SharedArchiveFile" in word]

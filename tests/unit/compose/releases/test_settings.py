"""The shipped table of settings, and how it is read and written."""

import re
from pathlib import Path

import pytest

from compose.releases import settings
from compose.releases.list_settings import main, with_release
from compose.releases.settings import read_table, releases, releases_with, settings_of, table_text
from compose.releases.values import refusal
from compose.spec.server_properties import server_properties
from compose.spec.topology import DEFAULT_RELEASE, OLDEST_RELEASE, Topology

SHIPPED = Path(settings.__file__).parent / "settings.tsv"
A, B = ("topic", "a", "INT", "1", "", "", "5"), ("topic", "b", "LIST", "", "", "x,y", "")


def test_every_release_from_the_oldest_that_works_to_the_default_is_known() -> None:
    versions = [tuple(map(int, release.split("."))) for release in releases()]
    assert versions == sorted(versions)
    assert versions[0][:2] == OLDEST_RELEASE
    assert {version[:2] for version in versions} == {(3, minor) for minor in range(6, 10)} | {
        (4, minor) for minor in range(4)
    }
    assert DEFAULT_RELEASE in releases()


@pytest.mark.parametrize("release", releases())
def test_a_release_defines_what_every_release_does_and_takes_its_own_defaults(release: str) -> None:
    topic, broker = settings_of(release, "topic"), settings_of(release, "broker")
    assert (topic["min.insync.replicas"].type, topic["min.insync.replicas"].least) == ("INT", "1")
    assert topic["max.message.bytes"].default == broker["message.max.bytes"].default == "1048588"
    assert topic["cleanup.policy"].words == ("compact", "delete")
    producer = settings_of(release, "producer")
    assert (producer["acks"].default, set(producer["acks"].words)) == ("all", {"-1", "0", "1", "all"})
    assert (len(topic) > 25, len(broker) > 280, len(producer) > 80) == (True, True, True)
    wrong = {
        each.name: refusal(each, each.default)
        for each in (*topic.values(), *broker.values(), *producer.values())
        if each.default and refusal(each, each.default)
    }
    assert wrong == {}


@pytest.mark.parametrize("release", releases())
def test_every_release_takes_what_the_harness_writes_for_its_nodes(release: str) -> None:
    topology, known = Topology(kafka=release), settings_of(release, "broker")
    written = [server_properties(topology, node, client_address="localhost:1") for node in topology.nodes]
    assert len(written) == 6
    assert [key for each in written for key in each if key not in known] == []
    assert [text for each in written for key in each if (text := refusal(known[key], each[key]))] == []


def test_what_came_and_went_is_known_of_each_release() -> None:
    assert "log.message.format.version" in settings_of("3.9.2", "broker")
    assert "log.message.format.version" not in settings_of("4.0.0", "broker")
    assert settings_of("3.9.2", "topic")["segment.bytes"].least == "14"
    assert settings_of("4.3.1", "topic")["segment.bytes"].least == "1048576"
    assert releases_with("message.format.version", "topic") == "3.6.0-3.9.2"
    assert releases_with("no.such.setting", "topic") == ""


def test_what_came_and_went_is_known_of_each_releases_producer() -> None:
    """KIP-580, KIP-1030, KIP-1139."""
    lingers = {release: settings_of(release, "producer")["linger.ms"].default for release in releases()}
    assert (lingers["3.9.2"], lingers["4.0.0"]) == ("0", "5")
    assert releases_with("auto.include.jmx.reporter", "producer") == "3.6.0-3.9.2"
    assert releases_with("retry.backoff.max.ms", "producer") == "3.7.0-4.3.1"
    assert releases_with("transaction.two.phase.commit.enable", "producer") == "4.1.0-4.3.1"
    assert (
        refusal(settings_of("4.3.1", "producer")["transactional.id"], " ") == "expected some text, found none"
    )


def test_a_table_is_read_back_as_it_was_written() -> None:
    known = ("3.9.0", "4.0.0", "4.1.0", "4.2.0")
    text = table_text(known, {A: ("3.9.0", "4.0.0", "4.2.0"), B: ("4.1.0",)})
    assert text.splitlines() == [
        "releases\t3.9.0\t4.0.0\t4.1.0\t4.2.0",
        "3.9.0-4.0.0,4.2.0\ttopic\ta\tINT\t1\t\t\t5",
        "4.1.0\ttopic\tb\tLIST\t\t\tx,y\t",
    ]
    assert read_table(text) == (known, {A: ("3.9.0", "4.0.0", "4.2.0"), B: ("4.1.0",)})


def test_the_shipped_table_is_in_the_form_that_the_program_writes() -> None:
    text = SHIPPED.read_text()
    assert table_text(*read_table(text)) == text
    assert re.search(r"https?:|/home/|/root/|/var/tmp/", text) is None


def test_a_release_is_added_in_its_place_or_replaced() -> None:
    text = table_text(("3.9.0", "3.10.0"), {A: ("3.9.0", "3.10.0")})
    added = with_release(text, "4.0.0", [A, B])
    assert read_table(added) == (
        ("3.9.0", "3.10.0", "4.0.0"),
        {A: ("3.9.0", "3.10.0", "4.0.0"), B: ("4.0.0",)},
    )
    assert read_table(with_release(added, "4.0.0", [A]))[1] == {A: ("3.9.0", "3.10.0", "4.0.0")}


def test_what_is_no_release_is_not_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["latest"]) == 2
    assert capsys.readouterr().err == "not a release: latest; write it as in 4.3.1\n"

"""Changes of a cluster, byte by byte, against a broker made of one socket.

The bytes of every request are those that Kafka's own Java classes write for it.
"""

import pytest
from fakes.world.socket_broker import TAGS, broker, ids, number, offers, text

from compose.admin_protocol import Feature, Quorum, Resource
from compose.kafka import admin_api
from compose.kafka.admin_api import Outcome
from compose.kafka.wire import Connection

NULL = b"\0"
ORDERS = Resource(kind="topic", name="orders")


def asked(key: int, version: int, body: bytes) -> bytes:
    """A request with its header, the first on its connection."""
    return number("hhih", key, version, 1, 14) + b"highwater-view" + TAGS + body


def outcome(of: str, error: int = 0, reason: str = "") -> Outcome:
    """What became of a part of a change."""
    return Outcome(of=of, error=error, reason=reason)


def test_reassign() -> None:
    """The replicas of each partition, in their order; an error for the whole and for each."""
    rows = number("ih", 0, 0) + NULL + TAGS + number("ih", 1, 39) + text("no 9") + TAGS
    answer = number("ih", 0, 0) + NULL + b"\2" + text("orders") + b"\3" + rows + TAGS + TAGS
    replicas = {("orders", 0): (2, 3, 1), ("orders", 1): (9,)}
    with broker(answer) as (address, got), Connection(address, within_s=2) as one:
        found = admin_api.reassign(one, replicas, 5000)
    partitions = number("i", 0) + ids(2, 3, 1) + TAGS + number("i", 1) + ids(9) + TAGS
    body = number("i", 5000) + b"\2" + text("orders") + b"\3" + partitions + TAGS + TAGS
    assert got == [asked(45, 0, body)]
    assert found == (outcome("the reassignment"), outcome("orders-0"), outcome("orders-1", 39, "no 9"))


@pytest.mark.parametrize(("kind", "byte"), [("preferred", b"\0"), ("unclean", b"\1")])
def test_elect(kind, byte) -> None:
    """Of partitions of several topics."""
    rows = b"\2" + text("orders") + b"\2" + number("ih", 4, 84) + text("no") + TAGS + TAGS
    answer = number("ih", 0, 0) + rows + TAGS
    places = [("orders", 4), ("audit", 0), ("orders", 5)]
    with broker(answer) as (address, got), Connection(address, within_s=2) as one:
        found = admin_api.elect(one, places, kind, 5000)
    topics = b"\3" + text("orders") + ids(4, 5) + TAGS + text("audit") + ids(0) + TAGS
    assert got == [asked(43, 2, byte + topics + number("i", 5000) + TAGS)]
    assert found == (outcome("the election"), outcome("orders-4", 84, "no"))


def test_create_topic() -> None:
    """With the brokers' settings, which the answer lists."""
    setting = text("cleanup.policy") + text("delete") + number("?b?", False, 5, False) + TAGS
    topic = text("new") + number("h", 0) + NULL + number("ih", 6, 3) + b"\2" + setting + TAGS
    with (
        broker(number("i", 0) + b"\2" + topic + TAGS) as (address, got),
        Connection(address, within_s=2) as one,
    ):
        found = admin_api.create_topic(one, "new", partitions=6, replication=3, timeout_ms=5000)
    body = b"\2" + text("new") + number("ih", 6, 3) + b"\1\1" + TAGS + number("i?", 5000, False) + TAGS
    assert got == [asked(19, 5, body)]
    assert found == (outcome("new"),)


def test_delete_topic() -> None:
    """By its name."""
    answer = number("i", 0) + b"\2" + text("new") + number("h", 3) + text("gone") + TAGS + TAGS
    with broker(answer) as (address, got), Connection(address, within_s=2) as one:
        found = admin_api.delete_topic(one, "new", timeout_ms=5000)
    assert got == [asked(20, 5, b"\2" + text("new") + number("i", 5000) + TAGS)]
    assert found == (outcome("new", 3, "gone"),)


def test_add_partitions() -> None:
    """The controller places them: the array of assignments is null."""
    answer = number("i", 0) + b"\2" + text("new") + number("h", 0) + NULL + TAGS + TAGS
    with broker(answer) as (address, got), Connection(address, within_s=2) as one:
        found = admin_api.add_partitions(one, "new", count=6, timeout_ms=5000)
    body = b"\2" + text("new") + number("i", 6) + NULL + TAGS + number("i?", 5000, False) + TAGS
    assert got == [asked(37, 2, body)]
    assert found == (outcome("new"),)


def test_change_settings() -> None:
    """Each is set, none removed."""
    answer = number("i", 0) + b"\2" + number("h", 40) + text("bad") + number("b", 2) + text("orders") + TAGS
    with broker(answer + TAGS) as (address, got), Connection(address, within_s=2) as one:
        found = admin_api.change_settings(one, ORDERS, {"min.insync.replicas": "1"})
    row = text("min.insync.replicas") + number("b", 0) + text("1") + TAGS
    body = b"\2" + number("b", 2) + text("orders") + b"\2" + row + TAGS + number("?", False) + TAGS
    assert got == [asked(44, 1, body)]
    assert found == (outcome("orders", 40, "bad"),)


def described(error: int = 0) -> bytes:
    """An answer to DescribeConfigs: one setting, with one synonym."""
    synonym = text("min.insync.replicas") + text("2") + number("b", 1) + TAGS
    row = text("min.insync.replicas") + text("2") + number("?b?", False, 1, False)
    row += b"\2" + synonym + number("b", 3) + NULL + TAGS
    rows = b"\2" + row if not error else b"\1"
    return number("i", 0) + b"\2" + number("h", error) + NULL + number("b", 2) + text("orders") + rows + TAGS


def test_settings() -> None:
    """The values in effect, of the keys that are asked for."""
    with broker(described() + TAGS) as (address, got), Connection(address, within_s=2) as one:
        assert admin_api.settings(one, ORDERS, ["min.insync.replicas"]) == {"min.insync.replicas": "2"}
    row = number("b", 2) + text("orders") + b"\2" + text("min.insync.replicas") + TAGS
    assert got == [asked(32, 4, b"\2" + row + number("??", False, False) + TAGS)]


def test_settings_of_an_unknown_resource() -> None:
    """They are no empty settings."""
    with (
        broker(described(error=3) + TAGS) as (address, _),
        Connection(address, within_s=2) as one,
        pytest.raises(ValueError, match="no settings of topic orders: error 3"),
    ):
        admin_api.settings(one, ORDERS, ["min.insync.replicas"])


@pytest.mark.parametrize(("upgrade", "byte"), [(True, 1), (False, 2)])
def test_set_feature(upgrade, byte) -> None:
    """Up, or down where that is safe; the reason may be the whole's or the feature's."""
    result = text("elr") + number("h", 95) + text("no such level") + TAGS
    with (
        broker(number("ih", 0, 0) + NULL + b"\2" + result + TAGS) as (address, got),
        Connection(address, within_s=2) as one,
    ):
        found = admin_api.set_feature(one, "elr", 1, upgrade=upgrade, only_check=True, timeout_ms=5000)
    row = text("elr") + number("hb", 1, byte) + TAGS
    assert got == [asked(57, 1, number("i", 5000) + b"\2" + row + number("?", True) + TAGS)]
    assert found == (outcome("elr"), outcome("elr", 95, "no such level"))


def api_versions(*tagged: tuple[int, bytes]) -> bytes:
    """An answer to ApiVersions v4 with tagged fields."""
    fields = b"".join(bytes([tag, len(raw)]) + raw for tag, raw in tagged)
    head = number("h", 0) + b"\2" + number("hhh", 3, 0, 12) + TAGS + number("i", 0)
    return head + bytes([len(tagged)]) + fields


def levels(name: str, first: int, second: int) -> bytes:
    """One row of a feature's levels."""
    return b"\2" + text(name) + number("hh", first, second) + TAGS


@pytest.mark.parametrize(
    ("tagged", "expected"),
    [
        ([(0, levels("elr", 0, 1)), (2, levels("elr", 1, 1))], Feature(level=1, oldest=0, newest=1)),
        ([(0, levels("elr", 0, 1)), (1, number("q", 7))], Feature(level=0, oldest=0, newest=1)),
        ([(0, levels("group.version", 0, 1))], None),
        ([], None),
    ],
)
def test_feature(tagged, expected) -> None:
    """Its finalized level, 0 if it has none; None of a release that does not know it."""
    with (
        broker(offers(key18=5), api_versions(*tagged)) as (address, got),
        Connection(address, within_s=2) as one,
    ):
        assert admin_api.feature(one, "elr") == expected
    head = number("hhih", 18, 4, 2, 14) + b"highwater-view" + TAGS
    assert got[1] == head + text("highwater-view") + text("1") + TAGS


def test_an_old_broker_is_asked_for_features_in_its_own_version() -> None:
    """Version 3 is the first that has any."""
    answer = api_versions((0, levels("metadata.version", 1, 20)), (2, levels("metadata.version", 20, 20)))
    with broker(offers(key18=3), answer) as (address, got), Connection(address, within_s=2) as one:
        assert admin_api.feature(one, "metadata.version") == Feature(level=20, oldest=1, newest=20)
    assert got[1][:4] == number("hh", 18, 3)


def replica(node: int, log_end: int) -> bytes:
    """A voter or an observer, in an answer to DescribeQuorum v1."""
    return number("iqqq", node, log_end, 7, 8) + TAGS


def quorum(error: int, leader: int) -> bytes:
    """An answer to DescribeQuorum with two voters and an observer."""
    rows = b"\3" + replica(101, 40) + replica(102, 38) + b"\2" + replica(1, 39)
    partition = number("ihiiq", 0, error, leader, 5, 38) + rows + TAGS
    return number("h", 0) + b"\2" + text("__cluster_metadata") + b"\2" + partition + TAGS + TAGS


def test_quorum() -> None:
    """The voters' log ends by the active controller's word; the brokers that follow are left out."""
    with broker(quorum(0, 101)) as (address, got), Connection(address, within_s=2) as one:
        assert admin_api.quorum(one) == Quorum(leader=101, log_ends={101: 40, 102: 38})
    topic = text("__cluster_metadata") + b"\2" + number("i", 0) + TAGS + TAGS
    assert got == [asked(55, 1, b"\2" + topic + TAGS)]


@pytest.mark.parametrize(("error", "leader"), [(6, 101), (0, -1)])
def test_a_quorum_without_an_active_controller_is_no_answer(error: int, leader: int) -> None:
    """Neither is that of one that leads no more (NOT_LEADER_OR_FOLLOWER)."""
    with (
        broker(quorum(error, leader)) as (address, _),
        Connection(address, within_s=2) as one,
        pytest.raises(ValueError, match="no controller is active"),
    ):
        admin_api.quorum(one)

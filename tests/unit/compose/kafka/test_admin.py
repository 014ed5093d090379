"""Changes of a cluster: whom they are sent to, and what is said where they are refused."""

from contextlib import ExitStack

import pytest
from fakes.world.socket_broker import TAGS, broker, number, offers, paused_broker, text

from compose.admin_protocol import Feature, Resource
from compose.errors import AdminRefused, ViewError
from compose.kafka import admin
from compose.kafka.admin import ClusterAdmin

NULL = b"\0"
SILENT = "127.0.0.1:1"
ORDERS = Resource(kind="topic", name="orders")


def at(address: tuple[str, int]) -> str:
    """As in a bootstrap list."""
    return f"{address[0]}:{address[1]}"


def deleted(error: int, reason: bytes = NULL) -> bytes:
    """An answer to DeleteTopics."""
    return number("i", 0) + b"\2" + text("new") + number("h", error) + reason + TAGS + TAGS


def elected(error: int) -> bytes:
    """An answer to ElectLeaders for orders-0."""
    row = b"\2" + text("orders") + b"\2" + number("ih", 0, error) + NULL + TAGS + TAGS
    return number("ih", 0, 0) + row + TAGS


def features(level: int) -> bytes:
    """An answer to ApiVersions with a feature that is known to level 1, and finalized at `level`."""
    supported = b"\2" + text("elr") + number("hh", 0, 1) + TAGS
    finalized = b"\2" + text("elr") + number("hh", level, level) + TAGS
    fields = [(0, supported), *([(2, finalized)] if level else [])]
    tagged = b"".join(bytes([tag, len(raw)]) + raw for tag, raw in fields)
    return number("h", 0) + b"\1" + number("i", 0) + bytes([len(fields)]) + tagged


def test_a_change_goes_to_the_first_broker_that_answers() -> None:
    """A dead one costs nothing but its time."""
    with broker(offers(), deleted(0)) as (address, got):
        ClusterAdmin(f"{SILENT},{at(address)}").delete_topic("new")
    assert [request[:4] for request in got] == [number("hh", 18, 0), number("hh", 20, 5)]


def test_a_change_is_not_left_with_a_broker_that_is_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would find it when it goes on, and pass it on then, whatever was asked for and done since."""
    monkeypatch.setattr(admin, "HELLO_S", 0.1)
    monkeypatch.setattr(admin, "CHANGE_S", 0.4)
    with paused_broker() as (paused, go_on), broker(offers(), deleted(0)) as (address, got):
        ClusterAdmin(f"{at(paused)},{at(address)}").delete_topic("new")
        with pytest.raises(ViewError, match="timed out"):
            ClusterAdmin(at(paused)).delete_topic("new")
        found = go_on()
    assert {request[:2] for request in found} == {number("h", 18)}
    assert [request[:2] for request in got] == [number("h", 18), number("h", 20)]


def test_nobody_takes_a_change() -> None:
    """The brokers that were asked are named."""
    with pytest.raises(ViewError, match=r"no broker passes it on to the controllers: broker at 127\."):
        ClusterAdmin(SILENT).delete_topic("new")


def test_what_is_so_already_is_no_refusal() -> None:
    """A topic that is gone, an election that is not needed."""
    with broker(offers(), deleted(3, text("gone"))) as (address, _):
        ClusterAdmin(at(address)).delete_topic("new")
    with broker(offers(), elected(84)) as (address, _):
        ClusterAdmin(at(address)).elect([("orders", 0)], "preferred")


def test_a_refusal_has_kafkas_reason() -> None:
    """In its own words, where it has any; else the name of the error, or its number."""
    refusal = deleted(73, text("deletion is off"))
    with broker(offers(), refusal) as (address, _), pytest.raises(AdminRefused) as caught:
        ClusterAdmin(at(address)).delete_topic("new")
    assert str(caught.value) == "Kafka refuses new: error 73, deletion is off"
    with broker(offers(), elected(83)) as (address, _), pytest.raises(AdminRefused) as caught:
        ClusterAdmin(at(address)).elect([("orders", 0)], "unclean")
    assert str(caught.value) == "Kafka refuses orders-0: ELIGIBLE_LEADERS_NOT_AVAILABLE"


def test_each_broker_is_asked_for_settings_by_itself() -> None:
    """Of itself, if they are settings of brokers; one that is silent is left out."""
    row = text("num.io.threads") + text("8") + number("?b?", False, 5, False)
    row += b"\1" + number("b", 3) + NULL + TAGS
    described = number("i", 0) + b"\2" + number("h", 0) + NULL + number("b", 4) + text("2") + b"\2" + row
    with ExitStack() as brokers:
        (second, asked_2), (third, asked_3) = (
            brokers.enter_context(broker(described + TAGS + TAGS)) for _ in range(2)
        )
        admin = ClusterAdmin(f"{SILENT},{at(second)},{at(third)}")
        found = admin.settings(Resource(kind="broker", name=""), ["num.io.threads"])
    assert found == {2: {"num.io.threads": "8"}, 3: {"num.io.threads": "8"}}
    assert b"\2\4" + text("2") in asked_2[0]
    assert b"\2\4" + text("3") in asked_3[0]


def test_the_settings_of_one_broker_go_to_that_broker() -> None:
    """No other one takes them."""
    altered = number("i", 0) + b"\2" + number("h", 0) + NULL + number("b", 4) + text("2") + TAGS + TAGS
    with broker(offers(), altered) as (address, got):
        admin = ClusterAdmin(f"{SILENT},{at(address)}")
        admin.change_settings(Resource(kind="broker", name="2"), {"num.io.threads": "4"})
    assert [request[:2] for request in got] == [number("h", 18), number("h", 44)]
    with pytest.raises(ViewError, match="no broker passes it on"):
        admin.change_settings(Resource(kind="broker", name="1"), {"num.io.threads": "4"})


@pytest.mark.parametrize(("now", "wanted", "direction"), [(0, 1, 1), (1, 0, 2)])
def test_a_feature_goes_up_or_down_from_where_it_is(now, wanted, direction) -> None:
    """Kafka wants to be told which."""
    done = number("ih", 0, 0) + NULL + b"\1" + TAGS
    with ExitStack() as brokers:
        (asked, _), (changed, got) = (
            brokers.enter_context(broker(offers(key18=4), features(now))),
            brokers.enter_context(broker(offers(), done)),
        )
        admin = ClusterAdmin(at(asked))
        known = admin.features("elr")
        assert {node: one.level for node, one in known.items()} == {1: now}
        admin = ClusterAdmin(at(changed))
        admin.features = lambda name: known  # type: ignore[method-assign]
        admin.set_feature("elr", wanted)
    assert text("elr") + number("hb", wanted, direction) in got[1]


@pytest.mark.parametrize(
    ("said", "wanted", "direction"),
    [
        ((0, 1, 0), 1, 1),
        ((1, 0, 1), 0, 2),
        ((30, 25, 25), 30, 1),
        ((25, 30, 30), 25, 2),
        ((1, 1, 1), 1, None),
        ((0, 0), 0, None),
        ((), 0, 2),
    ],
)
def test_a_feature_is_changed_unless_every_broker_is_at_its_level(said, wanted, direction) -> None:
    """One that lags behind still says what the others no longer are at."""
    with broker(offers(), number("ih", 0, 0) + NULL + b"\1" + TAGS) as (address, got):
        admin = ClusterAdmin(at(address))
        known = {node: Feature(level=level, oldest=0, newest=99) for node, level in enumerate(said, start=1)}
        admin.features = lambda name: known  # type: ignore[method-assign]
        admin.set_feature("elr", wanted)
    sent = [] if direction is None else [text("elr") + number("hb", wanted, direction)]
    changes = got[1:]  # the first one asks whether it answers
    assert len(changes) == len(sent)
    assert all(row in request for row, request in zip(sent, changes, strict=True))

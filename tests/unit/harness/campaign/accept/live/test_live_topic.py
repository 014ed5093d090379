"""The configuration of a topic on a running cluster: the file it becomes, and the traps of its placement."""

from dataclasses import replace

import pytest
from fakes.world.socket_broker import TAGS, number, offers, text
from fakes.world.socket_broker import broker as socket_broker

from checkers.promises import traps
from compose.admin_protocol import Feature
from compose.kafka import admin
from harness import api
from harness.campaign.accept import page
from harness.campaign.accept.acceptance import promised, record_of
from harness.campaign.accept.configuration.configuration_file import parse_configuration
from harness.campaign.accept.configuration.in_force import configuration_of
from harness.campaign.accept.live.live_features import Features, features_of
from harness.campaign.accept.live.live_topic import configuration_text, name_of, reading, replicas_in_one_rack
from workloads.clients import live_topic as read
from workloads.clients.live_topic import LiveBroker, LiveTopic

ADDRESS = {"advertised.listeners": "PLAINTEXT://x:9092", "node.id": "7"}


def broker(number, rack, **lag):
    return LiveBroker(number=number, address=f"kafka-{number}:9092", rack=rack, config={**ADDRESS, **lag})


def topic(
    *,
    numbers=(7, 8, 9, 10),
    racks=("a", "b", "a", "b"),
    replicas=((7, 8, 9), (8, 9, 10)),
    lags=("10000", "10000", "5000", "10000"),
):
    return LiveTopic(
        name="Orders_2.EU",
        replicas=replicas,
        config={"min.insync.replicas": "2", "confluent.tier.enable": "true"},
        brokers=tuple(
            broker(number, rack, **{"replica.lag.time.max.ms": lag})
            for number, rack, lag in zip(numbers, racks, lags, strict=False)
        ),
    )


SILENT = Features(why_not="no broker says its features")


def features(*newest, level=None, elr=0):
    """Brokers that know metadata.version up to these levels; finalized at `level`, else at the lowest."""
    finalized = min(newest) if level is None else level
    return Features(
        metadata={
            place: Feature(level=finalized, oldest=7, newest=its) for place, its in enumerate(newest, start=1)
        },
        elr={1: Feature(level=elr, oldest=0, newest=1)} if min(newest) >= 25 else {},
    )


def parsed(its, *sets, said=SILENT):
    return parse_configuration(configuration_text(its, said), "topic", sets)


def record(said, *sets, its=None):
    """The answer for the topic on brokers with these features."""
    its = its or topic()
    asked = parsed(its, *sets, said=said)
    return record_of(promised(asked, configuration_of(asked), reading(its, said, asked, sets)))


def test_a_live_topic_is_a_configuration_with_the_settings_that_decide():
    asked = parsed(topic())
    assert (asked.name, asked.topic.partitions, asked.topic.replication) == ("orders-2-eu", 2, 3)
    assert asked.topic.config == {"min.insync.replicas": "2"}
    assert asked.cluster.broker_config == {"replica.lag.time.max.ms": "10000"}
    assert asked.cluster.racks == {"1": "a", "2": "b", "3": "a", "4": "b"}


def test_what_only_controllers_read_is_a_setting_of_controllers_though_brokers_were_given_it():
    session = {"broker.session.timeout.ms": "4000"}
    its = replace(topic(), brokers=tuple(broker(number, "a", **session) for number in (7, 8, 9, 10)))
    asked = parsed(its)
    assert (asked.cluster.broker_config, asked.cluster.controller_config) == ({}, session)


def test_what_a_cluster_does_not_say_is_set_on_the_command_line():
    asked = parsed(topic(), "producer.acks=1", "cluster.kafka=3.9.1")
    its = configuration_of(asked)
    assert (its.producer.acks, its.cluster.release, its.cluster.elr) == ("1", (3, 9), False)


def test_a_broker_that_is_away_is_known_by_its_replicas():
    its = topic(numbers=(7, 8), replicas=((7, 9, 8), (9, 8, 7)))
    asked = parsed(its)
    assert (asked.cluster.brokers, asked.topic.replication) == (3, 3)
    assert asked.cluster.racks == {"1": "a", "2": "b", "3": "not known"}
    found = {trap.id for trap in traps(configuration_of(asked))}
    assert found.isdisjoint({"racks-of-some", "no-racks", "one-rack", "replicas-in-one-rack"})
    beside = topic(numbers=(7, 8), racks=("a", "a"), replicas=((7, 9, 8), (9, 8, 7)))
    (one,) = (trap for trap in traps(configuration_of(parsed(beside))) if trap.id == "one-rack")
    assert one.sentence.startswith("all brokers whose rack is known stand in one rack: ")
    assert parsed(topic(numbers=(7, 8), racks=("", ""))).cluster.racks == {}
    assert parsed(topic(racks=("", "a", "", ""))).cluster.racks == {"2": "a"}


# Where brokers differ


LAG = "replica.lag.time.max.ms"


@pytest.mark.parametrize(
    ("lags", "taken", "remark"),
    [
        (["10000"] * 4, "10000", ""),
        (["10000", "10000", "5000", "10000"], "10000", "10000 on 7, 8, 10; 5000 on 9"),
        (["5000", "5000", "10000", "10000"], "5000", "5000 on 7, 8; 10000 on 9, 10"),
        # Kafka's default is one value more.
        ([None, None, None, "10000"], "30000", "30000 on 7, 8, 9; 10000 on 10"),
        ([None, "30000", None, None], "30000", ""),
        ([None] * 4, None, ""),
    ],
)
def test_each_setting_in_which_brokers_differ_is_named_with_the_brokers(lags, taken, remark):
    rows = [
        broker(number, "a", **({} if lag is None else {LAG: lag}))
        for number, lag in zip((7, 8, 9, 10), lags, strict=True)
    ]
    its = replace(topic(), brokers=tuple(rows))
    assert parsed(its).cluster.broker_config.get(LAG) == taken
    found = [each for each in record(features(30), its=its).remarks if LAG in each]
    assert found == ([f"brokers differ in {LAG}: {remark}; the first is taken"] if remark else [])


def test_a_setting_that_most_do_not_have_and_kafka_has_no_default_of_is_left_to_it():
    retention = "log.retention.ms"
    rows = [broker(number, "a", **({retention: "1000"} if number == 7 else {})) for number in (7, 8, 9, 10)]
    its = replace(topic(), brokers=tuple(rows))
    assert retention not in parsed(its).cluster.broker_config
    assert record(features(30), its=its).remarks == (
        f"brokers differ in {retention}: none on 8, 9, 10; 1000 on 7; the first is taken",
    )


def test_what_decides_nothing_may_differ():
    rows = [replace(each, config={"node.id": str(each.number)}) for each in topic().brokers]
    assert record(features(30), its=replace(topic(), brokers=tuple(rows))).remarks == ()


def test_brokers_that_are_away_and_partitions_of_fewer_replicas_are_named():
    its = topic(numbers=(7, 8), replicas=((7, 8, 11), (8, 12, 7), (7, 8)))
    assert record(features(30), its=its).remarks == (
        "no answer from broker 11, 12: settings and rack are not known",
        "partitions differ in their replicas: 2 of 1, 3 of 2; the fewest are taken",
    )


# What the brokers' features say


@pytest.mark.parametrize(
    ("said", "cluster"),
    [
        (features(30, elr=1), {"kafka": "4.3.1", "elr": True, "formatted": None}),
        (features(27, elr=0), {"kafka": "4.1.2", "elr": False, "formatted": None}),
        (features(27, 30, 30, elr=1), {"kafka": "4.1.2", "elr": True, "formatted": None}),
        (features(27, level=21), {"kafka": "4.1.2", "elr": False, "formatted": "3.9.2"}),
        (features(14), {"kafka": "3.6.2", "elr": False, "formatted": None}),
        (features(99, elr=1), {"kafka": "4.3.1", "elr": True, "formatted": None}),
        (features(11), {"kafka": "4.3.1", "elr": False, "formatted": None}),
        (SILENT, {"kafka": "4.3.1", "elr": None, "formatted": None}),
    ],
)
def test_the_release_is_that_of_the_oldest_broker_and_eligible_leaders_are_as_finalized(said, cluster):
    asked = parsed(topic(), said=said).cluster
    assert {key: getattr(asked, key) for key in cluster} == cluster


@pytest.mark.parametrize(
    ("said", "sets", "first", "last"),
    [
        (features(27, elr=1), (), "Kafka 4.1", "ELR on"),
        (features(27, elr=1), ("cluster.kafka=4.1.1",), "Kafka 4.1.1", "ELR on"),
        (features(99, elr=0), (), "Kafka 4.3.1 (assumed)", "ELR off"),
        (SILENT, (), "Kafka 4.3.1 (assumed)", "ELR on (assumed)"),
        (SILENT, ("cluster.kafka=3.9.2", "cluster.elr=false"), "Kafka 3.9.2", "ELR off"),
    ],
)
def test_what_nobody_said_is_called_assumed(said, sets, first, last):
    words = record(said, *sets).settings.split(", ")
    assert (words[0], words[-1]) == (first, last)
    assert words[3:5] == ["acks=all (assumed)", "idempotent (assumed)"]
    described = record(said, *sets, "producer.acks=1").settings.split(", ")
    assert described[3:5] == ["acks=1", "not idempotent"]


UNCLEAN = "unclean.leader.election.enable"


@pytest.mark.parametrize(
    ("own", "sets", "words"),
    [
        ({}, (), ["unclean election off (assumed)", "3 controllers beside the brokers (assumed)"]),
        ({UNCLEAN: "true"}, (), ["unclean election on", "3 controllers beside the brokers (assumed)"]),
        ({}, (f"topic.config.{UNCLEAN}=false", "cluster.controllers=1"), ["unclean election off"]),
        (
            {},
            (f"cluster.controller_config.{UNCLEAN}=true",),
            ["unclean election on", "3 controllers beside the brokers (assumed)"],
        ),
        ({}, ("cluster.combined=true",), ["unclean election off (assumed)"]),
    ],
)
def test_what_only_controllers_say_is_called_assumed(own, sets, words):
    """Whether brokers are controllers decides how many of them may be away; they elect by a setting of their
    own where the topic has none."""
    its = replace(topic(), config={**topic().config, **own})
    found = record(features(30, elr=1), *sets, its=its).settings.split(", ")
    assert found[5:-1] == words


@pytest.mark.parametrize("unclean", ["true", "false"])
def test_what_brokers_have_of_a_setting_by_which_controllers_elect_is_taken_and_called_assumed(unclean):
    rows = [replace(each, config={UNCLEAN: unclean}) for each in topic().brokers]
    words = record(features(30, elr=1), its=replace(topic(), brokers=tuple(rows))).settings.split(", ")
    assert f"unclean election {'on' if unclean == 'true' else 'off'} (assumed)" in words


SESSION = "broker.session.timeout.ms"


@pytest.mark.parametrize(
    ("sets", "remarks"),
    [
        ((), (f"{SESSION}=4000 is what brokers have: that of the controllers decides, and is not known",)),
        ((f"cluster.controller_config.{SESSION}=9000",), ()),
        (("cluster.combined=true",), ()),
    ],
)
def test_a_setting_of_controllers_that_brokers_have_is_taken_with_a_remark(sets, remarks):
    rows = [replace(each, config={SESSION: "4000"}) for each in topic().brokers]
    its = replace(topic(), brokers=tuple(rows))
    assert record(features(30, elr=1), *sets, its=its).remarks == remarks


@pytest.mark.parametrize(
    ("said", "remark"),
    [
        (features(30), []),
        (SILENT, ["its release and its eligible leader replicas were not read: no broker says its features"]),
        (features(99, 120), ["its release was not read: it knows metadata.version up to 99"]),
    ],
)
def test_the_answer_says_why_a_release_is_not_known(said, remark):
    its = record(said)
    found = [each for each in its.remarks if each.startswith("its release")]
    assert found == remark
    lines = page.promise(its).splitlines(), page.answer(its, {}).splitlines()
    assert [f"  {each}" in its_lines for each in remark for its_lines in lines] == [True, True] * len(remark)


def levels(name, oldest, newest):
    """The rows of one feature."""
    return b"\2" + text(name) + number("hh", oldest, newest) + TAGS


def test_brokers_are_asked_where_clients_reach_them(monkeypatch):
    """What answers for one feature, and then no more, has said nothing of the other."""
    monkeypatch.setattr(admin, "ASK_S", 0.5)
    known, finalized = levels("metadata.version", 7, 27), levels("metadata.version", 27, 27)
    tagged = b"".join(bytes([tag, len(raw)]) + raw for tag, raw in ((0, known), (2, finalized)))
    answer = number("h", 0) + b"\1" + number("i", 0) + b"\2" + tagged
    with socket_broker(offers(key18=4), answer) as ((host, port), _):
        one = replace(topic().brokers[0], address=f"{host}:{port}")
        found = features_of(replace(topic(), brokers=(one,)), {})
    assert found == Features(metadata={1: Feature(level=27, oldest=7, newest=27)})
    cluster = parsed(topic(), said=found).cluster
    assert (cluster.kafka, cluster.formatted, cluster.elr) == ("4.1.2", None, None)


def test_without_an_answer_or_over_tls_and_sasl_nothing_is_known_of_features():
    gone = replace(topic(), brokers=(replace(topic().brokers[0], address="127.0.0.1:1"),))
    assert features_of(gone, {}) == SILENT
    for protocol in ("SSL", "sasl_plaintext", "SASL_SSL"):
        its = features_of(topic(), {"security.protocol": protocol})
        assert its == Features(why_not=f"features are not read over {protocol.lower()}")


def test_a_topic_that_is_read_is_answered_with_what_is_assumed(monkeypatch):
    its = replace(topic(), brokers=tuple(replace(each, address="127.0.0.1:1") for each in topic().brokers))
    monkeypatch.setattr(read, "read_topic", lambda name, bootstrap, client: its)
    answer = api.promise(api.of_topic("orders", "127.0.0.1:1", sets=["cluster.elr=false"]))
    assert answer.settings == (
        "Kafka 4.3.1 (assumed), 3 replicas, min.insync.replicas 2, acks=all (assumed), idempotent (assumed), "
        "unclean election off (assumed), 3 controllers beside the brokers (assumed), ELR off"
    )
    assert answer.remarks[0].startswith("its release and its eligible leader replicas were not read: ")


def test_partitions_with_all_their_replicas_in_one_rack_are_a_trap():
    its = topic(replicas=((7, 9), (7, 8), (8, 10)))
    assert replicas_in_one_rack(its) == 2
    found = configuration_of(parsed(its), replicas_in_one_rack=2)
    assert "2 partitions have all their replicas in one rack" in {
        trap.sentence.split(":")[0] for trap in traps(found)
    }
    assert replicas_in_one_rack(topic(racks=("", "", "", ""))) == 0


def test_the_name_of_a_topic_becomes_one_of_a_configuration():
    assert name_of("__Payments.v2") == "payments-v2"
    assert name_of("___") == "topic"
    assert name_of("x" * 200) == "x" * 39
    assert parsed(replace(topic(), name="x" * 200)).name == "x" * 39

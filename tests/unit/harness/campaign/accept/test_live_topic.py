"""The configuration of a topic on a running cluster: the file it becomes, and the traps of its placement."""

from dataclasses import replace

from checkers.promises import traps
from harness.campaign.accept.configuration_file import parse_configuration
from harness.campaign.accept.in_force import configuration_of
from harness.campaign.accept.live_topic import configuration_text, name_of, replicas_in_one_rack
from workloads.clients.live_topic import LiveBroker, LiveTopic

ADDRESS = {"advertised.listeners": "PLAINTEXT://x:9092", "node.id": "7"}


def broker(number, rack, **lag):
    return LiveBroker(number=number, rack=rack, config={**ADDRESS, **lag})


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


def parsed(its, *sets):
    return parse_configuration(configuration_text(its), "topic", sets)


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
    assert parsed(topic(numbers=(7, 8), racks=("", ""))).cluster.racks == {}
    assert parsed(topic(racks=("", "a", "", ""))).cluster.racks == {"2": "a"}


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

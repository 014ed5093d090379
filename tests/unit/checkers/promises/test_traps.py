"""Each trap: a configuration that falls into it, and what to change; and one that falls into none."""

from dataclasses import replace

import pytest

from checkers.promises import ClusterSettings, Configuration, ProducerSettings, TopicSettings, traps

SOUND = Configuration(
    topic=TopicSettings(replication=3, min_isr=2),
    cluster=ClusterSettings(brokers=6, racks={1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}),
)
TWO_RACKS = dict(enumerate("ababab", start=1))


def found_traps(*, topic=None, producer=None, cluster=None):
    """The traps of the sound configuration with some settings changed."""
    its = replace(
        SOUND,
        topic=replace(SOUND.topic, **(topic or {})),
        producer=replace(SOUND.producer, **(producer or {})),
        cluster=replace(SOUND.cluster, **(cluster or {})),
    )
    return traps(its)


def fallen_into(**changed):
    """The same: what to change by the id of the trap."""
    return {trap.id: trap.to_change for trap in found_traps(**changed)}


def test_a_sound_configuration_falls_into_no_trap():
    assert fallen_into() == {}


@pytest.mark.parametrize(
    ("changed", "found", "change"),
    [
        ({"topic": {"replication": 1}}, "one-replica", "topic: replication: 3"),
        (
            {"topic": {"replication": 1}},
            "min-isr-above-replication",
            "topic: replication: 3, config: min.insync.replicas: 2",
        ),
        (
            {"topic": {"replication": 2, "min_isr": 1}},
            "min-isr-of-one",
            "topic: replication: 3, config: min.insync.replicas: 2",
        ),
        (
            {"topic": {"replication": 5, "min_isr": 5}},
            "min-isr-of-all",
            "topic: config: min.insync.replicas: 4",
        ),
        (
            {"topic": {"replication": 2}},
            "two-replicas",
            "topic: replication: 3, config: min.insync.replicas: 2",
        ),
        ({"topic": {"min_isr": 3}}, "min-isr-of-all", "topic: config: min.insync.replicas: 2"),
        ({"topic": {"min_isr": 1}}, "min-isr-of-one", "topic: config: min.insync.replicas: 2"),
        ({"topic": {"min_isr": 4}}, "min-isr-above-replication", "topic: config: min.insync.replicas: 2"),
        (
            {"cluster": {"brokers": 3, "racks": {1: "a", 2: "b", 3: "c"}}},
            "no-spare-broker",
            "cluster: brokers: 4",
        ),
        (
            {"topic": {"unclean": True}},
            "unclean-election",
            "topic: config: unclean.leader.election.enable: false",
        ),
        (
            {"topic": {"unclean": True}, "cluster": {"release": (3, 8), "elr": False}},
            "unclean-without-effect",
            "topic: config: unclean.leader.election.enable: false",
        ),
        (
            {"topic": {"flush_messages": 1, "min_isr": 1}, "producer": {"acks": "1", "idempotence": False}},
            "flush-without-acks-all",
            "producer: acks: all",
        ),
        (
            {"topic": {"flush_s": 1.5}},
            "flush-ms-without-scheduler",
            "cluster: broker_config: log.flush.scheduler.interval.ms: 1500",
        ),
        (
            {"topic": {"retention_s": 3600.0}},
            "retention-against-clocks",
            "topic: config: retention.ms: 604800000; against producers' clocks alone "
            "message.timestamp.type: LogAppendTime",
        ),
        (
            {"topic": {"oldest_stamp_s": 10 * 86_400.0}},
            "timestamps-older-than-retention",
            "topic: config: message.timestamp.before.max.ms: 302400000",
        ),
        ({"topic": {"retention_bytes": 1}}, "retention-by-size", "topic: config: retention.bytes: -1"),
        ({"topic": {"compacted": True}}, "compacted", "topic: config: cleanup.policy: delete"),
        ({"producer": {"acks": "1"}}, "acks-1", "producer: acks: all"),
        ({"producer": {"acks": "0"}}, "acks-0", "producer: acks: all"),
        ({"producer": {"acks": "1"}}, "min-isr-without-acks-all", "producer: acks: all"),
        (
            {"producer": {"idempotence": False, "max_in_flight": 9}},
            "idempotence-silently-off",
            "producer: max.in.flight.requests.per.connection: 5",
        ),
        (
            {"producer": {"idempotence": False, "retries": 0}},
            "idempotence-silently-off",
            "producer: retries: leave it out",
        ),
        (
            {"producer": {"idempotence": False, "asked_idempotence": False, "max_in_flight": 6}},
            "retries-without-idempotence",
            "producer: max.in.flight.requests.per.connection: 5, enable.idempotence: true",
        ),
        (
            {"producer": {"idempotence": False, "acks": "1"}},
            "retries-without-idempotence",
            "producer: acks: all, enable.idempotence: true",
        ),
        (
            {"producer": {"idempotence": False, "asked_idempotence": False}},
            "retries-without-idempotence",
            "producer: enable.idempotence: true",
        ),
        (
            {"producer": {"idempotence": False, "asked_idempotence": False}},
            "reordered-retries",
            "producer: max.in.flight.requests.per.connection: 1",
        ),
        (
            {"producer": {"delivery_timeout_s": 40.0}},
            "delivery-below-fail-over",
            "producer: delivery.timeout.ms: 120000",
        ),
        (
            {"producer": {"idempotence": False, "retries": 0}},
            "no-retries",
            "producer: retries: leave it out; delivery.timeout.ms bounds the time",
        ),
        (
            {"producer": {"unknown": (("ack", "acks"),)}},
            "unknown-producer-setting",
            "producer: ack: leave it out; it has acks",
        ),
        (
            {"producer": {"unknown": (("schema.registry.url", ""),)}},
            "unknown-producer-setting",
            "producer: schema.registry.url: leave it out; one of these may read it",
        ),
        ({"cluster": {"elr": False}}, "no-eligible-leader-replicas", "cluster: elr: true"),
        (
            {"cluster": {"elr": False, "release": (3, 9)}},
            "no-eligible-leader-replicas",
            "cluster: kafka: 4.1.0, elr: true; a cluster that exists has to finalize metadata.version, and "
            "eligible.leader.replicas.version at 1",
        ),
        (
            {"cluster": {"elr": False, "formatted": (3, 9)}},
            "no-eligible-leader-replicas",
            "cluster: formatted: leave it out, elr: true; a cluster that exists has to finalize "
            "metadata.version, and eligible.leader.replicas.version at 1",
        ),
        (
            {"cluster": {"session_s": 5.0}},
            "session-of-few-heartbeats",
            "cluster: controller_config: broker.session.timeout.ms: 6000",
        ),
        (
            {"cluster": {"lag_max_s": 5.0}, "topic": {"min_isr": 1}},
            "lag-below-session",
            "cluster: broker_config: replica.lag.time.max.ms: 30000",
        ),
        (
            {"cluster": {"lag_max_s": 0.5}},
            "lag-below-fetch-wait",
            "cluster: broker_config: replica.lag.time.max.ms: 30000",
        ),
        ({"cluster": {"controllers": 2}}, "controllers-without-majority", "cluster: controllers: 3"),
        ({"cluster": {"controllers": 4}}, "controllers-without-majority", "cluster: controllers: 3"),
        (
            {"cluster": {"controllers": 1, "combined": True, "brokers": 1, "racks": {1: "a"}}},
            "controllers-without-majority",
            "cluster: controllers: 3, brokers: 3",
        ),
        ({"cluster": {"racks": {}}}, "no-racks", "cluster: racks: the rack of every broker"),
        ({"cluster": {"racks": {1: "a"}}}, "racks-of-some", "cluster: racks: the rack of every broker"),
        (
            {"cluster": {"racks": TWO_RACKS}},
            "few-racks",
            "cluster: racks: 3 or more, with as many brokers in each",
        ),
        (
            {"cluster": {"racks": dict.fromkeys(range(1, 7), "a")}},
            "one-rack",
            "cluster: racks: two or more",
        ),
        (
            {"cluster": {"replicas_in_one_rack": 4}},
            "replicas-in-one-rack",
            "reassign the topic's replicas over the racks",
        ),
        (
            {"cluster": {"creates_topics": True}},
            "topics-made-by-a-write",
            "cluster: broker_config: auto.create.topics.enable: false",
        ),
        (
            {"cluster": {"offsets_replication": 1}},
            "offsets-with-fewer-replicas",
            "cluster: broker_config: offsets.topic.replication.factor: 3",
        ),
        (
            {"cluster": {"transactions_min_isr": 1}},
            "transactions-with-one-copy",
            "cluster: broker_config: transaction.state.log.min.isr: 2",
        ),
    ],
)
def test_a_trap_names_the_setting_to_change(changed, found, change):
    assert fallen_into(**changed)[found] == change


@pytest.mark.parametrize(
    ("topic", "check_s"), [({"flush_s": 1.0}, 1.0), ({"flush_s": 1.0, "flush_messages": 1}, None), ({}, 1.0)]
)
def test_a_flush_interval_is_no_trap_where_brokers_look_for_it_or_flush_each_append(topic, check_s):
    assert fallen_into(topic=topic, cluster={"flush_check_s": check_s}) == {}


@pytest.mark.parametrize(
    ("topic", "acks", "racks", "left"),
    [
        ({}, "all", "ababab", "one rack has 2 of the 3 replicas of a partition: without it 1 is left"),
        (
            {"replication": 4, "min_isr": 3},
            "all",
            "ababab",
            "one rack has 2 of the 4 replicas of a partition: without it 2 are left",
        ),
        (
            {"replication": 5, "min_isr": 3},
            "all",
            "abcccc",
            "one rack has 3 of the 5 replicas of a partition: without it 2 are left",
        ),
        ({"replication": 5, "min_isr": 3}, "all", "abcabc", ""),
        ({}, "1", "ababab", ""),
        ({"replication": 4}, "all", "ababab", ""),
        ({"replication": 2}, "all", "ababab", ""),
    ],
)
def test_a_rack_may_not_have_more_replicas_than_a_write_can_spare(topic, acks, racks, left):
    its = replace(
        SOUND,
        topic=replace(SOUND.topic, **topic),
        producer=ProducerSettings(acks=acks, idempotence=acks == "all"),
        cluster=replace(SOUND.cluster, racks=dict(enumerate(racks, start=1))),
    )
    sentences = [trap.sentence for trap in traps(its) if trap.id == "few-racks"]
    assert sentences == ([f"{left}, and a write needs {its.needed}"] if left else [])


def test_brokers_without_a_rack_are_one_rack_to_kafka():
    some = replace(SOUND, cluster=replace(SOUND.cluster, racks={1: "a", 2: "b"}))
    assert [trap.sentence for trap in traps(some)] == [
        "4 of 6 brokers have no broker.rack: Kafka takes them for one more rack, wherever they stand"
    ]


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ((3, 6), "and readers see them, however few replicas have them"),
        ((3, 7), "and readers do not see them until enough replicas are in sync again"),
    ],
)
def test_what_is_written_below_min_isr_readers_see_by_release(release, words):
    its = replace(
        SOUND,
        producer=ProducerSettings(acks="1", idempotence=False),
        cluster=replace(SOUND.cluster, release=release, elr=False),
    )
    (sentence,) = (trap.sentence for trap in traps(its) if trap.id == "min-isr-without-acks-all")
    assert sentence.endswith(words)


@pytest.mark.parametrize(
    ("topic", "fallen"),
    [
        ({}, False),
        ({"oldest_stamp_s": 7 * 86_400.0}, False),
        ({"oldest_stamp_s": 8 * 86_400.0}, True),
        ({"oldest_stamp_s": 8 * 86_400.0, "compacted": True}, True),
        ({"oldest_stamp_s": 8 * 86_400.0, "stamped_by_broker": True}, False),
        ({"oldest_stamp_s": 8 * 86_400.0, "retention_s": None}, False),
    ],
)
def test_a_bound_on_age_is_a_trap_only_where_it_lets_in_what_is_too_old(topic, fallen):
    assert ("timestamps-older-than-retention" in fallen_into(topic=topic)) is fallen


def test_two_replicas_give_durability_or_availability():
    two = replace(SOUND, topic=TopicSettings(replication=2, min_isr=2))
    assert traps(two)[0].sentence == (
        "two replicas give durability or availability, never both: with min.insync.replicas=2 every write "
        "stops with one broker"
    )
    one = replace(SOUND, topic=TopicSettings(replication=2, min_isr=1))
    assert traps(one)[0].sentence.endswith("with min.insync.replicas=1 one copy is enough to acknowledge")


def test_more_in_sync_replicas_than_replicas_stop_all_writes_or_some_by_release():
    above = replace(SOUND, topic=TopicSettings(replication=3, min_isr=4))
    assert "it counts as all of them" in traps(above)[0].sentence
    old = replace(above, cluster=replace(SOUND.cluster, release=(3, 6), elr=False))
    assert traps(old)[0].sentence.endswith("with acks=all no write is ever taken")


def test_idempotence_that_nobody_asked_for_goes_without_a_word():
    quiet = replace(SOUND, producer=ProducerSettings(idempotence=False, retries=0))
    assert traps(quiet)[0].sentence == (
        "idempotence is on by default, and off here without a word, since it conflicts with retries=0"
    )


WITHOUT_IDEMPOTENCE = {"idempotence": False, "asked_idempotence": False}


def sentence_of(trap, **changed):
    (found,) = (each.sentence for each in found_traps(**changed) if each.id == trap)
    return found


@pytest.mark.parametrize(
    ("topic", "cluster", "fallen"),
    [
        ({"min_isr": 2}, {}, False),
        ({"min_isr": 1}, {}, True),
        ({"min_isr": 2}, {"elr": False}, True),
        ({"min_isr": 2, "unclean": True}, {"elr": False}, False),
        ({"min_isr": 1, "unclean": True}, {}, False),
        ({"min_isr": 1, "replication": 1}, {}, False),
    ],
)
def test_a_slow_leader_that_dies_alone_in_sync_is_no_trap_where_another_one_may_lead(topic, cluster, fallen):
    """With eligible leader replicas, whoever leaves the ISR below its minimum may (KIP-966)."""
    found = fallen_into(topic=topic, cluster={"lag_max_s": 5.0, **cluster})
    assert ("lag-below-session" in found) is fallen


def test_brokers_whose_fetches_wait_as_long_as_until_they_lag_start_and_longer_they_do_not():
    assert "lag-below-fetch-wait" in fallen_into(cluster={"lag_max_s": 0.5})
    assert "lag-below-fetch-wait" not in fallen_into(cluster={"lag_max_s": 0.501})


@pytest.mark.parametrize(
    ("min_isr", "release", "words"),
    [
        (3, (3, 6), "with min.insync.replicas=3 no write is ever taken"),
        (3, (3, 7), "with min.insync.replicas=3 every write stops with one broker"),
        (2, (3, 6), "with min.insync.replicas=2 every write stops with one broker"),
        (1, (3, 6), "with min.insync.replicas=1 one copy is enough to acknowledge"),
    ],
)
def test_of_two_replicas_as_many_are_needed_as_the_release_counts(min_isr, release, words):
    topic, cluster = {"replication": 2, "min_isr": min_isr}, {"release": release, "elr": False}
    assert sentence_of("two-replicas", topic=topic, cluster=cluster).endswith(words)


@pytest.mark.parametrize(
    ("acks", "replication", "delivery_s", "fallen"),
    [
        ("all", 3, 45.0, True),
        ("all", 3, 45.1, False),
        ("1", 3, 9.0, True),
        ("1", 3, 40.0, False),
        ("0", 3, 1.0, False),
        ("all", 1, 1.0, False),
    ],
)
def test_a_send_is_over_before_a_fail_over_only_where_it_waits_for_one(acks, replication, delivery_s, fallen):
    """With acks=1 a leader that is missed is replaced, and no follower is waited for; one replica has no
    other to fail over to; with acks=0 no answer is awaited.
    """
    producer = {"acks": acks, "idempotence": acks == "all", "delivery_timeout_s": delivery_s}
    found = fallen_into(topic={"replication": replication, "min_isr": 1}, producer=producer)
    assert ("delivery-below-fail-over" in found) is fallen


def test_acks_of_a_single_replica_are_acks_of_all():
    topic, producer = (
        {"replication": 1, "min_isr": 1, "flush_messages": 1},
        {"acks": "1", "idempotence": False},
    )
    found = fallen_into(topic=topic, producer=producer)
    assert {"acks-1", "flush-without-acks-all"} & found.keys() == set()
    assert "retries-without-idempotence" in found
    nothing = sentence_of("acks-0", topic=topic, producer={"acks": "0", "idempotence": False})
    assert nothing == "acks=0 waits for no broker: acknowledged records may be lost with one broker"
    unflushed = sentence_of(
        "flush-without-acks-all", topic=topic, producer={"acks": "0", "idempotence": False}
    )
    assert unflushed.endswith("with acks=0 nobody waits for it")


def test_what_is_sent_with_acks_0_is_over_once_it_is_sent():
    found = fallen_into(producer={"acks": "0", **WITHOUT_IDEMPOTENCE})
    assert {"retries-without-idempotence", "reordered-retries"} & found.keys() == set()


@pytest.mark.parametrize("acks", ["0", "1"])
def test_eligible_leader_replicas_are_missed_only_where_acks_all_keeps_something(acks):
    found = fallen_into(producer={"acks": acks, "idempotence": False}, cluster={"elr": False})
    assert "no-eligible-leader-replicas" not in found
    never = {"topic": {"min_isr": 4}, "cluster": {"elr": False, "release": (3, 6)}}
    assert "no-eligible-leader-replicas" not in fallen_into(**never)


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        (
            {},
            "retention.ms of 60 s is counted from the producer's clock to the broker's: a producer that is "
            "so far behind has its records deleted as soon as they are acknowledged, and a broker that is "
            "so far ahead deletes what it leads, or will lead",
        ),
        (
            {"stamped_by_broker": True},
            "retention.ms of 60 s is counted to a broker's clock from that of the leader before it: a broker "
            "that is so far ahead deletes what it leads, or will lead",
        ),
        (
            {"oldest_stamp_s": 30.0},
            "retention.ms of 60 s is counted to a broker's clock from the producer's: a broker that is so "
            "far ahead deletes what it leads, or will lead",
        ),
        (
            {"retention_s": 0.0, "oldest_stamp_s": 30.0},
            "retention.ms=0 keeps nothing: brokers delete what was acknowledged when they look at it",
        ),
    ],
)
def test_a_short_retention_is_against_the_clocks_that_it_depends_on(topic, words):
    found = found_traps(topic={"retention_s": 60.0, **topic})
    assert [(each.id, each.sentence) for each in found] == [("retention-against-clocks", words)]
    by_producer = "timestamp.type" in found[0].to_change
    assert by_producer is (topic == {})


@pytest.mark.parametrize(
    ("racks", "unknown", "left"),
    [
        ({1: "a", 2: "b", 3: "c"}, 3, ""),
        ({1: "a", 2: "a", 3: "b"}, 1, "one rack has 2 of the 3 replicas"),
        ({1: "a", 2: "b"}, 1, "one rack has 2 of the 3 replicas"),
    ],
)
def test_a_broker_whose_rack_is_not_known_may_stand_in_that_of_another_one(racks, unknown, left):
    cluster = {"brokers": len(racks) + unknown, "racks": racks, "unknown_racks": unknown}
    found = {trap.id: trap.sentence for trap in found_traps(cluster=cluster)}
    unless = " of a partition, if no broker whose rack is not known has one of its own: without it 1 is left"
    assert found.get("few-racks", "") == (f"{left}{unless}, and a write needs 2" if left else "")
    assert {"racks-of-some", "no-racks", "one-rack"} & found.keys() == set()


def test_where_no_rack_is_known_nothing_is_said_of_racks():
    found = fallen_into(cluster={"racks": {}, "unknown_racks": 6})
    assert {"racks-of-some", "no-racks", "one-rack", "few-racks"} & found.keys() == set()


@pytest.mark.parametrize(
    ("changed", "trap", "words"),
    [
        ({"cluster": {"controllers": 1}}, "controllers-without-majority", "1 controller can spare none"),
        (
            {"cluster": {"controllers": 4}},
            "controllers-without-majority",
            "4 controllers can spare 1, as 3 do",
        ),
        (
            {"topic": {"replication": 1}},
            "min-isr-above-replication",
            "more than the 1 replica: with acks=all",
        ),
        ({"cluster": {"offsets_replication": 1}}, "offsets-with-fewer-replicas", "have 1 replica and the"),
        ({"cluster": {"offsets_replication": 2}}, "offsets-with-fewer-replicas", "have 2 replicas and the"),
        (
            {"cluster": {"replicas_in_one_rack": 1}},
            "replicas-in-one-rack",
            "1 partition has all its replicas in",
        ),
        (
            {"cluster": {"racks": dict(enumerate("abcab", start=1))}},
            "racks-of-some",
            "1 of 6 brokers has no broker.rack: ",
        ),
    ],
)
def test_one_is_one_and_several_are_several(changed, trap, words):
    assert words in sentence_of(trap, **changed)

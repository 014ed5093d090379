"""Partition history from metadata records, as Kafka's decoder prints them."""

from typing import Any

import pytest

from checkers.history.metadata_log.replay import replay
from checkers.history.rows import MetadataChange


def metadata(records: list[dict[str, Any]]) -> list[MetadataChange]:
    """The partitions' states after each of the records."""
    return list(replay(records).metadata)


TOPIC = {"type": "TOPIC_RECORD", "data": {"name": "orders", "topicId": "bzxG"}}
CREATED = {
    "type": "PARTITION_RECORD",
    "data": {
        "partitionId": 0, "topicId": "bzxG", "replicas": [3, 1, 2], "isr": [3, 1, 2], "removingReplicas": [],
        "addingReplicas": [], "leader": 3, "leaderEpoch": 0, "partitionEpoch": 0,
    },
}  # fmt: skip


def change(**fields: Any) -> dict[str, Any]:
    """A PARTITION_CHANGE_RECORD of partition 0 with these fields."""
    return {"type": "PARTITION_CHANGE_RECORD", "data": {"partitionId": 0, "topicId": "bzxG", **fields}}


def log(*records: dict[str, Any]) -> list[dict[str, Any]]:
    """`records` at offsets 0, 1, … and 100, 101, … ms."""
    return [{"offset": n, "timestamp_ms": 100 + n, **record} for n, record in enumerate(records)]


def row(
    at_ms: int, leader: int, epochs: tuple[int, int], isr: tuple[int, ...], **more: Any
) -> MetadataChange:
    """A row of partition 0 of `orders`; `epochs`: of the leader, of the partition. See `log` for its
    offset."""
    return MetadataChange(
        at_ms=at_ms, log_offset=at_ms - 100, topic="orders", partition=0, leader=leader,
        leader_epoch=epochs[0], partition_epoch=epochs[1], replicas=(3, 1, 2), isr=isr, elr=more.get("elr",
        ()), last_known_elr=more.get("last_known_elr", ()), recovering=more.get("recovering", False),
    )  # fmt: skip


def test_creation() -> None:
    """A new partition is one row with the epochs that its record carries."""
    assert metadata(log(TOPIC, CREATED)) == [row(101, 3, (0, 0), (3, 1, 2))]


def test_shrink_keeps_the_leader_epoch() -> None:
    """A change of the ISR alone is a new partition epoch, and no new leader epoch."""
    assert metadata(log(TOPIC, CREATED, change(isr=[3, 1])))[-1] == row(102, 3, (0, 1), (3, 1))


def test_election() -> None:
    """A change that names a leader is a new leader epoch, even if the leader is none, or the same again."""
    rows = metadata(log(TOPIC, CREATED, change(isr=[1], leader=1), change(leader=-1), change(leader=1)))
    assert [(r.leader, r.leader_epoch, r.partition_epoch) for r in rows] == [
        (3, 0, 0),
        (1, 1, 1),
        (-1, 2, 2),
        (1, 3, 3),
    ]


def test_elr() -> None:
    """ELR stays until a record changes it: by a change, by a clearing of the topic, or of all topics."""
    lost = change(isr=[], leader=-1, eligibleLeaderReplicas=[1, 2], lastKnownElr=[3])
    rows = metadata(log(TOPIC, CREATED, lost, change(leader=1, isr=[1]), change(eligibleLeaderReplicas=[])))
    assert [(r.elr, r.last_known_elr) for r in rows[1:]] == [((1, 2), (3,)), ((1, 2), (3,)), ((), (3,))]
    for topic in ("orders", ""):
        clear = {"type": "CLEAR_ELR_RECORD", "data": {"topicName": topic}}
        assert metadata(log(TOPIC, CREATED, lost, clear, clear))[2:] == [row(103, -1, (1, 2), ())]


def test_old_spelling() -> None:
    """Releases before 4.0 spell the field lastKnownELR."""
    assert metadata(log(TOPIC, CREATED, change(lastKnownELR=[2])))[-1].last_known_elr == (2,)


def test_recreated_topic() -> None:
    """A topic of the same name made anew begins anew."""
    removed = {"type": "REMOVE_TOPIC_RECORD", "data": {"topicId": "bzxG"}}
    again = {"type": "TOPIC_RECORD", "data": {"name": "orders", "topicId": "new1"}}
    created = {"type": "PARTITION_RECORD", "data": {**CREATED["data"], "topicId": "new1"}}
    rows = metadata(log(TOPIC, CREATED, change(leader=1), removed, again, created))
    assert [(r.leader, r.leader_epoch) for r in rows] == [(3, 0), (1, 1), (3, 0)]


def test_aborted_transaction() -> None:
    """What a metadata transaction did counts when it ends, and never if it is aborted or does not end."""
    begin = {"type": "BEGIN_TRANSACTION_RECORD", "data": {"name": "x"}}
    for last, rows in (("END", 1), ("ABORT", 0)):
        end = {"type": f"{last}_TRANSACTION_RECORD", "data": {}}
        assert len(metadata(log(begin, TOPIC, CREATED, end))) == rows
    assert metadata(log(begin, TOPIC, CREATED)) == []


def test_other_records() -> None:
    """Records that are not about partitions make no rows."""
    assert metadata(log({"type": "NO_OP_RECORD", "data": {}}, TOPIC)) == []


def test_gap() -> None:
    """A change of a partition that was never created shows where the log is not whole."""
    with pytest.raises(ValueError, match="offset 1: no earlier record creates partition 0 of bzxG"):
        metadata(log(TOPIC, change(leader=1)))
    with pytest.raises(ValueError, match="offset 0: no earlier record creates topic bzxG"):
        metadata(log(CREATED))


def test_recovery() -> None:
    """An unclean leader recovers from 1 to 0; a change that is silent about it, or says -1, leaves it."""
    states = [
        {"leader": 1, "isr": [1], "leaderRecoveryState": 1},
        {"isr": [1, 2]},
        {"leaderRecoveryState": -1},
    ]
    rows = metadata(log(TOPIC, CREATED, *(change(**s) for s in states), change(leaderRecoveryState=0)))
    assert [r.recovering for r in rows] == [False, True, True, True, False]
    created = {**CREATED, "data": {**CREATED["data"], "leaderRecoveryState": 1}}
    assert metadata(log(TOPIC, created)) == [row(101, 3, (0, 0), (3, 1, 2), recovering=True)]


def registered(node: int, epoch: int, **more: Any) -> dict[str, Any]:
    """A REGISTER_BROKER_RECORD."""
    data = {"brokerId": node, "brokerEpoch": epoch, "fenced": True, "inControlledShutdown": False, **more}
    return {"type": "REGISTER_BROKER_RECORD", "data": data}


def registration(node: int, epoch: int, **deltas: Any) -> dict[str, Any]:
    """A BROKER_REGISTRATION_CHANGE_RECORD; the decoder leaves out what does not change."""
    return {
        "type": "BROKER_REGISTRATION_CHANGE_RECORD",
        "data": {"brokerId": node, "brokerEpoch": epoch, **deltas},
    }


def brokers(*records: dict[str, Any]) -> list[tuple[int, int, bool, bool, bool]]:
    """(log offset, node, registered, fenced, in controlled shutdown) of each row."""
    return [
        (r.log_offset, r.node, r.registered, r.fenced, r.in_controlled_shutdown)
        for r in replay(log(*records)).brokers
    ]


def test_the_life_of_a_registration() -> None:
    """Registered fenced, unfenced, shutting down, fenced; the next incarnation begins anew; then removed."""
    assert brokers(
        registered(1, 5),
        registration(1, 5, fenced=-1),
        registration(1, 5, inControlledShutdown=1),
        registration(1, 5, fenced=1),
        registered(1, 9),
        registration(1, 9, fenced=-1, inControlledShutdown=0),
        {"type": "UNREGISTER_BROKER_RECORD", "data": {"brokerId": 1, "brokerEpoch": 9}},
    ) == [
        (0, 1, True, True, False),
        (1, 1, True, False, False),
        (2, 1, True, False, True),
        (3, 1, True, True, True),
        (4, 1, True, True, False),
        (5, 1, True, False, False),
        (6, 1, False, False, False),
    ]


def test_an_amended_registration_keeps_its_state() -> None:
    """The same incarnation registers again: its record repeats that it is unfenced."""
    records = (registered(1, 5), registration(1, 5, fenced=-1), registered(1, 5, fenced=False))
    assert brokers(*records)[-1] == (2, 1, True, False, False)


def test_the_log_directories_that_are_online_are_counted() -> None:
    """A change names those that are left; one that names none leaves them as they are, and so is no row."""
    records = (
        registered(1, 5, logDirs=["a", "b"]),
        registration(1, 5, fenced=-1),
        registration(1, 5, logDirs=["a"]),
        registration(1, 5, logDirs=[]),
        registered(1, 9, logDirs=["a", "b"]),
        registered(2, 7),
    )
    found = [(r.log_offset, r.node, r.log_dirs) for r in replay(log(*records)).brokers]
    assert found == [(0, 1, 2), (1, 1, 2), (2, 1, 1), (4, 1, 2), (5, 2, -1)]


def test_registrations_before_metadata_version_3_2() -> None:
    """FENCE_BROKER_RECORD and UNFENCE_BROKER_RECORD name the broker by id and epoch."""
    fence, unfence = (
        {"type": f"{word}_BROKER_RECORD", "data": {"id": 1, "epoch": 5}} for word in ("FENCE", "UNFENCE")
    )
    assert brokers(registered(1, 5), unfence, fence) == [
        (0, 1, True, True, False),
        (1, 1, True, False, False),
        (2, 1, True, True, False),
    ]


def test_a_change_of_an_unknown_registration() -> None:
    """It shows where the log is not whole: no registration, or one of another epoch."""
    for records in ([registration(2, 5, fenced=1)], [registered(1, 5), registration(1, 4, fenced=1)]):
        with pytest.raises(ValueError, match=r"no earlier record registers broker \d under epoch [45]"):
            replay(log(*records))


def config(kind: int, name: str, key: str, value: str | None) -> dict[str, Any]:
    """A CONFIG_RECORD."""
    return {
        "type": "CONFIG_RECORD",
        "data": {"resourceType": kind, "resourceName": name, "name": key, "value": value},
    }


def configs(*records: dict[str, Any]) -> list[tuple[int, str, str, str, str, bool]]:
    """(log offset, kind, name, key, value, removed) of each row."""
    rows = replay(log(*records)).configs
    return [(r.log_offset, r.kind, r.name, r.key, r.value, r.removed) for r in rows]


def test_settings_of_topics_brokers_and_the_cluster() -> None:
    """By resource type: 2 is a topic, 4 a broker, or all of them if it has no name; others are left out."""
    assert configs(
        config(2, "orders", "min.insync.replicas", "2"),
        config(4, "1", "log.cleaner.threads", "2"),
        config(4, "", "min.insync.replicas", "1"),
        config(16, "metrics", "interval.ms", "5"),
        config(2, "orders", "min.insync.replicas", None),
    ) == [
        (0, "topic", "orders", "min.insync.replicas", "2", False),
        (1, "broker", "1", "log.cleaner.threads", "2", False),
        (2, "cluster", "", "min.insync.replicas", "1", False),
        (4, "topic", "orders", "min.insync.replicas", "", True),
    ]


def test_features() -> None:
    """A feature at level 0 is off."""

    def level(value: int) -> dict[str, Any]:
        data = {"name": "eligible.leader.replicas.version", "featureLevel": value}
        return {"type": "FEATURE_LEVEL_RECORD", "data": data}

    assert configs(level(1), level(0)) == [
        (0, "feature", "eligible.leader.replicas.version", "", "1", False),
        (1, "feature", "eligible.leader.replicas.version", "", "", True),
    ]


def test_settings_go_with_their_topic() -> None:
    """A topic of the same name made anew has none of them."""
    removed = {"type": "REMOVE_TOPIC_RECORD", "data": {"topicId": "bzxG"}}
    assert configs(TOPIC, config(2, "orders", "flush.messages", "1"), removed) == [
        (1, "topic", "orders", "flush.messages", "1", False),
        (2, "topic", "orders", "flush.messages", "", True),
    ]


def test_a_snapshot_comes_before_the_log() -> None:
    """What stems from a snapshot has offset -1, in every table, and the log goes on from there."""
    snapshot = [
        {"offset": -1, "timestamp_ms": 90, **record}
        for record in (registered(1, 5, fenced=False), TOPIC, config(2, "orders", "flush.ms", "7"), CREATED)
    ]
    later = {"offset": 70, "timestamp_ms": 95, **change(isr=[3])}
    tables = replay([*snapshot, later])
    assert [r.log_offset for r in tables.metadata] == [-1, 70]
    assert [(r.log_offset, r.fenced) for r in tables.brokers] == [(-1, False)]
    assert [(r.log_offset, r.value) for r in tables.configs] == [(-1, "7")]


def test_the_order_of_the_log_outlives_a_clock_that_steps_back() -> None:
    """The second controller's clock is behind: its record comes later all the same."""
    first, second = change(isr=[3, 1]), change(isr=[3, 1, 2])
    records = log(TOPIC, CREATED, first, second)
    rows = metadata([*records[:3], {**records[3], "timestamp_ms": 50}])
    assert [(r.at_ms, r.log_offset, r.partition_epoch) for r in rows] == [
        (101, 1, 0),
        (102, 2, 1),
        (50, 3, 2),
    ]


def leads(controller: int) -> dict[str, Any]:
    """The control record with which a controller begins its epoch."""
    return {"type": "LEADER_CHANGE", "data": {"version": 1, "leaderId": controller}}


def test_each_row_has_the_controller_that_wrote_it() -> None:
    """From its own leader change on to the next one; a control record is nobody's state."""
    tables = replay(
        log(
            TOPIC,
            leads(103),
            registered(1, 5, fenced=False),
            CREATED,
            config(2, "orders", "flush.ms", "7"),
            leads(101),
            change(isr=[3, 1]),
            leads(101),
            change(isr=[3]),
        )
    )
    assert [(row.log_offset, row.controller) for row in tables.metadata] == [(3, 103), (6, 101), (8, 101)]
    assert [row.controller for row in tables.brokers] == [103]
    assert [row.controller for row in tables.configs] == [103]


def test_of_a_tool_that_does_not_print_the_leader_nobody_knows_who_wrote_a_row() -> None:
    nameless = {"type": "LEADER_CHANGE", "data": {"version": 1}}
    assert [row.controller for row in metadata(log(leads(103), nameless, TOPIC, CREATED))] == [-1]
    assert [row.controller for row in metadata(log(TOPIC, CREATED))] == [-1]


def appends(*records: dict[str, Any]) -> list[tuple[int, int, int]]:
    """(at ms, log offset, controller) of each append."""
    return [(row.at_ms, row.log_offset, row.controller) for row in replay(records).appends]


NO_OP = {"type": "NO_OP_RECORD", "data": {}}


def test_each_append_is_a_row_also_one_that_changes_nothing() -> None:
    """Records of one date are one append: that of their first one."""
    log = [
        {"offset": 1, "timestamp_ms": 100, **TOPIC},
        {"offset": 2, "timestamp_ms": 100, **CREATED},
        {"offset": 3, "timestamp_ms": 600, **NO_OP},
        {"offset": 4, "timestamp_ms": 1100, **NO_OP},
    ]
    assert appends(*log) == [(100, 1, -1), (600, 3, -1), (1100, 4, -1)]


def test_an_append_is_of_one_controller_and_its_leader_change_is_none() -> None:
    log = [
        {"offset": 1, "timestamp_ms": 90, **leads(103)},
        {"offset": 2, "timestamp_ms": 100, **NO_OP},
        {"offset": 3, "timestamp_ms": 100, **leads(101)},
        {"offset": 4, "timestamp_ms": 100, **NO_OP},
    ]
    assert appends(*log) == [(100, 2, 103), (100, 4, 101)]


def test_what_a_metadata_transaction_did_was_appended_also_if_it_is_aborted() -> None:
    begin, abort = (
        {"type": f"{word}_TRANSACTION_RECORD", "data": {"name": "x"}} for word in ("BEGIN", "ABORT")
    )
    assert appends(*log(begin, TOPIC, abort)) == [(100, 0, -1), (101, 1, -1), (102, 2, -1)]


def test_what_stems_from_a_snapshot_is_no_append() -> None:
    assert appends(
        {"offset": -1, "timestamp_ms": 90, **TOPIC}, {"offset": 70, "timestamp_ms": 90, **NO_OP}
    ) == [(90, 70, -1)]

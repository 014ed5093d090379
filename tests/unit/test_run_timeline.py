"""The metadata log, replayed: states of partitions, with the epochs that its records leave out."""

from harness.timeline import replay, table

ID = "aaaaaaaaaaaaaaaaaaaaaa"


def record(at: int, kind: str, **data: object) -> dict[str, object]:
    return {"offset": at, "timestamp_ms": at, "type": kind, "data": data}


def partition(at: int, topic_id: str = ID) -> dict[str, object]:
    return record(
        at,
        "PARTITION_RECORD",
        partitionId=0,
        topicId=topic_id,
        replicas=[1, 2, 3],
        isr=[1, 2, 3],
        leader=1,
        leaderEpoch=0,
        partitionEpoch=0,
    )


LOG = [
    record(1, "TOPIC_RECORD", name="orders", topicId=ID),
    partition(2),
    record(3, "NO_OP_RECORD"),
    record(4, "PARTITION_CHANGE_RECORD", partitionId=0, topicId=ID, isr=[1, 3], eligibleLeaderReplicas=[2]),
    record(5, "PARTITION_CHANGE_RECORD", partitionId=0, topicId=ID, leader=-1, isr=[]),
    record(6, "PARTITION_CHANGE_RECORD", partitionId=0, topicId=ID, leader=3, isr=[3], lastKnownElr=[1]),
]


def test_each_change_raises_the_partition_epoch_and_one_that_names_a_leader_the_leader_epoch() -> None:
    states = [(row.at_ms, row.leader, row.leader_epoch, row.partition_epoch) for row in replay(LOG)]
    assert states == [(2, 1, 0, 0), (4, 1, 0, 1), (5, -1, 1, 2), (6, 3, 2, 3)]


def test_what_a_change_leaves_out_stays_as_it_was() -> None:
    rows = list(replay(LOG))
    assert [row.isr for row in rows] == [(1, 2, 3), (1, 3), (), (3,)]
    assert [row.elr for row in rows] == [(), (2,), (2,), (2,)]
    assert rows[-1].last_known_elr == (1,)
    assert rows[-1].replicas == (1, 2, 3)


def test_internal_topics_are_left_out_of_the_table() -> None:
    other = "bbbbbbbbbbbbbbbbbbbbbb"
    internal = [record(1, "TOPIC_RECORD", name="__consumer_offsets", topicId=other), partition(2, other)]
    assert table([*internal, *LOG]).num_rows == 4
    assert table(internal).num_rows == 0

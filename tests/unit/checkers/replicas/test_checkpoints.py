"""checkpoint-sane: what is flagged, and its near misses. Both implementations agree."""

import pytest
from fakes.history.replica_rows import batch, disk, found, marker, notes

LOG = (batch(0, 3), batch(4, 5, epoch=2), batch(6, 9, epoch=2))


def checked(log=LOG, start=0, **more):
    """The first offset of each contradiction on a broker with this log."""
    broken = found(disk(1, *log, **more), read_to=10, start=start)
    assert {each[0] for each in broken} <= {"checkpoint-sane"}
    return [each[2] for each in broken]


def test_checkpoints_that_agree():
    assert checked() == []


@pytest.mark.parametrize(
    ("row", "at"),
    [
        ({"recovery_point": 11}, [11]),
        ({"hw_checkpoint": 12}, [12]),
        ({"log_start": 11, "recovery_point": 11, "epochs": {}}, [11, 11]),
        ({"torn_bytes": 1}, [10]),
    ],
)
def test_a_checkpoint_beyond_the_log(row, at):
    assert checked(**row) == at


def test_a_recovery_point_below_the_log_start():
    assert checked(start=4, log_start=4, epochs={0: 4, 2: 4}, recovery_point=3)[0] == 3


def test_checkpoints_may_be_missing_or_behind():
    assert checked(recovery_point=-1, hw_checkpoint=-1) == []
    assert checked(recovery_point=7, hw_checkpoint=2) == []


def test_a_crash_leaves_checkpoints_behind_or_ahead():
    """Pages were lost, the checkpoints were on disk."""
    assert checked(clean=False, recovery_point=12, hw_checkpoint=12, torn_bytes=7, epochs={9: 0}) == []


@pytest.mark.parametrize(
    ("cache", "at"),
    [
        ({0: 0, 2: 6}, [4]),
        ({0: 0}, [4]),
        ({}, [0]),
        ({0: 0, 1: 4, 2: 6}, [4]),
        ({0: 0, 3: 4}, [4]),
        ({0: 0, 2: 4, 3: 8}, [8]),
        ({0: 0, 2: 4, 3: 12}, [12]),
        ({0: 0, 2: 4, 3: 10, 4: 11}, [11]),
        ({0: 4, 2: 4}, [4]),
        ({2: 0, 0: 4}, [4]),
    ],
)
def test_an_epoch_cache_that_is_not_the_logs(cache, at):
    assert checked(epochs=cache) == at


def test_a_leader_that_wrote_nothing_noted_its_epoch_at_the_log_end():
    assert checked(epochs={0: 0, 2: 4, 5: 10}) == []


def test_the_cache_of_an_empty_log():
    assert found(disk(1, epochs={3: 0}), read_to=0) == []
    assert found(disk(1, epochs={}), read_to=0) == []


@pytest.mark.parametrize(
    ("cache", "at"), [({2: 5}, []), ({0: 0, 2: 4}, []), ({0: 5, 2: 5}, [5]), ({2: 7}, [5])]
)
def test_a_cache_is_cut_off_at_the_log_start(cache, at):
    """Records were deleted up to offset 5, which lies inside a batch of epoch 2."""
    assert checked(start=5, log_start=5, epochs=cache) == at


def test_a_log_out_of_order_has_no_cache_to_compare_with():
    falls = (batch(0, 3, epoch=2), batch(4, 9, epoch=1))
    assert found(disk(1, *falls, epochs={1: 4}), read_to=10) == [("epoch-monotone", 1, 4, 9)]


def test_the_note_tells_both():
    assert notes(disk(1, *LOG, epochs={0: 0, 2: 6}), read_to=10) == [
        "broker 1: its log has epoch 2 from offset 4, its epoch cache epoch 2 from offset 6"
    ]


SENT = (batch(0, 3, producer=(7, 0, 0)), batch(4, 9, producer=(7, 0, 4)))


@pytest.mark.parametrize(
    ("entry", "at"),
    [
        ((7, 0, 9, 9), []),
        ((7, 0, 8, 9), [9]),
        ((7, 1, 9, 9), [9]),
        ((7, 0, 9, 8), [9]),
        ((8, 3, 5, 2), []),
    ],
)
def test_a_producer_snapshot_against_the_last_batch(entry, at):
    """Of producer id 8 no batch is left: nothing can be said."""
    assert checked(SENT, snapshot=[entry]) == at


def test_a_producer_id_may_have_expired():
    assert checked(SENT, snapshot=[]) == []


def test_a_snapshot_of_an_id_with_a_marker_is_not_compared():
    marked = (batch(0, 3, producer=(7, 0, 0)), marker(4, (7, 1)))
    its = disk(1, *marked, snapshot=[(7, 1, -1, -1)])
    assert found(its, read_to=5, lost=(4,)) == []

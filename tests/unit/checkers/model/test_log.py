"""A replica's log: truncation, the leader-epoch cache, producers' sequences, and the disk."""

from checkers.model.kafka.log import Batch, ReplicaLog, Sent


def batch(base, epoch, count=2, *, sequence=-1, producer=-1):
    records = tuple(
        Sent(
            producer=1,
            sequence=base + at,
            partition=0,
            checksum=0,
            timestamp_ms=0,
            invoked_s=0.0,
            acks="all",
            idempotent=producer != -1,
        )
        for at in range(count)
    )
    return Batch(
        base_offset=base,
        leader_epoch=epoch,
        records=records,
        producer_id=producer,
        producer_epoch=0 if producer != -1 else -1,
        base_sequence=sequence,
        appended_s=0.0,
        crc=0,
    )


def log_of(*batches):
    log = ReplicaLog()
    for one in batches:
        log.append(one)
    return log


def test_a_truncation_takes_batches_and_epochs_that_begin_there_or_later():
    log = log_of(batch(0, 0), batch(2, 0), batch(4, 2), batch(6, 3))
    gone = log.truncate(4)
    assert [one.base_offset for one in gone] == [4, 6]
    assert (log.end, log.epochs) == (4, [(0, 0)])


def test_a_truncation_at_the_end_forgets_an_epoch_without_a_batch():
    log = log_of(batch(0, 0))
    log.assign_epoch(3, 2)
    assert log.truncate(9) == []
    assert (log.end, log.epochs) == (2, [(0, 0)])


def test_an_epoch_that_wrote_nothing_gives_way_to_the_next_one():
    log = log_of(batch(0, 0), batch(2, 0))
    log.assign_epoch(2, 4)
    log.assign_epoch(4, 4)
    assert log.epochs == [(0, 0), (4, 4)]


def test_the_end_of_an_epoch_is_where_the_next_one_begins():
    log = log_of(batch(0, 1), batch(2, 1), batch(4, 4))
    assert log.end_of_epoch(1) == (1, 4)
    assert log.end_of_epoch(2) == (1, 4)
    assert log.end_of_epoch(4) == (4, 6)
    assert log.end_of_epoch(0) == (0, 0)
    assert log.end_of_epoch(5) == (-1, -1)


def test_what_is_read_from_an_offset_begins_with_the_batch_that_holds_it():
    log = log_of(batch(0, 0), batch(2, 0), batch(4, 0))
    assert [one.base_offset for one in log.from_offset(3)] == [2, 4]
    assert list(log.from_offset(6)) == []


def test_a_power_cut_leaves_what_was_synced():
    log = log_of(batch(0, 0), batch(2, 0), batch(4, 1))
    log.synced = 4
    log.lose_unsynced()
    assert (log.end, log.epochs) == (4, [(0, 0)])


def test_a_truncation_below_the_log_start_moves_it_back():
    """What is written there then is not on the disk yet."""
    log = log_of(batch(0, 0), batch(2, 0), batch(4, 1))
    log.synced = 6
    log.remove_before(4)
    assert [one.base_offset for one in log.truncate(1)] == [4]
    assert (log.start, log.end, log.synced, log.epochs) == (1, 1, 1, [])
    log.append(batch(1, 2, 3))
    log.lose_unsynced()
    assert (log.start, log.end) == (1, 1)


def test_the_epoch_that_goes_on_at_the_log_start_begins_there():
    log = log_of(batch(0, 0), batch(2, 1), batch(4, 1), batch(6, 3))
    log.remove_before(4)
    assert log.epochs == [(1, 4), (3, 6)]
    log.remove_before(6)
    assert log.epochs == [(3, 6)]
    assert log.end_of_epoch(1) == (1, 6)


def test_a_log_start_that_was_taken_over_removes_nothing_yet_and_an_unclean_end_forgets_it():
    log = log_of(batch(0, 0), batch(2, 0), batch(4, 1))
    log.move_start(4)
    assert (log.start, len(log.batches)) == (4, 3)
    log.forget_start()
    assert log.start == 0
    log.move_start(4)
    log.remove_below_start()
    log.forget_start()
    assert (log.start, [one.base_offset for one in log.batches]) == (4, [4])


def test_the_last_batch_stays_though_it_lies_below_the_log_start():
    log = log_of(batch(0, 0), batch(2, 0))
    log.move_start(4)
    log.remove_below_start()
    assert (log.start, log.end, [one.base_offset for one in log.batches]) == (4, 4, [2])


def test_a_log_begins_anew_without_what_it_knew():
    log = log_of(batch(0, 0, sequence=0, producer=7))
    log.begin_anew(8)
    assert (log.start, log.end, log.synced, log.epochs, log.producers) == (8, 8, 8, [], {})


def test_the_producers_of_removed_batches_are_known_after_a_start():
    """A snapshot of them is written before a segment is deleted."""
    log = log_of(batch(0, 0, sequence=0, producer=7), batch(2, 0, sequence=0, producer=8))
    log.remove_before(2)
    log.load()
    assert sorted(log.producers) == [7, 8]


def test_a_power_cut_brings_nothing_back_that_was_deleted():
    log = log_of(batch(0, 0), batch(2, 0), batch(4, 1))
    log.synced = 2
    log.remove_before(4)
    log.lose_unsynced()
    assert (log.start, log.end, log.batches) == (4, 4, [])


def test_the_producers_are_known_from_the_batches_that_are_left():
    log = log_of(batch(0, 0, sequence=0, producer=7), batch(2, 0, sequence=2, producer=7))
    assert log.producers[7].last_sequence == 3
    assert log.producers[7].batch(0, 2).base_offset == 0
    log.truncate(2)
    assert log.producers[7].last_sequence == 1
    assert log.producers[7].batch(2, 2) is None

"""crc, epoch-monotone, sequence-dense: what is flagged, and its near misses. Both implementations agree."""

from fakes.history.replica_rows import batch, disk, found, marker, notes

MAX = (1 << 31) - 1


def sequences(*producers, **more):
    """What is found in a log of one-record batches by these (id, epoch, base sequence)."""
    batches = [batch(offset, producer=producer) for offset, producer in enumerate(producers)]
    return found(disk(1, *batches), read_to=len(batches), **more)


def test_a_wrong_crc():
    log = (batch(0, 3), batch(4, 5, crc_ok=False), batch(6, 9))
    assert found(disk(1, *log), read_to=10) == [("crc", 1, 4, 5)]
    assert notes(disk(1, *log), read_to=10) == [
        "broker 1: the CRC of the batch at position 100 of segment 0 is not that of its bytes"
    ]


def test_a_wrong_crc_in_the_last_batch_of_a_clean_stop():
    assert found(disk(1, batch(0, 3), batch(4, 5, crc_ok=False)), read_to=6) == [("crc", 1, 4, 5)]


def test_a_torn_batch_in_the_middle_is_not_excused_by_a_crash():
    log = (batch(0, 3), batch(4, 5, crc_ok=False), batch(6, 9))
    assert found(disk(1, *log, clean=False), read_to=10) == [("crc", 1, 4, 5)]


def test_an_epoch_falls():
    falls = (batch(0, 3, epoch=2), batch(4, 5, epoch=1), batch(6, 9, epoch=1))
    assert found(disk(1, *falls), read_to=10) == [("epoch-monotone", 1, 4, 5)]
    assert notes(disk(1, *falls), read_to=10) == ["broker 1: leader epoch 1 lies behind epoch 2"]


def test_epochs_may_skip():
    """Leaders 1 to 3 wrote nothing."""
    assert found(disk(1, batch(0, 3), batch(4, 5, epoch=4)), read_to=6) == []


def test_sequences_of_two_producers_go_on():
    log = (
        batch(0, 2, producer=(7, 0, 0)),
        batch(3, 4, producer=(8, 0, 0)),
        batch(5, 5, producer=(7, 0, 3)),
        batch(6, 6, producer=(8, 0, 2)),
    )
    assert found(disk(1, *log), read_to=7) == []


def test_a_gap():
    log = (batch(0, 2, producer=(7, 0, 0)), batch(3, 4, producer=(7, 0, 4)))
    assert found(disk(1, *log), read_to=5) == [("sequence-dense", 1, 3, 4)]
    assert notes(disk(1, *log), read_to=5) == [
        "broker 1: producer id 7, epoch 0, goes on with sequence 4; 3 was next"
    ]


def test_a_repeat():
    """A retry was appended twice."""
    assert sequences((7, 0, 0), (7, 0, 1), (7, 0, 1)) == [("sequence-dense", 1, 2, 2)]


def test_after_the_greatest_sequence_comes_zero():
    assert sequences((7, 0, MAX - 1), (7, 0, MAX), (7, 0, 0), (7, 0, 1)) == []
    assert sequences((7, 0, MAX), (7, 0, 1)) == [("sequence-dense", 1, 1, 1)]


def test_sequences_may_wrap_inside_a_batch():
    log = (batch(0, 2, producer=(7, 0, MAX)), batch(3, producer=(7, 0, 2)))
    assert found(disk(1, *log), read_to=4) == []


def test_a_new_producer_epoch_begins_at_zero():
    assert sequences((7, 0, 0), (7, 1, 0), (7, 1, 1)) == []
    assert sequences((7, 0, 0), (7, 1, 1)) == [("sequence-dense", 1, 1, 1)]


def test_an_older_producer_epoch_was_fenced():
    log = [batch(0, producer=(7, 1, 0)), batch(1, producer=(7, 0, 1))]
    assert found(disk(1, *log), read_to=2) == [("sequence-dense", 1, 1, 1)]
    assert notes(disk(1, *log), read_to=2) == ["broker 1: producer id 7, epoch 0, writes behind epoch 1"]


def test_a_producer_id_that_the_log_does_not_know_may_begin_anywhere():
    """Its first batches were truncated or deleted, and its state with them; or it is a new id."""
    assert sequences((7, 0, 57), (7, 0, 58), (9, 3, 5)) == []


def test_batches_without_idempotence_have_no_sequence():
    assert sequences(None, None, None) == []


def test_a_marker_has_no_sequence_and_may_raise_the_epoch():
    same = (batch(0, producer=(7, 0, 0)), marker(1, (7, 0)), batch(2, producer=(7, 0, 1)))
    assert found(disk(1, *same), read_to=3, lost=(1,)) == []
    raised = (batch(0, producer=(7, 0, 0)), marker(1, (7, 1)), batch(2, producer=(7, 1, 0)))
    assert found(disk(1, *raised), read_to=3, lost=(1,)) == []
    goes_on = (batch(0, producer=(7, 0, 0)), marker(1, (7, 1)), batch(2, producer=(7, 1, 1)))
    assert found(disk(1, *goes_on), read_to=3, lost=(1,)) == [("sequence-dense", 1, 2, 2)]


def test_what_follows_a_marker_whose_data_was_deleted_may_begin_anywhere():
    log = (marker(5, (7, 0)), batch(6, producer=(7, 0, 58)))
    its = disk(1, *log, log_start=5)
    assert found(its, read_to=7, start=5, lost=(5,)) == []

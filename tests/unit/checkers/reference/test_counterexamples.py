"""The histories that a checker gets wrong when it trusts clients alone, row by row, with the right answer."""

from fakes.history.history_rows import fail, found, history, info, logged, ok, proof, read, sample

from checkers.properties import Property
from checkers.reference import check


def test_acked_and_polled_once_then_truncated_is_lost_though_somebody_read_it():
    """A value that was read once is not credited for ever; that later offsets are there changes nothing."""
    assert found(
        ok(1, 0, at=0),
        ok(1, 1, at=1, invoked=30, done=40),
        ok(2, 0, at=1, invoked=50, done=60),
        ok(2, 1, at=2, invoked=70, done=80),
        read(1, 0, 0),
        read(1, 1, 1),
        logged(1, 0, 0),
        logged(2, 0, 1),
        logged(2, 1, 2),
    ) == [
        ("acked-loss", 0, 1, 1, 1),
        ("hw-loss", 0, 1, 1, 1),
        ("read-uncommitted", 0, 1, 1, 1),
    ]


def test_acked_tail_that_nobody_read_is_lost_once_the_final_read_is_proven():
    """It is not "unseen": the proof says that the log ends before it."""
    assert found(ok(1, 0, at=0), ok(1, 1, at=1), logged(1, 0, 0), proof(1)) == [("acked-loss", 0, 1, 1, 1)]


def test_acked_without_an_offset_and_nowhere_in_the_log_is_lost():
    """An ok report without an offset is an acknowledgement like any other."""
    assert found(ok(1, 0), ok(1, 1, at=0), logged(1, 1, 0)) == [
        ("acked-loss", 0, -1, 1, 0),
        ("unknown-offset-ack", 0, -1, 1, 0),
    ]


def test_a_value_that_nobody_sent_is_a_phantom():
    """And no crash, though no send explains it."""
    assert found(logged(9, 9, 0)) == [("phantom", 0, 0, 9, 9)]


def test_a_value_without_an_id_is_a_phantom():
    """A foreign value cannot be decoded: nobody sent it."""
    assert found(logged(-1, -1, 0, checksum=5)) == [("phantom", 0, 0, -1, -1)]


def test_no_rows_at_all_are_no_anomaly_and_no_crash():
    """That such a run is not PASS is the verdict's business."""
    judgement = check(history())
    assert judgement.anomalies == ()
    assert judgement.examined[Property.ACKED_LOSS] == 0
    assert judgement.totals.last_ack_ns == -1


def test_empty_partitions_hold_when_they_are_proven_empty():
    """A high watermark of 0, reached, is a proof like any other."""
    assert found(proof(0), proof(0, on=1)) == []


def test_empty_partitions_without_a_proof_are_undecided():
    """Nothing was read to the end, so nothing is known."""
    judgement = check(history(unproven=(0,)))
    assert [(u.partition, u.reason) for u in judgement.undecided_partitions] == [(0, "no final read")]


def test_a_definite_failure_that_a_consumer_read_is_resurrected():
    """It was refused, and yet it is in the log."""
    assert found(fail(1, 0), read(1, 0, 0), logged(1, 0, 0)) == [("resurrected", 0, 0, 1, 0)]


def test_a_later_send_below_an_earlier_one_breaks_real_time_order():
    """A was acknowledged at offset 5, then B, sent later, at offset 3: A is flagged, where it lies."""
    assert found(
        ok(1, 0, at=5, invoked=10, done=20),
        ok(2, 0, at=3, invoked=30, done=40),
        info(3, 0, invoked=1),
        logged(2, 0, 3),
        logged(3, 0, 4),
        logged(1, 0, 5),
    ) == [("real-time-order", 0, 5, 1, 0)]


def test_an_offset_that_held_one_acked_record_and_now_holds_another_lost_the_first():
    """Never read, but acknowledged below the sampled high watermark of one epoch: both losses, one record."""
    assert found(
        ok(1, 0, at=0, invoked=10, done=20),
        ok(2, 0, at=0, invoked=50, done=60),
        sample(0, at=5, epoch=3),
        sample(1, at=30, epoch=3),
        logged(2, 0, 0),
    ) == [
        ("acked-loss", 0, 0, 1, 0),
        ("hw-loss", 0, 0, 1, 0),
    ]


def test_an_offset_that_was_never_exposed_lost_its_record_but_not_below_the_high_watermark():
    """The same, but the sampled high watermark never rose above the offset."""
    assert found(
        ok(1, 0, at=0, invoked=10, done=20),
        ok(2, 0, at=0, invoked=50, done=60),
        sample(0, at=5, epoch=3),
        sample(0, at=30, epoch=3),
        logged(2, 0, 0),
    ) == [("acked-loss", 0, 0, 1, 0)]


def test_an_indeterminate_record_may_be_in_the_log_once():
    """A time-out says nothing about the log."""
    assert found(info(1, 0), logged(1, 0, 0)) == []


def test_an_indeterminate_record_may_be_nowhere():
    """Nor that it is there."""
    assert found(info(1, 0), proof(0)) == []


def test_an_indeterminate_record_twice_in_the_log_is_a_duplicate():
    """Once is fine, twice is not."""
    assert found(info(1, 0), logged(1, 0, 0), logged(1, 0, 1)) == [("duplicate", 0, 1, 1, 0)]


def test_an_ack_between_the_proven_high_watermark_and_the_log_end_is_undecided():
    """It is on disk, but nobody could read it: neither lost nor safe."""
    rows = (ok(1, 0, at=0), ok(1, 1, at=1), logged(1, 0, 0), proof(1, log_end=2))
    assert found(*rows) == []
    judgement = check(history(*rows))
    assert judgement.undecided[Property.ACKED_LOSS] == 1
    assert judgement.examined[Property.ACKED_LOSS] == 1


def test_an_ack_beyond_the_log_end_is_lost():
    """The log is known to end before it."""
    rows = (ok(1, 0, at=0), ok(1, 2, at=2), logged(1, 0, 0), proof(1, log_end=2))
    assert found(*rows) == [("acked-loss", 0, 2, 1, 2)]


def test_two_copies_across_partitions_are_a_duplicate_and_a_phantom():
    """The copy in the partition that it was not sent to explains nothing there."""
    assert found(ok(1, 0, at=0), logged(1, 0, 0), logged(1, 0, 0, on=1)) == [
        ("duplicate", 1, 0, 1, 0),
        ("phantom", 1, 0, 1, 0),
    ]


def test_a_copy_in_another_partition_does_not_save_a_record_from_being_lost():
    """Its consumers read the partition it was sent to."""
    assert found(ok(1, 0, at=0), proof(0), logged(1, 0, 0, on=1)) == [
        ("acked-loss", 0, 0, 1, 0),
        ("phantom", 1, 0, 1, 0),
    ]


def test_two_records_acked_at_one_offset_cannot_both_be_there():
    """Both are in the log, so the one that is elsewhere has a wrong offset."""
    assert found(ok(1, 0, at=0), ok(2, 0, at=0), logged(1, 0, 0), logged(2, 0, 1)) == [
        ("ack-offset", 0, 0, 2, 0)
    ]


def test_two_records_acked_at_one_offset_of_which_one_is_gone():
    """The other one has the place, so this one is lost."""
    assert found(ok(1, 0, at=0), ok(2, 0, at=0), logged(1, 0, 0)) == [("acked-loss", 0, 0, 2, 0)]


def test_an_acked_offset_beyond_the_tail_of_a_record_that_is_elsewhere_is_a_wrong_offset():
    """It is not lost: it is there, at another offset."""
    assert found(ok(1, 0, at=7), logged(1, 0, 0)) == [("ack-offset", 0, 7, 1, 0)]

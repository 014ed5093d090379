"""divergence, log-matching, one-leader: what is flagged, and its near misses. Both implementations agree."""

import pytest
from fakes.history.replica_rows import batch, disk, found, history, judged, marker, notes

from checkers.history.rows import ConfigChange
from checkers.history.tables import OPTIONAL

TAIL = (batch(0, 3), batch(4, 5), batch(6, 9, epoch=1))
"""A leader change at offset 6; read to offset 9."""


def test_replicas_that_hold_the_same_batches_agree():
    assert found(disk(1, *TAIL), disk(2, *TAIL), disk(3, *TAIL), read_to=10) == []


def test_another_batch_on_one_replica():
    """It is below batches that the replicas share, and of an epoch that both wrote in."""
    other = disk(2, batch(0, 3), batch(4, 5, other=1), batch(6, 9, epoch=1))
    assert found(disk(1, *TAIL), other, disk(3, *TAIL), read_to=10) == [
        ("divergence", 2, 4, 5),
        ("log-matching", 2, 4, 5),
        ("one-leader", 2, 4, 5),
    ]


def test_the_replica_that_is_not_what_was_read_is_named_though_it_is_the_lower_broker():
    other = disk(1, batch(0, 3), batch(4, 5, other=1), batch(6, 9, epoch=1))
    assert found(other, disk(2, *TAIL), read_to=10)[0] == ("divergence", 1, 4, 5)


def test_of_three_headers_the_odd_one_is_named():
    """The records are the same; the producer epoch in one header is not."""
    odd = disk(2, batch(0, 3), batch(4, 5, producer_epoch=3), batch(6, 9, epoch=1))
    assert found(disk(1, *TAIL), odd, disk(3, *TAIL), read_to=10) == [
        ("divergence", 2, 4, 5),
        ("log-matching", 2, 4, 5),
        ("one-leader", 2, 4, 5),
    ]


def test_what_one_replica_lacks_is_named_with_the_number_of_acknowledged_records():
    short = disk(2, batch(0, 3), epochs={0: 0})
    assert found(disk(1, *TAIL), short, read_to=10) == [("divergence", 2, 4, 9)]
    assert notes(disk(1, *TAIL), short, read_to=10, acked=(3, 4, 9)) == [
        "broker 2 lacks what was read there; records acknowledged at these offsets: 2"
    ]


def test_a_hole_in_one_log_breaks_log_matching():
    hole = disk(2, batch(0, 3), batch(6, 9, epoch=1))
    assert found(disk(1, *TAIL), hole, read_to=10) == [("divergence", 2, 4, 5), ("log-matching", 2, 4, 5)]


def test_a_replica_without_any_batch_lacks_everything():
    assert found(disk(1, *TAIL), disk(2), read_to=10) == [("divergence", 2, 0, 9)]


def test_all_replicas_hold_other_records_than_were_read():
    other = (batch(0, 3), batch(4, 5, other=7), batch(6, 9, epoch=1))
    assert found(disk(1, *other), disk(2, *other), read_to=10) == [
        ("divergence", 1, 4, 5),
        ("divergence", 2, 4, 5),
    ]


def test_an_offset_that_only_the_disks_have():
    """The final read skipped it."""
    assert found(disk(1, *TAIL), read_to=10, lost=(5,)) == [("divergence", 1, 4, 5)]


def test_offsets_are_used_twice():
    """A leader restarted with a stale log end and went on from there."""
    reused = disk(1, batch(0, 3), batch(4, 5), batch(4, 5, other=1), batch(6, 9))
    assert found(reused, read_to=10) == [("divergence", 1, 4, 5)]
    assert notes(reused, read_to=10) == ["broker 1 has a batch there behind later offsets"]


def test_batches_that_traded_places():
    swapped = disk(1, batch(4, 5), batch(0, 3), batch(6, 9))
    assert found(swapped, read_to=10) == [("divergence", 1, 0, 3)]


def test_neighbouring_flaws_are_one_finding():
    other = disk(2, batch(0, 3, other=1), batch(4, 5, other=1), batch(6, 9, epoch=1))
    assert ("divergence", 2, 0, 5) in found(disk(1, *TAIL), other, read_to=10)


def test_a_follower_behind_above_the_high_watermark_is_in_sync():
    assert found(disk(1, *TAIL), disk(2, *TAIL[:2], epochs={0: 0}), read_to=6) == []


def test_a_tail_that_was_not_truncated_yet_lies_above_the_high_watermark():
    """Nothing is decided there, and the replicas share no later offset of one epoch."""
    stale = disk(2, batch(0, 3), batch(4, 5), batch(6, 7, other=1))
    assert found(disk(1, *TAIL), stale, read_to=6) == []


def test_a_resurrected_tail_below_the_high_watermark():
    stale = disk(2, batch(0, 3), batch(4, 5), batch(6, 9, other=1))
    assert found(disk(1, *TAIL), stale, read_to=10) == [("divergence", 2, 6, 9)]


def test_log_matching_holds_above_the_high_watermark_too():
    """Both hold offset 9 of epoch 1, and differ below it."""
    other = disk(2, batch(0, 3), batch(4, 5, other=1), batch(6, 9, epoch=1))
    assert found(disk(1, *TAIL), other, read_to=4) == [
        ("log-matching", 2, 4, 5),
        ("one-leader", 2, 4, 5),
    ]


def test_two_leaders_of_one_epoch_above_the_high_watermark():
    """They share no offset of one epoch after it, so log-matching has nothing to say."""
    one = disk(1, batch(0, 3), batch(4, 5, epoch=2))
    two = disk(2, batch(0, 3), batch(4, 6, epoch=2, other=1))
    assert found(one, two, read_to=4) == [("one-leader", 2, 4, 6)]


@pytest.mark.parametrize("broker", [1, 2])
def test_a_rotten_batch_shows_no_second_leader(broker):
    bad = batch(4, 5, crc_ok=False, digest=-1, error="it cannot be decoded", crc=1)
    rotten, intact = disk(broker, TAIL[0], bad, TAIL[2]), disk(3 - broker, *TAIL)
    assert {each[0] for each in found(rotten, intact, read_to=10)} == {"crc", "divergence", "log-matching"}


def test_logs_that_begin_at_other_offsets_agree_from_there_on():
    """Replica 2 was fetched anew, from the leader's log start on."""
    later = disk(2, *TAIL[1:], log_start=4, epochs={0: 4, 1: 6})
    assert found(disk(1, *TAIL, log_start=4, epochs={0: 4, 1: 6}), later, read_to=10, start=4) == []


def test_a_log_start_that_jumped_on_one_replica_only():
    later = disk(2, *TAIL[1:], log_start=4, epochs={0: 4, 1: 6})
    assert found(disk(1, *TAIL), later, read_to=10) == [("divergence", 2, 0, 3)]


def test_a_log_start_inside_a_batch():
    """Records were deleted up to offset 2: the batch is still there, and not compared with what is read."""
    cut = {"log_start": 2, "epochs": {0: 2, 1: 6}}
    assert found(disk(1, *TAIL, **cut), disk(2, *TAIL, **cut), read_to=10, start=2) == []


def test_a_marker_holds_no_record():
    marked = (batch(0, 3), marker(4, (7, 0)), batch(5, 9))
    assert found(disk(1, *marked), disk(2, *marked), read_to=10, lost=(4,)) == []
    assert found(disk(1, *marked), disk(2, *marked), read_to=10) == [
        ("divergence", 1, 4, 4),
        ("divergence", 2, 4, 4),
    ]


def test_a_batch_that_cannot_be_decoded_is_undecided():
    strange = (batch(0, 3), batch(4, 9, digest=-1, error="an unknown codec"))
    judgement = judged(history(disk(1, *strange), disk(2, *strange), read_to=10))
    assert list(judgement.anomalies) == []
    assert (judgement.examined["divergence"], judgement.undecided["divergence"]) == (2, 2)


def test_a_crash_cut_a_tail_and_tore_a_batch():
    """Kafka fetches both again when it starts: not a violation, and not "holds" either."""
    torn = disk(2, batch(0, 3), batch(4, 5, crc_ok=False, digest=-1, error="x"), clean=False, torn_bytes=9)
    judgement = judged(history(disk(1, *TAIL), torn, read_to=10))
    assert list(judgement.anomalies) == []
    assert (judgement.examined["divergence"], judgement.undecided["divergence"]) == (4, 2)
    assert (judgement.examined["crc"], judgement.undecided["crc"]) == (4, 1)
    assert (judgement.examined["checkpoint-sane"], judgement.undecided["checkpoint-sane"]) == (1, 1)


def test_a_crash_excuses_nothing_below_the_end_of_the_log():
    other = disk(2, batch(0, 3, other=1), batch(4, 5), clean=False)
    assert found(disk(1, *TAIL), other, read_to=10)[0] == ("divergence", 2, 0, 3)


def test_a_replica_that_was_not_read_is_undecided():
    """Of three replicas the audit could not read one, and found nothing of another."""
    broken = disk(2, batch(0, 3, other=1), complete=False, reason="a file cannot be read")
    judgement = judged(history(disk(1, *TAIL), broken, read_to=10, named=(1, 2, 3)))
    assert list(judgement.anomalies) == []
    assert (judgement.examined["divergence"], judgement.undecided["divergence"]) == (3, 2)
    assert (judgement.examined["checkpoint-sane"], judgement.undecided["checkpoint-sane"]) == (1, 2)
    assert (judgement.examined["one-leader"], judgement.undecided["one-leader"]) == (0, 2)


def test_replicas_of_a_compacted_topic_are_undecided():
    compacted = ConfigChange(at_ms=0, kind="topic", name="orders", key="cleanup.policy", value="compact")
    deleted = ConfigChange(at_ms=0, kind="topic", name="orders", key="cleanup.policy", value="delete")
    short = disk(2, batch(0, 3), epochs={0: 0})
    assert found(disk(1, *TAIL), short, read_to=10, configs=(deleted,)) == [("divergence", 2, 4, 9)]
    judgement = judged(history(disk(1, *TAIL), short, read_to=10, configs=(compacted,)))
    assert list(judgement.anomalies) == []
    assert (judgement.examined["divergence"], judgement.undecided["divergence"]) == (0, 4)


def test_without_an_audit_nothing_is_counted():
    judgement = judged(
        history(
            disk(1, *TAIL),
            read_to=10,
            replica_batches=(),
            collected=frozenset(OPTIONAL) - {"replica_batches"},
        )
    )
    assert list(judgement.anomalies) == []
    assert (judgement.examined["divergence"], judgement.undecided["divergence"]) == (0, 0)

"""Each property: the smallest history in which it holds for a reason, and the smallest that breaks it."""

import pytest
from fakes.history.history_rows import fail, found, history, info, logged, ok, proof, read, sample

from checkers.judgement import Attempts
from checkers.properties import Property
from checkers.reference import check


def of_hw_loss(judgement):
    """The hw-loss anomalies of a judgement."""
    return [anomaly for anomaly in judgement.anomalies if anomaly.property is Property.HW_LOSS]


HOLDS = {
    "acked-loss: the record is in its place": (ok(1, 0, at=0), logged(1, 0, 0)),
    "unknown-offset-ack: the record is in the log": (ok(1, 0), logged(1, 0, 0)),
    "content: equal checksums": (info(1, 0), logged(1, 0, 0)),
    "duplicate: the same sequence of two producers": (
        info(1, 0),
        info(2, 0),
        logged(1, 0, 0),
        logged(2, 0, 1),
    ),
    "producer-order: sequences may have holes": (info(1, 0), info(1, 4), logged(1, 0, 0), logged(1, 4, 1)),
    "producer-order: partitions are ordered apart": (
        info(1, 0),
        info(1, 1, on=1),
        logged(1, 0, 0),
        logged(1, 1, 0, on=1),
    ),
    "real-time-order: overlapping sends may lie either way": (
        ok(1, 0, at=1, invoked=10, done=30),
        ok(2, 0, at=0, invoked=20, done=40),
        logged(2, 0, 0),
        logged(1, 0, 1),
    ),
    "real-time-order: invoked at the very completion is no violation": (
        ok(1, 0, at=1, invoked=10, done=20),
        ok(2, 0, at=0, invoked=20, done=40),
        logged(2, 0, 0),
        logged(1, 0, 1),
    ),
    "real-time-order: indeterminate records have no completion": (
        info(1, 0, invoked=10, done=20),
        ok(2, 0, at=0, invoked=30, done=40),
        logged(2, 0, 0),
        logged(1, 0, 1),
    ),
    "resurrected: a failed send is not there": (fail(1, 0), proof(0)),
    "phantom: a send explains the record": (info(1, 0), logged(1, 0, 0)),
    "offset-gap: the log may start late": (info(1, 0), logged(1, 0, 7), proof(8, start=7)),
    "hw-loss: what was read below the log's start was deleted": (read(1, 0, 6), proof(7, start=7)),
    "hw-loss: what was sampled below the log's start was deleted": (sample(7), proof(7, start=7)),
    "hw-loss: what was read above the proven high watermark is undecided": (
        read(1, 0, 0),
        proof(0, log_end=1),
    ),
    "hw-loss: what was sampled above the proven high watermark is undecided": (
        sample(1),
        proof(0, log_end=1),
    ),
    "hw-loss: samples of two epochs do not add up": (
        ok(1, 0, at=0),
        ok(2, 0, at=0, invoked=50, done=60),
        sample(0, at=5, epoch=1),
        sample(0, at=15, epoch=1),
        sample(1, at=16, epoch=2),
        sample(1, at=30, epoch=2),
        logged(2, 0, 0),
    ),
    "hw-loss: samples of an unknown epoch witness no record": (
        ok(1, 0, at=0),
        ok(2, 0, at=0, invoked=50, done=60),
        sample(1, at=5, epoch=-1),
        sample(1, at=30, epoch=-1),
        logged(2, 0, 0),
    ),
    "monotone-read: a hole over what is not in the log": (
        info(1, 0),
        info(1, 2),
        read(1, 0, 0),
        read(1, 2, 2),
        logged(1, 0, 0),
        logged(1, 2, 2),
        proof(1, log_end=3),
    ),
    "monotone-read: another generation may begin anywhere": (
        info(1, 0),
        read(1, 0, 0),
        read(1, 0, 0, generation=1),
        logged(1, 0, 0),
    ),
    "monotone-read: another reader is another stream": (
        info(1, 0),
        read(1, 0, 0),
        read(1, 0, 0, reader=1),
        logged(1, 0, 0),
    ),
}
EXTRA_LOSS = {
    "hw-loss: samples of two epochs do not add up",
    "hw-loss: samples of an unknown epoch witness no record",
}


@pytest.mark.parametrize("story", HOLDS)
def test_holds(story):
    """Nothing is found, but for the acked loss in the two stories that are about what it is not."""
    expected = [("acked-loss", 0, 0, 1, 0)] if story in EXTRA_LOSS else []
    assert found(*HOLDS[story]) == expected


@pytest.mark.parametrize("story", HOLDS)
def test_nothing_is_decided_about_an_unproven_partition(story):
    """The same rows without a proof: no anomaly, and everything undecided but what only samples decide."""
    rows = [row for row in HOLDS[story] if not hasattr(row, "complete")]
    judgement = check(history(*rows, unproven=(0, 1)))
    assert judgement.anomalies == ()
    assert len(judgement.undecided_partitions) == 2
    examined = {each.value for each, count in judgement.examined.items() if count}
    assert examined <= {"hw-monotone"}


BREAKS = {
    "acked-loss": ((ok(1, 0, at=0), proof(0)), ("acked-loss", 0, 0, 1, 0)),
    "ack-offset": ((ok(1, 0, at=1), logged(1, 0, 0)), ("ack-offset", 0, 1, 1, 0)),
    "content, acknowledged": ((ok(1, 0, at=0), logged(1, 0, 0, checksum=7)), ("content", 0, 0, 1, 0)),
    "content, indeterminate": ((info(1, 0), logged(1, 0, 0, checksum=7)), ("content", 0, 0, 1, 0)),
    "duplicate": ((info(1, 0), logged(1, 0, 0), logged(1, 0, 1)), ("duplicate", 0, 1, 1, 0)),
    "producer-order": (
        (info(1, 0), info(1, 1), logged(1, 1, 0), logged(1, 0, 1)),
        ("producer-order", 0, 1, 1, 0),
    ),
    "real-time-order": (
        (
            ok(1, 0, at=1, invoked=10, done=20),
            ok(2, 0, at=0, invoked=21, done=40),
            logged(2, 0, 0),
            logged(1, 0, 1),
        ),
        ("real-time-order", 0, 1, 1, 0),
    ),
    "resurrected": ((fail(1, 0), logged(1, 0, 0)), ("resurrected", 0, 0, 1, 0)),
    "phantom, never sent": ((logged(1, 0, 0),), ("phantom", 0, 0, 1, 0)),
    "phantom, sent elsewhere": ((info(1, 0, on=1), logged(1, 0, 0)), ("phantom", 0, 0, 1, 0)),
    "offset-gap": ((info(1, 0), logged(1, 0, 1), proof(2)), ("offset-gap", 0, 0, -1, -1)),
    "hw-loss of an unknown record": ((sample(1), proof(0)), ("hw-loss", 0, 0, -1, -1)),
    "monotone-read, backwards": (
        (info(1, 0), read(1, 0, 0), read(1, 0, 0), logged(1, 0, 0)),
        ("monotone-read", 0, 0, 0, 0),
    ),
    "monotone-read, a hole": (
        (
            info(1, 0),
            info(1, 1),
            info(1, 2),
            read(1, 0, 0, reader=4, generation=2),
            read(1, 2, 2, reader=4, generation=2),
            logged(1, 0, 0),
            logged(1, 1, 1),
            logged(1, 2, 2),
        ),
        ("monotone-read", 0, 2, 4, 2),
    ),
    "same-for-all": (
        (read(1, 0, 0), read(2, 0, 0, reader=1), proof(0, log_end=1)),
        ("same-for-all", 0, 0, -1, -1),
    ),
}


@pytest.mark.parametrize("story", BREAKS)
def test_breaks(story):
    """Exactly one anomaly, under its own key."""
    rows, expected = BREAKS[story]
    assert found(*rows) == [expected]


def test_read_uncommitted_is_hw_loss_with_a_reader_as_witness():
    """One event under both names."""
    assert found(info(1, 0), read(1, 0, 0), proof(0)) == [
        ("hw-loss", 0, 0, 1, 0),
        ("read-uncommitted", 0, 0, 1, 0),
    ]


def test_the_ack_of_another_copy_is_no_evidence_of_the_copy_that_a_reader_saw():
    """1/0 was read at offset 0; its retry was acknowledged at offset 1."""
    rows = (ok(1, 0, at=1), read(1, 0, 0), info(2, 0), logged(2, 0, 0), logged(1, 0, 1))
    (loss,) = of_hw_loss(check(history(*rows)))
    assert (loss.offset, loss.completed_ns, loss.acked_offset) == (0, -1, 1)


def test_the_ack_of_the_copy_that_a_reader_was_given_dates_it():
    """Both were at offset 0."""
    (loss,) = of_hw_loss(check(history(ok(1, 0, at=0, done=20), read(1, 0, 0), proof(0))))
    assert loss.completed_ns == 20


def test_a_reader_that_was_given_other_content_read_what_did_not_stay():
    """The same id with another checksum is another record."""
    assert found(info(1, 0), read(1, 0, 0, checksum=7), logged(1, 0, 0)) == [
        ("hw-loss", 0, 0, 1, 0),
        ("read-uncommitted", 0, 0, 1, 0),
    ]


def test_read_uncommitted_counts_each_content_and_hw_loss_each_record():
    """Two readers, one offset, one id, two contents, and nothing there now."""
    assert found(read(1, 0, 0, checksum=7), read(1, 0, 0, reader=1, checksum=8), proof(0)) == [
        ("hw-loss", 0, 0, 1, 0),
        ("read-uncommitted", 0, 0, 1, 0),
        ("read-uncommitted", 0, 0, 1, 0),
        ("same-for-all", 0, 0, -1, -1),
    ]


def test_a_witness_that_names_the_record_silences_the_nameless_loss_of_its_offset():
    """At offset 1 nobody is named, so the sampled high watermark alone accuses."""
    assert found(read(1, 0, 0), sample(2), proof(0)) == [
        ("hw-loss", 0, 0, 1, 0),
        ("hw-loss", 0, 1, -1, -1),
        ("read-uncommitted", 0, 0, 1, 0),
    ]


def test_each_run_of_missing_offsets_is_one_gap():
    """Named by its first offset, from the log's start to its end."""
    rows = [info(1, n) for n in (2, 5, 6)]
    log = [logged(1, n, n) for n in (2, 5, 6)]
    assert found(*rows, *log, proof(9)) == [
        ("offset-gap", 0, 0, -1, -1),
        ("offset-gap", 0, 3, -1, -1),
        ("offset-gap", 0, 7, -1, -1),
    ]


def test_every_extra_copy_is_a_duplicate_and_the_first_in_place_order_is_not():
    """Over all partitions, in (partition, offset) order."""
    copies = (logged(1, 0, 0), logged(1, 0, 3), logged(1, 0, 1, on=1), info(1, 0))
    filler = [info(2, n) for n in range(4)] + [logged(2, n, n + 1) for n in range(2)]
    found_duplicates = [
        row for row in found(*copies, *filler, proof(4), proof(2, on=1)) if row[0] == "duplicate"
    ]
    assert found_duplicates == [("duplicate", 0, 3, 1, 0), ("duplicate", 1, 1, 1, 0)]


def test_records_without_an_id_are_neither_duplicates_nor_out_of_order():
    """They are phantoms, and nothing else is known of them."""
    assert found(logged(-1, -1, 0), logged(-1, -1, 1)) == [
        ("phantom", 0, 0, -1, -1),
        ("phantom", 0, 1, -1, -1),
    ]


def test_real_time_order_compares_with_the_latest_invocation_before_not_only_the_neighbour():
    """Of the two records before A, the first was invoked after A was done, the second long before."""
    assert found(
        ok(1, 0, at=2, invoked=10, done=20),
        ok(2, 0, at=0, invoked=30, done=40),
        ok(3, 0, at=1, invoked=5, done=45),
        logged(2, 0, 0),
        logged(3, 0, 1),
        logged(1, 0, 2),
    ) == [("real-time-order", 0, 2, 1, 0)]


def test_a_lost_record_acked_at_its_epochs_exposed_offset_is_named_though_nobody_read_it():
    """The samples of epoch 0 enclose its life; the highest sample accuses the rest."""
    judgement = check(
        history(ok(1, 0, at=0), sample(0, at=10, epoch=0), sample(1, at=20, epoch=0), sample(4), proof(0))
    )
    losses = of_hw_loss(judgement)
    assert [(a.offset, a.last_offset, a.producer, a.sequence) for a in losses] == [
        (0, 0, 1, 0),
        (1, 3, -1, -1),
    ]
    assert [a.note for a in losses] == [
        "nothing is at offset 0 now",
        "the high watermark was 4 once, nothing is at offsets 1 to 3 now",
    ]
    assert losses[0].completed_ns == 20


def replaced(*rows, log=((0, 0), (1, 0), (2, 1), (3, 1), (4, 2))):
    """The hw-loss anomalies (first offset, last, epoch of the sample) beside a log of (offset, epoch), in
    which nothing else is wrong."""
    records = [
        each for offset, epoch in log for each in (info(1, offset), logged(1, offset, offset, epoch=epoch))
    ]
    judgement = check(history(*records, *rows))
    assert {anomaly.property for anomaly in judgement.anomalies} <= {Property.HW_LOSS}
    assert {(anomaly.producer, anomaly.sequence) for anomaly in judgement.anomalies} <= {(-1, -1)}
    return sorted((a.offset, a.last_offset, a.under_epoch) for a in of_hw_loss(judgement))


def test_what_was_below_a_high_watermark_is_gone_if_a_later_epoch_wrote_what_is_there_now():
    """Nobody was given it or had it acknowledged: a run for each epoch that has written over it, and no
    leader's log has records of later epochs than its own."""
    assert replaced(sample(5, epoch=0)) == [(2, 3, 0), (4, 4, 0)]
    assert replaced(sample(3, epoch=0), sample(5, epoch=1)) == [(2, 2, 0), (4, 4, 1)]
    assert replaced(sample(4, epoch=0), sample(4, epoch=1)) == [(2, 3, 0)]
    (loss,) = of_hw_loss(
        check(history(sample(2, epoch=3), info(1, 0), logged(1, 0, 1, epoch=4), proof(2, start=1)))
    )
    assert loss.note == (
        "the high watermark was above under leader epoch 3, offset 1 holds what was written under 4 now"
    )


def test_what_a_leader_may_have_had_itself_has_taken_no_place():
    """Samples of its own epoch and of later ones, at or below it, and of an epoch that nobody knows."""
    assert replaced(sample(2, epoch=0), sample(4, epoch=1), sample(5, epoch=2), sample(5, epoch=7)) == []
    assert replaced(sample(5, epoch=-1)) == []
    assert replaced(sample(-1, epoch=0)) == []
    assert replaced(sample(5, epoch=0), log=[(number, -1) for number in range(5)]) == []


def test_a_place_that_was_taken_counts_once_and_only_where_the_final_read_decides():
    """Offset 4 is above what could be read, what is below 3 was deleted, 3 has a witness with a name; where
    nothing is left there is a hole."""
    assert replaced(sample(2, epoch=0), proof(1), log=[(0, 1)]) == [(0, 0, 0), (1, 1, -1)]
    assert replaced(sample(5, epoch=0), proof(4, log_end=5)) == [(2, 3, 0)]
    assert replaced(sample(5, epoch=0), proof(5, start=3), log=((3, 1), (4, 1))) == [(3, 4, 0)]
    rows = (read(2, 9, 3), *(logged(1, n, n, epoch=1) for n in range(5)), *(info(1, n) for n in range(5)))
    losses = of_hw_loss(check(history(*rows, sample(5, epoch=0))))
    places = sorted((a.offset, a.last_offset, a.producer) for a in losses)
    assert places == [(0, 2, -1), (3, 3, 2), (4, 4, -1)]


def test_an_incomplete_proof_gives_its_reason():
    """Or shows that it has none."""
    unread = [proof(1, complete=False, reason="deadline"), proof(1, complete=False, on=1)]
    assert [u.reason for u in check(history(*unread)).undecided_partitions] == [
        "deadline",
        "the final read is not proven complete",
    ]


def test_of_hw_loss_nothing_is_examined_where_nobody_saw_a_high_watermark():
    """Two acks that are in the log: no read and no sample shows that they were ever below the HW."""
    rows = (ok(1, 0, at=0), ok(1, 1, at=1), logged(1, 0, 0), logged(1, 1, 1))
    unseen, seen = check(history(*rows)), check(history(*rows, sample(2)))
    of_unknown = check(history(*rows, sample(-1)))
    assert [each.examined[Property.HW_LOSS] for each in (unseen, of_unknown, seen)] == [0, 0, 2]
    assert {each.undecided[Property.HW_LOSS] for each in (unseen, of_unknown, seen)} == {0}


def test_the_attempts_of_a_producer_are_counted_over_all_partitions_and_outcomes():
    found = check(history(ok(1, 0, at=0), info(1, 2, on=1), fail(1, 5), info(3, 1))).attempts
    assert found == {1: Attempts(count=3, first=0, last=5), 3: Attempts(count=1, first=1, last=1)}


def test_the_counts_are_of_what_was_examined_and_what_is_undecided():
    """Partition 0 is proven up to offset 3 of 4, partition 1 is not; a sample shows all 4 below the HW."""
    judgement = check(
        history(
            ok(1, 0, at=0),
            ok(1, 1, invoked=30, done=40),
            ok(1, 2, at=2, invoked=30, done=40),
            ok(1, 3, at=3, invoked=30, done=50),
            ok(1, 4, at=0, on=1),
            info(1, 5),
            fail(1, 6),
            *(logged(1, n, n) for n in range(3)),
            logged(1, 4, 0, on=1),
            read(1, 0, 0),
            read(1, 3, 3, reader=1),
            read(1, 4, 0, on=1),
            sample(4),
            proof(3, log_end=4),
            unproven=(1,),
        )
    )
    assert judgement.anomalies == ()
    assert {p.value: (judgement.examined[p], judgement.undecided[p]) for p in judgement.examined} == {
        "acked-loss": (3, 2),
        "hw-loss": (4, 3),
        "ack-offset": (2, 2),
        "content": (3, 1),
        "unknown-offset-ack": (1, 0),
        "duplicate": (3, 1),
        "producer-order": (3, 1),
        "real-time-order": (3, 1),
        "resurrected": (3, 1),
        "phantom": (3, 1),
        "offset-gap": (3, 1),
        "ack-contract": (0, 0),
        "leader-legal": (0, 0),
        "eligible-step": (0, 0),
        "fenced-out": (0, 0),
        "epoch-step": (0, 0),
        "hw-monotone": (1, 0),
        "early-read": (0, 0),
        "read-uncommitted": (1, 2),
        "aborted-read": (0, 0),
        "torn-transaction": (0, 0),
        "hanging-transaction": (0, 0),
        "zombie-fenced": (0, 0),
        "marker-per-transaction": (0, 0),
        "monotone-read": (2, 1),
        "same-for-all": (2, 1),
        "divergence": (0, 0),
        "epoch-monotone": (0, 0),
        "log-matching": (0, 0),
        "crc": (0, 0),
        "checkpoint-sane": (0, 0),
        "sequence-dense": (0, 0),
        "loads-all": (0, 0),
        "one-leader": (0, 0),
    }
    assert [each.reason for each in judgement.undecided_partitions] == ["no final read"]
    totals = judgement.totals
    assert (totals.sends, totals.ok, totals.fail, totals.info, totals.ok_without_offset) == (7, 5, 1, 1, 1)
    assert (totals.log_records, totals.reads, totals.first_ack_ns, totals.last_ack_ns) == (4, 3, 20, 50)

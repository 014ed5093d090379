"""What random damage seldom hits, and what only large or odd histories have: spelled out.

Each history is verified by our code in this process; the reference must find the same, evidence included.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pytest
from fakes.history import history_rows
from fakes.history.history_rows import TOPIC, proof, sample
from fakes.history.inline_spark import InlineSpark

from checkers.damage import write
from checkers.history.rows import NO_ID, History, LogRecord, Proof, Read, Send, TopicPartition, Watermark
from checkers.history.tables import NONE, Outcome
from checkers.judgement import Attempts
from checkers.properties import DECIDED, Property
from checkers.reference import check
from checkers.reference.transactions.rules import RULES as OF_TRANSACTIONS
from spark_verify.kernels.final_log import FinalLog
from spark_verify.kernels.ids import Ids, match
from spark_verify.passes.apply_rules import RULES, SMALL_TABLES
from spark_verify.passes.by_id.fetch import IntegerSet
from spark_verify.passes.parts.cut import Cutting
from spark_verify.session.jobs import balanced, most_tasks
from spark_verify.verify import verify, verify_all

# All of one content, so that only ids tell records apart.
ok, logged = partial(history_rows.ok, checksum=5), partial(history_rows.logged, checksum=5)
read = partial(history_rows.read, checksum=5, generation=1)


def found(tmp_path, *rows) -> list[tuple]:
    """(property, partition, offset, producer, sequence) of each anomaly, as both implementations find it."""
    history = History(
        partitions=tuple(sorted({TopicPartition(TOPIC, row.partition) for row in rows})),
        sends=[row for row in rows if isinstance(row, Send)],
        final_log=[row for row in rows if isinstance(row, LogRecord)],
        reads=[row for row in rows if isinstance(row, Read)],
        watermarks=[row for row in rows if isinstance(row, Watermark)],
        proofs=[row for row in rows if isinstance(row, Proof)],
    )
    write(history, tmp_path)
    ours, wanted = verify(tmp_path, InlineSpark()), check(history)
    assert ours.key() == wanted.key()
    assert Counter(map(repr, ours.anomalies)) == Counter(map(repr, wanted.anomalies))
    return [(a.property.value, a.partition, a.offset, a.producer, a.sequence) for a in ours.anomalies]


def test_an_altered_record_that_nobody_read_is_found(tmp_path):
    assert found(tmp_path, proof(1), ok(1, 0, at=0), logged(1, 0, 0, checksum=6)) == [("content", 0, 0, 1, 0)]


@pytest.mark.parametrize("offset", [2, 7], ids=["below the log start", "above the high watermark"])
def test_readers_who_disagree_where_the_log_decides_nothing_are_found(tmp_path, offset):
    rows = (proof(6, start=5, log_end=9), ok(1, 0, at=5), logged(1, 0, 5))
    given = (read(2, 0, offset), read(2, 1, offset, reader=1), read(2, 0, offset + 1))
    assert found(tmp_path, *rows, *given) == [("same-for-all", 0, offset, -1, -1)]


def test_an_acknowledged_offset_may_be_any_number(tmp_path):
    far = (1 << 62, -(1 << 62), (1 << 63) - 1)
    sends = [ok(1, number, at=at) for number, at in enumerate(far)]
    lost = [("acked-loss", 0, at, 1, number) for number, at in enumerate(far)]
    assert sorted(found(tmp_path, proof(1), ok(1, 3, at=0), logged(1, 3, 0), *sends)) == sorted(lost)


@pytest.mark.parametrize("stride", [1, 2, 1000], ids=["one hole", "holes", "mostly holes"])
def test_records_are_found_however_sparse_the_log_is(tmp_path, stride):
    sends = [ok(1, number, at=number * stride) for number in range(50)]
    log = [logged(1, number, number * stride) for number in range(50) if number != 20]
    holes = {"acked-loss": 1, "offset-gap": 48 if stride > 1 else 1}
    anomalies = found(tmp_path, proof(49 * stride + 1), *sends, *log)
    assert Counter(name for name, *_ in anomalies) == holes
    assert ("acked-loss", 0, 20 * stride, 1, 20) in anomalies


def test_a_thousand_producers_with_any_number_are_told_apart(tmp_path):
    producers = [(-1) ** number * number * 2_000_003 for number in range(1000)]
    sends = [ok(producer, 7, at=at) for at, producer in enumerate(producers)]
    log = [logged(producer, 7, at) for at, producer in enumerate(producers)]
    late = (logged(producers[5], 3, 1000), ok(producers[5], 3, at=1000))
    assert found(tmp_path, proof(1001), *sends, *log, *late) == [("producer-order", 0, 1000, producers[5], 3)]


def test_records_without_id_are_phantoms_and_nothing_else(tmp_path):
    nameless = [logged(*NO_ID, at) for at in (0, 2)]
    rows = (proof(3), ok(1, 0, at=1), logged(1, 0, 1), *nameless)
    assert found(tmp_path, *rows) == [("phantom", 0, 0, -1, -1), ("phantom", 0, 2, -1, -1)]


def test_a_copy_in_a_partition_that_is_not_its_home_is_found_from_its_other_copy_there(tmp_path):
    rows = (proof(1), proof(1, on=1), ok(1, 0, at=0), logged(1, 0, 0), logged(1, 0, 0, on=1))
    assert found(tmp_path, *rows) == [("duplicate", 1, 0, 1, 0), ("phantom", 1, 0, 1, 0)]


def test_a_copy_in_an_undecided_partition_is_nothing(tmp_path):
    undecided = proof(1, on=1, complete=False)
    assert found(tmp_path, proof(1), undecided, ok(1, 0, at=0), logged(1, 0, 0), logged(1, 0, 0, on=1)) == []


def test_acks_without_offset_are_explained_by_their_ids_and_stand_in_real_time(tmp_path):
    sends = [ok(1, number, invoked=100 * number, done=100 * number + 50) for number in range(6)]
    log = [logged(1, number, at) for at, number in enumerate((0, 1, 2, 4, 5))]
    early = logged(1, 3, 5)
    assert found(tmp_path, proof(6), *sends, *log, early) == [
        ("producer-order", 0, 5, 1, 3),
        ("real-time-order", 0, 5, 1, 3),
    ]


def holes_of(tmp_path, *rows) -> list[tuple[str, int, int]]:
    """(property, first, last) of the anomalies without an id, as both implementations find them."""
    found(tmp_path, *rows)
    judgement = verify(tmp_path, InlineSpark())
    return [(a.property.value, a.offset, a.last_offset) for a in judgement.anomalies if a.producer == NONE]


def test_a_hole_below_a_sampled_watermark_is_one_anomaly_for_each_part_that_no_witness_names(tmp_path):
    """Offset 3 was read, 6 was acknowledged in an epoch whose samples enclose it."""
    rows = (sample(0, at=5), sample(9, at=30), read(1, 3, 3), ok(1, 6, at=6), proof(0))
    assert holes_of(tmp_path, *rows) == [("hw-loss", 0, 2), ("hw-loss", 4, 5), ("hw-loss", 7, 8)]


def test_a_hole_is_cut_where_nothing_is_decided(tmp_path):
    """No reader gets [2, 4); what was sampled above is decided, and is lost."""
    assert holes_of(tmp_path, sample(6), proof(2, log_end=4)) == [
        ("hw-loss", 0, 1),
        ("hw-loss", 4, 5),
        ("offset-gap", 0, 1),
    ]


def test_a_hole_across_the_end_of_the_log_is_one_loss_and_a_shorter_gap(tmp_path):
    """Offsets 1 to 5 were sampled, the log ends at 3."""
    assert holes_of(tmp_path, sample(6), proof(3), logged(1, 0, 0), ok(1, 0, at=0)) == [
        ("hw-loss", 1, 5),
        ("offset-gap", 1, 2),
    ]


def test_witnesses_side_by_side_leave_no_empty_hole(tmp_path):
    assert holes_of(tmp_path, sample(3), read(1, 0, 0), read(1, 1, 1), read(1, 2, 2), proof(0)) == []


def test_the_log_may_begin_behind_a_hole_that_was_deleted(tmp_path):
    assert holes_of(tmp_path, sample(6), proof(4, start=4)) == [("hw-loss", 4, 5)]


@pytest.mark.parametrize("batch_rows", [2, 65_536])
@pytest.mark.parametrize("cutting", [None, Cutting(at=(1, 3, 4)), Cutting(at=(5,))])
def test_records_in_the_place_of_others_are_found_in_whatever_pieces_the_log_is_read(
    tmp_path, batch_rows, cutting
):
    """Epochs 0 to 3 wrote the log; samples of four epochs, one unknown, were above parts of it; one place has
    a witness, and the last is not decided."""
    epochs = (0, 0, 1, 1, 1, 1, 2, 3, 3, 3)
    log = [logged(1, number, number, epoch=epoch) for number, epoch in enumerate(epochs)]
    sends = [replace(ok(1, number), outcome=Outcome.INFO) for number in range(10)]
    samples = [sample(5, epoch=0), sample(4, epoch=0), sample(7, epoch=1), sample(10, epoch=2)]
    history = history_rows.history(
        *(*log, *sends, *samples, sample(9, epoch=-1), sample(3, epoch=5)),
        *(read(2, 0, 3), proof(9, start=1, log_end=10)),
    )
    write(history, tmp_path, group_rows=3)
    (ours,), wanted = (
        verify_all([tmp_path], InlineSpark(), batch_rows=batch_rows, cutting=cutting),
        check(history),
    )
    assert Counter(map(repr, ours.anomalies)) == Counter(map(repr, wanted.anomalies))
    losses = [(a.offset, a.last_offset, a.under_epoch) for a in ours.anomalies if a.property == "hw-loss"]
    assert sorted(losses) == [(2, 2, 0), (3, 3, -1), (4, 4, 0), (6, 6, 1), (7, 8, 2)]


def test_a_record_read_in_another_partition_than_its_own_comes_with_its_send(tmp_path):
    """Its send stands in partition 1: evidence from there, at another offset and at the very same."""
    for number, at in enumerate((7, 0)):
        rows = (proof(0), proof(8, on=1), read(1, 0, 0), ok(1, 0, at=at, on=1), logged(1, 0, at, on=1))
        found(tmp_path / str(number), *rows)
        (loss,) = (
            a for a in verify(tmp_path / str(number), InlineSpark()).anomalies if a.property == "hw-loss"
        )
        assert (loss.invoked_ns, loss.acked_offset) == (10, at)
        assert loss.completed_ns == (20 if at == 0 else NONE)


def test_readers_disagree_also_where_one_was_given_what_the_log_holds(tmp_path):
    """And where nothing is decided, and with three records at one offset."""
    log = (ok(1, 0, at=0), logged(1, 0, 0), ok(1, 1, at=1), logged(1, 1, 1))
    reads = (read(1, 0, 0), read(2, 0, 0, reader=1), read(1, 1, 1), read(3, 0, 2), read(3, 1, 2, reader=1))
    more = (read(3, 2, 2, reader=2), read(4, 0, 3), read(4, 0, 3, reader=1))
    anomalies = found(tmp_path, proof(2, log_end=4), *log, *reads, *more)
    assert [row[2] for row in anomalies if row[0] == "same-for-all"] == [0, 2]


def test_for_what_is_lost_at_home_nothing_is_fetched_however_much_it_is(tmp_path, monkeypatch):
    """Pass 2 costs a second reading, and an object for each row."""
    fetched = []
    monkeypatch.setattr("spark_verify.verify.fetch", lambda shared, wanted: fetched.append(wanted))
    sends = [ok(1, number, at=number) for number in range(500)]
    reads = [read(1, number, number) for number in range(500)]
    found(tmp_path, proof(0), sample(500), *sends, *reads)
    judgement = verify(tmp_path, InlineSpark())
    assert fetched == []
    assert Counter(a.property.value for a in judgement.anomalies) == {
        "acked-loss": 500,
        "hw-loss": 500,
        "read-uncommitted": 500,
    }


def test_offsets_below_a_sampled_high_watermark_are_examined_but_those_that_no_reader_gets(tmp_path):
    """Log start 2, read up to 5, the log ends at 7, the samples rise to 9: 2, 3, 4, 7 and 8 are decided."""
    sampled = [
        Watermark(topic=TOPIC, partition=on, at_ns=9, leader=1, leader_epoch=0, high_watermark=hw)
        for on, hw in ((0, 4), (0, 9), (1, 5))
    ]
    history = History(
        partitions=(TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)),
        watermarks=sampled,
        proofs=[proof(5, start=2, log_end=7)],
    )
    write(history, tmp_path)
    for judgement in (verify(tmp_path, InlineSpark()), check(history)):
        of_hw_loss = judgement.examined[Property.HW_LOSS], judgement.undecided[Property.HW_LOSS]
        assert of_hw_loss == (5, 2)


def test_the_sends_of_a_producer_are_counted_over_decided_and_undecided_partitions(tmp_path):
    """Acknowledged and in the log, acknowledged and lost, indeterminate; producer 7 begins at 3."""
    unknown = replace(ok(1, 4, on=1), outcome=Outcome.INFO)
    rows = [ok(1, 0, at=0), ok(1, 2, at=1), ok(1, 9, at=0, on=1), unknown, ok(7, 3, at=2)]
    history = History(
        partitions=(TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)),
        sends=rows,
        final_log=[logged(1, 0, 0)],
        proofs=[proof(1)],
    )
    write(history, tmp_path)
    assert verify(tmp_path, InlineSpark()).attempts == {
        1: Attempts(count=4, first=0, last=9),
        7: Attempts(count=1, first=3, last=3),
    }


def test_each_decided_property_has_one_rule_and_no_other_has_one():
    others = [
        *(*SMALL_TABLES, *OF_TRANSACTIONS),
        *(Property.ACK_CONTRACT, Property.EARLY_READ, Property.HW_MONOTONE),
    ]
    assert sorted([*RULES, *others]) == sorted(DECIDED)


def test_no_rows_at_all_is_no_trouble(tmp_path):
    assert found(tmp_path, proof(0)) == []


def test_a_log_answers_for_offsets_outside_of_it():
    log = FinalLog(
        {
            "offset": np.array([3, 4, 7]),
            "producer": np.zeros(3, np.int32),
            "sequence": np.arange(3),
            "checksum": np.arange(3),
        }
    )
    assert log.rows_at(np.array([-1, 2, 3, 4, 5, 7, 8, 1 << 62])).tolist() == [-1, -1, 0, 1, -1, 2, -1, -1]
    assert FinalLog.empty().rows_at(np.array([0, 5])).tolist() == [-1, -1]


def test_ids_are_matched_by_both_parts_and_by_the_first_of_equals():
    def ids(*pairs):
        return Ids(
            producer=np.array([p for p, _ in pairs], np.int32),
            sequence=np.array([s for _, s in pairs], np.int64),
        )

    among = ids((1, 5), (2, 5), (1, 6), (1, 5))
    assert match(ids((1, 5), (5, 1), (2, 5), (1, 5)), among).tolist() == [0, -1, 1, 0]
    assert match(ids(), among).tolist() == []
    assert match(ids((1, 5)), ids()).tolist() == [-1]
    assert among.unique().sequence.tolist() == [5, 6, 5]


def test_a_set_of_integers_contains_what_was_put_in_and_nothing_else():
    values = np.array([-5, 0, 7, 1 << 60])
    asked = np.arange(-1000, 100_000)
    assert asked[IntegerSet(values).contains(asked)].tolist() == [-5, 0, 7]
    assert IntegerSet(values).contains(values).all()
    assert not IntegerSet(values[:0]).contains(asked).any()


def test_tasks_have_about_the_same_weight_and_every_item_is_in_one():
    assert balanced([50, 10, 10, 10, 10, 10], 2) == [[0], [1, 2, 3, 4, 5]]
    assert balanced([7], 8) == [[0]]
    assert sorted(chain.from_iterable(balanced([1] * 100, 8))) == list(range(100))


def test_a_core_has_several_tasks_only_of_many_rows() -> None:
    assert [most_tasks(rows, 2) for rows in (0, 700_000, 800_000, 1_200_000, 90_000_000)] == [2, 2, 4, 6, 8]

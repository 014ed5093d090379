"""Anomalies in blocks: a sequence of objects outside, columns inside."""

import pytest

from checkers.anomalies import Anomalies, Anomaly
from checkers.properties import Property


def anomaly(offset, *, of=Property.ACKED_LOSS, partition=0, **more) -> Anomaly:
    return Anomaly(
        property=of, topic="orders", partition=partition, offset=offset, producer=1, sequence=offset, **more
    )


def test_one_block_for_each_property_partition_and_replica():
    rows = [anomaly(1), anomaly(2, partition=1), anomaly(3), anomaly(4, of=Property.DUPLICATE)]
    rows += [anomaly(5, of=Property.DIVERGENCE, replica=2), anomaly(6, of=Property.DIVERGENCE, replica=3)]
    blocks = Anomalies.of(rows).blocks
    assert [len(block) for block in blocks] == [2, 1, 1, 1, 1]
    assert [block.replica for block in blocks] == [-1, -1, -1, 2, 3]


def test_rows_come_back_with_their_evidence():
    row = anomaly(1, completed_ns=7, note="nothing is there")
    (back,) = Anomalies.of([row])
    assert (back, back.completed_ns, back.note) == (row, 7, "nothing is there")


def test_a_run_of_offsets_is_one_anomaly_with_another_key():
    run, single = anomaly(3, last_offset=9), anomaly(3)
    assert (run.last_offset, single.last_offset) == (9, 3)
    assert run.key() != single.key()
    assert Anomalies.of([run])[0].last_offset == 9


def test_two_sequences_are_equal_in_any_order_and_evidence_does_not_count():
    assert Anomalies.of([anomaly(1), anomaly(2)]) == [anomaly(2, note="x"), anomaly(1)]
    assert Anomalies.of([anomaly(1)]) != [anomaly(1), anomaly(1)]
    assert Anomalies() == ()


def test_indices_reach_across_blocks():
    rows = Anomalies.of([anomaly(1), anomaly(2, partition=1), anomaly(3)])
    assert [rows[at].offset for at in (0, 1, 2, -1)] == [1, 3, 2, 2]
    with pytest.raises(IndexError):
        rows[3]

"""Of many samples only those that show a change are made into rows."""

from random import Random

import pyarrow as pa
import pytest

from checkers.history.columnar import Rows, changes
from checkers.history.rows import Watermark
from checkers.history.tables import TABLES

GROUP, VALUES = ("topic", "partition"), ("leader", "leader_epoch", "isr")


def sampled(at_ns, leader=1, epoch=0, isr=(1, 2, 3), on=0, topic="orders") -> Watermark:
    """One sample."""
    return Watermark(
        at_ns=at_ns,
        topic=topic,
        partition=on,
        leader=leader,
        leader_epoch=epoch,
        isr=isr,
        high_watermark=at_ns,
    )


def in_columns(samples) -> Rows[Watermark]:
    """The same as a file gives them."""
    names = TABLES["watermarks"].names
    rows = [{name: getattr(sample, name) for name in names} for sample in samples]
    return Rows(pa.Table.from_pylist(rows, schema=TABLES["watermarks"]), Watermark)


def found(samples) -> list[int]:
    """The places of the changes, the same for rows in memory and in columns."""
    places = changes(samples, "at_ns", GROUP, VALUES).tolist()
    assert changes(in_columns(samples), "at_ns", GROUP, VALUES).tolist() == places
    return places


def test_the_first_sample_of_each_partition_and_each_that_differs_is_a_change():
    samples = [
        sampled(10),
        sampled(20),
        sampled(15, on=1),
        sampled(30, isr=(1, 2)),
        sampled(40, isr=(1, 2)),
        sampled(50, leader=2, epoch=1, isr=(1, 2)),
        sampled(60, leader=2, epoch=1, isr=()),
        sampled(70, topic="other"),
    ]
    assert found(samples) == [0, 2, 3, 5, 6, 7]


def test_samples_follow_each_other_by_time_and_not_by_their_place():
    assert found([sampled(30), sampled(10, epoch=4), sampled(20)]) == [1, 2]


@pytest.mark.parametrize("isrs", [((1, 2), (2, 1)), ((1,), (1, 0)), ((), (0,))])
def test_lists_differ_by_order_and_length(isrs):
    assert found([sampled(at, isr=isr) for at, isr in enumerate(isrs)]) == [0, 1]


def test_no_samples_have_no_changes():
    assert found([]) == []


def test_random_samples_change_where_a_walk_along_them_says_so():
    rng = Random(5)
    for _ in range(50):
        samples = [
            sampled(rng.randrange(20), rng.randrange(2), 0, tuple(range(rng.randrange(3))), rng.randrange(2))
            for _ in range(rng.randrange(30))
        ]
        last, expected = {}, []
        for at in sorted(range(len(samples)), key=lambda at: samples[at].at_ns):
            value = (samples[at].leader, samples[at].isr)
            if last.get(samples[at].tp) != value:
                last[samples[at].tp] = value
                expected.append(at)
        assert found(samples) == expected

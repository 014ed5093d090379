"""The verdict at scale is the reference's verdict on the same files.

In a Spark session: test_in_a_session.py. On many damaged histories: test_fuzz_can_fail.py, test_parts.py.
From a server of objects: tests/long/test_object_store.py.
"""

from random import Random

import pyarrow.parquet as pq
import pytest
from fakes.history.inline_spark import InlineSpark

from checkers.damage import random_history, write
from checkers.errors import MalformedHistory
from checkers.history.load import load
from checkers.history.tables import unit_path, write_table
from checkers.places import StoredPath
from checkers.properties import Property
from checkers.reference import check
from spark_verify.passes.parts.cut import Cutting
from spark_verify.selftest import fuzz
from spark_verify.synthetic import TOPIC, Shape, write_history
from spark_verify.verify import verify, verify_all


def test_a_history_in_memory_and_its_files_are_judged_alike(tmp_path):
    """The fuzz compares with the history that was written; this one with what the reference reads back."""
    history = random_history(Random(3))
    write(history, tmp_path)
    assert verify(tmp_path, InlineSpark()).key() == check(load(tmp_path)).key()


def test_a_partition_without_proof_is_counted_and_otherwise_left_alone(tmp_path):
    write_history(tmp_path, Shape(sends=4_000, partitions=2))
    path = unit_path(tmp_path, "proofs")
    proofs = pq.read_table(path)
    write_table(path, "proofs", proofs.slice(0, 1))
    judgement = verify(tmp_path, InlineSpark())
    assert judgement.key() == check(load(tmp_path)).key()
    assert [(u.topic, u.partition, u.reason) for u in judgement.undecided_partitions] == [
        (TOPIC, 1, "no final read")
    ]
    assert judgement.totals.sends == 4_000
    assert 1_900 < judgement.undecided[Property.ACKED_LOSS] <= 2_000


def stored(tmp_path, history) -> StoredPath:
    """The history, as a store has it: by pyarrow's file system of this machine."""
    write(history, tmp_path, group_rows=3)
    return StoredPath(root="file://", path=str(tmp_path).removeprefix("/"))


def test_a_damaged_history_in_a_store_is_judged_as_the_reference_judges_it(tmp_path):
    history = fuzz.specimen(5, 1).history
    place, wanted = stored(tmp_path, history), check(history)
    assert wanted.anomalies
    for cutting in (None, Cutting(at=(4, 9))):
        (found,) = verify_all([place], InlineSpark(), cutting=cutting)
        assert fuzz.agree(found, wanted)
    assert check(load(place)).key() == wanted.key()


def test_what_a_store_has_no_more_is_named(tmp_path):
    history = fuzz.specimen(5, 1).history
    place = stored(tmp_path, history)
    (tp, *_) = history.partitions
    (tmp_path / "reads" / f"{tp}.parquet").unlink()
    with pytest.raises(MalformedHistory, match=f"/reads/{tp}.parquet: missing"):
        verify_all([place], InlineSpark())
    with pytest.raises(MalformedHistory, match=r"/nowhere/proofs.parquet: missing"):
        verify_all([place / "nowhere"], InlineSpark())

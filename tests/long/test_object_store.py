"""A history in an S3-compatible store is judged as its copy in a directory, in one piece and in parts.

On a cluster of machines of their own: `make object-store`. By the file system of this machine in place of one
far away: tests/spark/test_agreement.py.
"""

import socket

import pytest
from fakes.history.inline_spark import InlineSpark

from checkers.damage import write
from checkers.errors import MalformedHistory
from checkers.history.load import load
from checkers.places import place_of
from checkers.reference import check
from spark_verify.passes.parts.cut import Cutting
from spark_verify.selftest import fuzz
from spark_verify.selftest.object_store.store import store
from spark_verify.verify import verify_all


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with store("127.0.0.1", port, tmp_path_factory.mktemp("store") / "log") as found:
        yield found


@pytest.mark.parametrize("number", range(1, 3))
def test_a_damaged_history_in_a_store_is_judged_as_the_reference_judges_it(kept, tmp_path, number):
    history = fuzz.specimen(5, number).history
    write(history, tmp_path, group_rows=3)
    stored = kept.keep(tmp_path, f"run-{number}/history")
    for cutting in (None, Cutting(at=(4, 9))):
        (found,) = verify_all([str(stored)], InlineSpark(), cutting=cutting)
        assert fuzz.agree(found, check(history))
    assert check(load(stored)).key() == found.key()


def test_an_object_that_is_gone_is_named(kept, tmp_path):
    history = fuzz.specimen(5, 1).history
    write(history, tmp_path)
    (tp, *_) = history.partitions
    (tmp_path / "reads" / f"{tp}.parquet").unlink()
    stored = kept.keep(tmp_path, "gone")
    with pytest.raises(MalformedHistory, match=f"s3://runs/gone/reads/{tp}.parquet: missing"):
        verify_all([stored], InlineSpark())
    with pytest.raises(MalformedHistory, match=r"s3://runs/nowhere/proofs.parquet: missing"):
        verify_all([place_of("s3://runs/nowhere")], InlineSpark())

"""A history's place is what a user wrote, for files of this machine and for those of a store."""

import pickle
from pathlib import Path

import pytest

from checkers.errors import MalformedHistory
from checkers.places import StoredPath, as_text, place_of


def test_a_path_stays_a_path():
    assert place_of("runs/7/history") == Path("runs/7/history")
    assert place_of("file:///runs/7") == Path("/runs/7")
    assert as_text(Path("/runs/7")) == "/runs/7"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/runs/7/history",
        "s3://bucket/runs/7?endpoint_override=store:9000&scheme=http",
        "gs://bucket/a",
    ],
)
def test_a_uri_comes_back_as_it_was_written(uri):
    assert as_text(place_of(uri)) == uri
    assert place_of(place_of(uri)) == place_of(uri)


def test_what_lies_below_comes_before_the_options():
    below = place_of("s3://bucket/runs/7/?region=here") / "sends" / "orders-0.parquet"
    assert as_text(below) == "s3://bucket/runs/7/sends/orders-0.parquet?region=here"
    assert (below.name, below.stem, below.parent.name) == ("orders-0.parquet", "orders-0", "sends")


def test_messages_show_neither_password_nor_options():
    place = StoredPath.of("s3://user:secret@bucket/runs?session_token=secret")
    assert str(MalformedHistory(place, "missing")) == "s3://bucket/runs: missing"
    again = pickle.loads(pickle.dumps(MalformedHistory(place, "missing")))
    assert (again.file, again.what) == (place, "missing")


def test_a_place_in_a_store_answers_as_a_path_does(tmp_path):
    """By pyarrow's file system of this machine, which is asked in the same way as one far away."""
    (tmp_path / "sends").mkdir()
    (tmp_path / "sends" / "a-0.parquet").write_bytes(b"1234")
    (tmp_path / "sends" / "note.txt").write_bytes(b"")
    stored = StoredPath(root="file://", path=str(tmp_path)[1:])
    assert [each.name for each in (stored / "sends").glob("*.parquet")] == ["a-0.parquet"]
    assert list((stored / "reads").glob("*.parquet")) == []
    for below in ("sends", "sends/a-0.parquet", "reads"):
        place, path = stored / below, tmp_path / below
        assert (place.is_file(), place.is_dir(), place.exists()) == (
            path.is_file(),
            path.is_dir(),
            path.exists(),
        )
    with (stored / "sends/a-0.parquet").open() as file:
        assert file.read() == b"1234"

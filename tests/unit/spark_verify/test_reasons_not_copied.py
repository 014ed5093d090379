"""Why a broker's disk was not copied reaches each of its replicas."""

import json
from pathlib import Path

import pytest

from checkers.history.rows import TopicPartition
from spark_verify.passes.replicas.list_replicas import list_replicas
from spark_verify.segments.data_directory import NOT_READ

ORDERS = TopicPartition("orders", 0)


def reasons(replicas: Path) -> list[str]:
    (listed,) = list_replicas(replicas, [ORDERS], [(ORDERS, 2)])
    return listed.reasons


def test_the_reason_that_was_noted_is_the_reason_of_each_replica(tmp_path: Path) -> None:
    (tmp_path / NOT_READ).write_text(json.dumps({"2": "its disk cannot be read: Input/output error"}))
    assert reasons(tmp_path) == [
        "the disk of broker 2 was not copied: its disk cannot be read: Input/output error"
    ]


@pytest.mark.parametrize("noted", [None, "{", "[]", '{"3": "another broker\'s"}', '{"x": "y"}'])
def test_without_a_reason_it_is_not_read_all_the_same(tmp_path: Path, noted: str | None) -> None:
    if noted is not None:
        (tmp_path / NOT_READ).write_text(noted)
    assert reasons(tmp_path) == ["the disk of broker 2 was not copied: No such file or directory"]

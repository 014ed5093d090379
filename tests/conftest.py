"""Marks each test by the room it lives in, so that `-m "not cluster"` selects what needs no Docker.

The files of tests/spark come first: they are the longest, and none of several processes is then left alone
with one of them at the end.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
YOUNGEST = 20_000
"""So many new objects the collector looks through at once; with its 700, it takes 3 % of the processor."""
MARKS = {"cluster": "cluster", "long": "cluster", "spark": "spark"}


def pytest_configure() -> None:
    """Look for garbage less often, and print lines as they are: pytest's processes are told of 80 columns."""
    gc.set_threshold(YOUNGEST)
    os.environ.pop("COLUMNS", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test below tests/cluster, tests/long and tests/spark with what it needs."""
    for item in items:
        if mark := MARKS.get(_room(item)):
            item.add_marker(mark)
    items.sort(key=lambda item: _room(item) != "spark")


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end; nothing need look for garbage in it again."""
    _set_aside()


@pytest.fixture(autouse=True, scope="module")
def _set_aside_what_a_module_leaves() -> Iterator[None]:
    """What a file's tests have imported and keep stays as well, and so does what a test of the memory has had
    the collector look at again: with half a million objects in sight, it takes 0.2 s at a time."""
    yield
    _set_aside()


def _set_aside() -> None:
    gc.collect()
    gc.freeze()


def _room(item: pytest.Item) -> str:
    return item.path.relative_to(HERE).parts[0]

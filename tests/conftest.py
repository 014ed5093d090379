"""Marks each test by the room it lives in, so that `-m "not cluster"` selects what needs no Docker.

The files of tests/spark come first: they are the longest, and none of several processes is then left alone
with one of them at the end.
"""

import gc
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MARKS = {"cluster": "cluster", "long": "cluster", "spark": "spark"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test below tests/cluster, tests/long and tests/spark with what it needs."""
    for item in items:
        if mark := MARKS.get(_room(item)):
            item.add_marker(mark)
    items.sort(key=lambda item: _room(item) != "spark")


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end; nothing need look for garbage in it again."""
    gc.collect()
    gc.freeze()


def _room(item: pytest.Item) -> str:
    return item.path.relative_to(HERE).parts[0]

"""Marks each test by the room it lives in, so that `-m "not cluster"` selects what needs no Docker."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test below tests/cluster and tests/spark with the name of its folder."""
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if folder in ("cluster", "spark"):
            item.add_marker(folder)

"""An image in which no clock can be set is named with what a process in it shows."""

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from compose.errors import MachineError
from compose.nodes.clocks import clock_trial

IMAGE = "highwater/kafka:4.3.1-0123456789ab"


def answering(monkeypatch: pytest.MonkeyPatch, files: Mapping[str, bytes]) -> list[str]:
    """An engine whose container leaves these files; the names of what is removed."""
    removed: list[str] = []
    engine = clock_trial.containers
    monkeypatch.setattr(engine, "start", lambda spec: SimpleNamespace(id="abc", name=spec.name))
    monkeypatch.setattr(engine, "inspect", lambda number: {"State": {"Status": "exited"}})
    monkeypatch.setattr(engine, "get_files", lambda number, path: files)
    monkeypatch.setattr(engine, "remove", lambda number, *, name: removed.append(name))
    return removed


def test_a_process_that_is_eight_days_ahead_shows_that_clocks_can_be_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    removed = answering(monkeypatch, {"true": b"1795348800\n", "shown": b"1796040001\n"})
    assert clock_trial.try_a_clock(IMAGE) == 691_201
    assert len(removed) == 1


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"true": b"1795348800\n", "shown": b"1795348800\n"}, "shows a time 0 s ahead"),
        ({"true": b"1795348800\n", "shown": b""}, "does not say what time it is"),
        ({}, "does not say what time it is"),
    ],
)
def test_an_image_without_the_library_is_refused_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch, files: Mapping[str, bytes], found: str
) -> None:
    removed = answering(monkeypatch, files)
    with pytest.raises(MachineError, match=found) as refused:
        clock_trial.try_a_clock(IMAGE)
    assert str(refused.value).startswith(f"{IMAGE}: a process whose clock was set 691200 s ahead ")
    assert "`highwater setup` builds images with libfaketime" in str(refused.value)
    assert len(removed) == 1

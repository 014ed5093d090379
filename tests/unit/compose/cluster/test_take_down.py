"""A tear-down while the engine is restarted: it is waited for, and all is removed then."""

from collections.abc import Iterator

import pytest

from compose.cleanup.cleanup import CleanReport
from compose.cluster import start
from compose.docker import api
from compose.errors import CleanupError, EngineUnreachable

AWAY = CleanReport(failed=("removing network hw-a-net-1: no Docker Engine answers",))


def engine(
    monkeypatch: pytest.MonkeyPatch, answers: Iterator[bool], reports: list[CleanReport]
) -> list[CleanReport]:
    """The engine answers so, one time after the other, and each try ends so; returns those that are left."""
    monkeypatch.setattr(api, "answers", lambda: next(answers))
    monkeypatch.setattr(start.cleanup, "clean_run", lambda run_id, helper=None: reports.pop(0))
    monkeypatch.setattr(start, "ENGINE_AGAIN_S", 0.0)
    return reports


def test_an_engine_that_comes_back_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    left = engine(monkeypatch, iter([False, False, True]), [AWAY, CleanReport()])
    start._take_down("a", None)
    assert left == []


def test_an_engine_that_is_away_from_the_begin_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then not even what there is to remove is known."""
    left = engine(monkeypatch, iter([False, True]), [CleanReport()])
    tries = iter([EngineUnreachable("no Docker Engine answers")])

    def clean(run_id: str, helper: object = None) -> CleanReport:
        for away in tries:
            raise away
        return left.pop(0)

    monkeypatch.setattr(start.cleanup, "clean_run", clean)
    start._take_down("a", None)
    assert left == []


def test_what_stays_though_the_engine_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = CleanReport(failed=("removing volume hw-a-data-1: it is in use",))
    engine(monkeypatch, iter([True]), [busy, busy])
    with pytest.raises(CleanupError, match="removing volume hw-a-data-1: it is in use"):
        start._take_down("a", None)


def test_an_engine_that_stays_away_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "ENGINE_BACK_S", 0.05)
    engine(monkeypatch, iter(lambda: False, True), [AWAY])
    with pytest.raises(CleanupError, match="no Docker Engine answers"):
        start._take_down("a", None)


def test_what_is_removed_at_once_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    left = engine(monkeypatch, iter(()), [CleanReport()])
    start._take_down("a", None)
    assert left == []

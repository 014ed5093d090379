"""The engine's clock is read from the kernel where that is the nodes' kernel too, and asked for elsewhere."""

import time
from typing import Any

import pytest

from compose.docker import containers
from compose.docker.events import engine_now_ns
from compose.errors import EngineUnreachable, Vanished
from compose.nodes import cpu_time
from compose.nodes.clocks.engine_clock import EngineClock, engine_clock

S = 1_000_000_000


def test_a_reading_is_of_the_middle_of_the_question() -> None:
    def ask() -> int:
        time.sleep(0.05)
        return 7 * S

    before_ns = time.monotonic_ns()
    reading = EngineClock(ask).read()
    assert reading.engine_ns == 7 * S
    assert 25_000_000 <= reading.error_ns < 1 * S
    assert before_ns + 25_000_000 <= reading.at_ns <= time.monotonic_ns()
    assert abs((reading.wall_ns - reading.at_ns) - (time.time_ns() - time.monotonic_ns())) < 20_000_000


def test_an_engine_that_does_not_answer_leaves_the_harnesss_clocks() -> None:
    def ask() -> int:
        raise EngineUnreachable("gone")

    reading = EngineClock(ask).read()
    assert (reading.engine_ns, reading.error_ns) == (-1, 0)
    assert abs(reading.wall_ns - time.time_ns()) < 1 * S


@pytest.mark.parametrize(
    ("pid", "used_ns", "ask"),
    [(42, 5, time.time_ns), (42, None, engine_now_ns), (0, None, engine_now_ns), (None, None, engine_now_ns)],
)
def test_only_a_process_of_this_machine_shows_that_the_clock_is_ours(
    monkeypatch: pytest.MonkeyPatch, pid: int | None, used_ns: int | None, ask: Any
) -> None:
    def inspect(container_id: str) -> dict[str, Any]:
        if pid is None:
            raise Vanished("gone")
        return {"State": {"Pid": pid}}

    monkeypatch.setattr(containers, "inspect", inspect)
    monkeypatch.setattr(cpu_time, "of_container", lambda container_id, pid: used_ns)
    assert engine_clock("c").ask is ask

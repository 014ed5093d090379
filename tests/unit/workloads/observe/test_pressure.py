"""How starved the machine is, as its kernel counts it."""

from pathlib import Path

import pytest

from checkers.history.rows import Pressure
from workloads.observe.pressure import Counters, read, since

PSI = """\
some avg10=38.91 avg60=24.85 avg300=28.18 total=6204628677
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
"""
STAT = """\
cpu  1000 200 400 7000 150 40 60 80 500 0
cpu0 500 100 200 3500 75 20 30 40 250 0
cpu1 500 100 200 3500 75 20 30 40 250 0
intr 1 2 3
"""


def proc(tmp_path: Path, *, psi: str | None = PSI, stat: str | None = STAT) -> Path:
    """A /proc with these files; None: without."""
    (tmp_path / "pressure").mkdir()
    for name, text in (("pressure/cpu", psi), ("stat", stat)):
        if text is not None:
            (tmp_path / name).write_text(text)
    return tmp_path


def test_stall_is_what_some_task_waited_and_the_rest_the_mean_of_two_processors(tmp_path: Path) -> None:
    """Busy is user, nice, system, irq and softirq: 1,700 ticks of 10 ms on two processors."""
    assert read(proc(tmp_path), ticks_per_s=100) == Counters(
        stall_ns=6_204_628_677_000, steal_ns=400_000_000, busy_ns=8_500_000_000
    )


@pytest.mark.parametrize(
    ("psi", "stat", "expected"),
    [
        (None, STAT, Counters(stall_ns=-1, steal_ns=400_000_000, busy_ns=8_500_000_000)),
        (PSI, None, Counters(stall_ns=6_204_628_677_000, steal_ns=-1, busy_ns=-1)),
        ("some of another form", "cpu 1 2 3", Counters()),
        (None, None, Counters()),
    ],
)
def test_what_the_kernel_does_not_count_is_minus_one_and_not_zero(
    tmp_path: Path, psi: str | None, stat: str | None, expected: Counters
) -> None:
    assert read(proc(tmp_path, psi=psi, stat=stat), ticks_per_s=100) == expected


def test_a_row_has_what_passed_between_two_readings() -> None:
    before = Counters(stall_ns=100, steal_ns=10, busy_ns=50)
    now = Counters(stall_ns=175, steal_ns=12, busy_ns=49)
    assert since(before, now, at_ns=1000, span_ns=200, late_ns=7) == Pressure(
        at_ns=1000, span_ns=200, stall_ns=75, steal_ns=2, busy_ns=0, late_ns=7
    )


def test_a_counter_that_was_not_read_at_both_ends_is_unknown() -> None:
    row = since(Counters(stall_ns=5), Counters(busy_ns=5), at_ns=1, span_ns=1, late_ns=0)
    assert (row.stall_ns, row.steal_ns, row.busy_ns) == (-1, -1, -1)


def test_this_machine_counts_its_busy_time() -> None:
    assert read().busy_ns > 0

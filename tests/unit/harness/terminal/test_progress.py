import io
import time

from rich.console import Console

from harness.terminal.panel import LivePanel
from harness.terminal.progress import LoadFigures, ProgressLines, figures_now, figures_text

LOAD = LoadFigures(
    acked=18_204,
    failed=12,
    indeterminate=3,
    acks_per_s=1_998.6,
    isr={"orders-0": 3, "orders-1": 2, "orders-2": 1},
    replication={"orders-0": 3, "orders-1": 3, "orders-2": 3},
    faults=("cut 2->1", "kill 1"),
)


def test_the_figures_of_the_load_in_one_line() -> None:
    assert figures_text(LOAD) == (
        "18,204 acked (1,999/s), 12 failed, 3 indeterminate; "
        "ISR short on 2 of 3 partitions (orders-2: 1); active: cut 2->1, kill 1"
    )


def test_what_is_zero_or_unknown_is_left_out() -> None:
    assert figures_text(LoadFigures(acked=5, acks_per_s=1.0)) == "5 acked (1/s)"


def test_without_a_terminal_each_step_and_each_event_is_a_line() -> None:
    out = io.StringIO()
    with ProgressLines(out) as lines:
        lines.phase("starting the cluster")
        lines.event("cut 2->1")
    assert [line[8:] for line in out.getvalue().splitlines()] == ["starting the cluster", "  cut 2->1"]


def test_the_heartbeat_shows_the_acks_so_far_while_there_is_load() -> None:
    out = io.StringIO()
    with ProgressLines(out, heartbeat_s=0.02) as lines:
        lines.follow_load(lambda: LOAD)
        deadline = time.monotonic() + 5
        while "18,204 acked" not in out.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        lines.follow_load(None)
    assert "18,204 acked" in out.getvalue()


def test_figures_that_cannot_be_read_do_not_break_the_view() -> None:
    def broken() -> LoadFigures:
        raise RuntimeError("the load has ended")

    assert figures_now(broken) is None


def test_the_live_panel_fits_sixty_columns_without_colour() -> None:
    out = io.StringIO()
    panel = LivePanel("acks1-leader-kill, seed 7", Console(file=io.StringIO()))
    panel.event("cut 2->1: " + "the edge fell silent " * 5)
    panel.follow_load(lambda: LOAD)
    Console(file=out, width=60, no_color=True).print(panel.draw())
    lines = out.getvalue().splitlines()
    assert any("18,204  (1,999/s)" in line for line in lines)
    assert any("cut 2->1, kill 1" in line for line in lines)
    assert max(len(line) for line in lines) <= 60
    assert "\x1b" not in out.getvalue()

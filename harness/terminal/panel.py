"""The live panel for a terminal: phase, clock, load, in-sync replicas, active faults, last events."""

import time
from collections import deque
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from harness.terminal.progress import LoadFigures, ReadFigures, figures_now, isr_text

EVENTS_SHOWN = 8
REFRESH_PER_S = 4
READ_EVERY_S = 0.5


class LivePanel:
    """Draws itself a few times a second in its own thread; finished steps scroll by above it."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        """`title` heads the panel: scenario and seed."""
        self._title = title
        self._console = console or Console()
        self._begin = time.monotonic()
        self._phase = ""
        self._events: deque[str] = deque(maxlen=EVENTS_SHOWN)
        self._read_figures: ReadFigures | None = None
        self._figures: LoadFigures | None = None
        self._read_at = 0.0
        self._live = Live(
            console=self._console,
            get_renderable=self.draw,
            refresh_per_second=REFRESH_PER_S,
            transient=True,
        )

    def __enter__(self) -> "LivePanel":
        """Take the lower part of the terminal."""
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back; the panel vanishes, what scrolled by stays."""
        self._live.__exit__(kind, error, trace)

    def phase(self, text: str) -> None:
        """Let the step scroll by, and show it as the present one."""
        self._phase = text
        self._console.print(self._stamped(text), style="bold", highlight=False)

    def event(self, text: str) -> None:
        """Show the event among the last ones."""
        self._events.append(self._stamped(text))

    def follow_load(self, figures: ReadFigures | None) -> None:
        """Show what `figures` returns."""
        self._read_figures = figures
        self._figures = None
        self._read_at = 0.0

    def _stamped(self, text: str) -> str:
        return f"{time.monotonic() - self._begin:6.1f}s {text}"

    def draw(self) -> RenderableType:
        """The panel as it is now; reads the figures at most twice a second."""
        now = time.monotonic()
        if now - self._read_at >= READ_EVERY_S:
            self._read_at = now
            self._figures = figures_now(self._read_figures)
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        for label, text in self._rows():
            grid.add_row(label, text)
        events = [Text(line, overflow="fold") for line in tuple(self._events)]
        return Group(Text(""), Text(self._title, style="bold cyan"), grid, *events)

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("phase", self._stamped(self._phase).strip())]
        load = self._figures
        if load is not None:
            rows += [
                ("acked", f"{load.acked:,}  ({load.acks_per_s:,.0f}/s)"),
                ("not acked", f"{load.failed:,} failed, {load.indeterminate:,} indeterminate"),
                ("ISR", isr_text(load) if load.isr else "unknown"),
                ("active faults", ", ".join(load.faults) or "none"),
            ]
        return rows

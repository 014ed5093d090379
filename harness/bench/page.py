"""docs/benchmarks.md: the bench's lines as a table, with the date, the machine and the versions."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compose.spec.images import TOXIPROXY_VERSION
from compose.spec.topology import DEFAULT_RELEASE

HEAD = """\
# Benchmarks

`make bench` measures these and writes this page. A ratio is value / peer; for sends it is the median of the
ratios of all rounds, beside the medians of the rates. A target bounds the ratio, or the value where there is
no peer: throughputs from below, times from above.
"""


def page(lines: Sequence[Mapping[str, Any]]) -> str:
    """The whole page."""
    rows = [
        "| what | value | peer | ratio | target | met |",
        "|---|---|---|---|---|---|",
        *(_row(line) for line in lines),
    ]
    return "\n".join([HEAD, measured_on(), "", *rows]) + "\n"


def measured_on() -> str:
    """One paragraph: when, on what, with what."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "confluent-kafka", "duckdb"))
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({_cpu()}), {_memory_gib():.0f} GiB, "
        f"Linux {platform.release()}; Kafka {DEFAULT_RELEASE}, Toxiproxy {TOXIPROXY_VERSION}, "
        f"Python {platform.python_version()}, {packages}."
    )


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)


def _row(line: Mapping[str, Any]) -> str:
    peer = (
        "" if line["peer_value"] is None else f"{_number(line['peer_value'])} {line['unit']}: {line['peer']}"
    )
    met = {True: "yes", False: "**no**", None: ""}[line["met"]]
    cells = (
        line["name"],
        f"{_number(line['value'])} {line['unit']}",
        peer,
        _number(line["ratio"]),
        _number(line["target"]),
        met,
    )
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

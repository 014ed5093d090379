"""Durations as a scenario writes them, with their unit: "500ms", "2.5s", "10m", "1h"."""

import re

from faults.errors import BadStep

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?) ?(?P<unit>ms|s|m|h)")

LONGEST_S = 1e9
"""Thirty years: longer than anything lasts, and few enough nanoseconds for 64 bits."""


def parse_duration(value: object, field: str) -> float:
    """Seconds of a duration, to the millisecond; BadStep names `field` for what is none, or too long."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise BadStep(field, value, "a duration with its unit, not negative: 500ms, 2.5s, 10m, 1h")
    seconds = round(float(match["number"]) * _UNITS[match["unit"]], 3)
    if seconds > LONGEST_S:
        raise BadStep(field, value, f"at most {write_duration(LONGEST_S)}")
    return seconds


def write_duration(seconds: float) -> str:
    """The text of a duration, to the millisecond."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"

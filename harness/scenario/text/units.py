"""Durations, rates and sizes as people write them, with their unit: "250ms", "2000/s", "1GiB"."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from faults.durations import parse_duration, write_duration
from faults.errors import BadStep

BYTES: Mapping[str, int] = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
RATE_UNITS: Mapping[str, float] = {"s": 1.0, "m": 60.0}
LEAST_RATE, MOST_RATE = 0.001, 1e9
"""A record in a quarter of an hour, and more than any machine sends."""
AS_FAST_AS_IT_GOES = "max"
NEVER = "never"


def duration_s(value: object) -> float:
    """Seconds of "250ms", "5s", "1.5m", "1h"; ValueError for a bare number, a negative or unknown unit."""
    try:
        return parse_duration(value, "")
    except BadStep as refusal:
        raise ValueError(f"not a duration: {value!r}; allowed: {refusal.allowed}") from None


def interval_s(value: object) -> float | None:
    """Seconds between one time and the next; None for "never"."""
    if value == NEVER:
        return None
    try:
        return parse_duration(value, "")
    except BadStep as refusal:
        raise ValueError(f"not an interval: {value!r}; allowed: {refusal.allowed}, or {NEVER}") from None


def interval_text(length_s: float | None) -> str:
    """The spelling that `interval_s` reads back."""
    return NEVER if length_s is None else write_duration(length_s)


def rate_per_s(value: object) -> float | None:
    """Events a second of "2000/s" or "120000/m"; None for "max": as fast as it goes."""
    if value == AS_FAST_AS_IT_GOES:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*(s|m)", value) if isinstance(value, str) else None
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"not a rate: {value!r}; write records per second, as in 2000/s, or max")
    per_s = float(match[1]) / RATE_UNITS[match[2]]
    if not LEAST_RATE <= per_s <= MOST_RATE:
        raise ValueError(f"{value!r} is refused; allowed: {LEAST_RATE:g}/s to {MOST_RATE:.0f}/s, or max")
    return per_s


def rate_text(per_s: float | None) -> str:
    """The spelling that `rate_per_s` reads back as the same number."""
    return AS_FAST_AS_IT_GOES if per_s is None else f"{per_s:.10g}/s"


def size_bytes(value: object) -> int:
    """Bytes of "512MiB" or "1GiB"; ValueError without a unit."""
    match = re.fullmatch(r"([0-9]{1,15})\s*([A-Za-z]+)", value) if isinstance(value, str) else None
    if match is None or match[2] not in BYTES or int(match[1]) == 0:
        raise ValueError(f"not a size: {value!r}; write a number and a unit, as in 200B, 512MiB, 1GiB")
    return int(match[1]) * BYTES[match[2]]


def size_text(size: int) -> str:
    """The largest unit that divides `size`: 1073741824 → "1GiB"."""
    unit = max((u for u in BYTES if size % BYTES[u] == 0), key=lambda u: BYTES[u])
    return f"{size // BYTES[unit]}{unit}"


Duration = Annotated[float, BeforeValidator(duration_s), PlainSerializer(write_duration)]
Interval = Annotated[float | None, BeforeValidator(interval_s), PlainSerializer(interval_text)]
Rate = Annotated[float | None, BeforeValidator(rate_per_s), PlainSerializer(rate_text)]
Size = Annotated[int, BeforeValidator(size_bytes), PlainSerializer(size_text)]

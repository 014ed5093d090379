"""Sizes and rates of bytes as a scenario writes them, with their unit: "100B", "64KB", "50KB/s", "400MiB".

A KB has 1000 bytes here, as rates of networks have, and those of Toxiproxy. Memory is counted in MiB.
"""

import re

from faults.errors import BadStep
from faults.numbers import NUMBER

_UNITS = {"B": 1, "KB": 1000}
_SIZE = re.compile(rf"(?P<number>{NUMBER}) ?(?P<unit>B|KB)")
_MEMORY_UNITS = {"MiB": 1, "GiB": 1024}
_MEMORY = re.compile(rf"(?P<number>{NUMBER}) ?(?P<unit>MiB|GiB)")


def parse_size(value: object, field: str) -> int:
    """Bytes of a size; BadStep names `field`."""
    size = _parse(value)
    if size is None:
        raise BadStep(field, value, "a size with its unit: 100B, 2KB")
    return size


def parse_rate(value: object, field: str) -> int:
    """Bytes a second; BadStep names `field`."""
    size = _parse(value.removesuffix("/s")) if isinstance(value, str) and value.endswith("/s") else None
    if size is None:
        raise BadStep(field, value, "a rate with its unit: 20KB/s, 500KB/s")
    return size


def parse_mib(value: object, field: str) -> int:
    """MiB of memory; BadStep names `field`."""
    match = _MEMORY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise BadStep(field, value, "memory with its unit: 400MiB, 1GiB")
    return int(match["number"]) * _MEMORY_UNITS[match["unit"]]


def write_size(size: int) -> str:
    """The text of a size."""
    return f"{size // 1000}KB" if size and size % 1000 == 0 else f"{size}B"


def write_rate(bytes_per_s: int) -> str:
    """The text of a rate."""
    return f"{write_size(bytes_per_s)}/s"


def write_mib(mib: int) -> str:
    """The text of so much memory."""
    return f"{mib}MiB"


def _parse(value: object) -> int | None:
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None else int(match["number"]) * _UNITS[match["unit"]]

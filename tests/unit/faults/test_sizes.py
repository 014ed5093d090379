"""Sizes, rates and memory: what may be written, and what it means."""

import pytest

from faults.errors import BadStep
from faults.sizes import parse_mib, parse_rate, parse_size, write_mib, write_rate, write_size


@pytest.mark.parametrize(("text", "size"), [("100B", 100), ("2KB", 2000), ("2 KB", 2000), ("0B", 0)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "size") == size
    assert parse_size(write_size(size), "size") == size


@pytest.mark.parametrize(("rate", "text"), [(50_000, "50KB/s"), (50_001, "50001B/s"), (800, "800B/s")])
def test_rates(rate: int, text: str) -> None:
    assert write_rate(rate) == text
    assert parse_rate(text, "rate") == rate


@pytest.mark.parametrize("value", ["50KB", "50", 50, "-1KB/s", "1.5KB/s", "1KiB/s", "1kB/s", "/s", None])
def test_what_is_no_rate(value: object) -> None:
    """A unit is part of it, and thousands are those of a network."""
    with pytest.raises(BadStep, match=r"rate: .* allowed: a rate with its unit"):
        parse_rate(value, "rate")


@pytest.mark.parametrize("value", ["50KB/s", "100", 100, "1KiB", "", None])
def test_what_is_no_size(value: object) -> None:
    with pytest.raises(BadStep, match=r"size: .* allowed: a size with its unit"):
        parse_size(value, "size")


@pytest.mark.parametrize(("text", "mib"), [("400MiB", 400), ("400 MiB", 400), ("2GiB", 2048), ("0MiB", 0)])
def test_memory(text: str, mib: int) -> None:
    assert parse_mib(text, "memory") == mib
    assert parse_mib(write_mib(mib), "memory") == mib


@pytest.mark.parametrize("value", ["400MB", "400", 400, "1.5GiB", "64KB", "-1MiB", None])
def test_what_is_no_memory(value: object) -> None:
    """Memory comes in powers of two."""
    with pytest.raises(BadStep, match=r"memory: .* allowed: memory with its unit"):
        parse_mib(value, "memory")

"""The clocks of a history: virtual seconds as nanoseconds of the harness, and as milliseconds of the wall."""

ORIGIN_NS = 1_000_000_000_000
ORIGIN_MS = 1_795_317_100_000
"""What both clocks show at virtual time 0."""


def nanoseconds(at_s: float) -> int:
    """A virtual time on the history's clock."""
    return ORIGIN_NS + int(at_s * 1e9)


def wall_ms(at_s: float) -> int:
    """A virtual time on the wall clock of every node."""
    return ORIGIN_MS + int(at_s * 1000 // 1)

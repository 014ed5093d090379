"""When every broker had learnt of a setting that a fault changed.

A leader goes by an older value until it has learnt of the newer one. The fault asks each broker that has a
process, one by one, until all of them say the new value (`effect_ns`), and at its end the old one again
(`recovered_ns`). A broker learns of what the controllers decide in the order of the metadata log: with a
setting it knows all states of before.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from checkers.history.rows import ConfigChange, Fault
from checkers.history.tables import NONE

CHANGES_SETTINGS = "config"
"""The kind of fault that changes settings; its target is written `topic orders: min.insync.replicas=1`, or
`brokers: …` for the default of all."""
KNOWN_WITHIN_NS = 3_000_000_000
"""From the begin of the probe that saw every broker know a value until each leader goes by it: the answers
take up to 2 s, and a broker shows a setting some milliseconds before it acts by it."""


class ReadsWallClock(Protocol):
    """What places a record of the metadata log on the history's clock."""

    @property
    def slack_ns(self) -> int:
        """How far it may be wrong."""

    def at(self, wall_ms: int) -> int:
        """When a record with this time was written."""


def known_by_all_ns(
    topic: str, row: ConfigChange, faults: Iterable[Fault], clock: ReadsWallClock
) -> int | None:
    """From when on each leader goes by a change of a topic's setting, or of its default; None: nothing shows
    it."""
    at_ns, slack_ns = clock.at(row.at_ms), clock.slack_ns
    known = [
        seen_ns + KNOWN_WITHIN_NS
        for fault in faults
        for began_ns, seen_ns in _seen(fault, topic, row.key, row.value)
        if NONE not in (began_ns, seen_ns) and began_ns - slack_ns <= at_ns <= seen_ns + slack_ns
    ]
    return min(known, default=None)


def _seen(fault: Fault, topic: str, key: str, value: str) -> Iterator[tuple[int, int]]:
    """From when on a fault changed a setting to a value, and when every broker said so: -1, not so far."""
    of, _, settings = fault.target.partition(": ")
    if fault.kind != CHANGES_SETTINGS or of not in (f"topic {topic}", "brokers"):
        return
    wanted = dict(pair.split("=", 1) for pair in settings.split(", ") if "=" in pair)
    if fault.proven and wanted.get(key) == value:
        yield fault.inject_ns, fault.effect_ns
    if fault.recovered and key in wanted:
        yield fault.end_ns, fault.recovered_ns

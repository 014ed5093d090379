"""Which Kafka release a node was of, by the lines of its own log, and what the controllers of it do not do.

Before Kafka 3.9 controllers do not read unclean.leader.election.enable: they elect a replica that is not in
sync only when a person asks for it (KAFKA-12670; their `ConfigurationControlManager` answers false for every
topic).

Invariant: a node counts for a release only if its own process has named it.
Evidence: the lines in which nodes name their release, each start anew; which controller wrote a record.
Counterexample to "the topic allows unclean elections":
    controller 101 names Kafka 3.8.0; a topic of it has unclean.leader.election.enable=true
    broker 3, that was not in sync, is elected, and nobody had asked for it: no controller of 3.8 does that
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from checkers.history.rows import BrokerLine, MetadataChange
from checkers.history.tables import NONE

LINE = "version"
NAMED = re.compile(r"Kafka version: (\d+\.\d+\.\d+)")
UNCLEAN_EXISTS = (3, 9)
"""From this release on, controllers read unclean.leader.election.enable."""

Release = tuple[int, int]


def release_in(line: BrokerLine) -> str:
    """The release that a node names in a line of its log, as "4.3.1"; "" for any other line."""
    named = NAMED.search(line.line) if line.kind == LINE else None
    return named[1] if named else ""


class UncleanBySetting:
    """Whether the controllers of a run go by unclean.leader.election.enable."""

    def __init__(self, lines: Iterable[BrokerLine]) -> None:
        """`lines` of all nodes, those of each in the order of its log."""
        self._named: dict[int, list[tuple[int, Release]]] = defaultdict(list)
        for line in lines:
            if release := release_in(line):
                major, minor, _ = map(int, release.split("."))
                self._named[line.node].append((line.at_ms, (major, minor)))

    def when(self, record: MetadataChange | None) -> bool:
        """Whether who wrote a record did so. Where it has named no release, or nobody knows who it was, every
        node's names count: it did not if all are older.
        """
        its = self._named.get(NONE if record is None else record.controller, [])
        if record is not None and its:
            before = [release for at_ms, release in its if at_ms <= record.at_ms]
            return (before[-1] if before else its[0][1]) >= UNCLEAN_EXISTS
        every = [release for of_node in self._named.values() for _, release in of_node]
        return not every or max(every) >= UNCLEAN_EXISTS

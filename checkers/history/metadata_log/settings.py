"""The value that a topic's setting had at an offset of the metadata log.

Kafka looks for a topic's setting at the topic, then at the broker, then at the default of all brokers, then
in server.properties. The last one is not in the metadata log: the history has it as a row of kind "reported",
the effective value that a broker reported when the topic had been made.

Invariant: an answer is what the brokers used at that offset; None where the history does not show it.
Evidence: the configs table.
Counterexample to "the value that was reported":
    reported min.insync.replicas=2, which the topic itself had; its setting is removed at offset 90
    after that the default counts, and no row has it: not known
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from checkers.history.rows import ConfigChange

MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
ELR_FEATURE = "eligible.leader.replicas.version"
"""The feature whose level above 0 turns eligible leader replicas on (KIP-966)."""


class Settings:
    """The settings of all topics, along the metadata log."""

    def __init__(self, configs: Iterable[ConfigChange]) -> None:
        """`configs` in any order."""
        self._changes = sorted(configs, key=attrgetter("log_offset"))

    def changes(self, topic: str, key: str) -> Sequence[ConfigChange]:
        """Every row that may change a topic's setting, in the order of the log."""
        return [row for row in self._changes if (row.key == key and row.name == topic) or row.kind in _SHARED]

    def at(self, topic: str, key: str, log_offset: int) -> str | None:
        """The setting of a topic after the record at `log_offset`; None: not known."""
        found = {
            (row.kind, row.name): row
            for row in self._changes
            if row.key == key and row.log_offset <= log_offset
        }
        own, default = found.get(("topic", topic)), found.get(("cluster", ""))
        if own and not own.removed:
            return own.value
        if any(kind == "broker" and not row.removed for (kind, _), row in found.items()):
            return None  # then it depends on who leads
        if default and not default.removed:
            return default.value
        reported = found.get(("reported", topic))
        return None if reported is None or own or default else reported.value

    def min_isr(self, topic: str, log_offset: int) -> int | None:
        """min.insync.replicas; None: not known."""
        value = self.at(topic, MIN_ISR, log_offset)
        return None if value is None else int(value)

    def elr(self, log_offset: int) -> bool | None:
        """Whether ELR was on; None: not known, as of a history that has no features."""
        features = [row for row in self._changes if row.kind == "feature"]
        of_elr = [row for row in features if row.name == ELR_FEATURE and row.log_offset <= log_offset]
        if not features:
            return None
        return bool(of_elr) and not of_elr[-1].removed and int(of_elr[-1].value) > 0

    def unclean(self, topic: str, log_offset: int) -> bool | None:
        """unclean.leader.election.enable; None: not known."""
        value = self.at(topic, UNCLEAN, log_offset)
        return None if value is None else value.lower() == "true"


_SHARED = frozenset({"broker", "cluster"})

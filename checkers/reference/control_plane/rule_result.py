"""What a rule of the control plane returns, and the order in which all of them take the metadata log.

Order is that of the log (`log_offset`; -1, from a snapshot, first), never of time: a controller's CreateTime
may repeat, or step back when another controller takes over. Records of one append share their CreateTime.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from checkers.anomalies import Anomaly
from checkers.history.rows import Context, MetadataChange, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """The anomalies of one property, and how many of its units were examined, and could not be. `doubtful`:
    of the latter those for which nothing accounts but that nobody looked."""

    anomalies: Sequence[Anomaly] = ()
    examined: int = 0
    undecided: int = 0
    doubtful: int = 0


NOT_COLLECTED = RuleResult()
"""The history lacks a table that the property needs: it is not decided."""


def collected(context: Context, *tables: str) -> bool:
    """Whether the history has these tables, and a timeline at all."""
    return context.collected.issuperset(tables) and bool(context.metadata)


def states_of(context: Context) -> dict[TopicPartition, list[MetadataChange]]:
    """The states of each partition, in the order of the log."""
    states: dict[TopicPartition, list[MetadataChange]] = defaultdict(list)
    for row in sorted(context.metadata, key=attrgetter("log_offset")):
        states[row.tp].append(row)
    return dict(sorted(states.items()))


def is_creation(row: MetadataChange) -> bool:
    """Whether a state is that of a partition just made: also of a topic that was deleted and made anew."""
    return row.leader_epoch == 0 and row.partition_epoch == 0


def of_state(wanted: Property, row: MetadataChange, broker: int, note: str) -> Anomaly:
    """An anomaly of a partition's state: about a broker and a leader epoch, at no offset of the log."""
    return Anomaly(
        property=wanted,
        topic=row.topic,
        partition=row.partition,
        offset=NONE,
        producer=broker,
        sequence=row.leader_epoch,
        note=f"{note} (metadata offset {row.log_offset})",
    )


def brokers_in_words(nodes: Iterable[int]) -> str:
    """ "[1, 2]"."""
    return f"[{', '.join(map(str, nodes))}]"

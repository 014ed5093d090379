"""Who leaves the ISR and the ELR of a partition, and comes in, and by what right (KIP-966).

With ELR on, whoever is in the ISR or the ELR may lead, and must have all that was below the high watermark.
So who leaves the ISR while fewer than min.insync.replicas are left stays eligible, until it is in sync again,
or its process registers anew after an unclean shutdown, or as many are in sync as min.insync.replicas wants,
or min.insync.replicas is changed (CLEAR_ELR_RECORD), or the replica is moved away, or an unclean election,
that of the last known leader too, makes its leader the only one.

Invariant: what is named no release of Kafka does. Nothing is said where ELR was not on before and after, by
the level of the feature in the log, or where min.insync.replicas is not known. As many as it wants are the
least value that the topic ever had, and at most the fewest replicas of any of its partitions, for Kafka takes
the number of one of them.
Evidence: consecutive states, registrations and settings in the metadata log; how processes ended.
Counterexample to "a registration takes a broker out of the ELR":
    ISR [1], ELR [2]: broker 2 was stopped in order, and registers again with the epoch of its clean shutdown
    the ELR is [] then: 1 loses its power and is elected as the last known leader, though 2 has it all
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from operator import attrgetter

from checkers.history.metadata_log.registered import registered_at
from checkers.history.metadata_log.settings import MIN_ISR, Settings
from checkers.history.operations.clean_ends import CleanEnds, WallTime
from checkers.history.rows import BrokerState, Context, MetadataChange, TopicPartition
from checkers.history.tables import NONE


class Eligible:
    """What is wrong with the steps of ISR and ELR."""

    def __init__(self, context: Context, clock: WallTime | None) -> None:
        """`clock` dates the registrations, to tell how a process had ended before them; None: nobody can."""
        self._context, self._settings = context, Settings(context.configs)
        self._ends = CleanEnds(context, clock)
        self._fewest: dict[str, int] = {}
        self._least: dict[str, int | None] = {}
        self._states: dict[TopicPartition, list[MetadataChange]] = defaultdict(list)
        for row in sorted(context.metadata, key=attrgetter("log_offset")):
            self._fewest[row.topic] = min(len(row.replicas), self._fewest.get(row.topic, len(row.replicas)))
            self._states[row.tp].append(row)
        self._registrations: dict[int, list[BrokerState]] = defaultdict(list)
        for state in sorted(context.brokers, key=attrgetter("log_offset")):
            self._registrations[state.node].append(state)

    def came_in(self, before: MetadataChange, row: MetadataChange) -> Mapping[int, str]:
        """Who is in the ELR without having been in it or the ISR, or in the ISR of a partition without a
        leader that could have let it in; by broker, in words."""
        new = set(row.elr) - set(before.elr) - set(before.isr)
        found = dict.fromkeys(new, "is in the ELR, and was neither in it nor in the ISR")
        if row.leader == NONE:
            late = set(row.isr) - set(before.isr)
            found |= dict.fromkeys(late, "came into the ISR while nobody led")
        return found

    def struck_out(self, before: MetadataChange, row: MetadataChange) -> Mapping[int, str]:
        """Who is in neither ISR nor ELR any more, and nothing takes it out; by broker, in words."""
        left = self._left(before, row)
        wanted = self._wanted(row)
        if not left or wanted is None or self._is_cleared(before, row):
            return {}
        if len(row.isr) >= wanted:
            return {}
        anew = registered_at(row.at_ms, self._context.brokers)
        return {node: self._why(node, anew.get(node)) for node in left if not self._may_go(node, anew, row)}

    def undecided(self, before: MetadataChange, row: MetadataChange) -> bool:
        """Whether somebody left, and min.insync.replicas is not known."""
        return bool(self._left(before, row)) and self._wanted(row) is None

    def struck_out_until(self, tp: TopicPartition, since: int, until: int) -> frozenset[int]:
        """Who was struck out by a record behind one offset of the metadata log and up to another, and has not
        been in the ISR or the ELR again before that."""
        gone: set[int] = set()
        for before, row in pairwise(self._states.get(tp, ())):
            if since < row.log_offset <= until:
                gone |= self.struck_out(before, row).keys()
                gone -= {*row.isr, *row.elr} if row.log_offset < until else set()
        return frozenset(gone)

    def _left(self, before: MetadataChange, row: MetadataChange) -> set[int]:
        """Who left both by a record that elects nobody from outside of both, while ELR was on."""
        if not (self._settings.elr(before.log_offset) and self._settings.elr(row.log_offset)):
            return set()
        were = {*before.isr, *before.elr}
        if row.leader_epoch != before.leader_epoch and row.leader not in (NONE, *were):
            return set()
        return were & set(row.replicas) - {*row.isr, *row.elr}

    def _wanted(self, row: MetadataChange) -> int | None:
        """How many in sync leave nobody eligible, at the least; None: not known."""
        if row.topic not in self._least:
            values = [*self._min_isrs(row.topic)]
            known = [value for value in values if value is not None]
            self._least[row.topic] = min(known) if len(known) == len(values) else None
        least = self._least[row.topic]
        return None if least is None else min(least, self._fewest[row.topic])

    def _min_isrs(self, topic: str) -> Iterator[int | None]:
        """All values of min.insync.replicas that a topic has had since it was made."""
        made = min(row.log_offset for tp, rows in self._states.items() for row in rows if tp.topic == topic)
        yield self._settings.min_isr(topic, made)
        for change in self._settings.changes(topic, MIN_ISR):
            if change.key == MIN_ISR and change.log_offset > made:
                yield self._settings.min_isr(topic, change.log_offset)

    def _is_cleared(self, before: MetadataChange, row: MetadataChange) -> bool:
        """Whether the ELR is empty since a record of its own, which follows one of min.insync.replicas."""
        same = (before.isr, before.leader_epoch, before.replicas) == (row.isr, row.leader_epoch, row.replicas)
        return (
            same
            and not (row.elr or row.last_known_elr)
            and any(
                change.key == MIN_ISR and before.log_offset < change.log_offset < row.log_offset
                for change in self._settings.changes(row.topic, MIN_ISR)
            )
        )

    def _may_go(self, node: int, anew: Mapping[int, BrokerState], row: MetadataChange) -> bool:
        """Whether its registration was removed in that append, or made anew after an unclean shutdown."""
        rows = self._registrations.get(node, ())
        if any(not each.registered and each.at_ms == row.at_ms for each in rows):
            return True
        return node in anew and not self._ends.surely(node, rows, anew[node])

    def _why(self, node: int, anew: BrokerState | None) -> str:
        out = "is neither in the ISR nor in the ELR"
        if anew is not None:
            return f"{out} since it registered anew, though it was stopped in order"
        return f"{out} any more, and nothing has taken it out"

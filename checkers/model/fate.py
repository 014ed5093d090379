"""The true fate of each record, from what the simulated cluster knows of itself.

A lost record was removed by the first election after which no leader that started had it. Whether that is
permitted follows from what Kafka promises: acks=0 nothing; acks=1 the append by one leader; acks=all, and all
that was below a high watermark, that it survives fewer unclean shutdowns of brokers that had it than
min.insync.replicas (KIP-966), unless unclean election is on. Without ELR it also dies with the last member of
the ISR, however many had it.
"""

from collections.abc import Mapping, Sequence

from checkers.history.rows import RecordId, TopicPartition
from checkers.history.tables import Outcome
from checkers.model.bugs import Bug
from checkers.model.case import TOPIC, ModelSettings
from checkers.model.clients.reader import Reader
from checkers.model.kafka.cluster import Cluster, Elected, Started
from checkers.model.kafka.log import Batch, Sent
from checkers.model.kafka.partition_change import PartitionState
from checkers.model.observe.clock import nanoseconds
from checkers.model.observe.final_read import Found
from checkers.model.truth import RecordTruth, Removal, Truth
from checkers.model.wrong import wrong_of

Fate = tuple[str, bool, str]
"""Cause, whether it is permitted, and the facts."""


def truth_of(
    cluster: Cluster,
    sent: Sequence[Sent],
    found: Mapping[int, Sequence[Found]],
    readers: Sequence[Reader],
) -> tuple[Truth, frozenset[Bug]]:
    """The truth of a run, and the bugs that show in it."""
    fates = _Fates(cluster, found)
    records = tuple(fates.of(one) for one in sent if one.outcome == Outcome.OK and one.done)
    exposed = [one for one in sent if one.outcome != Outcome.OK and fates.exposed(one)]
    lost = tuple(fate for fate in map(fates.of, exposed) if not fate.survives)
    truth = Truth(records=records, exposed_lost=lost, wrong=wrong_of(cluster, found, readers))
    shows = truth.wrong or any(not fate.permitted for fate in (*records, *lost))
    return truth, frozenset(cluster.manifested | (cluster.acted if shows else set()))


class _Fates:
    """What is known of all records, ready to be asked for each."""

    def __init__(self, cluster: Cluster, found: Mapping[int, Sequence[Found]]) -> None:
        self._settings, self._broken = cluster.case.settings, cluster.known.broken
        self._present = {id(one.record) for rows in found.values() for one in rows}
        self._batches: dict[int, list[Batch]] = {}
        for batch in cluster.known.batches:
            for record in batch.records:
                self._batches.setdefault(id(record), []).append(batch)
        self._started: dict[int, list[Started]] = {}
        for one in sorted(cluster.known.started, key=lambda each: (each.leader_epoch, each.at_s)):
            if one.at_s <= cluster.known.closed_s:
                self._started.setdefault(one.partition, []).append(one)
        self._elected: dict[tuple[int, int], Elected] = {}
        for each in cluster.known.elected:
            state = each.record.state
            assert isinstance(state, PartitionState)
            self._elected[state.partition, state.leader_epoch] = each

    def exposed(self, record: Sent) -> bool:
        """Whether the record was below a leader's high watermark."""
        return any(batch.covered_s >= 0 for batch in self._batches.get(id(record), ()))

    def of(self, record: Sent) -> RecordTruth:
        """The fate of a record."""
        survives = id(record) in self._present
        copy = None if survives else self._copy(record)
        removal = None if copy is None else self._removal(record, copy)
        cause, permitted, facts = ("", True, "") if survives else self._judge(record, copy, removal)
        return RecordTruth(
            id=RecordId(record.producer, record.sequence),
            tp=TopicPartition(TOPIC, record.partition),
            offset=record.offset,
            survives=survives,
            written=tuple((offset, epoch, broker) for offset, epoch, broker, _ in record.written),
            removed_by=None if removal is None else _removal_row(removal),
            cause=cause,
            permitted=permitted,
            facts=facts,
        )

    def _copy(self, record: Sent) -> Batch | None:
        """The copy of the record that was acknowledged, or exposed: the last one until then."""
        batches = self._batches.get(id(record), [])
        if record.outcome != Outcome.OK:
            batches = [batch for batch in batches if batch.covered_s >= 0]
        until = [batch for batch in batches if batch.appended_s <= record.completed_s or batch.covered_s >= 0]
        return max(until, key=lambda one: one.leader_epoch, default=None)

    def _removal(self, record: Sent, copy: Batch) -> Elected | None:
        """The election of the first leader after which no leader had the record."""
        batches = {id(batch) for batch in self._batches[id(record)]}
        first = None
        for one in self._started.get(record.partition, []):
            if one.leader_epoch > copy.leader_epoch:
                has = any(id(batch.bytes_of or batch) in batches for batch in one.batches)
                first = None if has else first or one
        return None if first is None else self._elected.get((first.partition, first.leader_epoch))

    def _judge(self, record: Sent, copy: Batch | None, removal: Elected | None) -> Fate:
        if record.acks == "0":
            return "acks=0", True, "its producer waited for no broker"
        if copy is None:
            return "acknowledged without being written (client)", False, "no leader appended it"
        if removal is None:
            return "hole", False, "no election removed it"
        state = removal.record.state
        assert isinstance(state, PartitionState)
        if bug := self._broken.get((id(copy), state.leader)):
            return f"bug: {bug.name}", False, f"broker {state.leader} has lost it by the bug"
        if record.acks == "1" and copy.covered_s < 0:
            return self._unreplicated(copy, removal)
        return _replicated(copy, removal, self._settings)

    def _unreplicated(self, batch: Batch, removal: Elected) -> Fate:
        """A record of acks=1 that was below no high watermark."""
        epoch, partition = batch.leader_epoch, batch.records[0].partition
        later = [one for key, one in self._elected.items() if key[0] == partition and key[1] > epoch]
        successor_s = min((one.record.at_s for one in later), default=removal.record.at_s)
        if batch.appended_s > successor_s:
            return (
                "deposed leader",
                True,
                f"appended {batch.appended_s - successor_s:.3f} s after its successor",
            )
        return "acks=1 unreplicated tail", True, "below no high watermark"


def _removal_row(removal: Elected) -> Removal:
    state = removal.record.state
    assert isinstance(state, PartitionState)
    return Removal(
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        at_ns=nanoseconds(removal.record.at_s),
        election=removal.record.election,
    )


def _replicated(batch: Batch, removal: Elected, settings: ModelSettings) -> Fate:
    """A record of acks=all, or below a high watermark, that an election removed."""
    state, before, election = removal.record.state, removal.record.before, removal.record.election
    assert isinstance(state, PartitionState)
    assert before is not None
    had = {node for node, since_s in batch.holders.items() if since_s <= removal.record.at_s}
    unclean = {node for node in had if removal.unclean_s.get(node, -1e9) > batch.holders[node]}
    powerless = {node for node in had if removal.power_lost_s.get(node, -1e9) > batch.holders[node]}
    facts = (
        f"held by {sorted(had)}, of which {sorted(unclean)} shut down uncleanly, {sorted(powerless)} without "
        f"power; elected is {state.leader} ({election}) from ISR {before.isr}, ELR {before.elr}"
    )
    counted = len(unclean) >= settings.min_isr
    if election == "unclean":
        return "unclean election", settings.unclean_election, facts
    if state.leader not in powerless or settings.flush_messages == 1:
        name = "last known ELR elected" if election == "last-known-elr" else "in-sync replica elected"
        return f"{name} without the data", False, facts
    if counted:
        return _counted(batch, unclean, powerless, removal), True, facts
    if not settings.elr and before.isr == (state.leader,):
        return "last replica standing", True, facts
    name = "last known ELR elected" if election == "last-known-elr" else "in-sync replica elected"
    return f"{name} without the data", False, facts


def _counted(batch: Batch, unclean: set[int], powerless: set[int], removal: Elected) -> str:
    """The name of a loss that enough unclean shutdowns explain: the first that applies."""
    if len(unclean) == 1 and unclean <= removal.alone:
        return "ISR of one with min.isr 1"
    if set(batch.isr) <= powerless:
        return "power loss of all in-sync replicas"
    if removal.record.election == "last-known-elr":
        return "last known ELR elected without the data"
    return "min.isr replicas shut down uncleanly"

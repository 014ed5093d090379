"""The true fate of each record, from what the simulated cluster knows of itself.

A lost record was removed by the first election after which no leader that started had it. Whether that is
permitted follows from what Kafka promises: acks=0 nothing; acks=1 the append by one leader; acks=all, and all
that was below a high watermark, that it survives fewer unclean shutdowns of brokers that had it than
min.insync.replicas (KIP-966), unless unclean election is on and nobody in sync or eligible could lead. Those
count who were in sync, by the controllers or by the leader that committed it. Without ELR it also dies with
the last member of the ISR, however many had it; and with those in sync, if min.insync.replicas is changed
while they are fewer: which value counts says promised.py. A leader goes by the value that it knows, and what
it commits by an older and smaller one, only those have who are in sync for it, whomever the controller keeps
eligible. What was flushed outlives a loss of power, and not that of the disk. Retention has taken what the
last leader that had it deleted, for it was too old by its clock, where nobody brought it back; or what the
next one had deleted as a follower, or taken over as deleted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from checkers.history.rows import RecordId, TopicPartition
from checkers.history.tables import Outcome
from checkers.model.bugs import Bug
from checkers.model.case import BROKERS, TOPIC
from checkers.model.clients.reader import Reader
from checkers.model.in_sync import NEVER_S, InSync
from checkers.model.kafka.cluster import Cluster, Deleted, Shutdown, Started
from checkers.model.kafka.controller import Record, Registration
from checkers.model.kafka.log import Batch, Sent
from checkers.model.kafka.partition_change import NO_LEADER, PartitionState
from checkers.model.observe.clock import nanoseconds
from checkers.model.observe.final_read import Found
from checkers.model.promised import Because, Promised
from checkers.model.truth import RecordTruth, Removal, Truth
from checkers.model.wrong import wrong_of

Fate = tuple[str, bool, str]
"""Cause, whether it is permitted, and the facts."""

LEFT_ALONE: Mapping[Because, str] = {
    "a setting was changed": "eligible replicas forgotten",
    "a reassignment": "replica removed by a reassignment",
    "ELR was off": "last replica standing",
}
"""The cause of a loss that fewer unclean shutdowns than promised have made, by what left so few with it."""

OLDER_VALUE = "committed by an older min.insync.replicas"
"""The cause of a loss where the leader had not learnt of a larger value, and an eligible one never had it."""


def truth_of(
    cluster: Cluster,
    sent: Sequence[Sent],
    found: Mapping[int, Sequence[Found]],
    readers: Sequence[Reader],
) -> tuple[Truth, frozenset[Bug]]:
    """The truth of a run, and the bugs that show in it."""
    fates = _Fates(cluster, found, readers)
    records = tuple(fates.of(one) for one in sent if one.outcome == Outcome.OK and one.done)
    exposed = [one for one in sent if (one.outcome != Outcome.OK or one.acks == "0") and fates.exposed(one)]
    lost = tuple(fate for fate in map(fates.of_exposed, exposed) if not fate.survives)
    truth = Truth(records=records, exposed_lost=lost, wrong=wrong_of(cluster, found, readers))
    shows = truth.wrong or any(not fate.permitted for fate in (*records, *lost))
    return truth, frozenset(cluster.manifested | (cluster.acted if shows else set()))


class _Fates:
    """What is known of all records, ready to be asked for each."""

    def __init__(
        self, cluster: Cluster, found: Mapping[int, Sequence[Found]], readers: Sequence[Reader]
    ) -> None:
        self._settings, self._broken = cluster.case.settings, cluster.known.broken
        self._readers, self._deleted = readers, cluster.known.deleted
        self._by_older_value = cluster.known.by_older_value
        self._present = {id(one.record) for rows in found.values() for one in rows}
        self._batches: dict[int, list[Batch]] = {}
        for batch in cluster.known.batches:
            for record in batch.records:
                self._batches.setdefault(id(record), []).append(batch)
        self._started: dict[int, list[Started]] = {}
        for one in sorted(cluster.known.started, key=lambda each: (each.leader_epoch, each.at_s)):
            if one.at_s <= cluster.known.closed_s:
                self._started.setdefault(one.partition, []).append(one)
        self._elected: dict[tuple[int, int], Record] = {}
        self._changes = of_partitions = dict[int, list[Record]]()
        for each in cluster.controller.records:
            if isinstance(each.state, PartitionState):
                of_partitions.setdefault(each.state.partition, []).append(each)
                if each.election:
                    self._elected[each.state.partition, each.state.leader_epoch] = each
        self._leaderless = {
            number
            for number, changes in of_partitions.items()
            if [_leader(one) for one in changes if one.at_s <= cluster.known.closed_s][-1:] == [NO_LEADER]
        }
        self._forgotten = cluster.controller.forgotten
        self._registrations: dict[int, list[Record]] = {}
        for each in cluster.controller.records:
            if isinstance(each.state, Registration):
                self._registrations.setdefault(each.state.node, []).append(each)
        registered_s = _registered(cluster.controller.records)
        self._promised = {
            number: Promised(
                cluster.controller.records, number, min_isr=self._settings.min_isr, elr=self._settings.elr
            )
            for number in of_partitions
        }
        self._in_sync = {
            number: InSync(changes, self._started.get(number, ()), _shutdowns(cluster, number), registered_s)
            for number, changes in of_partitions.items()
        }

    @property
    def _flushed(self) -> bool:
        """Whether each record is on the disk as soon as it is appended."""
        return self._settings.flush_messages == 1

    def exposed(self, record: Sent) -> bool:
        """Whether the record was below a leader's high watermark."""
        return any(batch.covered_s >= 0 for batch in self._batches.get(id(record), ()))

    def of(self, record: Sent) -> RecordTruth:
        """The fate of a record that was acknowledged."""
        return self._fate(record, exposed=False)

    def of_exposed(self, record: Sent) -> RecordTruth:
        """The fate of a record that was below a high watermark, whatever its producer was promised."""
        return self._fate(record, exposed=True)

    def _fate(self, record: Sent, *, exposed: bool) -> RecordTruth:
        survives = id(record) in self._present
        copy = None if survives else self._copy(record, exposed=exposed)
        without = None if copy is None else self._first_without(record, copy)
        deletion = None if copy is None else self._deletion(record, copy, without)
        removal = self._election(without) if deletion is None else None
        cause, permitted, facts = "", True, ""
        if not survives and record.acks == "0" and not exposed:
            cause, facts = "acks=0", "its producer waited for no broker"
        elif deletion is not None:
            cause = "deleted by retention"
            facts = f"the clock of broker {deletion.whose} was {deletion.ahead_s:g} s ahead"
        elif not survives:
            cause, permitted, facts = self._judge(record, copy, removal)
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

    def _copy(self, record: Sent, *, exposed: bool) -> Batch | None:
        """The copy of the record that was acknowledged, or exposed: the last one until then."""
        batches = self._batches.get(id(record), [])
        if exposed:
            batches = [batch for batch in batches if batch.covered_s >= 0]
        until = [batch for batch in batches if batch.appended_s <= record.completed_s or batch.covered_s >= 0]
        return max(until, key=lambda one: one.leader_epoch, default=None)

    def _first_without(self, record: Sent, copy: Batch) -> Started | None:
        """The first leader after which no leader had the record."""
        first = None
        for one in self._later(record, copy):
            first = None if self._has(one, record) else first or one
        return first

    def _later(self, record: Sent, copy: Batch) -> Iterator[Started]:
        """The leaders that started after the one that had appended this copy."""
        started = self._started.get(record.partition, [])
        return (one for one in started if one.leader_epoch > copy.leader_epoch)

    def _has(self, leader: Started, record: Sent) -> bool:
        """A batch that a bug has swapped with another one is not what its wrong copy was made of any more."""
        copies = {id(batch) for batch in self._batches[id(record)]}
        held = (batch for batch in leader.batches if id(batch.bytes_of or batch) in copies)
        return any(
            batch.base_offset + place >= leader.log_start
            for batch in held
            for place, one in enumerate(batch.records)
            if one is record
        )

    def _deletion(self, record: Sent, copy: Batch, without: Started | None) -> Deleted | None:
        """By which clock retention took it: from the last leader that had it, or before that from the next
        one, or from a later one that would have brought it back. A next one whose log begins at or below it
        lacks it for another reason."""
        offset = _offset(record, copy)
        over_it = [one for one in self._deleted if one.partition == record.partition and offset < one.to]
        if not over_it:
            return None
        later = list(self._later(record, copy))
        if without is None or offset < without.log_start:
            had = [one for one in later if self._has(one, record)]
            leader = had[-1].leader if had else _appender(record, copy)
            since_s = had[-1].at_s if had else copy.appended_s
            until_s = NEVER_S if without is None else without.at_s
            by_leader = (one for one in over_it if one.led and one.broker == leader)
            if found := next((one for one in by_leader if since_s <= one.at_s < until_s), None):
                return found
        if without is None:
            return None
        began_above = {
            one.leader for one in later if one.leader_epoch >= without.leader_epoch and offset < one.log_start
        }
        before = (one for one in over_it if one.broker in began_above and one.at_s <= without.at_s)
        return next(before, None)

    def _election(self, started: Started | None) -> Record | None:
        if started is None:
            return None
        found = self._elected.get((started.partition, started.leader_epoch))
        return found and self._decision(found, started)

    def _decision(self, election: Record, started: Started) -> Record:
        """The election that made it the leader: one that was elected uncleanly, dead, and has come back, is
        the only one in sync since then, and elected again from there."""
        epochs = {one.leader_epoch for one in self._started[started.partition]}
        before = (
            each
            for (number, epoch), each in sorted(self._elected.items(), reverse=True, key=lambda item: item[0])
            if number == started.partition and epoch < started.leader_epoch
        )
        for each in before if election.election != "unclean" else ():
            assert isinstance(each.state, PartitionState)
            if each.state.leader != started.leader or each.state.leader_epoch in epochs:
                break
            if each.election == "unclean":
                return each
        return election

    def _judge(self, record: Sent, copy: Batch | None, removal: Record | None) -> Fate:
        if copy is None:
            return "acknowledged without being written (client)", False, "no leader appended it"
        if removal is None and record.partition in self._leaderless:
            return "partition without a leader", True, "no election has removed it yet"
        if removal is None:
            return "hole", False, "no election removed it"
        state = removal.state
        assert isinstance(state, PartitionState)
        if bug := self._broken.get((id(copy), state.leader)):
            return f"bug: {bug.name}", False, f"broker {state.leader} has lost it by the bug"
        if record.acks == "1" and copy.covered_s < 0:
            return self._unreplicated(copy, removal)
        return self._replicated(record, copy, removal)

    def _unreplicated(self, batch: Batch, removal: Record) -> Fate:
        """A record of acks=1 that was below no high watermark."""
        epoch, partition = batch.leader_epoch, batch.records[0].partition
        later = [one for key, one in self._elected.items() if key[0] == partition and key[1] > epoch]
        successor_s = min((one.at_s for one in later), default=removal.at_s)
        if batch.appended_s > successor_s:
            return (
                "deposed leader",
                True,
                f"appended {batch.appended_s - successor_s:.3f} s after its successor",
            )
        return "acks=1 unreplicated tail", True, "below no high watermark"

    def _replicated(self, record: Sent, batch: Batch, removal: Record) -> Fate:
        """A record of acks=all, or below a high watermark, that an election removed."""
        before, leader = removal.before, _leader(removal)
        assert before is not None
        in_sync = self._in_sync[record.partition]
        lost = in_sync.without_recovery(batch.held_since_s, removal.at_s, by_leader=batch.covered_with)
        unclean = {one.node for one in lost}
        emptier = {one.node for one in lost if one.wiped or (one.data_lost and not self._flushed)}
        facts = (
            f"held by {sorted(batch.holders)}, of which {sorted(unclean)} shut down uncleanly, "
            f"{sorted(emptier)} without power or disk, and were not in sync again; elected is "
            f"{leader} ({removal.election}) from ISR {before.isr}, ELR {before.elr}"
        )
        if removal.election == "unclean":
            last_resort = not self._could_lead(removal, record.partition)
            return "unclean election", self._settings.unclean_election and last_resort, facts
        if leader in emptier:
            outlived = self._promised[record.partition].outlived(removal)
            passed_over = self._passed_over(removal, record.partition, elr=outlived.elr)
            if len(unclean) >= outlived.by_min_isr and not passed_over:
                return self._counted(record, batch, removal, lost), True, facts
            if outlived.guards is not None and outlived.guards <= unclean:
                return LEFT_ALONE[outlived.because], True, facts
        if id(batch) in self._by_older_value and leader not in batch.holders:
            return OLDER_VALUE, True, facts
        known = removal.election == "last-known-elr"
        name = "last known ELR elected" if known else "in-sync replica elected"
        return f"{name} without the data", False, facts

    def _could_lead(self, removal: Record, partition: int) -> set[int]:
        """Who was in sync or eligible at an election, and registered, neither fenced nor stopping, with all
        log directories, until the end of its append."""
        before, state = removal.before, removal.state
        assert before is not None
        assert isinstance(state, PartitionState)
        by_elr = self._promised[partition].outlived(removal).elr
        fit = {*before.isr, *(before.elr if by_elr else ())} & set(state.replicas) - {state.leader}
        return {node for node in fit if self._is_active(node, removal)}

    def _is_active(self, node: int, at: Record) -> bool:
        known: Registration | None = None
        for one in self._registrations.get(node, ()):
            assert isinstance(one.state, Registration)
            if one.offset < at.offset:
                known = one.state
            elif one.at_s == at.at_s and (known is None or one.state != known):
                return False
        active = known is not None and not known.fenced and not known.stopping
        return active and known is not None and known.log_dirs == self._settings.log_dirs

    def _passed_over(self, removal: Record, partition: int, *, elr: bool) -> bool:
        """Whether another one was in sync or eligible, and had not shut down uncleanly: who has registers
        anew, and is neither then."""
        before = removal.before
        assert before is not None
        if self._forgotten_until(removal, partition) - {_leader(removal)}:
            return True
        always = dict.fromkeys(BROKERS, 0.0)
        gone = {one.node for one in self._in_sync[partition].without_recovery(always, removal.at_s)}
        eligible = {*before.isr, *(before.elr if elr else ())} - gone - {_leader(removal)}
        return removal.election in ("isr", "elr") and bool(eligible)

    def _forgotten_until(self, removal: Record, partition: int) -> set[int]:
        """Whom the planted bug had taken out of the ELR, and who was not in sync or eligible again."""
        return {
            node
            for offset, number, node in self._forgotten
            if number == partition
            and offset < removal.offset
            and not any(
                node in (*each.state.isr, *each.state.elr)
                for each in self._changes[partition]
                if isinstance(each.state, PartitionState) and offset < each.offset < removal.offset
            )
        }

    @cached_property
    def _read_s(self) -> Mapping[int, float]:
        """When a reader was first given a record, by the identity of its send."""
        first_s: dict[int, float] = {}
        for given in (of for reader in self._readers for of in reader.delivered):
            for one in given:
                first_s[id(one.record)] = min(one.at_s, first_s.get(id(one.record), NEVER_S))
        return first_s

    def _counted(self, record: Sent, batch: Batch, removal: Record, lost: Sequence[Shutdown]) -> str:
        """The name of a loss that enough unclean shutdowns explain: the first that applies.

        All replicas that were in sync are those when a client knew that it was there: by its
        acknowledgement, or since a reader was given it.
        """
        in_sync, unclean = self._in_sync[record.partition], {one.node for one in lost}
        if len(unclean) == 1 and any(in_sync.at(one.at_s) == unclean for one in lost):
            return "ISR of one with min.isr 1"
        acknowledged_s = record.completed_s if record.outcome == Outcome.OK else batch.covered_s
        known_s = min(acknowledged_s, self._read_s.get(id(record), NEVER_S))
        since_s = dict.fromkeys(BROKERS, batch.appended_s)
        were = in_sync.at(known_s)
        gone = [
            one
            for one in in_sync.without_recovery(since_s, removal.at_s, by_leader=batch.covered_with)
            if one.data_lost and one.node in were
        ]
        if were and were <= {one.node for one in gone}:
            wiped = any(one.wiped for one in gone)
            return "disk loss among all in-sync replicas" if wiped else "power loss of all in-sync replicas"
        if removal.election == "last-known-elr":
            return "last known ELR elected without the data"
        return "min.isr replicas shut down uncleanly"


def _shutdowns(cluster: Cluster, partition: int) -> list[Shutdown]:
    """The unclean shutdowns that a partition's replicas saw."""
    return [one for one in cluster.known.unclean if one.partitions is None or partition in one.partitions]


def _registered(records: Iterable[Record]) -> Mapping[int, Sequence[float]]:
    """When each broker's processes were registered: each has a broker epoch of its own."""
    epochs: dict[int, int] = {}
    found: dict[int, list[float]] = {}
    for one in records:
        if isinstance(one.state, Registration) and epochs.get(one.state.node) != one.state.broker_epoch:
            epochs[one.state.node] = one.state.broker_epoch
            found.setdefault(one.state.node, []).append(one.at_s)
    return found


def _offset(record: Sent, batch: Batch) -> int:
    """Where a record stands in a batch that holds it, or a wrong copy of it."""
    return batch.base_offset + next(place for place, one in enumerate(batch.records) if one is record)


def _appender(record: Sent, copy: Batch) -> int:
    """The broker that led when it appended this copy."""
    return next(broker for _, epoch, broker, _ in record.written if epoch == copy.leader_epoch)


def _leader(removal: Record) -> int:
    assert isinstance(removal.state, PartitionState)
    return removal.state.leader


def _removal_row(removal: Record) -> Removal:
    state = removal.state
    assert isinstance(state, PartitionState)
    return Removal(
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        at_ns=nanoseconds(removal.at_s),
        election=removal.election,
    )

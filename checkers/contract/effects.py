"""What follows from a loss that is labelled, and what a retry does: the labels of everything that is no loss.

    same-for-all    readers disagree at an offset: as permitted as every loss at that offset; undecided where
                    retention has deleted since what was there, and an election may have taken a record before
    monotone-read   a reader steps back: permitted if a permitted truncation fell between its two reads
    real-time-order permitted of what acks=0 completed, for nobody had answered
    duplicate, producer-order, real-time-order of a doubled record
                    without idempotence: permitted if a retry was possible; with it, the client may have
                    re-sent under a new producer epoch
    divergence      what one replica lacks below its own log start: permitted if its broker's clock was so far
                    ahead that retention deleted it there, or that of a leader whose log start it took over
    checkpoint-sane an epoch cache that begins later than its log: undecided where the broker may have let its
                    log start there for such a clock, and forgotten that when its process ended uncleanly
    anything else   no configuration permits it

Invariant: an effect is permitted only with its own cause, at its own place and time.
Evidence: the labels of the losses; leader changes and the trouble that a client had; producer epochs on disk.
Counterexample to "there was a truncation, so readers may skip":
    a permitted truncation at offset 1, 2 s into the run
    at 30 s a reader is given offset 3, then 8; the log holds 4 to 7: a violation, for that skip is 28 s later
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.anomalies import AnomalyBlock, Ints
from checkers.contract.clauses import MISSING_EVIDENCE, NOTHING_PROMISED, RESENT, RETENTION, RETRY
from checkers.contract.evidence.partition_evidence import partition_evidence
from checkers.contract.fates.retention import below_its_start
from checkers.contract.label import BlockLabels, Label
from checkers.contract.realised.settings import Realised
from checkers.history.columnar import columns_of
from checkers.history.rows import Replica, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property

Bools = npt.NDArray[np.bool_]
TIMED = (Property.MONOTONE_READ, Property.DUPLICATE, Property.PRODUCER_ORDER, Property.REAL_TIME_ORDER)
"""What an election explains, at its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """Offsets of one partition that were lost to one election, or to nothing known (at_ns -1)."""

    label: Label
    at_ns: int
    offsets: Ints
    """Shape (n,), first offsets of what was lost."""
    last_offsets: Ints


class Effects:
    """Labels the blocks that are no losses, from those that are."""

    def __init__(
        self,
        losses: Iterable[tuple[AnomalyBlock, BlockLabels]],
        doubled: Sequence[AnomalyBlock],
        realised: Realised,
    ) -> None:
        self._realised = realised
        self._doubled = doubled
        self._truncations: dict[TopicPartition, list[Truncation]] = defaultdict(list)
        for block, labels in losses:
            for place, label in enumerate(labels.classes):
                if label.cause == RETENTION:
                    continue  # a log that begins later gives nobody another record
                rows = labels.of == place
                self._truncations[block.tp].append(_truncation(block, rows, label))

    def of_block(self, block: AnomalyBlock) -> BlockLabels:
        """The labels of one block."""
        if block.property in TIMED and self._realised.context.unplaced:
            clause = (
                "not measured: when leaders changed; a controller's clock was off by less than the run lasted"
            )
            return BlockLabels.all_alike(Label("undecided", clause, MISSING_EVIDENCE), len(block))
        match block.property:
            case Property.SAME_FOR_ALL:
                return self._same_for_all(block)
            case Property.MONOTONE_READ:
                return self._monotone_read(block)
            case Property.DUPLICATE | Property.PRODUCER_ORDER:
                return self._retry(block)
            case Property.REAL_TIME_ORDER:
                return self._real_time_order(block)
            case Property.DIVERGENCE:
                return self._divergence(block)
            case Property.CHECKPOINT_SANE:
                return self._checkpoint(block)
            case other:
                label = Label("violation", f"no configuration permits {other.value}")
                return BlockLabels.all_alike(label, len(block))

    def _same_for_all(self, block: AnomalyBlock) -> BlockLabels:
        """As the gravest loss at each offset; without one, nothing explains it."""
        alone = Label("violation", "no permitted loss at that offset explains it")
        classes, of = [alone], np.zeros(len(block), np.int64)
        for kind in ("permitted", "undecided", "violation"):
            for each in self._truncations[block.tp]:
                if each.label.kind == kind:
                    classes.append(_follows(each.label) if kind != "violation" else alone)
                    of[_covered(each, block.offset)] = len(classes) - 1
        clause = "not measured: what an election took there, for retention has deleted since what came after"
        classes.append(Label("undecided", clause, MISSING_EVIDENCE))
        of[(of == 0) & (block.offset < self._deleted_to(block.tp))] = len(classes) - 1
        return BlockLabels(tuple(classes), of)

    def _deleted_to(self, tp: TopicPartition) -> int:
        """Below which offset an election may have taken what no final log shows to be lost: one did, and the
        log start has moved, for somebody's clock was set; else 0."""
        realised = self._realised
        if not realised.clocks_ahead or not realised.timeline.elections(tp):
            return 0
        return max((proof.log_start for proof in realised.context.proofs if proof.tp == tp), default=0)

    def _monotone_read(self, block: AnomalyBlock) -> BlockLabels:
        """`acked_offset` and `invoked_ns` are those of the read before."""
        slack_ns = self._realised.timeline.slack_ns
        alone = Label("violation", "no permitted truncation explains it")
        classes, of = [alone], np.zeros(len(block), np.int64)
        back = (block.acked_offset != NONE) & (block.offset <= block.acked_offset)
        for each in self._truncations[block.tp]:
            if each.label.kind == "violation" or each.at_ns == NONE:
                continue
            between = (block.invoked_ns - slack_ns <= each.at_ns) & (
                each.at_ns <= block.completed_ns + slack_ns
            )
            rows = back & between & (each.offsets.min() <= block.acked_offset)
            classes.append(_follows(each.label))
            of[rows & (of == 0)] = len(classes) - 1
        return BlockLabels(tuple(classes), of)

    def _real_time_order(self, block: AnomalyBlock) -> BlockLabels:
        """Of a record that is there twice, a retry may be the reason; under acks=0 none is needed."""
        twice = np.zeros(len(block), bool)
        for each in self._doubled:
            if each.tp == block.tp:
                twice |= np.isin(block.offset, each.offset)
        retried = self._retry(block)
        label = Label("violation", f"no configuration permits {block.property.value}")
        of = np.where(twice, retried.of, len(retried.classes))
        of[self._unanswered(block)] = len(retried.classes) + 1
        clause = "acks=0: its completion shows only that it left the client"
        sent = Label("permitted", clause, NOTHING_PROMISED)
        return BlockLabels((*retried.classes, label, sent), of)

    def _divergence(self, block: AnomalyBlock) -> BlockLabels:
        """What a replica lacks below its own log start, retention may have deleted: on that broker
        alone, or on a leader whose log start it took over."""
        forbidden = Label("violation", f"no configuration permits {block.property.value}")
        topic, realised, row = self._realised.topic(block.tp.topic), self._realised, self._replica(block)
        start = NONE if row is None else row.log_start
        classes, of = [forbidden], np.zeros(len(block), np.int64)
        if topic is None or not realised.clocks_ahead:
            return BlockLabels(tuple(classes), of)
        evidence = partition_evidence(realised, block.tp)
        for offset, found in below_its_start(block.replica, evidence, realised, topic.retention_ms):
            cause = MISSING_EVIDENCE if found.kind == "undecided" else RETENTION
            clause = f"{RETENTION}: {found.sentence}" if found.kind == "permitted" else found.sentence
            of[block.last_offset < min(start, offset)] = len(classes)
            classes.append(Label(found.kind, clause, cause))
        return BlockLabels(tuple(classes), of)

    def _checkpoint(self, block: AnomalyBlock) -> BlockLabels:
        """An epoch cache is cut where the log starts, and written at once; the log start is noted every
        minute, so an unclean end forgets it, and what is before the cache nobody adds again."""
        forbidden = Label("violation", f"no configuration permits {block.property.value}")
        topic, realised, row = self._realised.topic(block.tp.topic), self._realised, self._replica(block)
        if topic is None or row is None or not realised.clocks_ahead or not row.epoch_starts:
            return BlockLabels.all_alike(forbidden, len(block))
        cached, evidence = row.epoch_starts[0], partition_evidence(realised, block.tp)
        ended = any(each.node == row.broker and each.unclean for each in evidence.outages)
        may_have_started = any(
            found.kind != "violation" and cached <= offset
            for offset, found in below_its_start(block.replica, evidence, realised, topic.retention_ms)
        )
        clause = (
            f"not measured: whether broker {row.broker}'s log began at offset {cached}, as its epoch cache "
            "does, until its process ended uncleanly"
        )
        forgot = Label("undecided", clause, MISSING_EVIDENCE)
        rows = (block.offset == row.log_start) & (row.log_start < cached) & ended & may_have_started
        return BlockLabels((forbidden, forgot), rows.astype(np.int64))

    def _replica(self, block: AnomalyBlock) -> Replica | None:
        """The log that the block is about, as its disk has it."""
        rows = self._realised.context.replicas
        return next((row for row in rows if (row.tp, row.broker) == (block.tp, block.replica)), None)

    def _unanswered(self, block: AnomalyBlock) -> Bools:
        """Which rows are of producers with acks=0; a history without the table of producers has them."""
        asked = [number for number in np.unique(block.producer).tolist() if number != NONE]
        unanswered = [number for number in asked if self._realised.producer(number).acks == "0"]
        return np.isin(block.producer, unanswered)

    def _retry(self, block: AnomalyBlock) -> BlockLabels:
        promised = Label("violation", "idempotence: each record once, in order")
        resent = Label("violation", f"{RESENT}: its two copies are of different producer epochs", RESENT)
        possible = Label(
            "permitted", "idempotence off: a retry may write a record again, or behind a later one", RETRY
        )
        unknown = Label(
            "undecided",
            "idempotence off: whether its client had a reason to send it again was not recorded",
            MISSING_EVIDENCE,
        )
        impossible = Label(
            "violation",
            "idempotence off, but its client had no reason to send it again: no time-out, no "
            "disconnect, no leader change",
        )
        classes = (promised, resent, possible, unknown, impossible)
        of = np.zeros(len(block), np.int64)
        of[self._other_epoch(block)] = 1
        for producer in np.unique(block.producer).tolist():
            if producer == NONE or self._realised.producer(producer).idempotence:
                continue
            rows = block.producer == producer
            trouble = self._trouble(block, producer)
            collected = "client_events" in self._realised.context.collected
            of[rows] = np.where(trouble[rows], 2, 4 if collected else 3)
        return BlockLabels(classes, of)

    def _other_epoch(self, block: AnomalyBlock) -> Bools:
        """Duplicates (`acked_offset`: the first copy) that two producer epochs wrote."""
        batches = self._realised.batches(block.tp) if block.property is Property.DUPLICATE else None
        if batches is None or not len(batches.base_offset):
            return np.zeros(len(block), bool)
        places = [
            np.maximum(np.searchsorted(batches.base_offset, offsets, "right") - 1, 0)
            for offsets in (block.offset, block.acked_offset)
        ]
        differs = np.zeros(len(block), bool)
        for column in (batches.producer_id, batches.producer_epoch):
            differs |= column[places[0]] != column[places[1]]
        known: Bools = (block.acked_offset != NONE) & (batches.producer_id[places[0]] != NONE)
        return differs & known

    def _trouble(self, block: AnomalyBlock, producer: int) -> Bools:
        """Whether something fell into the life of each send that makes a client send again."""
        slack_ns = self._realised.timeline.slack_ns
        names = ("producer", "since_ns", "at_ns", "disconnects", "timeouts", "retries")
        events = columns_of(self._realised.context.client_events, names)
        own = (events["producer"] == producer) & (
            (events["disconnects"] > 0) | (events["timeouts"] > 0) | (events["retries"] > 0)
        )
        elections = [election.at_ns for election in self._realised.timeline.elections(block.tp)]
        begins = np.array([*events["since_ns"][own], *elections], np.int64)
        ends = np.array([*events["at_ns"][own], *elections], np.int64)
        until_ns = np.where(block.completed_ns == NONE, np.iinfo(np.int64).max - slack_ns, block.completed_ns)
        return _overlap(begins - slack_ns, ends + slack_ns, block.invoked_ns, until_ns)


def _overlap(begins: Ints, ends: Ints, since: Ints, until: Ints) -> Bools:
    """Whether any interval [begins, ends] meets each [since, until]; both ends are inclusive."""
    before_end = np.searchsorted(np.sort(begins), until, "right")
    ended_before = np.searchsorted(np.sort(ends), since, "left")
    overlaps: Bools = before_end > ended_before
    return overlaps


def _truncation(block: AnomalyBlock, rows: Bools, label: Label) -> Truncation:
    election = label.fate.removed_by if label.fate else None
    return Truncation(
        label=label,
        at_ns=election.at_ns if election else NONE,
        offsets=block.offset[rows],
        last_offsets=block.last_offset[rows],
    )


def _covered(each: Truncation, offsets: Ints) -> Bools:
    """Which offsets a truncation took."""
    return _overlap(each.offsets, each.last_offsets, offsets, offsets)


def _follows(label: Label) -> Label:
    return Label(label.kind, f"it follows from a truncation: {label.clause}", label.cause, label.fate)

"""How the disks end a transaction: by one marker in each of its partitions, of one kind.

Invariant: behind the records of a transaction the log of each of its partitions has a marker of its producer
id; the first one there is of the same kind in all of them, and of the kind that its client was told.
Evidence: the control batches of the disks, where a replica was read as a whole whose broker stopped cleanly.
Counterexample to "all of it is visible, so it was committed":
    orders-0 has a commit marker behind 1/7, orders-1 an abort marker behind 1/8
    marker-per-transaction, of the part in orders-1, whatever readers were given

The transactions of a transactional id follow each other, so what lies behind one up to the records of the
next is its end. Only the first marker there is looked at: a coordinator that takes over may write one again,
and a transaction leaves one also in a partition of which it has no record. So a marker that is missing where
such a one follows is not noticed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.anomalies import Anomaly
from checkers.history.records.markers import FAR, counted, empty_offsets
from checkers.history.records.transactions import NEVER_VISIBLE, Cell, Ending, PartitionShown
from checkers.history.rows import Marker, TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import NOT_COLLECTED, RuleResult
from checkers.reference.transactions.tally import Tally, Whole

COMMIT, ABORT = "commit", "abort"


def marker_per_transaction(tally: Tally) -> RuleResult:
    """Each partition in which a transaction has not the marker that ends it.

    Undecided: a transaction whose producer id is not known, or with a partition of which no disk was read.
    """
    if not tally.context.collected >= {"markers", "replicas"}:
        return NOT_COLLECTED
    disks = _Disks(tally)
    anomalies, examined, undecided = [], 0, 0
    for whole in tally.every():
        parts = [_part(partition, cell, disks, whole) for partition, cell in whole.parts if cell.logged]
        if not parts:
            continue
        if whole.entry.row.producer_id == NONE or not all(part.is_known for part in parts):
            undecided += 1
            continue
        examined += 1
        anomalies += list(_wrong(whole, parts))
    return RuleResult(anomalies=anomalies, examined=examined, undecided=undecided)


class _Disks:
    """The markers of each partition, and where the records of each transactional id begin there."""

    def __init__(self, tally: Tally) -> None:
        self._known = empty_offsets(tally.context)
        self._stable = {proof.tp: proof.high_watermark for proof in tally.context.proofs}
        self._markers: dict[tuple[TopicPartition, int], list[Marker]] = defaultdict(list)
        for tp, markers in counted(tally.context).items():
            for marker in markers:
                self._markers[tp, marker.producer_id].append(marker)
        self._begins: dict[tuple[TopicPartition, str], list[int]] = defaultdict(list)
        for whole in tally.every():
            for partition, cell in whole.parts:
                if cell.logged:
                    self._begins[partition.tp, whole.entry.row.transactional_id].append(cell.first)

    def are_known(self, tp: TopicPartition, first: int) -> bool:
        """Whether the disks show everything from an offset of a decided partition up to its high watermark:
        that is stable, so what had begun below it has ended below it."""
        return tp in self._known and not self._known[tp].unknown(first, self._stable[tp])

    def behind(self, tp: TopicPartition, cell: Cell, whole: Whole) -> Sequence[Marker]:
        """The markers from the first record of a transaction on to the records of the next one."""
        row = whole.entry.row
        begins = self._begins[tp, row.transactional_id]
        end = min((begin for begin in begins if begin > cell.first), default=FAR)
        its = self._markers.get((tp, row.producer_id), ())
        return [marker for marker in its if cell.first < marker.offset < end]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What the disks have of a transaction in one partition."""

    tp: TopicPartition
    cell: Cell
    is_known: bool
    markers: Sequence[Marker]

    @property
    def inside(self) -> Sequence[Marker]:
        """Markers between its own records."""
        return [marker for marker in self.markers if marker.offset < self.cell.last]

    @property
    def kind(self) -> str:
        """Of the first marker behind all of its records; "" without one."""
        return next((marker.kind for marker in self.markers if marker.offset > self.cell.last), "")


def _part(partition: PartitionShown, cell: Cell, disks: _Disks, whole: Whole) -> _Part:
    return _Part(
        tp=partition.tp,
        cell=cell,
        is_known=partition.decided and disks.are_known(partition.tp, cell.first),
        markers=disks.behind(partition.tp, cell, whole),
    )


def _wrong(whole: Whole, parts: Sequence[_Part]) -> Iterator[Anomaly]:
    """At most one for each part. Of one whose fate only the log knows, what is committed anywhere is."""
    expected = _expected(whole.entry.ending, {part.kind for part in parts})
    for part in parts:
        if part.inside:
            note = f"a marker at offset {part.inside[0].offset} lies between its records"
        elif not part.kind:
            note = "no marker ends it"
        elif part.kind != expected:
            note = f"its marker is {_NAMES.get(part.kind, part.kind)}, and it was {_TOLD[expected]}"
        else:
            continue
        yield _anomaly(whole, part, note)


_NAMES: Mapping[str, str] = {COMMIT: "a commit", ABORT: "an abort"}
_TOLD: Mapping[str, str] = {COMMIT: "committed", ABORT: "aborted"}


def _expected(ending: Ending, kinds: set[str]) -> str:
    if ending in NEVER_VISIBLE:
        return ABORT
    return COMMIT if ending is Ending.COMMITTED or COMMIT in kinds else ABORT


def _anomaly(whole: Whole, part: _Part, note: str) -> Anomaly:
    row = whole.entry.row
    return Anomaly(
        property=Property.MARKER_PER_TRANSACTION,
        topic=part.tp.topic,
        partition=part.tp.partition,
        offset=part.cell.first,
        last_offset=part.cell.last,
        producer=row.producer,
        sequence=row.first_sequence,
        invoked_ns=row.begun_ns,
        completed_ns=row.completed_ns if row.outcome == "committed" else NONE,
        note=f"{whole}: {note}",
    )

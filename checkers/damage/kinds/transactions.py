"""Damage to transactions: what committed readers are given, markers, and what the clients wrote down."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, NotApplicable, first, pick, swap
from checkers.history.records.markers import FAR, counted, empty_offsets
from checkers.history.records.transactions import FINAL_READER, Ending, Entry, Ledger, is_decided
from checkers.history.rows import LogRecord, Marker, Read, TopicPartition
from checkers.history.tables import NONE, Outcome
from checkers.properties import Property

LATE_NS = 3_600_000_000_000
"""By then every transaction must have ended."""


def _ledger(history: EditableHistory) -> Ledger:
    if not history.transactions:
        raise NotApplicable
    return Ledger(history.transactions, history.fencings)


def _read_whole(history: EditableHistory) -> set[TopicPartition]:
    """The partitions that a fresh read_committed reader has read to their proven end."""
    return {proof.tp for proof in history.proofs if is_decided(proof)}


def _records(history: EditableHistory, *endings: Ending) -> list[LogRecord]:
    """The records of decided partitions' logs whose transactions must end so, and that were sent there."""
    ledger, sends, decided = _ledger(history), history.sends_by_id(), _read_whole(history)
    found = []
    for record in history.log:
        place, send = ledger.find(*record.id), sends.get(record.id)
        its_own = send is not None and send.tp == record.tp and send.outcome is not Outcome.FAIL
        if place != NONE and its_own and record.tp in decided and ledger.entries[place].ending in endings:
            found.append(record)
    return found


def _give(history: EditableHistory, record: LogRecord, reader: int) -> None:
    history.transaction_reads.append(
        Read(
            topic=record.topic,
            partition=record.partition,
            producer=record.producer,
            sequence=record.sequence,
            checksum=record.checksum,
            reader=reader,
            generation=0,
            offset=record.offset,
            leader_epoch=record.leader_epoch,
            read_ns=1,
        )
    )


def _hide(history: EditableHistory, records: Iterable[LogRecord]) -> None:
    """Let the fresh reader not have been given these records."""
    gone = {(record.tp, record.id) for record in records}
    history.transaction_reads = [
        read
        for read in history.transaction_reads
        if read.reader != FINAL_READER or (read.tp, read.id) not in gone
    ]


@noticed_by(Property.ABORTED_READ)
def give_aborted(history: EditableHistory, rng: Random) -> None:
    """A read_committed reader was given a record of an aborted transaction."""
    _give(history, pick(rng, _records(history, Ending.ABORTED)), rng.choice((FINAL_READER, 1, 7)))


@noticed_by(Property.ABORTED_READ)
def give_too_early(history: EditableHistory, rng: Random) -> None:
    """A reader was given a record of a transaction that the log has aborted in the end."""
    visible = {read.id for read in history.transaction_reads if read.reader == FINAL_READER}
    doubtful = [each for each in _records(history, Ending.UNKNOWN) if each.id not in visible]
    _give(history, pick(rng, doubtful), rng.choice((1, 7)))


@noticed_by(Property.ZOMBIE_FENCED)
def give_of_a_zombie(history: EditableHistory, rng: Random) -> None:
    """A reader was given a record of an instance that was fenced."""
    _give(history, pick(rng, _records(history, Ending.FENCED)), rng.choice((FINAL_READER, 1)))


@noticed_by(Property.ZOMBIE_FENCED)
def commit_for_a_zombie(history: EditableHistory, rng: Random) -> None:
    """The commit of an instance that was fenced was acknowledged all the same."""
    ledger = _ledger(history)
    places = {ledger.find(*record.id) for record in _records(history, Ending.FENCED)}
    late = [ledger.entries[place].row for place in sorted(places) if ledger.entries[place].was_late]
    row = pick(rng, late)
    swap(history.transactions, row, replace(row, outcome="committed", error=""))


@noticed_by(Property.TORN_TRANSACTION)
def hide_committed(history: EditableHistory, rng: Random) -> None:
    """A committed record is not visible, or a whole transaction is not."""
    records = _records(history, Ending.COMMITTED)
    record, ledger = pick(rng, records), _ledger(history)
    place = ledger.find(*record.id)
    whole = [each for each in records if ledger.find(*each.id) == place]
    _hide(history, rng.choice(([record], whole)))


@noticed_by(Property.TORN_TRANSACTION)
def tear_transaction(history: EditableHistory, rng: Random) -> None:
    """Of a transaction whose fate only the log knows, some records are visible and others are not."""
    visible = {read.id for read in history.transaction_reads if read.reader == FINAL_READER}
    ledger = _ledger(history)
    parts: dict[int, list[LogRecord]] = {}
    for record in _records(history, Ending.UNKNOWN):
        if record.id in visible:
            parts.setdefault(ledger.find(*record.id), []).append(record)
    records = pick(rng, [its for _, its in sorted(parts.items()) if len(its) > 1])
    _hide(history, [rng.choice(records)])


@noticed_by(Property.HANGING_TRANSACTION)
def keep_open(history: EditableHistory, rng: Random) -> None:
    """The last stable offset stays below the high watermark, long after every time-out."""
    _ledger(history)
    whole = [each for each in history.proofs if each.complete and each.high_watermark > each.log_start]
    proof = pick(rng, whole)
    stable = rng.randrange(proof.log_start, proof.high_watermark)
    swap(
        history.proofs,
        proof,
        replace(
            proof,
            complete=False,
            reason="a transaction is open",
            last_stable=stable,
            committed_to=NONE,
            at_ns=proof.at_ns + LATE_NS,
            isr=proof.replicas,
        ),
    )


@perhaps_harmless
def keep_open_for_a_while(history: EditableHistory, rng: Random) -> None:
    """The same, when a transaction may still time out, or a replica is not in sync."""
    proof = pick(rng, [each for each in history.proofs if each.high_watermark > each.log_start])
    open_now = replace(proof, complete=False, reason="a transaction is open", last_stable=proof.log_start)
    late = replace(open_now, at_ns=proof.at_ns + LATE_NS, isr=proof.replicas[:1])
    swap(history.proofs, proof, rng.choice((open_now, late)))


def _ends(history: EditableHistory) -> list[tuple[Marker, Entry]]:
    """The markers that end the transactions about which the disks decide, each with its transaction."""
    frozen = history.freeze()
    known, markers = empty_offsets(frozen), counted(frozen)
    ledger, sends, decided = _ledger(history), history.sends_by_id(), _read_whole(history)
    places: dict[int, dict[TopicPartition, list[int]]] = {}
    touched: dict[int, set[TopicPartition]] = {}
    for send in history.sends:
        if (place := ledger.find(*send.id)) != NONE and send.outcome is not Outcome.FAIL:
            touched.setdefault(place, set()).add(send.tp)
    for record in history.log:
        home = sends.get(record.id)
        if home is not None and home.tp == record.tp and (place := ledger.find(*record.id)) != NONE:
            places.setdefault(place, {}).setdefault(record.tp, []).append(record.offset)
    found = []
    for place, by_partition in sorted(places.items()):
        entry = ledger.entries[place]
        if entry.row.producer_id == NONE or not touched.get(place, set()) <= decided:
            continue
        if any(known[tp].unknown(min(offsets), FAR) for tp, offsets in by_partition.items()):
            continue
        for tp, offsets in sorted(by_partition.items()):
            behind = [
                marker
                for marker in markers.get(tp, ())
                if marker.producer_id == entry.row.producer_id and marker.offset > max(offsets)
            ]
            found += [(behind[0], entry)] if behind else []
    return found


@noticed_by(Property.MARKER_PER_TRANSACTION)
def turn_marker(history: EditableHistory, rng: Random) -> None:
    """A marker says the contrary of what the client was told."""
    told = [marker for marker, entry in _ends(history) if entry.ending is not Ending.UNKNOWN]
    marker = pick(rng, told)
    swap(
        history.markers,
        marker,
        replace(marker, kind="abort" if marker.kind == "commit" else "commit"),
    )


@noticed_by(Property.OFFSET_GAP)
def lose_marker(history: EditableHistory, rng: Random) -> None:
    """No disk has the marker of a transaction: there is nothing at its offset."""
    ends = [marker for marker, _ in _ends(history)]
    history.markers.remove(pick(rng, ends))


@noticed_by(Property.OFFSET_GAP)
def forget_marker_of_one(history: EditableHistory, rng: Random) -> None:
    """One disk does not have a marker that the others have, though it reaches further."""
    marker = pick(rng, [marker for marker, _ in _ends(history)])
    reaching = [
        row.broker
        for row in history.replicas
        if row.tp == marker.tp and row.complete and row.log_start <= marker.offset < row.log_end
    ]
    lacks = pick(rng, reaching)
    others = tuple(broker for broker in marker.brokers if broker != lacks)
    swap(history.markers, marker, replace(marker, brokers=others))


@perhaps_harmless
def move_marker(history: EditableHistory, rng: Random) -> None:
    """A marker is of another producer, or some offsets off."""
    marker = pick(rng, history.markers)
    moved = rng.choice(
        (
            replace(marker, producer_id=marker.producer_id + rng.choice((-1, 1))),
            replace(marker, offset=max(0, marker.offset + rng.randint(-4, 4))),
        )
    )
    swap(history.markers, marker, moved)


@perhaps_harmless
def forget_transaction(history: EditableHistory, rng: Random) -> None:
    """A transaction was not written down, or all of them were not."""
    row = pick(rng, history.transactions)
    if rng.random() < 0.8:
        history.transactions.remove(row)
    else:
        history.transactions.clear()


@perhaps_harmless
def change_end(history: EditableHistory, rng: Random) -> None:
    """How a transaction ended was written down wrongly."""
    row = pick(rng, history.transactions)
    outcome = rng.choice(("committed", "aborted", "fenced", "indeterminate", "open"))
    request = rng.choice(("commit", "abort", ""))
    swap(history.transactions, row, replace(row, outcome=outcome, request=request))


@perhaps_harmless
def stretch_transaction(history: EditableHistory, rng: Random) -> None:
    """A transaction has more or fewer sends than it had."""
    row = pick(rng, history.transactions)
    swap(
        history.transactions,
        row,
        replace(
            row,
            first_sequence=max(0, row.first_sequence + rng.randint(-2, 2)),
            last_sequence=row.last_sequence + rng.randint(-2, 2),
        ),
    )


@perhaps_harmless
def take_over_sooner(history: EditableHistory, rng: Random) -> None:
    """A producer had been replaced at another time, or never."""
    row = pick(rng, history.fencings)
    done_ns = rng.choice((NONE, 0, row.done_ns + 10))
    swap(history.fencings, row, replace(row, done_ns=done_ns))


@perhaps_harmless
def shuffle_committed_reads(history: EditableHistory, rng: Random) -> None:
    """What a committed reader was given lies elsewhere, or was given twice."""
    read = pick(rng, history.transaction_reads)
    changed = rng.choice(
        (
            replace(read, offset=max(0, read.offset + rng.randint(-3, 3))),
            replace(read, reader=rng.choice((FINAL_READER, 1, 2))),
            replace(read, sequence=read.sequence + rng.choice((-1, 1))),
        )
    )
    if rng.random() < 0.5:
        history.transaction_reads.append(changed)
    else:
        swap(history.transaction_reads, read, changed)


@perhaps_harmless
def lose_committed_reads(history: EditableHistory, rng: Random) -> None:
    """The fresh read_committed reader did not come to the end of a partition."""
    proof = first(each for each in history.proofs if each.committed_to != NONE)
    swap(history.proofs, proof, replace(proof, committed_to=rng.choice((NONE, proof.log_start))))


@perhaps_harmless
def forget_table_of_transactions(history: EditableHistory, rng: Random) -> None:
    """A table of transactions was not collected."""
    _ledger(history)
    table = rng.choice(("fencings", "transaction_reads", "markers"))
    history.collected.discard(table)
    getattr(history, table).clear()


TRANSACTION_KINDS = (
    give_aborted,
    give_too_early,
    give_of_a_zombie,
    commit_for_a_zombie,
    hide_committed,
    tear_transaction,
    keep_open,
    keep_open_for_a_while,
    turn_marker,
    lose_marker,
    forget_marker_of_one,
    move_marker,
    forget_transaction,
    change_end,
    stretch_transaction,
    take_over_sooner,
    shuffle_committed_reads,
    lose_committed_reads,
    forget_table_of_transactions,
)

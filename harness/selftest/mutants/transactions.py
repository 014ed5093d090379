"""Damage to what a run has of its transactions: what clients were told, what was visible, and the markers."""

from checkers.history.records.transactions import FINAL_READER
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from harness.selftest.choose import identity, middle, of
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row
from harness.selftest.mutant import family


def hide_committed_record(copy: DamagedCopy) -> None:
    """A record of a committed transaction was not visible in the end."""
    its, reads = _ended(copy, "committed"), copy.rows("transaction_reads")
    final = [row for row in reads if row["reader"] == FINAL_READER and _is_of(row, its)]
    gone = identity(middle(final, "no record of it was visible"))
    kept = [row for row in reads if row["reader"] != FINAL_READER or identity(row) != gone]
    copy.put("transaction_reads", kept)


def give_aborted_record(copy: DamagedCopy) -> None:
    """A reader of what is committed was given a record of an aborted transaction."""
    tp, record = middle(_logged(copy, _ended(copy, "aborted")), "no record of it in the log")
    its = {name: record[name] for name in ("offset", "leader_epoch", "producer", "sequence", "checksum")}
    at_ns = int(_ended(copy, "committed")["completed_ns"])
    given = its | tp._asdict() | {"reader": 1, "generation": 1, "read_ns": at_ns}
    copy.put("transaction_reads", [*copy.rows("transaction_reads"), given])


def tell_aborted(copy: DamagedCopy) -> None:
    """A client was told that its transaction was aborted, and all of it is visible."""
    rows = copy.rows("transactions")
    its = _number(_ended(copy, "committed"))
    told = [row | {"outcome": "aborted"} if _number(row) == its else row for row in rows]
    copy.put("transactions", told)


def take_over_before_a_commit(copy: DamagedCopy) -> None:
    """Another instance had taken over before a transaction's commit was asked for, which was granted."""
    its = _ended(copy, "committed")
    fencing = {
        "transactional_id": its["transactional_id"],
        "producer": its["producer"],
        "by": NONE,
        "begun_ns": its["begun_ns"],
        "done_ns": its["begun_ns"] + 1,
        "at_ns": NONE,
        "error": "",
    }
    copy.put("fencings", [*copy.rows("fencings"), fencing])


def forget_transaction(copy: DamagedCopy) -> None:
    """A transaction was not written down."""
    rows, its = copy.rows("transactions"), _number(_ended(copy, "committed"))
    copy.put("transactions", [row for row in rows if _number(row) != its])


def turn_marker(copy: DamagedCopy) -> None:
    """On all disks a marker aborts a transaction in one of its partitions, which was committed."""
    marker, markers = _marker(copy)
    marker["kind"] = "abort"
    copy.put("markers", markers)


def lose_marker(copy: DamagedCopy) -> None:
    """On no disk there is a marker at the offset of one."""
    marker, markers = _marker(copy)
    copy.put("markers", [row for row in markers if row is not marker])


def read_nothing_committed(copy: DamagedCopy) -> None:
    """Nobody has read what is committed in the end."""
    _ended(copy, "committed")
    copy.put("proofs", [row | {"committed_to": NONE} for row in copy.rows("proofs")])


def _number(row: Row) -> tuple[int, int]:
    """Which transaction a row is about."""
    return row["producer"], row["number"]


def _ended(copy: DamagedCopy, outcome: str) -> Row:
    """A transaction with this outcome, with a producer id and with records, from the middle of the run."""
    its = [
        row
        for row in copy.rows("transactions")
        if row["outcome"] == outcome
        and row["producer_id"] != NONE
        and row["first_sequence"] <= row["last_sequence"]
    ]
    return middle(its, f"no transaction that is {outcome}")


def _is_of(row: Row, its: Row) -> bool:
    """Whether a record is one of a transaction's sends."""
    return bool(
        row["producer"] == its["producer"]
        and its["first_sequence"] <= row["sequence"] <= its["last_sequence"]
    )


def _logged(copy: DamagedCopy, its: Row) -> list[tuple[TopicPartition, Row]]:
    """The records of a transaction in the final log."""
    return [(tp, row) for tp in copy.partitions for row in copy.rows("final_log", tp) if _is_of(row, its)]


def _marker(copy: DamagedCopy) -> tuple[Row, list[Row]]:
    """The marker that ends a committed transaction in one of its partitions, among all markers."""
    its = _ended(copy, "committed")
    tp, _ = middle(_logged(copy, its), "no record of it in the log")
    last = max(row["offset"] for where, row in _logged(copy, its) if where == tp)
    markers = copy.rows("markers")
    behind = [
        row for row in of(markers, tp) if row["producer_id"] == its["producer_id"] and row["offset"] > last
    ]
    if not behind:
        raise NotApplicable("no marker behind its records")
    return min(behind, key=lambda row: row["offset"]), markers


MUTANTS = family(
    "transactions",
    hide_committed_record,
    give_aborted_record,
    tell_aborted,
    take_over_before_a_commit,
    forget_transaction,
    turn_marker,
    lose_marker,
    read_nothing_committed,
)

"""Chooses what a mutant damages: always the same place of a run, where the damage cannot be harmless.

A record is taken from the middle of its log, acknowledged with its offset, so that neither the end of the run
nor a permitted truncation can excuse what becomes of it.
"""

from collections.abc import Sequence
from typing import TypeVar

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, Outcome
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row

Item = TypeVar("Item")


def busiest(copy: DamagedCopy) -> TopicPartition:
    """The first partition that has most records in the final log; NotApplicable if none has any."""
    counts = {tp: copy.count("final_log", tp) for tp in copy.partitions}
    found = max(copy.partitions, key=lambda tp: (counts[tp], -tp.partition), default=None)
    if found is None or not counts[found]:
        raise NotApplicable("no record in the final log")
    return found


def another(copy: DamagedCopy, tp: TopicPartition) -> TopicPartition:
    """A partition that is not this one; NotApplicable if there is none."""
    return first([each for each in copy.partitions if each != tp], "no second partition")


def first(items: Sequence[Item], lack: str) -> Item:
    """The first of some items; NotApplicable, with what is lacking, if there is none."""
    if not items:
        raise NotApplicable(lack)
    return items[0]


def middle(items: Sequence[Item], lack: str) -> Item:
    """The one in the middle of some items; NotApplicable if there is none."""
    if not items:
        raise NotApplicable(lack)
    return items[len(items) // 2]


def identity(row: Row) -> tuple[int, int]:
    """The id of the record that a row is about."""
    return row["producer"], row["sequence"]


def acked_places(copy: DamagedCopy, tp: TopicPartition) -> list[int]:
    """Places in the final log of the records that were acknowledged at just their offset, by offset."""
    acks = {
        identity(send): send["offset"]
        for send in copy.rows("sends", tp)
        if send["outcome"] == Outcome.OK and send["offset"] != NONE
    }
    log = copy.rows("final_log", tp)
    return [at for at, row in enumerate(log) if acks.get(identity(row)) == row["offset"]]


def a_place(copy: DamagedCopy, tp: TopicPartition) -> int:
    """The place in the final log of an acknowledged record in the middle of it."""
    return middle(acked_places(copy, tp), "no acknowledged record in the log")


def send_of(sends: Sequence[Row], record: Row) -> Row:
    """The send of a record of the log."""
    return first([send for send in sends if identity(send) == identity(record)], "a send of the record")


def lost_sends(copy: DamagedCopy) -> list[tuple[TopicPartition, Row]]:
    """Every acknowledged send whose record is not in the final log of its partition."""
    found = []
    for tp in copy.partitions:
        held = {identity(row) for row in copy.rows("final_log", tp)}
        found += [
            (tp, send)
            for send in copy.rows("sends", tp)
            if send["outcome"] == Outcome.OK and identity(send) not in held
        ]
    return found


def last_ns(copy: DamagedCopy, tp: TopicPartition) -> int:
    """When the last send of a partition was completed."""
    return max((send["completed_ns"] for send in copy.rows("sends", tp)), default=NONE)


def waits_for_all(copy: DamagedCopy) -> None:
    """NotApplicable unless every producer waits for all in-sync replicas."""
    if not copy.manifest["producers"] or any(each["acks"] != "all" for each in copy.manifest["producers"]):
        raise NotApplicable("no producer with acks=all")


def proof_of(proofs: Sequence[Row], tp: TopicPartition) -> Row:
    """The proof of a partition."""
    return first([row for row in proofs if (row["topic"], row["partition"]) == tp], f"no proof of {tp}")


def of(rows: Sequence[Row], tp: TopicPartition) -> list[Row]:
    """The rows about one partition."""
    return [row for row in rows if (row["topic"], row["partition"]) == tp]

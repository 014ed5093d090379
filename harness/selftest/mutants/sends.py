"""Damage to what the clients wrote down: hidden, denied, invented and misdated sends and acknowledgements."""

from collections.abc import Callable
from itertools import groupby
from operator import itemgetter

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, Outcome
from harness.selftest.agreeing_evidence import append
from harness.selftest.choose import (
    a_place,
    another,
    busiest,
    first,
    identity,
    last_ns,
    lost_sends,
    send_of,
)
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row
from harness.selftest.mutant import family

FEW = 5
SECOND_NS = 1_000_000_000


def hide_attempt(copy: DamagedCopy) -> None:
    """One attempt is missing, a lost record's if there is one; the counts know of none."""
    lost = lost_sends(copy)
    tp, gone = lost[len(lost) // 2] if lost else _a_send(copy)
    copy.put("sends", [row for row in copy.rows("sends", tp) if identity(row) != identity(gone)], tp)


def hide_last_attempts(copy: DamagedCopy) -> None:
    """The last attempts of a producer, all acknowledged, are missing; the counts know of none."""
    hidden = _last_attempts(copy)
    for tp in copy.partitions:
        copy.put("sends", [row for row in copy.rows("sends", tp) if identity(row) not in hidden], tp)


def deny_record(copy: DamagedCopy) -> None:
    """A record is in the log, and its client says that it failed for certain."""
    _change_send(copy, lambda _: {"outcome": Outcome.FAIL.value, "offset": NONE, "error": "refused"})


def acknowledge_elsewhere(copy: DamagedCopy) -> None:
    """A record was acknowledged at another offset than where it is."""
    _change_send(copy, lambda send: {"offset": send["offset"] + 1})


def acknowledge_nothing(copy: DamagedCopy) -> None:
    """A record was acknowledged at an offset that another one has, and never written."""
    _acknowledged(copy, lambda offset: offset)


def acknowledge_nothing_nowhere(copy: DamagedCopy) -> None:
    """A record was acknowledged without an offset, and never written."""
    _acknowledged(copy, lambda _: NONE)


def acknowledge_before_sending(copy: DamagedCopy) -> None:
    """A record was acknowledged before it was sent."""
    _change_send(copy, lambda send: {"completed_ns": send["invoked_ns"] - SECOND_NS})


def send_too_late(copy: DamagedCopy) -> None:
    """A record was sent after those behind it had been acknowledged."""
    tp, record = _a_send(copy)
    if any(each["acks"] == "0" for each in copy.manifest["producers"]):
        raise NotApplicable("acks=0 answers nothing")
    sends, end_ns = copy.rows("sends", tp), last_ns(copy, tp)
    send_of(sends, record).update(invoked_ns=end_ns + 1, completed_ns=end_ns + 2)
    copy.put("sends", sends, tp)


def send_other_content(copy: DamagedCopy) -> None:
    """A client had sent another content than what its record has."""
    _change_send(copy, lambda send: {"checksum": send["checksum"] + 1})


def send_to_another_partition(copy: DamagedCopy) -> None:
    """A send had been meant for another partition than the one that has its record."""
    tp, record = _a_send(copy)
    sends, target = copy.rows("sends", tp), another(copy, tp)
    send = send_of(sends, record)
    copy.put("sends", [row for row in sends if row is not send], tp)
    copy.put("sends", [*copy.rows("sends", target), send | target._asdict()], target)


def use_id_twice(copy: DamagedCopy) -> None:
    """Two sends have one id."""
    tp, record = _a_send(copy)
    sends = copy.rows("sends", tp)
    copy.put("sends", [*sends, dict(send_of(sends, record))], tp)


def write_record_twice(copy: DamagedCopy) -> None:
    """A producer's record is in the log under the next sequence too, which it never used."""
    tp, record = _a_send(copy)
    attempts = sum(
        row["producer"] == record["producer"] for each in copy.partitions for row in copy.rows("sends", each)
    )
    append(copy, tp, copy.rows("final_log", tp)[-1] | record | {"sequence": attempts})


def unknown_outcome(copy: DamagedCopy) -> None:
    """A send has an outcome that there is not."""
    tp, record = _a_send(copy)
    sends = copy.rows("sends", tp)
    send_of(sends, record)["outcome"] = 7
    copy.put("sends", sends, tp)


def _last_attempts(copy: DamagedCopy) -> set[tuple[int, int]]:
    """The ids of the FEW last attempts of the first producer of which those were acknowledged.

    What a client gave up when it went fatal may never have been written: nothing shows that it was sent.
    """
    sends = sorted((row for tp in copy.partitions for row in copy.rows("sends", tp)), key=identity)
    of_each = [list(group)[-FEW:] for _, group in groupby(sends, key=itemgetter("producer"))]
    acknowledged = [last for last in of_each if all(row["outcome"] == Outcome.OK.value for row in last)]
    return set(map(identity, first(acknowledged, "no producer whose last attempts were acknowledged")))


def _a_send(copy: DamagedCopy) -> tuple[TopicPartition, Row]:
    """The id of a record in the middle of the busiest log, with its partition."""
    tp = busiest(copy)
    record = copy.rows("final_log", tp)[a_place(copy, tp)]
    return tp, {name: record[name] for name in ("producer", "sequence", "checksum")}


def _change_send(copy: DamagedCopy, change: Callable[[Row], Row]) -> None:
    """The send of a record gets the columns of `change`."""
    tp, record = _a_send(copy)
    sends = copy.rows("sends", tp)
    send = send_of(sends, record)
    send |= change(send)
    copy.put("sends", sends, tp)


def _acknowledged(copy: DamagedCopy, place: Callable[[int], int]) -> None:
    """Add an acknowledged send that continues its producer's sequence, and was never written."""
    tp, record = _a_send(copy)
    sends = copy.rows("sends", tp)
    model = send_of(sends, record)
    attempts = sum(
        row["producer"] == model["producer"] for each in copy.partitions for row in copy.rows("sends", each)
    )
    never = model | {"sequence": attempts, "checksum": 1, "offset": place(model["offset"])}
    copy.put("sends", [*sends, never], tp)


MUTANTS = family(
    "sends",
    hide_attempt,
    hide_last_attempts,
    deny_record,
    acknowledge_elsewhere,
    acknowledge_nothing,
    acknowledge_nothing_nowhere,
    acknowledge_before_sending,
    send_too_late,
    send_other_content,
    send_to_another_partition,
    use_id_twice,
    write_record_twice,
    unknown_outcome,
)

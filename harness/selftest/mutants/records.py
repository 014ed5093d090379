"""Damage to the log itself: lost, doubled, moved, changed and invented records.

Unless a mutant says "of the final read only", every disk and every reader agrees with the damaged log, and
only the clients' sends and acknowledgements contradict it.
"""

from checkers.history.tables import NONE
from harness.selftest.agreeing_evidence import append, cut, everywhere
from harness.selftest.choose import (
    a_place,
    acked_places,
    another,
    busiest,
    first,
    identity,
    lost_sends,
    middle,
    of,
)
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row
from harness.selftest.mutant import family

STRANGER = 9_999
"""A producer that no run has."""
_OF_A_RECORD = ("producer", "sequence", "checksum", "timestamp_ms")


def drop_record(copy: DamagedCopy) -> None:
    """An acknowledged record is gone from every log, and leaves a hole."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    del log[a_place(copy, tp)]
    everywhere(copy, tp, log)


def drop_from_final_read(copy: DamagedCopy) -> None:
    """An acknowledged record is gone from the final read only."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    del log[a_place(copy, tp)]
    copy.put("final_log", log, tp)


def drop_and_close(copy: DamagedCopy) -> None:
    """An acknowledged record is gone from the final read, and all behind it move up by one offset."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    at = a_place(copy, tp)
    moved = [row | {"offset": row["offset"] - 1} for row in log[at + 1 :]]
    copy.put("final_log", [*log[:at], *moved], tp)
    proofs = copy.rows("proofs")
    for row in of(proofs, tp):
        row |= {name: row[name] - 1 for name in ("high_watermark", "last_stable", "log_end", "read_to")}
    copy.put("proofs", proofs)


def replace_record(copy: DamagedCopy) -> None:
    """Another acknowledged record of the partition has the place of one, and is there twice."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    at = a_place(copy, tp)
    log[at] |= _content(log[at - 1])
    everywhere(copy, tp, log)


def duplicate_record(copy: DamagedCopy) -> None:
    """An acknowledged record is at the end of every log once more."""
    tp = busiest(copy)
    append(copy, tp, copy.rows("final_log", tp)[a_place(copy, tp)])


def swap_records(copy: DamagedCopy) -> None:
    """Two neighbouring records of different producers have traded places."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    at = a_place(copy, tp)
    places = range(at, len(log) - 1)
    found = [n for n in places if log[n]["producer"] != log[n + 1]["producer"]]
    here = first(found, "neighbours of two producers")
    _exchange(log, here, here + 1)
    everywhere(copy, tp, log)


def swap_of_one_producer(copy: DamagedCopy) -> None:
    """Two records of one producer have traded places, and so have their acknowledged offsets."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    at = a_place(copy, tp)
    others = [n for n in acked_places(copy, tp) if n > at and log[n]["producer"] == log[at]["producer"]]
    there = first(others, "two records of one producer")
    offsets = {identity(log[at]): log[there]["offset"], identity(log[there]): log[at]["offset"]}
    sends = copy.rows("sends", tp)
    for send in sends:
        send["offset"] = offsets.get(identity(send), send["offset"])
    copy.put("sends", sends, tp)
    _exchange(log, at, there)
    everywhere(copy, tp, log)


def move_record(copy: DamagedCopy) -> None:
    """An acknowledged record is in another partition, and no more in its own."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    record = log.pop(a_place(copy, tp))
    everywhere(copy, tp, log)
    target = another(copy, tp)
    append(copy, target, record | target._asdict())


def move_to_the_end(copy: DamagedCopy) -> None:
    """An acknowledged record lies behind all others now."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    record = log.pop(a_place(copy, tp))
    everywhere(copy, tp, log)
    append(copy, tp, record)


def reuse_offset(copy: DamagedCopy) -> None:
    """Two records of the final read have one offset."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    at = a_place(copy, tp)
    log.insert(at, dict(log[at]))
    copy.put("final_log", log, tp)


def corrupt_record(copy: DamagedCopy) -> None:
    """A record has another content than what was sent, on every disk."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    log[a_place(copy, tp)]["checksum"] += 1
    everywhere(copy, tp, log)


def forget_id(copy: DamagedCopy) -> None:
    """No id can be read from a record any more, on every disk."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    log[a_place(copy, tp)] |= {"producer": NONE, "sequence": NONE}
    everywhere(copy, tp, log)


def phantom_record(copy: DamagedCopy) -> None:
    """A record that nobody sent is at the end of every log."""
    tp = busiest(copy)
    append(copy, tp, copy.rows("final_log", tp)[-1] | {"producer": STRANGER, "sequence": 0})


def resurrect_lost_record(copy: DamagedCopy) -> None:
    """A record that the run lost is at the end of every log after all."""
    tp, lost = first(lost_sends(copy), "no lost record")
    log = copy.rows("final_log", tp)
    append(copy, tp, log[-1] | {name: lost[name] for name in ("producer", "sequence", "checksum")})


def cut_the_end(copy: DamagedCopy) -> None:
    """Every log ends before its last acknowledged records; no sample and no reader knows better."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    reached = log[acked_places(copy, tp)[-1]]["offset"]
    begins = set.intersection(
        *({each["base_offset"] for each in copy.batches(tp, broker)} for broker in copy.brokers_of(tp))
    )
    ends = sorted(begin for begin in begins if 0 < begin <= reached)
    cut(copy, tp, middle(ends[-3:], "a batch at the end of the log"))


def cut_the_beginning(copy: DamagedCopy) -> None:
    """The log starts behind its first records, though nothing deletes any."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    start = log[0]["offset"] + 5
    proofs = copy.rows("proofs")
    for row in of(proofs, tp):
        row["log_start"] = start
    copy.put("proofs", proofs)
    everywhere(copy, tp, [row for row in log if row["offset"] >= start])


def other_epoch(copy: DamagedCopy) -> None:
    """Behind a loss, a record of the final read carries an epoch under which it was not written."""
    tp, _ = first(lost_sends(copy), "no lost record: the epochs of the log decide nothing")
    log = copy.rows("final_log", tp)
    log[a_place(copy, tp)]["leader_epoch"] += 1
    copy.put("final_log", log, tp)


def leave_partition_out(copy: DamagedCopy) -> None:
    """The final read of a partition has found nothing, and says that it is complete."""
    tp = busiest(copy)
    proofs = copy.rows("proofs")
    for row in of(proofs, tp):
        row |= dict.fromkeys(("high_watermark", "last_stable", "log_end", "read_to"), row["log_start"])
    copy.put("proofs", proofs)
    copy.put("final_log", [], tp)


def leave_end_unread(copy: DamagedCopy) -> None:
    """The final read stopped below the log's end; what is above is on disk."""
    tp = busiest(copy)
    log = copy.rows("final_log", tp)
    if len(log) < 2:
        raise NotApplicable("only one record in the final log")
    end = log[-10:][0]["offset"]
    proofs = copy.rows("proofs")
    for row in of(proofs, tp):
        row |= dict.fromkeys(("high_watermark", "last_stable", "read_to"), end)
    copy.put("proofs", proofs)
    copy.put("final_log", [row for row in log if row["offset"] < end], tp)


def prove_nothing(copy: DamagedCopy) -> None:
    """The final read of a partition is not proven complete."""
    tp = busiest(copy)
    proofs = copy.rows("proofs")
    for row in of(proofs, tp):
        row |= {"complete": False, "reason": "a replica is not in sync"}
    copy.put("proofs", proofs)


def _content(row: Row) -> Row:
    return {name: row[name] for name in _OF_A_RECORD}


def _exchange(log: list[Row], here: int, there: int) -> None:
    one, other = _content(log[here]), _content(log[there])
    log[here] |= other
    log[there] |= one


MUTANTS = family(
    "records",
    drop_record,
    drop_from_final_read,
    drop_and_close,
    replace_record,
    duplicate_record,
    swap_records,
    swap_of_one_producer,
    move_record,
    move_to_the_end,
    reuse_offset,
    corrupt_record,
    forget_id,
    phantom_record,
    resurrect_lost_record,
    cut_the_end,
    cut_the_beginning,
    other_epoch,
    leave_partition_out,
    leave_end_unread,
    prove_nothing,
)

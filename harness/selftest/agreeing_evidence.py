"""Lets all other evidence agree with a changed final log, so that only the acknowledgements contradict it.

A damage that only the final read shows is found by any replica's disk. The harder question is one that the
whole cluster agrees on: every disk and every reader tells the same, and only the clients know better.
"""

import numpy as np

from checkers.history.records.digest import digests, mix
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from harness.selftest.choose import identity, of, proof_of
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row

_OF_A_RECORD = ("producer", "sequence", "checksum")


def everywhere(copy: DamagedCopy, tp: TopicPartition, log: list[Row]) -> None:
    """Give the final log of a partition these rows, and every disk and every reader the same records."""
    before = {row["offset"]: row for row in copy.rows("final_log", tp)}
    after = {row["offset"]: row for row in log}
    copy.put("final_log", log, tp)
    _tell_readers(copy, tp, before, after)
    _tell_disks(copy, tp)


def _tell_readers(
    copy: DamagedCopy, tp: TopicPartition, before: dict[int, Row], after: dict[int, Row]
) -> None:
    changed = {offset for offset, row in before.items() if _record(row) != _record(after.get(offset))}
    told = []
    for read in copy.rows("reads", tp):
        offset = read["offset"]
        if offset in changed and identity(before[offset]) == identity(read):
            if offset not in after:
                continue
            read |= {name: after[offset][name] for name in _OF_A_RECORD}
        told.append(read)
    copy.put("reads", told, tp)


def _record(row: Row | None) -> tuple[int, ...] | None:
    return tuple(row[name] for name in _OF_A_RECORD) if row else None


def _tell_disks(copy: DamagedCopy, tp: TopicPartition) -> None:
    log = copy.rows("final_log", tp)
    offsets = np.array([row["offset"] for row in log], np.int64)
    mixed = mix(offsets, *(np.array([row[name] for row in log], np.int64) for name in _OF_A_RECORD))
    try:
        brokers = copy.brokers_of(tp)
    except NotApplicable:
        return
    for broker in brokers:
        batches = copy.batches(tp, broker)
        base = np.array([each["base_offset"] for each in batches], np.int64)
        last = base + np.array([each["last_offset_delta"] for each in batches], np.int64)
        first, end = np.searchsorted(offsets, base), np.searchsorted(offsets, last, "right")
        for each, begin, stop, digest in zip(
            batches, first.tolist(), end.tolist(), digests(mixed, first, end).tolist(), strict=True
        ):
            if each["digest"] != NONE:
                each |= {"digest": digest, "records": stop - begin}
        copy.put_batches(tp, broker, batches)


def append(copy: DamagedCopy, tp: TopicPartition, record: Row) -> None:
    """Put a record behind all others, in the final log, in its proof and on every disk."""
    proofs = copy.rows("proofs")
    proof = proof_of(proofs, tp)
    end = proof["log_end"]
    for name in ("high_watermark", "last_stable", "log_end", "read_to"):
        proof[name] = end + 1
    copy.put("proofs", proofs)
    copy.put("final_log", [*copy.rows("final_log", tp), record | {"offset": end}], tp)
    try:
        brokers = copy.brokers_of(tp)
    except NotApplicable:
        return
    for broker in brokers:
        _append_batch(copy, tp, broker, end)
    replicas = copy.rows("replicas")
    for row in of(replicas, tp):
        row |= dict.fromkeys(("log_end", "recovery_point", "hw_checkpoint"), end + 1)
        row["batches"] += 1
        row["epoch_starts"] = [end + 1 if start == end else start for start in row["epoch_starts"]]
    copy.put("replicas", replicas)
    _tell_disks(copy, tp)


def _append_batch(copy: DamagedCopy, tp: TopicPartition, broker: int, end: int) -> None:
    batches = copy.batches(tp, broker)
    last = batches[-1]
    batch = {
        "position": last["position"] + last["size"],
        "base_offset": end,
        "last_offset_delta": 0,
        "producer_id": NONE,
        "producer_epoch": NONE,
        "base_sequence": NONE,
        "records": 1,
        "digest": 0,
    }
    copy.put_batches(tp, broker, [*batches, last | batch])


def cut(copy: DamagedCopy, tp: TopicPartition, end: int) -> None:
    """Let a partition end at an offset that begins a batch: for the final read, disks, samples, readers."""
    proofs = copy.rows("proofs")
    proof_of(proofs, tp).update(dict.fromkeys(("high_watermark", "last_stable", "log_end", "read_to"), end))
    copy.put("proofs", proofs)
    copy.put("final_log", [row for row in copy.rows("final_log", tp) if row["offset"] < end], tp)
    copy.put("reads", [row for row in copy.rows("reads", tp) if row["offset"] < end], tp)
    for table, names in (
        ("watermarks", ("high_watermark", "last_stable")),
        ("replica_offsets", ("log_end",)),
        ("broker_lines", ("offset",)),
    ):
        rows = copy.rows(table)
        for row in of(rows, tp):
            row |= {name: min(row[name], end) for name in names}
        copy.put(table, rows)
    for broker in copy.brokers_of(tp):
        cut_disk(copy, tp, broker, end)


def cut_disk(copy: DamagedCopy, tp: TopicPartition, broker: int, end: int) -> None:
    """Let one replica end at an offset that begins a batch, and its checkpoints know no better."""
    kept = [each for each in copy.batches(tp, broker) if each["base_offset"] < end]
    copy.put_batches(tp, broker, kept)
    replicas = copy.rows("replicas")
    for row in of(replicas, tp):
        if row["broker"] == broker:
            known = [
                (epoch, start)
                for epoch, start in zip(row["epochs"], row["epoch_starts"], strict=True)
                if start < end
            ]
            row |= {name: min(row[name], end) for name in ("log_end", "recovery_point", "hw_checkpoint")}
            row |= {"epochs": [epoch for epoch, _ in known], "epoch_starts": [start for _, start in known]}
            row["batches"] = len(kept)
    copy.put("replicas", replicas)
    states = copy.rows("producer_states")
    copy.put(
        "producer_states",
        [
            row
            for row in states
            if (row["topic"], row["partition"], row["broker"]) != (*tp, broker) or row["last_offset"] < end
        ],
    )

"""Damage to what the brokers' disks held after the clean stop: batches, checkpoints, producer snapshots."""

from collections.abc import Callable

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from harness.selftest.agreeing_evidence import cut_disk
from harness.selftest.choose import busiest, first, middle, of
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row
from harness.selftest.mutant import family


def truncate_replica(copy: DamagedCopy) -> None:
    """One replica lacks the end of the log, and its checkpoints know no better."""
    tp, broker, batches = _a_disk(copy)
    cut_disk(copy, tp, broker, batches[-3:][0]["base_offset"])


def empty_replica(copy: DamagedCopy) -> None:
    """One replica holds nothing, and its checkpoints know no better."""
    tp, broker, _ = _a_disk(copy)
    cut_disk(copy, tp, broker, 0)


def drop_batch(copy: DamagedCopy) -> None:
    """One replica lacks a batch in the middle of its log."""
    tp, broker, batches = _a_disk(copy)
    del batches[len(batches) // 2]
    _count(copy, tp, broker, len(batches))
    copy.put_batches(tp, broker, batches)


def drop_batch_everywhere(copy: DamagedCopy) -> None:
    """Every replica lacks a batch that the final read has got."""
    tp, _, batches = _a_disk(copy)
    gone = middle(_of_records(batches), "a batch of records")["base_offset"]
    for broker in copy.brokers_of(tp):
        kept = [each for each in copy.batches(tp, broker) if each["base_offset"] != gone]
        _count(copy, tp, broker, len(kept))
        copy.put_batches(tp, broker, kept)


def flip_byte_of_batch(copy: DamagedCopy) -> None:
    """A byte of a batch is another one on one replica, and its CRC shows it."""
    tp, broker, batches = _a_disk(copy)
    middle(batches, "a batch").update(crc_ok=False, digest=NONE, error="wrong CRC")
    copy.put_batches(tp, broker, batches)


def flip_byte_with_crc(copy: DamagedCopy) -> None:
    """A follower holds other records in a batch, with a CRC that fits them."""
    tp, broker, batches = _a_disk(copy)
    row = middle(batches, "a batch")
    row |= {"digest": row["digest"] ^ 1, "crc": row["crc"] ^ 1}
    copy.put_batches(tp, broker, batches)


def other_records_everywhere(copy: DamagedCopy) -> None:
    """Every disk holds other records in a batch than the final read has got."""
    tp, _, batches = _a_disk(copy)
    batch = middle(_of_records(batches), "a batch of records")
    _change_everywhere(copy, tp, batch, lambda row: {"digest": row["digest"] ^ 1, "crc": row["crc"] ^ 1})


def swap_batches(copy: DamagedCopy) -> None:
    """Two neighbouring batches of one replica have traded places in its file."""
    tp, broker, batches = _a_disk(copy)
    at = len(batches) // 2
    batches[at - 1 : at + 1] = [batches[at], batches[at - 1]]
    copy.put_batches(tp, broker, batches)


def reuse_offsets_of_batch(copy: DamagedCopy) -> None:
    """A batch of one replica has the offsets of the one before it."""
    tp, broker, batches = _a_disk(copy)
    at = len(batches) // 2
    batches[at]["base_offset"] = batches[at - 1]["base_offset"]
    copy.put_batches(tp, broker, batches)


def repeat_batch(copy: DamagedCopy) -> None:
    """One replica has its last batch twice."""
    tp, broker, batches = _a_disk(copy)
    last = batches[-1]
    _count(copy, tp, broker, len(batches) + 1)
    copy.put_batches(tp, broker, [*batches, last | {"position": last["position"] + last["size"]}])


def resurrect_tail(copy: DamagedCopy) -> None:
    """One replica has the tail of an older leader, which it should have truncated, instead of the log's."""
    tp, broker, batches = _a_disk(copy)
    for row in batches[-2:]:
        row |= {"leader_epoch": max(0, row["leader_epoch"] - 1), "digest": row["digest"] ^ 5}
        row["crc"] ^= 5
    copy.put_batches(tp, broker, batches)


def fall_back_in_epoch(copy: DamagedCopy) -> None:
    """A batch on every disk is of a later leader epoch than the one behind it."""
    tp, _, batches = _a_disk(copy)
    batch = middle(batches, "a batch")
    _change_everywhere(copy, tp, batch, lambda row: {"leader_epoch": row["leader_epoch"] + 1})


def skip_sequence(copy: DamagedCopy) -> None:
    """On every disk a producer's sequence has a gap between two batches."""
    tp, _, batches = _a_disk(copy)
    batch = _of_idempotent(batches)
    _change_everywhere(copy, tp, batch, lambda row: {"base_sequence": row["base_sequence"] + 1})


def forge_snapshot(copy: DamagedCopy) -> None:
    """A producer snapshot has another last sequence than the log."""
    # That of a transactional producer may have: the markers of its transactions count, too.
    states = copy.rows("producer_states")
    tp, _, batches = _a_disk(copy)
    marked = {row["producer_id"] for row in batches if _is_marker(row)}
    its = [row for row in of(states, tp) if row["producer_id"] not in marked]
    first(its, "no snapshot of a producer without transactions")["last_sequence"] += 1
    copy.put("producer_states", states)


def forge_hw_checkpoint(copy: DamagedCopy) -> None:
    """A replica's high watermark checkpoint lies behind the end of its log."""
    _change_replica(copy, lambda row: {"hw_checkpoint": row["log_end"] + 4})


def forge_epoch_checkpoint(copy: DamagedCopy) -> None:
    """A replica's leader-epoch checkpoint lets an epoch begin at another offset than its log."""
    _change_replica(
        copy, lambda row: {"epoch_starts": [row["epoch_starts"][0] + 1, *row["epoch_starts"][1:]]}
    )


def leave_bytes_at_the_end(copy: DamagedCopy) -> None:
    """Bytes follow the last whole batch of a replica, though its broker stopped cleanly."""
    _change_replica(copy, lambda _: {"torn_bytes": 17})


def leave_replica_unread(copy: DamagedCopy) -> None:
    """A replica's disk could not be read to its end."""
    _change_replica(copy, lambda _: {"complete": False, "reason": "a file cannot be read"})


def lose_replica(copy: DamagedCopy) -> None:
    """Nothing is there of one broker's disk: no row, no batch, no snapshot."""
    _, gone, _ = _a_disk(copy)
    for each in copy.partitions:
        copy.put_batches(each, gone, [])
    for table in ("replicas", "producer_states"):
        copy.put(table, [row for row in copy.rows(table) if row["broker"] != gone])


def _a_disk(copy: DamagedCopy) -> tuple[TopicPartition, int, list[Row]]:
    """The busiest partition, the last broker that has it, and its batches."""
    tp = busiest(copy)
    broker = copy.brokers_of(tp)[-1]
    batches = copy.batches(tp, broker)
    if len(batches) < 4:
        raise NotApplicable("less than four batches on a disk")
    return tp, broker, batches


def _of_records(batches: list[Row]) -> list[Row]:
    """Those without the markers of transactions."""
    return [row for row in batches if not _is_marker(row)]


def _is_marker(batch: Row) -> bool:
    return bool(batch["digest"] == NONE)


def _of_idempotent(batches: list[Row]) -> Row:
    """A batch in the middle whose producer has written before it."""
    half = len(batches) // 2
    before = {row["producer_id"] for row in batches[:half]}
    its = [row for row in batches[half:] if row["base_sequence"] >= 0 and row["producer_id"] in before]
    return first(its, "no idempotent producer")


def _change_everywhere(
    copy: DamagedCopy, tp: TopicPartition, batch: Row, change: Callable[[Row], Row]
) -> None:
    """On every replica the batch at this one's place gets the columns of `change`."""
    for broker in copy.brokers_of(tp):
        rows = copy.batches(tp, broker)
        for row in rows:
            if row["base_offset"] == batch["base_offset"]:
                row |= change(row)
        copy.put_batches(tp, broker, rows)


def _change_replica(copy: DamagedCopy, change: Callable[[Row], Row]) -> None:
    tp = busiest(copy)
    rows = copy.rows("replicas")
    row = first(of(rows, tp), "no replica")
    row |= change(row)
    copy.put("replicas", rows)


def _count(copy: DamagedCopy, tp: TopicPartition, broker: int, batches: int) -> None:
    rows = copy.rows("replicas")
    for row in of(rows, tp):
        if row["broker"] == broker:
            row["batches"] = batches
    copy.put("replicas", rows)


MUTANTS = family(
    "disks",
    truncate_replica,
    empty_replica,
    drop_batch,
    drop_batch_everywhere,
    flip_byte_of_batch,
    flip_byte_with_crc,
    other_records_everywhere,
    swap_batches,
    reuse_offsets_of_batch,
    repeat_batch,
    resurrect_tail,
    fall_back_in_epoch,
    skip_sequence,
    forge_snapshot,
    forge_hw_checkpoint,
    forge_epoch_checkpoint,
    leave_bytes_at_the_end,
    leave_replica_unread,
    lose_replica,
)

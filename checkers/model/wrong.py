"""What a correct Kafka and a correct client never do, found in the truth of a run, beside lost records."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from checkers.history.tables import NONE
from checkers.model.clients.reader import Reader
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.log import Batch, Sent
from checkers.model.observe.final_read import Found


def wrong_of(
    cluster: Cluster, found: Mapping[int, Sequence[Found]], readers: Sequence[Reader]
) -> tuple[str, ...]:
    """The names of what is wrong, each with its place."""
    wrong: list[str] = []
    starts: dict[int, int] = {}
    for partition, rows in found.items():
        retained_from = max(one.retained_from for one in cluster.replicas_of(partition))
        wrong += [f"{what} in partition {partition}" for what in _in_final_log(rows, retained_from)]
        wrong += [f"{what} of partition {partition}" for what in _in_replicas(cluster, partition)]
        starts[partition] = min(retained_from, rows[0].offset) if rows else 0
    wrong += _above_high_watermark(cluster, found, readers, starts)
    return tuple(wrong)


def _in_final_log(rows: Sequence[Found], retained_from: int) -> Iterable[str]:
    """Duplicates and wrong order of idempotent producers, holes, and wrong bytes."""
    seen: set[tuple[int, int]] = set()
    last: dict[int, int] = {}
    for before, one in zip((None, *rows), rows, strict=False):
        record = one.record
        key = (record.producer, record.sequence)
        if before is not None and one.offset != before.offset + 1:
            yield f"hole before offset {one.offset}"
        if before is not None and one.leader_epoch < before.leader_epoch:
            yield f"falling leader epoch at offset {one.offset}"
        if one.checksum != record.checksum:
            yield f"other bytes at offset {one.offset}"
        if record.idempotent and key in seen:
            yield f"duplicate of {key[0]}/{key[1]} at offset {one.offset}"
        elif record.idempotent and record.sequence < last.get(record.producer, -1):
            yield f"{key[0]}/{key[1]} behind a later one at offset {one.offset}"
        moved = record.idempotent and record.offset not in (NONE, one.offset)
        if moved and one.leader_epoch >= _acked_under(record):
            yield f"{key[0]}/{key[1]} at offset {one.offset}, acknowledged at {record.offset}"
        seen.add(key)
        last[record.producer] = max(record.sequence, last.get(record.producer, -1))
    if rows and rows[0].offset > retained_from:
        yield f"log start {rows[0].offset}"


def _acked_under(record: Sent) -> int:
    """The epoch of the copy that was acknowledged: one of an older epoch may be brought back when that is
    lost."""
    return max((epoch for offset, epoch, *_ in record.written if offset == record.offset), default=NONE)


def _in_replicas(cluster: Cluster, partition: int) -> Iterable[str]:
    """Replicas that differ below the high watermark."""
    replicas = cluster.replicas_of(partition)
    end = min(one.high_watermark for one in replicas)
    for one, other in combinations(replicas, 2):
        begin = max(one.retained_from, other.retained_from)
        logs = [
            [_identity(batch) for batch in each.log.batches if begin <= batch.base_offset < end]
            for each in (one, other)
        ]
        if logs[0] != logs[1]:
            yield f"replicas {[one.broker.number, other.broker.number]} differ below {end}"
    for one in replicas:
        if one.log.start > one.retained_from:
            yield f"log start {one.log.start} on {one.broker.number}"


def _identity(batch: Batch) -> tuple[int, int, int, int]:
    return batch.base_offset, batch.leader_epoch, batch.crc, len(batch.records)


def _above_high_watermark(
    cluster: Cluster,
    found: Mapping[int, Sequence[Found]],
    readers: Sequence[Reader],
    starts: Mapping[int, int],
) -> list[str]:
    """Reads of what never came below a leader's high watermark, and is not in the final log.

    What was replicated a moment after it was read nobody can tell from what was replicated before: not even
    if it is lost much later, which is then an event of its own. Nor can anybody of what lies below where the
    final log `starts`, once retention has deleted what it could be compared with.
    """
    final = {(id(one.record), one.offset) for rows in found.values() for one in rows}
    covered = {
        (id(record), batch.base_offset + place)
        for batch in cluster.known.batches
        if batch.covered_s >= 0
        for place, record in enumerate(batch.records)
    }
    there = final | covered
    return [
        f"read above the high watermark: offset {one.offset} of partition {partition}"
        for reader in readers
        for partition, given in enumerate(reader.delivered)
        for one in given
        if one.offset >= starts[partition] and (id(one.record), one.offset) not in there
    ]

"""Makes a clean synthetic history one of a power loss: each partition's log was cut, and went on from there.

Every partition keeps its first records, loses a million in all that were acknowledged, sampled and read, and
takes the rest at the offsets that became free, under the next leader epoch. What is lost is known exactly:
`Cut.lost_acks` of `cut_logs`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.contract.realised.settings import ProducerPromise, Realised
from checkers.contract.realised.terms import TopicPromise
from checkers.contract.realised.timeline import Clock
from checkers.history.load import load_context
from checkers.history.rows import Context
from checkers.history.tables import NONE, TABLES, Outcome, unit_path, write_table
from checkers.places import Place
from spark_verify.synthetic import NODES, START_NS, TOPIC, WALL_NS, Shape, write_history, write_rows

_KEPT, _AFTER = 0.1, 0.1
"""Parts of the records that were there before the loss and stay, and that came after it."""
_OUTAGE_NS = 10_000_000_000
"""From the loss to the first record after it; the leaders are elected in the middle of that."""

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where a partition's log was cut: offsets [kept, end) were lost at `at_ns`."""

    kept: int
    end: int
    at_ns: int
    lost_acks: int


def write_cut_history(directory: Path, *, lost: int) -> list[Cut]:
    """Write a history that lost at least so many acknowledged records; the cut of each partition."""
    shape = Shape(sends=int(lost / (1 - _KEPT - _AFTER) * 1.003))
    write_history(directory, shape)
    cuts = [_cut(directory, partition) for partition in range(shape.partitions)]
    _cut_proofs(directory, cuts)
    _cut_samples(directory, cuts)
    lost_ns = max(cut.at_ns for cut in cuts)
    write_rows(directory, "faults", [_power_loss(lost_ns)])
    partitions = range(shape.partitions)
    write_rows(directory, "metadata", [row for each in partitions for row in _epochs(each, lost_ns)])
    write_rows(directory, "replica_offsets", [row for each in partitions for row in _log_ends(each, cuts)])
    return cuts


def realised(history: Place) -> Realised:
    """What such a run promised: acks=all with two replicas in sync, and all three lost power."""
    context: Context = load_context(history)
    return Realised(
        producers={0: ProducerPromise(acks="all", idempotence=True)},
        topics={TOPIC: TopicPromise(min_isr=2)},
        elr=True,
        clock=Clock(monotonic_ns=START_NS, wall_ns=WALL_NS),
        context=context,
    )


def _cut(directory: Path, partition: int) -> Cut:
    log = _read(directory, "final_log", partition)
    count = len(log["offset"])
    kept, end = int(count * _KEPT), int(count * (1 - _AFTER))
    gone = (log["offset"] >= kept) & (log["offset"] < end)
    log["leader_epoch"][log["offset"] >= end] = 1
    log = {name: column[~gone] for name, column in log.items()}
    log["offset"] = np.arange(len(log["offset"]))
    _write(directory, "final_log", partition, log)

    sends = _read(directory, "sends", partition)
    acked = sends["outcome"] == Outcome.OK
    lost = acked & (sends["offset"] >= kept) & (sends["offset"] < end)
    before = acked & (sends["offset"] < end)
    at_ns = int(sends["completed_ns"][before].max()) + 1
    unplaced = (sends["offset"] == NONE) & (sends["invoked_ns"] > sends["invoked_ns"][before].max())
    after = (sends["offset"] >= end) | unplaced
    sends["invoked_ns"][after] += _OUTAGE_NS
    sends["completed_ns"][after & (sends["completed_ns"] != NONE)] += _OUTAGE_NS
    sends["offset"][sends["offset"] >= end] -= end - kept
    _write(directory, "sends", partition, sends)

    reads = _read(directory, "reads", partition)
    after = reads["offset"] >= end
    reads["generation"][after], reads["leader_epoch"][after] = 2, 1
    reads["read_ns"][after] += _OUTAGE_NS
    reads["offset"][after] -= end - kept
    _write(directory, "reads", partition, reads)
    return Cut(kept=kept, end=end, at_ns=at_ns, lost_acks=int(np.count_nonzero(lost)))


def _cut_proofs(directory: Path, cuts: list[Cut]) -> None:
    proofs = pq.read_table(unit_path(directory, "proofs")).to_pylist()
    for proof, cut in zip(proofs, cuts, strict=True):
        for name in ("high_watermark", "last_stable", "log_end", "read_to"):
            proof[name] -= cut.end - cut.kept
    write_rows(directory, "proofs", proofs)


def _cut_samples(directory: Path, cuts: list[Cut]) -> None:
    """The samples before the loss show the high watermark at the cut's end; those after it, epoch 1."""
    samples = pq.read_table(unit_path(directory, "watermarks")).to_pylist()
    for sample in samples:
        cut = cuts[sample["partition"]]
        before = sample["at_ns"] < cut.at_ns
        fall = 0 if before else cut.end - cut.kept
        high_watermark = min(sample["high_watermark"], cut.end) if before else sample["high_watermark"] - fall
        sample |= {
            "at_ns": sample["at_ns"] + (0 if before else _OUTAGE_NS),
            "asked_ns": sample["asked_ns"] + (0 if before else _OUTAGE_NS),
            "leader_epoch": 0 if before else 1,
            "high_watermark": max(0, high_watermark),
            "last_stable": max(0, high_watermark),
        }
    for partition, cut in enumerate(cuts):  # the last one before the loss
        (first, *_) = (sample for sample in samples if sample["partition"] == partition)
        samples.append(
            first
            | dict.fromkeys(("at_ns", "asked_ns"), cut.at_ns)
            | dict.fromkeys(("high_watermark", "last_stable"), cut.end)
            | {"leader_epoch": 0}
        )
    write_rows(directory, "watermarks", sorted(samples, key=lambda sample: sample["at_ns"]))


def _power_loss(at_ns: int) -> dict[str, Any]:
    back_ns = at_ns + _OUTAGE_NS
    none = {field.name: NONE for field in TABLES["faults"] if pa.types.is_integer(field.type)}
    return none | {
        "index": 0,
        "name": "power-loss",
        "kind": "power-loss",
        "target": "all nodes",
        "nodes": NODES,
        "edges": [],
        "inject_ns": at_ns,
        "effect_ns": at_ns,
        "heal_ns": back_ns,
        "recovered_ns": back_ns,
        "proven": True,
        "recovered": True,
        "down": NODES,
        "down_ns": [at_ns] * len(NODES),
        "up_ns": [back_ns] * len(NODES),
        "data_lost": NODES,
        "unclean": NODES,
        "replicas": [],
        "evidence": "all nodes ended",
    }


def _epochs(partition: int, lost_ns: int) -> list[dict[str, Any]]:
    """The leader before the loss and after it, as the metadata log has them."""
    leader = 1 + partition % len(NODES)
    rows = []
    for epoch, at_ns in enumerate((START_NS, lost_ns + _OUTAGE_NS // 2)):
        rows.append(
            {
                "at_ms": (at_ns - START_NS + WALL_NS) // 1_000_000,
                "log_offset": 100 * (epoch + 1) + partition,
                "topic": TOPIC,
                "partition": partition,
                "leader": leader,
                "leader_epoch": epoch,
                "partition_epoch": epoch,
                "replicas": NODES,
                "isr": NODES if epoch == 0 else [leader],
                "elr": [],
                "last_known_elr": [],
                "recovering": False,
                "controller": NONE,
            }
        )
    return rows


def _log_ends(partition: int, cuts: list[Cut]) -> list[dict[str, Any]]:
    """How far each replica's log reached before its power was cut, and on its disk after that."""
    cut, lost_ns = cuts[partition], max(cut.at_ns for cut in cuts)
    return [
        {
            "at_ns": lost_ns + later_ns,
            "asked_ns": NONE,
            "topic": TOPIC,
            "partition": partition,
            "broker": broker,
            "leader_epoch": 0,
            "log_start": 0,
            "log_end": log_end,
            "source": source,
        }
        for source, log_end, later_ns in (
            ("before-power-loss", cut.end, 0),
            ("after-power-loss", cut.kept, _OUTAGE_NS // 4),
        )
        for broker in NODES
    ]


def _read(directory: Path, table: str, partition: int) -> Arrays:
    rows = pq.read_table(unit_path(directory, table, TOPIC, partition), partitioning=None)
    names = [name for name in rows.column_names if name not in ("topic", "error")]
    return {name: rows[name].to_numpy().copy() for name in names}


def _write(directory: Path, table: str, partition: int, arrays: Arrays) -> None:
    count = len(arrays["partition"])
    columns = {name: pa.array(column) for name, column in arrays.items()}
    columns |= {"topic": pa.array([TOPIC] * count), "error": pa.array([""] * count)}
    path = unit_path(directory, table, TOPIC, partition)
    write_table(path, table, pa.table(columns), TOPIC, partition)

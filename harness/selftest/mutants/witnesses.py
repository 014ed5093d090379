"""Damage to what witnesses saw while the run went on: readers, and samples of the leaders' offsets."""

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from harness.selftest.choose import a_place, busiest, first, identity, middle, of
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row
from harness.selftest.mutant import family


def skip_read(copy: DamagedCopy) -> None:
    """A reader was not given a record that lies between two that it was given."""
    tp, reads, at = _a_read(copy)
    copy.put("reads", [*reads[:at], *reads[at + 1 :]], tp)


def read_twice(copy: DamagedCopy) -> None:
    """A reader was given a record twice in a row."""
    tp, reads, at = _a_read(copy)
    copy.put("reads", [*reads[: at + 1], dict(reads[at]), *reads[at + 1 :]], tp)


def read_backwards(copy: DamagedCopy) -> None:
    """A reader was given two records in the wrong order."""
    tp, reads, at = _a_read(copy)
    one, other = reads[at], reads[at + 1]
    reads[at : at + 2] = [other | {"read_ns": one["read_ns"]}, one | {"read_ns": other["read_ns"]}]
    copy.put("reads", reads, tp)


def read_another_record(copy: DamagedCopy) -> None:
    """A reader was given another record than the log has there."""
    tp, reads, at = _a_read(copy)
    reads[at] |= {name: reads[at - 1][name] for name in ("producer", "sequence", "checksum")}
    copy.put("reads", reads, tp)


def read_another_content(copy: DamagedCopy) -> None:
    """A reader was given a record with another content."""
    tp, reads, at = _a_read(copy)
    reads[at]["checksum"] += 1
    copy.put("reads", reads, tp)


def read_behind_the_end(copy: DamagedCopy) -> None:
    """A reader was given a record at an offset that the log does not reach."""
    tp, reads, _ = _a_read(copy)
    last = max(reads, key=lambda row: (row["offset"], row["read_ns"]))
    copy.put("reads", [*reads, last | {"offset": last["offset"] + 1}], tp)


def lose_witnesses(copy: DamagedCopy) -> None:
    """No reader was given a record, and no sample has a high watermark."""
    for tp in copy.partitions:
        copy.put("reads", [], tp)
    copy.put("watermarks", [])


def sample_above_the_end(copy: DamagedCopy) -> None:
    """A leader reported a high watermark that the final log does not reach."""
    samples, its = _samples(copy)
    its[-1]["high_watermark"] += 10
    copy.put("watermarks", samples)


def sample_falling(copy: DamagedCopy) -> None:
    """The high watermark of a leader fell between two samples."""
    samples, its = _samples(copy)
    highest = max(row["high_watermark"] for row in its)
    its[-1]["high_watermark"] = highest // 2
    copy.put("watermarks", samples)


def read_early(copy: DamagedCopy) -> None:
    """A reader was given a record before its leader had exposed it."""
    _, its = _samples(copy)
    tp = busiest(copy)
    reads = copy.rows("reads", tp)
    offsets = {row["offset"] for row in reads}
    timed = [row for row in its if row["asked_ns"] != NONE and row["high_watermark"] in offsets]
    sample = middle(timed, "no sample that says when it was asked for, of an offset that was read")
    read = next(row for row in reads if row["offset"] == sample["high_watermark"])
    read["read_ns"] = sample["asked_ns"] - 1
    copy.put("reads", reads, tp)


def sample_another_leader(copy: DamagedCopy) -> None:
    """Another broker than the one elected reported itself as leader under an epoch."""
    samples, its = _samples(copy)
    replicas = copy.rows("metadata")[0]["replicas"]
    row = middle(its, "no sample")
    row["leader"] = first([node for node in replicas if node != row["leader"]], "no second replica")
    copy.put("watermarks", samples)


def sample_unknown_epoch(copy: DamagedCopy) -> None:
    """A leader reported an epoch that the controllers never gave out."""
    samples, its = _samples(copy)
    its[-1]["leader_epoch"] += 7
    copy.put("watermarks", samples)


def sample_log_start(copy: DamagedCopy) -> None:
    """A leader reported a log start above that of the final log, which cannot fall."""
    samples, its = _samples(copy)
    middle(its, "no sample")["log_start"] += 3
    copy.put("watermarks", samples)


def measure_short_log(copy: DamagedCopy) -> None:
    """A leader's log ended below the high watermark that it reported in the same answer."""
    tp = busiest(copy)
    rows = copy.rows("replica_offsets")
    leaders = {
        (row["at_ns"], row["leader"]): row["high_watermark"]
        for row in of(copy.rows("watermarks"), tp)
        if row["high_watermark"] > 0
    }
    its = [
        row for row in of(rows, tp) if row["source"] == "live" and (row["at_ns"], row["broker"]) in leaders
    ]
    row = middle(its, "no log end beside a sample")
    row["log_end"] = leaders[row["at_ns"], row["broker"]] - 1
    copy.put("replica_offsets", rows)


def _a_read(copy: DamagedCopy) -> tuple[TopicPartition, list[Row], int]:
    """A partition, its reads, and the place of one with neighbours in its stream, of a record that stays."""
    tp = busiest(copy)
    reads = copy.rows("reads", tp)
    log = copy.rows("final_log", tp)
    wanted = identity(log[a_place(copy, tp)])
    stream = ("reader", "generation")
    for at in range(1, len(reads) - 1):
        around = [tuple(reads[n][name] for name in stream) for n in (at - 1, at, at + 1)]
        if identity(reads[at]) == wanted and len(set(around)) == 1:
            return tp, reads, at
    raise NotApplicable("no reader was given the record")


def _samples(copy: DamagedCopy) -> tuple[list[Row], list[Row]]:
    """All samples, and those of the busiest partition that say all, by time."""
    tp = busiest(copy)
    samples = copy.rows("watermarks")
    its = [row for row in of(samples, tp) if NONE not in (row["high_watermark"], row["leader_epoch"])]
    first(its, "no sample of the high watermark")
    return samples, sorted(its, key=lambda row: row["at_ns"])


MUTANTS = family(
    "witnesses",
    skip_read,
    read_twice,
    read_backwards,
    read_another_record,
    read_another_content,
    read_behind_the_end,
    lose_witnesses,
    sample_above_the_end,
    sample_falling,
    read_early,
    sample_another_leader,
    sample_unknown_epoch,
    sample_log_start,
    measure_short_log,
)

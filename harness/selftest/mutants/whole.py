"""Damage to the run as a whole: what was asked for, which tables there are, and files of something else."""

import re
from functools import partial

from checkers.history.rows import TopicPartition
from checkers.history.tables import OPTIONAL, PARTITIONED, REPLICA_BATCHES, unit_path
from harness.selftest.choose import another, busiest, first
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable
from harness.selftest.mutant import Mutant, family

HOUR_NS = 3_600_000_000_000
ANOTHER_RUN = "00000000-0000-4000-8000-000000000000"


def expect_anything(copy: DamagedCopy) -> None:
    """The manifest expects another loss than the scenario."""
    copy.manifest["expect"] = "none" if copy.manifest["expect"] == "any" else "any"


def misspell_expectation(copy: DamagedCopy) -> None:
    """The manifest expects something that there is not."""
    copy.manifest["expect"] = "nun"


def forget_partition(copy: DamagedCopy) -> None:
    """A partition is in no file, no manifest and no scenario any more."""
    tp = max(copy.partitions)
    if len(copy.partitions) < 2:
        raise NotApplicable("no second partition")
    topic = next(each for each in copy.manifest["topics"] if each["name"] == tp.topic)
    topic["partitions"] -= 1
    copy.scenario = re.sub(r"(partitions: *)\d+", rf"\g<1>{topic['partitions']}", copy.scenario, count=1)
    for table in PARTITIONED:
        copy.remove(table, tp)
    for broker in copy.brokers_of(tp):
        copy.put_batches(tp, broker, [])
    small = ("proofs", "metadata", "watermarks", "replicas", "replica_offsets", "producer_states")
    for table in small:
        copy.put(table, [row for row in copy.rows(table) if (row["topic"], row["partition"]) != tp])


def forget_topics(copy: DamagedCopy) -> None:
    """The manifest lists no topic."""
    copy.manifest["topics"] = []


def weaken_topic(copy: DamagedCopy) -> None:
    """In the manifest a topic needs one in-sync replica, and unclean elections are allowed."""
    topic = first(copy.manifest["topics"], "no topic")
    weaker = topic["config"] | {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    if topic["config"] == weaker:
        raise NotApplicable("the topic is as weak as that already")
    topic["config"] = weaker


def weaken_acks(copy: DamagedCopy) -> None:
    """Manifest and scenario say that no producer waited for an answer."""
    if any(each["acks"] == "0" for each in copy.manifest["producers"]):
        raise NotApplicable("acks=0 already")
    for each in copy.manifest["producers"]:
        each |= {"acks": "0", "idempotence": False}
    copy.scenario = re.sub(r"(acks: *)\S+", r"\g<1>'0'", copy.scenario, count=1)
    copy.scenario = re.sub(r"(idempotence: *)\w+", r"\g<1>false", copy.scenario, count=1)


def forget_schedule(copy: DamagedCopy) -> None:
    """The manifest lists no fault, and the table has none."""
    if not copy.manifest["schedule"]:
        raise NotApplicable("no fault")
    copy.manifest["schedule"] = []
    copy.put("faults", [])


def cut_run_short(copy: DamagedCopy) -> None:
    """The run was interrupted."""
    copy.manifest["state"] = "interrupted"


def misdate_run(copy: DamagedCopy) -> None:
    """The manifest says that the run began an hour later."""
    copy.manifest["clock"]["monotonic_ns"] += HOUR_NS


def misdate_wall_clock(copy: DamagedCopy) -> None:
    """The wall clock of the manifest is an hour ahead of all readings of the clocks."""
    copy.manifest["clock"]["wall_ns"] += HOUR_NS


def misdate_file(copy: DamagedCopy) -> None:
    """The sends of a partition are of an hour earlier."""
    tp = busiest(copy)
    earlier = [
        row | {name: row[name] - HOUR_NS for name in ("invoked_ns", "completed_ns")}
        for row in copy.rows("sends", tp)
    ]
    copy.put("sends", earlier, tp)


def mix_in_file(copy: DamagedCopy) -> None:
    """A file is of another run."""
    tp = busiest(copy)
    rows, own = copy.rows("reads", tp), copy.manifest.get("run")
    if own is None:
        raise NotApplicable("a run without an id")
    copy.manifest["run"] = ANOTHER_RUN
    copy.put("reads", rows, tp)
    copy.manifest["run"] = own


def mix_in_partition(copy: DamagedCopy) -> None:
    """All files of a partition are another partition's, relabelled."""
    tp = busiest(copy)
    source = another(copy, tp)
    for table in PARTITIONED:
        _relabel(copy, table, source, tp)


def mix_in_final_read(copy: DamagedCopy) -> None:
    """The final read of a partition is another partition's, relabelled, and so is its proof."""
    tp = busiest(copy)
    source = another(copy, tp)
    _relabel(copy, "final_log", source, tp)
    proofs = {(row["topic"], row["partition"]): row for row in copy.rows("proofs")}
    proofs[tp] = proofs[source] | tp._asdict()
    copy.put("proofs", list(proofs.values()))


def mix_in_disk(copy: DamagedCopy) -> None:
    """What a broker's disk held of a partition is what it held of another one, relabelled."""
    tp = busiest(copy)
    source, broker = another(copy, tp), copy.brokers_of(tp)[0]
    copy.put_batches(tp, broker, [row | tp._asdict() for row in copy.batches(source, broker)])


def empty_file(copy: DamagedCopy) -> None:
    """A file of a partition has no byte."""
    copy.put_bytes(unit_path(copy.run.history, "sends", *busiest(copy)), b"")


def truncate_file(copy: DamagedCopy) -> None:
    """A file of a partition ends in the middle."""
    path = unit_path(copy.run.history, "final_log", *busiest(copy))
    whole = path.read_bytes()
    copy.put_bytes(path, whole[: len(whole) // 2])


def _relabel(copy: DamagedCopy, table: str, source: TopicPartition, target: TopicPartition) -> None:
    copy.put(table, [row | target._asdict() for row in copy.rows(table, source)], target)


def _lose(table: str, copy: DamagedCopy) -> None:
    if table != REPLICA_BATCHES:
        copy.rows(table)  # NotApplicable if it was not collected
    elif not any(copy.run.history.glob(f"{table}/*/*")):
        raise NotApplicable(f"no table {table}")
    copy.remove(table)


def _without(table: str) -> Mutant:
    return Mutant(
        family="the run",
        name=f"lose-{table.replace('_', '-')}",
        about=f"The table {table} is gone.",
        damage=partial(_lose, table),
    )


MUTANTS = (
    *family(
        "the run",
        expect_anything,
        misspell_expectation,
        forget_partition,
        forget_topics,
        weaken_topic,
        weaken_acks,
        forget_schedule,
        cut_run_short,
        misdate_run,
        misdate_wall_clock,
        misdate_file,
        mix_in_file,
        mix_in_partition,
        mix_in_final_read,
        mix_in_disk,
        empty_file,
        truncate_file,
    ),
    *map(_without, (*("proofs", "faults", "metadata", "watermarks"), *OPTIONAL)),
)

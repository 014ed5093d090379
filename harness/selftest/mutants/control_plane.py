"""Damage to the controllers' records: elections, epochs, ISRs, registrations, settings."""

from collections.abc import Callable

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from harness.selftest.choose import busiest, first, middle, of, waits_for_all
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row
from harness.selftest.mutant import family

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


def drop_metadata_record(copy: DamagedCopy) -> None:
    """A change of a partition's state is missing from the metadata log."""
    rows, states = _states(copy, at_least=3)
    rows.remove(states[1])
    copy.put("metadata", rows)


def drop_last_metadata_record(copy: DamagedCopy) -> None:
    """The last change of a partition's state is missing from the metadata log."""
    rows, states = _states(copy, at_least=2)
    rows.remove(states[-1])
    copy.put("metadata", rows)


def drop_first_metadata_record(copy: DamagedCopy) -> None:
    """The creation of a partition is missing from the metadata log."""
    rows, states = _states(copy, at_least=2)
    rows.remove(states[0])
    copy.put("metadata", rows)


def forge_election(copy: DamagedCopy) -> None:
    """A replica that was not in sync is elected at the end, though no unclean election is allowed."""
    _append_state(copy, _outsider_elected)


def forge_election_of_a_stranger(copy: DamagedCopy) -> None:
    """A broker that is no replica of the partition is elected."""
    _append_state(copy, lambda last: {"leader": 77, "isr": [77], "leader_epoch": last["leader_epoch"] + 1})


def elect_another_leader(copy: DamagedCopy) -> None:
    """The metadata log names another in-sync replica as the leader of an epoch than the one that led."""
    rows, states = _states(copy, at_least=1)
    epoch = states[-1]["leader_epoch"]
    its = [row for row in states if row["leader_epoch"] == epoch]
    leader = its[0]["leader"]
    other = first([node for node in its[-1]["isr"] if node != leader], "no second in-sync replica")
    for row in its:
        row["leader"] = other
    copy.put("metadata", rows)


def skip_leader_epoch(copy: DamagedCopy) -> None:
    """The leader epoch rises by two."""
    _append_state(copy, lambda last: {"leader_epoch": last["leader_epoch"] + 2})


def shrink_isr(copy: DamagedCopy) -> None:
    """From the partition's creation to its end the ISR was the leader alone, and acks=all was answered."""
    waits_for_all(copy)
    tp = busiest(copy)
    for table in ("metadata", "watermarks"):
        rows = copy.rows(table)
        for row in of(rows, tp):
            row["isr"] = [row["leader"]] if row["leader"] != NONE else []
        copy.put(table, rows)


def fence_in_sync_replica(copy: DamagedCopy) -> None:
    """A broker is fenced at the end, and stays in the ISR."""
    _, states = _states(copy, at_least=1)
    brokers = copy.rows("brokers")
    node = first(states[-1]["isr"], "an empty ISR")
    own = [row for row in brokers if row["node"] == node]
    last = first(own[-1:], "no registration of the broker")
    fenced = last | {"fenced": True, "log_offset": _last_offset(copy) + 1, "at_ms": states[-1]["at_ms"]}
    copy.put("brokers", [*brokers, fenced])


def drop_registrations(copy: DamagedCopy) -> None:
    """Every registration of a broker is missing from the metadata log."""
    rows = copy.rows("brokers")
    gone = first(rows, "no registration")["node"]
    copy.put("brokers", [row for row in rows if row["node"] != gone])


def drop_timeline(copy: DamagedCopy) -> None:
    """The metadata log has no state of any partition."""
    copy.put("metadata", [])


def drop_timeline_of_partition(copy: DamagedCopy) -> None:
    """The metadata log has no state of one partition."""
    tp = busiest(copy)
    copy.put("metadata", [row for row in copy.rows("metadata") if (row["topic"], row["partition"]) != tp])


def lower_min_isr(copy: DamagedCopy) -> None:
    """In the configs table min.insync.replicas is lower than what a broker reported to the harness."""
    _set(copy, MIN_ISR, lambda value: str(int(value) - 1))


def allow_unclean_election(copy: DamagedCopy) -> None:
    """In the configs table unclean elections are allowed, and a broker reported that they are not."""
    _set(copy, UNCLEAN, lambda value: "true" if value == "false" else "false")


def weaken_producer(copy: DamagedCopy) -> None:
    """In the producers table a producer asks for other acks than in the manifest."""
    rows = copy.rows("producers")
    row = first(rows, "no producer")
    row["acks"] = "0" if row["acks"] != "0" else "all"
    copy.put("producers", rows)


def shift_metadata(copy: DamagedCopy) -> None:
    """All records of the metadata log are dated an hour later."""
    rows, _ = _states(copy, at_least=1)
    copy.put("metadata", [row | {"at_ms": row["at_ms"] + 3_600_000} for row in rows])


def _states(copy: DamagedCopy, *, at_least: int) -> tuple[list[Row], list[Row]]:
    """All states, and those of the partition that has most of them, in the order of the log."""
    rows = copy.rows("metadata")
    states: list[Row] = max((of(rows, tp) for tp in copy.partitions), key=len, default=[])
    if len(states) < at_least:
        raise NotApplicable(f"no partition with {at_least} states in the metadata log")
    return rows, sorted(states, key=lambda row: row["log_offset"])


def _last_offset(copy: DamagedCopy) -> int:
    offsets: list[int] = [row["log_offset"] for table in ("metadata", "brokers") for row in copy.rows(table)]
    return max(offsets)


def _append_state(copy: DamagedCopy, change: Callable[[Row], Row]) -> None:
    rows, states = _states(copy, at_least=1)
    last = states[-1]
    following = {"log_offset": _last_offset(copy) + 1, "partition_epoch": last["partition_epoch"] + 1}
    copy.put("metadata", [*rows, last | following | change(last)])


def _outsider_elected(last: Row) -> Row:
    """First the ISR shrinks to its leader; its successor is elected from outside."""
    outsiders = [node for node in last["replicas"] if node != last["leader"]]
    node = first(outsiders, "no second replica")
    return {
        "leader": node,
        "leader_epoch": last["leader_epoch"] + 1,
        "isr": [node] if node not in last["isr"] else [other for other in last["isr"] if other != node],
        "recovering": True,
    }


def _set(copy: DamagedCopy, key: str, change: Callable[[str], str]) -> None:
    tp: TopicPartition = busiest(copy)
    rows = copy.rows("configs")
    its = [row for row in rows if row["key"] == key and row["name"] in (tp.topic, "")]
    middle(its, f"no setting {key}")
    for row in its:
        row["value"] = change(row["value"])
    copy.put("configs", rows)


MUTANTS = family(
    "control plane",
    drop_metadata_record,
    drop_last_metadata_record,
    drop_first_metadata_record,
    forge_election,
    forge_election_of_a_stranger,
    elect_another_leader,
    skip_leader_epoch,
    shrink_isr,
    fence_in_sync_replica,
    drop_registrations,
    drop_timeline,
    drop_timeline_of_partition,
    lower_min_isr,
    allow_unclean_election,
    weaken_producer,
    shift_metadata,
)

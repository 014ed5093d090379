"""What the tables and columns of a history mean, in words: types and order come from `TABLES`."""

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from checkers.history.tables import TABLES

ROW_IS: Mapping[str, str] = MappingProxyType(
    {
        "sends": "one attempt to send, in the file of the partition it was sent to (its *home*)",
        "final_log": (
            "one record that a fresh reader got after all faults were healed; offsets strictly ascend"
        ),
        "reads": "one record delivered to a tailing reader, in the order of delivery",
        "watermarks": "one sample of a partition's offsets, as its leader reported them",
        "proofs": "how the final read of a partition ended; at most one row a partition",
        "faults": "one fault, in the order of injection",
        "metadata": "the state of a partition after one change in the KRaft metadata log",
        "brokers": "the registration of a broker after one change in the KRaft metadata log",
        "configs": "one setting, or the level of one feature, as the KRaft metadata log changes it",
        "metadata_appends": (
            "one append to the KRaft metadata log, also of a NO_OP_RECORD, which changes nothing"
        ),
        "producers": "one producer instance, and what it asked for",
        "node_events": "a node's process, or the proxy's, started or ended",
        "clocks": "one reading of the clocks",
        "pressure": "how starved the machine was since the row before",
        "client_events": "what became of a producer's connections in a time, of which something is known",
        "replica_offsets": "how far the log of one replica reached at a time",
        "transactions": "one transaction: consecutive sends of one producer instance, and how it ended",
        "fencings": "one instance of a transactional id that another one has taken over from",
        "transaction_reads": "one record delivered to a reader that is given what is committed",
        "markers": "the end of a transaction in a partition's log, as the disks have it",
        "coordinators": "the state of a partition of the transaction log that has an id of the load",
        "broker_lines": "a line of a node's own log that shows the fate of a replica, or of the node",
        "replicas": "one replica as it was on disk after the clean stop",
        "producer_states": "one entry of the last producer snapshot of a replica",
        "replica_batches": "one record batch on one replica's disk, in the order of its log",
    }
)

NOTES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("sends", "completed_ns"): "-1: never",
        ("sends", "outcome"): "0 ok, 1 fail: definitely not written, 2 info: unknown",
        ("sends", "offset"): "-1: none reported",
        ("sends", "error"): '"": none',
        ("final_log", "producer"): "-1: no id could be decoded",
        ("final_log", "sequence"): "-1: no id could be decoded",
        ("reads", "generation"): "rises at each assignment, seek or replacement",
        (
            "proofs",
            "log_end",
        ): "the leader's; the high watermark where that is not known",
        ("proofs", "read_to"): "the offset after the last one read",
        ("proofs", "committed_to"): "the same of a fresh read_committed reader; -1: there was none",
        ("proofs", "reason"): "why it is not complete",
        ("faults", "target"): "as the scenario asks for it",
        ("faults", "edges"): "`2->1`",
        ("faults", "planned_begin_ns"): "when it was to be injected",
        ("faults", "planned_end_ns"): "`planned_begin_ns` and the hold that was asked for",
        ("faults", "inject_ns"): "when its injection was begun",
        ("faults", "begin_ns"): "when that was done, and it was in force",
        ("faults", "end_ns"): "when its hold was over",
        ("faults", "heal_ns"): "when it was healed",
        ("faults", "proven"): "its effect was proven",
        ("faults", "recovered"): "its end was proven",
        ("faults", "down"): "nodes whose process it ended",
        ("faults", "down_ns"): "parallel to `down`: when it had ended; -1: not known",
        ("faults", "up_ns"): "parallel to `down`: when it was started again; -1: never",
        (
            "faults",
            "data_lost",
        ): "those whose unsynced pages were dropped, or whose disk was replaced; of `down`, unless a log "
        "directory of a node failed that went on",
        ("faults", "unclean"): "those of `down` that shut down uncleanly",
        (
            "faults",
            "replicas",
        ): "that it concerns, as `1/orders-0`: broker and partition; none: all of its nodes",
        ("faults", "evidence"): "JSON",
        ("brokers", "log_dirs"): "that the controllers take for online; -1: not known",
        ("metadata", "leader"): "-1: none",
        ("metadata", "log_offset"): "-1: from a snapshot, or not recorded",
        ("metadata", "recovering"): "elected uncleanly, not recovered yet",
        ("metadata", "controller"): "that wrote it, by its own clock; -1: not recorded",
        ("configs", "kind"): "topic, broker, cluster, feature; reported: in effect, as a broker reported it",
        ("configs", "name"): "of the topic, broker or feature",
        ("configs", "value"): "a feature's level",
        ("metadata_appends", "log_offset"): "of its first record",
        ("producers", "acks"): "0, 1, all",
        ("node_events", "node"): "-1: the proxy",
        ("node_events", "role"): "broker, controller, combined, proxy",
        ("node_events", "event"): "started, exited, oom-killed",
        ("node_events", "planned"): "the harness did it, or a fault allowed it",
        ("node_events", "fault"): 'for which fault; "": none',
        ("node_events", "exit_code"): "-1: a start, or not known",
        ("node_events", "detail"): "of an end that is not planned: the lines of its log that say why",
        ("clocks", "wall_ns"): "the harness's wall clock",
        ("clocks", "engine_ns"): "the Docker engine's; -1: not known",
        ("clocks", "error_ns"): "half the time of the question",
        ("pressure", "stall_ns"): "some task waited for a processor; -1: not reported",
        ("pressure", "steal_ns"): "a hypervisor took it, the mean of all processors; -1: not reported",
        ("pressure", "busy_ns"): "the mean of all processors; -1: not reported",
        ("pressure", "late_ns"): "how late the harness's own loop woke, added up",
        ("client_events", "broker"): "with trouble; -1 without any count: none, with any",
        ("client_events", "timeouts"): "requests",
        ("client_events", "retries"): "requests, or records, sent again: at least so many",
        ("replica_offsets", "asked_ns"): "measured since then, until `at_ns`; -1: at `at_ns`",
        (
            "watermarks",
            "asked_ns",
        ): "the high watermark was measured since then, until `at_ns`; -1: not known",
        ("replica_offsets", "leader_epoch"): "that its broker leads or follows; -1: not known",
        ("replica_offsets", "log_end"): "the offset of its next record",
        (
            "replica_offsets",
            "source",
        ): "live, disk-down, before-power-loss, after-power-loss, before-wipe, after-wipe",
        ("transactions", "number"): "of its instance, from 0",
        ("transactions", "producer_id"): "Kafka's; -1: not known",
        ("transactions", "requested_ns"): "-1: never",
        ("transactions", "completed_ns"): "-1: never",
        ("transactions", "request"): "commit, abort: what was asked for first; none",
        ("transactions", "outcome"): "committed, aborted, fenced, indeterminate, open",
        ("fencings", "producer"): "the older instance",
        ("fencings", "by"): "the newer one; -1: none of the load's",
        ("fencings", "begun_ns"): "the newer one asked to take over",
        ("fencings", "done_ns"): "it had; -1: never",
        ("fencings", "at_ns"): "the older one was told; -1: never",
        ("transaction_reads", "reader"): "0: the fresh one, after all faults were healed",
        ("markers", "kind"): "commit, abort",
        ("markers", "brokers"): "whose disks have it",
        ("coordinators", "leader"): "the coordinator; -1: none",
        ("broker_lines", "kind"): (
            "loaded, leader-start, follower-start, fetcher-start, truncated, truncated-below-hw, recovered, "
            "unclean-election, halted, version"
        ),
        ("broker_lines", "offset"): (
            "log end at load, or where it starts, or from where it fetches, or to where it was truncated"
        ),
        ("replicas", "epochs"): "its leader-epoch checkpoint",
        ("replicas", "epoch_starts"): "parallel to `epochs`: first offset",
        ("replicas", "torn_bytes"): "behind the last whole batch",
        ("replicas", "clean"): "the broker had noted a clean shutdown",
        ("replicas", "complete"): "all of it was read",
        ("replicas", "reason"): "why it is not complete",
        ("replica_batches", "segment"): "first offset of its file",
        ("replica_batches", "position"): "bytes from the begin of the file",
        ("replica_batches", "crc"): "as stored",
        ("replica_batches", "digest"): "of its records; -1: control batch, or `error`",
    }
)

_SHORT = MappingProxyType(
    {pa.int8(): "i8", pa.int32(): "i32", pa.int64(): "i64", pa.string(): "str", pa.bool_(): "bool"}
)


def tables_in_markdown() -> str:
    """One row for each table: what a row of it is, and its columns with type and note."""
    lines = ["| table | one row is | columns |", "|---|---|---|"]
    for table, schema in TABLES.items():
        columns = ", ".join(_column(table, field) for field in schema)
        lines.append(f"| `{table}` | {ROW_IS[table]} | {columns} |")
    return "\n".join(lines)


def _column(table: str, field: pa.Field) -> str:
    of_list = pa.types.is_list(field.type)
    kind = f"list of {_SHORT[field.type.value_type]}" if of_list else _SHORT[field.type]
    note = NOTES.get((table, field.name))
    return f"`{field.name}` {kind}" + (f" ({note})" if note else "")

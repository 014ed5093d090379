"""A broker that is stopped at the end of a random healthy history, and started again: what its disk held
meanwhile, and what it loaded."""

from collections.abc import Mapping

from checkers.damage.editable_history import EditableHistory
from checkers.damage.healthy.controllers import MS_NS, NODES, WALL_NS
from checkers.history.rows import BrokerLine, NodeEvent, ReplicaOffset, TopicPartition

SECOND_NS = 1_000_000_000


def add_restart(history: EditableHistory, log_ends: Mapping[TopicPartition, int], end_ns: int) -> None:
    """Stop the last broker behind `end_ns`, read its disk, and start it; `log_ends` are those of its logs."""
    node = NODES[-1]
    for after_s, what in ((-1, "started"), (2, "exited"), (6, "started")):
        at_ns = end_ns + after_s * SECOND_NS
        history.node_events.append(NodeEvent(at_ns=at_ns, node=node, role="broker", event=what))
    for tp, log_end in log_ends.items():
        measured = ReplicaOffset(
            topic=tp.topic,
            partition=tp.partition,
            at_ns=end_ns + 4 * SECOND_NS,
            broker=node,
            log_end=log_end,
            source="disk-down",
        )
        loaded = BrokerLine(
            topic=tp.topic,
            partition=tp.partition,
            at_ms=(WALL_NS + end_ns + 8 * SECOND_NS) // MS_NS,
            node=node,
            kind="loaded",
            offset=log_end,
            line="Completed load of Log",
        )
        history.replica_offsets.append(measured)
        history.broker_lines.append(loaded)

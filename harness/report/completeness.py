"""Evidence that a complete run always has: what of it is not there is named, and nothing passes without it.

Invariant: a run that ended as it should collected every table of the schema; it watched every process and
read the clocks; its metadata log has the creation of every partition and every broker's registration; and
every replica's disk was read to its end.
Evidence: the tables, against the manifest's brokers and topics and the metadata log's replicas.
Counterexample to "what was not collected is not decided, and changes nothing":
    every property about replicas holds on brokers 1 and 2; of broker 3's disk there is no row
    it was the one that lacked a hundred records: divergence was decided without it, and said to hold

A violation that the rest of the evidence shows is still one: each sentence is a reason for UNKNOWN, no more.
Runs that did not end, had no cluster, or are of older versions have other reasons, or no need to have it all.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

from checkers.history.load import replica_files, rows_of
from checkers.history.rows import Context, MetadataChange, NodeEvent, TopicPartition
from checkers.history.tables import NONE, OPTIONAL
from checkers.verdict.algebra import Reason, Verdict
from harness.run_directory.manifest import Manifest

FEWEST_READINGS = 2
"""One reading of the clocks does not show whether they run together."""


def missing(
    manifest: Manifest, context: Context, history: Path, controllers: Collection[int]
) -> Iterator[Reason]:
    """A reason for UNKNOWN for each kind of evidence that a complete run has and this one lacks."""
    if manifest.state != "complete" or manifest.run is None or manifest.run_id is None:
        return
    for sentence in (
        *_tables(context),
        *_processes(manifest, context, controllers),
        *_control_plane(manifest, context),
        *_replicas(context, history),
    ):
        yield Reason(Verdict.UNKNOWN, sentence)


def _tables(context: Context) -> Iterator[str]:
    for table in OPTIONAL:
        if table not in context.collected:
            yield f"{table} was not collected, as it is in every complete run"


def _processes(manifest: Manifest, context: Context, controllers: Collection[int]) -> Iterator[str]:
    if "node_events" in context.collected:
        first = {event.node: event.event for event in sorted(context.node_events, key=_backwards)}
        started = {node for node, event in first.items() if event == "started"}
        nodes = {*range(1, manifest.cluster.brokers + 1), *controllers}
        for node in sorted(nodes - started):
            yield f"node_events: nobody saw node {node} start, so nobody watched its process from then on"
    if "clocks" in context.collected and len(context.clocks) < FEWEST_READINGS:
        yield f"clocks: {len(context.clocks)} readings, so no time of the metadata log can be placed"


def _backwards(event: NodeEvent) -> int:
    return -event.at_ns


def _control_plane(manifest: Manifest, context: Context) -> Iterator[str]:
    first: dict[TopicPartition, MetadataChange] = {}
    for row in sorted(context.metadata, key=lambda row: row.log_offset):
        first.setdefault(row.tp, row)
    for topic in manifest.topics:
        for tp in (TopicPartition(topic.name, number) for number in range(topic.partitions)):
            if tp not in first:
                yield f"metadata: no state of {tp}: who led it is not known"
            elif first[tp].partition_epoch != 0 and first[tp].log_offset != NONE:
                epoch = first[tp].partition_epoch
                yield f"metadata: the first state of {tp} has partition epoch {epoch}, not 0"
    if "brokers" in context.collected:
        registered = {row.node for row in context.brokers}
        for node in sorted(set(range(1, manifest.cluster.brokers + 1)) - registered):
            yield f"brokers: no registration of broker {node}: whether it was fenced is not known"


def _replicas(context: Context, history: Path) -> Iterator[str]:
    if not {"replicas", "replica_batches"} <= context.collected:
        return
    audited = {(row.tp, row.broker): row for row in context.replicas}
    held = _batches(context, history)
    unread: dict[int, list[TopicPartition]] = defaultdict(list)
    for tp, broker in sorted(_expected(context)):
        row = audited.get((tp, broker))
        if row is None or not row.complete:
            unread[broker].append(tp)
        elif row.batches != held[tp, broker]:
            yield f"replicas: {tp} on broker {broker} has {row.batches} batches, its files {held[tp, broker]}"
    for broker, tps in unread.items():
        more = f" and {len(tps) - 1} more" if len(tps) > 1 else ""
        row = audited.get((tps[0], broker))
        reason = row.reason if row else "nothing was found of it"
        yield f"replicas: the log of {tps[0]}{more} on broker {broker} was not read to its end: {reason}"


def _expected(context: Context) -> set[tuple[TopicPartition, int]]:
    """The replicas of each partition after its last change."""
    last: dict[TopicPartition, tuple[int, ...]] = {}
    for row in sorted(context.metadata, key=lambda row: row.log_offset):
        last[row.tp] = row.replicas
    return {(tp, broker) for tp, replicas in last.items() for broker in replicas}


def _batches(context: Context, history: Path) -> Counter[tuple[TopicPartition, int]]:
    """How many batches of each replica the files have, by their footers."""
    counts: Counter[tuple[TopicPartition, int]] = Counter()
    for tp in context.partitions:
        for path in replica_files(history, tp):
            counts[tp, int(path.stem.partition("-")[0])] += rows_of(path)
    return counts

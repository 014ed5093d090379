"""Evidence that a complete run always has: what of it is not there is named, and nothing passes without it.

Invariant: a run that ended as it should collected every table of the schema; it watched every process and
read the clocks; its metadata log has the creation of every partition and every broker's registration; and
every batch that the audit of a replica counted is there. Where the load has transactions each send is in
one, and what is committed was read as far as all was.
Evidence: the tables, against the manifest's brokers and topics.
Counterexample to "what was not collected is not decided, and changes nothing":
    a run of three brokers, without the table of their registrations: leader-legal is not decided
    broker 2 was fenced when it was elected: nobody looked, and the run passed

A violation that the rest of the evidence shows is still one: each sentence is a reason for UNKNOWN, no more.
Runs that did not end, had no cluster, or are of older versions have other reasons, or no need to have it all.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from checkers.history.load import minor_version_of, replica_files, rows_of
from checkers.history.rows import Context, MetadataChange, NodeEvent, TopicPartition
from checkers.history.tables import NONE, OF_TRANSACTIONS, OPTIONAL, unit_path
from checkers.history.upgrade import TABLE_ADDED_IN
from checkers.verdict.algebra import Reason, Verdict
from harness.run_directory.manifest import Manifest

FEWEST_READINGS = 2
"""One reading of the clocks does not show whether they run together."""


def missing(
    manifest: Manifest,
    context: Context,
    history: Path,
    controllers: Collection[int],
    *,
    has_transactions: bool = False,
) -> Iterator[Reason]:
    """A reason for UNKNOWN for each kind of evidence that a complete run has and this one lacks.

    `has_transactions`: its load was asked to have them.
    """
    if manifest.state != "complete" or manifest.run is None or manifest.run_id is None:
        return
    for sentence in (
        *_tables(context, _written_at(history), has_transactions=has_transactions),
        *_processes(manifest, context, controllers),
        *_control_plane(manifest, context),
        *_replicas(context, history),
        *(_transactions(manifest, context) if has_transactions else ()),
    ):
        yield Reason(Verdict.UNKNOWN, sentence)


def _written_at(history: Path) -> int:
    """The minor version of the schema of the tables that are replayed from the metadata log."""
    return minor_version_of(unit_path(history, "metadata"), "metadata")


def _tables(context: Context, minor: int, *, has_transactions: bool) -> Iterator[str]:
    """`minor`: the version of the schema that they were written at."""
    for table in OPTIONAL:
        is_needed = has_transactions or table not in OF_TRANSACTIONS
        existed = TABLE_ADDED_IN.get(table, 0) <= minor
        if is_needed and existed and table not in context.collected:
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
    """Every batch that the audit counted is there; a replica that it did not read is vacuity's business."""
    if not {"replicas", "replica_batches"} <= context.collected:
        return
    held = _batches(context, history)
    for row in context.replicas:
        if row.batches != held[row.tp, row.broker]:
            found = held[row.tp, row.broker]
            yield f"replicas: {row.tp} on broker {row.broker} has {row.batches} batches, its files {found}"


def _transactions(manifest: Manifest, context: Context) -> Iterator[str]:
    """Each send of each producer is in one transaction, and each proof is one of what is committed too."""
    ranges: dict[int, list[tuple[int, int]]] = {}
    for row in context.transactions:
        ranges.setdefault(row.producer, []).append((row.first_sequence, row.last_sequence))
    for producer, counted in sorted((manifest.recorded or {}).items()):
        sends = _covered(sorted(ranges.get(producer, [])))
        if sends != counted.attempts:
            yield (
                f"transactions: those of producer {producer} have its sends up to {sends}, and it made "
                f"{counted.attempts}"
            )
    for proof in context.proofs:
        if proof.complete and proof.committed_to < proof.high_watermark:
            yield (
                f"proofs: what is committed in {proof.tp} was read up to {proof.committed_to} of "
                f"{proof.high_watermark}"
            )


def _covered(ranges: Sequence[tuple[int, int]]) -> int:
    """How many sequences from 0 on are in exactly one of these ranges, without a gap."""
    end = 0
    for first, last in ranges:
        if first != end:
            break
        end = last + 1
    return end


def _batches(context: Context, history: Path) -> Counter[tuple[TopicPartition, int]]:
    """How many batches of each replica the files have, by their footers."""
    counts: Counter[tuple[TopicPartition, int]] = Counter()
    for tp in context.partitions:
        for path in replica_files(history, tp):
            counts[tp, int(path.stem.partition("-")[0])] += rows_of(path)
    return counts

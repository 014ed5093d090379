"""Evidence that contradicts other evidence: then one of the two is wrong, and nobody knows which.

Invariant: what the harness wrote down twice, by two ways, is the same: settings, the ends of processes, the
time of the metadata log, the ISR at the final read, log starts and log ends beside a sample, and the epochs
of what survives a loss.
Evidence: manifest and tables.
Counterexample to "a rule that finds nothing has decided":
    the manifest has min.insync.replicas=1, and a broker reported 2: one unclean shutdown permits no loss

Each sentence is a reason for UNKNOWN, so a violation that was found is still one. What a table does not have
contradicts nothing, see completeness.py.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from checkers.contract.realised.downtimes import SECOND_NS
from checkers.contract.realised.settings import Realised
from checkers.history.columnar import columns_of
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import Context, Fault, NodeEvent, TopicPartition
from checkers.history.tables import NONE
from checkers.verdict.algebra import Reason, Verdict
from checkers.verdict.node_ends import SIGKILLED
from harness.run_directory.manifest import Manifest

NOTED_WITHIN_NS = 5 * SECOND_NS
"""The watch learns of an end from the engine, the fault asks for itself: 0.2 s apart on a busy machine."""
WALL_SLACK_NS = 60 * SECOND_NS
"""A wall clock that was set by more than this, before the first reading or beyond the last, is no clock."""


def contradictions(
    manifest: Manifest, context: Context, facts: Realised, lossy: Collection[TopicPartition]
) -> Iterator[Reason]:
    """A reason for UNKNOWN for each contradiction; `lossy` are the partitions that have lost records."""
    for sentence in (
        *_settings(manifest, context),
        *_producers(manifest, context),
        *_ends(context),
        *_wall_clock(manifest, facts),
        *_unplaced(context),
        *_wrong_readings(context),
        *_isr_at_the_end(context, facts),
        *_log_starts(context),
        *_log_ends(context),
        *_epochs(context, facts, lossy),
    ):
        yield Reason(Verdict.UNKNOWN, sentence)


def _settings(manifest: Manifest, context: Context) -> Iterator[str]:
    reported = {(row.name, row.key): row.value for row in context.configs if row.kind == "reported"}
    known = {name for name, _ in reported}
    for topic in manifest.topics:
        for key, value in topic.config.items() if topic.name in known else ():
            found = reported.get((topic.name, key))
            if found != value:
                yield f"configs: a broker reported {key}={found} of {topic.name}, the manifest has {value}"


def _producers(manifest: Manifest, context: Context) -> Iterator[str]:
    listed = {each.producer: (each.acks, each.idempotence) for each in manifest.producers}
    for row in context.producers:
        found, wanted = (row.acks, row.idempotence), listed.get(row.producer)
        if found != wanted:
            yield f"producers: producer {row.producer} has (acks, idempotence) {found}, the manifest {wanted}"


def _ends(context: Context) -> Iterator[str]:
    """What ended a process is in the faults table, its end in node_events, where processes were watched."""
    exits = [event for event in context.node_events if event.event == "exited"]
    if not context.node_events:
        return
    for fault in context.faults:
        for node, down_ns in zip(fault.down, fault.down_ns, strict=True):
            its = [event for event in exits if event.node == node and _near(event, fault, down_ns)]
            if not its:
                yield f"node_events: fault {fault.name} ended node {node}, and nobody saw its process end"
            elif all(event.exit_code == SIGKILLED for event in its) and node not in fault.unclean:
                yield f"faults: node {node} was killed by {fault.name}, which says that it shut down cleanly"
    by_name = {fault.name: fault for fault in context.faults}
    for event in exits:
        named = by_name.get(event.fault)
        if named is not None and event.node not in named.down:
            yield f"faults: {event.fault} ended node {event.node}, and does not say so"


def _near(event: NodeEvent, fault: Fault, down_ns: int) -> bool:
    if down_ns == NONE:
        return event.fault == fault.name
    return abs(event.at_ns - down_ns) <= NOTED_WITHIN_NS


def _wall_clock(manifest: Manifest, facts: Realised) -> Iterator[str]:
    """The readings continue the manifest's, and every state of a partition is of the run."""
    begin, readings = manifest.clock, facts.context.clocks
    if not readings:
        return
    first = min(readings, key=lambda reading: reading.at_ns)
    ahead_ns = (first.wall_ns - first.at_ns) - (begin.wall_ns - begin.monotonic_ns)
    if abs(ahead_ns) > WALL_SLACK_NS:
        yield f"clocks: the first reading is {ahead_ns / SECOND_NS:.0f} s off the manifest's clock"
    end_ns = manifest.sealed_ns or max(reading.at_ns for reading in readings)
    placed = [facts.clock.at(row.at_ms) for row in facts.context.metadata if row.at_ms != NONE]
    outside = [
        at_ns for at_ns in placed if not begin.monotonic_ns - WALL_SLACK_NS <= at_ns <= end_ns + WALL_SLACK_NS
    ]
    if outside:
        yield f"metadata: a state is dated {facts.clock.seconds(outside[0])}, and not within the run"


def _unplaced(context: Context) -> Iterator[str]:
    """A record that a controller dated by a clock that was off, and that has two places in the run."""
    if context.unplaced:
        first, others = min(context.unplaced), len(context.unplaced) - 1
        more = f" and {others} more were" if others else " was"
        yield f"metadata: nobody knows when the record at offset {first}{more} written: a clock was off then"


def _wrong_readings(context: Context) -> Iterator[str]:
    """A clock that is set stays set: a reading that is off both its neighbours, which agree, is wrong."""
    readings = sorted(context.clocks, key=lambda reading: reading.at_ns)
    for before, reading, after in zip(readings, readings[1:], readings[2:], strict=False):
        for name in ("wall_ns", "engine_ns"):
            ahead = [getattr(each, name) - each.at_ns for each in (before, reading, after)]
            known = NONE not in (getattr(each, name) for each in (before, reading, after))
            off_ns = min(abs(ahead[1] - ahead[0]), abs(ahead[1] - ahead[2]))
            if known and off_ns > SECOND_NS > abs(ahead[2] - ahead[0]):
                yield f"clocks: one reading of {name} is {off_ns / SECOND_NS:.1f} s off those around it"


def _isr_at_the_end(context: Context, facts: Realised) -> Iterator[str]:
    """The final read saw an ISR; the metadata log, read later, has it then or as its last one."""
    for proof in context.proofs:
        states = facts.timeline.states(proof.tp)
        if not (proof.complete and proof.isr and states and states[-1].exact):
            continue
        since_ns = proof.at_ns - NOTED_WITHIN_NS
        shown = {state.isr for state in states if state.since_ns >= since_ns}
        at = facts.timeline.at(proof.tp, since_ns)
        if frozenset(proof.isr) not in shown | ({at.isr} if at else set()):
            last = sorted(states[-1].isr)
            yield f"metadata: {proof.tp} ends with ISR {last}, the final read saw {sorted(proof.isr)}"


def _log_starts(context: Context) -> Iterator[str]:
    """A log start never falls, so no sample was above that of the final read."""
    columns = columns_of(context.watermarks, ("topic", "partition", "log_start"))
    for proof in (proof for proof in context.proofs if proof.complete):
        here = (columns["topic"] == proof.topic) & (columns["partition"] == proof.partition)
        highest = int(columns["log_start"][here].max()) if here.any() else NONE
        if highest > proof.log_start:
            yield f"watermarks: {proof.tp} once began at {highest}, the final read at {proof.log_start}"


def _log_ends(context: Context) -> Iterator[str]:
    """A leader's log end was asked after its high watermark, and is not below it."""
    place = ("topic", "partition", "at_ns")
    samples = columns_of(context.watermarks, (*place, "leader", "high_watermark"))
    *keys, highs = (column.tolist() for column in samples.values())
    known = dict(zip(zip(*keys, strict=True), highs, strict=True))
    ends = columns_of(context.replica_offsets, (*place, "broker", "log_end", "source"))
    live = np.flatnonzero(ends["source"] == "live")
    *keys, log_ends, _ = (column[live].tolist() for column in ends.values())
    for key, end in zip(zip(*keys, strict=True), log_ends, strict=True):
        high = known.get(key, NONE)
        if end < high:
            topic, number, _, leader = key
            tp = TopicPartition(topic, number)
            yield f"replica_offsets: the log of leader {leader} of {tp} ended at {end}, below its {high}"
            return


def _epochs(context: Context, facts: Realised, lossy: Collection[TopicPartition]) -> Iterator[str]:
    """The epochs of the records that survive a loss are those of a replica's leader-epoch checkpoint."""
    for tp in sorted(lossy):
        caches = [
            list(zip(row.epochs, row.epoch_starts, strict=True))
            for row in context.replicas
            if row.tp == tp and row.complete and row.clean and row.epochs
        ]
        runs = facts.survivors(tp)
        if caches and not any(all(_within(run, cache) for run in runs) for cache in caches):
            yield f"final_log: the leader epochs of {tp} are those of no replica's leader-epoch checkpoint"


def _within(run: LogRun, cache: Sequence[tuple[int, int]]) -> bool:
    """Whether a checkpoint has all offsets of a run under its epoch."""
    ends = [*(start for _, start in cache[1:]), run.last + 1]
    return any(
        epoch == run.epoch and start <= run.first and run.last < end
        for (epoch, start), end in zip(cache, ends, strict=True)
    )

"""The verdict on a history in memory: the steps of `highwater check`, on rows instead of files.

verify (the reference, or what Spark found) → contract → decide, with the settings that the cluster had. What
a manifest adds to that, digests and counts of files, a simulated run has not.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Labels
from checkers.contract.realised.settings import (
    ProducerPromise,
    Realised,
    clock_of_nodes,
    elr_in_force,
)
from checkers.contract.realised.terms import TopicPromise
from checkers.history.clocks.true_times import on_engines_clock
from checkers.history.records.log_runs import BatchProducers, LogRun, of_most_batches, runs_of
from checkers.history.rows import History, TopicPartition
from checkers.judgement import Judgement
from checkers.reference import check
from checkers.verdict import node_ends
from checkers.verdict.algebra import Decision, RunState
from checkers.verdict.decide import Expectation, decide
from checkers.verdict.exposure.exposure import Exposure, PartitionSends, exposure
from checkers.verdict.exposure.resumption import last_recovery
from checkers.verdict.vacuity import vacuous


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the manifest of a run says: how it was set up, and when its load ended."""

    producers: Mapping[int, ProducerPromise]
    topics: Mapping[str, TopicPromise]
    elr: bool
    monotonic_ns: int
    wall_ns: int
    load_ended_ns: int
    readers: int
    controllers: tuple[int, ...]
    expect: Expectation = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the product says of a run; `labels` are those of the judgement's anomalies."""

    judgement: Judgement
    labels: Labels
    decision: Decision


def verdict_of(history: History, asked: Asked, verify: Callable[[History], Judgement] = check) -> Judged:
    """Judge a history in memory; `verify` gives the judgement of Spark instead of the reference's."""
    history = on_engines_clock(history)
    judgement = verify(history)
    realised = realised_of(history, asked)
    labels = judge_contract(judgement.anomalies, realised)
    state = RunState(
        state="complete",
        more=tuple(node_ends.reasons(history.node_events, history.faults, realised.clock)),
        vacuous=tuple(vacuous(exposure_of(history, asked.load_ended_ns, asked.controllers), asked.readers)),
    )
    decision = decide(judgement, labels, history, asked.expect, state)
    return Judged(judgement=judgement, labels=labels, decision=decision)


def realised_of(history: History, asked: Asked) -> Realised:
    """What the contract is computed from."""
    return Realised(
        producers=asked.producers,
        topics=asked.topics,
        elr=elr_in_force(history.configs, asked.elr),
        clock=clock_of_nodes(history.clocks, asked.monotonic_ns, asked.wall_ns),
        context=history,
        survivors=cache(lambda tp: _runs(history, tp)),
        batches=cache(lambda tp: _batches(history, tp)),
    )


def exposure_of(history: History, load_ended_ns: int, controllers: Collection[int]) -> Exposure:
    """How much a run in memory has put at risk."""
    sends: dict[TopicPartition, list[tuple[int, int, int, int]]] = {tp: [] for tp in history.partitions}
    for send in history.sends:
        sends[send.tp].append((int(send.outcome), send.invoked_ns, send.completed_ns, send.offset))
    reads = dict.fromkeys(history.partitions, 0)
    for read in history.reads:
        reads[read.tp] += 1
    columns = {tp: np.array(rows, np.int64).reshape(-1, 4).T for tp, rows in sends.items()}
    recovered_ns = last_recovery(history.faults).at_ns
    of_partitions = {tp: PartitionSends.of(*its, recovered_ns=recovered_ns) for tp, its in columns.items()}
    return exposure(history, of_partitions, reads, load_ended_ns, controllers)


def _runs(history: History, tp: TopicPartition) -> Sequence[LogRun]:
    here = sorted((each.offset, each.leader_epoch) for each in history.final_log if each.tp == tp)
    return runs_of(*np.array(here, np.int64).reshape(-1, 2).T)


def _batches(history: History, tp: TopicPartition) -> BatchProducers | None:
    replicas: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for batch in history.replica_batches:
        if batch.tp == tp:
            replicas[batch.broker].append((batch.base_offset, batch.producer_id, batch.producer_epoch))
    return of_most_batches([np.array(rows, np.int64).T for _, rows in sorted(replicas.items())])

"""Where one partition's log starts: when that was seen to have moved, and by whose word; and how far the own
log of each broker has moved whose clock was set.

Invariant: a move is stated between two reports of who led; "certain" only where nothing can have moved a log
start back.
Evidence: sampled log starts, those that brokers reported of their own logs, the final read, lines of a
truncation, unclean ends of a process.
Counterexample to "the log start moved between two samples of it, by the word of who led then":
    broker 1 reports 16; broker 2, elected next, had heard of nothing, and reports 0
    the log starts at 0 again: what 1 had deleted is back
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from checkers.contract.evidence.log_ends import LogEnds, ReportedStart
from checkers.contract.evidence.outages import Outage
from checkers.contract.realised.downtimes import NEVER_NS
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.timeline import was_moved
from checkers.history.columnar import columns_of
from checkers.history.rows import Proof, TopicPartition
from checkers.history.tables import NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStartMove:
    """Between `since_ns`, when `before` reported a lower one, and `until_ns` the log start moved up from
    `from_offset` to `log_start`, as `leader` then reported. -1: the final read, which does not say who led;
    or nobody. `before` may have been `leader` itself, of its own log, when another one led."""

    since_ns: int
    until_ns: int
    before: int
    leader: int
    from_offset: int
    log_start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStart:
    """Where a broker's own log began: at `highest` at some time, and never above that where it is `certain`.

    That it is where the log was read at the end, from its disk or as the leader's, and nothing can have moved
    the log start back before: an unclean end of its process, which may forget it; a truncation below it; a
    move of the replica. Before the clock was first ahead nothing had moved it up.
    """

    highest: int
    certain: bool


def log_start_moves(
    realised: Realised, tp: TopicPartition, proof: Proof | None, log_ends: LogEnds
) -> Iterator[LogStartMove]:
    """By time, from the samples of who led; those of an epoch that was over show nothing."""
    names = ("topic", "partition", "at_ns", "asked_ns", "leader", "leader_epoch", "log_start")
    columns = columns_of(realised.context.watermarks, names)
    here = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition)
    here &= columns["log_start"] != NONE
    order = np.flatnonzero(here)[np.argsort(columns["at_ns"][here], kind="stable")]
    last, since_ns, by, newest = 0, 0, NONE, NONE
    for at in order.tolist():
        at_ns, asked_ns, leader, epoch, start = (int(columns[name][at]) for name in names[2:])
        if epoch < newest:
            continue
        asked_ns = at_ns if asked_ns == NONE else asked_ns
        began = (leader, epoch) != (by, newest) or start < last
        if began or start > last:
            move = LogStartMove(
                since_ns=since_ns, until_ns=at_ns, before=by, leader=leader, from_offset=last, log_start=start
            )
            if began:
                move = _of_its_own_log(move, epoch, log_ends.last_start(leader, asked_ns))
            if move.from_offset < start:
                yield move
        last, since_ns, by, newest = start, asked_ns, leader, epoch
    if proof is not None and proof.log_start > last:
        until_ns = max(since_ns, proof.at_ns)
        yield LogStartMove(
            since_ns=since_ns,
            until_ns=until_ns,
            before=by,
            leader=NONE,
            from_offset=last,
            log_start=proof.log_start,
        )


def _of_its_own_log(move: LogStartMove, epoch: int, own: ReportedStart | None) -> LogStartMove:
    """The move as the log of who leads under a new epoch has made it. `own` is its last report from before.

    One that had heard of no deletion brings back what others have deleted. So where its own log began lower
    than theirs it moved from there: since that report, if it led by then; else it may have taken over the log
    start of who led before. One that reported nothing, or a higher one, which an unclean end has made it
    forget, may have begun anywhere.
    """
    if own is None or own.log_start > move.log_start:
        return replace(move, before=NONE, from_offset=0) if move.from_offset > 0 else move
    if own.log_start >= min(move.from_offset, move.log_start):
        return move
    since_ns = own.asked_ns if own.leader_epoch == epoch else min(own.asked_ns, move.since_ns)
    return replace(move, since_ns=since_ns, before=move.leader, from_offset=own.log_start)


def own_start(realised: Realised, tp: TopicPartition, node: int, outages: Sequence[Outage]) -> OwnStart:
    """Where the own log of a broker began whose clock was set; `outages` are the partition's."""
    context = realised.context
    at_the_end = [row.log_start for row in context.replicas if (row.tp, row.broker) == (tp, node)]
    last = realised.timeline.at(tp, NEVER_NS)
    if last is not None and last.leader == node:
        at_the_end += [proof.log_start for proof in context.proofs if proof.tp == tp]
    final = max(at_the_end, default=NONE)
    ahead_ns = min((span.since_ns for span in realised.clocks_ahead[node] if span.ahead_ms > 0), default=0)
    moves_back = (
        "broker_lines" not in context.collected
        or any(each.node == node and each.unclean and ahead_ns <= each.last_write_ns for each in outages)
        or any(
            line.kind == "truncated" and (line.node, line.tp) == (node, tp) and line.offset <= final
            for line in context.broker_lines
        )
        or was_moved(context, tp, node)
    )
    highest = max(
        final,
        _highest_log_start(context.watermarks, "leader", tp, node),
        _highest_log_start(context.replica_offsets, "broker", tp, node),
    )
    return OwnStart(highest=highest, certain=final != NONE and not moves_back)


def _highest_log_start(rows: Sequence[Any], broker: str, tp: TopicPartition, node: int) -> int:
    """The highest log start that samples have of a broker; `broker` is the column that names it."""
    columns = columns_of(rows, ("topic", "partition", broker, "log_start"))
    its = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition) & (columns[broker] == node)
    return int(columns["log_start"][its].max(initial=NONE))

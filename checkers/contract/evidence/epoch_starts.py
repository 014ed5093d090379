"""Where the log of each leader epoch begins.

Invariant: a start is exact only where a checkpoint, the final log or its leader's own line has it; else it
lies between what its leader reported before and after. What it reported before bounds only a log that was
not cut until then: its own line, of when it began, outweighs that.
Evidence: leader-epoch checkpoints of all replicas, the epochs of the final log, log lines, log ends.
Counterexample to "an epoch without records in the log was never there":
    epoch 6 begins at offset 100, epoch 7 at offset 40: its leader had only 40 records
    Kafka drops the entry of epoch 6 from its cache, for it begins at or behind that of epoch 7
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from checkers.contract.evidence.log_ends import FAR, LogEnds
from checkers.contract.evidence.outages import Outage
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.timeline import Election
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import LEADER_START, TopicPartition
from checkers.history.tables import NONE

WrittenStarts = Mapping[tuple[int, int], Set[int]]
"""Where a broker wrote that its log ended when it began to lead, by broker and leader epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochStart:
    """The first offset of an epoch lies in [low, high]."""

    low: int = 0
    high: int = FAR


def starts_of(
    realised: Realised,
    tp: TopicPartition,
    runs: Sequence[LogRun],
    its_log: tuple[int, int],
    log_ends: LogEnds,
    outages: Sequence[Outage],
    written: WrittenStarts,
) -> dict[int, EpochStart]:
    """Exact where a checkpoint or the log has the epoch, or a line of its leader; else bounded by what its
    leader measured. `its_log`: where the final log starts and ends.

    Where retention may have deleted records, a checkpoint that has an epoch from the log start on shows only
    that the epoch begins there or before: Kafka moves up what it has of what it deletes.
    """
    log_start, log_end = its_log
    noted = [(run.epoch, run.first, log_start) for run in runs]
    for replica in realised.context.replicas:
        if replica.tp == tp:
            epochs = zip(replica.epochs, replica.epoch_starts, strict=False)
            noted += [(epoch, start, replica.log_start) for epoch, start in epochs]
    exact, at_most = dict[int, int](), dict[int, int]()
    for epoch, start, from_offset in noted:
        moved = realised.clocks_ahead and 0 < start <= from_offset
        into = at_most if moved else exact
        into[epoch] = min(start, into.get(epoch, FAR))
    found = {epoch: EpochStart(high=start) for epoch, start in at_most.items()}
    found |= {epoch: EpochStart(low=start, high=start) for epoch, start in exact.items()}
    elections = realised.timeline.elections(tp)
    for election in elections:
        if election.leader_epoch not in exact:
            last = election is elections[-1]
            own = [outage for outage in outages if outage.node == election.leader]
            high = min(log_end if last else FAR, at_most.get(election.leader_epoch, FAR))
            bounds = _bounds(election, log_ends, own, high)
            its = written.get((election.leader, election.leader_epoch), frozenset())
            found[election.leader_epoch] = _by_line(its, bounds)
    return found


def written_starts(realised: Realised, tp: TopicPartition) -> WrittenStarts:
    """What each leader wrote of where its epochs begin."""
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for line in realised.context.broker_lines:
        if line.kind == LEADER_START and line.tp == tp:
            found[line.node, line.leader_epoch].add(line.offset)
    return found


def _by_line(written: Set[int], bounds: EpochStart) -> EpochStart:
    """Where the leader itself wrote that it starts, also below what it had reported as a follower: it has cut
    its log in between. A line above what it reported under its epoch shows nothing."""
    start = next(iter(written)) if len(written) == 1 else NONE
    return EpochStart(low=start, high=start) if NONE < start <= bounds.high else bounds


def _bounds(election: Election, log_ends: LogEnds, outages: Sequence[Outage], high: int) -> EpochStart:
    """A leader begins its epoch at its log end, and neither a leader nor a follower of a leader that stays
    cuts its log: so between what it reported before, under the last epoch, and what it reported after.
    What it reported before it went down bounds nothing: `outages` are its own."""
    before = log_ends.last_before(election.leader, election.at_ns, election.deposed_epoch)
    if before is None or any(before[0] <= outage.last_write_ns <= election.at_ns for outage in outages):
        before = (NONE, 0)
    its_own = range(election.leader_epoch, election.leader_epoch + 1)
    return EpochStart(low=before[1], high=min(high, log_ends.least(election.leader, its_own)))

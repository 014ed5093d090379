"""From which offset on a follower has fetched all that it has, by its own lines.

Invariant: what a follower has at or behind the place where its fetcher began, or where it cut its log to
follow a leader, it has fetched since: from that leader, or from a later one. Not after a process that had to
recover the log: a power cut can take back a cut that was not yet on the disk.
Evidence: the lines in which a broker writes that its fetcher begins, and those of a cut between the beginning
of a role and its next; in the order of its log, whatever its clock showed.
Counterexample to "it may have what an older epoch had written there":
    broker 3 has offsets 1478 and 1479 of epoch 0; it follows under epoch 1, and writes that it cuts at 1478
    elected under epoch 2 with a log up to 1980, it has at 1478 what epoch 1 had
And another one: its log ends at 1478, and it writes that it fetches from there under epoch 1.
"""

from collections.abc import Mapping

from checkers.contract.evidence.log_ends import FAR
from checkers.history.rows import (
    CUT,
    FETCHER_START,
    FOLLOWER_START,
    RECOVERED,
    BrokerLine,
    Context,
    TopicPartition,
)
from checkers.history.tables import NONE

FetchedFrom = Mapping[tuple[int, int], int]
"""The lowest such offset, by the broker and the epoch under which it followed."""


def fetched_from(context: Context, tp: TopicPartition) -> FetchedFrom:
    """Those of one partition. A cut before a process has taken a role is of none."""
    followed: dict[int, int] = {}
    found: dict[int, dict[int, int]] = {}
    for line in context.broker_lines:
        if line.tp != tp:
            continue
        if line.kind == FOLLOWER_START:
            followed[line.node] = line.leader_epoch
        elif line.kind not in (*CUT, FETCHER_START):
            followed.pop(line.node, None)  # it leads, or another process has loaded the log
            if line.kind == RECOVERED:
                found.pop(line.node, None)
        else:
            _note(line, followed.get(line.node, NONE), found.setdefault(line.node, {}))
    return {(node, epoch): offset for node, by_epoch in found.items() for epoch, offset in by_epoch.items()}


def _note(line: BrokerLine, followed: int, by_epoch: dict[int, int]) -> None:
    epoch = line.leader_epoch if line.kind == FETCHER_START else followed
    if NONE not in (epoch, line.offset):
        by_epoch[epoch] = min(line.offset, by_epoch.get(epoch, FAR))

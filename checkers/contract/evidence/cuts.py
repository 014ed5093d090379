"""Where followers cut their logs, by their own lines.

Invariant: what a follower has at or behind the place where it cut its log to follow a leader, it has fetched
since: from that leader, or from a later one.
Evidence: the lines in which a broker writes that it begins to follow, and those of a cut before its next
role; in the order of its log, whatever its clock showed.
Counterexample to "it may have what an older epoch had written there":
    broker 3 has offsets 1478 and 1479 of epoch 0; it follows under epoch 1, and writes that it cuts at 1478
    elected under epoch 2 with a log up to 1980, it has at 1478 what epoch 1 had
"""

from collections.abc import Mapping

from checkers.contract.evidence.log_ends import FAR
from checkers.history.rows import CUT, FOLLOWER_START, Context, TopicPartition
from checkers.history.tables import NONE

Cuts = Mapping[tuple[int, int], int]
"""The lowest offset at which a broker cut its log, by the broker and the epoch under which it followed."""


def cuts_of(context: Context, tp: TopicPartition) -> Cuts:
    """Those of one partition. A cut before a process has taken a role is of none."""
    followed: dict[int, int] = {}
    found: dict[tuple[int, int], int] = {}
    for line in context.broker_lines:
        if line.tp != tp:
            continue
        if line.kind == FOLLOWER_START:
            followed[line.node] = line.leader_epoch
        elif line.kind not in CUT:
            followed.pop(line.node, None)  # it leads, or another process has loaded the log
        elif followed.get(line.node, NONE) != NONE and line.offset != NONE:
            place = line.node, followed[line.node]
            found[place] = min(line.offset, found.get(place, FAR))
    return found

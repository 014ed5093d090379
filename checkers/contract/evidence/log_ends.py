"""Each replica's own log, start and end, as its broker reported it while it ran.

Invariant: a broker measures its log between the question and its answer; what a question of before may have
been answered for is no evidence of after.
Evidence: the replica_offsets of one partition whose source is "live".
Counterexample to "the last report before a time shows the log at that time":
    broker 1 is asked at 3.0 s and answers at 3.2 s; a record is appended at 3.1 s
    the answer may have it, or not
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checkers.history.columnar import columns_of
from checkers.history.rows import ReplicaOffset, TopicPartition
from checkers.history.tables import NONE

FAR = 1 << 62
"""An offset behind all others."""
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedStart:
    """Where a broker reported that its own log starts, under a leader epoch that it led or followed; asked
    at `asked_ns`."""

    asked_ns: int
    leader_epoch: int
    log_start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnds:
    """Each replica's own log start and log end as its broker reported them: arrays of shape (n,), int64, by
    `asked_ns`.

    A broker measures its log end between the question, at that time, and its answer, at `at_ns`.
    """

    at_ns: npt.NDArray[np.int64]
    asked_ns: npt.NDArray[np.int64]
    broker: npt.NDArray[np.int64]
    leader_epoch: npt.NDArray[np.int64]
    log_start: npt.NDArray[np.int64]
    log_end: npt.NDArray[np.int64]

    def last_start(self, broker: int, before_ns: int) -> ReportedStart | None:
        """A broker's last report of its log start that was answered before a time; None if it gave none."""
        its = (self.broker == broker) & (self.at_ns < before_ns) & (self.log_start != NONE)
        own = np.flatnonzero(its)
        if not len(own):
            return None
        asked_ns, epoch, start = (
            int(column[own[-1]]) for column in (self.asked_ns, self.leader_epoch, self.log_start)
        )
        return ReportedStart(asked_ns=asked_ns, leader_epoch=epoch, log_start=start)

    def least(self, broker: int, epochs: range) -> int:
        """The least log end that a broker reported under any of these epochs; FAR if none."""
        under = (epochs.start <= self.leader_epoch) & (self.leader_epoch < epochs.stop)
        own = self.log_end[(self.broker == broker) & under]
        return int(own.min()) if len(own) else FAR

    def last(self, broker: int, epoch: int) -> tuple[int, int] | None:
        """(time, log end) of a broker's last report under an epoch; None if it gave none."""
        return self.last_before(broker, FAR, epoch)

    def last_of_all(self) -> list[tuple[int, int]]:
        """`last` of every broker and epoch."""
        found = [self.last(broker, epoch) for broker, epoch in self._pairs()]
        return [each for each in found if each is not None]

    def least_of_all(self) -> list[int]:
        """`least` of every broker and epoch."""
        return [self.least(broker, range(epoch, epoch + 1)) for broker, epoch in self._pairs()]

    def _pairs(self) -> list[tuple[int, int]]:
        return sorted(set(zip(self.broker.tolist(), self.leader_epoch.tolist(), strict=True)))

    def leads_short(self, broker: int, epoch: int, since_ns: Ints, offset: Ints) -> Bools:
        """Whether a leader's first report under its epoch since a time was of a log that does not reach an
        offset: a leader never cuts its log, so it had not appended there. Shapes (rows,).

        A question asked before that time may have been answered for an earlier one."""
        own = np.flatnonzero((self.broker == broker) & (self.leader_epoch == epoch))
        place = np.searchsorted(self.asked_ns[own], since_ns, "left")
        ends = np.append(self.log_end[own], FAR)
        return np.asarray((since_ns != NONE) & (ends[place] <= offset))

    def last_short(self, leaders: Iterable[tuple[int, int]], offset: int, before_ns: int) -> int:
        """Since when what is at an offset may have been appended: the question to which one of these leaders
        (broker, epoch) last reported, before a time, a log that does not reach it; 0 if none did."""
        found = 0
        for broker, epoch in leaders:
            its = (self.broker == broker) & (self.leader_epoch == epoch)
            its &= (self.at_ns < before_ns) & (self.log_end <= offset)
            found = max(found, int(self.asked_ns[its].max(initial=0)))
        return found

    def last_before(self, broker: int, at_ns: int, epoch: int) -> tuple[int, int] | None:
        """(time of the question, log end) of a broker's last report under an epoch up to a time; None if it
        gave none."""
        its = (self.broker == broker) & (self.leader_epoch == epoch) & (self.at_ns <= at_ns)
        own = np.flatnonzero(its)
        return (int(self.asked_ns[own[-1]]), int(self.log_end[own[-1]])) if len(own) else None


def measured(rows: Sequence[ReplicaOffset], tp: TopicPartition) -> tuple[LogEnds, list[ReplicaOffset]]:
    """What brokers reported of a partition, as columns; and what was read from disks, as rows."""
    names = (
        *("topic", "partition", "source"),
        *("at_ns", "asked_ns", "broker", "leader_epoch", "log_start", "log_end"),
    )
    columns = dict(columns_of(rows, names))
    columns["asked_ns"] = np.where(columns["asked_ns"] == NONE, columns["at_ns"], columns["asked_ns"])
    here = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition)
    live = columns["source"] == "live"
    reported = np.flatnonzero(here & live)
    order = reported[np.argsort(columns["asked_ns"][reported], kind="stable")]
    log_ends = LogEnds(**{name: columns[name][order].astype(np.int64) for name in names[3:]})
    return log_ends, [rows[at] for at in np.flatnonzero(here & ~live).tolist()]

"""What a follower does: fetch, truncate to where its log and the leader's agree, append.

Source: AbstractFetcherThread, ReplicaFetcherThread, Partition; KIP-101, KIP-279, KIP-595 (truncation by
fetch).
"""

from typing import TYPE_CHECKING

from checkers.history.tables import NONE
from checkers.model.bugs import Bug
from checkers.model.kafka.leader import Fetched
from checkers.model.kafka.log import Batch

if TYPE_CHECKING:
    from checkers.model.kafka.replica import Replica

BACKOFF_S = 0.2
"""replica.fetch.backoff.ms, as the harness sets it."""
FIRST_FETCH_S = 0.02
EXPOSURES = 5
"""After how many fetches the planted follower truncates."""


class Follower:
    """The role of a replica that follows, in one leader epoch."""

    def __init__(self, replica: "Replica") -> None:
        self._replica, self._epoch = replica, replica.leader_epoch
        self._cluster = replica.broker.cluster
        self._edge = (replica.broker.node.name, str(replica.leader))
        self._asked = 0
        self._stopped = False
        self._confused = False
        """The planted follower: it takes its log for truncated, and fetches without asking again."""
        self._exposures = 0
        self.exposes = False
        """The planted follower: it serves readers before it has truncated."""

    def start(self) -> None:
        """Begin to fetch, if there is a leader."""
        if self._replica.leader != NONE:
            self._cluster.fetcher_started(self._replica)
            if Bug.TRUNCATE_TO_HIGH_WATERMARK in self._cluster.bugs:
                self._truncate_to_high_watermark()
            self._again(FIRST_FETCH_S)

    def _truncate_to_high_watermark(self) -> None:
        replica = self._replica
        if replica.high_watermark < replica.log.end:
            self._cluster.act(Bug.TRUNCATE_TO_HIGH_WATERMARK)
            replica.truncate(replica.high_watermark)

    def stop(self, error: str) -> None:
        """Follow no more."""
        self._stopped = True

    def edge_changed(self, edge: tuple[str, str]) -> None:
        """A connection was lost, or can be opened again: what was asked over it is not answered."""
        if edge == self._edge and not self._stopped and self._replica.leader != NONE:
            self._again(BACKOFF_S)

    def _again(self, after_s: float) -> None:
        self._asked += 1
        delay_s = after_s * (0.5 + self._cluster.rng.random())
        self._cluster.loop.after(delay_s, self._fetch, self._asked)

    def _fetch(self, asked: int) -> None:
        replica = self._replica
        if self._stopped or asked != self._asked or not self._cluster.network.usable(self._edge):
            return
        if replica.broker.node.paused:
            self._again(BACKOFF_S)
            return
        leader = self._cluster.brokers[replica.leader]
        self._cluster.network.request(
            self._edge,
            leader.on_fetch,
            self._edge,
            replica.partition,
            (replica.broker.number, replica.broker.broker_epoch, replica.log.end, self._last_epoch()),
            self._epoch,
            lambda fetched: self._fetched(asked, fetched),
        )

    def _last_epoch(self) -> int:
        return NONE if self._confused else self._replica.log.last_epoch

    def _fetched(self, asked: int, fetched: Fetched) -> None:
        if self._stopped or asked != self._asked:
            return
        if fetched.error:
            self._again(BACKOFF_S)
        elif fetched.begins != NONE:
            self._replica.broker.write(self._begin_anew, asked, fetched.begins)
        elif fetched.diverging is not None:
            self._replica.broker.write(self._truncate, asked, fetched)
        elif fetched.batches:
            self._replica.broker.write(self._append, asked, fetched)
        else:
            self._take_marks(fetched)
            self._next()

    def _next(self) -> None:
        self._asked += 1
        self._fetch(self._asked)

    def _append(self, asked: int, fetched: Fetched) -> None:
        replica = self._replica
        if self._stopped or asked != self._asked:
            return
        for batch in fetched.batches:
            if (
                replica.log.start == replica.log.end
                and batch.base_offset < replica.log.end < batch.end_offset
            ):
                replica.begin_anew(batch.base_offset)  # the log start lies within a batch of the leader's
            if batch.base_offset < replica.log.end:  # only where bugs have left two batches at one offset
                assert self._cluster.bugs, "a follower appends at its end"
                continue
            replica.append(self._as_written(batch))
        self._take_marks(fetched)
        self._next()

    def _as_written(self, batch: Batch) -> Batch:
        if Bug.FOLLOWER_WRITES_OTHER_BYTES not in self._cluster.bugs or self._cluster.rng.random() > 0.08:
            return batch
        self._cluster.act(Bug.FOLLOWER_WRITES_OTHER_BYTES)
        return Batch(
            base_offset=batch.base_offset,
            leader_epoch=batch.leader_epoch,
            records=batch.records,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            appended_s=batch.appended_s,
            crc=batch.crc ^ 0x5A5A5A5A,
            bytes_of=batch,
            holders=batch.holders,
            held_since_s=batch.held_since_s,
        )

    def _take_marks(self, fetched: Fetched) -> None:
        self._take_high_watermark(fetched.high_watermark)
        self._replica.take_over_start(fetched.retained_from)

    def _take_high_watermark(self, of_leader: int) -> None:
        replica = self._replica
        replica.high_watermark = max(replica.high_watermark, min(of_leader, replica.log.end))

    def _begin_anew(self, asked: int, begins: int) -> None:
        """What is to be fetched the leader has deleted: begin where its log does."""
        if self._stopped or asked != self._asked:
            return
        replica = self._replica
        if begins > replica.log.end:
            self._cluster.took_over_start(replica, begins)
            replica.begin_anew(begins)
        self._next()

    def _truncate(self, asked: int, fetched: Fetched) -> None:
        """Go to where the leader's answer and this log agree; it may take several questions."""
        if self._stopped or asked != self._asked:
            return
        assert fetched.diverging is not None
        epoch, end = fetched.diverging
        if Bug.HIGH_WATERMARK_EXPOSED_EARLY in self._cluster.bugs and self._exposures < EXPOSURES:
            self._expose(fetched, end)
            return
        self._cut(asked, epoch, end)

    def _expose(self, fetched: Fetched, end: int) -> None:
        """The planted follower: it takes over the leader's high watermark, and truncates later."""
        replica = self._replica
        if min(fetched.high_watermark, replica.log.end) > max(replica.high_watermark, end):
            self._cluster.act(Bug.HIGH_WATERMARK_EXPOSED_EARLY)
        self._take_high_watermark(fetched.high_watermark)
        self.exposes = True
        self._exposures += 1
        self._again(BACKOFF_S)

    def _cut(self, asked: int, epoch: int, end: int) -> None:
        if self._stopped or asked != self._asked:
            return
        replica, self.exposes = self._replica, False
        replica.truncate(self._common_end(epoch, end))
        self._next()

    def _common_end(self, epoch: int, end: int) -> int:
        log = self._replica.log
        if epoch == NONE:
            return min(end, log.end)
        own_epoch, own_end = log.end_of_epoch(epoch)
        if own_epoch == NONE:
            return min(end, log.end)
        if own_epoch != epoch:
            if Bug.EPOCH_CONFUSION in self._cluster.bugs:
                self._cluster.act(Bug.EPOCH_CONFUSION)
                self._confused = True
                return min(end, log.end)
            return min(own_end, log.end)
        return min(own_end, end, log.end)

"""What became of a librdkafka client's connections, from the statistics that it reports by itself.

Its counters are kept for each broker's handle, and a handle is dropped with them when the broker leaves the
metadata, as a fenced one does: one that was connected and is gone, or that starts at zero again, counts as a
disconnect. Records that are sent again after a refusal count nowhere but in their partition: it has then
transmitted more than it was given. That is exact only while nothing of the partition is queued or in flight,
so it is read only then, and counts from the last time that it was.

Source: STATISTICS.md of librdkafka; `ts` is the monotonic clock in microseconds.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from checkers.history.tables import NONE
from workloads.clients.protocol import ConnectionReports, Trouble

INTERVAL_MS = 500
ANY_PARTITION = "-1"
"""Where librdkafka keeps records whose partition is not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Handle:
    """The counters of one broker's handle."""

    broker: int
    connects: int = 0
    disconnects: int = 0
    timeouts: int = 0
    retries: int = 0

    def since(self, before: "_Handle | None") -> "_Handle":
        """What was counted since `before`, of the same address."""
        if before is None:
            return self
        names = ("connects", "disconnects", "timeouts", "retries")
        growth = {name: getattr(self, name) - getattr(before, name) for name in names}
        if min(growth.values()) >= 0:
            return _Handle(broker=self.broker, **growth)
        return _Handle(
            broker=self.broker,
            disconnects=self.disconnects + (before.connects > 0),
            timeouts=self.timeouts,
            retries=self.retries,
        )


class Connections:
    """Reports the trouble of one client; `take` is its `stats_cb`, called in the thread that polls it."""

    def __init__(self, reports: ConnectionReports, since_ns: int) -> None:
        """`since_ns`: before the client was made."""
        self._reports = reports
        self._handles: dict[str, _Handle] = {}
        self._sent_again: dict[tuple[str, str], tuple[int, int]] = {}
        self._begin_ns = self.until_ns = since_ns
        """Up to when the connections' trouble is known."""

    def take(self, statistics: str) -> None:
        """Report what is new in the client's statistics, a JSON document."""
        facts = json.loads(statistics)
        at_ns = int(facts["ts"]) * 1000
        trouble = (*self._of_handles(facts["brokers"]), *self._of_partitions(facts["topics"], at_ns))
        self._reports.connected(self.until_ns, at_ns, trouble)
        self.until_ns = at_ns

    def _of_handles(self, brokers: Mapping[str, Any]) -> Iterator[Trouble]:
        before, self._handles = self._handles, {}
        for name, counters in brokers.items():
            self._handles[_address(name)] = _handle(counters)
        gone = {
            address: _Handle(broker=handle.broker, disconnects=int(handle.connects > 0))
            for address, handle in before.items()
            if address not in self._handles
        }
        new = {address: handle.since(before.get(address)) for address, handle in self._handles.items()}
        for each in (*gone.values(), *new.values()):
            if each.disconnects or each.timeouts or each.retries:
                yield Trouble(
                    since_ns=self.until_ns,
                    broker=each.broker,
                    disconnects=each.disconnects,
                    timeouts=each.timeouts,
                    retries=each.retries,
                )

    def _of_partitions(self, topics: Mapping[str, Any], at_ns: int) -> Iterator[Trouble]:
        for topic, facts in topics.items():
            for number, partition in facts["partitions"].items():
                if number != ANY_PARTITION and not _is_busy(partition):
                    yield from self._of_partition((topic, number), partition, at_ns)

    def _of_partition(
        self, place: tuple[str, str], partition: Mapping[str, Any], at_ns: int
    ) -> Iterator[Trouble]:
        """What was sent again since the partition was last idle. Records that were never sent lower it."""
        sent_again = partition["txmsgs"] - partition["msgs"]
        since_ns, before = self._sent_again.get(place, (self._begin_ns, 0))
        self._sent_again[place] = (at_ns, sent_again)
        if sent_again > before:
            yield Trouble(since_ns=since_ns, broker=partition["leader"], retries=sent_again - before)


def _address(name: str) -> str:
    """A handle is named address/id, and address/bootstrap before its id is known."""
    return name.rpartition("/")[0]


def _handle(counters: Mapping[str, Any]) -> _Handle:
    return _Handle(
        broker=max(NONE, counters["nodeid"]),
        connects=counters["connects"],
        disconnects=counters["disconnects"],
        timeouts=counters["req_timeouts"],
        retries=counters["txretries"] + counters["txerrs"],
    )


def _is_busy(partition: Mapping[str, Any]) -> bool:
    return any(partition[name] for name in ("msgq_cnt", "xmit_msgq_cnt", "msgs_inflight"))

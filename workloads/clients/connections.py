"""What became of a librdkafka client's connections, from the statistics that it reports by itself.

Its counters are kept in a handle for each broker, which is dropped when the broker leaves the metadata, as a
fenced one does, and made anew with zeros. So a connection that was up also counts as disconnected if its
handle is gone, is not up now, or is up only since the statistics before. Before the first statistics a handle
may have come and gone: of that time nothing is known.

Records that are sent again after a refusal count nowhere but in their partition, which has then transmitted
more than it was given. Some of what was given is always still to be transmitted, so the difference is at most
what was sent again: growth beyond the greatest one so far is certain. Together with all that is still in the
client it is at least what was sent again; while that is no more than is known already, nothing was sent again
unseen. (In 900 readings of calm loads of 100/s to 170,000/s the one was never above zero and the other never
below, and every second to fifth reading was exact.) Records that the client gives up unsent lower both.

Source: STATISTICS.md of librdkafka; `ts` is the monotonic clock in microseconds.
"""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from checkers.history.tables import NONE
from workloads.clients.protocol import ConnectionReports, Trouble

INTERVAL_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Handle:
    """What one broker's handle has counted; `up_since_ns` is -1 while it is not connected."""

    broker: int
    up_since_ns: int = NONE
    disconnects: int = 0
    timeouts: int = 0
    retries: int = 0


def _growth(before: _Handle | None, now: _Handle | None, since_ns: int) -> Trouble | None:
    """What went wrong at one address between the statistics of `since_ns` and now; None for nothing."""
    known = now or before
    assert known is not None
    was_up = before is not None and before.up_since_ns != NONE
    broke = was_up and (now is None or now.up_since_ns == NONE or now.up_since_ns > since_ns)
    counts = {
        name: _grown(getattr(before, name, 0), getattr(now, name, 0))
        for name in ("disconnects", "timeouts", "retries")
    }
    counts["disconnects"] = max(counts["disconnects"], int(broke))
    return Trouble(since_ns=since_ns, broker=known.broker, **counts) if any(counts.values()) else None


def _grown(before: int, now: int) -> int:
    """What a counter has grown by; one that is lower than before is another one, which began at zero."""
    return now - before if now >= before else now


class Connections:
    """Reports the trouble of one client; `take` is its `stats_cb`, called in the thread that polls it."""

    def __init__(self, reports: ConnectionReports, made_ns: int) -> None:
        """`made_ns`: before the client was made."""
        self._reports = reports
        self._handles: dict[str, _Handle] = {}
        self._partitions: dict[tuple[str, str], _SentAgain] = {}
        self._made_ns = made_ns
        self._is_reported = True
        self.until_ns = NONE
        """Up to when the connections' trouble is known; -1 before the first statistics."""

        self.producer_id = NONE
        """Kafka's own number of the producer; -1: the statistics do not have it yet."""

        self.in_flight = NONE
        """Requests that were sent or wait to be, and records that the client still has, as of `until_ns`."""

    def take(self, statistics: str) -> None:
        """Report what is new in the client's statistics, a JSON document."""
        facts = json.loads(statistics)
        at_ns = int(facts["ts"]) * 1000
        trouble = (*self._of_handles(facts["brokers"], at_ns), *self._of_partitions(facts, at_ns))
        if self._is_reported:
            self._reports.connected(at_ns if self.until_ns == NONE else self.until_ns, at_ns, trouble)
        self.until_ns = at_ns
        self.producer_id = max(NONE, facts.get("eos", {}).get("producer_id", NONE))
        requests = (each["waitresp_cnt"] + each["outbuf_cnt"] for each in facts["brokers"].values())
        self.in_flight = sum(requests) + facts["msg_cnt"]

    def end_reports(self) -> None:
        """Report no more: the producer has ended, though its client has not."""
        self._is_reported = False

    def _of_handles(self, brokers: Mapping[str, Any], at_ns: int) -> Iterator[Trouble]:
        before = self._handles
        self._handles = {_address(name): _handle(counters, at_ns) for name, counters in brokers.items()}
        for address in () if self.until_ns == NONE else before.keys() | self._handles.keys():
            found = _growth(before.get(address), self._handles.get(address), self.until_ns)
            if found is not None:
                yield found

    def _of_partitions(self, facts: Mapping[str, Any], at_ns: int) -> Iterator[Trouble]:
        partitions = {
            (topic, number): partition
            for topic, known in facts["topics"].items()
            for number, partition in known["partitions"].items()
        }
        counted = sum(_queued(each) + each["msgs_inflight"] for each in partitions.values())
        hidden = max(0, facts["msg_cnt"] - counted)
        for place, partition in partitions.items():
            if place not in self._partitions:
                self._partitions[place] = _SentAgain(self._made_ns)
            least = partition["txmsgs"] - partition["msgs"]
            most = least + _queued(partition) + hidden
            since_ns, count = self._partitions[place].read(at_ns, least, most)
            if count:
                yield Trouble(since_ns=since_ns, broker=partition["leader"], retries=count)


class _SentAgain:
    """How many records of one partition were certainly sent again, and until when they were no more."""

    def __init__(self, made_ns: int) -> None:
        self._known = self._most_before = 0
        # The counters are not read at one moment: the last reading but one is believed.
        self._exact_ns = deque([made_ns, made_ns], maxlen=2)

    def read(self, at_ns: int, least: int, most: int) -> tuple[int, int]:
        """Since when, and how many more, if they are between `least` and `most` now; 0 if none is certain."""
        since_ns, count = self._exact_ns[0], max(0, least - self._known)
        self._known = min(self._known + count, max(most, self._most_before))
        self._most_before = most
        if most <= self._known:
            self._exact_ns.append(at_ns)
        return since_ns, count


def _queued(partition: Mapping[str, Any]) -> int:
    return int(partition["msgq_cnt"] + partition["xmit_msgq_cnt"])


def _address(name: str) -> str:
    """A handle is named address/id, and address/bootstrap before its id is known."""
    return name.rpartition("/")[0]


def _handle(counters: Mapping[str, Any], at_ns: int) -> _Handle:
    return _Handle(
        broker=max(NONE, counters["nodeid"]),
        up_since_ns=at_ns - counters["stateage"] * 1000 if counters["state"] == "UP" else NONE,
        disconnects=counters["disconnects"],
        timeouts=counters["req_timeouts"],
        retries=counters["txretries"] + counters["txerrs"],
    )

"""When a producer may send how much: a bounded rate in short bursts, or as fast as it goes."""

BURST_NS = 100_000_000
"""A burst every 100 ms, of all producers at the same instants. Each burst is requests to brokers, and wakes
every fetch that waits, of followers and readers; those of one instant are served by few fetches. On two
processors that run six nodes, 2,000 records a second in bursts of 40 ms, each producer's by itself and each
to every partition, take all there is (1 % idle a minute after the start); these leave 44 %."""

DEBT_NS = 200_000_000
"""What could not be sent for longer than this is not made up for: no flood after an outage."""


class Pace:
    """Tokens of one producer; time is passed in, so it is tested without waiting."""

    def __init__(self, rate_per_s: float | None, start_ns: int) -> None:
        """`rate_per_s` None: as fast as it goes."""
        self._ns_each = None if rate_per_s is None else 1e9 / rate_per_s
        self._paid_ns = float(start_ns)
        self._burst_ns = start_ns

    def due(self, now_ns: int, most: int) -> int:
        """How many records to send now, at most `most`; they count as sent."""
        if self._ns_each is None:
            return most
        if now_ns < self._burst_ns:
            return 0
        self._paid_ns = max(self._paid_ns, now_ns - max(DEBT_NS, 2 * self._ns_each))
        count = min(most, int((now_ns - self._paid_ns) / self._ns_each))
        self._paid_ns += count * self._ns_each
        self._burst_ns = (now_ns // BURST_NS + 1) * BURST_NS if count else self._burst_ns
        return count

    def wait_s(self, now_ns: int) -> float:
        """How long nothing is due, at most BURST_NS; 0 if something may be."""
        if self._ns_each is None:
            return 0.0
        next_ns = max(self._burst_ns, self._paid_ns + self._ns_each)
        return min(max(0.0, next_ns - now_ns), BURST_NS) / 1e9

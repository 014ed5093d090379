"""The load: sends spread over some seconds, then a trickle until all faults are over."""

from checkers.model.clients.producer import Producer
from checkers.model.kafka.cluster import Cluster

TRICKLE_S = 0.5
MOST_AT_ONCE = 4


class Load:
    """Lets producers send. `stop` ends it."""

    def __init__(self, cluster: Cluster, producers: list[Producer]) -> None:
        self._cluster, self._producers = cluster, producers
        self._left = cluster.case.settings.records
        self.stopped = False
        cluster.loop.after(0.05, self._send)

    def _send(self) -> None:
        if self.stopped:
            return
        cluster = self._cluster
        rng, settings = cluster.rng, cluster.case.settings
        producer = self._producers[int(rng.random() * len(self._producers))]
        count = min(1 + int(rng.random() * MOST_AT_ONCE), self._left) if self._left else 1
        for _ in range(count):
            producer.send()
        self._left = max(0, self._left - count)
        gap_s = settings.load_s / settings.records * count if self._left else TRICKLE_S
        cluster.loop.after(gap_s * (0.3 + 1.4 * rng.random()), self._send)

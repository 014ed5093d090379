"""Clients that are no longer used, and live on until nothing of them is in flight.

librdkafka (2.16.1) frees a text twice if a transactional client that was fenced is destroyed while a Produce
request of it is still unanswered: the late answer finds the client's fatal error gone. So who replaces such a
client hands it over here. It is polled, so that its statistics go on, and is released once those that were
taken after it was retired show no request and no record in it. One that never gets there is kept for as long
as the process lives.
"""

import ctypes
import time
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import KafkaException

from workloads.clients.connections import Connections
from workloads.clients.producer import ProducerClient

POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A client, its statistics, and since when nothing more was asked of it."""

    client: ProducerClient
    connections: Connections
    since_ns: int

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is in flight, by statistics from after it was retired."""
        return self.connections.until_ns > self.since_ns and not self.connections.in_flight


class RetiredClients:
    """Those of one thread, which calls everything here."""

    def __init__(self) -> None:
        self._clients: list[Retired] = []

    def __len__(self) -> int:
        """How many are not released yet."""
        return len(self._clients)

    def add(self, retired: Retired) -> None:
        """Keep a client; nobody else may hold it, or it is not released in time."""
        self._clients.append(retired)

    def serve(self, within_s: float = 0.0) -> None:
        """Poll each, and release what is idle; wait for the first of them at most `within_s` seconds."""
        for each in self._clients:
            with suppress(KafkaException):  # an error of a client that nobody uses any more
                each.client.poll(within_s)
            within_s = 0.0
        self._clients = [each for each in self._clients if not each.is_idle]

    def end(self, within_s: float) -> None:
        """Release them all as they get idle; what is not after `within_s` seconds is never released."""
        deadline = time.monotonic() + within_s
        while self._clients and time.monotonic() < deadline:
            self.serve(POLL_S)
        for each in self._clients:
            keep_for_ever(each.client)
        self._clients.clear()


def keep_for_ever(held: object) -> None:
    """Never release an object, not even when the interpreter ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))

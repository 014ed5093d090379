"""The cluster of the next run, which boots while a run on another one goes on.

Its nodes get the least share of the processors until the next run asks for it: what the run under way needs,
that one has. One thread makes it, holds it, and takes it down.
"""

import secrets
import time
from concurrent.futures import Future
from threading import Event, Thread

from compose.cluster.start import Booting, DockerCluster, boot
from compose.docker.containers import LEAST_SHARES
from compose.errors import NodeStateError
from compose.spec.topology import Topology


class NextCluster:
    """A cluster that begins to boot in so many seconds, or when it is asked for if that is earlier."""

    def __init__(self, topology: Topology, *, in_s: float) -> None:
        """Returns at once."""
        self.topology = topology
        self.ahead_s = 0.0
        """How long it had been booting when it was asked for."""
        self._began = 0.0
        self._in_s = in_s
        self._asked, self._unwanted = Event(), Event()
        self._booting: Future[Booting] = Future()
        self._problem: BaseException | None = None
        self._thread = Thread(target=self._hold, name="next-cluster")
        self._thread.start()

    def ready(self) -> DockerCluster:
        """The cluster, when every broker serves. Raises ComposeError; it is to be closed then."""
        asked = time.monotonic()
        self._asked.set()
        booting = self._booting.result()
        self.ahead_s = max(0.0, asked - self._began)
        return booting.ready()

    def abandon(self) -> None:
        """Let it be taken down; returns at once."""
        self._unwanted.set()
        self._asked.set()

    def close(self) -> None:
        """Take it down, and wait until that is done. Raises ComposeError if something stays."""
        self.abandon()
        self._thread.join()
        if self._problem is not None:
            raise self._problem

    def _hold(self) -> None:
        self._asked.wait(self._in_s)
        if self._unwanted.is_set():
            self._booting.set_exception(NodeStateError("the next cluster is not wanted any more"))
            return
        self._began = time.monotonic()
        try:
            self._boot()
        except BaseException as error:  # whoever waits for it must be told
            if self._booting.done():
                self._problem = error
            else:
                self._booting.set_exception(error)

    def _boot(self) -> None:
        with boot(
            self.topology, run_id=secrets.token_hex(4), cpu_shares=LEAST_SHARES, unwanted=self._unwanted
        ) as booting:
            self._booting.set_result(booting)
            self._unwanted.wait()

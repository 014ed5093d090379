"""Runs whose only step is one fault that holds for minutes: one for each kind that holds something."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Begun = Literal["effect", "injected", "down"]
"""From when on a fault is in its midst: its effect is proven; it is injected; it has ended some node."""

HOLD_S = 180
"""Longer than a test needs to see it and to end the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFault:
    """The words of a step beside `do` and its times; `cluster` is what its cluster has beside the usual."""

    words: str
    begun: Begun = "effect"
    cluster: str = ""

    def scenario(self, kind: str) -> str:
        """The scenario as a file."""
        extra = f", {self.cluster}" if self.cluster else ""
        return f"""\
name: one-fault
cluster: {{brokers: 3, controllers: 1{extra}}}
topics: [{{name: orders, partitions: 3, replication: 3, config: {{min.insync.replicas: 2}}}}]
workload: {{producers: 2, acks: all, rate: 1000/s, readers: 1}}
faults:
  - {{name: it, at: 2s, do: {kind}, {self.words}, for: {HOLD_S}s}}
"""


FETCHES = "edges: followers -> leader"
LEADER = "target: leader"
ONE_FAULTS: Mapping[str, OneFault] = {
    "partition": OneFault(words=f"{FETCHES}, mode: blackhole"),
    "pause": OneFault(words=LEADER),
    "pulses": OneFault(words=f"{LEADER}, on: 3s, off: 500ms"),
    "kill": OneFault(words=LEADER),
    "stop": OneFault(words=LEADER),
    # Once it is proven, every broker is back.
    "rolling-restart": OneFault(words="target: brokers", begun="down"),
    "rolling-upgrade": OneFault(words="target: nodes, release: 4.3.1", begun="down", cluster="kafka: 4.0.0"),
    "cpu-limit": OneFault(words=f"{LEADER}, cpus: 0.1"),
    # How much is too little depends on the machine; the limit is there once it is injected.
    "memory-limit": OneFault(words=f"{LEADER}, memory: 1GiB", begun="injected"),
    "disk-stall": OneFault(words=LEADER),
    "disk-stutter": OneFault(words=f"{LEADER}, on: 3s, off: 1s"),
    "disk-full": OneFault(words=LEADER),
    "log-dir-failure": OneFault(words=LEADER, cluster="log_dirs: 2"),
    "power-loss": OneFault(words=LEADER),
    "disk-wipe": OneFault(words=LEADER),
    "clock-skew": OneFault(words=f"{LEADER}, offset: +5m"),
    "latency": OneFault(words=f"{FETCHES}, delay: 250ms"),
    "bandwidth": OneFault(words=f"{FETCHES}, rate: 20KB/s"),
    "slicing": OneFault(words=f"{FETCHES}, size: 100B, delay: 5ms"),
    "reset": OneFault(words=FETCHES),
    "reassign": OneFault(words="to: 2 replicas"),
    "create-topic": OneFault(words="partitions: 4"),
    "create-partitions": OneFault(words="partitions: 4"),
    "config": OneFault(words="set: min.insync.replicas=1"),
    "feature": OneFault(words="set: eligible.leader.replicas.version=0"),
}
"""By kind."""
HOLD_NOTHING: Mapping[str, str] = {
    "preferred-election": "it is over as soon as it is proven",
    "unclean-election": "it is over as soon as it is proven",
    "finalize": "what is finalized stays so, and changes nothing outside of Kafka",
    "refused-downgrade": "what is refused changes nothing",
}
"""The other kinds, and why nothing of them can be left."""

"""Faults of which something is switched off, on a real cluster under load."""

import json
from collections.abc import Callable, Mapping
from threading import Timer
from typing import Any

from fakes.run.switched_off import SWITCHED_OFF, SwitchedOff
from fakes.run.withholding import Withheld
from fakes.world.ignoring import Ignoring

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.clock import SystemClock
from faults.schedule.record import FaultRecord
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks
from shared.partitions import partition

PARTITIONS = 3
STEP = "it"
WITHHELD_S = 4.0
"""For how long a fault that was healed, as it believes, is not: a recovery is probed every 0.25 s."""
SPARE_MIB = 96
"""What a broker gets beside what it holds itself. Its heap may grow by some of that, and what is written at
10 MB a second fills the rest within a hold of 15 s."""
WARM_RECORDS = 1000
"""After so many large ones the young generation of the heap is in use as a whole."""


def memory_that_is_met(cluster: DockerCluster, view: ClusterView, topic: str) -> str:
    """A limit somewhat above what the leader holds itself now."""
    held_bytes = cluster.memory_use(partition(view, topic).leader).held_bytes
    return f"{(held_bytes >> 20) + SPARE_MIB}MiB"


def with_effect_off(
    cluster: DockerCluster, view: ClusterView, topic: str, name: str, *, partitions: int = PARTITIONS
) -> FaultRecord:
    """The record of the step, whose injection returns and has no effect."""
    off = SWITCHED_OFF[name]
    with traffic(cluster.bootstrap, topic, partitions=partitions):
        *_, record = run(Ignoring(cluster, *off.effect), view, *off.steps(STEP, topic))
    return record


def not_proven(record: FaultRecord) -> None:
    """It was injected, probed, and not proven; and healed, with proof that all is well."""
    reason = json.loads(record.evidence).get("reason", "")
    assert not record.proven, (record.name, record.evidence)
    assert record.inject_ns > 0, (record.name, record.evidence)
    assert "no probe returned" not in reason, record.name
    assert reason.startswith(("no evidence of an effect: ", "the injection failed: ")), (record.name, reason)
    assert record.recovered, (record.name, record.evidence)


def proven_once_healed(
    cluster: DockerCluster, view: ClusterView, topic: str, name: str, *, partitions: int = PARTITIONS
) -> None:
    """The effect of the step is proven; so is its recovery, once what heals it has been done, late."""
    off = SWITCHED_OFF[name]
    with traffic(cluster.bootstrap, topic, partitions=partitions, record_bytes=off.record_bytes) as acked:
        values = {}
        if "memory" in off.words:
            wait_for_acks(acked, WARM_RECORDS)
            values["memory"] = memory_that_is_met(cluster, view, topic)
        healed_late(cluster, view, off, *off.steps(STEP, topic, **values))


def healed_late(cluster: Any, view: ClusterView, off: SwitchedOff, *steps: Mapping[str, str]) -> None:
    """Run the steps, the last of which is the one that is healed late."""
    timers: list[Timer] = []

    def later(release: Callable[[], None]) -> None:
        timers.append(Timer(WITHHELD_S, release))
        timers[-1].start()

    withheld = Withheld(real=cluster, off=off, of=steps[-1]["name"], later=later, now_ns=SystemClock().now_ns)
    try:
        *_, record = run(withheld.cluster, view, *steps, on_event=withheld.on_event)
    finally:
        for timer in timers:
            timer.join()
        if withheld.released_ns < 0:
            withheld.release()
    assert record.proven is not off.breaks_off, record.evidence
    assert withheld.names == set(off.recovery)
    assert withheld.recovered_after_release, record.evidence

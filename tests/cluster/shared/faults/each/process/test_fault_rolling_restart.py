"""Rolling restarts of real brokers under load: every broker in turn, patient or not; and where none ends."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.clock import SystemClock
from faults.schedule.record import FaultRecord
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks

ROLL: Mapping[str, object] = {
    "name": "roll",
    "at": "1s",
    "do": "rolling-restart",
    "target": "brokers",
    "for": "0s",
}


def effect(record: FaultRecord) -> dict[str, Any]:
    """The values that prove the effect."""
    values = json.loads(record.evidence)["effect"]
    assert isinstance(values, dict)
    return values


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_patient_roll(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], how: str
) -> None:
    """Each broker goes down when the one before is in sync again, comes back under a new epoch, and all are
    in sync at the end; records are acknowledged before and after."""
    topic = make_topic(partitions=3)
    with traffic(cluster.bootstrap, topic, partitions=3) as acked:
        (roll,) = run(cluster, view, {**ROLL, "how": how})
        wait_for_acks(acked, 100)
    assert roll.proven, roll.evidence
    assert roll.recovered, roll.evidence
    assert roll.down == cluster.brokers
    assert roll.unclean == (cluster.brokers if how == "kill" else ())
    for up_ns, next_down_ns in zip(roll.up_ns, roll.down_ns[1:], strict=False):
        assert next_down_ns - up_ns > 1_000_000_000  # no broker boots and catches up in less
    shown = effect(roll)
    for node in map(str, cluster.brokers):
        assert shown["broker_epochs"][node] > shown["broker_epochs_before"][node] >= 0
    epochs = [shown["broker_epochs"][str(node)] for node in cluster.brokers]
    assert epochs == sorted(epochs)
    view.wait_for_full_isr([topic], within_s=10)


@dataclass
class Asked:
    """Stands for a cluster; `at_ns`: when each node was asked to end, on the clock of the schedule."""

    real: DockerCluster
    at_ns: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        if name in ("stop", "kill"):
            self.at_ns.append(SystemClock().now_ns())
        return getattr(self.real, name)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_an_impatient_roll(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], how: str
) -> None:
    """The next broker is asked to end while the one before still boots; all come back all the same."""
    topic, asked = make_topic(partitions=3), Asked(cluster)
    with traffic(cluster.bootstrap, topic, partitions=3) as acked:
        (roll,) = run(asked, view, {**ROLL, "how": how, "patient": False})
        wait_for_acks(acked, 100)
    assert roll.proven, roll.evidence
    assert roll.recovered, roll.evidence
    assert roll.down == cluster.brokers
    assert roll.unclean == (cluster.brokers if how == "kill" else ())
    for up_ns, next_asked_ns in zip(roll.up_ns[:-1], asked.at_ns[1:], strict=True):
        assert 0 < next_asked_ns - up_ns < 3_000_000_000
    view.wait_for_full_isr([topic], within_s=60)

"""Every fault on a real cluster under load: its effect is proven, and so is its recovery."""

import json
from collections.abc import Iterator, Mapping
from threading import Event
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
)

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.clock import SystemClock
from faults.plan.parse import parse_steps
from faults.schedule.record import FaultRecord
from faults.schedule.scheduler import run_schedule
from shared.faults.fault_traffic import traffic, wait_for_acks

ORDERS, PARTITIONS = "fault-orders", 3
LEADER, FOLLOWERS = f"leader({ORDERS}-0)", f"followers({ORDERS}-0)"
NEXT = "previous.recovered + 300ms"

PLAN: list[Mapping[str, object]] = [
    # The deterministic leader kill: the followers cannot fetch, then the leader dies.
    {"name": "cut", "at": "1500ms", "do": "partition", "edges": f"{FOLLOWERS} -> {LEADER}", "for": "2500ms"},
    {"name": "kill", "after": "cut.begin + 1500ms", "do": "kill", "target": LEADER, "for": "2s"},
    # On an event: the new leader loses its controllers as soon as it is elected.
    {"name": "zombie", "when": f"leader.changed({ORDERS}-0)", "within": "30s"}
    | {"do": "partition", "edges": f"{LEADER} -> controllers", "mode": "blackhole", "for": "4s"},
    {"name": "isolate", "after": NEXT, "do": "partition", "target": LEADER, "mode": "blackhole", "for": "2s"},
    {"name": "pause", "after": NEXT, "do": "pause", "target": LEADER, "for": "1500ms"},
    {"name": "quorum", "after": NEXT, "do": "pause", "target": "active controller", "for": "1500ms"},
    {"name": "stop", "after": NEXT, "do": "stop", "target": LEADER, "for": "500ms"},
    # Overlapping: the node dies while its disk is frozen.
    {"name": "stall", "after": NEXT, "do": "disk-stall", "target": LEADER, "for": "3s"},
    {"name": "frozen-kill", "after": "stall.begin + 1800ms", "do": "kill", "target": LEADER, "for": "3s"},
]

# Once the leader acknowledges records again after all of that: one that has just been started, and to which
# nobody writes yet, has nothing unsynced to lose.
POWER: list[Mapping[str, object]] = [
    {"name": "power", "at": "0s", "do": "power-loss", "target": LEADER, "for": "1s"}
]


@pytest.fixture(scope="module")
def records(shared_cluster: DockerCluster) -> Iterator[dict[str, FaultRecord]]:
    """The plan, run once, by the names of its steps."""
    cluster = shared_cluster
    view = ClusterView(cluster.bootstrap)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(ORDERS, num_partitions=PARTITIONS, replication_factor=3)])[ORDERS].result(
        30
    )
    view.wait_until_settled(ORDERS, within_s=30)
    clock = SystemClock()
    with traffic(cluster.bootstrap, ORDERS, partitions=PARTITIONS) as acked:
        done = run_schedule(parse_steps(PLAN), cluster, view, clock, stop=Event(), on_event=print)
        wait_for_acks(acked, 100, partition=0)
        done += run_schedule(parse_steps(POWER), cluster, view, clock, stop=Event(), on_event=print)
    yield {record.name: record for record in done}
    admin.delete_topics([ORDERS])[ORDERS].result(30)  # its replicas are not what the next test is about


def effect(record: FaultRecord) -> dict[str, Any]:
    """The values that prove the effect."""
    values = json.loads(record.evidence)["effect"]
    assert isinstance(values, dict)
    return values


@pytest.mark.parametrize("name", [str(step["name"]) for step in [*PLAN, *POWER]])
def test_every_fault_is_proven(records: dict[str, FaultRecord], name: str) -> None:
    """Each fault has a proven effect and a proven recovery, in this order."""
    record = records[name]
    assert record.proven, record.evidence
    assert record.recovered, record.evidence
    assert record.inject_ns < record.effect_ns < record.heal_ns <= record.recovered_ns


def test_a_cut_stops_the_bytes_of_its_edges(records: dict[str, FaultRecord]) -> None:
    """Both fetch edges of the leader carried bytes before the cut, and none after."""
    cut = records["cut"]
    assert len(cut.edges) == 2
    assert set(effect(cut)["bytes_before"]) == set(cut.edges)
    assert effect(cut)["no_byte_for_s"] >= 0.75


def test_edges_to_idle_controllers_are_probed(records: dict[str, FaultRecord]) -> None:
    """A broker talks to the active controller only; the edges to the others answered before, not after."""
    zombie = effect(records["zombie"])
    assert len(zombie["bytes_before"]) == 1
    assert len(zombie["answered_before_not_after"]) == 2


def test_an_isolated_node_is_cut_off_from_everybody(records: dict[str, FaultRecord]) -> None:
    """A partition of a target takes all its edges: from clients and peers, to peers and controllers."""
    assert len(records["isolate"].edges) == 1 + 2 + 2 + 3


def test_exit_codes(records: dict[str, FaultRecord]) -> None:
    """A killed node died of SIGKILL, a stopped one ended by itself, and only the first is unclean."""
    assert set(effect(records["kill"])["exit_codes"].values()) == {137}
    assert set(effect(records["stop"])["exit_codes"].values()) <= {0, 143}
    assert records["kill"].unclean == records["kill"].nodes
    assert records["stop"].unclean == ()


def test_outages(records: dict[str, FaultRecord]) -> None:
    """A node that was killed, stopped or cut off from power is down from its end to its start."""
    for name in ("kill", "stop", "frozen-kill", "power"):
        record = records[name]
        assert record.down == record.nodes, name
        for down_ns, up_ns in zip(record.down_ns, record.up_ns, strict=True):
            assert record.inject_ns < down_ns < up_ns <= record.heal_ns, name
    assert [records[name].down for name in ("cut", "zombie", "isolate", "pause", "quorum", "stall")] == [
        ()
    ] * 6


def test_an_event_is_met_by_the_node_that_holds_the_role_then(records: dict[str, FaultRecord]) -> None:
    """The partition waited for a new leader, and hit that one, about 4 s after the kill."""
    kill, zombie = records["kill"], records["zombie"]
    assert zombie.inject_ns - kill.inject_ns > 1_000_000_000
    assert not set(kill.nodes) & set(zombie.nodes)


def test_a_power_cut_takes_unsynced_bytes(records: dict[str, FaultRecord]) -> None:
    """The node's log was shorter after the cut by at least what had not been synced."""
    power = records["power"]
    (node,) = power.nodes
    unsynced, lost = (
        effect(power)[key][str(node)] for key in ("unsynced_log_bytes_before", "lost_log_bytes")
    )
    assert lost >= unsynced > 0, power.evidence
    assert effect(power)["reads_failed_with"] == {str(node): ["Input/output error"]}
    assert (power.data_lost, power.unclean) == ((node,), (node,))


def test_inject_to_effect_is_short(records: dict[str, FaultRecord]) -> None:
    """Cuts, pauses and stalls take effect within a second or two, also on a busy machine."""
    for name in ("cut", "pause", "stall"):
        record = records[name]
        assert record.effect_ns - record.inject_ns < 2_000_000_000, name

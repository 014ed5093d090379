"""Events and schedules on a real cluster: each step is injected when what it waits for has come."""

import json
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Offset
from fakes.waiting import until

from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView
from faults.schedule.record import FaultRecord
from faults.targets.roles import Roles
from faults.targets.target import TopicPartition
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic
from shared.partitions import partition
from workloads.plan import TransactionPlan, WorkloadPlan
from workloads.run import start

SECOND_NS = 1_000_000_000
PAUSE = {"do": "pause", "target": "node 101", "for": "1500ms"}
TRANSACTIONAL_ID = "id-of-events"


def all_went_well(*records: FaultRecord) -> None:
    """Every fault was proven, and has recovered."""
    for record in records:
        assert record.proven, (record.name, record.evidence)
        assert record.recovered, (record.name, record.evidence)


def test_a_broker_is_fenced_and_unfenced(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """The controllers give a killed broker up after its session (4 s), and take it back when it is back."""
    topic = make_topic()
    with traffic(cluster.bootstrap, topic, partitions=1):
        kill, fenced, unfenced = run(
            cluster,
            view,
            {"name": "kill", "at": "2s", "do": "kill", "target": "node 3", "for": "12s"},
            PAUSE | {"name": "fenced", "when": "broker 3 fenced", "since": "kill.begin"},
            PAUSE | {"name": "unfenced", "when": "broker 3 unfenced", "since": "kill.begin"},
        )
    all_went_well(kill, fenced, unfenced)
    assert kill.begin_ns + 2 * SECOND_NS < fenced.inject_ns < kill.heal_ns
    assert kill.heal_ns < unfenced.inject_ns < kill.heal_ns + 30 * SECOND_NS
    assert view.fenced() == {1: False, 2: False, 3: False}


def test_a_zombie_is_fenced_by_the_word_of_the_others(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """A broker that the controllers do not reach lists itself as alive for long, and the other two do not."""
    topic = make_topic()
    with traffic(cluster.bootstrap, topic, partitions=1):
        cut, fenced = run(
            cluster,
            view,
            {"at": "2s", "do": "partition", "edges": "2 -> controllers", "mode": "refuse", "for": "12s"},
            PAUSE | {"when": "broker 2 fenced"},
        )
    all_went_well(cut, fenced)
    assert fenced.inject_ns < cut.heal_ns


def test_the_controller_moves(cluster: DockerCluster, view: ClusterView) -> None:
    """Another one is elected while the killed one is down."""
    kill, moved = run(
        cluster,
        view,
        {"name": "kill", "at": "3s", "do": "kill", "target": "active controller", "for": "12s"},
        {"name": "moved", "when": "controller.moved", "do": "pause", "target": "node 3", "for": "1500ms"},
    )
    all_went_well(kill, moved)
    assert kill.begin_ns < moved.inject_ns < kill.heal_ns
    assert cluster.active_controller() not in (None, *kill.nodes)


def test_a_coordinator_moves(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """A group that has committed is coordinated by one broker, and by another once that is killed."""
    topic, group = make_topic(), "group-of-events"
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    consumer.commit(offsets=[Offset(topic, 0, 0)], asynchronous=False)
    consumer.close()
    before = view.coordinator(group)
    assert before in cluster.brokers
    with traffic(cluster.bootstrap, topic, partitions=1):
        kill, moved = run(
            cluster,
            view,
            {"name": "kill", "at": "3s", "do": "kill", "target": f"node {before}", "for": "12s"},
            PAUSE | {"name": "moved", "when": f"coordinator({group}).moved"},
        )
    all_went_well(kill, moved)
    assert kill.begin_ns < moved.inject_ns < kill.heal_ns
    assert view.coordinator(group) not in (None, before)


def transactions(topic: str, *, takeover_s: float | None = None) -> WorkloadPlan:
    """The load of one transactional id, which a second instance takes over that often."""
    plan = TransactionPlan(ids=(TRANSACTIONAL_ID,), takeover_s=takeover_s, readers=0)
    return WorkloadPlan(topics={topic: 3}, producers=1, rate_per_s=500.0, readers=0, transactions=plan)


def test_a_transaction_coordinator_moves(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """The id of a load is coordinated by one broker, and by another once that is killed; it commits again."""
    topic = make_topic(partitions=3, config={"min.insync.replicas": "2"})
    with start(transactions(topic), cluster.bootstrap, tmp_path) as load:
        load.wait_warm()
        before = Roles(cluster=cluster, view=view).coordinating(TRANSACTIONAL_ID).leader
        target = f"transaction coordinator({TRANSACTIONAL_ID})"
        kill, moved = run(
            cluster,
            view,
            {"name": "kill", "at": "3s", "do": "kill", "target": target, "for": "12s"},
            PAUSE | {"name": "moved", "when": f"transaction coordinator({TRANSACTIONAL_ID}).moved"},
        )
        acked = load.stats().acked
        until(lambda: load.stats().acked > acked, 30)
    all_went_well(kill, moved)
    assert kill.nodes == (before,)
    assert kill.begin_ns < moved.inject_ns < kill.heal_ns
    assert Roles(cluster=cluster, view=view).coordinating(TRANSACTIONAL_ID).leader not in (-1, before)


def test_a_producer_is_fenced(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """The step follows within two seconds when a producer is told that another instance has its id."""
    topic, asked_ns = make_topic(partitions=3, config={"min.insync.replicas": "2"}), list[int]()
    with start(transactions(topic, takeover_s=4.0), cluster.bootstrap, tmp_path) as load:
        load.wait_warm()

        def last_fencing_ns() -> int:
            asked_ns.append(load.stats().last_fencing_ns)
            return asked_ns[-1]

        began_ns = time.monotonic_ns()
        step = PAUSE | {"when": "producer fenced", "within": "30s"}
        (told,) = run(cluster, view, step, last_fencing_ns=last_fencing_ns)
    all_went_well(told)
    fenced_ns = asked_ns[-1]
    assert began_ns < fenced_ns <= told.inject_ns < fenced_ns + 2 * SECOND_NS


def test_eligible_leaders_come_and_go(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """With min.insync.replicas=2, who leaves an ISR of two stays eligible; none is, once all are back."""
    assert cluster.topology.elr_on
    topic = make_topic(config={"min.insync.replicas": "2"})
    place = f"{topic}-0"
    edges = f"followers({place}) -> leader({place})"
    with traffic(cluster.bootstrap, topic, partitions=1):
        cut, came, gone = run(
            cluster,
            view,
            {"name": "cut", "at": "2s", "do": "partition", "edges": edges, "for": "12s"},
            PAUSE | {"name": "came", "when": f"elr.size({place}) >= 1"},
            PAUSE | {"name": "gone", "when": f"elr.size({place}) == 0", "since": "cut.end"},
        )
    all_went_well(cut, came, gone)
    assert cut.begin_ns + 2 * SECOND_NS < came.inject_ns < cut.heal_ns < gone.inject_ns
    assert partition(view, topic).elr == ()


def test_the_first_ack_after_a_kill(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """The step follows the load's first acknowledgement by the new leader within a second and a half."""
    topic = make_topic(config={"min.insync.replicas": "2"})
    place = f"{topic}-0"
    with traffic(cluster.bootstrap, topic, partitions=1) as acked:

        def last_ack_ns(of: TopicPartition | None) -> int:
            assert str(of) == place
            return round(acked.records[-1][0] * 1e9) if acked.records else -1

        kill, after = run(
            cluster,
            view,
            {"name": "kill", "at": "2s", "do": "kill", "target": f"leader({place})", "for": "10s"},
            PAUSE | {"when": f"first ack({place}) after kill.begin"},
            last_ack_ns=last_ack_ns,
        )
    all_went_well(kill, after)
    first_ns = min(round(at * 1e9) for at, _, _ in acked.records if round(at * 1e9) > kill.begin_ns)
    assert 0 <= after.inject_ns - first_ns < 1.5 * SECOND_NS


def test_an_event_counts_from_its_moment_on(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """The first move of the leader is over when it counts; the one that a second kill brings about comes."""
    topic = make_topic()
    place = f"{topic}-0"
    kill = {"do": "kill", "target": f"leader({place})", "for": "8s"}
    with traffic(cluster.bootstrap, topic, partitions=1):
        first, second, moved = run(
            cluster,
            view,
            kill | {"name": "first", "at": "2s"},
            kill | {"name": "second", "after": "first.recovered + 3s"},
            PAUSE | {"name": "moved", "when": f"leader.moved({place})", "since": "first.recovered"},
        )
    all_went_well(first, second, moved)
    assert moved.inject_ns > second.begin_ns


def test_repetitions_begin_when_they_are_planned(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str]
) -> None:
    """Four pauses, some 8 s apart, each with its own number, within half a second of their instants."""
    repeat = {"every": "8s", "jitter": "1s", "times": 4}
    topic = make_topic()
    with traffic(cluster.bootstrap, topic, partitions=1):
        records = run(cluster, view, PAUSE | {"name": "it", "at": "3s", "repeat": repeat})
    all_went_well(*records)
    assert [record.name for record in records] == ["it#1", "it#2", "it#3", "it#4"]
    for before, now in pairwise(records):
        assert 5.9 < (now.planned_begin_ns - before.planned_begin_ns) / SECOND_NS < 10.1
    assert max(json.loads(record.evidence)["late_s"] for record in records) < 0.5


def test_repetitions_of_steps_that_begin_together_may_overlap(
    cluster: DockerCluster, view: ClusterView
) -> None:
    """Twice until 9 s, each time two faults at one instant. The second delay of an edge is added to the first
    one, which still holds, and has not recovered before both are healed; what follows waits for all."""
    late = {"name": "late", "do": "latency", "edges": "2 -> 3", "delay": "250ms", "for": "7s"}
    repeat = {"every": "4s", "until": "9s", "overlap": "allow"}
    records = run(
        cluster,
        view,
        {"name": "both", "at": "4s", "repeat": repeat, "parallel": [late, PAUSE | {"name": "pause"}]},
        PAUSE | {"name": "last", "after": "both.recovered + 1s"},
    )
    all_went_well(*records)
    by_name = {record.name: record for record in records}
    assert list(by_name) == ["late#1", "pause#1", "late#2", "pause#2", "last"]
    first, second = by_name["late#1"], by_name["late#2"]
    for number, its in enumerate((first, second), start=1):
        assert by_name[f"pause#{number}"].planned_begin_ns == its.planned_begin_ns
    assert second.planned_begin_ns - first.planned_begin_ns == 4 * SECOND_NS
    assert second.inject_ns < first.heal_ns < second.end_ns <= first.recovered_ns
    trips = [json.loads(each.evidence)["effect"]["round_trip_during_s"]["2->3"] for each in (first, second)]
    assert trips[0] > 0.2
    assert trips[1] > 0.45
    assert by_name["last"].inject_ns > max(record.recovered_ns for record in records[:-1])


@pytest.mark.parametrize("then", ["recovered", "end + 4s"])
def test_brokers_are_rolled_one_after_the_other(
    cluster: DockerCluster, view: ClusterView, make_topic: Callable[..., str], then: str
) -> None:
    """Each is stopped after the one before; what follows the block waits for the last."""
    stops = [{"do": "stop", "target": f"node {node}", "for": "1s"} for node in (1, 2, 3)]
    topic = make_topic(config={"min.insync.replicas": "2"})
    with traffic(cluster.bootstrap, topic, partitions=1):
        *stopped, last = run(
            cluster,
            view,
            {"name": "roll", "at": "2s", "then": then, "sequence": stops},
            PAUSE | {"after": "all(roll.end, roll.recovered) + 1s"},
        )
    all_went_well(*stopped, last)
    for before, now in pairwise(stopped):
        assert now.inject_ns > (before.recovered_ns if then == "recovered" else before.heal_ns)
        assert json.loads(now.evidence)["late_s"] < 0.5
    assert last.inject_ns > max(record.recovered_ns for record in stopped)

"""A scenario on the simulated Kafka: its schedule, with the times that events and recoveries really take.

Roles are those of the first partition, which broker 1 leads first. The scenario has three brokers and three
controllers, and one topic.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from checkers.model import (
    Action,
    Case,
    CleanStop,
    ClockSkew,
    DiskStall,
    Kill,
    Latency,
    ModelSettings,
    Partition,
    Pause,
    PowerLoss,
    ProducerSettings,
)
from fakes.world.cluster import FakeCluster
from fakes.world.view import FakeView, partition
from faults.kinds.clock.clock_skew import ClockSkewStep
from faults.kinds.network.latency import LatencyStep
from faults.kinds.network.partition import PartitionStep
from faults.kinds.step import After, At, ResolvedTargets, Step, When
from faults.targets.moments import StepMoment, time_of
from faults.targets.roles import Roles
from harness.scenario.resolve import Resolved

ELECTED_S = 4.5
"""After a kill: the session and the election. Measured: 3.4 to 4.3 s."""
RECOVERED_S = 6.0
"""From the start of a node to the full ISR. Measured: 3 to 6.4 s."""
EVENT_S = 5.5
"""From the begin of the step before: an ISR shrinks 3.1 to 6.1 s after a cut, an election as above."""
STOPS_S = 1.5
RECORDS_A_SECOND = 12
OF_NODES: Mapping[str, type[Pause | Kill | CleanStop | DiskStall | PowerLoss]] = {
    "pause": Pause,
    "kill": Kill,
    "stop": CleanStop,
    "disk-stall": DiskStall,
    "power-loss": PowerLoss,
}


@dataclass(slots=True, kw_only=True)
class _Leadership:
    """Who leads the partition, and when leadership moves away from a node whose process ends."""

    leader: int = 1
    ends: list[tuple[float, int]] = field(default_factory=list)

    def at(self, at_s: float) -> int:
        """The leader at a time; times do not step back."""
        for ended_s, node in sorted(self.ends):
            if ended_s <= at_s and node == self.leader:
                self.leader = next(one for one in (1, 2, 3) if one != node)
        self.ends = [each for each in self.ends if each[0] > at_s]
        return self.leader


def case_of(resolved: Resolved, seed: int) -> Case:
    """The scenario as a case of the model."""
    schedule, ended_s = _schedule(resolved)
    workload = resolved.scenario.workload
    load_s = max(workload.lasts_s, ended_s + workload.tail_s)
    return Case(seed=seed, settings=_settings(resolved, load_s), schedule=schedule)


def _settings(resolved: Resolved, load_s: float) -> ModelSettings:
    scenario = resolved.scenario
    (topic,), workload = scenario.topics, scenario.workload
    producer = ProducerSettings(
        acks=workload.acks,
        idempotence=workload.idempotent,
        retries=workload.client.get("retries") != "0",
    )
    lag_ms = scenario.cluster.broker_config.get("replica.lag.time.max.ms", "3000")
    config = topic.config
    flush = {"flush_messages": int(config["flush.messages"])} if "flush.messages" in config else {}
    return ModelSettings(
        partitions=topic.partitions,
        replication=topic.replication,
        min_isr=int(config["min.insync.replicas"]),
        elr=resolved.topology.elr_on,
        unclean_election=config.get("unclean.leader.election.enable") == "true",
        producers=(producer, producer),
        records=int(load_s * RECORDS_A_SECOND),
        load_s=load_s,
        lag_max_s=int(lag_ms) / 1000,
        **flush,
    )


def _schedule(resolved: Resolved) -> tuple[tuple[Action, ...], float]:
    """The actions, and when the last fault has ended."""
    leadership = _Leadership()
    moments: dict[StepMoment, float] = {}
    actions, begun_s, ended_s = [], 0.0, 0.0
    for step in resolved.steps:
        at_s = _at_s(step, moments, begun_s)
        takes_s = STOPS_S if step.kind == "stop" else 0.0
        begun_s, end_s = at_s + takes_s, at_s + takes_s + step.hold_s
        moments[StepMoment(step=step.name, moment="begin")] = begun_s
        moments[StepMoment(step=step.name, moment="end")] = end_s
        moments[StepMoment(step=step.name, moment="recovered")] = end_s + RECOVERED_S
        targets = step.resolve(_roles(resolved, leadership.at(at_s)))
        if step.kind in ("kill", "stop", "power-loss"):
            moves_s = at_s if step.kind == "stop" else at_s + ELECTED_S
            leadership.ends += [(moves_s, node) for node in targets.nodes]
        actions.append(_action(step, at_s, takes_s + step.hold_s, targets))
        ended_s = max(ended_s, end_s)
    return tuple(actions), ended_s


def _roles(resolved: Resolved, leader: int) -> Roles:
    view, topology = FakeView(), resolved.topology
    replicas = (1, 2, 3)[: resolved.scenario.topics[0].replication]
    view.put(replace(partition("orders", 0, leader), replicas=replicas, isr=replicas))
    return Roles(cluster=FakeCluster(topology.broker_ids, topology.controller_ids), view=view)


def _at_s(step: Step, moments: Mapping[StepMoment, float], begun_s: float) -> float:
    match step.start:
        case At(offset_s=offset_s):
            return offset_s
        case After(of=of, delay_s=delay_s):
            return time_of(of, moments.__getitem__) + delay_s
        case When():
            return begun_s + EVENT_S


def _action(step: Step, at_s: float, hold_s: float, targets: ResolvedTargets) -> Action:
    edges = tuple(map(str, targets.edges))
    match step:
        case PartitionStep(mode=mode):
            return Partition(at_s=at_s, hold_s=hold_s, edges=edges, refuse=mode == "refuse")
        case LatencyStep(delay_s=delay_s):
            return Latency(at_s=at_s, hold_s=hold_s, edges=edges, delay_s=delay_s)
        case ClockSkewStep(offset_ms=offset_ms):
            return ClockSkew(at_s=at_s, hold_s=hold_s, nodes=targets.nodes, ahead_s=offset_ms / 1000)
    return OF_NODES[step.kind](at_s=at_s, hold_s=hold_s, nodes=targets.nodes)

"""A scenario on the simulated Kafka: its schedule, with the times that events and recoveries really take.

Roles are those of the first partition, which FIRST_LEADER leads first. The scenario has three brokers and
three controllers, and one topic. A wiped disk is one that was emptied: the model's has no directory id. The
model knows no releases: of a roll it has the restarts of the brokers, and what the nodes say of their
releases is added to its history.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from checkers.history.rows import BrokerLine, ConfigChange, NodeEvent
from checkers.model import (
    Action,
    Case,
    CleanStop,
    ClockSkew,
    DiskFull,
    DiskStall,
    DiskWipe,
    Kill,
    Latency,
    LogDirFailure,
    ModelSettings,
    Partition,
    Pause,
    PowerLoss,
    PreferredElection,
    ProducerSettings,
    Reassign,
    Simulated,
    simulate,
)
from checkers.model.case import BROKERS
from checkers.model.observe.clock import nanoseconds, wall_ms
from compose.admin_protocol import METADATA_VERSION
from compose.releases.upgrades import metadata_level
from fakes.world.cluster import FakeCluster
from fakes.world.view import FakeView, partition
from faults.kinds.admin.leaders.preferred_election import PreferredElectionStep
from faults.kinds.admin.placement import Count, Placement, Rotated
from faults.kinds.admin.reassign import ReassignStep
from faults.kinds.clock.clock_skew import ClockSkewStep
from faults.kinds.disk.disk_stutter import DiskStutterStep
from faults.kinds.disk.disk_wipe import DiskWipeStep
from faults.kinds.disk.log_dir_failure import LogDirFailureStep
from faults.kinds.fault.step import After, At, ResolvedTargets, Step, When
from faults.kinds.network.latency import LatencyStep
from faults.kinds.network.partition import PartitionStep
from faults.kinds.process.pulses import PulsesStep
from faults.kinds.process.rolling_restart import RollingRestartStep
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from faults.targets.moments import StepMoment, time_of
from faults.targets.roles import Roles
from harness.scenario.resolve import Resolved

FIRST_LEADER = 1
ELECTED_S = 4.5
"""After a kill: the session and the election. Measured: 3.4 to 4.3 s."""
RECOVERED_S = 6.0
"""From the start of a node to the full ISR. Measured: 3 to 6.4 s."""
EVENT_S = 5.5
"""From the begin of the step before: an ISR shrinks 3.1 to 6.1 s after a cut, an election as above."""
STOPS_S = 1.5
CONTROLLER_S = 2.0
"""For which a controller is away while it gets another release; the model can only let it stand still."""
RECORDS_A_SECOND = 12
OF_NODES: Mapping[str, type[Pause | Kill | CleanStop | DiskStall | PowerLoss | DiskWipe | DiskFull]] = {
    "pause": Pause,
    "kill": Kill,
    "stop": CleanStop,
    "disk-stall": DiskStall,
    "power-loss": PowerLoss,
    "disk-wipe": DiskWipe,
    "disk-full": DiskFull,
}


@dataclass(slots=True, kw_only=True)
class _Leadership:
    """Who leads the partition, and when leadership moves away from a node that ends or is missed."""

    leader: int = FIRST_LEADER
    ends: list[tuple[float, int]] = field(default_factory=list)

    def at(self, at_s: float) -> int:
        """The leader at a time; times do not step back."""
        for ended_s, node in sorted(self.ends):
            if ended_s <= at_s and node == self.leader:
                self.leader = next(one for one in (1, 2, 3) if one != node)
        self.ends = [each for each in self.ends if each[0] > at_s]
        return self.leader


@dataclass(slots=True)
class _Planned:
    """The actions; when the last fault has ended; from when on a node starts with another release, as (at_s,
    node, release); and when a metadata.version is finalized, as (at_s, level)."""

    actions: list[Action] = field(default_factory=list)
    ended_s: float = 0.0
    releases: list[tuple[float, int, str]] = field(default_factory=list)
    levels: list[tuple[float, int]] = field(default_factory=list)


def case_of(resolved: Resolved, seed: int) -> Case:
    """The scenario as a case of the model."""
    planned = _plan(resolved)
    workload = resolved.scenario.workload
    load_s = max(workload.lasts_s, planned.ended_s + workload.tail_s)
    return Case(seed=seed, settings=_settings(resolved, load_s), schedule=tuple(planned.actions))


def rehearsed(resolved: Resolved, seed: int) -> Simulated:
    """The simulated run, and what its nodes say of their releases and of metadata.version."""
    simulated, planned = simulate(case_of(resolved, seed)), _plan(resolved)
    its = simulated.history
    events, nodes = its.node_events, resolved.topology.nodes
    lines = [line for node in nodes for line in _named(resolved, planned, events, node)]
    levels = [(wall_ms(0.0), metadata_level(resolved.topology.format_release))]
    levels += [(wall_ms(at_s), level) for at_s, level in planned.levels]
    others = [row for row in its.configs if row.name != METADATA_VERSION]
    features = [
        ConfigChange(
            at_ms=at_ms,
            log_offset=max((row.log_offset for row in its.metadata if row.at_ms <= at_ms), default=0),
            kind="feature",
            name=METADATA_VERSION,
            value=str(level),
        )
        for at_ms, level in levels
    ]
    history = replace(its, broker_lines=[*its.broker_lines, *lines], configs=[*others, *features])
    return replace(simulated, history=history)


def _named(
    resolved: Resolved, planned: _Planned, events: Sequence[NodeEvent], node: int
) -> Iterator[BrokerLine]:
    """A line for each start of a node: those of the history, or of a controller those of the rolls."""
    changes = [(at_s, release) for at_s, of, release in planned.releases if of == node]
    begun = [each.at_ns for each in events if each.node == node and each.event == "started"]
    of_rolls = [nanoseconds(at_s) for at_s, _ in changes] if node in resolved.topology.controller_ids else []
    for at_ns in sorted([*begun, *of_rolls]):
        known = [release for at_s, release in changes if nanoseconds(at_s) <= at_ns]
        release = known[-1] if known else resolved.topology.kafka
        at_ms = wall_ms(0.0) + (at_ns - nanoseconds(0.0)) // 1_000_000
        line = f"INFO Kafka version: {release} (org.apache.kafka.common.utils.AppInfoParser)"
        yield BrokerLine(topic="", partition=-1, at_ms=at_ms, node=node, kind="version", line=line)


def _settings(resolved: Resolved, load_s: float) -> ModelSettings:
    scenario = resolved.scenario
    (topic,), workload = scenario.topics, scenario.workload
    producer = ProducerSettings(
        acks=workload.acks,
        idempotence=workload.idempotent,
        retries=workload.client.get("retries") != "0",
        delivery_timeout_s=workload.delivery_timeout_s,
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
        log_dirs=resolved.topology.log_dirs,
        first_leader=FIRST_LEADER,
        **flush,
    )


def _plan(resolved: Resolved) -> _Planned:
    """All steps, one after the other."""
    leadership, planned = _Leadership(), _Planned()
    moments: dict[StepMoment, float] = {}
    begun_s, running = 0.0, dict.fromkeys(resolved.topology.nodes, resolved.topology.kafka)
    for step in resolved.steps:
        at_s = _at_s(step, moments, begun_s)
        targets = step.resolve(_roles(resolved, leadership.at(at_s)))
        takes_s = STOPS_S if step.kind == "stop" else 0.0
        if isinstance(step, RollingRestartStep | RollingUpgradeStep):
            takes_s = _roll(planned, leadership, step, at_s, targets.nodes, running)
        begun_s, end_s = at_s + takes_s, at_s + takes_s + step.hold_s
        moments[StepMoment(step=step.name, moment="begin")] = begun_s
        moments[StepMoment(step=step.name, moment="end")] = end_s
        moments[StepMoment(step=step.name, moment="recovered")] = end_s + RECOVERED_S
        if _moves_leaders(step):
            # The first partition lies in the first log directory, which goes only with the restart.
            moves_s = {"stop": at_s, "log-dir-failure": end_s}.get(step.kind, at_s + ELECTED_S)
            leadership.ends += [(moves_s, node) for node in targets.nodes]
        if step.kind == "finalize":
            planned.levels.append((begun_s, min(map(metadata_level, running.values()))))
        elif not isinstance(step, RollingRestartStep | RollingUpgradeStep):
            planned.actions += _actions(step, at_s, takes_s + step.hold_s, targets)
        planned.ended_s = max(planned.ended_s, end_s)
    return planned


def _roll(
    planned: _Planned,
    leadership: _Leadership,
    step: RollingRestartStep | RollingUpgradeStep,
    at_s: float,
    nodes: Sequence[int],
    running: dict[int, str],
) -> float:
    """The nodes one after the other, each until it is in sync again; returns how long that takes."""
    now_s, pause_s = at_s, 0.0
    if isinstance(step, RollingRestartStep):
        assert (step.how, step.patient) == ("stop", True), "the model's rolls are clean, and wait for the ISR"
        pause_s = step.pause_s
    for node in sorted(nodes):
        if isinstance(step, RollingUpgradeStep):
            planned.releases.append((now_s, node, step.release))
            running[node] = step.release
        if node in BROKERS:  # the model restarts no controller
            planned.actions.append(CleanStop(at_s=now_s, hold_s=STOPS_S, nodes=(node,)))
            leadership.ends.append((now_s, node))
            now_s += STOPS_S + RECOVERED_S + pause_s
        else:
            planned.actions.append(Pause(at_s=now_s, hold_s=CONTROLLER_S, nodes=(node,)))
            now_s += CONTROLLER_S + 1.0
    return now_s - at_s


def _moves_leaders(step: Step) -> bool:
    """Whether the controllers miss the nodes that the step hits."""
    return step.kind in ("kill", "stop", "power-loss", "disk-wipe", "disk-full", "log-dir-failure") or (
        step.kind == "pause" and step.hold_s > ELECTED_S
    )


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


def _actions(step: Step, at_s: float, hold_s: float, targets: ResolvedTargets) -> Sequence[Action]:
    """One, or a train of pulses one for each, the last of them whole or not."""
    match step:
        case PulsesStep(on_s=on_s, off_s=off_s):
            pulse: type[Pause | DiskStall] = Pause
        case DiskStutterStep(on_s=on_s, off_s=off_s):
            pulse = DiskStall
        case _:
            return [_action(step, at_s, hold_s, targets)]
    begins = [number * (on_s + off_s) for number in range(int(hold_s // (on_s + off_s)) + 1)]
    return [
        pulse(at_s=at_s + begin, hold_s=min(on_s, hold_s - begin), nodes=targets.nodes)
        for begin in begins
        if begin < hold_s
    ]


def _action(step: Step, at_s: float, hold_s: float, targets: ResolvedTargets) -> Action:
    edges = tuple(map(str, targets.edges))
    match step:
        case PartitionStep(mode=mode, directions=directions):
            refuse = mode == "refuse"
            return Partition(at_s=at_s, hold_s=hold_s, edges=edges, refuse=refuse, directions=directions)
        case LatencyStep(delay_s=delay_s):
            return Latency(at_s=at_s, hold_s=hold_s, edges=edges, delay_s=delay_s)
        case ReassignStep(to=to):
            return Reassign(at_s=at_s, hold_s=hold_s, count=_count(to))
        case PreferredElectionStep():
            return PreferredElection(at_s=at_s, hold_s=hold_s)
        case DiskWipeStep(disk=disk):
            assert disk == "emptied", "a new disk has another directory id"
        case LogDirFailureStep(number=number):
            return LogDirFailure(at_s=at_s, hold_s=hold_s, nodes=targets.nodes, log_dir=number)
        case ClockSkewStep(offset_ms=offset_ms):
            return ClockSkew(at_s=at_s, hold_s=hold_s, nodes=targets.nodes, ahead_s=offset_ms / 1000)
    return OF_NODES[step.kind](at_s=at_s, hold_s=hold_s, nodes=targets.nodes)


def _count(to: Placement) -> int | None:
    match to:
        case Count(replicas=replicas):
            return replicas
        case Rotated():
            return None
    raise AssertionError(f"the model moves no replicas to {to}")

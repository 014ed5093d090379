"""The schedule of faults: injects, proves, heals, and waits for the recovery, as the harness does.

An action on nodes that are down or paused already, or on edges that do not answer, hits the others; without
any left it is not injected at all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from checkers.history.rows import Fault, NodeEvent
from checkers.history.tables import NONE
from checkers.model.case import (
    BROKERS,
    TOPIC,
    Action,
    CleanStop,
    ClockSkew,
    DiskFull,
    DiskStall,
    DiskWipe,
    ElrFeature,
    Kill,
    Latency,
    LogDirFailure,
    MinIsr,
    OfNodes,
    Partition,
    Pause,
    PowerLoss,
    PreferredElection,
    Reassign,
    log_dir_of,
)
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.network import Edge
from checkers.model.observe.changed_settings import (
    SettingAction,
    all_say,
    set_value,
    target_of,
    value_in_force,
    value_of,
)
from checkers.model.observe.clock import nanoseconds
from checkers.model.observe.sampler import Sampler

STOP_WITHIN_S = 30.0
RECOVERY_WITHIN_S = 60.0
RECOVERY_POLL_S = 0.2
KINDS: dict[type[Action], str] = {
    Partition: "partition",
    Latency: "latency",
    Pause: "pause",
    DiskStall: "disk-stall",
    Kill: "kill",
    CleanStop: "stop",
    PowerLoss: "power-loss",
    DiskWipe: "disk-wipe",
    DiskFull: "disk-full",
    Reassign: "reassign",
    PreferredElection: "preferred-election",
    LogDirFailure: "log-dir-failure",
    ClockSkew: "clock-skew",
    MinIsr: "config",
    ElrFeature: "feature",
}
SIGTERMED, SIGKILLED, HALTED = 143, 137, 1
"""Exit codes."""
MOVED_POLL_S = 0.1
"""How often the brokers are asked whether replicas have moved, or which settings they have."""
Placement = Mapping[int, tuple[int, ...]]
"""The replicas of each partition."""


@dataclass(slots=True, eq=False)
class _Outage:
    """A node whose process a fault has ended. `clean`: by a controlled shutdown; which is `counted` as an
    unclean one all the same if it could not be noted in every log directory."""

    node: int
    down_s: float = -1.0
    up_s: float = -1.0
    clean: bool = False
    data_lost: bool = False
    counted: bool = False


@dataclass(slots=True, eq=False)
class Injected:
    """A fault of the schedule, as far as it has come. Times in virtual seconds, -1: not yet."""

    index: int
    action: Action
    nodes: tuple[int, ...]
    edges: tuple[str, ...]
    inject_s: float
    begin_s: float = -1.0
    effect_s: float = -1.0
    end_s: float = -1.0
    heal_s: float = -1.0
    recovered_s: float = -1.0
    proven: bool = True
    recovered: bool = False
    outages: list[_Outage] = field(default_factory=list)
    moved: Placement = field(default_factory=dict)
    """Where the replicas were that it has moved."""
    before: int = NONE
    """The value that a setting had."""
    replicas: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in the history."""
        return f"{KINDS[type(self.action)]}-{self.index + 1}"

    def row(self) -> Fault:
        """The row of the faults table."""
        ended = [one for one in self.outages if one.down_s >= 0]
        evidence = {"effect": {"nodes": self.nodes, "edges": self.edges}, "late_s": 0.0, "recovery": {}}
        return Fault(
            index=self.index,
            name=self.name,
            kind=KINDS[type(self.action)],
            target=self._target(),
            nodes=self.nodes,
            edges=self.edges,
            inject_ns=nanoseconds(self.inject_s),
            begin_ns=nanoseconds(self.begin_s) if self.begin_s >= 0 else NONE,
            end_ns=nanoseconds(self.end_s) if self.end_s >= 0 else NONE,
            effect_ns=nanoseconds(self.effect_s) if self.proven and self.effect_s >= 0 else NONE,
            heal_ns=nanoseconds(self.heal_s) if self.heal_s >= 0 else NONE,
            recovered_ns=nanoseconds(self.recovered_s) if self.recovered_s >= 0 else NONE,
            proven=self.proven and self.effect_s >= 0,
            recovered=self.recovered,
            down=tuple(one.node for one in ended),
            down_ns=tuple(nanoseconds(one.down_s) for one in ended),
            up_ns=tuple(nanoseconds(one.up_s) if one.up_s >= 0 else NONE for one in ended),
            data_lost=tuple(one.node for one in ended if one.data_lost),
            unclean=tuple(one.node for one in ended if not one.clean or one.counted),
            replicas=self.replicas,
            evidence=json.dumps(evidence),
        )

    def _target(self) -> str:
        if isinstance(self.action, SettingAction):
            return target_of(self.action)
        named = ", ".join(self.edges) or "+".join(map(str, self.nodes)) or f"topic {TOPIC}"
        return f"{named}: {self.action.ahead_s:+.3f}s" if isinstance(self.action, ClockSkew) else named


class Faults:
    """All actions of a case. `finished` once each is healed and recovered, or given up."""

    def __init__(self, cluster: Cluster, sampler: Sampler, schedule: Sequence[Action]) -> None:
        self._cluster, self._sampler = cluster, sampler
        self.injected: list[Injected] = []
        self.events: list[NodeEvent] = []
        self._due = len(schedule)
        for action in sorted(schedule, key=lambda one: one.at_s):
            cluster.loop.at(action.at_s, self._inject, action)

    @property
    def finished(self) -> bool:
        """Whether nothing is in force any more."""
        return not self._due and all(one.recovered_s >= 0 for one in self.injected)

    def _inject(self, action: Action) -> None:
        self._due -= 1
        match action:
            case Partition() | Latency():
                self._inject_edges(action)
            case Reassign():
                self._reassign(action)
            case PreferredElection():
                self._elect_preferred(action)
            case MinIsr() | ElrFeature():
                self._change_setting(action)
            case _:
                self._inject_nodes(action)

    def _inject_nodes(self, action: OfNodes) -> None:
        running = [node for node in action.nodes if self._usable(action, node)]
        if not running:
            return
        fault = self._note(action, tuple(running), ())
        match action:
            case Pause():
                self._pause(fault, action.hold_s)
            case DiskStall():
                self._stall(fault, action.hold_s)
            case Kill():
                self._kill(fault, action.hold_s)
            case CleanStop():
                self._stop(fault, action.hold_s)
            case PowerLoss():
                self._cut_power(fault, action.hold_s)
            case DiskWipe():
                self._wipe(fault, action.hold_s)
            case DiskFull():
                self._fill(fault, action.hold_s)
            case LogDirFailure(log_dir=number):
                self._fail_directory(fault, number, action.hold_s)
            case ClockSkew():
                self._set_clocks(fault, action)

    def _usable(self, action: OfNodes, node: int) -> bool:
        one = self._cluster.network.nodes[str(node)]
        broker = self._cluster.brokers.get(node)
        if isinstance(action, ClockSkew) and self._cluster.ahead_s(node):
            return False
        if broker is None:
            return one.running and isinstance(action, Pause | ClockSkew)
        return one.running and one.serving and not (broker.wants_stop or broker.stalled or broker.offline)

    def _note(self, action: Action, nodes: tuple[int, ...], edges: tuple[str, ...]) -> Injected:
        now_s = self._cluster.loop.now_s
        fault = Injected(len(self.injected), action, nodes, edges, now_s)
        self.injected.append(fault)
        return fault

    # Edges

    def _inject_edges(self, action: Partition | Latency) -> None:
        network = self._cluster.network
        edges = [edge for edge in map(_edge, action.edges) if network.answers(edge)]
        if not edges:
            return
        named = sorted({int(end) for edge in edges for end in edge if end.isdigit()})
        fault = self._note(action, tuple(named), tuple(f"{source}->{target}" for source, target in edges))
        for edge in edges:
            if isinstance(action, Partition):
                network.cut(edge, refuse=action.refuse, directions=action.directions)
            else:
                network.delay(edge, action.delay_s)
        fault.effect_s = self._cluster.loop.now_s + self._cluster.between(0.01, 0.2)
        self._cluster.loop.after(action.hold_s, self._heal_edges, fault, action, edges)

    def _heal_edges(self, fault: Injected, action: Partition | Latency, edges: Sequence[Edge]) -> None:
        for edge in edges:
            if isinstance(action, Partition):
                self._cluster.network.heal(edge, action.directions)
            else:
                self._cluster.network.delay(edge, -action.delay_s)
        self._healed(fault)

    # Nodes that stand still

    def _pause(self, fault: Injected, hold_s: float) -> None:
        network = self._cluster.network
        for node in fault.nodes:
            network.pause(network.nodes[str(node)])
        fault.effect_s = self._cluster.loop.now_s + self._cluster.between(0.02, 0.2)
        self._cluster.loop.after(hold_s, self._resume, fault)

    def _resume(self, fault: Injected) -> None:
        for node in fault.nodes:
            self._cluster.network.resume(self._cluster.network.nodes[str(node)])
            if node in self._cluster.brokers:
                self._cluster.brokers[node].follow_metadata()
        self._healed(fault)

    def _stall(self, fault: Injected, hold_s: float) -> None:
        for node in fault.nodes:
            self._cluster.brokers[node].stall()
        fault.effect_s = self._cluster.loop.now_s + self._cluster.between(0.02, 0.2)
        self._cluster.loop.after(hold_s, self._thaw, fault)

    def _thaw(self, fault: Injected) -> None:
        for node in fault.nodes:
            self._cluster.brokers[node].thaw()
        self._healed(fault)

    # Clocks

    def _set_clocks(self, fault: Injected, action: ClockSkew) -> None:
        for node in fault.nodes:
            self._cluster.set_clock(node, action.ahead_s)
        fault.effect_s = self._cluster.loop.now_s + self._cluster.between(0.02, 0.2)
        self._cluster.loop.after(action.hold_s, self._set_clocks_right, fault)

    def _set_clocks_right(self, fault: Injected) -> None:
        fault.end_s = self._cluster.loop.now_s
        for node in fault.nodes:
            self._cluster.set_clock(node, 0.0)
        self._healed(fault)

    # Changes by administration

    def _reassign(self, action: Reassign) -> None:
        controller = self._cluster.controller
        before = {number: state.replicas for number, state in controller.partitions.items()}
        to = {number: _placed(replicas, action.count) for number, replicas in before.items()}
        if to == before or not controller.available:
            return
        fault = self._note(action, (), ())
        fault.moved = before
        controller.reassign(to)
        self._await_move(fault, to)
        self._cluster.loop.after(action.hold_s, self._move_back, fault)

    def _await_move(self, fault: Injected, to: Placement) -> None:
        """Until the replicas are where they are to be, or are moved back."""
        if fault.heal_s >= 0:
            return
        if self._are_on(to):
            fault.effect_s = self._cluster.loop.now_s
        else:
            self._cluster.loop.after(MOVED_POLL_S, self._await_move, fault, to)

    def _move_back(self, fault: Injected) -> None:
        if self._cluster.controller.available:
            self._cluster.controller.reassign(fault.moved)
            self._healed(fault)
        else:
            self._cluster.loop.after(MOVED_POLL_S, self._move_back, fault)

    def _are_on(self, to: Placement) -> bool:
        partitions = self._cluster.controller.partitions
        return all(partitions[number].replicas == replicas for number, replicas in to.items()) and not any(
            state.adding or state.removing for state in partitions.values()
        )

    def _elect_preferred(self, action: PreferredElection) -> None:
        controller = self._cluster.controller
        if controller.available and controller.elect_preferred():
            fault = self._note(action, (), ())
            fault.effect_s = self._cluster.loop.now_s + self._cluster.between(0.02, 0.2)
            self._cluster.loop.after(action.hold_s, self._healed, fault)

    def _change_setting(self, action: SettingAction) -> None:
        """No two faults hold one setting, and there must be something to change."""
        controller, kind = self._cluster.controller, type(action)
        before = value_in_force(action, controller)
        held = any(isinstance(one.action, kind) and one.heal_s < 0 for one in self.injected)
        if held or before == value_of(action) or not controller.available:
            return
        fault = self._note(action, (), ())
        fault.before = before
        set_value(action, controller, value_of(action))
        self._await_setting(fault, action)
        self._cluster.loop.after(action.hold_s, self._set_back, fault, action)

    def _await_setting(self, fault: Injected, action: SettingAction) -> None:
        """Until every broker knows it, or it is set back."""
        if fault.end_s >= 0:
            return
        if all_say(action, self._cluster, value_of(action)):
            fault.effect_s = self._cluster.loop.now_s
        else:
            self._cluster.loop.after(MOVED_POLL_S, self._await_setting, fault, action)

    def _set_back(self, fault: Injected, action: SettingAction) -> None:
        fault.end_s = self._cluster.loop.now_s if fault.end_s < 0 else fault.end_s
        if self._cluster.controller.available:
            set_value(action, self._cluster.controller, fault.before)
            self._healed(fault)
        else:
            self._cluster.loop.after(MOVED_POLL_S, self._set_back, fault, action)

    # Nodes that end

    def _kill(self, fault: Injected, hold_s: float) -> None:
        self._end_soon(fault, within_s=(0.03, 0.15), code=SIGKILLED)
        self._cluster.loop.after(max(hold_s, 0.5), self._start, fault)

    def _wipe(self, fault: Injected, hold_s: float) -> None:
        self._end_soon(fault, within_s=(0.03, 0.15), code=SIGKILLED, data_lost=True)
        self._cluster.loop.after(max(hold_s, 0.5), self._start, fault)

    def _fill(self, fault: Injected, hold_s: float) -> None:
        """A broker halts by itself, at its next append."""
        self._end_soon(fault, within_s=(0.05, 0.6), code=HALTED)
        self._cluster.loop.after(max(hold_s, 1.0), self._start, fault)

    def _end_soon(
        self, fault: Injected, *, within_s: tuple[float, float], code: int, data_lost: bool = False
    ) -> None:
        for node in fault.nodes:
            outage = _Outage(node, data_lost=data_lost)
            fault.outages.append(outage)
            self._cluster.loop.after(self._cluster.between(*within_s), self._end, fault, outage, code)

    def _stop(self, fault: Injected, hold_s: float) -> None:
        for node in fault.nodes:
            outage = _Outage(node, clean=True)
            fault.outages.append(outage)
            broker = self._cluster.brokers[node]
            broker.stop(partial(self._end, fault, outage, SIGTERMED))
            self._cluster.loop.after(STOP_WITHIN_S, self._kill_unstopped, fault, outage)
        self._cluster.loop.after(hold_s, self._start, fault)

    def _kill_unstopped(self, fault: Injected, outage: _Outage) -> None:
        if outage.down_s < 0:
            outage.clean = False
            fault.proven = fault.proven and isinstance(fault.action, LogDirFailure)
            self._end(fault, outage, SIGKILLED)

    # Nodes that go on without a log directory

    def _fail_directory(self, fault: Injected, number: int, hold_s: float) -> None:
        cluster = self._cluster
        partitions = range(cluster.case.settings.partitions)
        here = [each for each in partitions if log_dir_of(each, cluster.case.settings) == number]
        fault.replicas = tuple(f"{node}/{TOPIC}-{each}" for node in fault.nodes for each in here)
        for node in fault.nodes:
            cluster.lose_directory(node, number)
        fault.begin_s = cluster.loop.now_s + cluster.between(0.002, 0.02)
        fault.effect_s = fault.begin_s + cluster.between(0.3, 0.8)
        cluster.loop.after(max(hold_s, 1.0), self._restart, fault)

    def _restart(self, fault: Injected) -> None:
        """A process has the directory again when it starts."""
        fault.end_s = self._cluster.loop.now_s
        for node in fault.nodes:
            outage = _Outage(node, clean=True, counted=True, data_lost=True)
            fault.outages.append(outage)
            self._cluster.brokers[node].stop(partial(self._end, fault, outage, SIGTERMED))
            self._cluster.loop.after(STOP_WITHIN_S, self._kill_unstopped, fault, outage)
        self._start(fault)

    def _cut_power(self, fault: Injected, hold_s: float) -> None:
        loop, network = self._cluster.loop, self._cluster.network
        for node in fault.nodes:
            network.pause(network.nodes[str(node)])
        at_s = 0.1
        for node in fault.nodes:
            loop.after(at_s, self._measure, node, "before-power-loss")
            at_s += self._cluster.between(0.02, 0.06)
        for node in fault.nodes:
            outage = _Outage(node, data_lost=True)
            fault.outages.append(outage)
            loop.after(at_s, self._end, fault, outage, SIGKILLED)
            at_s += self._cluster.between(0.02, 0.08)
        loop.after(max(hold_s, at_s + 0.3), self._start, fault)

    def _end(self, fault: Injected, outage: _Outage, code: int) -> None:
        cluster, broker = self._cluster, self._cluster.brokers[outage.node]
        wiped = isinstance(fault.action, DiskWipe)
        if isinstance(fault.action, PowerLoss):
            broker.lose_power()
        if not outage.clean or outage.counted:
            # What a failed log directory takes with it went when it failed.
            data_lost = outage.data_lost and not isinstance(fault.action, LogDirFailure)
            cluster.shut_down_uncleanly(outage.node, data_lost=data_lost, wiped=wiped)
        broker.end(clean=outage.clean)
        if wiped:
            self._measure(outage.node, "before-wipe")
            self._note_nothing_left(outage.node)
            broker.lose_disk()
        self._event(outage.node, "exited", code, fault.name)
        outage.down_s = cluster.loop.now_s + cluster.between(0.002, 0.03)
        if all(one.down_s >= 0 for one in fault.outages) and not isinstance(fault.action, LogDirFailure):
            fault.effect_s = max(one.down_s for one in fault.outages) + 0.004

    def _event(self, node: int, event: str, code: int, fault: str) -> None:
        at_ns = nanoseconds(self._cluster.loop.now_s)
        self.events.append(
            NodeEvent(at_ns=at_ns, node=node, role="broker", event=event, exit_code=code, fault=fault)
        )

    def _measure(self, node: int, source: str) -> None:
        for number, replica in sorted(self._cluster.brokers[node].replicas.items()):
            state = (NONE, replica.log.start, replica.log.end)
            self._sampler.note(self._cluster.loop.now_s, number, node, state, source)

    def _note_nothing_left(self, node: int) -> None:
        """Each replica that was there ends at offset 0 on the emptied disk, a moment later."""
        at_s = self._cluster.loop.now_s + 0.05
        for number in sorted(self._cluster.brokers[node].replicas):
            self._sampler.note(at_s, number, node, (NONE, 0, 0), "after-wipe")

    def _start(self, fault: Injected) -> None:
        """Read the disks of the nodes, which are all down, and start them, one after another."""
        loop = self._cluster.loop
        some_run = any(one.down_s < 0 for one in fault.outages)
        if some_run or fault.effect_s < 0 or loop.now_s < fault.effect_s + 0.1:
            loop.after(0.2, self._start, fault)
            return
        source = "after-power-loss" if isinstance(fault.action, PowerLoss) else "disk-down"
        at_s = 0.02
        for outage in fault.outages:
            loop.after(at_s, self._measure, outage.node, source)
            at_s += self._cluster.between(0.05, 0.2)
            loop.after(at_s, self._start_node, fault, outage)
            at_s += self._cluster.between(0.02, 0.1)

    def _start_node(self, fault: Injected, outage: _Outage) -> None:
        cluster = self._cluster
        self._event(outage.node, "started", NONE, fault.name)
        cluster.brokers[outage.node].start(boot_s=cluster.between(0.6, 1.6))
        outage.up_s = cluster.loop.now_s + cluster.between(0.002, 0.02)
        if all(one.up_s >= 0 for one in fault.outages):
            cluster.loop.after(0.03, self._healed, fault)

    # Recovery

    def _healed(self, fault: Injected) -> None:
        fault.heal_s = self._cluster.loop.now_s
        self._await_recovery(fault, -1.0)

    def _await_recovery(self, fault: Injected, since_s: float) -> None:
        cluster = self._cluster
        now_s = cluster.loop.now_s
        if not self._due and all(one.heal_s >= 0 for one in self.injected):
            since_s = now_s if since_s < 0 else since_s
        late = 0 <= since_s <= now_s - RECOVERY_WITHIN_S
        if late or self._is_recovered(fault):
            fault.recovered, fault.recovered_s = not late, now_s
            return
        delay_s = RECOVERY_POLL_S * (0.8 + 0.4 * cluster.rng.random())
        cluster.loop.after(delay_s, self._await_recovery, fault, since_s)

    def _is_recovered(self, fault: Injected) -> bool:
        cluster = self._cluster
        nodes = [cluster.network.nodes[str(node)] for node in fault.nodes]
        full = all(len(state.isr) == len(state.replicas) for state in cluster.controller.partitions.values())
        back = not fault.moved or self._are_on(fault.moved)
        if isinstance(fault.action, SettingAction):
            back = all_say(fault.action, cluster, fault.before)
        return full and back and all(node.serving and not node.paused for node in nodes)


def _placed(replicas: tuple[int, ...], count: int | None) -> tuple[int, ...]:
    """The first so many replicas, or those on the next brokers."""
    if count is None:
        return tuple(BROKERS[BROKERS.index(one) + 1 - len(BROKERS)] for one in replicas)
    others = tuple(one for one in BROKERS if one not in replicas)
    return (*replicas, *others)[:count]


def _edge(text: str) -> Edge:
    source, _, target = text.partition("->")
    return source, target

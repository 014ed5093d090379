"""The schedule of faults: injects, proves, heals, and waits for the recovery, as the harness does.

An action on nodes that are down or paused already, or on edges that do not answer, hits the others; without
any left it is not injected at all.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from checkers.history.rows import Fault, NodeEvent
from checkers.history.tables import NONE
from checkers.model.case import (
    Action,
    CleanStop,
    ClockSkew,
    DiskStall,
    Kill,
    Latency,
    Partition,
    Pause,
    PowerLoss,
)
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.network import Edge
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
    ClockSkew: "clock-skew",
}


@dataclass(slots=True, eq=False)
class _Outage:
    """A node whose process a fault has ended."""

    node: int
    down_s: float = -1.0
    up_s: float = -1.0
    clean: bool = False


@dataclass(slots=True, eq=False)
class Injected:
    """A fault of the schedule, as far as it has come. Times in virtual seconds, -1: not yet."""

    index: int
    action: Action
    nodes: tuple[int, ...]
    edges: tuple[str, ...]
    inject_s: float
    effect_s: float = -1.0
    end_s: float = -1.0
    heal_s: float = -1.0
    recovered_s: float = -1.0
    proven: bool = True
    recovered: bool = False
    outages: list[_Outage] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name in the history."""
        return f"{KINDS[type(self.action)]}-{self.index + 1}"

    def row(self) -> Fault:
        """The row of the faults table."""
        ended = [one for one in self.outages if one.down_s >= 0]
        unclean = tuple(one.node for one in ended if not one.clean)
        power = isinstance(self.action, PowerLoss)
        evidence = {"effect": {"nodes": self.nodes, "edges": self.edges}, "late_s": 0.0, "recovery": {}}
        return Fault(
            index=self.index,
            name=self.name,
            kind=KINDS[type(self.action)],
            target=self._target(),
            nodes=self.nodes,
            edges=self.edges,
            inject_ns=nanoseconds(self.inject_s),
            effect_ns=nanoseconds(self.effect_s) if self.proven and self.effect_s >= 0 else NONE,
            end_ns=nanoseconds(self.end_s) if self.end_s >= 0 else NONE,
            heal_ns=nanoseconds(self.heal_s) if self.heal_s >= 0 else NONE,
            recovered_ns=nanoseconds(self.recovered_s) if self.recovered_s >= 0 else NONE,
            proven=self.proven and self.effect_s >= 0,
            recovered=self.recovered,
            down=tuple(one.node for one in ended),
            down_ns=tuple(nanoseconds(one.down_s) for one in ended),
            up_ns=tuple(nanoseconds(one.up_s) if one.up_s >= 0 else NONE for one in ended),
            data_lost=unclean if power else (),
            unclean=unclean,
            evidence=json.dumps(evidence),
        )

    def _target(self) -> str:
        named = ", ".join(self.edges) or "+".join(map(str, self.nodes))
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
        if isinstance(action, Partition | Latency):
            self._inject_edges(action)
            return
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
            case ClockSkew():
                self._set_clocks(fault, action)

    def _usable(self, action: Action, node: int) -> bool:
        one = self._cluster.network.nodes[str(node)]
        broker = self._cluster.brokers.get(node)
        if isinstance(action, ClockSkew) and self._cluster.ahead_s(node):
            return False
        if broker is None:
            return one.running and isinstance(action, Pause | ClockSkew)
        return one.running and one.serving and not broker.wants_stop and not broker.stalled

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
                network.cut(edge, refuse=action.refuse)
            else:
                network.delay(edge, action.delay_s)
        fault.effect_s = self._cluster.loop.now_s + self._cluster.between(0.01, 0.2)
        self._cluster.loop.after(action.hold_s, self._heal_edges, fault, action, edges)

    def _heal_edges(self, fault: Injected, action: Partition | Latency, edges: Sequence[Edge]) -> None:
        for edge in edges:
            if isinstance(action, Partition):
                self._cluster.network.heal(edge)
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

    # Nodes that end

    def _kill(self, fault: Injected, hold_s: float) -> None:
        for node in fault.nodes:
            outage = _Outage(node)
            fault.outages.append(outage)
            self._cluster.loop.after(self._cluster.between(0.03, 0.15), self._end, fault, outage, 137)
        self._cluster.loop.after(max(hold_s, 0.5), self._start, fault)

    def _stop(self, fault: Injected, hold_s: float) -> None:
        for node in fault.nodes:
            outage = _Outage(node, clean=True)
            fault.outages.append(outage)
            broker = self._cluster.brokers[node]
            broker.stop(partial(self._end, fault, outage, 143))
            self._cluster.loop.after(STOP_WITHIN_S, self._kill_unstopped, fault, outage)
        self._cluster.loop.after(hold_s, self._start, fault)

    def _kill_unstopped(self, fault: Injected, outage: _Outage) -> None:
        if outage.down_s < 0:
            outage.clean, fault.proven = False, False
            self._end(fault, outage, 137)

    def _cut_power(self, fault: Injected, hold_s: float) -> None:
        loop, network = self._cluster.loop, self._cluster.network
        for node in fault.nodes:
            network.pause(network.nodes[str(node)])
        at_s = 0.1
        for node in fault.nodes:
            loop.after(at_s, self._measure, node, "before-power-loss")
            at_s += self._cluster.between(0.02, 0.06)
        for node in fault.nodes:
            outage = _Outage(node)
            fault.outages.append(outage)
            loop.after(at_s, self._end, fault, outage, 137)
            at_s += self._cluster.between(0.02, 0.08)
        loop.after(max(hold_s, at_s + 0.3), self._start, fault)

    def _end(self, fault: Injected, outage: _Outage, code: int) -> None:
        cluster, broker = self._cluster, self._cluster.brokers[outage.node]
        if isinstance(fault.action, PowerLoss):
            broker.lose_power()
        if not outage.clean:
            cluster.shut_down_uncleanly(outage.node, power=isinstance(fault.action, PowerLoss))
        broker.end(clean=outage.clean)
        self._event(outage.node, "exited", code, fault.name)
        outage.down_s = cluster.loop.now_s + cluster.between(0.002, 0.03)
        if all(one.down_s >= 0 for one in fault.outages):
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

    def _start(self, fault: Injected) -> None:
        """Read the disks of the nodes, which are all down, and start them, one after another."""
        loop = self._cluster.loop
        if fault.effect_s < 0 or loop.now_s < fault.effect_s + 0.1:
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
        return full and all(node.serving and not node.paused for node in nodes)


def _edge(text: str) -> Edge:
    source, _, target = text.partition("->")
    return source, target

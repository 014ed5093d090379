"""A log directory that fails under a broker that goes on, and the restart that brings it back (KIP-858).

The broker takes a log directory offline that it cannot read or write, and tells the controllers, which elect
other leaders for what it led there, and take it out of the ISR. It takes the directory back only when it
starts.
Effect: the process is still the same, it says itself that the directory is offline, and of the replicas
there none leads, and none is in sync with a leader.
Recovery: the node answers, it says that the directory is online; the ISR is what it was.

Healing is a restart as an operator makes it: SIGTERM, so that the leaders of the other directories move
first. To the controllers it is an unclean shutdown all the same: the broker could not note a clean one in
every directory (LogManager.readBrokerEpochFromCleanShutdownFiles).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Generic

from compose.protocols import ContainerState, PartitionState
from faults.errors import NoTarget
from faults.kinds.disk.log_dir import note_replicas
from faults.kinds.disk.lost import Lost
from faults.kinds.fault.base import UP, Injection, StepT, all_alive, unfit
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.shared.outage import bring_back, close_edges, stop_or_kill
from faults.kinds.shared.recovery import answering, incoming
from faults.tasks import Task, in_background

NO_LEADER = -1
Life = tuple[int | None, str]
"""A process: its id, and when it was started."""


@dataclass(slots=True)
class OfflineDirectory(Generic[StepT]):
    """The log directory `number` of some brokers: what shows that it is offline, and what brings it back.
    `hit` are those of the `nodes` to whom something was done."""

    injection: Injection[StepT]
    number: int
    nodes: tuple[int, ...] = ()
    hit: set[int] = field(default_factory=set)
    _lives: dict[int, Life] = field(default_factory=dict)
    _leaders: dict[str, int] = field(default_factory=dict)

    def prepare(self, what: str) -> None:
        """Only brokers that run, and whose directory is online and has replicas; NoTarget otherwise."""
        injection = self.injection
        self.nodes = all_alive(injection, what=what)
        for node in self.nodes:
            if not self._is_online(node):
                raise NoTarget(f"nothing to {what}: {self._path(node)} of node {node} is offline already")
        note_replicas(injection, self.nodes, self.number)
        self._lives = {node: _life(injection.cluster.state(node)) for node in self.nodes}
        self._leaders = {_name(state): state.leader for _, state in self._states()}

    def _path(self, node: int) -> str:
        return self.injection.cluster.log_dirs(node)[self.number - 1]

    def _is_online(self, node: int) -> bool:
        """By the broker's own word; a directory that it does not name is not."""
        return self.injection.view.log_dirs(node).get(self._path(node), False)

    def _states(self) -> Iterator[tuple[int, PartitionState]]:
        """Each replica in the directory, by its node, with the state of its partition; ComposeError if no
        broker answers."""
        replicas = sorted(self.injection.outages.replicas)
        topics = dict.fromkeys(topic for _, topic, _ in replicas)
        states = {(state.topic, state.partition): state for state in self.injection.view.describe(*topics)}
        for node, topic, partition in replicas:
            if (topic, partition) in states:
                yield node, states[topic, partition]

    def effect(self) -> Evidence:
        """Do the nodes go on, is the directory offline, and do others serve what lay there?"""
        cluster = self.injection.cluster
        for node in self.nodes:
            if (state := cluster.state(node)).status != "running" or _life(state) != self._lives[node]:
                return NotYet(instead=f"node {node} is {state.status}, and should have gone on as it was")
        if online := [node for node in self.nodes if self._is_online(node)]:
            return NotYet(instead=f"log directory {self.number} is online by the word of {online}")
        states = list(self._states())
        if serving := [f"{node}/{_name(state)}" for node, state in states if _serves(node, state)]:
            return NotYet(instead=f"the directory is offline, and these still lead or are in sync: {serving}")
        values = {
            "offline": by_name({node: self._path(node) for node in self.nodes}),
            "out_of_sync": [f"{node}/{_name(state)}" for node, state in states],
            "leaders_moved": dict(self._moved(states)),
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    def _moved(self, states: list[tuple[int, PartitionState]]) -> Iterator[tuple[str, list[int]]]:
        """From whom to whom the partitions went that one of the nodes led."""
        for node, state in states:
            before = self._leaders.get(_name(state), NO_LEADER)
            if before == node:
                yield _name(state), [before, state.leader]

    def restart(self, node: int, lost: Lost | None = None) -> Task[None]:
        """Restart a node that was hit. What has ended by itself stays down, and what somebody else has
        restarted since has its directory back, or will have it."""
        if (yield from in_background(partial(self._is_as_it_was, node))):
            yield from stop_or_kill(self.injection, node, UP)
            self.injection.outages.unclean.add(node)
            yield from in_background(partial(close_edges, self.injection, node))
        yield from in_background(partial(self._start, node, lost))

    def _is_as_it_was(self, node: int) -> bool:
        is_fit = not unfit(self.injection, node, UP)
        return is_fit and _life(self.injection.cluster.state(node)) == self._lives[node]

    def _start(self, node: int, lost: Lost | None) -> None:
        """Its disks must be readable again: a node would take what is cut off for another failure."""
        injection = self.injection
        ended = injection.cluster.state(node).status == "exited"
        if not ended or injection.cluster.ended_by(node) != injection.owner:
            injection.cluster.mesh.mend(incoming(injection, node), owner=injection.owner)
            return
        left = injection.cluster.log_sizes(node, log_dir=self.number)
        if lost is not None and node in lost.before:
            lost.note(injection, node, left)
        bring_back(injection, (node,))

    def recovery(self) -> Evidence:
        """Are all back, with the directory?"""
        evidence = answering(self.injection, self.nodes)
        if isinstance(evidence, NotYet):
            return evidence
        if offline := [node for node in self.nodes if not self._is_online(node)]:
            return NotYet(instead=f"log directory {self.number} is offline by the word of {offline}")
        online = by_name({node: self._path(node) for node in self.nodes})
        return Proven(since_ns=evidence.since_ns, values={**evidence.values, "online": online})


def _name(state: PartitionState) -> str:
    return f"{state.topic}-{state.partition}"


def _serves(node: int, state: PartitionState) -> bool:
    """Whether its replica leads, or is in sync with a leader: where it was the last one in sync, the ISR
    keeps it, and there is no leader."""
    return state.leader == node or (node in state.isr and state.leader != NO_LEADER)


def _life(state: ContainerState) -> Life:
    return state.pid, state.started_at

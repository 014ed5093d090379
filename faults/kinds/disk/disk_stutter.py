"""Disk stutter: the node's file system is frozen for `on`, thawed for `off`, and so in turn: a slow disk.

Effect: in two pulses in a row the file system is frozen and the node's log stands still, which grows between
them.
Recovery: the log grows, the node answers; the ISR is what it was.

Each freeze writes everything to the disk that was not synced, so a power loss soon after takes little. Of a
broker with several log directories all are frozen, or the one that is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Self

from faults.kinds.disk.log_dir import (
    KEY,
    check_log_dir,
    check_thawed,
    note_replicas,
    parse_log_dir,
    write_log_dir,
)
from faults.kinds.fault.base import Injection, all_alive
from faults.kinds.fault.evidence import Evidence
from faults.kinds.fault.kind import FaultKind, Takes
from faults.kinds.fault.step import Head, Words
from faults.kinds.shared.pulse_train import PulsedStep, PulseTrain, Switch, parse_length
from faults.kinds.shared.recovery import growing
from faults.targets.facts import Facts
from faults.targets.target import parse_target
from faults.tasks import Task, as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskStutterStep(PulsedStep):
    """Stall the disks of nodes in pulses. A freeze, a thaw, and two readings of each take 0.1 s each."""

    kind: ClassVar[str] = "disk-stutter"
    keys: ClassVar[tuple[str, ...]] = (*PulsedStep.keys, KEY)
    change_s: ClassVar[float] = 0.6
    log_dir: int | None = None

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target, the pulses, and which log directory."""
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            target=parse_target(words.get("target")),
            on_s=parse_length(words.get("on"), "on"),
            off_s=parse_length(words.get("off"), "off"),
            log_dir=parse_log_dir(words.get(KEY)),
        )

    def write(self) -> dict[str, str]:
        """Pulses and log directory."""
        return PulsedStep.write(self) | write_log_dir(self.log_dir)

    def check(self, facts: Facts) -> None:
        """Every node that may be hit must have such a log directory."""
        PulsedStep.check(self, facts)
        check_log_dir(self.log_dir, self.candidates(facts.brokers, facts.controllers), facts)


@dataclass(slots=True)
class DiskStutter:
    """Holds the file systems of the injection's nodes in pulses of a stall."""

    injection: Injection[DiskStutterStep]
    _train: PulseTrain[DiskStutterStep] = field(init=False)
    _at_heal: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """A freeze holds a disk, and the log shows it."""
        cluster, number = self.injection.cluster, self.injection.step.log_dir
        switch = Switch(
            hold="frozen",
            on=partial(cluster.freeze, log_dir=number),
            off=cluster.thaw,
            is_on=cluster.is_frozen,
            counter=partial(cluster.log_bytes, log_dir=number),
        )
        self._train = PulseTrain(self.injection, switch)

    def prepare(self) -> None:
        """Only a running node writes, and only one whose disk is not frozen already."""
        self._train.nodes = all_alive(self.injection, what="stall")
        check_thawed(self.injection, self._train.nodes, what="stall")
        note_replicas(self.injection, self._train.nodes, self.injection.step.log_dir)

    @as_job
    def inject(self) -> None:
        """The first pulse."""
        self._train.begin()

    def go_on(self) -> Task[None]:
        """The others."""
        yield from self._train.go_on()

    def effect(self) -> Evidence:
        """Do the logs stand still in pulses?"""
        return self._train.effect()

    @as_job
    def heal(self) -> None:
        """Thaw, except those that another fault holds frozen."""
        self._train.end()
        log_bytes, number = self.injection.cluster.log_bytes, self.injection.step.log_dir
        self._at_heal = self._at_heal or {node: log_bytes(node, log_dir=number) for node in self._train.nodes}

    def recovery(self) -> Evidence:
        """Do the logs grow, do all serve, and is the ISR what it was?"""
        return growing(self.injection, self._at_heal, log_dir=self.injection.step.log_dir)


DISK_STUTTER = FaultKind(
    step=DiskStutterStep,
    make=DiskStutter,
    takes=Takes(inject_s=3.0, heal_s=2.0),
    shortest_hold_s=DiskStutterStep.shortest_hold_s(),
    does="the node's file systems, or that of one `log_dir`, are frozen for `on`, thawed for `off`, and so "
    "in turn (each 100ms to 10s)",
    effect="in two pulses in a row the superblock is frozen and the log stands still, which grows between "
    "them",
    healing="thaw",
    recovery="the log grows, the node answers",
)

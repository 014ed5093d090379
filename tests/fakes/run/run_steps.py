"""Steps of a run without a cluster: each notes its call, and raises or presses Ctrl-C on request."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event

from checkers.history.rows import Proof
from checkers.verdict.algebra import Verdict
from compose.protocols import MetadataLog
from compose.spec.topology import Topology
from fakes.world.cluster import FakeCluster
from harness.report.report import Report
from harness.run.steps import OnEvent, StartedCluster
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import ManifestProducer, ManifestTopic, read_manifest
from harness.scenario.resolve import Resolved
from harness.terminal.progress import LoadFigures
from workloads.record.recorder import RecordedSends


@dataclass
class FakeLoad:
    """A load that is warm at once and acknowledges nothing."""

    steps: "FakeRunSteps"

    def wait_warm(self) -> None:
        self.steps.take("wait_warm")

    def figures(self) -> LoadFigures:
        return LoadFigures()

    def check(self) -> None:
        if self.steps.load_dies is not None and "run_faults" in self.steps.taken:
            raise self.steps.load_dies

    def stop_producers(self) -> None:
        self.steps.take("stop_producers")

    def stop(self) -> None:
        self.steps.take("stop")

    def abandon(self) -> None:
        self.steps.take("abandon")

    def recorded(self) -> dict[int, RecordedSends]:
        return {}


@dataclass
class FakeRunWatch:
    """A watch that sees nothing."""

    steps: "FakeRunSteps"

    def check(self) -> None:
        self.steps.take("watch checked")
        if self.steps.trouble is not None and self.steps.trouble_from in self.steps.taken:
            raise self.steps.trouble

    def stop(self) -> None:
        self.steps.take("stop watching")


@dataclass
class FakeRunSteps:
    """`taken` is what was called, in order.

    `breaks` maps a step to the error it raises, `presses` to how often Ctrl-C is pressed in it.
    `load_dies` is what the load's check raises once the schedule has begun.
    """

    taken: list[str] = field(default_factory=list)
    breaks: dict[str, Exception] = field(default_factory=dict)
    presses: dict[str, int] = field(default_factory=dict)
    verdict: Verdict = Verdict.PASS
    load_dies: Exception | None = None
    faults_wait_s: float = 0.0
    """How long the schedule lasts, if nobody stops it."""
    trouble: Exception | None = None
    trouble_from: str = ""
    """What the check of the watch raises once that step was taken."""
    read_waits_s: float = 0.0
    """How long the final read lasts, if nobody stops it."""
    unproven: tuple[str, ...] = ()
    begun: list[tuple[Topology, float]] = field(default_factory=list)
    """The clusters that were begun for a next run, and in how many seconds."""
    may_save: Event | None = None
    """What is known of the run is not written before this is set."""

    def __enter__(self) -> "FakeRunSteps":
        return self

    def __exit__(self, *_: object) -> None:
        self.taken.append("steps ended")

    def take(self, step: str) -> None:
        self.taken.append(step)
        for _ in range(self.presses.get(step, 0)):
            os.kill(os.getpid(), signal.SIGINT)
        if step in self.breaks:
            raise self.breaks[step]

    @contextmanager
    def cluster(self, resolved: Resolved, run: RunDir) -> Iterator[FakeCluster]:
        self.take("cluster")
        try:
            yield FakeCluster()
        finally:
            self.take("cluster removed")

    def begin_next_cluster(self, resolved: Resolved, *, in_s: float) -> None:
        self.take("begin_next_cluster")
        self.begun.append((resolved.topology, in_s))

    def end_clusters(self) -> None:
        self.take("end_clusters")

    def describe(self, cluster: object) -> StartedCluster:
        return StartedCluster(run_id="fake", images=("highwater/kafka:fake",), ready=None)

    @contextmanager
    def watch(
        self, cluster: object, resolved: Resolved, run: RunDir, *, on_event: OnEvent
    ) -> Iterator[FakeRunWatch]:
        self.take("watch")
        try:
            yield FakeRunWatch(self)
        finally:
            self.take("watch ended")

    def make_topics(self, cluster: object, resolved: Resolved) -> tuple[ManifestTopic, ...]:
        self.take("make_topics")
        return ()

    @contextmanager
    def load(self, cluster: object, resolved: Resolved, run: RunDir) -> Iterator[FakeLoad]:
        self.take("load")
        try:
            yield FakeLoad(self)
        finally:
            self.take("load ended")

    def run_faults(
        self, cluster: object, resolved: Resolved, run: RunDir, *, stop: Event, on_event: OnEvent
    ) -> tuple[str, ...]:
        self.take("run_faults")
        if self.faults_wait_s and stop.wait(self.faults_wait_s):
            self.taken.append("stopped and healed")
        return self.unproven

    def abandon(self) -> None:
        self.take("abandon all")

    def abandon_seal(self) -> None:
        self.take("abandon_seal")

    def warm_up(self) -> None:
        self.take("warm_up")

    def wait_in_sync(self, cluster: object, resolved: Resolved) -> None:
        self.take("wait_in_sync")

    def final_read(
        self, cluster: object, resolved: Resolved, run: RunDir, *, stop: Event
    ) -> tuple[Proof, ...]:
        self.take("final_read")
        if self.read_waits_s and stop.wait(self.read_waits_s):
            self.taken.append("read broken off")
        return ()

    def copy_metadata(self, cluster: object) -> MetadataLog:
        self.take("copy_metadata")
        return list

    def save_timeline(self, log: MetadataLog, resolved: Resolved, run: RunDir) -> None:
        assert self.may_save is None or self.may_save.wait(10)
        self.take("save_timeline")

    def keep(self, cluster: object) -> None:
        self.take("keep")

    def copy_disks(self, cluster: object, resolved: Resolved, run: RunDir) -> tuple[str, ...]:
        self.take("copy_disks")
        return ()

    def end_brokers(self, cluster: object, resolved: Resolved, run: RunDir) -> tuple[str, ...]:
        self.take("end_brokers")
        return ()

    def seal_load(self, run: RunDir) -> tuple[ManifestProducer, ...]:
        self.take("seal_load")
        return ()

    def seal(self, run: RunDir, proofs: tuple[Proof, ...]) -> None:
        self.take("seal")

    def audit(self, run: RunDir) -> None:
        self.take("audit")

    def judge(self, run: RunDir) -> Report:
        self.take("judge")
        return Report(run_dir=run.path, verdict=self.verdict, outcome="as asked for")


class Judges(FakeRunSteps):
    """Steps whose judge comes to one verdict after the other, each with the seed of its run."""

    def __init__(self, *verdicts: Verdict) -> None:
        super().__init__()
        self.verdicts = list(verdicts)

    def judge(self, run: RunDir) -> Report:
        self.verdict = self.verdicts.pop(0)
        return replace(super().judge(run), outcome=f"judged {read_manifest(run).seed}")

"""One or several runs in one process, one after the other, with one Spark session."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from time import monotonic_ns, time_ns
from typing import TextIO

from rich.console import Console

from compose.docker.labels import owner_of
from compose.spec.server_properties import server_properties
from compose.spec.topology import RESERVED
from harness.errors import Interrupted
from harness.report.report import Report, worst_exit_code
from harness.run.interrupts import Interrupts
from harness.run.run import Job, run
from harness.run.steps import RunSteps
from harness.run_directory import layout
from harness.run_directory.manifest import (
    ClockReading,
    Manifest,
    ManifestCluster,
    ManifestProducer,
    ManifestTopic,
    RunOwner,
    Timings,
)
from harness.run_directory.manifest_writer import ManifestWriter
from harness.scenario.resolve import Resolved
from harness.scenario.text.hidden import without_secret
from harness.terminal.columns import width_of, wrapped
from harness.terminal.panel import LivePanel
from harness.terminal.progress import Progress, ProgressLines
from harness.terminal.summary import report_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Where the run directories are made, and where a person reads along.

    With `panel`, `progress` is a terminal and shows a live panel; else it gets a line for each change. `argv`
    is kept in the manifest.
    """

    out: Path
    progress: TextIO
    panel: bool = False
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """The report of each run that was judged, and the signal that ended the suite early."""

    reports: tuple[Report, ...]
    interrupted_by: int | None

    @property
    def exit_code(self) -> int:
        """That of the signal, else that of the worst verdict."""
        return worst_exit_code(self.reports) if self.interrupted_by is None else 128 + self.interrupted_by


def run_suite(scenarios: Sequence[Resolved], steps: RunSteps, options: Options) -> SuiteResult:
    """Run all, one after the other; after a signal no further run begins."""
    reports: list[Report] = []
    with Interrupts(lambda text: print(f"        {text}", file=options.progress, flush=True)) as interrupts:
        try:
            for resolved in scenarios:
                reports.append(_run_one(resolved, steps, options, interrupts))
                if interrupts.received is not None:
                    break
        except Interrupted:
            pass
    return SuiteResult(reports=tuple(reports), interrupted_by=interrupts.received)


def _run_one(resolved: Resolved, steps: RunSteps, options: Options, interrupts: Interrupts) -> Report:
    out, name = options.progress, resolved.scenario.name
    run_dir = layout.create(options.out, name, resolved.seed)
    layout.write_whole(run_dir.scenario, resolved.text)
    print(f"seed {resolved.seed}  scenario {name}  {run_dir.path}", file=out, flush=True)
    record = ManifestWriter(run_dir, first_manifest(resolved, options.argv, run_dir.id))
    try:
        with _progress(resolved, options) as progress:
            job = Job(
                resolved=resolved,
                run=run_dir,
                record=record,
                steps=steps,
                progress=progress,
                interrupts=interrupts,
            )
            report = replace(run(job), name=f"{name}, seed {resolved.seed}")
        report.write()
        print(f"\n{wrapped(report_text(report), width_of(out))}", file=out, flush=True)
    finally:
        print(f"seed {resolved.seed}  {run_dir.path}\n", file=out, flush=True)
    return report


def _progress(resolved: Resolved, options: Options) -> AbstractContextManager[Progress]:
    if options.panel:
        console = Console(file=options.progress)
        return LivePanel(f"{resolved.scenario.name}, seed {resolved.seed}", console)
    return ProgressLines(options.progress)


def first_manifest(resolved: Resolved, argv: Sequence[str] = (), run: str | None = None) -> Manifest:
    """The manifest of a run that begins now in this process; `run` is its id."""
    scenario = resolved.scenario
    owner = owner_of(scenario.name, os.getpid())
    return Manifest(
        tool_version=version("highwater"),
        scenario=scenario.name,
        seed=resolved.seed,
        argv=tuple(map(without_secret, argv)),
        release=scenario.cluster.kafka,
        releases=_releases(resolved),
        expect=scenario.expect.acked_loss,
        accept=tuple(scenario.accept),
        require=tuple(scenario.require),
        owner=RunOwner(pid=owner.pid, start=owner.start, host=owner.host),
        topics=tuple(
            ManifestTopic(
                name=topic.name,
                partitions=topic.partitions,
                replication=topic.replication,
                config=topic.config,
            )
            for topic in scenario.topics
        ),
        producers=_producers(resolved),
        cluster=_cluster(resolved),
        schedule=tuple(step.name for step in resolved.steps),
        state="running",
        phase="",
        problem="",
        clock=ClockReading(monotonic_ns=monotonic_ns(), wall_ns=time_ns()),
        timings=Timings(),
        run=run,
        scenario_sha256=sha256(resolved.text.encode()).hexdigest(),
    )


def _releases(resolved: Resolved) -> tuple[str, ...] | None:
    every = resolved.topology.every_release
    return every if len(every) > 1 else None


def _producers(resolved: Resolved) -> tuple[ManifestProducer, ...]:
    """As asked for; the sealed journals replace them with those that there were."""
    workload = resolved.scenario.workload
    return tuple(
        ManifestProducer(producer=number, acks=workload.acks, idempotence=workload.idempotent)
        for number in range(workload.producers)
    )


def _cluster(resolved: Resolved) -> ManifestCluster:
    topology = resolved.topology
    of_broker = server_properties(topology, 1, client_address="")
    return ManifestCluster(
        brokers=topology.brokers,
        controllers=topology.controllers,
        combined=topology.combined,
        elr=topology.elr_on,
        broker_config={key: text for key, text in of_broker.items() if not RESERVED.fullmatch(key)},
    )

"""One run, in call order: from a resolved scenario to a report.

observe   start the cluster, watch it → make the topics → start the load, wait until it is warm → run the
          schedule → stop the producers, heal, wait until every replica is in sync, stop the readers → read
          every partition to a proven end, meanwhile seal what the load has recorded → copy the metadata log
          → stop the brokers, keep their logs and what their disks hold; meanwhile decode the metadata log
conclude  while the cluster is torn down: seal the rest of the history → read every replica → judge it all

A run that shares its cluster with others copies the disks of running brokers instead, and leaves the cluster
to the next run, which may go on while this one is concluded.

Whatever happens, the run directory shows how far it came, and nothing stays of a cluster that is not kept.
"""

import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Event

from checkers.history.rows import Proof
from checkers.verdict.algebra import Verdict
from checkers.verdict.names import first_of
from compose.protocols import Cluster, MetadataLog
from harness.errors import Interrupted, is_ours
from harness.report.audit import is_audited
from harness.report.report import Report, crashed
from harness.run.interrupts import Interrupts
from harness.run.steps import Load, RunSteps, RunWatch
from harness.run.teardown import TearDown
from harness.run.watch.alarm import Alarm, Check
from harness.run_directory.layout import RunDir, write_whole
from harness.run_directory.manifest import Phase
from harness.run_directory.manifest_writer import ManifestWriter
from harness.scenario.resolve import Resolved
from harness.terminal.progress import Progress
from workloads.record.seal import remove_sealed

WARM_UP_AHEAD_S = 10.0
"""Before the load ends: after that the verifier's workers would take processors from the final read."""

MOST_NAMED = 8
"""Faults that a line names; a storm has hundreds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one run works with; the steps below all take it.

    `keeps_cluster`: another run may follow on the same cluster, so its brokers are not stopped. `on_schedule`
    is called when the load is warm, and must return at once.
    """

    resolved: Resolved
    run: RunDir
    record: ManifestWriter
    steps: RunSteps
    progress: Progress
    interrupts: Interrupts
    keeps_cluster: bool = False
    on_schedule: Callable[[], None] = lambda: None

    @contextmanager
    def phase(self, name: Phase, text: str) -> Iterator[None]:
        """Report that a phase begins, and note it in the manifest."""
        self.progress.phase(text)
        with self.record.phase(name):
            yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What may not be in the run directory yet when the last question to the cluster was answered.

    `saved` are done when what was known before the brokers ended is there, or raise why it is not.
    """

    saved: tuple[Future[None], ...]
    proofs: tuple[Proof, ...]


def run(job: Job) -> Report:
    """Run the scenario and judge it; raises Interrupted when the user wants no verdict any more."""
    with TearDown() as down:
        observed = observe(job, down)
        with job.interrupts.orderly():
            return conclude(job, down, observed)


def observe(job: Job, down: TearDown) -> Observed | None:
    """All that asks the cluster anything; None if it failed. Raises Interrupted."""
    try:
        return _observe(job, down)
    except Interrupted:
        _note_interrupt(job)
        raise
    except Exception as error:  # a crash anywhere must still leave a run that can be judged
        _note_crash(job, error)
        down.close(at_once=True)
        return None


def conclude(job: Job, down: TearDown, observed: Observed | None) -> Report:
    """Tear down what is open, meanwhile write what was observed and judge; from any thread. Raises
    Interrupted."""
    down.begin()
    if observed is not None:
        _write(job, down, observed)
    report = _judge(job)
    _discard(job.run, report)
    down.close()
    return report.with_problem(down.problem) if down.problem else report


def _observe(job: Job, down: TearDown) -> Observed:
    cluster, watch = _start_cluster(job, down)
    load = _start_load(job, cluster, watch, down)
    with job.interrupts.orderly():
        _run_schedule(job, cluster, load, watch)
        with _alarm(job, [watch.check], Event()) as alarm:
            _settle(job, cluster, load, alarm)
            down.first_if_at_once(job.steps.abandon_seal)
            with _meanwhile(job, down, partial(_seal_load, job)) as sealed:
                proofs = _final_read(job, cluster, alarm)
            timeline = _copy(job, cluster, load, watch, down, alarm)
    return Observed(saved=(sealed, timeline), proofs=proofs)


def _write(job: Job, down: TearDown, observed: Observed) -> None:
    try:
        _save(job, observed)
    except Interrupted:
        _note_interrupt(job)
        raise
    except Exception as error:  # as above
        _note_crash(job, error)
        down.close()
    else:
        _note_end(job)


def _start_cluster(job: Job, down: TearDown) -> tuple[Cluster, RunWatch]:
    """A cluster with its topics, watched from when it was ready."""
    topology = job.resolved.topology
    later = f" (then {', '.join(topology.later)})" if topology.later else ""
    nodes = f"{topology.brokers} brokers, {topology.controllers} controllers, Kafka {topology.kafka}{later}"
    with job.phase("cluster", f"starting the cluster: {nodes}"):
        cluster = down.open(job.steps.cluster(job.resolved, job.run))
        started = job.steps.describe(cluster)
        job.record.cluster_started(
            run_id=started.run_id,
            images=started.images,
            ready=started.ready,
            served=started.served,
            why_new=started.why_new,
            ahead_s=started.ahead_s,
        )
        if started.served:
            job.progress.event(f"the cluster has served {started.served} runs, and was proven clean")
        on_event = job.progress.event
        watch = down.open(job.steps.watch(cluster, job.resolved, job.run, on_event=on_event))
    with job.phase("topics", "creating the topics, until every broker knows every leader"):
        job.record.topics_created(job.steps.make_topics(cluster, job.resolved))
    return cluster, watch


def _alarm(job: Job, checks: list[Check], stop: Event) -> Alarm:
    return Alarm(checks, stop, partial(_tell_trouble, job))


def _start_load(job: Job, cluster: Cluster, watch: RunWatch, down: TearDown) -> Load:
    workload = job.resolved.scenario.workload
    with job.phase("warm", f"starting the load: {workload.producers} producers, acks={workload.acks}"):
        load = down.open(job.steps.load(cluster, job.resolved, job.run))
        down.first_if_at_once(load.abandon)
        if workload.warm:
            with _alarm(job, [load.check, watch.check], Event()):
                load.wait_warm()
        job.progress.follow_load(load.figures)
    return load


def _run_schedule(job: Job, cluster: Cluster, load: Load, watch: RunWatch) -> None:
    """The faults, and at least as much load as asked for."""
    workload = job.resolved.scenario.workload
    begin = time.monotonic()
    with job.phase("schedule", f"running the schedule: {_faults_in_words(job.resolved)}"):
        job.on_schedule()
        stop, on_event = job.interrupts.new_stop(), job.progress.event
        with _alarm(job, [load.check, watch.check], stop):
            unproven = job.steps.run_faults(cluster, job.resolved, job.run, stop=stop, on_event=on_event)
            if unproven:
                job.progress.event(f"no evidence: {first_of(unproven, MOST_NAMED)}")
            end = max(begin + workload.lasts_s, time.monotonic() + workload.tail_s)
            stop.wait(max(0.0, end - WARM_UP_AHEAD_S - time.monotonic()))
            job.steps.warm_up()
            stop.wait(max(0.0, end - time.monotonic()))
    if job.interrupts.received is not None:
        job.record.cut_short()


def _tell_trouble(job: Job, error: Exception) -> None:
    job.progress.event(f"the run cannot go on, all faults are healed now: {reason_of(error)}")


def _faults_in_words(resolved: Resolved) -> str:
    if not resolved.steps:
        return f"no faults, {resolved.scenario.workload.lasts_s:g} s of load"
    if len(resolved.steps) > MOST_NAMED:
        kinds = Counter(step.kind for step in resolved.steps).most_common()
        return f"{len(resolved.steps)} faults, {', '.join(f'{count} {kind}' for kind, count in kinds)}"
    return ", ".join(f"{step.kind} {step.asked}" for step in resolved.steps)


def _settle(job: Job, cluster: Cluster, load: Load, alarm: Alarm) -> None:
    """The load ends, all is healed. A replica that stays behind is no error: the final read lacks a proof."""
    with job.phase("settle", "stopping the load, healing, waiting until every replica is in sync"):
        load.stop_producers()
        job.record.load_ended(time.monotonic_ns())
        try:
            job.steps.wait_in_sync(cluster, job.resolved)
        except Exception as error:  # whatever it was, the final read shows what can still be decided
            job.progress.event(str(error))
        job.progress.follow_load(None)
        load.stop()
        alarm.check()


def _final_read(job: Job, cluster: Cluster, alarm: Alarm) -> tuple[Proof, ...]:
    with job.phase("final_read", "reading every partition to a proven end"):
        proofs = job.steps.final_read(cluster, job.resolved, job.run, stop=alarm.stop)
        alarm.check()
        for proof in proofs:
            if not proof.complete:
                job.progress.event(f"no proof of {proof.tp}: {proof.reason}")
    return proofs


def _copy(
    job: Job, cluster: Cluster, load: Load, watch: RunWatch, down: TearDown, alarm: Alarm
) -> Future[None]:
    """The last that the cluster is needed for. The metadata log is copied before any broker is stopped: what
    that brings is no part of the run."""
    stopping = "" if job.keeps_cluster else "stopping the brokers, "
    with job.phase("disks", f"{stopping}keeping what their disks hold"):
        metadata = job.steps.copy_metadata(cluster)
        with _meanwhile(job, down, partial(_save_timeline, job, metadata)) as saved:
            _keep_disks(job, cluster)
            alarm.end()
            watch.stop()
            job.record.recorded(load.recorded())
            if job.keeps_cluster:
                job.steps.keep(cluster)
    return saved


@contextmanager
def _meanwhile(job: Job, down: TearDown, do: Callable[[], None]) -> Iterator[Future[None]]:
    """Do it in a thread. A cluster does not go before that is done; the next run on a kept one may begin."""
    thread = ThreadPoolExecutor(1, "meanwhile")
    if not job.keeps_cluster:
        yield down.open(thread).submit(do)
        return
    with ExitStack() as failed:
        failed.enter_context(thread)
        yield thread.submit(do)
        failed.pop_all()


def _seal_load(job: Job) -> None:
    with job.record.phase("seal"):
        job.record.sealed(job.steps.seal_load(job.run))


def _save_timeline(job: Job, metadata: MetadataLog) -> None:
    with job.record.phase("metadata"):
        job.steps.save_timeline(metadata, job.resolved, job.run)


def _save(job: Job, observed: Observed) -> None:
    """The proofs are written last: a crash before that leaves a run in which nothing is decided."""
    for each in observed.saved:
        each.result()
    with job.phase("seal", "sealing the history"):
        job.steps.seal(job.run, observed.proofs)
    with job.phase("audit", "reading every replica"):
        _audit(job)
    job.record.files_written()


def _keep_disks(job: Job, cluster: Cluster) -> None:
    """What cannot be had of the disks is not decided; everything else is."""
    job.record.reads_disks("running" if job.keeps_cluster else "stopped")
    copy = job.steps.copy_disks if job.keeps_cluster else job.steps.end_brokers
    try:
        troubles = copy(cluster, job.resolved, job.run)
    except Exception as error:  # whatever it was, the run has all its other evidence
        troubles = (f"the brokers' disks were not kept: {_named(error)}",)
    for trouble in troubles:
        job.progress.event(trouble)


def _audit(job: Job) -> None:
    """Whoever judges tries once more, and reports why it fails."""
    try:
        job.steps.audit(job.run)
    except Exception as error:
        job.progress.event(f"the replicas were not read: {_named(error)}")


def _note_end(job: Job) -> None:
    """A signal that came after the schedule cuts nothing short: all there was to observe was observed."""
    if job.record.manifest.cut_short:
        job.record.finish("interrupted", "the user asked to stop before the schedule had ended")
    else:
        job.record.finish("complete")


def _note_interrupt(job: Job) -> None:
    job.record.finish("interrupted", f"torn down on request in phase {job.record.manifest.phase}")


def _note_crash(job: Job, error: Exception) -> None:
    phase = job.record.failed or job.record.manifest.phase
    problem = f"{phase or 'start'}: {reason_of(error)}"
    job.progress.event(f"failed: {problem.splitlines()[0]}")
    with suppress(OSError):  # of a full disk the terminal tells, and whoever holds the manifest
        job.record.finish("failed", problem)
        write_whole(job.run.path / "crash.log", "".join(traceback.format_exception(error)))


def reason_of(error: Exception) -> str:
    """An error as one sentence: our own messages stand alone, a foreign one needs its type."""
    if is_ours(error):
        return str(error)
    return f"{_named(error)} (see crash.log in the run directory)"


def _named(error: Exception) -> str:
    return str(error) if is_ours(error) else f"{type(error).__name__}: {error}"


def _discard(run: RunDir, report: Report) -> None:
    """What nobody needs any more, while the cluster goes: it can take seconds, and the verdict is known.

    The tables are enough to judge again; the replicas are for whoever looks for the cause of a failure.
    """
    with suppress(OSError):  # whoever seals the run again removes them
        remove_sealed(run.path)
    if report.verdict is Verdict.PASS and is_audited(run):
        shutil.rmtree(run.replicas, ignore_errors=True)


def _judge(job: Job) -> Report:
    """The verdict; a run that crashed is an ERROR unless what it left shows a violation."""
    manifest = job.record.manifest
    problem = manifest.problem if manifest.state == "failed" else ""
    job.progress.phase("judging")
    begin = time.monotonic()
    try:
        report = job.steps.judge(job.run)
    except Exception as error:
        return crashed(job.run, problem or f"judging: {reason_of(error)}")
    job.progress.phase(f"judged in {time.monotonic() - begin:.1f} s, waiting until the cluster is gone")
    return report.with_problem(problem) if problem else report

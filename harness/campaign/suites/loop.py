"""Runs one after the other until the budget is spent, whatever comes of them; the files follow each change.

A run is *observed* first, all that asks the cluster anything, and then *concluded*: decoded, sealed, audited
and judged from its directory. That goes on behind the next run, on one thread, from the beginning of that
run's schedule on: earlier, the run would wait for each processor that it takes. A cluster is kept for the
next run if that has the same topology and there will be time for it; else the run stops its brokers, as a
single run does, and the next run's cluster begins to boot while it is still under way.
"""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Protocol, TextIO

from compose.errors import ComposeError
from faults.kinds.registry import kind_of
from harness.campaign.suite import first_manifest
from harness.campaign.suites.budget import Budget, expected_s
from harness.campaign.suites.directory import Suite, judged, settled
from harness.campaign.suites.draw import Drawn, by_cluster, draw, of_shard
from harness.campaign.suites.files.junit import write_junit
from harness.campaign.suites.files.observed import write_observed
from harness.campaign.suites.files.record import ClusterUse, RunRow, SuiteRecord, shard_of, write_record
from harness.campaign.suites.files.seconds import run_seconds, suite_seconds
from harness.campaign.suites.fresh_topics import with_topics_of
from harness.errors import Interrupted, ScenarioError
from harness.report.report import Report, crashed
from harness.run.interrupts import Interrupts
from harness.run.run import Job, Observed, conclude, observe, reason_of
from harness.run.steps import RunSteps
from harness.run.teardown import TearDown
from harness.run_directory import layout
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import Manifest
from harness.run_directory.manifest_writer import ManifestWriter
from harness.scenario.load.load_size import schedule_s
from harness.scenario.resolve import Resolved, resolve
from harness.terminal.progress import ProgressLines
from harness.terminal.summary import report_text

AHEAD_S = 25.0
"""The next cluster begins to boot so long before the schedule's end: with what a run leaves of the processors
it takes twice as long as alone."""

MOST_BEHIND = 1
"""Runs that are concluded while another one goes on: where that is the slower part, the next run waits."""


class SuiteSteps(RunSteps, Protocol):
    """The steps of runs that can leave their cluster to the next one, and be concluded behind it."""

    def begin_next_cluster(self, resolved: Resolved, *, in_s: float) -> None:
        """Begin to boot the cluster of the next run in so many seconds; returns at once."""

    def end_clusters(self) -> None:
        """End the cluster that a run has left for another one, and the one that was begun for the next."""

    def abandon(self) -> None:
        """End what seals or judges a run on another thread, which raises; nothing is judged after that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A run to make, whether another one can follow on its cluster, and the one that will need its own."""

    drawn: Drawn
    keeps_cluster: bool
    needs_new: Drawn | None


def run_suite(suite: Suite, steps: SuiteSteps, *, progress: TextIO, argv: Sequence[str] = ()) -> SuiteRecord:
    """Make the runs of a suite that are not made yet; returns what is in its suite.json at the end."""
    with Interrupts(lambda text: print(f"        {text}", file=progress, flush=True)) as interrupts:
        return SuiteLoop(suite, steps, interrupts, progress, argv).run()


class SuiteLoop:
    """One process's part of a suite."""

    def __init__(
        self,
        suite: Suite,
        steps: SuiteSteps,
        interrupts: Interrupts,
        progress: TextIO,
        argv: Sequence[str] = (),
    ) -> None:
        self._path, self._record, self._steps = suite.path, suite.record, steps
        self._interrupts, self._out, self._argv = interrupts, progress, tuple(argv)
        self._began, self._before_s = time.monotonic(), suite.record.seconds.total_s
        self._scenarios = [
            resolve(source.text, source.filename, sets=entry.set, seed=0)
            for entry, source in zip(suite.record.plan.scenarios, suite.record.sources, strict=True)
        ]
        self._lock = threading.Lock()
        self._behind: list[Future[None]] = []
        self._may_conclude = threading.Event()
        """Of the run that was observed last."""
        self._abandoned = False

    def run(self) -> SuiteRecord:
        """All of it; the files are whole whenever it ends."""
        with suppress(Interrupted), ThreadPoolExecutor(1, thread_name_prefix="conclude") as behind:
            try:
                self._settle()
                self._run_all(behind)
                with self._interrupts.orderly():
                    self._wait(0)
            except Interrupted:
                self._end_behind()
                raise
            except Exception:
                self._update(missing=tuple(self._missing()))
                raise
            finally:
                self._may_conclude.set()
        with suppress(Interrupted), self._interrupts.orderly():
            self._end_cluster()
        return self._finish()

    def _settle(self) -> None:
        """What a process before this one has left under way."""
        with self._interrupts.orderly():
            rows = settled(self._path, self._record.runs, self._steps.judge)
        self._update(runs=rows)

    def _run_all(self, behind: ThreadPoolExecutor) -> None:
        for choice in self._choices():
            if self._interrupts.received is not None:
                return
            self._make(choice, behind)
            with self._interrupts.orderly():
                self._wait(MOST_BEHIND)

    def _choices(self) -> Iterator[Choice]:
        """The next run, as long as there is room for it; asked again after each run."""
        done = self._record.judged()
        drawn = draw(self._record.plan.scenarios, self._record.seed)
        mine = by_cluster(of_shard(drawn, shard_of(self._record)), self._cluster_of)
        for one, following in with_next(each for each in mine if each.index not in done):
            takes_s = self._expected_s(one.entry)
            if not self._budget().has_room(takes_s, is_first=not self._has_made_any()):
                return
            if following is not None and not self._will_follow(following, takes_s):
                following = None
            keeps = following is not None and self._can_share(one, following)
            yield Choice(drawn=one, keeps_cluster=keeps, needs_new=None if keeps else following)

    def _has_made_any(self) -> bool:
        return any(row.state == "judged" or row.seconds is not None for row in self._record.runs)

    def _cluster_of(self, entry: int) -> str:
        return repr(self._scenarios[entry].topology)

    def _will_follow(self, following: Drawn, takes_s: float) -> bool:
        return self._budget().has_room(takes_s + self._expected_s(following.entry), is_first=False)

    def _can_share(self, one: Drawn, following: Drawn) -> bool:
        if self._record.plan.scenarios[one.entry].clean_stop:
            return False
        if any(kind_of(step).cost.spoils_cluster for step in self._scenarios[one.entry].steps):
            return False
        return self._cluster_of(one.entry) == self._cluster_of(following.entry)

    def _budget(self) -> Budget:
        return Budget(total_s=self._record.budget_s, spent_s=self._spent_s())

    def _spent_s(self) -> float:
        return self._before_s + time.monotonic() - self._began

    def _expected_s(self, entry: int) -> float:
        took = [
            row.seconds.wall_s
            for row in self._record.runs
            if row.entry == entry and row.state != "interrupted" and row.seconds is not None
            if row.seconds.schedule_s  # one that failed before says nothing of a whole run
        ]
        its = self._scenarios[entry]
        return expected_s(took, schedule_s(its.steps, its.scenario))

    def _make(self, choice: Choice, behind: ThreadPoolExecutor) -> None:
        """Observe one run, and let it be concluded."""
        began, drawn = time.monotonic(), choice.drawn
        row = self._new_row(drawn)
        self._append(row)
        run = layout.create_named(self._path / row.directory)
        self._print(self._heading(row, run))
        try:
            resolved = self._resolved(drawn)
        except ScenarioError as error:  # by this seed: by another one it was no trouble
            self._refused(row, crashed(run, str(error)))
            return
        layout.write_whole(run.scenario, resolved.text)
        record = ManifestWriter(run, first_manifest(resolved, self._argv, run.id))
        down = TearDown()
        with ProgressLines(self._out) as progress:
            job = Job(
                resolved=resolved,
                run=run,
                record=record,
                steps=self._steps,
                progress=progress,
                interrupts=self._interrupts,
                keeps_cluster=choice.keeps_cluster,
                on_schedule=partial(self._go_on, choice, self._may_conclude),
            )
            try:
                observed = observe(job, down)
            except BaseException as error:
                down.close(at_once=True)
                if isinstance(error, Interrupted):
                    self._replace(row, interrupted(row, record.manifest.problem))
                raise
        self._may_conclude.set()
        if choice.keeps_cluster:
            down.close()
        seconds = run_seconds(time.monotonic() - began, record.manifest.timings)
        known = row.model_copy(update={"cluster": cluster_use(record.manifest), "seconds": seconds})
        self._replace(row, known)
        self._may_conclude = threading.Event()
        self._behind.append(behind.submit(self._conclude, job, down, observed, known, self._may_conclude))

    def _refused(self, row: RunRow, report: Report) -> None:
        """A run that has no schedule by its seed, as a storm into which not all of its kinds fit."""
        report.write()
        self._print(_indented(row, report))
        self._replace(row, judged(row, report))

    def _go_on(self, choice: Choice, before: threading.Event) -> None:
        """What may go on beside a schedule: the end of the run before, and the start of the next one."""
        before.set()
        if choice.needs_new is not None:
            its = self._scenarios[choice.drawn.entry]
            lasts_s = schedule_s(its.steps, its.scenario)
            following = self._scenarios[choice.needs_new.entry]
            self._steps.begin_next_cluster(following, in_s=max(0.0, lasts_s - AHEAD_S))

    def _new_row(self, drawn: Drawn) -> RunRow:
        name = self._scenarios[drawn.entry].scenario.name
        before = sum(row.index == drawn.index for row in self._record.runs)
        again = f"-{before + 1}" if before else ""
        return RunRow(
            index=drawn.index,
            entry=drawn.entry,
            scenario=name,
            seed=drawn.seed,
            required=drawn.required,
            directory=f"{drawn.index:04d}_{name}_{drawn.seed}{again}",
            state="running",
        )

    def _resolved(self, drawn: Drawn) -> Resolved:
        entry, source = self._record.plan.scenarios[drawn.entry], self._record.sources[drawn.entry]
        resolved = resolve(source.text, source.filename, sets=entry.set, seed=drawn.seed)
        return with_topics_of(resolved, f"r{drawn.index}")

    def _heading(self, row: RunRow, run: RunDir) -> str:
        spent, total = self._spent_s(), self._record.budget_s
        its = f"run {row.index}  seed {row.seed}  scenario {row.scenario}"
        return f"{its}  {run.path}  ({spent:.0f} of {total:.0f} s)"

    def _conclude(
        self, job: Job, down: TearDown, observed: Observed | None, row: RunRow, may: threading.Event
    ) -> None:
        """On the thread behind: the verdict, into the run's directory and the suite's files."""
        may.wait()
        began = time.monotonic()
        try:
            report = conclude(job, down, observed)
            report.write()
        except Exception as error:  # one run's trouble must not end the suite
            report = crashed(job.run, f"concluding: {reason_of(error)}")
        self._print(f"{_indented(row, report)}")
        done = judged(row, report)
        if row.seconds is not None:
            behind_s = round(time.monotonic() - began, 3)
            done = done.model_copy(update={"seconds": row.seconds.model_copy(update={"behind_s": behind_s})})
        if job.record.manifest.cut_short or self._abandoned:
            done = interrupted(done, report.headline)
        self._replace(row, done)

    def _wait(self, most: int) -> None:
        """Until at most so many runs are being concluded."""
        if most == 0:
            self._may_conclude.set()
        while len(self._behind) > most:
            self._behind[0].result()
            self._behind.pop(0)

    def _end_behind(self) -> None:
        """What a signal has torn down is gone: the run that was observed before it is judged yet, in order. A
        second signal ends that too."""
        if self._behind and self._interrupts.go_on_in_order():
            self._print("        judging the run before; once more ends that too")
            with suppress(Interrupted), self._interrupts.orderly():
                self._wait(0)
                return
        self._abandoned = True
        self._steps.abandon()

    def _end_cluster(self) -> None:
        try:
            self._steps.end_clusters()
        except ComposeError as error:
            self._print(f"tear-down: {error}; run 'highwater clean' to remove what is left")

    def _append(self, row: RunRow) -> None:
        with self._lock:
            self._write(runs=(*self._record.runs, row))

    def _replace(self, old: RunRow, new: RunRow) -> None:
        with self._lock:
            rows = tuple(new if row.directory == old.directory else row for row in self._record.runs)
            self._write(runs=rows)

    def _update(self, **changes: object) -> None:
        with self._lock:
            self._write(**changes)

    def _write(self, **changes: object) -> None:
        record = self._record.model_copy(update=changes)
        seconds = suite_seconds(record.runs, self._spent_s())
        self._record = record.model_copy(update={"seconds": seconds})
        write_record(self._path, self._record)
        write_junit(self._path, self._record)
        write_observed(self._path, self._record)

    def _finish(self) -> SuiteRecord:
        signal = self._interrupts.received
        for row in self._record.runs:
            if row.state == "running":
                self._replace(row, interrupted(row, "torn down on request"))
        self._update(missing=tuple(self._missing()))
        code = self._record.worst_exit_code() if signal is None else 128 + signal
        self._update(state="complete" if signal is None else "interrupted", exit_code=code)
        return self._record

    def _missing(self) -> Iterator[str]:
        done = self._record.judged()
        drawn = takewhile(lambda one: one.required, draw(self._record.plan.scenarios, self._record.seed))
        for one in of_shard(drawn, shard_of(self._record)):
            if one.index not in done:
                yield f"{self._scenarios[one.entry].scenario.name}, run {one.index}"

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def with_next(drawn: Iterable[Drawn]) -> Iterator[tuple[Drawn, Drawn | None]]:
    """Each with the one that follows; None after the last."""
    before: Drawn | None = None
    for one in drawn:
        if before is not None:
            yield before, one
        before = one
    if before is not None:
        yield before, None


def interrupted(row: RunRow, why: str) -> RunRow:
    """The row of a run that is to be drawn again."""
    outcome = f"{why}; drawn again if the suite is resumed"
    return row.model_copy(update={"state": "interrupted", "outcome": outcome})


def cluster_use(manifest: Manifest) -> ClusterUse | None:
    """The cluster of a run; None if it had none."""
    if manifest.run_id is None:
        return None
    return ClusterUse(
        run_id=manifest.run_id,
        served=manifest.cluster_served or 0,
        why_new=manifest.cluster_why_new or "",
        ahead_s=manifest.cluster_ahead_s,
    )


def _indented(row: RunRow, report: Report) -> str:
    """The verdict on a run, between the lines of the next one."""
    text = report_text(report).replace("\n", "\n    ")
    return f"    run {row.index}, {row.scenario}, seed {row.seed}: {text}"

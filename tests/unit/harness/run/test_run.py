"""The control flow of a run: order of steps, crashes, interrupts, the manifest, what is torn down."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer

import pytest
from fakes.run.run_steps import FakeRunSteps

from checkers.history.rows import Proof
from checkers.history.tables import TABLES, unit_path, write_table
from checkers.verdict.algebra import Verdict
from compose.errors import NodeStateError
from harness.campaign.suite import first_manifest
from harness.errors import Interrupted
from harness.report.report import Report
from harness.run.interrupts import Interrupts
from harness.run.run import Job, conclude, observe, run
from harness.run.teardown import TearDown
from harness.run_directory import layout
from harness.run_directory.manifest import Manifest, read_manifest
from harness.run_directory.manifest_writer import ManifestWriter
from harness.scenario.resolve import resolve
from harness.terminal.progress import ProgressLines
from workloads.errors import WorkloadDied
from workloads.record.seal import REMOVED

SCENARIO = """\
name: demo
topics: [{name: orders, partitions: 2, replication: 3}]
workload: {lasts: 0s, tail: 0s}
"""
STEPS = [
    "cluster",
    "watch",
    "make_topics",
    "load",
    "wait_warm",
    "run_faults",
    "warm_up",
    "stop_producers",
    "wait_in_sync",
    "stop",
    "final_read",
    "copy_metadata",
    "end_brokers",
    "stop watching",
    "seal",
    "audit",
]
MEANWHILE = {"seal_load": ("stop", "seal"), "save_timeline": ("copy_metadata", "seal")}
"""In threads of their own, each between these two."""
PHASE_OF = {
    "cluster": "cluster",
    "watch": "cluster",
    "make_topics": "topics",
    "load": "warm",
    "wait_warm": "warm",
    "run_faults": "schedule",
    "stop_producers": "settle",
    "final_read": "final_read",
    "save_timeline": "metadata",
    "stop": "settle",
    "copy_metadata": "disks",
    "stop watching": "disks",
    "seal_load": "seal",
    "seal": "seal",
}


@contextmanager
def job_with(
    steps: FakeRunSteps, tmp_path: Path, scenario: str = SCENARIO, *, keeps_cluster: bool = False
) -> Iterator[Job]:
    """A run of the scenario with `steps`, not begun."""
    run_dir = layout.create(tmp_path, "demo", 1)
    resolved = resolve(scenario, "demo.yaml", seed=1)
    with Interrupts(lambda text: None) as interrupts, ProgressLines() as progress:
        yield Job(
            resolved=resolved,
            run=run_dir,
            record=ManifestWriter(run_dir, first_manifest(resolved)),
            steps=steps,
            progress=progress,
            interrupts=interrupts,
            keeps_cluster=keeps_cluster,
        )


def run_with(
    steps: FakeRunSteps, tmp_path: Path, scenario: str = SCENARIO, *, keeps_cluster: bool = False
) -> tuple[Report, Manifest]:
    """Run the scenario with `steps`; returns the report and the manifest that is left."""
    with job_with(steps, tmp_path, scenario, keeps_cluster=keeps_cluster) as job:
        report = run(job)
    return report, read_manifest(job.run)


def test_a_run_takes_its_steps_in_order_and_removes_the_cluster(tmp_path: Path) -> None:
    steps = FakeRunSteps()
    report, manifest = run_with(steps, tmp_path)
    assert [step for step in steps.taken if step in STEPS] == STEPS
    for step, (before, after) in MEANWHILE.items():
        assert steps.taken.index(before) < steps.taken.index(step) < steps.taken.index(after)
    others = {"judge", "watch checked", "load ended", "watch ended", "cluster removed"}
    assert set(steps.taken) - {*STEPS, *MEANWHILE} == others
    ends = ("load ended", "watch ended", "cluster removed")
    assert [step for step in steps.taken if step in ends] == list(ends)
    assert (report.verdict, manifest.state) == (Verdict.PASS, "complete")


@pytest.mark.parametrize("step", sorted(PHASE_OF))
def test_a_crash_in_any_step_removes_the_cluster_and_is_an_error_with_its_phase(
    tmp_path: Path, step: str
) -> None:
    steps = FakeRunSteps(breaks={step: OSError("no space left")})
    report, manifest = run_with(steps, tmp_path)
    problem = f"{PHASE_OF[step]}: OSError: no space left (see crash.log in the run directory)"
    assert (report.verdict, report.verdict.exit_code, report.headline) == (Verdict.ERROR, 4, problem)
    assert (manifest.state, manifest.problem) == ("failed", problem)
    assert steps.taken[-1] == "judge"
    assert step == "cluster" or "cluster removed" in steps.taken
    meanwhile = ("save_timeline", "seal_load", "seal")
    assert ("abandon" in steps.taken) == ("load ended" in steps.taken and step not in meanwhile)


def test_a_violation_that_a_crashed_run_has_left_is_still_a_fail(tmp_path: Path) -> None:
    steps = FakeRunSteps(breaks={"save_timeline": OSError("gone")}, verdict=Verdict.FAIL)
    report, _ = run_with(steps, tmp_path)
    assert report.verdict.exit_code == 1
    assert report.reasons[-1].sentence.startswith("metadata: OSError: gone")


def test_replicas_that_stay_out_of_sync_do_not_stop_the_run(tmp_path: Path) -> None:
    steps = FakeRunSteps(breaks={"wait_in_sync": TimeoutError("orders-0: isr [1]")})
    report, manifest = run_with(steps, tmp_path)
    assert "final_read" in steps.taken
    assert (report.verdict, manifest.state) == (Verdict.PASS, "complete")


@pytest.mark.parametrize(
    "step", ["wait_warm", "run_faults", "stop_producers", "wait_in_sync", "final_read", "end_brokers"]
)
def test_trouble_in_any_phase_ends_the_run_at_once_as_an_error(tmp_path: Path, step: str) -> None:
    """Nobody would know of a node's end, or nothing is left to read through: neither the load nor the read
    goes on for ten minutes."""
    waits_s = 600 if step == "final_read" else 0
    steps = FakeRunSteps(trouble=NodeStateError("the proxy is gone"), trouble_from=step, read_waits_s=waits_s)
    begin = time.monotonic()
    long = SCENARIO.replace("lasts: 0s", "lasts: 600s")
    report, manifest = run_with(steps, tmp_path, long if step in ("wait_warm", "run_faults") else SCENARIO)
    assert time.monotonic() - begin < 60
    phase = {"wait_in_sync": "settle", "end_brokers": "disks", **PHASE_OF}[step]
    headline = f"{phase}: the proxy is gone"
    assert (report.verdict, report.headline) == (Verdict.ERROR, headline)
    assert ("read broken off" in steps.taken) == (step == "final_read")
    assert (manifest.state, "cluster removed" in steps.taken) == ("failed", True)


def test_trouble_explains_what_it_leads_to(tmp_path: Path) -> None:
    """A step that fails because the proxy is gone says less than that it is."""

    class Refused(FakeRunSteps):
        def final_read(self, *given: object, stop: Event) -> tuple[Proof, ...]:
            self.take("final_read")
            assert stop.wait(10)
            raise OSError("connection refused")

    steps = Refused(trouble=NodeStateError("the proxy is gone"), trouble_from="final_read")
    report, _ = run_with(steps, tmp_path)
    assert report.headline == "final_read: the proxy is gone"


def test_a_load_that_dies_ends_the_schedule_at_once_and_heals(tmp_path: Path) -> None:
    """Ten minutes of faults against a load that nobody writes any more would show nothing."""
    died = WorkloadDied("thread 'producer 0' of the workload died: KafkaException: x")
    steps = FakeRunSteps(load_dies=died, faults_wait_s=600)
    begin = time.monotonic()
    report, manifest = run_with(steps, tmp_path)
    assert time.monotonic() - begin < 60
    assert "stopped and healed" in steps.taken
    assert (report.verdict.exit_code, report.headline) == (
        4,
        "schedule: thread 'producer 0' of the workload died: KafkaException: x",
    )
    assert (manifest.state, manifest.cut_short) == ("failed", False)
    assert "cluster removed" in steps.taken


def test_a_judge_that_breaks_is_an_error_and_not_a_traceback(tmp_path: Path) -> None:
    report, _ = run_with(FakeRunSteps(breaks={"judge": RuntimeError("the session died")}), tmp_path)
    assert (report.verdict, report.verdict.exit_code) == (Verdict.ERROR, 4)
    assert report.headline.startswith("judging: RuntimeError: the session died")


def test_a_tear_down_that_breaks_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    report, _ = run_with(FakeRunSteps(breaks={"cluster removed": OSError("busy")}), tmp_path)
    assert report.headline == "tear-down: busy; run 'highwater clean' to remove what is left"
    assert report.verdict is Verdict.ERROR


def test_the_first_ctrl_c_under_load_ends_the_run_in_order_and_judges_it(tmp_path: Path) -> None:
    steps = FakeRunSteps(presses={"run_faults": 1})
    long = SCENARIO.replace("lasts: 0s", "lasts: 600s")
    _, manifest = run_with(steps, tmp_path, long)
    assert [step for step in steps.taken if step in STEPS] == STEPS
    assert "judge" in steps.taken
    assert manifest.state == "interrupted"
    assert manifest.problem == "the user asked to stop before the schedule had ended"


@pytest.mark.parametrize("step", ["final_read", "seal", "judge"])
def test_a_ctrl_c_after_the_schedule_cuts_nothing_short(tmp_path: Path, step: str) -> None:
    report, manifest = run_with(FakeRunSteps(presses={step: 1}), tmp_path)
    assert (report.verdict, manifest.state) == (Verdict.PASS, "complete")


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ("end_brokers", "the brokers' disks were not kept: OSError: no space left"),
        ("audit", "the replicas were not read: OSError: no space left"),
    ],
)
def test_replicas_that_cannot_be_had_cost_the_run_nothing_else(
    tmp_path: Path, step: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = FakeRunSteps(breaks={step: OSError("no space left")})
    report, manifest = run_with(steps, tmp_path)
    assert [step for step in steps.taken if step in STEPS] == STEPS
    assert (report.verdict, manifest.state) == (Verdict.PASS, "complete")
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    ("verdict", "audited", "kept"),
    [
        (Verdict.PASS, True, False),
        (Verdict.PASS, False, True),
        (Verdict.FAIL, True, True),
        (Verdict.UNKNOWN, True, True),
        (Verdict.ERROR, True, True),
    ],
)
def test_copies_of_replicas_go_when_all_is_well_and_their_tables_are_there(
    tmp_path: Path, verdict: Verdict, audited: bool, kept: bool
) -> None:
    class Copies(FakeRunSteps):
        def end_brokers(self, cluster: object, resolved: object, run: layout.RunDir) -> tuple[str, ...]:
            (run.replicas / "1/orders-0").mkdir(parents=True)
            return super().end_brokers(cluster, resolved, run)  # type: ignore[arg-type]

        def audit(self, run: layout.RunDir) -> None:
            if audited:
                write_table(unit_path(run.history, "replicas"), "replicas", TABLES["replicas"].empty_table())

    report, _ = run_with(Copies(verdict=verdict), tmp_path)
    assert (report.run_dir / "replicas/1/orders-0").exists() == kept


@pytest.mark.parametrize("breaks", [{}, {"judge": ValueError("broken")}], ids=["judged", "crashed"])
def test_sealed_journals_are_gone_in_the_end_and_the_verdict_does_not_wait_for_that(
    tmp_path: Path, breaks: dict[str, Exception]
) -> None:
    there = []

    class Seals(FakeRunSteps):
        def seal(self, run: layout.RunDir, proofs: tuple[Proof, ...]) -> None:
            super().seal(run, proofs)
            (run.path / REMOVED / "of a load").mkdir(parents=True)

        def judge(self, run: layout.RunDir) -> Report:
            there.append((run.path / REMOVED).is_dir())
            return super().judge(run)

    report, _ = run_with(Seals(breaks=breaks), tmp_path)
    assert there == [True]
    assert not (report.run_dir / REMOVED).exists()


@pytest.mark.parametrize(
    ("step", "times"), [("cluster", 1), ("make_topics", 1), ("wait_warm", 1), ("run_faults", 2)]
)
def test_ctrl_c_before_the_load_or_twice_tears_down_without_judging(
    tmp_path: Path, step: str, times: int
) -> None:
    steps = FakeRunSteps(presses={step: times})
    with pytest.raises(Interrupted):
        run_with(steps, tmp_path)
    assert "judge" not in steps.taken
    assert step == "cluster" or steps.taken[-1] == "cluster removed"
    if "load ended" in steps.taken:  # its producers would wait for their outstanding records
        assert steps.taken.index("abandon") < steps.taken.index("load ended")
    manifest = read_manifest(layout.open_run(tmp_path / "latest"))
    assert manifest.state == "interrupted"
    assert manifest.problem == f"torn down on request in phase {PHASE_OF[step]}"


def test_a_run_that_keeps_its_cluster_stops_no_broker_and_lets_go_of_it_when_all_is_copied(
    tmp_path: Path,
) -> None:
    steps = FakeRunSteps()
    _, manifest = run_with(steps, tmp_path, keeps_cluster=True)
    assert "end_brokers" not in steps.taken
    after = steps.taken[steps.taken.index("copy_metadata") :]
    wanted = ("copy_disks", "stop watching", "keep", "cluster removed", "judge")
    assert [step for step in after if step in wanted][:3] == ["copy_disks", "stop watching", "keep"]
    assert (manifest.disks_of, manifest.state) == ("running", "complete")


def test_a_run_that_fails_before_all_is_copied_does_not_leave_its_cluster_to_another(tmp_path: Path) -> None:
    steps = FakeRunSteps(breaks={"copy_metadata": OSError("no space left")})
    run_with(steps, tmp_path, keeps_cluster=True)
    assert "keep" not in steps.taken
    assert "cluster removed" in steps.taken


def test_the_next_run_on_a_kept_cluster_may_begin_before_what_is_known_is_written(tmp_path: Path) -> None:
    steps, down = FakeRunSteps(may_save=Event()), TearDown()
    with job_with(steps, tmp_path, keeps_cluster=True) as job:
        observed = observe(job, down)
        down.close()
        assert "cluster removed" in steps.taken
        assert "save_timeline" not in steps.taken
        assert steps.may_save is not None
        steps.may_save.set()
        assert conclude(job, down, observed).verdict is Verdict.PASS
    assert read_manifest(job.run).state == "complete"


@pytest.mark.parametrize(("keeps_cluster", "breaks"), [(False, ""), (True, "keep")])
def test_no_cluster_goes_before_what_is_known_is_written(
    tmp_path: Path, keeps_cluster: bool, breaks: str
) -> None:
    """The metadata log is decoded in a container beside the cluster, removed with it."""
    steps = FakeRunSteps(may_save=Event(), breaks={breaks: OSError("no")} if breaks else {})
    assert steps.may_save is not None
    Timer(0.2, steps.may_save.set).start()
    run_with(steps, tmp_path, keeps_cluster=keeps_cluster)
    assert steps.taken.index("save_timeline") < steps.taken.index("cluster removed")


def test_a_schedule_of_hundreds_of_faults_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses = "".join(f"  - {{at: {at}s, do: pause, target: node 1, for: 2s}}\n" for at in range(0, 90, 10))
    steps = FakeRunSteps(unproven=tuple(f"pause-{number}" for number in range(1, 11)))
    run_with(
        steps, tmp_path, f"{SCENARIO}faults:\n{pauses}  - {{at: 95s, do: kill, target: node 2, for: 2s}}\n"
    )
    output = capsys.readouterr().out
    assert "running the schedule: 10 faults, 9 pause, 1 kill\n" in output
    named = "pause-1, pause-2, pause-3, pause-4, pause-5, pause-6, pause-7, pause-8"
    assert f"no evidence: {named} and 2 more\n" in output

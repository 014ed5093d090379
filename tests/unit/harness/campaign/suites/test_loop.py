"""The loop of a suite without a cluster: what is made and kept, what the files hold, how it is resumed."""

import signal
import sys
import time
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest
from fakes.run.run_steps import FakeRunSteps

from checkers.verdict.algebra import Verdict
from harness.campaign.suites import loop
from harness.campaign.suites.directory import Suite, create, reopen
from harness.campaign.suites.draw import Shard
from harness.campaign.suites.files.record import SuiteRecord, read_record, write_record
from harness.campaign.suites.loop import AHEAD_S, run_suite
from harness.campaign.suites.plan import read_plan
from harness.errors import HistoryError, RunDirectoryError, UsageError
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import read_manifest
from harness.scenario.resolve import Resolved
from workloads.errors import WorkloadDied

DEMO = """\
name: {0}
cluster: {{broker_config: {{replica.lag.time.max.ms: {1}}}}}
topics: [{{name: orders, partitions: 2, replication: 3}}]
workload: {{lasts: 0s, tail: 0s}}
"""


class SuiteSteps(FakeRunSteps):
    """Steps of a suite: `clusters` has "new" or "kept" for each run that began."""

    def __init__(self, **more) -> None:
        super().__init__(**more)
        self.clusters: list[str] = []
        self.topologies: list[object] = []
        self.verdicts: dict[int, Verdict] = {}
        self._kept = False

    def cluster(self, resolved: Resolved, run: RunDir):
        self.clusters.append("kept" if self._kept else "new")
        self.topologies.append(resolved.topology)
        self._kept = False
        return super().cluster(resolved, run)

    def keep(self, cluster: object) -> None:
        super().keep(cluster)
        self._kept = True

    def judge(self, run: RunDir):
        number = int(run.path.name[:4])
        self.verdict = self.verdicts.get(number, Verdict.PASS)
        return super().judge(run)


def suite(
    tmp_path: Path, entries: str, *, budget_s: float = 3600, shard: str = "1/1", faults: str = ""
) -> Suite:
    """A suite of the scenarios a and b, which need different clusters."""
    for name, lag in (("a", 1000), ("b", 2000)):
        (tmp_path / f"{name}.yaml").write_text(DEMO.format(name, lag) + faults)
    file = tmp_path / "mine.yaml"
    file.write_text(f"name: mine\nseed: 7\nscenarios: {entries}\n")
    plan = read_plan(str(file))
    return create(plan, budget_s=budget_s, seed=None, shard=Shard.parse(shard), out=tmp_path / "runs")


def run(its: Suite, steps: SuiteSteps) -> SuiteRecord:
    return run_suite(its, steps, progress=sys.stdout)


ONE_OF_EACH = "[{scenario: a.yaml, at_most: 2}, {scenario: b.yaml, at_most: 1}]"


def test_all_runs_are_made_judged_and_written_down(tmp_path: Path) -> None:
    its = suite(tmp_path, ONE_OF_EACH)
    done = run(its, SuiteSteps())
    assert read_record(its.path) == done
    assert (done.state, done.exit_code, len(done.runs)) == ("complete", 0, 3)
    assert sorted(row.scenario for row in done.runs) == ["a", "a", "b"]
    for row in done.runs:
        run_dir = RunDir(path=its.path / row.directory)
        assert read_manifest(run_dir).state == "complete"
        assert run_dir.verdict.exists()
        assert (row.state, row.verdict) == ("judged", "PASS")
    assert (its.path / "junit.xml").exists()


def test_a_cluster_is_kept_for_the_next_run_of_its_topology_only(tmp_path: Path) -> None:
    steps = SuiteSteps()
    two = "[{scenario: a.yaml, weight: 2, at_most: 4}, {scenario: b.yaml, weight: 3, at_most: 6}]"
    run(suite(tmp_path, two), steps)
    pairs = list(zip(steps.topologies, steps.topologies[1:], steps.clusters[1:], strict=False))
    assert all((one == other) == (cluster == "kept") for one, other, cluster in pairs)
    assert steps.clusters.count("new") == 3
    assert steps.taken.count("copy_disks") == steps.taken.count("keep") == 7
    assert steps.taken.count("end_brokers") == 3


def test_a_cluster_of_another_topology_begins_to_boot_before_the_schedule_ends(tmp_path: Path) -> None:
    steps, fault = SuiteSteps(), "faults: [{at: 40s, do: kill, target: leader, for: 3s}]\n"
    run(suite(tmp_path, ONE_OF_EACH, faults=fault), steps)
    changes = [topology for before, topology in pairwise(steps.topologies) if topology != before]
    assert [topology for topology, _ in steps.begun] == changes
    assert {in_s for _, in_s in steps.begun} == {43.0 - AHEAD_S}
    order = [step for step in steps.taken if step in ("wait_warm", "begin_next_cluster", "run_faults")]
    first = order.index("begin_next_cluster")
    assert order[first - 1 : first + 2] == ["wait_warm", "begin_next_cluster", "run_faults"]


def test_no_cluster_is_begun_for_a_run_that_the_budget_has_no_room_for(tmp_path: Path) -> None:
    steps = SuiteSteps()
    run(suite(tmp_path, "[{scenario: a.yaml, weight: 1}, {scenario: b.yaml}]", budget_s=0.001), steps)
    assert steps.begun == []


def test_a_scenario_that_wants_a_clean_stop_leaves_its_cluster_to_nobody(tmp_path: Path) -> None:
    steps = SuiteSteps()
    run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3, clean_stop: true}]"), steps)
    assert steps.clusters == ["new", "new", "new"]
    assert (steps.taken.count("end_brokers"), steps.taken.count("copy_disks")) == (3, 0)


def test_a_run_that_changes_settings_of_the_cluster_leaves_it_to_nobody(tmp_path: Path) -> None:
    """Its brokers' disks keep them, healed or not; a topic that is moved goes with the run."""
    setting = "{at: 1s, do: config, target: brokers, set: min.insync.replicas=1, for: 1s}"
    move = "{at: 1s, do: reassign, to: 2 replicas, for: 1s}"
    for fault, clusters in ((setting, ["new"] * 3), (move, ["new", "kept", "kept"])):
        steps, folder = SuiteSteps(), tmp_path / str(len(fault))
        folder.mkdir()
        its = suite(folder, "[{scenario: a.yaml, at_most: 3}]", faults=f"faults: [{fault}]\n")
        run(its, steps)
        assert steps.clusters == clusters


def test_each_run_has_topics_of_its_own(tmp_path: Path) -> None:
    its = suite(tmp_path, "[{scenario: a.yaml, at_most: 2}]")
    done = run(its, SuiteSteps())
    texts = [(its.path / row.directory / "scenario.yaml").read_text() for row in done.runs]
    assert ["name: orders-r0" in texts[0], "name: orders-r1" in texts[1]] == [True, True]


def test_a_suite_goes_on_after_failures_and_ends_with_the_worst(tmp_path: Path) -> None:
    steps = SuiteSteps()
    steps.verdicts = {0: Verdict.FAIL, 1: Verdict.UNKNOWN}
    done = run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]"), steps)
    assert [row.verdict for row in done.runs] == ["FAIL", "UNKNOWN", "PASS"]
    assert done.exit_code == 1


def test_a_run_that_crashes_gets_no_successor_on_its_cluster(tmp_path: Path) -> None:
    class Breaks(SuiteSteps):
        def final_read(self, cluster, resolved, run, *, stop):
            if run.path.name.startswith("0000"):
                raise OSError("no space left")
            return super().final_read(cluster, resolved, run, stop=stop)

    steps = Breaks()
    done = run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]"), steps)
    assert [row.verdict for row in done.runs] == ["ERROR", "PASS", "PASS"]
    assert steps.clusters == ["new", "new", "kept"]
    assert done.exit_code == 4


def test_what_ends_one_run_at_once_does_not_end_the_next(tmp_path: Path) -> None:
    class Dies(SuiteSteps):
        def __init__(self) -> None:
            super().__init__()
            self.stopped: list[bool] = []

        def run_faults(self, cluster, resolved, run, *, stop, on_event):
            first = run.path.name.startswith("0000")
            self.load_dies = WorkloadDied("thread 'producer 0' of the workload died") if first else None
            unproven = super().run_faults(cluster, resolved, run, stop=stop, on_event=on_event)
            self.stopped.append(stop.wait(10 if first else 0.5))
            return unproven

        def load(self, cluster, resolved, run):
            self.load_dies = None
            return super().load(cluster, resolved, run)

    steps = Dies()
    done = run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]"), steps)
    assert steps.stopped == [True, False, False]
    assert [row.verdict for row in done.runs] == ["ERROR", "PASS", "PASS"]


def test_whatever_is_raised_leaves_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a manifest that cannot be written, where the disk is full."""

    def refuse(*_: object) -> None:
        raise OSError("no space left")

    steps = SuiteSteps(breaks={"wait_warm": OSError("no space left")})
    monkeypatch.setattr("harness.run_directory.manifest_writer.ManifestWriter.topics_created", refuse)
    monkeypatch.setattr("harness.run.run._note_crash", refuse)
    with pytest.raises(OSError, match="no space left"):
        run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]"), steps)
    assert steps.taken.count("cluster") == steps.taken.count("cluster removed") == 1


def test_the_second_signal_waits_for_no_verdict(tmp_path: Path) -> None:
    """What is sealed or judged behind the run is ended, and the run made again when the suite is resumed."""

    class Judged(SuiteSteps):
        def __init__(self) -> None:
            super().__init__()
            self.abandoned, self.judging = Event(), Event()

        def judge(self, run):
            self.judging.set()
            assert self.abandoned.wait(10), "nobody ends what is judged"
            raise OSError("ended")

        def run_faults(self, cluster, resolved, run, *, stop, on_event):
            if run.path.name.startswith("0001"):
                assert self.judging.wait(10)
                self.presses = {"run_faults": 2}
            return super().run_faults(cluster, resolved, run, stop=stop, on_event=on_event)

        def abandon(self) -> None:
            super().abandon()
            self.abandoned.set()

    done = run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]"), Judged())
    assert [row.state for row in done.runs] == ["interrupted", "interrupted"]
    assert (done.state, done.exit_code) == ("interrupted", 128 + signal.SIGINT)


class PressedWhileTheSecondIsMadeReady(SuiteSteps):
    """Its first run was observed, and is not judged yet."""

    def __init__(self, *again_in: str) -> None:
        super().__init__()
        self.again_in = again_in

    def make_topics(self, cluster, resolved):
        second = resolved.scenario.topics[0].name == "orders-r1"
        self.presses = dict.fromkeys(("make_topics", *self.again_in), 1) if second else {}
        return super().make_topics(cluster, resolved)


def test_a_signal_while_the_next_run_is_made_ready_ends_that_and_the_one_before_is_judged(
    tmp_path: Path,
) -> None:
    its = suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]")
    steps = PressedWhileTheSecondIsMadeReady()
    first = run(its, steps)
    assert [(row.index, row.state, row.verdict) for row in first.runs] == [
        (0, "judged", "PASS"),
        (1, "interrupted", None),
    ]
    assert (first.state, first.exit_code) == ("interrupted", 128 + signal.SIGINT)
    assert "abandon" not in steps.taken
    done = run(reopen(its.path), SuiteSteps())
    assert [(row.index, row.state) for row in done.runs] == [
        (0, "judged"),
        (1, "interrupted"),
        (1, "judged"),
        (2, "judged"),
    ]


def test_a_run_whose_verdict_the_second_signal_has_ended_is_judged_when_the_suite_is_resumed(
    tmp_path: Path,
) -> None:
    class Ended(PressedWhileTheSecondIsMadeReady):
        def judge(self, run):
            raise OSError("ended")

    its = suite(tmp_path, "[{scenario: a.yaml, at_most: 2}]")
    first = run(its, Ended("cluster removed"))
    assert [(row.index, row.state) for row in first.runs] == [(0, "interrupted"), (1, "interrupted")]
    steps = SuiteSteps()
    steps.verdicts = {0: Verdict.FAIL}
    done = run(reopen(its.path), steps)
    assert [(row.index, row.state, row.verdict) for row in done.runs] == [
        (0, "judged", "FAIL"),
        (1, "interrupted", None),
        (1, "judged", "PASS"),
    ]
    assert steps.taken.count("cluster") == 1
    assert done.exit_code == 1


def test_a_run_that_nobody_can_judge_does_not_end_the_suite_each_time_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "MOST_BEHIND", 0)
    its = suite(tmp_path, "[{scenario: a.yaml, at_most: 2}]")
    _left_by_a_process_killed_in(its, "judge")
    monkeypatch.setattr("harness.campaign.suites.directory.refuse_alive", lambda *_: None)
    done = run(reopen(its.path), SuiteSteps(breaks={"judge": MemoryError("no room")}))
    assert [(row.state, row.verdict) for row in done.runs] == [("judged", "ERROR")] * 2
    assert "no room" in done.runs[0].outcome
    assert done.exit_code == 4


def test_a_run_that_is_refused_by_its_seed_is_an_error_and_the_suite_goes_on(tmp_path: Path) -> None:
    """As a storm into which not all of its kinds fit, in some draws."""
    wide = "{duration: 75s, kinds: [power-loss, kill, stop, pulses, pause, disk-stall]}"
    its = suite(
        tmp_path,
        "[{scenario: a.yaml, at_most: 8, set: [topics.0.config.min.insync.replicas=2]}]",
        faults=f"storm: {wide}\n",
    )
    done = run(its, SuiteSteps())
    refused = [row for row in done.runs if row.verdict == "ERROR"]
    assert 0 < len(refused) < 8
    assert [row.verdict for row in done.runs].count("PASS") == 8 - len(refused)
    assert all("draws had none with" in row.outcome for row in refused)
    assert (done.state, done.exit_code) == ("complete", 4)


def test_what_a_run_took_that_failed_before_its_schedule_is_no_measure_of_the_next(tmp_path: Path) -> None:
    steps = SuiteSteps(breaks={"make_topics": OSError("no topics")})
    fault = "faults: [{at: 40s, do: kill, target: leader, for: 3s}]\n"
    done = run(suite(tmp_path, "[{scenario: a.yaml}]", budget_s=60, faults=fault), steps)
    assert len(done.runs) == 1


def test_a_budget_that_is_spent_ends_the_suite_after_one_run(tmp_path: Path) -> None:
    done = run(suite(tmp_path, "[{scenario: a.yaml}]", budget_s=0.001), SuiteSteps())
    assert (len(done.runs), done.state, done.exit_code) == (1, "complete", 0)


def test_what_there_must_be_and_was_not_made_in_time_is_unknown(tmp_path: Path) -> None:
    done = run(suite(tmp_path, "[{scenario: a.yaml, at_least: 3}]", budget_s=0.001), SuiteSteps())
    assert (done.missing, done.exit_code) == (("a, run 1", "a, run 2"), 3)


@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_ends_the_suite_in_order_and_its_files_are_whole(tmp_path: Path, times: int) -> None:
    """The first one: the run under way is healed and judged. The second one tears it down."""
    its = suite(tmp_path, "[{scenario: a.yaml, at_most: 5}]")
    steps, handler = SuiteSteps(presses={"run_faults": times}), signal.getsignal(signal.SIGINT)
    done = run(its, steps)
    assert read_record(its.path) == done
    assert (done.state, done.exit_code) == ("interrupted", 130)
    assert [row.state for row in done.runs] == ["interrupted"]
    assert (its.path / done.runs[0].directory / "verdict.json").exists() == (times == 1)
    assert steps.taken.count("end_clusters") == 1
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupted_suite_is_resumed_without_a_run_lost_or_made_twice(tmp_path: Path) -> None:
    its = suite(tmp_path, "[{scenario: a.yaml, at_most: 4}]")

    class Presses(SuiteSteps):
        def run_faults(self, cluster, resolved, run, *, stop: Event, on_event):
            self.presses = {"run_faults": 1} if run.path.name.startswith("0002") else {}
            return super().run_faults(cluster, resolved, run, stop=stop, on_event=on_event)

    first = run(its, Presses())
    assert [(row.index, row.state) for row in first.runs] == [
        (0, "judged"),
        (1, "judged"),
        (2, "interrupted"),
    ]
    done = run(reopen(its.path), SuiteSteps())
    assert [(row.index, row.state) for row in done.runs] == [
        (0, "judged"),
        (1, "judged"),
        (2, "interrupted"),
        (2, "judged"),
        (3, "judged"),
    ]
    assert done.runs[3].directory == f"{done.runs[2].directory}-2"
    assert done.runs[3].seed == done.runs[2].seed
    assert (done.state, done.exit_code) == ("complete", 0)


@pytest.mark.parametrize(
    ("step", "state", "made_again"),
    [("make_topics", "interrupted", 1), ("final_read", "interrupted", 1), ("judge", "judged", 0)],
)
def test_a_killed_suite_is_resumed_from_what_its_last_run_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, state: str, made_again: int
) -> None:
    """A run that was sealed is judged; any other one is made again."""
    monkeypatch.setattr(loop, "MOST_BEHIND", 0)  # so that no other run has begun by then
    its = suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]")
    left = _left_by_a_process_killed_in(its, step)
    assert [row.state for row in left.runs] == ["running"]
    monkeypatch.setattr("harness.campaign.suites.directory.refuse_alive", lambda *_: None)
    done = run(reopen(its.path), SuiteSteps())
    assert done.runs[0].state == state
    assert sorted(row.index for row in done.runs if row.state == "judged") == [0, 1, 2]
    assert len(done.runs) == 3 + made_again


def _left_by_a_process_killed_in(its: Suite, step: str) -> SuiteRecord:
    """What is on disk at the moment: a copy is put back when the process that went on has ended."""
    steps, saved = SuiteSteps(), {}
    take = steps.take

    def kill(name: str) -> None:
        if name == step and not saved:
            saved.update({path: path.read_bytes() for path in its.path.rglob("*") if path.is_file()})
        take(name)

    steps.take = kill  # type: ignore[method-assign]
    run(its, steps)
    for path in [path for path in its.path.rglob("*") if path.is_file() and path not in saved]:
        path.unlink()
    for directory in sorted((path for path in its.path.rglob("*") if path.is_dir()), reverse=True):
        if not any(directory.iterdir()):
            directory.rmdir()
    for path, content in saved.items():
        path.write_bytes(content)
    return read_record(its.path)


def test_a_suite_of_a_living_process_is_not_resumed(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="the suite still goes on"):
        reopen(suite(tmp_path, "[{scenario: a.yaml}]").path)


def test_a_run_of_a_suite_that_is_a_link_is_not_judged_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    """Its verdict would be written over that of the place that the link leads to."""
    its = suite(tmp_path, "[{scenario: a.yaml, at_most: 1}]")
    (row,) = run(its, SuiteSteps()).runs
    elsewhere = tmp_path / "elsewhere"
    (its.path / row.directory).rename(elsewhere)
    (its.path / row.directory).symlink_to(elsewhere)
    (elsewhere / "verdict.json").write_text("MINE")
    left = read_record(its.path)
    write_record(its.path, left.model_copy(update={"runs": (row.model_copy(update={"state": "running"}),)}))
    before = (its.path / "suite.json").read_bytes()
    with pytest.raises(HistoryError, match=f"{row.directory}: is a link"):
        reopen(its.path)
    assert (elsewhere / "verdict.json").read_text() == "MINE"
    assert (its.path / "suite.json").read_bytes() == before


def test_a_shard_without_a_run_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="shard 2/2 has no run of this suite, which has 1 in all"):
        suite(tmp_path, "[{scenario: a.yaml, at_most: 1}]", shard="2/2")
    assert not (tmp_path / "runs").exists()


def test_of_many_machines_each_makes_its_one_run_of_an_endless_suite(tmp_path: Path) -> None:
    its = suite(tmp_path, "[{scenario: a.yaml}]", shard="1000/1000", budget_s=0.001)
    assert [row.index for row in run(its, SuiteSteps()).runs] == [999]


def test_shards_make_each_run_once(tmp_path: Path) -> None:
    made = []
    for number in (1, 2):
        part = suite(
            tmp_path, "[{scenario: a.yaml, at_most: 3}, {scenario: b.yaml, at_most: 2}]", shard=f"{number}/2"
        )
        made += [(row.index, row.seed) for row in run(part, SuiteSteps()).runs]
    assert sorted(index for index, _ in made) == [0, 1, 2, 3, 4]
    assert len({seed for _, seed in made}) == 5


def test_a_run_is_not_concluded_while_the_next_one_is_made_ready(tmp_path: Path) -> None:
    """Not before its load is warm, and its schedule begins; the last one at once."""
    order: list[str] = []

    class Noted(SuiteSteps):
        def cluster(self, resolved, run):
            order.append(f"cluster {run.path.name[:4]}")
            time.sleep(0.2)
            return super().cluster(resolved, run)

        def take(self, step):
            if step == "wait_warm":
                order.append("warm")
            super().take(step)

        def run_faults(self, cluster, resolved, run, *, stop, on_event):
            order.append(f"schedule {run.path.name[:4]}")
            return super().run_faults(cluster, resolved, run, stop=stop, on_event=on_event)

        def judge(self, run):
            order.append(f"judged {run.path.name[:4]}")
            return super().judge(run)

    run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]"), Noted())
    for number in (0, 1):
        following = order[order.index(f"cluster {number + 1:04}") :]
        assert following[1] == "warm"
        assert following.index(f"schedule {number + 1:04}") <= 3  # it and the conclusion begin together
        assert f"judged {number:04}" in following
    assert order[-1] == "judged 0002"


def test_one_that_fails_before_its_schedule_lets_the_run_before_be_concluded(tmp_path: Path) -> None:
    steps = SuiteSteps(breaks={"make_topics": OSError("no topics")})
    done = run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]"), steps)
    assert [(row.state, row.verdict) for row in done.runs] == [("judged", "ERROR")] * 3


def test_a_verdict_is_found_behind_the_next_run(tmp_path: Path) -> None:
    """The second run begins before the first is judged; no third one begins before that."""
    begun = Event()

    class Slow(SuiteSteps):
        def make_topics(self, cluster, resolved):
            if resolved.scenario.topics[0].name == "orders-r1":
                begun.set()
            return super().make_topics(cluster, resolved)

        def judge(self, run):
            assert begun.wait(10), "the second run waits for the verdict on the first"
            return super().judge(run)

    done = run(suite(tmp_path, "[{scenario: a.yaml, at_most: 3}]"), Slow())
    assert [row.verdict for row in done.runs] == ["PASS", "PASS", "PASS"]
    assert loop.MOST_BEHIND == 1

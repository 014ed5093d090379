"""An upgrade without a cluster: its files, what its runs have shown, its page and the exit code."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.history.history_rows import history, logged, ok
from fakes.run.run_steps import FakeRunSteps

from checkers.damage.write import write
from checkers.history.rows import BrokerLine, ConfigChange, Fault, History
from checkers.verdict.algebra import Verdict
from compose.cleanup import leftovers
from compose.setup import prepare
from harness.campaign.suites.directory import Suite, reopen
from harness.campaign.suites.loop import run_suite
from harness.campaign.upgrade.page import answer
from harness.campaign.upgrade.pair import pair_of
from harness.campaign.upgrade.record import RollRow, UpgradeRecord, read_upgrade
from harness.campaign.upgrade.upgrade import concluded, planned
from harness.cli import main
from harness.errors import HistoryError, RunDirectoryError, UsageError
from harness.run.live import live_steps
from harness.run_directory.layout import RunDir
from harness.scenario.resolve import resolve

SAID = "Kafka refuses metadata.version 25: INVALID_UPDATE_VERSION, Unsupported downgrade from 30 to 25."


pytestmark = pytest.mark.usefixtures("no_load")


def step(index: int, kind: str, effect: Mapping[str, object], *, proven: bool = True) -> Fault:
    """A step between the first and the last acknowledgement."""
    return Fault(
        index=index,
        name=f"{kind}-{index}",
        kind=kind,
        inject_ns=30,
        effect_ns=40,
        recovered_ns=50,
        proven=proven,
        evidence=json.dumps({"effect": effect, "recovery": {}}),
    )


def named(node: int, release: str) -> BrokerLine:
    return BrokerLine(
        topic="", partition=-1, at_ms=1, node=node, kind="version", line=f"Kafka version: {release}"
    )


def level(value: int, offset: int) -> ConfigChange:
    return ConfigChange(at_ms=1, log_offset=offset, kind="feature", name="metadata.version", value=str(value))


BASE = history(ok(1, 0, 0), ok(1, 1, 1, done=90), logged(1, 0, 0), logged(1, 1, 1))
ROLL = step(0, "rolling-upgrade", {"release": "4.3.1", "order": [101, 1], "took_s": 9.25})
RAISED = {"metadata.version": [25, 30], "group.version": [0, 1]}
UP = replace(
    BASE,
    broker_lines=[named(1, "4.0.0"), named(1, "4.3.1"), named(101, "4.0.0"), named(101, "4.3.1")],
    configs=[level(25, 2), level(30, 90)],
    faults=[ROLL, step(1, "finalize", {"levels": RAISED, "by_brokers": [1, 2, 3]})],
)
REFUSED = replace(
    UP,
    faults=[
        *UP.faults,
        step(2, "refused-downgrade", {"refused": SAID, "asked": 25, "level": 30}),
        step(3, "refused-downgrade", {}, proven=False),
    ],
)
SHOWN = {"up": UP, "down": BASE, "refused": REFUSED}


class UpgradeSteps(FakeRunSteps):
    """Steps whose runs have the history of their phase, and a verdict each; PASS by default."""

    def __init__(self, shown: Mapping[str, History] = SHOWN, **verdicts: Verdict) -> None:
        super().__init__()
        self.shown, self.verdicts = shown, verdicts

    def judge(self, run: RunDir):
        phase = run.path.name.split("_")[1].rpartition("-")[2]
        if phase in self.shown:
            write(self.shown[phase], run.history)
        self.verdict = self.verdicts.get(phase, Verdict.PASS)
        return super().judge(run)


def made_suite(tmp_path: Path, *only: str, budget_s: float = 3600.0, **more) -> Suite:
    pair = pair_of("4.0.0", "4.3.1")
    return planned(pair, only=only, out=tmp_path / "runs", seed=7, budget_s=budget_s, **more)


def upgraded(tmp_path: Path, *only: str, steps: FakeRunSteps | None = None) -> tuple[UpgradeRecord, Suite]:
    suite = made_suite(tmp_path, *only)
    done = run_suite(suite, steps or UpgradeSteps(), progress=sys.stdout)
    return concluded(suite.path, done), suite


def test_a_plan_has_a_scenario_for_each_phase_and_nothing_observed(tmp_path: Path) -> None:
    suite = made_suite(tmp_path)
    names = [f"upgrade-4-0-0-to-4-3-1-{phase}.yaml" for phase in ("down", "refused", "up")]
    assert sorted(file.name for file in (suite.path / "scenarios").iterdir()) == names
    record = read_upgrade(suite.path)
    assert [(row.phase, row.entry, row.observed) for row in record.phases] == [
        ("up", 0, None),
        ("down", 1, None),
        ("refused", 2, None),
    ]
    assert (record.older, record.newer, record.levels) == ("4.0.0", "4.3.1", (25, 30))


def test_a_scenario_of_a_phase_can_be_run_alone(tmp_path: Path) -> None:
    suite = made_suite(tmp_path, "refused")
    (file,) = (suite.path / "scenarios").iterdir()
    assert main(["scenario", "validate", str(file)]) == 0


def test_settings_go_over_every_scenario_and_the_releases_are_none(tmp_path: Path) -> None:
    suite = made_suite(tmp_path, "up", sets=["workload.producers=2"])
    assert [entry.set for entry in suite.record.plan.scenarios] == [["workload.producers=2"]]
    with pytest.raises(
        UsageError, match=r"upgrade: --set cluster\.kafka=4\.1\.0: the releases are 4\.0\.0 and"
    ):
        made_suite(tmp_path, sets=["cluster.kafka=4.1.0"])


@pytest.mark.parametrize(
    ("sets", "nodes"), [([], 6), (["cluster.controllers=1"], 4), (["cluster.controllers=5"], 8)]
)
def test_every_node_of_the_cluster_must_run_the_newer_release(
    tmp_path: Path, sets: list[str], nodes: int
) -> None:
    suite = made_suite(tmp_path, sets=sets)
    for entry in suite.record.plan.scenarios:
        text = (suite.path / entry.scenario).read_text()
        resolved = resolve(text, entry.scenario, sets=sets, seed=0)
        assert len(resolved.topology.nodes) == nodes
        assert resolved.scenario.require[0] == f"nodes.new-release >= {nodes}"


@pytest.mark.parametrize("text", ["cluster={kafka: 4.1.0}", "faults.1.release=4.2.0"])
def test_nor_are_the_releases_set_by_another_key(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r": the releases are 4\.0\.0 and 4\.3\.1"):
        made_suite(tmp_path, "up", sets=[text])


def test_phases_do_not_get_one_name(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"upgrade: --set name=x: each phase has a name of its own, as upgrade-"
    ):
        made_suite(tmp_path, sets=["name=x"])
    assert list(tmp_path.iterdir()) == []


def test_the_record_says_what_each_run_has_shown(tmp_path: Path) -> None:
    record, suite = upgraded(tmp_path)
    up, down, refused = (row.observed for row in record.phases)
    assert up is not None
    assert down is not None
    assert refused is not None
    assert up.directory == "0000_upgrade-4-0-0-to-4-3-1-up_" + up.directory.rpartition("_")[2]
    assert up.releases == {1: ("4.0.0", "4.3.1"), 101: ("4.0.0", "4.3.1")}
    assert up.metadata_levels == (25, 30)
    assert up.rolls == (RollRow(step="rolling-upgrade-0", release="4.3.1", nodes=(101, 1), took_s=9.25),)
    assert up.finalized == {"metadata.version": (25, 30), "group.version": (0, 1)}
    assert [row.period for row in up.periods] == ["before", "during", "after"]
    assert (down.rolls, down.refusals) == ((), ())
    assert refused.refusals == (SAID,)
    assert read_upgrade(suite.path) == record


def test_the_page_shows_phases_then_words_of_kafka_then_periods(tmp_path: Path) -> None:
    record, suite = upgraded(tmp_path, steps=UpgradeSteps(down=Verdict.FAIL))
    lines = answer(record).splitlines()
    assert lines[0] == "Kafka 4.0.0 to 4.3.1: metadata.version 25 to 30"
    assert [line.split()[0] for line in lines[2:6]] == ["phase", "up", "down", "refused"]
    assert "FAIL: as asked for" in lines[4]
    assert f"refused: {SAID}" in lines
    page = (suite.path / "upgrade.md").read_text()
    assert "## down: FAIL" in page
    assert f"- the way back: {SAID}" in page
    assert "- nodes 1, 101 ran 4.0.0, then 4.3.1, by their own logs" in page
    assert "| up | before |" in page


def test_a_history_that_cannot_be_read_leaves_the_verdict(tmp_path: Path) -> None:
    record, _ = upgraded(tmp_path, "up", steps=UpgradeSteps({}, up=Verdict.UNKNOWN))
    (row,) = record.phases
    assert row.observed is not None
    assert row.observed.verdict == "UNKNOWN"
    assert "proofs.parquet" in row.observed.unread
    assert row.observed.periods == ()


def test_an_upgrade_that_was_stopped_goes_on_from_its_directory(tmp_path: Path) -> None:
    suite = made_suite(tmp_path, budget_s=1e-9)
    first = concluded(suite.path, run_suite(suite, UpgradeSteps(), progress=sys.stdout))
    assert [row.observed is None for row in first.phases] == [False, True, True]
    assert "not run" in answer(first)
    again = run_suite(reopen(suite.path, budget_s=3600), UpgradeSteps(), progress=sys.stdout)
    done = concluded(suite.path, again)
    assert (again.exit_code, [row.observed is None for row in done.phases]) == (0, [False, False, False])
    assert done.phases[0] == first.phases[0]


def test_a_directory_without_an_upgrade_or_with_a_damaged_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"not the directory of an upgrade: it has no upgrade\.json"):
        read_upgrade(tmp_path)
    (tmp_path / "upgrade.json").write_text('{"schema_version": 1}')
    with pytest.raises(HistoryError, match="tool_version: Field required"):
        read_upgrade(tmp_path)


# The command line

GIVE = "upgrade: give two releases, as in 4.0.0 4.3.1, or --resume DIR"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], GIVE),
        (["4.0.0"], GIVE),
        (["4.0.0", "4.3.1", "--resume", "runs/x"], GIVE),
        (["--resume", "runs/x"], "runs/x: not the directory of an upgrade: it has no upgrade.json"),
        (
            ["--resume", "runs/x", "--seed", "7"],
            "upgrade: --resume goes on with the phases, the settings and the seed of the upgrade",
        ),
        (["4.3.1", "4.3.1"], "upgrade: from 4.3.1 to 4.3.1 there is nothing to upgrade"),
        (
            ["4.0.0", "4.3.1", "--only", "back"],
            "upgrade: unknown phase 'back'; allowed: up, down, refused",
        ),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["upgrade", *arguments]) == 2
    assert capsys.readouterr().err == f"highwater: {complaint}\n"


@pytest.fixture
def without_docker(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Images are not made; their releases are noted."""
    releases: list[str] = []
    monkeypatch.setattr(leftovers, "of_dead_runs", lambda: ())
    monkeypatch.setattr(prepare, "ensure_images", lambda release, on_line: releases.append(release))
    monkeypatch.setattr(
        live_steps, "LiveRunSteps", lambda spark_master: UpgradeSteps(refused=Verdict.UNKNOWN)
    )
    return releases


def test_the_command_ends_with_the_answer_and_the_worst_code(
    tmp_path: Path, without_docker: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["upgrade", "4.0.0", "4.3.1", "--seed", "7", "--out", str(tmp_path / "runs")]
    assert main(arguments) == 3
    lines = capsys.readouterr().out.splitlines()
    begin = lines.index("Kafka 4.0.0 to 4.3.1: metadata.version 25 to 30")
    assert [line.split()[0] for line in lines[begin + 2 : begin + 6]] == ["phase", "up", "down", "refused"]
    assert without_docker == ["4.0.0", "4.3.1"]


def test_the_record_is_on_stdout_as_json(
    tmp_path: Path, without_docker: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs"
    arguments = ["upgrade", "4.0.0", "4.3.1", "--only", "up", "--seed", "7", "--json", "--out", str(out)]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["phase"] for row in document["phases"]] == ["up"]
    assert document["phases"][0]["observed"]["metadata_levels"] == [25, 30]

"""Scenarios on real clusters, as a user runs them: a leader kill against acks=1, a storm against acks=all.

The storm is a short one, from a file of the user's own; a full one and a power failure are in tests/long.
"""

from pathlib import Path

import pytest
from fakes.run.highwater_process import highwater, holds_whatever_was_acknowledged, verdict

from harness.scenario.resolve import find

SCENARIOS = ("acks1-leader-kill", "storm")
KINDS = {"partition", "disk-stall"}
SHIPPED = "storm: {duration: 60s, intensity: normal, "
SHORTER = f"storm: {{duration: 35s, kinds: [{', '.join(sorted(KINDS))}], "
SEED = "7"
"""One storm, the same in each run of the tests. What a seed draws is the business of longer campaigns."""
SUITE_S = 580.0
CHECK_S = 120.0


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The run directory of each scenario, all run by one command, with the verdict PASS."""
    out = tmp_path_factory.mktemp("runs")
    storm = tmp_path_factory.mktemp("scenarios") / "storm.yaml"
    text, _ = find("storm")
    assert SHIPPED in text
    storm.write_text(text.replace(SHIPPED, SHORTER))
    scenarios = [str(storm) if name == "storm" else name for name in SCENARIOS]
    code, verdicts = highwater("run", *scenarios, "--seed", SEED, "--out", str(out), within_s=SUITE_S)
    assert (code, [judged["verdict"] for judged in verdicts]) == (0, ["PASS"] * len(SCENARIOS))
    folders = sorted(path for path in out.iterdir() if not path.is_symlink())
    assert [verdict(folder) for folder in folders] == verdicts
    return dict(zip(SCENARIOS, folders, strict=True))


def test_acks_1_loses_hundreds_of_acknowledged_records(runs: dict[str, Path]) -> None:
    control = verdict(runs["acks1-leader-kill"])
    assert control["properties"]["acked-loss"]["permitted"] >= 300
    assert control["properties"]["acked-loss"]["violations"] == 0
    assert control["outcome"].endswith(" acknowledged records, as its contract permits")


def test_the_explanation_names_record_time_leader_fault_and_high_watermark(runs: dict[str, Path]) -> None:
    line = verdict(runs["acks1-leader-kill"])["findings"][0]["line"]
    for word in ("orders-", "record ", "acknowledged at ", "by broker ", "leader epoch 0", "kill"):
        assert word in line
    assert "the high watermark of orders-" in line
    assert " was elected at " in line
    assert "before it was replicated" in line
    assert " under broker " in line


def test_every_fault_has_evidence_of_its_effect_and_recovery(runs: dict[str, Path]) -> None:
    windows = {name: verdict(run)["exposure"]["fault_windows"] for name, run in runs.items()}
    kinds = {name: {window["kind"] for window in of} for name, of in windows.items()}
    assert kinds == {"acks1-leader-kill": {"partition", "kill"}, "storm": KINDS}
    assert all(window["proven"] and window["recovered"] for of in windows.values() for window in of)


def test_check_comes_to_the_same_verdict_again(runs: dict[str, Path]) -> None:
    run = runs["acks1-leader-kill"]
    before = verdict(run)
    assert highwater("check", str(run), within_s=CHECK_S) == (0, before)
    assert verdict(run) == before


def test_a_run_keeps_the_log_and_the_settings_of_each_node(runs: dict[str, Path]) -> None:
    for node in (1, 2, 3, 101, 102, 103):
        folder = runs["acks1-leader-kill"] / "nodes" / str(node)
        assert "node.id" in (folder / "server.properties").read_text()
        assert (folder / "server.log").stat().st_size > 0


def test_a_storm_against_acks_all_loses_nothing(runs: dict[str, Path]) -> None:
    holds_whatever_was_acknowledged(verdict(runs["storm"]))

"""Three shipped scenarios on real clusters, as a user runs them: what each shows, and that every damage to a
copy of its run is noticed.

What the first one shows in detail is in tests/cluster.
"""

from pathlib import Path

import pytest
from fakes.run.highwater_process import highwater, holds_whatever_was_acknowledged, verdict

SCENARIOS = ("acks1-leader-kill", "storm", "power-failure-all")
SEED = "7"
"""One storm, the same in each run of the tests: what a seed draws is the business of longer campaigns."""
SUITE_S, SELFTEST_S = 580.0, 300.0


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The run directory of each scenario, all run by one command, with the verdict PASS."""
    out = tmp_path_factory.mktemp("runs")
    code, verdicts = highwater("run", *SCENARIOS, "--seed", SEED, "--out", str(out), within_s=SUITE_S)
    assert (code, [judged["verdict"] for judged in verdicts]) == (0, ["PASS"] * len(SCENARIOS))
    folders = sorted(path for path in out.iterdir() if not path.is_symlink())
    assert [verdict(folder) for folder in folders] == verdicts
    return dict(zip(SCENARIOS, folders, strict=True))


def test_every_fault_has_evidence_of_its_effect_and_recovery(runs: dict[str, Path]) -> None:
    windows = {name: verdict(run)["exposure"]["fault_windows"] for name, run in runs.items()}
    kinds = {name: {window["kind"] for window in of} for name, of in windows.items()}
    assert kinds["acks1-leader-kill"] == {"partition", "kill"}
    assert kinds["power-failure-all"] == {"power-loss"}
    assert len(kinds["storm"]) >= 4
    assert all(window["proven"] and window["recovered"] for of in windows.values() for window in of)


def test_the_whole_storm_against_acks_all_loses_nothing(runs: dict[str, Path]) -> None:
    holds_whatever_was_acknowledged(verdict(runs["storm"]))


def test_a_power_failure_of_all_brokers_loses_what_was_acknowledged_and_that_is_permitted(
    runs: dict[str, Path],
) -> None:
    power = verdict(runs["power-failure-all"])
    loss = power["properties"]["acked-loss"]
    assert loss["permitted"] >= 1000
    assert loss["violations"] == 0
    assert "unclean shutdowns" in power["findings"][0]["clause"]
    assert any(line.endswith("unsynced data lost on 1, 2, 3") for line in power["findings"][0]["evidence"])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_damage_to_a_copy_of_a_run_is_noticed(runs: dict[str, Path], scenario: str) -> None:
    code, table = highwater("selftest", str(runs[scenario]), within_s=SELFTEST_S)
    assert (code, table["survivors"]) == (0, [])
    assert sum(mutant["killed"] for mutant in table["mutants"]) >= 100

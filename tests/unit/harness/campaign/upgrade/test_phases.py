"""The phases of an upgrade: each is a scenario that can be run, with faults between the restarts."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.run.rehearsal import case_of, rehearsed
from fakes.run.rehearsed_evidence import missed

from checkers.model import Kill, simulate
from faults.kinds.admin.features.finalize import FinalizeStep
from faults.kinds.admin.features.refused_downgrade import RefusedDowngradeStep
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from harness.campaign.upgrade.pair import pair_of
from harness.campaign.upgrade.phases import NAMES, left_out, phases_of, rolled
from harness.errors import UsageError
from harness.scenario.resolve import Resolved, resolve, scenario_text

PAIRS = [("3.9.1", "4.3.1"), ("4.0.0", "4.3.1"), ("3.6.1", "3.9.2")]


def resolved_phases(older: str, newer: str) -> dict[str, Resolved]:
    phases = phases_of(pair_of(older, newer))
    return {each.name: resolve(scenario_text(each.scenario), "phase.yaml", seed=1) for each in phases}


def releases(resolved: Resolved) -> list[tuple[str, str]]:
    """Which nodes are brought to which release, in order."""
    rolls = (step for step in resolved.steps if isinstance(step, RollingUpgradeStep))
    return [(str(step.target), step.release) for step in rolls]


@pytest.mark.parametrize(("older", "newer"), PAIRS)
def test_every_phase_is_a_scenario_that_can_be_run(older: str, newer: str) -> None:
    phases = resolved_phases(older, newer)
    assert tuple(phases) == NAMES
    for resolved in phases.values():
        assert resolved.topology.format_release == older
        assert resolved.topology.every_release == (older, newer)
        assert resolved.scenario.expect.acked_loss == "none"


def test_up_takes_the_controllers_first_and_finalizes_last() -> None:
    up = resolved_phases("4.0.0", "4.3.1")["up"]
    order = [("controllers", "4.3.1"), *((f"node {node}", "4.3.1") for node in (1, 2, 3))]
    assert releases(up) == order
    kinds = [step.kind for step in up.steps]
    assert kinds.index(FinalizeStep.kind) > max(
        place for place, kind in enumerate(kinds) if kind == RollingUpgradeStep.kind
    )
    assert "metadata.versions >= 2" in up.scenario.require


def test_down_goes_up_and_back_and_finalizes_nothing() -> None:
    down = resolved_phases("4.0.0", "4.3.1")["down"]
    up = [("controllers", "4.3.1"), *((f"node {node}", "4.3.1") for node in (1, 2, 3))]
    back = [*((f"node {node}", "4.0.0") for node in (1, 2, 3)), ("controllers", "4.0.0")]
    assert releases(down) == [*up, *back]
    assert FinalizeStep.kind not in [step.kind for step in down.steps]
    assert "metadata.versions < 2" in down.scenario.require


def test_the_way_back_is_asked_for_after_everything_was_finalized() -> None:
    refused = resolved_phases("4.0.0", "4.3.1")["refused"]
    kinds = [step.kind for step in refused.steps]
    assert kinds.index(FinalizeStep.kind) < kinds.index(RefusedDowngradeStep.kind)


def test_two_faults_are_between_the_restarts_of_each_roll() -> None:
    phases = resolved_phases("4.0.0", "4.3.1")
    kinds = {name: [step.kind for step in resolved.steps] for name, resolved in phases.items()}
    assert kinds["up"][2:7] == ["rolling-upgrade", "kill", "rolling-upgrade", "partition", "rolling-upgrade"]
    assert kinds["down"][6:11] == kinds["down"][1:6] == kinds["up"][2:7]
    assert {"kill", "partition"} <= set(kinds["refused"])


def test_each_kill_must_fence_its_broker() -> None:
    phases = resolved_phases("4.0.0", "4.3.1")
    for name, kills in (("up", 3), ("down", 2), ("refused", 1)):
        require = phases[name].scenario.require
        assert f"brokers.fenced >= {kills}" in require
        assert not any(line.startswith("elections") for line in require)


@pytest.mark.parametrize("name", ["up", "down"])
def test_without_its_kills_a_phase_lacks_its_evidence(name: str, tmp_path: Path) -> None:
    """On the simulated Kafka, whose rolls elect as often."""
    (phase,) = phases_of(pair_of("4.0.0", "4.3.1"), [name])
    resolved = resolve(scenario_text(rolled(phase, 6).scenario), "phase.yaml", seed=1)
    assert missed(resolved.scenario.require, rehearsed(resolved, seed=1), tmp_path / "whole") == []
    case = case_of(resolved, seed=1)
    schedule = tuple(action for action in case.schedule if not isinstance(action, Kill))
    without = simulate(replace(case, schedule=schedule))
    (fenced,) = (line for line in resolved.scenario.require if line.startswith("brokers.fenced"))
    assert missed([fenced], without, tmp_path / "without") == [f"{fenced}: 0.0"]
    assert missed(["elections.max >= 1"], without, tmp_path / "elections") == []


def test_a_pair_that_kafka_lets_go_back_has_no_refusal_and_says_why() -> None:
    pair = pair_of("4.0.0", "4.2.0")
    assert [each.name for each in phases_of(pair)] == ["up", "down"]
    assert left_out(pair).startswith("refused is left out: Kafka takes metadata.version back from 29 to 25")
    with pytest.raises(UsageError, match=r"upgrade: refused: Kafka takes metadata\.version back"):
        phases_of(pair, ["refused"])


def test_patches_have_nothing_to_finalize() -> None:
    pair = pair_of("4.3.0", "4.3.1")
    (up, down) = phases_of(pair)
    steps = resolve(scenario_text(up.scenario), "phase.yaml", seed=1).steps
    assert FinalizeStep.kind not in [step.kind for step in steps]
    assert "metadata.versions < 2" in up.scenario.require
    assert down.name == "down"
    assert left_out(pair) == (
        "refused is left out: 4.3.0 and 4.3.1 have the same metadata.version, and nothing to finalize"
    )


def test_only_some_phases_are_made_in_their_order() -> None:
    pair = pair_of("4.0.0", "4.3.1")
    assert [each.name for each in phases_of(pair, ["refused", "up"])] == ["up", "refused"]
    with pytest.raises(UsageError, match="upgrade: unknown phase 'sideways'; allowed: up, down, refused"):
        phases_of(pair, ["sideways"])

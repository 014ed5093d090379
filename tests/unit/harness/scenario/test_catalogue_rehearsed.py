"""The shipped scenarios on the simulated Kafka: each keeps or loses what it says, and holds its evidence.

The model knows the truth of every record, and nothing of metrics, contract or verdict. What it shows is that
the schedules lead where they should if Kafka does as its protocol says, not what a real cluster does.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from fakes.run.rehearsal import case_of, rehearsed
from fakes.run.rehearsed_evidence import CONTROLLERS, metrics, missed

from checkers.contract.realised.timeline import Timeline
from checkers.history.load import load_context
from checkers.model import Action, Case, CleanStop, Kill, Partition, simulate
from checkers.verdict.exposure.exposure import measure
from checkers.verdict.metrics.metric import METRICS
from harness.scenario.resolve import SHIPPED, Resolved, find, resolve, shipped

SEED = 1
STORM = "storm"
"""Its faults are drawn, and are another schedule with each seed."""
WITH_TRANSACTIONS = {path.stem for path in SHIPPED.glob("transactions/*.yaml")}
"""The model has none: what they show, the rules' own tests and runs on a real cluster show."""
OTHERWISE = {"elr-switched-off", "min-isr-lowered", "min-isr-lowered-without-leader", "starved-leader"}
"""Settings that change while they run, and a broker short of processors: the model has neither."""
REHEARSED = sorted(set(shipped()) - {STORM, *WITH_TRANSACTIONS, *OTHERWISE})
SOME_ERROR = "errors.NOT_ENOUGH_REPLICAS"
ALSO_WITHOUT_FAULTS = {"baseline"}
"""Its evidence is that acknowledgements go on."""


@cache
def shipped_scenario(name: str) -> Resolved:
    return resolve(*find(name), seed=1)


def lines_of(resolved: Resolved) -> list[str]:
    """What it requires and accepts."""
    return [*resolved.scenario.require, *resolved.scenario.accept]


def test_those_are_not_rehearsed_of_which_the_model_knows_too_little() -> None:
    having = {name for name in shipped() if shipped_scenario(name).scenario.workload.transactions is not None}
    assert having == WITH_TRANSACTIONS
    assert set(shipped()) - set(REHEARSED) == {STORM, *having, *OTHERWISE}
    for name in OTHERWISE:
        assert {step.kind for step in shipped_scenario(name).steps} & {"config", "feature", "cpu-limit"}


def test_every_metric_of_the_rows_in_memory_is_that_of_their_files(tmp_path: Path) -> None:
    simulated, names = rehearsed(shipped_scenario("clock-behind"), SEED), [*METRICS, SOME_ERROR]
    its = metrics(simulated, tmp_path, names)
    context = load_context(its.history)
    files = replace(
        its,
        context=context,
        timeline=Timeline(context, its.timeline.clock),
        exposure=measure(its.history, context, its.load_ended_ns, CONTROLLERS),
    )
    assert files.exposure == its.exposure
    assert {name: files.measured(name) for name in names} == {name: its.measured(name) for name in names}


@pytest.mark.parametrize("name", sorted(set(REHEARSED) - ALSO_WITHOUT_FAULTS))
def test_without_its_faults_a_scenario_lacks_its_evidence(name: str, tmp_path: Path) -> None:
    resolved = shipped_scenario(name)
    settings = replace(case_of(resolved, SEED).settings, records=60, load_s=5.0)
    found = missed(lines_of(resolved), simulate(Case(seed=SEED, settings=settings)), tmp_path)
    assert {line.split(": ")[0] for line in found} & {*resolved.scenario.require}


@pytest.mark.parametrize("name", REHEARSED)
def test_a_scenario_holds_its_evidence_and_loses_what_it_expects(name: str, tmp_path: Path) -> None:
    resolved = shipped_scenario(name)
    simulated = rehearsed(resolved, SEED)
    assert missed(lines_of(resolved), simulated, tmp_path) == []
    lost = simulated.truth.lost
    match resolved.scenario.expect.acked_loss:
        case "none":
            assert lost == ()
        case "permitted":
            assert lost
            assert all(one.permitted for one in lost)
        case "any":
            assert all(one.permitted for one in lost)


@pytest.mark.parametrize(
    ("name", "without", "lacking"),
    [
        ("acks1-leader-kill", Partition, "unreplicated.at-election >= 50"),
        ("acks-all-leader-kill", Kill, "elections.max >= 1"),
        ("last-leader-disk-loss-unclean", CleanStop, "alone.committed >= 100"),
        ("zombie-leader-acks-all", Partition, "indeterminate.ratio > 0"),
        ("rolling-restart-impatient", CleanStop, "unavailable.max >= 3s"),
    ],
)
def test_without_the_faults_of_one_kind_what_they_lead_to_is_lacking(
    name: str, without: type[Action], lacking: str, tmp_path: Path
) -> None:
    resolved = shipped_scenario(name)
    case = case_of(resolved, SEED)
    schedule = tuple(action for action in case.schedule if not isinstance(action, without))
    found = missed(lines_of(resolved), simulate(replace(case, schedule=schedule)), tmp_path)
    assert lacking in [line.split(": ")[0] for line in found]


@pytest.mark.parametrize(
    ("name", "sets", "without", "lacking"),
    [
        ("unclean-election", ["require=[reads.lost >= 1]"], Partition, "reads.lost >= 1: 0.0"),
        (
            "isr-below-min",
            ["workload.tail=10s", "require=[]", "accept=[resumed.max <= 8s]"],
            Kill,
            "resumed.max <= 8s: None",
        ),
    ],
)
def test_what_readers_lose_and_what_follows_the_last_fault_can_be_rehearsed(
    name: str, sets: list[str], without: type[Action], lacking: str, tmp_path: Path
) -> None:
    resolved = resolve(*find(name), seed=1, sets=sets)
    assert missed(lines_of(resolved), rehearsed(resolved, SEED), tmp_path / "with") == []
    case = case_of(resolved, SEED)
    schedule = tuple(action for action in case.schedule if not isinstance(action, without))
    found = missed(lines_of(resolved), simulate(replace(case, schedule=schedule)), tmp_path / "without")
    assert found == [lacking]


def test_with_time_enough_a_zombie_leaves_nothing_undecided(tmp_path: Path) -> None:
    """A delivery time-out longer than the partition: each record is acknowledged in the end."""
    name = "zombie-leader-acks-all"
    patient = resolve(*find(name), seed=1, sets=["workload.delivery_timeout=60s"])
    assert missed(lines_of(patient), rehearsed(patient, SEED), tmp_path) == ["indeterminate.ratio > 0: 0.0"]

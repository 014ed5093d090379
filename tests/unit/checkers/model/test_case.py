from dataclasses import replace

import pytest

from checkers.model import (
    Bug,
    Case,
    ClockSkew,
    DiskFull,
    DiskWipe,
    Kill,
    ModelSettings,
    Partition,
    PowerLoss,
    PreferredElection,
    Reassign,
    draw_case,
    simulate,
)


def test_a_case_is_printed_and_read_back():
    case = Case(
        seed=7,
        settings=ModelSettings(partitions=2, elr=False),
        schedule=(
            Partition(at_s=3.0, hold_s=2.0, edges=("1->2", "client->3"), refuse=True),
            PowerLoss(at_s=4.0, hold_s=1.0, nodes=(1, 2)),
            Partition(at_s=6.0, hold_s=2.0, edges=("1->2",), directions=("to",)),
            DiskWipe(at_s=7.0, hold_s=1.0, nodes=(3,)),
            DiskFull(at_s=8.0, hold_s=1.0, nodes=(1,)),
            Reassign(at_s=9.0, hold_s=1.0, count=2),
            Reassign(at_s=9.5, hold_s=1.0),
            PreferredElection(at_s=10.0, hold_s=1.0),
        ),
        bugs=frozenset({Bug.HOLE_IN_LOG}),
    )
    assert Case.from_json(case.to_json()) == case


@pytest.mark.parametrize("seed", range(5))
def test_a_drawn_case_is_printed_and_read_back(seed):
    case = draw_case(seed)
    assert Case.from_json(case.to_json()) == case


@pytest.mark.parametrize("seed", range(4))
def test_equal_cases_give_equal_runs(seed):
    first, second = simulate(draw_case(seed)), simulate(draw_case(seed))
    assert first == second


def test_another_seed_gives_another_run():
    case = draw_case(1)
    assert simulate(case).history.sends != simulate(replace(case, seed=2)).history.sends


@pytest.mark.parametrize("seed", range(100, 112))
def test_a_case_without_any_one_of_its_actions_is_a_case(seed):
    case = draw_case(seed)
    for at in range(len(case.schedule)):
        shorter = replace(case, schedule=case.schedule[:at] + case.schedule[at + 1 :])
        simulated = simulate(shorter)
        assert len(simulated.history.faults) <= len(shorter.schedule)
        assert simulated.truth.wrong == ()


def test_an_unknown_action_is_an_error():
    text = Case(seed=1, schedule=(Kill(at_s=1.0, hold_s=1.0, nodes=(1,)),)).to_json()
    with pytest.raises(KeyError):
        Case.from_json(text.replace("Kill", "Blow"))


def test_a_clock_is_printed_and_read_back():
    skew = ClockSkew(at_s=4.0, hold_s=1.0, nodes=(1, 103), ahead_s=-3600.0)
    case = Case(seed=7, settings=ModelSettings(retention_s=86_400.0), schedule=(skew,))
    assert Case.from_json(case.to_json()) == case

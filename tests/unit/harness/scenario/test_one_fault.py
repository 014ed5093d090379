"""There is a run with each kind of fault alone, and each is one that the harness takes."""

import pytest
from fakes.run.one_fault import HOLD_NOTHING, ONE_FAULTS

from faults.kinds.registry import KINDS
from harness.scenario.resolve import resolve


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_a_run_of_its_own_or_holds_nothing(kind: str) -> None:
    """A kind that is new has to be tried under kill -9 too (tests/long/test_run_killed_in_each_fault.py)."""
    assert (kind in ONE_FAULTS) != (kind in HOLD_NOTHING)


def test_no_run_is_of_a_kind_that_there_is_not() -> None:
    assert {*ONE_FAULTS, *HOLD_NOTHING} <= set(KINDS)


@pytest.mark.parametrize("kind", ONE_FAULTS)
def test_its_only_step_is_that_fault(kind: str) -> None:
    (step,) = resolve(ONE_FAULTS[kind].scenario(kind), "one-fault.yaml", seed=7).steps
    assert (step.kind, step.hold_s) == (kind, 180.0)

"""How long each partition waited for an acknowledgement after the last fault had recovered."""

from dataclasses import replace

import numpy as np
import pytest

from checkers.history.rows import Fault, TopicPartition
from checkers.history.tables import NONE
from checkers.verdict.exposure.gaps import Gap
from checkers.verdict.exposure.resumption import (
    LastRecovery,
    Resumption,
    first_open_ns,
    last_recovery,
    resumption,
)

A, B, C = (TopicPartition("orders", number) for number in range(3))
KILL = Fault(index=0, name="kill", kind="kill", inject_ns=10, heal_ns=20, recovered_ns=30)
CUT = replace(KILL, index=1, name="cut", kind="partition", inject_ns=12, recovered_ns=25)


def times(*at_ns: int):
    return np.array(at_ns, np.int64)


def resumed(opened_ns, acks, load_ended_ns=100):
    return resumption(LastRecovery(at_ns=30), opened_ns, acks, load_ended_ns)


def test_the_last_recovery_is_the_greatest_of_all_faults() -> None:
    assert last_recovery([KILL, CUT]) == LastRecovery(at_ns=30)


@pytest.mark.parametrize("lasting", [{"recovered_ns": NONE}, {"recovered_ns": 90, "recovered": False}])
def test_a_fault_that_has_not_recovered_leaves_the_last_recovery_unknown(lasting: dict[str, int]) -> None:
    """One that was given up has the time when it was."""
    assert last_recovery([KILL, replace(CUT, **lasting)]) == LastRecovery(
        unknown="fault cut has not recovered"
    )


def test_without_a_fault_there_is_nothing_to_recover_from() -> None:
    never = replace(CUT, inject_ns=NONE, recovered_ns=NONE, proven=False, recovered=False)
    assert last_recovery([]) == LastRecovery(unknown="no fault was injected")
    assert last_recovery([never]) == LastRecovery(unknown="no fault was injected")
    assert last_recovery([KILL, never]) == LastRecovery(at_ns=30)


@pytest.mark.parametrize(
    ("sends", "opened_ns"),
    [
        ([(5, 6), (31, 40), (33, 34)], 31),
        ([(5, 6), (28, 31), (33, 34)], 28),
        ([(5, NONE), (33, 34)], 5),
        ([(5, 6), (28, 30)], NONE),
        ([], NONE),
    ],
    ids=["made later", "answered later", "never answered", "answered by then", "no send"],
)
def test_a_send_is_open_if_it_is_not_answered_yet(sends: list[tuple[int, int]], opened_ns: int) -> None:
    """Each send with the times of its call and of its answer; the last recovery is at 30."""
    invoked_ns, completed_ns = times(*(at for at, _ in sends)), times(*(at for _, at in sends))
    assert first_open_ns(invoked_ns, completed_ns, 30) == opened_ns
    assert first_open_ns(invoked_ns, completed_ns, NONE) == NONE


def test_the_time_is_from_the_recovery_or_the_first_send_to_the_next_acknowledgement() -> None:
    """A send of A was pending at the recovery; B got one at 50, and acknowledged one before it."""
    found = resumed({A: 8, B: 50}, {A: times(7, 45, 60), B: times(9, 30, 55)})
    assert found == Resumption(gaps=(Gap(tp=A, from_ns=30, to_ns=45), Gap(tp=B, from_ns=50, to_ns=55)))


def test_a_partition_that_acknowledges_nothing_any_more_waits_until_the_load_ends() -> None:
    found = resumed({A: 31, B: 40}, {A: times(7, 33), B: times(9)})
    assert found.gaps == (Gap(tp=B, from_ns=40, to_ns=100), Gap(tp=A, from_ns=31, to_ns=33))


def test_a_partition_to_which_nothing_was_sent_any_more_shows_nothing() -> None:
    acks = {A: times(7, 33), B: times(9), C: times()}
    assert resumed({A: 31, B: NONE, C: NONE}, acks).gaps == (Gap(tp=A, from_ns=31, to_ns=33),)
    nothing = Resumption(unknown="nothing was sent after the last fault")
    assert resumed({A: NONE, B: NONE, C: NONE}, acks) == nothing


def test_without_the_last_recovery_or_the_end_of_a_wait_nothing_is_known() -> None:
    acks = {A: times(7, 33), B: times(9)}
    unknown = LastRecovery(unknown="no fault was injected")
    assert resumption(unknown, {A: NONE, B: NONE}, acks, 100) == Resumption(unknown="no fault was injected")
    assert resumed({A: 31, B: NONE}, acks, NONE).gaps == (Gap(tp=A, from_ns=31, to_ns=33),)
    assert resumed({A: 31, B: 40}, acks, NONE) == Resumption(unknown="when the load ended is not known")

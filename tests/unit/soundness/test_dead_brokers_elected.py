"""A broker that is elected before the controllers have missed it: it is dead, and not in sync again.

Until its session is over they take it for alive. A partition whose leader has gone as well gets it from the
ELR, and loses it some seconds later; what it had lost with its power or disk is as lost as before.
"""

import pytest

from checkers.model import (
    Action,
    Case,
    DiskWipe,
    ModelSettings,
    Partition,
    PowerLoss,
    ProducerSettings,
    Simulated,
    simulate,
)
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.many_runs import judge_case

SEEDS = range(6)
ALL = ProducerSettings(acks="all", idempotence=True, max_in_flight=1)
SETTINGS = ModelSettings(min_isr=2, elr=True, producers=(ALL, ALL), records=120, load_s=22.0, first_leader=2)
ALONE = Partition(at_s=3.5, hold_s=8.0, edges=("1->2", "3->2"), refuse=True)
ONE_BY_ONE = (
    DiskWipe(at_s=9.6, hold_s=2.1, nodes=(1,)),
    PowerLoss(at_s=10.4, hold_s=3.5, nodes=(2,)),
    DiskWipe(at_s=12.0, hold_s=5.3, nodes=(3,)),
)
SCHEDULES = {
    "power of all": (ALONE, PowerLoss(at_s=9.5, hold_s=5.9, nodes=(1, 2, 3))),
    "one by one": (ALONE, *ONE_BY_ONE),
}


def elected_dead(simulated: Simulated) -> bool:
    """Whether somebody was elected who registered anew later, without having led."""
    back_ms = {row.node: row.at_ms for row in simulated.history.brokers if row.registered}
    return any(
        row.leader != -1 and row.leader_epoch > 0 and row.at_ms < back_ms[row.leader]
        for row in simulated.history.metadata
    )


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_what_it_has_lost_counts_until_it_is_back(schedule: tuple[Action, ...]) -> None:
    seen = 0
    for seed in SEEDS:
        case = Case(seed=seed, settings=SETTINGS, schedule=schedule)
        judged, found, _ = judge_case(case)
        assert (seed, found) == (seed, ())
        assert judged.decision.verdict in (Verdict.PASS, Verdict.UNKNOWN)
        simulated = simulate(case)
        seen += elected_dead(simulated) and bool(simulated.truth.lost)
    assert seen

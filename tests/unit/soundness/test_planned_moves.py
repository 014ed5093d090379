"""Leaders that move as planned, to and fro, while brokers hear late of it or are cut off.

A leader that is cut off may be given back what it led before, having followed nobody meanwhile: then the
election between has not cut its log, and what nobody else has is gone by the next one only.
"""

import pytest

from checkers.model import (
    Case,
    CleanStop,
    Kill,
    ModelSettings,
    Partition,
    PowerLoss,
    PreferredElection,
    ProducerSettings,
    Reassign,
    simulate,
)
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import disagreements
from spark_verify.selftest.model_fuzz.many_runs import judge_case
from spark_verify.selftest.model_fuzz.verdict_of import verdict_of

ONE = ProducerSettings(acks="1", idempotence=False, max_in_flight=5, retries=False)
SEEDS = range(52_000_000_200, 52_000_000_230)
CUT_OFF = Partition(
    at_s=4.8,
    hold_s=5.7,
    edges=("2->101", "2->102", "2->103", "1->2", "3->2", "2->1", "2->3"),
    refuse=True,
)
MOVES = (
    Reassign(at_s=3.7, hold_s=3.4),
    PreferredElection(at_s=5.4, hold_s=1.0),
    PreferredElection(at_s=7.9, hold_s=1.0),
)


@pytest.mark.parametrize("late_s", [0.0, 0.7], ids=["in time", "late"])
def test_what_a_leader_had_acknowledged_that_moved_to_and_fro_is_gone_by_the_right_election(
    late_s: float,
) -> None:
    settings = ModelSettings(
        partitions=3, min_isr=2, producers=(ONE, ONE), records=79, load_s=15.5, metadata_late_s=late_s
    )
    permitted = 0
    for seed in SEEDS:
        judged, found, _ = judge_case(Case(seed=seed, settings=settings, schedule=(CUT_OFF, *MOVES)))
        assert (seed, found) == (seed, ())
        # Which of two leaders acknowledged it is not always known: then it is undecided.
        assert judged.decision.verdict in (Verdict.PASS, Verdict.UNKNOWN)
        its_own = judged.decision.verdict is Verdict.PASS
        permitted += its_own and any(label.kind == "permitted" for label in judged.labels)
    assert permitted > len(SEEDS) / 2


IN_TURN = ProducerSettings(acks="1", idempotence=False, max_in_flight=1)
TAKEN_AWAY = Case(
    seed=77500592,
    settings=ModelSettings(
        min_isr=2,
        producers=(IN_TURN, IN_TURN),
        readers=0,
        records=60,
        load_s=26.907415962190846,
        first_leader=1,
    ),
    schedule=(
        CleanStop(at_s=4.543350574567997, hold_s=6.0, nodes=(1,)),
        PowerLoss(at_s=7.043, hold_s=2.0, nodes=(2,)),
        Kill(at_s=11.043, hold_s=10.0, nodes=(2,)),
        PowerLoss(at_s=16.543, hold_s=6.0, nodes=(1, 3)),
        Partition(at_s=18.543, hold_s=5.364415962190849, edges=("3->2",)),
        Reassign(at_s=6.021224899952293, hold_s=5.484078413429513, count=2),
    ),
)
"""Brokers 2 and 3 are in sync, 1 is stopped; the partition is given to 1 and 2, and 2 loses its power."""


def test_who_is_left_by_a_reassignment_may_lose_it_alone() -> None:
    run = simulate(TAKEN_AWAY)
    judged = verdict_of(run.history, asked_of(run))
    assert {(each.cause, each.permitted) for each in run.truth.lost} == {
        ("replica removed by a reassignment", True),
        ("acks=1 unreplicated tail", True),
    }
    assert disagreements(run, judged) == ()
    assert judged.decision.verdict is Verdict.PASS


GIVEN_BACK = Case(
    seed=92600247,
    settings=ModelSettings(
        min_isr=2,
        unclean_election=True,
        producers=(IN_TURN, IN_TURN),
        records=60,
        load_s=25.461344391972844,
        first_leader=1,
    ),
    schedule=(
        CleanStop(at_s=4.8094030386281466, hold_s=2.0, nodes=(2,)),
        CleanStop(at_s=4.909, hold_s=10.0, nodes=(1,)),
        CleanStop(at_s=10.409, hold_s=10.0, nodes=(2,)),
        Partition(at_s=10.509, hold_s=11.952344391972844, edges=("3->1",)),
        Partition(at_s=11.509, hold_s=7.835720307291934, edges=("1->3",)),
        Reassign(at_s=6.811307234824996, hold_s=6.133571424902891, count=2),
    ),
)
"""Broker 3 leads, and is no replica any more; it is given an empty one, and elected uncleanly at once."""


def test_a_leader_whose_replica_was_taken_away_has_nothing_of_its_tail() -> None:
    run = simulate(GIVEN_BACK)
    judged = verdict_of(run.history, asked_of(run))
    assert {each.cause for each in run.truth.lost} == {"acks=1 unreplicated tail", "unclean election"}
    assert disagreements(run, judged) == ()
    assert judged.decision.verdict is Verdict.PASS

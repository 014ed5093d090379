"""Leaders that go on for some moments in an epoch that is over, with all who have not heard of it either.

Every broker stands still for longer than a session, or the leader does: the controllers elect others, and the
old one appends, and may commit, before it learns of that. A correct Kafka does all this; nothing is wrong.
"""

import pytest

from checkers.model import (
    Case,
    CleanStop,
    Kill,
    ModelSettings,
    Partition,
    Pause,
    PowerLoss,
    ProducerSettings,
    Reassign,
    simulate,
)
from checkers.properties import Property
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import disagreements
from spark_verify.selftest.model_fuzz.verdict_of import verdict_of

ALL = ProducerSettings(acks="all", idempotence=True, max_in_flight=1)
ONE = ProducerSettings(acks="1", idempotence=False, max_in_flight=1)
BROUGHT_BACK = Case(
    seed=78000797,
    settings=ModelSettings(
        min_isr=2,
        elr=False,
        unclean_election=True,
        producers=(ALL, ALL),
        readers=0,
        records=60,
        load_s=20.0,
        first_leader=1,
    ),
    schedule=(
        Pause(at_s=3.9573848805277314, hold_s=10.0, nodes=(1,)),
        CleanStop(at_s=7.957, hold_s=0.7, nodes=(3,)),
        PowerLoss(at_s=12.457, hold_s=6.0, nodes=(2, 3)),
        Partition(at_s=15.057, hold_s=6.462111672216475, edges=("2->3",)),
        Partition(at_s=16.657, hold_s=5.717465955539406, edges=("1->2",)),
    ),
)
"""Leader 1 has first attempts in its tail, leader 2 acknowledges the next ones; an unclean election of leader
1 brings that tail back."""


ALL_STAND_STILL = Case(
    seed=77800297,
    settings=ModelSettings(min_isr=2, producers=(ALL, ALL), records=150, load_s=24.0, first_leader=1),
    schedule=(
        Pause(at_s=4.0, hold_s=6.327705802936625, nodes=(1, 2, 3)),
        PowerLoss(at_s=10.4138957976899, hold_s=1.3173259237957025, nodes=(1, 3)),
    ),
)
"""Broker 3 is in sync, by the controllers, and 1 eligible; 1 commits with 3 in its old epoch. Both lose
their power."""
NOBODY_IN_SYNC = Case(
    seed=77800748,
    settings=ModelSettings(min_isr=1, producers=(ONE, ONE), records=150, load_s=24.0, first_leader=1),
    schedule=(
        Pause(at_s=4.0, hold_s=6.079572773793206, nodes=(1, 2, 3)),
        PowerLoss(at_s=10.206685476090305, hold_s=0.8978062940117021, nodes=(2, 3)),
        Kill(at_s=10.480133502174304, hold_s=3.20788782443889, nodes=(1,)),
    ),
)
"""Nobody is in sync, by the controllers, when leader 1 commits in its old epoch: with brokers 2 and 3."""


ELECTED_AGAIN = Case(
    seed=77500423,
    settings=ModelSettings(
        min_isr=2, elr=False, producers=(ONE, ONE), readers=0, records=60, load_s=20.0, first_leader=1
    ),
    schedule=(
        Pause(at_s=4.066604036775836, hold_s=6.0, nodes=(1, 2, 3)),
        Partition(at_s=4.567, hold_s=11.787430345721937, edges=("2->1",)),
        Reassign(at_s=4.623209681787541, hold_s=4.02816796383736, count=2),
    ),
)
"""Leader 1 stands still while a reassignment gives it a new epoch, and then broker 2 is elected; 1 goes on
in its first epoch."""


@pytest.mark.parametrize("case", [ALL_STAND_STILL, NOBODY_IN_SYNC], ids=["all stand still", "nobody in sync"])
def test_who_was_in_sync_for_a_leader_that_did_not_know_that_its_epoch_was_over_counts(case: Case) -> None:
    run = simulate(case)
    judged = verdict_of(run.history, asked_of(run))
    assert run.truth.lost
    assert [each for each in run.truth.lost if not each.permitted] == []
    assert disagreements(run, judged) == ()
    assert judged.decision.verdict in (Verdict.PASS, Verdict.UNKNOWN)


def test_an_earlier_attempt_that_an_unclean_election_brings_back_is_no_violation() -> None:
    run = simulate(BROUGHT_BACK)
    judged = verdict_of(run.history, asked_of(run))
    moved = [
        label.kind
        for anomaly, label in zip(judged.judgement.anomalies, judged.labels, strict=True)
        if anomaly.property is Property.ACK_OFFSET
    ]
    assert run.truth.wrong == ()
    assert len(moved) == 4
    assert "violation" not in moved
    assert disagreements(run, judged) == ()
    assert judged.decision.verdict in (Verdict.PASS, Verdict.UNKNOWN)


def test_a_deposed_leader_may_go_on_in_an_epoch_before_its_last_one() -> None:
    run = simulate(ELECTED_AGAIN)
    judged = verdict_of(run.history, asked_of(run))
    assert {each.cause for each in run.truth.lost} == {"deposed leader"}
    assert disagreements(run, judged) == ()
    assert judged.decision.verdict in (Verdict.PASS, Verdict.UNKNOWN)

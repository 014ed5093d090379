"""Log directories that fail on a simulated Kafka: the verdict on every record is its true fate."""

from dataclasses import replace

import pytest

from checkers.model import (
    Action,
    Case,
    CleanStop,
    Kill,
    LogDirFailure,
    ModelSettings,
    Partition,
    PowerLoss,
    ProducerSettings,
)
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.many_runs import judge_case

SEEDS = range(2)
ALL = ProducerSettings(acks="all", idempotence=True)
ONE = ProducerSettings(acks="1", idempotence=False)
TWO_IN_SYNC = ModelSettings(partitions=6, producers=(ALL, ONE), records=200, load_s=16.0, log_dirs=2)
SETTINGS = {
    "min.isr 2": TWO_IN_SYNC,
    "min.isr 2 without ELR": replace(TWO_IN_SYNC, elr=False),
    "min.isr 1": replace(TWO_IN_SYNC, min_isr=1),
    "unclean": replace(TWO_IN_SYNC, min_isr=1, elr=False, unclean_election=True),
}
FAILURE = LogDirFailure(at_s=5.0, hold_s=4.0, nodes=(1,))
ALONE = Partition(at_s=4.0, hold_s=10.0, edges=("2->1", "3->1"))
SCHEDULES = {
    "one": (FAILURE,),
    "all": (replace(FAILURE, nodes=(1, 2, 3)),),
    "one after another": (FAILURE, replace(FAILURE, at_s=10.0, nodes=(2,))),
    "of the last in sync": (ALONE, replace(FAILURE, at_s=10.5)),
    "beside a kill": (replace(FAILURE, hold_s=8.0), Kill(at_s=7.0, hold_s=4.0, nodes=(2,))),
    "beside a stop": (replace(FAILURE, hold_s=8.0), CleanStop(at_s=7.0, hold_s=4.0, nodes=(2,))),
    "beside a loss of power": (replace(FAILURE, hold_s=8.0), PowerLoss(at_s=6.0, hold_s=4.0, nodes=(2, 3))),
    "of a broker cut off": (
        Partition(at_s=4.0, hold_s=8.0, edges=("1->101", "1->102", "1->103")),
        replace(FAILURE, at_s=6.0, hold_s=3.0),
    ),
}


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_verdict_is_the_truth(settings: ModelSettings, schedule: tuple[Action, ...]) -> None:
    for seed in SEEDS:
        judged, found, _ = judge_case(Case(seed=seed, settings=settings, schedule=schedule))
        assert (seed, found) == (seed, ())
        assert judged.decision.verdict in (Verdict.PASS, Verdict.UNKNOWN)


def test_a_failure_that_the_configuration_survives_passes() -> None:
    """With acks=all and two in-sync replicas nothing is lost, and all is decided."""
    settings = replace(TWO_IN_SYNC, producers=(ALL, ALL))
    for seed in SEEDS:
        judged, _, _ = judge_case(Case(seed=seed, settings=settings, schedule=(FAILURE,)))
        assert judged.decision.verdict is Verdict.PASS

"""Wrong clocks on the simulated Kafka: what they delete and misdate, and that the verdict is the truth."""

from dataclasses import replace

import pytest

from checkers.contract.clauses import RETENTION
from checkers.model import (
    Case,
    ClockSkew,
    Kill,
    ModelSettings,
    Partition,
    ProducerSettings,
    Simulated,
    simulate,
)
from checkers.model.case import BROKERS
from checkers.model.observe.clock import ORIGIN_MS
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import disagreements
from spark_verify.selftest.model_fuzz.verdict_of import Judged, verdict_of

DAY_S = 86_400.0
SEEDS = range(4)


def case(seed: int, *nodes: int, ahead_s: float, hold_s: float = 6.0, **settings) -> Case:
    """The clocks of these nodes are ahead from 6 s on."""
    skew = ClockSkew(at_s=6.0, hold_s=hold_s, nodes=nodes, ahead_s=ahead_s)
    return Case(seed=seed, settings=ModelSettings(load_s=18.0, **settings), schedule=(skew,))


def leader_of(seed: int) -> int:
    """Who leads the partition, whatever the schedule is."""
    return simulate(case(seed, 101, ahead_s=0.0)).history.metadata[0].leader


def judged(simulated: Simulated) -> Judged:
    return verdict_of(simulated.history, asked_of(simulated))


def begins(simulated: Simulated) -> int:
    (proof,) = simulated.history.proofs
    return proof.log_start


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_that_is_ahead_by_more_than_retention_deletes_what_all_have(seed: int) -> None:
    simulated = simulate(case(seed, leader_of(seed), ahead_s=8 * DAY_S))
    lost = simulated.truth.lost
    assert begins(simulated) > 0
    assert {(record.cause, record.permitted) for record in lost} == {(RETENTION, True)}
    assert {record.offset for record in lost} == set(range(begins(simulated)))
    assert simulated.truth.wrong == ()
    assert {row.log_start for row in simulated.history.replicas} == {begins(simulated)}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_verdict_on_what_was_deleted_is_the_truth(seed: int) -> None:
    simulated = simulate(case(seed, leader_of(seed), ahead_s=8 * DAY_S))
    found = judged(simulated)
    assert disagreements(simulated, found) == ()
    assert {label.kind for label in found.labels} == {"permitted"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ahead_s", [6 * DAY_S, -8 * DAY_S, 300.0])
def test_a_leader_that_is_not_so_far_ahead_deletes_nothing(seed: int, ahead_s: float) -> None:
    simulated = simulate(case(seed, leader_of(seed), ahead_s=ahead_s))
    assert (begins(simulated), simulated.truth.lost, simulated.truth.wrong) == (0, (), ())
    assert disagreements(simulated, judged(simulated)) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_follower_that_is_ahead_deletes_its_own_copy_alone(seed: int) -> None:
    follower = next(node for node in BROKERS if node != leader_of(seed))
    simulated = simulate(case(seed, follower, ahead_s=8 * DAY_S))
    assert (begins(simulated), simulated.truth.lost, simulated.truth.wrong) == (0, (), ())
    starts = {row.broker: row.log_start for row in simulated.history.replicas}
    assert [node for node in BROKERS if starts[node]] == [follower]
    found = judged(simulated)
    assert disagreements(simulated, found) == ()
    assert {label.cause for label in found.labels if label.kind != "permitted"} == set()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_follower_has_deleted_is_gone_for_all_once_it_leads(seed: int) -> None:
    follower, *others = sorted(BROKERS, key=lambda node: node == leader_of(seed))
    ahead = case(seed, follower, ahead_s=8 * DAY_S)
    killed = Kill(at_s=8.5, hold_s=3.0, nodes=tuple(sorted(others)))
    simulated = simulate(replace(ahead, schedule=(*ahead.schedule, killed)))
    assert begins(simulated) > 0
    assert {(record.cause, record.permitted) for record in simulated.truth.lost} == {(RETENTION, True)}
    assert disagreements(simulated, judged(simulated)) == ()


def taken_over(seed: int, *more: Kill) -> Case:
    """Leader 1 is ahead, and deletes what all have. Broker 3 takes that over; broker 2, which cannot fetch
    meanwhile and is still in sync, hears of nothing, and leads once broker 1 is killed."""
    ahead = case(seed, 1, ahead_s=8 * DAY_S, hold_s=3.0, first_leader=1)
    cut = Partition(at_s=6.2, hold_s=4.0, edges=("2->1",))
    killed = Kill(at_s=8.3, hold_s=8.0, nodes=(1,))
    return replace(ahead, schedule=(*ahead.schedule, cut, killed, *more))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_that_has_heard_of_no_deletion_brings_back_what_others_have_deleted(seed: int) -> None:
    simulated = simulate(taken_over(seed))
    leaders = [row.leader for row in simulated.history.metadata]
    assert (leaders[0], set(leaders[1:])) == (1, {2})
    starts = {row.broker: row.log_start for row in simulated.history.replicas}
    assert (starts[2], begins(simulated)) == (0, 0)
    assert 0 < starts[3] <= starts[1]
    assert (simulated.truth.lost, simulated.truth.wrong) == ((), ())
    found = judged(simulated)
    assert disagreements(simulated, found) == ()
    labels = zip(found.judgement.anomalies, found.labels, strict=True)
    causes = {(anomaly.replica, label.cause) for anomaly, label in labels}
    assert causes == {(1, RETENTION), (3, RETENTION)}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_taken_over_is_gone_for_all_once_its_replica_leads(seed: int) -> None:
    """Broker 3, whose own clock was never wrong, succeeds broker 2."""
    simulated = simulate(taken_over(seed, Kill(at_s=16.0, hold_s=6.0, nodes=(2,))))
    lost = simulated.truth.lost
    assert begins(simulated) > 0
    assert {record.cause for record in lost} == {RETENTION}
    assert {record.facts for record in lost} == {"the clock of broker 1 was 691200 s ahead"}
    assert disagreements(simulated, judged(simulated)) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_follower_whose_log_ends_before_the_leader_s_begins_anew_there(seed: int) -> None:
    """It was down when the leader deleted what it lacks."""
    ahead = case(seed, 1, ahead_s=8 * DAY_S, hold_s=8.0, first_leader=1)
    simulated = simulate(
        replace(ahead, schedule=(*ahead.schedule, Kill(at_s=4.0, hold_s=8.0, nodes=(3,)))),
    )
    rows = {row.broker: row for row in simulated.history.replicas}
    first = min(row.base_offset for row in simulated.history.replica_batches if row.broker == 3)
    assert first > 0
    assert (rows[3].log_start, rows[3].epoch_starts[0]) == (rows[1].log_start, rows[1].log_start)
    assert simulated.truth.wrong == ()
    assert disagreements(simulated, judged(simulated)) == ()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_whatever_a_producer_was_promised_the_verdict_is_the_truth(seed: int, acks: str) -> None:
    """All brokers are ahead, and one is killed meanwhile."""
    producers = (ProducerSettings(acks=acks, idempotence=acks == "all"),) * 2
    ahead = case(seed, *BROKERS, ahead_s=8 * DAY_S, producers=producers)
    killed = replace(ahead, schedule=(*ahead.schedule, Kill(at_s=8.0, hold_s=3.0, nodes=(1,))))
    for one in (ahead, killed):
        simulated = simulate(one)
        assert disagreements(simulated, judged(simulated)) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_controller_dates_by_its_own_clock_what_it_writes(seed: int) -> None:
    ahead = case(seed, 101, 102, 103, ahead_s=300.0, hold_s=10.0)
    simulated = simulate(replace(ahead, schedule=(*ahead.schedule, Kill(at_s=8.0, hold_s=3.0, nodes=(1,)))))
    late = [row.at_ms - ORIGIN_MS for row in simulated.history.metadata if row.at_ms - ORIGIN_MS > 100_000]
    assert late
    assert min(late) > 306_000
    assert {row.controller for row in simulated.history.metadata} == {103}
    assert disagreements(simulated, judged(simulated)) == ()

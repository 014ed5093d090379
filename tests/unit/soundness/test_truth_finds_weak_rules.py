"""Every clause of the contract and every rule is needed: with one weakened, verdict and truth disagree.

The weakened code judges the same simulated runs as the honest one, which disagrees with the truth in none of
them: some of a correct Kafka, some of each planted bug. Several rules find the same defect: there all of
them are weakened at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any

import pytest

from checkers.contract import clauses, effects, losses
from checkers.contract.evidence import log_ends, partition_evidence
from checkers.contract.evidence.epoch_starts import EpochStart
from checkers.contract.fates import fate, retention
from checkers.contract.fates.fate import Reason
from checkers.contract.fates.retention import Deletion
from checkers.contract.label import BlockLabels, Label
from checkers.contract.realised import timeline
from checkers.contract.realised.downtimes import NEVER_NS
from checkers.contract.realised.terms import Terms
from checkers.history.clocks.node_clocks import RIGHT
from checkers.history.metadata_log.eligible import Eligible
from checkers.history.metadata_log.passed_over import PassedOver
from checkers.model import (
    Bug,
    Case,
    CleanStop,
    ClockSkew,
    Kill,
    ModelSettings,
    Partition,
    PowerLoss,
    Simulated,
    draw_case,
    simulate,
)
from checkers.properties import Property
from checkers.reference.control_plane import rules as control_plane
from checkers.reference.control_plane.rule_result import RuleResult
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import disagreements
from spark_verify.selftest.model_fuzz.verdict_of import verdict_of

reference = import_module("checkers.reference.check")
CORRECT: None = None
OF_COPIES = (
    *(Property.DUPLICATE, Property.SEQUENCE_DENSE),
    *(Property.PRODUCER_ORDER, Property.REAL_TIME_ORDER),
)
"""The rules that a record breaks that is there twice."""
SEEDS = range(77_000_000_000, 77_000_001_200)
TOO_FEW = draw_case(77_000_000_614, frozenset({Bug.ACK_BEFORE_MIN_ISR}))
"""What too few had was acknowledged, and the eligible ones are forgotten when those have lost it."""
LET_IN_AGAIN = Case(
    seed=0,
    settings=ModelSettings(first_leader=2, records=150, load_s=6.0, tail_s=0.0),
    schedule=(
        Partition(at_s=11.0, hold_s=20.0, edges=("client->1", "client->2", "client->3")),
        PowerLoss(at_s=12.0, hold_s=0.7, nodes=(1,)),
        Partition(at_s=12.1, hold_s=30.0, edges=("1->2",)),
        Kill(at_s=18.6, hold_s=12.0, nodes=(2, 3)),
    ),
    bugs=frozenset({Bug.ISR_JOIN_STALE_BROKER_EPOCH}),
)
"""Broker 1 is in the ISR again without what its power cut has taken; the others are killed, and it leads."""
PASSED_OVER = Case(
    seed=0,
    settings=ModelSettings(first_leader=1, records=120, load_s=6.0),
    schedule=(
        Kill(at_s=6.0, hold_s=40.0, nodes=(2,)),
        CleanStop(at_s=15.0, hold_s=30.0, nodes=(3,)),
        PowerLoss(at_s=17.5, hold_s=1.0, nodes=(1,)),
    ),
    bugs=frozenset({Bug.ELR_KEPT_AFTER_UNCLEAN_SHUTDOWN}),
)
"""Broker 1, emptied, stays eligible, and is elected while broker 3 is, which was stopped in order."""
NOT_THE_LAST_RESORT = Case(
    seed=77_000_003,
    settings=ModelSettings(elr=False, unclean_election=True, first_leader=1, records=150, load_s=24.0),
    schedule=(
        Partition(at_s=4.0, hold_s=14.0, edges=("3->1",)),
        Kill(at_s=10.0, hold_s=6.0, nodes=(1,)),
    ),
    bugs=frozenset({Bug.UNCLEAN_ELECTION_TOO_EARLY}),
)
"""Broker 3 has fallen behind and the leader is killed: 3 leads, though 2 is in sync, and alive."""
STRUCK_OUT = Case(
    seed=77_000_002,
    settings=ModelSettings(first_leader=1, records=150, load_s=30.0),
    schedule=(
        Partition(at_s=3.5, hold_s=8.5, edges=("client->1", "client->2", "client->3")),
        Kill(at_s=5.0, hold_s=19.0, nodes=(3,)),
        CleanStop(at_s=10.0, hold_s=7.5, nodes=(2,)),
        PowerLoss(at_s=13.5, hold_s=6.0, nodes=(1,)),
    ),
    bugs=frozenset({Bug.ELIGIBLE_REPLICA_FORGOTTEN}),
)
"""Broker 2, stopped in order, is not eligible any more when it is back; 1 leads, which has lost its pages."""
RUNS_OF_CORRECT = 30
RUNS_OF_A_BUG = 4
RUNS_OF_CLOCKS = 20
"""So many that each weakened verdict shows, most of them in several. `make fuzz` holds the honest one to the
truth of 20,000 others."""


@cache
def runs(bug: Bug | Case | None) -> Sequence[Simulated]:
    """Simulated runs: of a correct Kafka those that lost something, or those of the first seeds that show a
    bug; or the one of a case."""
    if isinstance(bug, Case):
        return [simulate(bug)]
    found = (simulate(draw_case(seed, frozenset({bug} - {None}))) for seed in SEEDS)
    wanted = (run for run in found if (run.manifested if bug else run.truth.lost))
    return list(islice(wanted, RUNS_OF_A_BUG if bug else RUNS_OF_CORRECT))


@cache
def runs_of_clocks(bug: Bug | None) -> Sequence[Simulated]:
    """Simulated runs with wrong clocks: of a correct Kafka the first in which some log start moved, or the
    first that show a bug."""
    drawn = (draw_case(seed, frozenset({bug} - {None})) for seed in SEEDS)
    found = (simulate(case) for case in drawn if has_wrong_clocks(case))
    moved = (run for run in found if run.manifested or any(row.log_start for row in run.history.replicas))
    wanted = (run for run in moved if run.manifested or not bug)
    return list(islice(wanted, RUNS_OF_A_BUG if bug else RUNS_OF_CLOCKS))


def has_wrong_clocks(case: Case) -> bool:
    return any(isinstance(action, ClockSkew) for action in case.schedule)


def disagreeing(those: Sequence[Simulated]) -> Iterator[Simulated]:
    """The runs of which the verdict is not the truth."""
    for run in those:
        if disagreements(run, verdict_of(run.history, asked_of(run))):
            yield run


def without(*wanted: Property) -> tuple[Any, str, Any]:
    """The reference, some rules of which find nothing."""
    nothing = dict.fromkeys(wanted, lambda facts: iter(()))
    return reference, "RULES", dict(reference.RULES) | nothing


def without_control(wanted: Property) -> tuple[Any, str, Any]:
    """The same of the control plane's rules."""
    return control_plane, "RULES", dict(control_plane.RULES) | {wanted: lambda context: RuleResult()}


def permits(*reasons: Reason) -> tuple[Any, str, Any]:
    """The contract, but that these reasons are always permitted."""
    honest = clauses.rule

    def rule(record, its_fate, *others):
        ruling = honest(record, its_fate, *others)
        return replace(ruling, kind="permitted") if its_fate.reason in reasons else ruling

    return losses, "rule", rule


def with_topic(**settings: Any) -> tuple[Any, str, Any]:
    """The contract of a topic with other settings."""
    honest = clauses.rule

    def rule(record, its_fate, evidence, realised, terms: Terms):
        return honest(record, its_fate, evidence, realised, replace(terms, **settings))

    return losses, "rule", rule


def anything_goes(self: effects.Effects, block: Any) -> BlockLabels:
    """Whatever follows from nothing is permitted."""
    return BlockLabels.all_alike(Label("permitted", "why not"), len(block))


def an_outage_excuses(record, election, evidence, realised, *, replicated):
    """Whatever the disk held."""
    own = [outage for outage in evidence.outages if outage.node == election.leader and outage.unclean]
    return (Reason.PAGES_LOST, own[0], "") if own else None


def nobody_is_deposed(node, now, states, away, begun):
    """A deposed leader acknowledges nothing."""
    return timeline.NONE


def deposed_for_ever(node, now, states, away, begun):
    """A deposed leader may acknowledge to the end of the run, dead or alive."""
    return NEVER_NS


def clean_if_named(before, now):
    """Whoever is elected was in sync."""
    return "clean"


def deleted_is(kind: retention.Kind) -> tuple[Any, str, Any]:
    """Whatever lies below the log start is permitted, or is not."""
    honest = clauses.deleted
    return clauses, "deleted", lambda *asked: replace(honest(*asked), kind=kind)


def below_its_start_is(kind: retention.Kind) -> tuple[Any, str, Any]:
    """The same of what one replica lacks below its own log start."""
    whatever = Deletion(kind=kind, sentence="why not")
    return effects, "below_its_start", lambda *asked: iter([(log_ends.FAR, whatever)])


def as_old_as_the_clock_is_ahead(record, move, node, realised):
    """The age of a record adds nothing."""
    return max(span.ahead_ms for span in realised.clocks_ahead.get(node, (RIGHT,)))


OF_CLOCKS: dict[str, tuple[tuple[Any, str, Any], Bug | None]] = {
    "no clock deletes anything": (deleted_is("violation"), CORRECT),
    "whatever is below the log start was too old": (deleted_is("permitted"), Bug.LOG_START_JUMPS),
    "no replica may begin later": (below_its_start_is("violation"), CORRECT),
    "no log start is taken over": ((retention, "_led_since_ahead", lambda *_: False), CORRECT),
    "a clock that is ahead for less than retention deletes nothing": (
        (retention, "_most_aged_ms", as_old_as_the_clock_is_ahead),
        CORRECT,
    ),
    "only who leads deletes": (
        (retention, "_begin_ns", lambda record, move, node: max(move.since_ns, record.since_ns)),
        CORRECT,
    ),
}
"""The same of runs with wrong clocks."""


WEAKENED: dict[str, tuple[tuple[Any, str, Any], Bug | None]] = {
    "a record may go from the middle of the log": (
        permits(Reason.NO_ELECTION, Reason.DELETED),
        Bug.LOG_START_JUMPS,
    ),
    "who was elected does not matter": (permits(Reason.IN_SYNC), Bug.ISR_JOIN_TOO_EARLY),
    "a leader that wrote it may lack it": (permits(Reason.IN_SYNC), Bug.TRUNCATE_TO_HIGH_WATERMARK),
    "an unclean election never is": (with_topic(unclean=False), CORRECT),
    "min.insync.replicas is 1": (with_topic(min_isr=1), TOO_FEW),
    "nobody is passed over": (
        (clauses, "_passed_over", lambda *_: frozenset()),
        PASSED_OVER,
    ),
    "an unclean election passes nobody over": (
        (PassedOver, "by", lambda *_: frozenset()),
        NOT_THE_LAST_RESORT,
    ),
    "who is taken out of the ELR does not matter": (
        (Eligible, "struck_out", lambda *_: {}),
        STRUCK_OUT,
    ),
    "whoever was let in again lacks it still": (
        (fate, "_had_it_again", lambda *_: False),
        LET_IN_AGAIN,
    ),
    "min.insync.replicas is 4": (with_topic(min_isr=4), CORRECT),
    "no unclean shutdown counts": ((clauses, "_not_back", lambda *_, **__: ()), CORRECT),
    "an outage excuses whatever the disk held": (
        (fate, "_lost_by_outage", an_outage_excuses),
        Bug.OFFSETS_REUSED_AFTER_RESTART,
    ),
    "no outage takes anything": ((fate, "_lost_by_outage", lambda *_, **__: None), CORRECT),
    "nothing was replicated": ((fate, "replicated_of", lambda *_: False), Bug.TRUNCATE_TO_HIGH_WATERMARK),
    "everything was replicated": ((fate, "replicated_of", lambda *_: True), CORRECT),
    "every leader had it": ((fate, "was_given", lambda *_: True), CORRECT),
    "nobody is a zombie": ((timeline, "_deposed_until", nobody_is_deposed), CORRECT),
    "a zombie lives for ever": ((timeline, "_deposed_until", deposed_for_ever), Bug.TWO_LEADERS_IN_ONE_EPOCH),
    "every election is clean": ((timeline, "_kind", clean_if_named), CORRECT),
    "epochs begin at 0": (
        (partition_evidence.PartitionEvidence, "start_of", lambda self, epoch: EpochStart(low=0, high=0)),
        CORRECT,
    ),
    "copies and order promise nothing": (
        (effects.Effects, "_retry", anything_goes),
        Bug.CLIENT_RESENDS_UNDER_NEW_EPOCH,
    ),
    "the acks are not checked for min.insync.replicas": (
        (reference, "ack_contract", lambda history, sends: RuleResult()),
        Bug.ACK_BEFORE_MIN_ISR,
    ),
    "fenced brokers may be in sync": (
        without_control(Property.FENCED_OUT),
        Bug.FENCED_BROKER_STAYS_IN_ISR,
    ),
    "anybody may lead": (without_control(Property.LEADER_LEGAL), Bug.UNCLEAN_ELECTION_FORBIDDEN),
    "replicas may differ": (
        without(Property.DIVERGENCE, Property.LOG_MATCHING, Property.ONE_LEADER),
        Bug.FOLLOWER_WRITES_OTHER_BYTES,
    ),
    "records may be there twice": (
        without(*OF_COPIES),
        Bug.RETRY_APPENDED_TWICE,
    ),
    "what clients re-send may be there twice": (
        without(*OF_COPIES),
        Bug.CLIENT_RESENDS_UNDER_NEW_EPOCH,
    ),
    "acknowledged records may be lost": (without(Property.ACKED_LOSS), CORRECT),
}
"""What is put in place of what, and the bug whose runs show it."""


@pytest.mark.parametrize(
    "case",
    [TOO_FEW, LET_IN_AGAIN, PASSED_OVER, NOT_THE_LAST_RESORT, STRUCK_OUT],
    ids=["too few", "let in again", "passed over", "not the last resort", "struck out"],
)
def test_the_honest_verdict_on_a_case_of_its_own_is_the_truth(case):
    (run,) = runs(case)
    assert run.manifested == case.bugs
    assert not all(each.permitted for each in run.truth.lost)
    assert not [*disagreeing([run])]


OF_DRAWN_RUNS = {bug for _, bug in WEAKENED.values() if not isinstance(bug, Case)}


@pytest.mark.parametrize("bug", sorted(OF_DRAWN_RUNS, key=str), ids=str)
def test_the_honest_verdict_is_the_truth(bug):
    assert len(runs(bug)) == (RUNS_OF_A_BUG if bug else RUNS_OF_CORRECT)
    assert [run.case.to_json() for run in disagreeing(runs(bug))] == []


@pytest.mark.parametrize("name", WEAKENED)
def test_a_weakened_verdict_is_not(name, monkeypatch):
    place, bug = WEAKENED[name]
    monkeypatch.setattr(*place)
    assert next(disagreeing(runs(bug)), None) is not None


@pytest.mark.parametrize("bug", sorted({bug for _, bug in OF_CLOCKS.values()}, key=str), ids=str)
def test_the_honest_verdict_on_runs_with_wrong_clocks_is_the_truth(bug):
    assert len(runs_of_clocks(bug)) == (RUNS_OF_A_BUG if bug else RUNS_OF_CLOCKS)
    assert [run.case.to_json() for run in disagreeing(runs_of_clocks(bug))] == []


@pytest.mark.parametrize("name", OF_CLOCKS)
def test_a_verdict_with_a_weakened_rule_of_retention_is_not(name, monkeypatch):
    place, bug = OF_CLOCKS[name]
    monkeypatch.setattr(*place)
    assert next(disagreeing(runs_of_clocks(bug)), None) is not None


def test_only_the_time_of_a_read_shows_that_it_came_too_early_where_the_loss_is_permitted(monkeypatch):
    """A reader is given what is not replicated; then its leader, alone with it, loses its power: acks=1."""
    run = simulate(draw_case(1_000_000_019, frozenset({Bug.READS_ABOVE_HIGH_WATERMARK})))
    assert run.manifested == {Bug.READS_ABOVE_HIGH_WATERMARK}
    assert verdict_of(run.history, asked_of(run)).decision.verdict is Verdict.FAIL
    monkeypatch.setattr(reference, "early_read", lambda *_: RuleResult())
    assert verdict_of(run.history, asked_of(run)).decision.verdict is Verdict.PASS

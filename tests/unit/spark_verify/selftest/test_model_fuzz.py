"""The fuzz against the truth: what it compares, and how it makes a case smaller."""

from dataclasses import replace

import pytest

from checkers.model import (
    Bug,
    Case,
    CleanStop,
    Kill,
    ModelSettings,
    Partition,
    Simulated,
    draw_case,
    simulate,
)
from checkers.model.truth import Removal
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import (
    ACCUSED,
    IMAGINED,
    MISSED,
    PASSED,
    disagreements,
    passed_without_trace,
)
from spark_verify.selftest.model_fuzz.many_runs import judge_seeds
from spark_verify.selftest.model_fuzz.shrink import shrink
from spark_verify.selftest.model_fuzz.tables import broken_table
from spark_verify.selftest.model_fuzz.trace import WITHIN_NS, leaves_a_trace, same_history
from spark_verify.selftest.model_fuzz.verdict_of import verdict_of

QUIET = Case(seed=7, settings=ModelSettings(records=20))
"""A cluster without faults."""


@pytest.fixture(scope="module")
def quiet() -> Simulated:
    """A run without faults."""
    return simulate(QUIET)


def kinds(run: Simulated) -> list[str]:
    """In what verdict and truth differ."""
    return [each.kind for each in disagreements(run, verdict_of(run.history, asked_of(run)))]


def with_truth(run: Simulated, **more: object) -> Simulated:
    """The run with another fate of its first record."""
    first, *others = run.truth.records
    return replace(run, truth=replace(run.truth, records=(replace(first, **more), *others)))


def without_first(run: Simulated) -> Simulated:
    """The run without its first acknowledged record in the final log, nor on any disk."""
    first = run.truth.records[0]
    log = [row for row in run.history.final_log if row.id != first.id]
    return replace(run, history=replace(run.history, final_log=log))


def test_a_run_without_faults_passes_and_agrees(quiet):
    judged = verdict_of(quiet.history, asked_of(quiet))
    assert judged.decision.verdict is Verdict.PASS
    assert kinds(quiet) == []


def test_a_loss_that_the_verdict_does_not_report_is_a_disagreement(quiet):
    assert kinds(with_truth(quiet, survives=False, permitted=False, cause="bug: X")) == [MISSED]


def test_a_loss_that_is_none_is_a_disagreement(quiet):
    assert IMAGINED in kinds(without_first(quiet))


def test_a_permitted_loss_that_is_called_a_violation_is_a_disagreement(quiet):
    election = Removal(leader=2, leader_epoch=1, at_ns=5, election="isr")
    run = with_truth(
        without_first(quiet),
        survives=False,
        permitted=True,
        cause="acks=1 unreplicated tail",
        removed_by=election,
    )
    assert ACCUSED in kinds(run)


TRACELESS = (1_000_000_016, frozenset({Bug.ACK_BEFORE_MIN_ISR}))
"""A leader alone in sync moves its high watermark over acks=1 records, and loses its power 0.1 s later: no
sample, no reader and no follower has seen it."""


@pytest.fixture(scope="module")
def traceless() -> Simulated:
    """A run that a bug has changed, with a history that a correct Kafka has too."""
    return simulate(draw_case(*TRACELESS))


def test_what_a_bug_did_without_a_trace_no_verdict_can_tell(traceless):
    judged = verdict_of(traceless.history, asked_of(traceless))
    assert traceless.manifested
    assert judged.decision.verdict is Verdict.PASS
    assert passed_without_trace(traceless, judged)
    assert kinds(traceless) == []


def test_a_run_without_a_trace_is_listed(traceless):
    seed, bugs = TRACELESS
    tally = judge_seeds([seed], bugs)
    assert tally.traceless == [seed]
    table = broken_table([(bugs, tally)], wanted=1, seed=1)
    assert table.endswith(
        "- ACK_BEFORE_MIN_ISR, seed 1000000016: PASS without a trace, a correct Kafka has the same history"
    )


def test_one_sample_is_a_trace(traceless):
    """Broker 3's last one under epoch 0, had it come a moment later."""
    samples = list(traceless.history.watermarks)
    last = max(at for at, each in enumerate(samples) if (each.partition, each.leader_epoch) == (2, 0))
    samples[last] = replace(samples[last], high_watermark=15)
    seen = replace(traceless, history=replace(traceless.history, watermarks=samples))
    assert leaves_a_trace(seen)
    assert not passed_without_trace(seen, verdict_of(seen.history, asked_of(seen)))
    unjudged = verdict_of(traceless.history, asked_of(traceless))  # by who does not look at the sample
    assert PASSED in [each.kind for each in disagreements(seen, unjudged)]


def test_histories_are_the_same_but_for_small_differences_of_time(quiet):
    history = quiet.history
    first, *others = history.sends

    def same(**columns: object) -> bool:
        return same_history(replace(history, sends=[replace(first, **columns), *others]), history)

    assert same()
    assert same(completed_ns=first.completed_ns + WITHIN_NS)
    assert not same(completed_ns=first.completed_ns + WITHIN_NS + 1)
    assert not same(completed_ns=-1)
    assert not same(offset=first.offset + 1)
    assert not same_history(replace(history, sends=others), history)
    change, *later = history.metadata
    late = [replace(change, at_ms=change.at_ms + WITHIN_NS // 1_000_000 + 1), *later]
    assert not same_history(replace(history, metadata=late), history)


def test_a_case_shrinks_to_what_it_needs():
    case = Case(
        seed=3,
        settings=ModelSettings(partitions=3, records=160),
        schedule=(
            Partition(at_s=1.0, hold_s=2.0, edges=("2->1", "3->1")),
            Kill(at_s=2.0, hold_s=3.0, nodes=(1, 2)),
            CleanStop(at_s=4.0, hold_s=1.0, nodes=(3,)),
            Kill(at_s=9.0, hold_s=3.0, nodes=(3,)),
        ),
    )

    def shows(each: Case) -> bool:
        return any(isinstance(a, Kill) and 2 in a.nodes for a in each.schedule) and each.settings.records > 30

    small = shrink(case, shows)
    assert small.schedule == (Kill(at_s=2.0, hold_s=3.0, nodes=(2,)),)
    assert (small.settings.partitions, small.settings.records, small.settings.readers) == (1, 40, 0)
    assert len(small.settings.producers) == 1
    assert small.seed == 3


def test_shrinking_tries_no_more_than_it_may():
    tried = []

    def shows(each: Case) -> bool:
        tried.append(each)
        return False

    shrink(QUIET, shows, most=2)
    assert len(tried) == 2


def test_a_case_is_replayed_from_one_line():
    case = replace(QUIET, schedule=(Kill(at_s=2.0, hold_s=3.0, nodes=(1, 2)),))
    assert Case.from_json(case.to_json()) == case

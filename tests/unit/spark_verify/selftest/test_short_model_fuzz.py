"""A short fuzz against the truth: a correct Kafka, every planted bug, and the cases that once disagreed."""

import pytest

from checkers.model import Bug, draw_case
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.many_runs import judge_case, judge_seeds, seeds_of

SEED = 78
CORRECT_RUNS = 40
ONCE_DISAGREEING = (
    (1_000_000_016, None),  # lost its power, was given the record again, and was in no ISR since
    (1_000_000_080, None),  # unclean election of what nobody saw replicated
    (1_000_000_163, None),  # only the leader's own line shows where its epoch begins
    (1_000_000_388, None),  # committed because the ISR shrank
    (1_000_000_722, None),  # in the ISR without the record, and without power
    (1_000_000_809, None),  # unclean election of what nobody saw replicated
    (1_000_005_833, None),  # shown by the leader after the one that lacked it, whom nobody followed
    (4_000_000_200, None),  # in the ISR, and measured to lack the record
    (4_000_000_413, None),  # a high watermark that fell and rose again by two unclean elections
    (31_000_001_554, None),  # removed by a leader that led when its process may have ended already
    (2_000_000_028, Bug.UNCLEAN_ELECTION_FORBIDDEN),  # replicated after the last sample
    (
        77_000_000_001,
        Bug.TWO_LEADERS_IN_ONE_EPOCH,
    ),  # retention has deleted what the rightful leader had there
    (77_000_000_111, Bug.LOG_START_JUMPS),  # too old by the clock, and deleted a moment before its time
    (21_000_000_489, Bug.LOG_START_JUMPS),  # the same, a moment after the clock was set back
    (13_000_000_268, Bug.LOG_START_JUMPS),  # brought back by who led next, and gone before it was sampled
    (21_000_002_319, Bug.LOG_START_JUMPS),  # the same
    (7_000_000_029, Bug.OFFSETS_REUSED_AFTER_RESTART),  # lost by an unclean leader that had had it
    (7_000_000_010, Bug.TWO_LEADERS_IN_ONE_EPOCH),  # deleted, if the other one's log ever had it
    (4_000_000_066, Bug.HIGH_WATERMARK_BEFORE_ISR_COMMIT),  # nobody saw it below the high watermark
    (4_000_000_030, Bug.ACK_BEFORE_MIN_ISR),  # the same
    (1_000_000_005, Bug.ACK_BEFORE_MIN_ISR),  # a high watermark above what fewer than min.isr have
)
"""Seeds of cases, with the bug that was planted."""
WITH_WRONG_CLOCKS = (
    (11_000_000_018, Bug.EPOCH_CONFUSION),  # brought back by an unclean election, and deleted then
    (11_000_000_080, Bug.EPOCH_CONFUSION),  # replicas differ: a log start that was forgotten by a kill
    (11_000_000_211, Bug.EPOCH_CONFUSION),  # deleted by the one that would have brought it back
    (11_000_000_382, Bug.HIGH_WATERMARK_EXPOSED_EARLY),  # retention has deleted what a read is compared with
)
"""The same, where the bug does nothing that shows."""


def test_a_correct_kafka_is_judged_by_the_truth():
    tally = judge_seeds(seeds_of(SEED, range(CORRECT_RUNS)))
    assert [each.drawn.seed for each in tally.disagreeing] == []
    assert tally.verdicts[Verdict.FAIL] + tally.verdicts[Verdict.ERROR] == 0
    assert tally.verdicts[Verdict.PASS] > 35
    assert tally.lost.total() > 100


@pytest.mark.parametrize("bug", Bug, ids=lambda bug: bug.name)
def test_no_run_that_a_bug_has_changed_passes(bug):
    tally = judge_seeds(seeds_of(SEED, range(60)), frozenset({bug}), until_manifested=2)
    assert tally.manifested == 2
    assert tally.verdicts[Verdict.PASS] == 0
    assert [each.drawn.seed for each in tally.disagreeing] == []


@pytest.mark.parametrize(("seed", "bug"), ONCE_DISAGREEING)
def test_what_once_disagreed_agrees(seed, bug):
    _, found, manifested = judge_case(draw_case(seed, frozenset({bug} - {None})))
    assert found == ()
    assert manifested == (bug is not None)


@pytest.mark.parametrize(("seed", "bug"), WITH_WRONG_CLOCKS)
def test_what_once_disagreed_with_wrong_clocks_agrees(seed, bug):
    _, found, manifested = judge_case(draw_case(seed, frozenset({bug})))
    assert (found, manifested) == ((), False)

"""What a broker's report of its log end says: it was measured between the question and the answer."""

import numpy as np

from checkers.contract.evidence.log_ends import LogEnds, ReportedStart


def log_ends(*rows: tuple[int, int, int]) -> LogEnds:
    """The reports (asked, answered, log end) of leader 2 under epoch 0."""
    asked, answered, ends = np.array(rows, np.int64).T
    return LogEnds(
        asked_ns=asked,
        at_ns=answered,
        broker=np.full(len(rows), 2),
        leader_epoch=np.zeros(len(rows), np.int64),
        log_start=np.zeros(len(rows), np.int64),
        log_end=ends,
    )


def short(reports: LogEnds, *, acked_ns: int, offset: int) -> bool:
    return bool(reports.leads_short(2, 0, np.array([acked_ns]), np.array([offset]))[0])


def test_an_answer_to_a_question_from_before_the_ack_does_not_show_that_the_log_fell_short() -> None:
    """Asked at 10, the broker measures 5; it appends and acknowledges offset 5 at 12; its answer is here at
    15. Only the next question, at 20, was asked when the record was there."""
    reports = log_ends((10, 15, 5), (20, 25, 6))
    assert not short(reports, acked_ns=12, offset=5)
    assert short(reports, acked_ns=12, offset=6)
    assert short(reports, acked_ns=10, offset=5)


def test_what_is_missing_in_an_answer_may_have_been_appended_since_the_question() -> None:
    reports = log_ends((10, 15, 5), (20, 25, 6))
    assert reports.last_short([(2, 0)], 5, 18) == 10
    assert reports.last_short([(2, 0)], 6, 30) == 20
    assert reports.last_short([(2, 0)], 4, 30) == 0


def test_what_was_reported_up_to_a_time_is_what_was_answered_by_then() -> None:
    reports = log_ends((10, 15, 5), (20, 25, 6))
    assert reports.last_before(2, 24, 0) == (10, 5)
    assert reports.last_before(2, 25, 0) == (20, 6)
    assert reports.last_before(2, 14, 0) is None


def test_a_log_start_was_reported_before_a_question_if_it_was_answered_by_then() -> None:
    reports = log_ends((10, 15, 5), (20, 25, 6))
    assert reports.last_start(2, 25) == ReportedStart(asked_ns=10, leader_epoch=0, log_start=0)
    assert reports.last_start(2, 26) == ReportedStart(asked_ns=20, leader_epoch=0, log_start=0)
    assert reports.last_start(2, 15) is None
    assert reports.last_start(3, 26) is None

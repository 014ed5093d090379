"""The high watermark that clients get never falls: counterexample and near misses."""

from fakes.history.history_rows import history, sample

from checkers.properties import Property
from checkers.reference import check


def falls(*samples):
    """(offset, last offset, when it was higher) of each fall that the reference finds."""
    anomalies = check(history(*samples)).anomalies
    return [(a.offset, a.last_offset, a.seen_ns) for a in anomalies if a.property is Property.HW_MONOTONE]


def test_a_new_leader_that_answers_a_lower_one_is_found():
    """100 under epoch 0 at 5, then 40 under epoch 1: offsets 40 to 99 were exposed."""
    (anomaly,) = [
        a
        for a in check(history(sample(100, at=5), sample(40, at=9, epoch=1))).anomalies
        if a.property is Property.HW_MONOTONE
    ]
    assert (anomaly.offset, anomaly.last_offset, anomaly.seen_ns) == (40, 99, 5)
    assert anomaly.note == "it was 100 under leader epoch 0, then 40 under 1"


def test_a_leader_that_falls_under_its_own_epoch_is_found():
    """A leader that lost its tail and leads on."""
    assert falls(sample(100, at=5), sample(99, at=6)) == [(99, 99, 5)]


def test_a_fall_is_one_however_many_samples_lie_below():
    """40, 60, 90 are all below 100; a second fall to 50 is another one."""
    samples = [
        sample(100, at=1),
        *(sample(value, at=at, epoch=1) for at, value in ((2, 40), (3, 60), (4, 90))),
    ]
    assert falls(*samples) == [(40, 99, 1)]
    assert falls(*samples, sample(50, at=5, epoch=1)) == [(40, 99, 1), (50, 99, 1)]
    assert falls(*samples, sample(120, at=5, epoch=1), sample(110, at=6, epoch=1)) == [
        (40, 99, 1),
        (110, 119, 5),
    ]


def test_a_deposed_leader_may_answer_less_than_its_successor():
    """It does not know that it was deposed, and its high watermark stands still."""
    assert falls(sample(100, at=5), sample(200, at=9, epoch=1), sample(100, at=10)) == []


def test_the_successor_is_compared_with_what_the_deposed_leader_answered_last():
    """The zombie rose to 150 while its successor answered 120: one of them exposed what the other lacks."""
    assert falls(
        sample(100, at=5), sample(120, at=9, epoch=1), sample(150, at=10), sample(130, at=11, epoch=1)
    ) == [(130, 149, 10)]


def test_samples_are_taken_by_time_and_not_by_their_place_in_the_file():
    """One thread for each broker writes them."""
    assert falls(sample(100, at=9), sample(40, at=5)) == []


def test_a_sample_without_an_epoch_or_a_value_is_undecided():
    """It is counted, and compared with nothing."""
    rows = (sample(100, at=5), sample(-1, at=6), sample(3, at=7, epoch=-1))
    judgement = check(history(*rows))
    assert falls(*rows) == []
    assert judgement.examined[Property.HW_MONOTONE] == 1
    assert judgement.undecided[Property.HW_MONOTONE] == 2

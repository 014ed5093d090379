"""Reads, order and copies in whole runs: an effect is excused by its own cause, at its own place and time."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.history.history_rows import history, sample
from fakes.history.replica_rows import batch, disk
from fakes.run.whole_runs import (
    ALL,
    acked,
    clauses,
    findings,
    given,
    judged,
    kept,
    metadata,
    ns,
    power_loss,
)

from checkers.history.rows import ClockPair, History, Producer
from checkers.reference import check
from checkers.verdict.algebra import Verdict

QUIET = {"metadata": metadata((0, 1, 0, ALL))}


@pytest.mark.parametrize(
    ("acks", "table", "verdict", "found"),
    [
        ("0", True, Verdict.PASS, []),
        ("0", False, Verdict.PASS, [("real-time-order", "permitted", 1, 1)]),
        ("1", True, Verdict.FAIL, [("real-time-order", "violation", 1, 1)]),
    ],
    ids=["acks=0", "acks=0, and the history lacks what producers asked for", "acks=1"],
)
def test_a_completion_under_acks_0_fixes_no_place_in_the_log(
    tmp_path: Path, acks: str, table: bool, verdict: Verdict, found: list[tuple[str, str, int, int]]
) -> None:
    """Producer 1's record "completes" at 1.01 s, when it has left the socket, and waits at the broker;
    producer 2's is sent at 1.5 s and appended first. Right: nothing is wrong under acks=0, for nobody had
    answered; under acks=1 the order is broken."""
    rows = [
        *(acked(0, 0 if acks == "1" else -1, 1.5, producer=2), kept(0, 0, 0, producer=2)),
        *(acked(0, 1 if acks == "1" else -1, 1.01), kept(0, 1, 0)),
    ]
    asked = [Producer(producer=number, acks=acks, idempotence=False) for number in (1, 2)]
    promised = [{"producer": number, "acks": acks, "idempotence": False} for number in (1, 2)]
    collected = History().collected - (set() if table else {"producers"})
    report = judged(
        tmp_path,
        [*rows, sample(2, at=ns(2))],
        tables=QUIET | {"producers": asked if table else (), "collected": collected},
        producers=promised,
        load_ended_ns=ns(2),
    )
    assert findings(report) == found
    assert report.verdict is verdict


@pytest.mark.parametrize(
    ("reads", "found"),
    [
        ([(3, 3, 29.0), (8, 8, 30.0)], [("monotone-read", "violation", 8, 8)]),
        ([(8, 8, 29.0), (3, 3, 30.0)], [("monotone-read", "violation", 3, 3)]),
    ],
    ids=["a skip", "a step back"],
)
def test_a_truncation_at_2_s_explains_no_leap_of_a_reader_at_30_s(
    tmp_path: Path, reads: list[tuple[int, int, float]], found: list[tuple[str, str, int, int]]
) -> None:
    """The power goes at 2 s, and takes 1/1 from below the high watermark: permitted. At 30 s a reader is
    given, in one generation, offset 3, then 8 (or 8, then 3), and the log holds 4 to 7. Right: a violation of
    its own."""
    fault, ends = power_loss(2, back=12, before=2, after=1)
    states = metadata((0, 1, 0, ALL), (6, -1, 1, (1,)), (8, 1, 2, (1,)), (11, 1, 2, ALL))
    sends = [acked(0, 0, 1), acked(1, 1, 1.9), *(acked(n + 1, n, 13 + n) for n in range(1, 10))]
    log = [kept(0, 0, 0), *(kept(n + 1, n, 2) for n in range(1, 10))]
    samples = [sample(1, at=ns(1.8)), sample(2, at=ns(1.95)), sample(10, at=ns(31), epoch=2)]
    report = judged(
        tmp_path,
        [*sends, *log, *samples, *(given(n + 1, offset, at) for n, offset, at in reads)],
        tables={"metadata": states, "faults": [fault], "replica_offsets": ends},
        load_ended_ns=ns(24),
    )
    assert report.verdict is Verdict.FAIL
    assert findings(report) == [*found, ("acked-loss", "permitted", 1, 1)]
    assert clauses(report)[0] == "no permitted truncation explains it"


def test_what_was_read_under_an_epoch_no_election_up_to_it_has_removed(tmp_path: Path) -> None:
    """Broker 2 is elected at 2 s, with all in sync; it has offsets 5 and 6 from 2.8 s on, and a reader is
    given 6. The power takes both at 3 s, before a sample is above them, and then the leader answers 5. Right:
    the power loss explains that as well, as it does their loss, though they lie just where the log of broker
    2 began: broker 1, which led before, has not written them."""
    fault, ends = power_loss(3, back=12, before=7, after=5)
    states = metadata((0, 1, 0, ALL), (2, 2, 1, ALL), (6, -1, 2, (1,)), (8, 1, 3, (1,)), (11, 1, 3, ALL))
    before = [each for n in range(5) for each in (acked(n, n, 1 + n / 10), kept(n, n, 0))]
    after = [acked(5, 5, 2.8), acked(6, 6, 2.8), acked(7, 5, 14), kept(7, 5, 3)]
    clocks = [ClockPair(at_ns=ns(at), wall_ns=ns(at), engine_ns=ns(at), error_ns=0) for at in range(20)]
    samples = [
        sample(5, at=ns(1.9)),
        replace(sample(5, at=ns(2.3), epoch=1), leader=2),
        replace(sample(5, at=ns(8.6), epoch=3), asked_ns=ns(8.5)),
        sample(6, at=ns(16), epoch=3),
    ]
    report = judged(
        tmp_path,
        [*before, *after, *samples, replace(given(6, 6, 2.85), leader_epoch=1)],
        tables={"metadata": states, "faults": [fault], "replica_offsets": ends, "clocks": clocks},
        load_ended_ns=ns(15),
    )
    early = report.document["properties"]["early-read"]
    assert (early["permitted"], early["undecided"], early["violations"]) == (2, 0, 0)  # offsets 5 and 6
    assert report.verdict is Verdict.PASS


def test_a_reader_may_step_back_where_a_permitted_truncation_fell_between_its_two_reads(
    tmp_path: Path,
) -> None:
    """It was given offset 1 at 1.95 s, the power took that record at 2 s, and it is given offset 1 again,
    with another record, at 15 s. Right: permitted with the loss."""
    fault, ends = power_loss(2, back=12, before=2, after=1)
    states = metadata((0, 1, 0, ALL), (6, -1, 1, (1,)), (8, 1, 2, (1,)), (11, 1, 2, ALL))
    report = judged(
        tmp_path,
        [
            *(acked(0, 0, 1), kept(0, 0, 0), acked(1, 1, 1.9), acked(2, 1, 14), kept(2, 1, 2)),
            *(given(1, 1, 1.95), given(2, 1, 15)),
        ],
        tables={"metadata": states, "faults": [fault], "replica_offsets": ends},
        load_ended_ns=ns(16),
    )
    assert report.verdict is Verdict.PASS
    assert report.document["properties"]["monotone-read"]["permitted"] == 1


@pytest.mark.parametrize(
    ("epochs", "clause"),
    [
        (
            (0, 1),
            "re-sent under a new producer epoch (client): its two copies are of different producer epochs",
        ),
        ((0, 0), "idempotence: each record once, in order"),
    ],
    ids=["two producer epochs", "one producer epoch"],
)
def test_a_record_that_its_idempotent_client_sent_again_under_a_new_epoch_is_told_with_that_cause(
    tmp_path: Path, epochs: tuple[int, int], clause: str
) -> None:
    """1/0 was acknowledged at offset 2, where the log has its second copy; the first is at offset 0. What
    each batch's producer epoch was is on every disk. Right: a violation either way, and the client's where
    its two copies have two epochs."""
    rows = [
        *(acked(0, 2, 1), acked(1, 1, 1.1), kept(0, 0, 0), kept(1, 1, 0), kept(0, 2, 0)),
        sample(3, at=ns(2)),
    ]
    batches = [
        batch(0, producer=(70, epochs[0], 0)),
        batch(1, producer=(70, epochs[0], 1)),
        batch(2, producer=(70, epochs[1], 0 if epochs[1] else 2)),
    ]
    its = [disk(broker, *(replace(each, digest=-1) for each in batches)) for broker in ALL]
    replicas = {
        "replicas": [each.replica for each in its],
        "replica_batches": [one for each in its for one in each.batches],
    }
    report = judged(tmp_path, rows, tables=QUIET | replicas, load_ended_ns=ns(2))
    assert report.verdict is Verdict.FAIL
    duplicates = [each for each in report.document["findings"] if "duplicate" in each["counts"]]
    assert [(each["label"], each["first_offset"], each["clause"]) for each in duplicates] == [
        ("violation", 2, clause)
    ]


def test_each_copy_names_the_first_one_in_its_own_partition() -> None:
    """1/0 is at offset 5 of orders-0, and at 3 and 8 of orders-1: there the copy at 3 is the first."""
    rows = [kept(0, 5, 0), *(replace(kept(0, offset, 0), partition=1) for offset in (3, 8))]
    copies = [each for each in check(history(*rows)).anomalies if each.property == "duplicate"]
    assert [(each.partition, each.offset, each.acked_offset) for each in copies] == [(1, 3, -1), (1, 8, 3)]


def test_a_leap_carries_the_time_and_the_offset_of_the_read_before() -> None:
    """What a truncation is compared with."""
    rows = [*(kept(n, n, 0) for n in range(9)), given(3, 3, 29.0), given(8, 8, 30.0)]
    (leap,) = (each for each in check(history(*rows)).anomalies if each.property == "monotone-read")
    assert (leap.acked_offset, leap.invoked_ns, leap.completed_ns) == (3, ns(29), ns(30))

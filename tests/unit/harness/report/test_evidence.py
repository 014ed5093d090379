"""Evidence that a complete run lacks, or that contradicts other evidence: UNKNOWN, with the table; and only
that, so a violation stays one.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.run.evidence import BROKERS, RECORDS, SECOND, whole_history, whole_run
from fakes.run.run_directories import change_manifest, reference

from checkers.history import tables
from checkers.history.rows import Fault, History, Marker, NodeEvent, Producer, Transaction
from checkers.history.tables import OF_TRANSACTIONS
from checkers.verdict.algebra import Verdict
from harness.report.judge import judge
from harness.report.report import Report

Change = Callable[[History], dict[str, Any]]


def judged(path: Path, change: Change, **facts: Any) -> Report:
    rows = whole_history()
    return judge(whole_run(path, replace(rows, **change(rows)), **facts), reference)


def only_reason(report: Report) -> str:
    assert report.verdict is Verdict.UNKNOWN, report.reasons
    (reason,) = report.reasons
    return reason.sentence


def killed(at_s: float, *, down_s: float, unclean: tuple[int, ...] = (3,)) -> dict[str, Any]:
    """A kill of broker 3, as the fault has it (`down_s`) and as its process was watched (`at_s`)."""
    fault = Fault(
        index=0,
        name="kill",
        kind="kill",
        nodes=(3,),
        inject_ns=13 * SECOND,
        effect_ns=14 * SECOND,
        heal_ns=16 * SECOND,
        recovered_ns=19 * SECOND,
        down=(3,),
        down_ns=(int(down_s * SECOND),),
        up_ns=(16 * SECOND,),
        unclean=unclean,
    )
    event = {"node": 3, "role": "broker", "fault": "kill"}
    return {
        "faults": (fault,),
        "node_events": [
            *whole_history().node_events,
            NodeEvent(**event, at_ns=int(at_s * SECOND), event="exited", exit_code=137),
            NodeEvent(**event, at_ns=16 * SECOND, event="started"),
        ],
    }


KILL: Fault = killed(14, down_s=14)["faults"][0]

MISSING: list[tuple[Change, str]] = [
    (
        lambda rows: {"collected": rows.collected - {"client_events"}},
        "client_events was not collected, as it is in every complete run",
    ),
    (
        lambda rows: {"node_events": [each for each in rows.node_events if each.node != 101]},
        "node_events: nobody saw node 101 start, so nobody watched its process from then on",
    ),
    (
        lambda rows: {"clocks": rows.clocks[:1]},
        "clocks: 1 readings, so no time of the metadata log can be placed",
    ),
    (
        lambda rows: {"brokers": [each for each in rows.brokers if each.node != 2]},
        "brokers: no registration of broker 2: whether it was fenced is not known",
    ),
    (
        lambda rows: {"replica_batches": [b for b in rows.replica_batches if b.broker != 2]},
        "replicas: orders-0 on broker 2 has 12 batches, its files 0",
    ),
]

TRANSACTION = Transaction(
    producer=1,
    number=0,
    first_sequence=0,
    last_sequence=11,
    producer_id=7,
    begun_ns=10 * SECOND,
    request="commit",
    requested_ns=23 * SECOND,
    completed_ns=24 * SECOND,
    outcome="committed",
)


CONTROL: dict[str, Any] = {"attributes": 0b110000, "digest": -1}
"""A batch of a transaction, and one that no client wrote."""


def in_transactions(**changes: Any) -> Change:
    """All records are of one transaction, which its marker ends on each disk, and the final reader of what is
    committed was given each."""

    def change(rows: History) -> dict[str, Any]:
        (proof,) = rows.proofs
        end = RECORDS + 1
        reached = {"log_end": end, "recovery_point": end, "hw_checkpoint": end, "batches": end}
        ends = [
            replace(
                batch, position=100 * RECORDS, base_offset=RECORDS, base_sequence=-1, crc=RECORDS, **CONTROL
            )
            for batch in rows.replica_batches
            if batch.base_offset == RECORDS - 1
        ]
        marker = Marker(**proof.tp._asdict(), offset=RECORDS, producer_id=7, kind="commit", brokers=BROKERS)
        whole = {
            "collected": rows.collected | set(OF_TRANSACTIONS),
            "transactions": [TRANSACTION],
            "transaction_reads": [replace(each, reader=0) for each in rows.reads],
            "markers": [marker],
            "proofs": (replace(proof, high_watermark=end, log_end=end, read_to=end, committed_to=end),),
            "replicas": [replace(each, bytes=100 * end, **reached) for each in rows.replicas],
            "replica_batches": [*rows.replica_batches, *ends],
        }
        return whole | changes

    return change


def test_a_run_from_before_a_table_was_added_does_not_lack_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = whole_history()
    without = replace(rows, collected=rows.collected - {"metadata_appends"})
    lacks = "metadata_appends was not collected, as it is in every complete run"
    assert only_reason(judge(whole_run(tmp_path / "today", without), reference)) == lacks
    monkeypatch.setattr(tables, "SCHEMA_VERSION", "1.5")
    report = judge(whole_run(tmp_path / "before", without), reference)
    assert report.verdict is Verdict.PASS, report.reasons


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            in_transactions(transactions=[replace(TRANSACTION, last_sequence=10)]),
            "transactions: those of producer 1 have its sends up to 11, and it made 12",
        ),
        (
            lambda rows: {**in_transactions()(rows), "proofs": rows.proofs},
            "proofs: what is committed in orders-0 was read up to -1 of 12",
        ),
        (
            lambda rows: {
                **in_transactions()(rows),
                "collected": rows.collected | set(OF_TRANSACTIONS) - {"coordinators"},
            },
            "coordinators was not collected, as it is in every complete run",
        ),
    ],
)
def test_evidence_of_transactions_that_is_missing_is_named(
    tmp_path: Path, change: Change, sentence: str
) -> None:
    with_them = judged(tmp_path / "with", change, transactions=True)
    without = judged(tmp_path / "without", change)
    assert sentence in [reason.sentence for reason in with_them.reasons]
    assert sentence not in [reason.sentence for reason in without.reasons]


def test_a_load_with_transactions_that_has_it_all_lacks_nothing(tmp_path: Path) -> None:
    report = judged(tmp_path, in_transactions(), transactions=True)
    assert report.verdict is Verdict.PASS, report.reasons


def test_a_load_of_whose_transactions_nobody_knows_the_markers_shows_too_little(tmp_path: Path) -> None:
    """They are of a producer id that no client has noted."""
    nameless = in_transactions(transactions=[replace(TRANSACTION, producer_id=-1)])
    assert only_reason(judged(tmp_path, nameless, transactions=True)) == (
        "marker-per-transaction is undecided: of none of 1 transactions do the disks show the end"
    )


CONTRADICTIONS: list[tuple[Change, str]] = [
    (
        lambda rows: {"configs": [replace(each, value="1") for each in rows.configs[:1]] + rows.configs[1:]},
        "configs: a broker reported min.insync.replicas=1 of orders, the manifest has 2",
    ),
    (
        lambda _: {"producers": [Producer(producer=1, acks="1", idempotence=True)]},
        "producers: producer 1 has (acks, idempotence) ('1', True), the manifest ('all', True)",
    ),
    (
        lambda rows: {"clocks": [replace(c, wall_ns=c.wall_ns + 3600 * SECOND) for c in rows.clocks]},
        "clocks: the first reading is 3600 s off the manifest's clock",
    ),
    (
        lambda rows: {"metadata": rows.metadata[:-1]},
        "metadata: orders-0 ends with ISR [2, 3], the final read saw [1, 2, 3]",
    ),
    (
        lambda rows: {"watermarks": [replace(rows.watermarks[0], log_start=2), *rows.watermarks[1:]]},
        "watermarks: orders-0 once began at 2, the final read at 0",
    ),
    (
        lambda rows: {
            "replica_offsets": [*rows.replica_offsets[:-1], replace(rows.replica_offsets[-1], log_end=11)]
        },
        "replica_offsets: the log of leader 2 of orders-0 ended at 11, below its 12",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), [*MISSING, *CONTRADICTIONS])
def test_evidence_that_is_missing_or_contradicted_is_named(
    tmp_path: Path, change: Change, sentence: str
) -> None:
    found = [reason.sentence for reason in judged(tmp_path, change).reasons]
    assert sentence in found


@pytest.mark.parametrize(("change", "_"), MISSING)
def test_a_run_without_a_cluster_need_not_have_it_all(tmp_path: Path, change: Change, _: str) -> None:
    """As those of other tests, and those of versions that recorded less."""
    rows = whole_history()
    run = whole_run(tmp_path, replace(rows, **change(rows)))
    change_manifest(run, run_id=None)
    report = judge(run, reference)
    assert not any("in every complete run" in each.sentence for each in report.reasons)
    assert not any("nobody watched" in each.sentence for each in report.reasons)


def test_a_violation_stays_one_beside_missing_evidence(tmp_path: Path) -> None:
    report = judged(
        tmp_path,
        lambda rows: {
            "final_log": [each for each in rows.final_log if each.offset != 3],
            "collected": rows.collected - {"client_events"},
        },
    )
    assert report.verdict is Verdict.FAIL
    assert report.reasons[-1].sentence == "client_events was not collected, as it is in every complete run"


def test_the_end_of_a_process_is_what_its_fault_says(tmp_path: Path) -> None:
    report = judged(tmp_path, lambda _: killed(14.2, down_s=14), schedule=["kill"])
    assert (report.verdict, report.reasons[0].sentence) == (
        Verdict.PASS,
        "all 12 acknowledged records are in the final log, and no property is violated",
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            killed(30, down_s=14),
            "node_events: fault kill ended node 3, and nobody saw its process end",
        ),
        (
            killed(14.2, down_s=14, unclean=()),
            "faults: node 3 was killed by kill, which says that it shut down cleanly",
        ),
        (
            {
                "faults": [
                    replace(killed(14, down_s=14)["faults"][0], down=(), down_ns=(), up_ns=(), unclean=())
                ]
            }
            | {"node_events": killed(14, down_s=14)["node_events"]},
            "faults: kill ended node 3, and does not say so",
        ),
    ],
)
def test_a_fault_that_contradicts_the_watch_is_named(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    assert only_reason(judged(tmp_path, lambda _: changes, schedule=["kill"])) == sentence


def test_one_reading_that_is_off_both_its_neighbours_is_wrong(tmp_path: Path) -> None:
    def ahead(rows: History) -> dict[str, Any]:
        clocks = list(rows.clocks)
        clocks[5] = replace(clocks[5], wall_ns=clocks[5].wall_ns + 4 * SECOND)
        return {"clocks": clocks}

    assert (
        only_reason(judged(tmp_path, ahead)) == "clocks: one reading of wall_ns is 4.0 s off those around it"
    )


def test_a_clock_that_is_set_and_stays_set_is_no_contradiction(tmp_path: Path) -> None:
    def ahead(rows: History) -> dict[str, Any]:
        return {
            "clocks": [
                replace(c, wall_ns=c.wall_ns + 2 * SECOND * (n > 8)) for n, c in enumerate(rows.clocks)
            ]
        }

    assert not any(reason.sentence.startswith("clocks") for reason in judged(tmp_path, ahead).reasons)


def test_a_state_dated_outside_of_the_run_is_named(tmp_path: Path) -> None:
    def later(rows: History) -> dict[str, Any]:
        return {"metadata": [replace(row, at_ms=row.at_ms + 7_200_000) for row in rows.metadata]}

    sentences = [reason.sentence for reason in judged(tmp_path, later).reasons]
    assert "metadata: a state is dated 7210.00 s, and not within the run" in sentences


def test_a_state_that_a_wrong_clock_dated_and_that_has_two_places_is_named(tmp_path: Path) -> None:
    """The election at 17 s, by a controller that may have been 3 s ahead, and the change at 20 s."""

    def ahead(rows: History) -> dict[str, Any]:
        skew = Fault(
            index=0,
            name="ahead",
            kind="clock-skew",
            target="node 101: +3s",
            nodes=(101,),
            inject_ns=12 * SECOND,
            effect_ns=12 * SECOND + 1,
            end_ns=20 * SECOND,
            heal_ns=20 * SECOND + 1,
            recovered_ns=20 * SECOND + 2,
        )
        return {"faults": (skew,)}

    sentences = [reason.sentence for reason in judged(tmp_path, ahead, schedule=["ahead"]).reasons]
    assert (
        "metadata: nobody knows when the record at offset 41 and 1 more were written: a clock was off then"
        in sentences
    )


def test_where_records_were_lost_the_epochs_of_the_log_are_those_of_a_checkpoint(tmp_path: Path) -> None:
    """Record 11 is gone, and the log has offset 3 under an epoch that no disk knows there."""

    def other(rows: History) -> dict[str, Any]:
        log = list(rows.final_log)
        log[3] = replace(log[3], leader_epoch=1)
        return {"final_log": log[:-1]}

    sentences = [reason.sentence for reason in judged(tmp_path, other).reasons]
    assert (
        "final_log: the leader epochs of orders-0 are those of no replica's leader-epoch checkpoint"
        in sentences
    )


def test_a_send_that_was_answered_before_it_was_made_is_refused(tmp_path: Path) -> None:
    def early(rows: History) -> dict[str, Any]:
        sends = list(rows.sends)
        sends[4] = replace(sends[4], completed_ns=sends[4].invoked_ns - 5)
        return {"sends": sends}

    assert judged(tmp_path, early).outcome == (
        f"{tmp_path}/history/sends/orders-0.parquet: row 4 was completed 5 ns before it was invoked"
    )


def test_a_final_read_that_did_not_end_contradicts_nothing(tmp_path: Path) -> None:
    """It knows no log start, and no ISR."""

    def unproven(rows: History) -> dict[str, Any]:
        (proof,) = rows.proofs
        return {"proofs": (replace(proof, complete=False, log_start=-1, isr=(), reason="no broker answers"),)}

    sentences = [reason.sentence for reason in judged(tmp_path, unproven).reasons]
    assert sentences == [
        "orders-0 is undecided: no broker answers",
        "12 acknowledged records are undecided: no final read reached them",
    ]

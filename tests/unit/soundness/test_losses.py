"""Losses in whole runs: what removed a record decides, and not what happened at some fitting time."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.history.history_rows import TOPIC, proof, sample
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
    unanswered,
)

from checkers.history.rows import ClockPair, ConfigChange, Fault, NodeEvent
from checkers.verdict.algebra import Verdict
from harness.report.report import Report


def powered_off(
    path: Path,
    *rows: object,
    at: float = 4,
    before: int = 10,
    after: int = 10,
    begins: int = 10,
    **more: object,
) -> Report:
    """A run whose three brokers lose their power at a second; broker 1 leads again, under epoch 2, whose log
    begins with a record at offset `begins`."""
    fault, ends = power_loss(at, back=at + 10, before=before, after=after)
    states = metadata((0, 1, 0, ALL), (at + 4, -1, 1, (1,)), (at + 6, 1, 2, (1,)), (at + 9, 1, 2, ALL))
    later = (acked(900, begins, at + 12, producer=3), kept(900, begins, 2, producer=3))
    renumbered = [replace(row, sequence=0) for row in later]
    producers = [{"producer": number, "acks": "all", "idempotence": True} for number in (1, 2, 3)]
    tables = {"metadata": states, "faults": [fault], "replica_offsets": ends}
    facts = {"producers": producers, "load_ended_ns": ns(at + 13)}
    return judged(path, [*rows, *renumbered], tables=tables, **facts, **more)


def test_a_record_that_is_replaced_in_mid_log_is_lost_by_no_power_cut(tmp_path: Path) -> None:
    """Ten records of epoch 0 are acknowledged, another record has taken the place of 1/2, and 1/3 to 1/9
    survive behind it. A power cut follows, which leaves all ten offsets on every disk. Right: a violation,
    for a truncation removes a suffix."""
    sends = [acked(n, n, 1 + n / 10) for n in range(10)]
    log = [kept(n, n, 0) for n in range(10) if n != 2]
    other = (unanswered(0, 1.15, producer=2), kept(0, 2, 0, producer=2))
    report = powered_off(tmp_path, *sends, *log, *other, sample(10, at=ns(3)))
    assert report.verdict is Verdict.FAIL
    assert findings(report) == [("acked-loss", "violation", 2, 2)]
    assert clauses(report)[0].startswith("it was taken from the middle of the log")


def test_a_power_cut_takes_what_was_not_written_back_and_not_what_was_acked_an_hour_before(
    tmp_path: Path,
) -> None:
    """1/2 was acknowledged an hour before the power went, and was written back since; of 20 records on each
    disk the cut left 10. 1/2 is gone, and 1/10 to 1/19. Right: the tail is permitted, 1/2 is a
    violation, for records of its own epoch survive behind it."""
    sends = [
        *(acked(n, n, 1 + n / 10) for n in range(10)),
        *(acked(n, n, 3590 + n / 10) for n in range(10, 20)),
    ]
    log = [kept(n, n, 0) for n in range(10) if n != 2]
    other = (unanswered(0, 1.15, producer=2), kept(0, 2, 0, producer=2))
    report = powered_off(
        tmp_path,
        *sends,
        *log,
        *other,
        sample(20, at=ns(3595)),
        at=3600,
        before=20,
        after=10,
        sealed_ns=ns(5000),
    )
    assert report.verdict is Verdict.FAIL
    assert findings(report) == [("acked-loss", "violation", 2, 2), ("acked-loss", "permitted", 10, 19)]
    assert clauses(report)[0].startswith("it was taken from the middle of the log")
    assert clauses(report)[1].startswith("3 unclean shutdowns ≥ min.insync.replicas 2")


def test_the_clients_fault_is_an_ack_without_offset_only_of_a_record_that_nobody_ever_saw(
    tmp_path: Path,
) -> None:
    """1/1 and 1/2 are acknowledged without an offset, a reader is given 1/1 at offset 1, and the power cut
    leaves one record. Right: 1/1 was written, and is permitted to go with the pages; of 1/2 nothing shows
    that it ever was there."""
    report = powered_off(
        tmp_path,
        acked(0, 0, 1),
        kept(0, 0, 0),
        acked(1, -1, 3.8),
        given(0, 0, 3.9),
        given(1, 1, 3.9),
        acked(2, -1, 3.8),
        before=2,
        after=1,
        begins=1,
    )
    assert report.verdict is Verdict.FAIL
    of_acks = [each for each in report.document["findings"] if "unknown-offset-ack" in each["counts"]]
    assert sorted((each["label"], each["clause"][:35]) for each in of_acks) == [
        ("permitted", "3 unclean shutdowns ≥ min.insync.re"),
        ("violation", "acknowledged without being written "),
    ]
    assert report.document["properties"]["unknown-offset-ack"]["permitted"] == 1
    assert report.document["properties"]["unknown-offset-ack"]["violations"] == 1


@pytest.mark.parametrize(
    ("unclean", "verdict", "label", "clause"),
    [
        (
            False,
            Verdict.FAIL,
            "violation",
            "broker 2 was elected at 8.00 s (epoch 1, its log begins at offset 7) without",
        ),
        (True, Verdict.PASS, "permitted", "unclean election: broker 2, not in sync, was elected"),
    ],
    ids=["in sync", "an unclean election that is allowed"],
)
def test_what_was_below_the_high_watermark_is_lost_though_only_what_was_written_over_it_shows_that(
    tmp_path: Path, unclean: bool, verdict: Verdict, label: str, clause: str
) -> None:
    """Ten records that nobody acknowledged or read; the high watermark of epoch 0 was 10. Broker 2 leads
    epoch 1 from offset 7, and what it appends fills the log up to 12 before anybody looks again."""
    key = "unclean.leader.election.enable"
    rows = [*(unanswered(n, 1 + n / 10) for n in range(15)), *(kept(n, n, 0) for n in range(7))]
    rows += [kept(n + 3, n, 1) for n in range(7, 12)]
    states = metadata((0, 1, 0, ALL), (4, 1, 0, (1,) if unclean else ALL), (8, 2, 1, (2,)), (9, 2, 1, ALL))
    states[2] = replace(states[2], recovering=unclean)
    report = judged(
        tmp_path,
        [acked(0, 12, 12, producer=2), kept(0, 12, 1, producer=2), *rows],
        tables={
            "metadata": states,
            "watermarks": [sample(10, at=ns(7)), replace(sample(13, at=ns(13), epoch=1), leader=2)],
            "configs": [
                ConfigChange(at_ms=-1, kind="reported", name=TOPIC, key=key, value=str(unclean).lower())
            ],
        },
        topics=[{"name": TOPIC, "partitions": 1, "replication": 3, "config": {key: str(unclean).lower()}}],
        producers=[{"producer": number, "acks": "all", "idempotence": True} for number in (1, 2)],
        load_ended_ns=ns(13),
    )
    assert report.verdict is verdict
    assert findings(report) == [("hw-loss", label, 7, 9)]
    assert clauses(report)[0].startswith(clause)


def test_a_log_start_that_moves_without_a_setting_that_moves_it_loses_what_was_below(tmp_path: Path) -> None:
    """Eight records are acknowledged, somebody deletes the first four (DeleteRecords); no setting of the run
    does that. Right: a violation that names the log start, and nothing of "truncated"."""
    rows = [*(acked(n, n, 1 + n / 10) for n in range(8)), *(kept(n, n, 0) for n in range(4, 8))]
    report = judged(
        tmp_path,
        [*rows, sample(8, at=ns(3)), proof(8, start=4)],
        tables={"metadata": metadata((0, 1, 0, ALL))},
        load_ended_ns=ns(3),
    )
    assert report.verdict is Verdict.FAIL
    assert findings(report) == [("acked-loss", "violation", 0, 3)]
    assert clauses(report) == ["the log start moved to offset 4, and no setting deletes records"]


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ({"retention.ms": "60000"}, "retention.ms: 60000 may delete records during the run; allowed: -1, or"),
        ({"retention.bytes": "1048576"}, "retention.bytes: 1048576 may delete records during the run"),
        ({"cleanup.policy": "compact"}, "cleanup.policy: 'compact' removes records that were not lost"),
        ({"cleanup.policy": "delete,compact"}, "cleanup.policy: 'delete,compact' removes records"),
        ({"message.timestamp.type": "LogAppendTime"}, "message.timestamp.type: 'LogAppendTime' replaces"),
    ],
)
def test_a_run_whose_topic_deletes_or_restamps_is_not_judged_at_all(
    tmp_path: Path, setting: dict[str, str], wrong: str
) -> None:
    """What such a setting took is gone as a lost record is. Right: UNKNOWN with the setting."""
    topic = {"name": "orders", "partitions": 1, "replication": 3, "config": setting}
    report = judged(tmp_path, [acked(0, 0, 1), kept(0, 0, 0)], tables={}, topics=[topic])
    assert report.verdict is Verdict.UNKNOWN
    assert report.outcome.startswith(f"{tmp_path}/manifest.json: topics[0].config.{wrong}")


def stepped_back(at: float, by: float, until: float) -> list[ClockPair]:
    """Readings every two seconds; the engine's clock, and so the nodes', is set back at a second."""
    seconds = range(0, int(until) + 2, 2)
    return [
        ClockPair(at_ns=ns(each), wall_ns=ns(each), engine_ns=ns(each - (by if each > at else 0)), error_ns=9)
        for each in seconds
    ]


def killed_leader(path: Path, wall_behind: float, readings: list[ClockPair], *, offset: int = 1) -> Report:
    """Broker 1 leads until it is killed at 40 s; broker 2 is elected at 44 s, and begins at offset 1. The
    nodes' wall clock is `wall_behind` seconds behind by then. 1/1 was acknowledged at `offset`, at 39.5 s."""
    kill = Fault(
        index=0,
        name="kill",
        kind="kill",
        target="leader",
        nodes=(1,),
        inject_ns=ns(40),
        effect_ns=ns(40.1),
        heal_ns=ns(50),
        recovered_ns=ns(55),
        down=(1,),
        down_ns=(ns(40.1),),
        up_ns=(ns(50),),
        unclean=(1,),
    )
    states = metadata((0, 1, 0, ALL), (44 - wall_behind, 2, 1, (2, 3)), (54 - wall_behind, 2, 1, ALL))
    ends = [NodeEvent(at_ns=ns(40.1), node=1, role="broker", event="exited", exit_code=137, planned=True)]
    rows = [acked(0, 0, 38), kept(0, 0, 0), acked(1, offset, 39.5), acked(2, 1, 46), kept(2, 1, 1)]
    samples = [replace(sample(1, at=ns(second)), leader_epoch=0) for second in (38.5, 39.4)]
    return judged(
        path,
        [*rows, *samples, replace(sample(2, at=ns(48)), leader=2, leader_epoch=1)],
        tables={"metadata": states, "faults": [kill], "node_events": ends, "clocks": readings},
        producers=[{"producer": 1, "acks": "1", "idempotence": False}],
        load_ended_ns=ns(50),
    )


def test_an_election_is_placed_by_the_nearest_reading_of_the_nodes_clock(tmp_path: Path) -> None:
    """The nodes' wall clock is set back by 10 s at 20 s: by the reading from the start, broker 2 would have
    been elected at 34 s, before 1/1 was written and before the kill. Right: elected at 44 s, so 1/1 is the
    unreplicated tail of acks=1."""
    report = killed_leader(tmp_path, 10, stepped_back(20, 10, 60))
    assert findings(report) == [("acked-loss", "permitted", 1, 1)]
    assert clauses(report)[0].startswith("acks=1: broker 2 was elected at 44.00 s (epoch 1")


def test_a_label_that_depends_on_where_a_step_of_the_clock_puts_an_election_is_undecided(
    tmp_path: Path,
) -> None:
    """The nodes' wall clock is set back by 10 s at 43 s, a second before the election: its time, 34 s, was
    shown twice. If broker 2 led from 34 s on, it wrote 1/1 at 39.5 s and has lost it; if from 44 s on, broker
    1 wrote it, and acks=1 permits that it is gone. Right: neither permitted nor a violation."""
    report = killed_leader(tmp_path, 10, stepped_back(43, 10, 60), offset=5)
    assert report.verdict is Verdict.UNKNOWN
    assert {label for _, label, *_ in findings(report)} == {"undecided"}

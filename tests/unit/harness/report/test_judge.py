"""The verdict on a run directory: its sentences, and that nothing unreadable is ever green."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fakes.history.history_rows import TOPIC, fail, history, info, logged, ok, read, sample
from fakes.run.run_directories import MANIFEST, change_manifest, make_run, reference

from checkers.history.rows import Fault, History, MetadataChange, NodeEvent, Pressure, ReplicaOffset
from checkers.verdict.algebra import Verdict
from compose.docker.labels import owner_of
from harness.errors import RunDirectoryError
from harness.report.judge import judge
from harness.report.report import Report
from harness.run_directory.layout import RunDir
from harness.terminal.summary import report_text

SECOND = 1_000_000_000
KEPT = history(ok(1, 0, at=0), logged(1, 0, 0), sample(1))
LOST = history(
    ok(1, 0, at=0), logged(1, 0, 0), ok(1, 1, at=1, invoked=2 * SECOND, done=3 * SECOND), sample(1)
)


def judged(run: RunDir) -> Report:
    return judge(run, reference)


def killed_leader(rows: History) -> History:
    """The same history, in which broker 1 was killed after 4 s and broker 2 was elected after 8 s."""
    states = [(0, 1, 0, (1, 2, 3)), (8000, 2, 1, (2, 3)), (12000, 2, 1, (1, 2, 3))]
    changes = tuple(
        MetadataChange(
            at_ms=at,
            topic=TOPIC,
            partition=0,
            leader=leader,
            leader_epoch=epoch,
            partition_epoch=number,
            isr=isr,
        )
        for number, (at, leader, epoch, isr) in enumerate(states)
    )
    kill = Fault(
        index=0, name="kill", kind="kill", target="leader", nodes=(1,), unclean=(1,), inject_ns=4 * SECOND
    )
    kill = replace(kill, down=(1,), down_ns=(5 * SECOND,), up_ns=(9 * SECOND,))
    return replace(
        rows,
        faults=(replace(kill, effect_ns=5 * SECOND, heal_ns=9 * SECOND, recovered_ns=12 * SECOND),),
        metadata=changes,
    )


def sentences(report: Report) -> list[str]:
    return [reason.sentence for reason in report.reasons]


def test_a_run_that_kept_everything_passes_with_one_plain_sentence(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, KEPT))
    assert report_text(report) == "PASS  acks=all lost none of 1 acknowledged records"
    assert report.document["properties"]["acked-loss"]["status"] == "holds"


def test_a_failure_opens_with_the_record_that_shows_it(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, killed_leader(LOST), schedule=["kill"]))
    assert report.verdict is Verdict.FAIL
    first, second, *rest = report_text(report).splitlines()
    assert first.startswith(
        "FAIL  orders-0 offset 1, record 1/1: acknowledged and lost; acknowledged at 3.00 s by broker 1, "
        "leader epoch 0, in sync were [1, 2, 3]; no fault was active, kill"
    )
    assert "the high watermark of orders-0 was 1 then (sampled 3.00 s before)" in first
    assert second == "  acks=all lost 1 of 2 acknowledged records, which its contract forbids"
    assert rest == [
        "  - acked-loss is violated once: broker 2 was elected at 8.00 s (epoch 1) without it, though it was "
        "in sync, and had it"
    ]


def test_the_same_loss_under_acks_1_is_the_expected_one_of_a_positive_control(tmp_path: Path) -> None:
    facts = {"producers": [{"producer": 1, "acks": "1", "idempotence": False}], "expect": "permitted"}
    report = judged(make_run(tmp_path, killed_leader(LOST), schedule=["kill"], **facts))
    assert report_text(report).startswith(
        "PASS (expected loss seen)  acks=1 lost 1 of 2 acknowledged records, as its contract permits\n"
        "  orders-0 offset 1, record 1/1: acknowledged and lost; "
    )


def test_a_permitted_loss_fails_a_scenario_that_expects_none(tmp_path: Path) -> None:
    facts = {"producers": [{"producer": 1, "acks": "1", "idempotence": False}]}
    report = judged(make_run(tmp_path, killed_leader(LOST), schedule=["kill"], **facts))
    assert report.verdict_in_words == "FAIL (no loss was expected)"
    assert report.headline.startswith("orders-0 offset 1, record 1/1: acknowledged and lost; ")


def test_a_positive_control_without_loss_is_unknown(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, KEPT, expect="permitted"))
    assert report.verdict is Verdict.UNKNOWN
    assert report.headline.startswith("weak control: ")


def test_an_empty_history_is_unknown(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, history(unproven=[0])))
    assert report.verdict is Verdict.UNKNOWN
    assert "no send was acknowledged, so nothing was put at risk" in sentences(report)


def four_seconds_without_an_ack(stall_s: float | None) -> History:
    """Acks at 0, 1 and 5 s; some task waited for a processor for `stall_s` of each second (None: unknown)."""
    seconds = (0, 1, 5)
    rows = history(
        *(ok(1, at, at=at, invoked=n * SECOND, done=n * SECOND + 1) for at, n in enumerate(seconds)),
        *(logged(1, at, at) for at in range(3)),
        sample(3),
    )
    counted = [] if stall_s is None else [int(stall_s * SECOND)] * 10
    pressure = [
        Pressure(at_ns=(n + 1) * SECOND, span_ns=SECOND, stall_ns=stall_ns, steal_ns=0, busy_ns=0, late_ns=0)
        for n, stall_ns in enumerate(counted)
    ]
    return replace(rows, pressure=pressure)


def test_a_missed_acceptance_line_fails_the_run_and_says_what_was_measured(tmp_path: Path) -> None:
    rows = four_seconds_without_an_ack(stall_s=0.1)
    report = judged(make_run(tmp_path, rows, accept=["unavailable.max <= 3s", "acked.count >= 3"]))
    assert report.verdict is Verdict.FAIL
    assert sentences(report) == ["acceptance: unavailable.max <= 3s: measured 4 s on orders-0"]
    assert [line["holds"] for line in report.document["accept"]] == [False, True]


def test_a_bound_on_time_that_a_starved_machine_explains_is_unknown_with_the_figures(tmp_path: Path) -> None:
    report = judged(
        make_run(tmp_path, four_seconds_without_an_ack(stall_s=0.6), accept=["unavailable.max <= 3s"])
    )
    assert report.verdict is Verdict.UNKNOWN
    assert sentences(report) == [
        "acceptance: unavailable.max <= 3s: measured 4 s on orders-0, which may be the machine's doing: "
        "tasks waited for a processor for 2.40 s of that time (60%), a hypervisor took 0.00 s, "
        "the harness's own loops woke 0.00 s late; without what that may explain 1.6 s are left"
    ]


def test_a_bound_on_time_is_unknown_where_nobody_recorded_whether_the_machine_starved(tmp_path: Path) -> None:
    report = judged(
        make_run(tmp_path, four_seconds_without_an_ack(stall_s=None), accept=["unavailable.max <= 3s"])
    )
    assert report.verdict is Verdict.UNKNOWN
    assert "whether the machine starved then was not recorded" in sentences(report)[0]


def seven_seconds_after_the_last_fault(stall_s: float) -> History:
    """A kill from 1 s on has recovered at 20 s. The acks are at 0 s, and at 27 s of a send of 15 s. From 20 s
    on some task waited for a processor for `stall_s` of each second."""
    rows = history(
        ok(1, 0, at=0, invoked=0, done=1),
        ok(1, 1, at=1, invoked=15 * SECOND, done=27 * SECOND),
        logged(1, 0, 0),
        logged(1, 1, 1),
        sample(2),
    )
    kill = Fault(
        index=0, name="kill", kind="kill", inject_ns=SECOND, heal_ns=9 * SECOND, recovered_ns=20 * SECOND
    )
    stalls_ns = [0] * 20 + [int(stall_s * SECOND)] * 8
    pressure = [
        Pressure(at_ns=n * SECOND, span_ns=SECOND, stall_ns=stall_ns, steal_ns=0, busy_ns=0, late_ns=0)
        for n, stall_ns in enumerate(stalls_ns, start=1)
    ]
    return replace(rows, faults=(kill,), pressure=pressure)


@pytest.mark.parametrize(
    ("stall_s", "verdict", "more"),
    [
        (0.1, Verdict.FAIL, ""),
        (
            0.6,
            Verdict.UNKNOWN,
            ", which may be the machine's doing: tasks waited for a processor for 4.20 s of that time (60%), "
            "a hypervisor took 0.00 s, the harness's own loops woke 0.00 s late; without what that may "
            "explain 2.8 s are left",
        ),
    ],
)
def test_of_a_wait_after_the_last_fault_the_machine_explains_that_time_alone(
    tmp_path: Path, stall_s: float, verdict: Verdict, more: str
) -> None:
    """Of the 27 s between the two acks it explains too little."""
    run = make_run(
        tmp_path,
        seven_seconds_after_the_last_fault(stall_s),
        accept=["resumed.max <= 5s"],
        schedule=["kill"],
        load_ended_ns=28 * SECOND,
    )
    (reason,) = [each for each in judged(run).reasons if each.sentence.startswith("acceptance: ")]
    assert reason.verdict is verdict
    assert reason.sentence == f"acceptance: resumed.max <= 5s: measured 7 s on orders-0{more}"


def test_a_partition_that_refuses_all_after_the_last_fault_fails_a_run_that_loses_nothing(
    tmp_path: Path,
) -> None:
    """It waits for 17 s until its second ack, and then until the load ends: 8 s from 20 s on."""
    begun = seven_seconds_after_the_last_fault(0.0)
    refused = [
        fail(1, n, invoked=at * SECOND, done=at * SECOND + 1) for n, at in enumerate((18, 20, 25), start=2)
    ]
    acked = [
        replace(send, invoked_ns=at * SECOND, completed_ns=at * SECOND + 1)
        for send, at in zip(begun.sends, (0, 17), strict=True)
    ]
    lines = ["unavailable.max <= 20s", "resumed.max <= 7s"]
    rows = replace(begun, sends=[*acked, *refused])
    run = make_run(tmp_path, rows, accept=lines, schedule=["kill"], load_ended_ns=28 * SECOND)
    report = judged(run)
    assert report.verdict is Verdict.FAIL
    assert report.document["accept"] == [
        {"line": "unavailable.max <= 20s", "value": 17.0, "where": "orders-0", "holds": True},
        {"line": "resumed.max <= 7s", "value": 8.0, "where": "orders-0", "holds": False},
    ]


def test_required_evidence_that_is_there_leaves_the_verdict_alone_and_is_reported(tmp_path: Path) -> None:
    lines = ["elections.max >= 1", "isr.min <= 2", "unavailable.max >= 3s"]
    report = judged(make_run(tmp_path, killed_leader(LOST), schedule=["kill"], require=lines))
    assert report.verdict is Verdict.FAIL
    assert report.document["require"] == [
        {"line": "elections.max >= 1", "value": 1.0, "where": "orders-0", "holds": True},
        {"line": "isr.min <= 2", "value": 2.0, "where": "orders-0", "holds": True},
        {"line": "unavailable.max >= 3s", "value": 3.0, "where": "orders-0", "holds": True},
    ]
    report.write()
    summary = RunDir(path=tmp_path).summary.read_text()
    assert "- required evidence `isr.min <= 2`: holds (measured 2.0 on orders-0)\n" in summary


def test_a_run_without_its_required_evidence_has_not_shown_what_it_is_for(tmp_path: Path) -> None:
    rows = replace(KEPT, metadata=killed_leader(KEPT).metadata)
    report = judged(make_run(tmp_path, rows, require=["isr.min <= 1", "elections.elr >= 1"]))
    assert report.verdict is Verdict.UNKNOWN
    assert sentences(report) == [
        "required evidence: isr.min <= 1: measured 2 on orders-0 (the fewest in-sync replicas that a "
        "partition had at any time): the run has not shown what it is for",
        "required evidence: elections.elr >= 1: measured 0 (elections from the eligible leader replicas "
        "(KIP-966)): the run has not shown what it is for",
    ]
    assert [line["holds"] for line in report.document["require"]] == [False, False]


def test_required_evidence_that_nobody_collected_is_not_known(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, KEPT, require=["elections.max >= 1"]))
    assert report.verdict is Verdict.UNKNOWN
    assert sentences(report) == [
        "required evidence: elections.max >= 1: not known, the metadata log has no state of orders-0: the "
        "run has not shown what it is for"
    ]


def test_a_loss_outweighs_the_evidence_that_is_missing(tmp_path: Path) -> None:
    run = make_run(tmp_path, killed_leader(LOST), schedule=["kill"], require=["isr.min <= 1"])
    assert judged(run).verdict is Verdict.FAIL


def test_required_lines_that_scenario_and_manifest_do_not_share_make_the_run_unreadable(
    tmp_path: Path,
) -> None:
    """Without its lines, a run that has shown nothing would pass."""
    run = make_run(tmp_path, KEPT, require=["isr.min <= 1"])
    change_manifest(run, require=None)
    report = judged(run)
    assert report.verdict is Verdict.UNKNOWN
    assert report.outcome.endswith("manifest.json: require: [], and scenario.yaml has ['isr.min <= 1']")


def test_a_starved_machine_excuses_no_other_line(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, four_seconds_without_an_ack(stall_s=1), accept=["acked.count >= 4"]))
    assert sentences(report) == ["acceptance: acked.count >= 4: measured 3"]
    assert report.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("ended", "verdict", "sentence"),
    [
        (
            {"exit_code": 137},
            "ERROR",
            "node 2 (broker) was ended from outside at 12.30 s: SIGKILL, exit code",
        ),
        ({"exit_code": 1}, "FAIL", "node 2 (broker) ended by itself at 12.30 s with exit code 1: it halted"),
        ({"exit_code": 137, "planned": True, "fault": "kill"}, "PASS", "all 1 acknowledged records"),
        ({"exit_code": 1, "node": -1, "role": "proxy"}, "ERROR", "the proxy ended by itself at 12.30 s"),
    ],
)
def test_a_node_that_ends_unplanned_decides_a_run_that_lost_nothing(
    tmp_path: Path, ended: dict[str, object], verdict: str, sentence: str
) -> None:
    """From the table alone, as `highwater check` reads it."""
    facts = {"at_ns": int(12.3 * SECOND), "node": 2, "role": "broker", "event": "exited", "planned": False}
    end = NodeEvent(**(facts | {"detail": "it halted"} | ended))
    report = judged(make_run(tmp_path, replace(KEPT, node_events=[end])))
    assert report.verdict == verdict
    assert sentences(report)[0].startswith(sentence)


@pytest.mark.parametrize(
    ("ended", "verdict", "ending"),
    [
        ({"exit_code": 137}, "ERROR", ", in a cluster that was disturbed from outside"),
        ({"exit_code": 1}, "FAIL", ""),
        ({"exit_code": 137, "planned": True, "fault": "kill"}, "FAIL", ""),
    ],
)
def test_a_missed_acceptance_line_is_not_held_against_kafka_after_a_kill_from_outside(
    tmp_path: Path, ended: dict[str, object], verdict: str, ending: str
) -> None:
    facts = {"at_ns": SECOND, "node": 2, "role": "broker", "event": "exited", "planned": False, "detail": ""}
    rows = replace(four_seconds_without_an_ack(stall_s=0.1), node_events=[NodeEvent(**(facts | ended))])
    report = judged(make_run(tmp_path, rows, accept=["unavailable.max <= 3s"]))
    assert report.verdict == verdict
    (sentence,) = [each for each in sentences(report) if each.startswith("acceptance: ")]
    assert sentence == f"acceptance: unavailable.max <= 3s: measured 4 s on orders-0{ending}"


def test_a_fault_of_the_schedule_that_nobody_recorded_is_unknown(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, KEPT, schedule=["kill"]))
    assert report.verdict is Verdict.UNKNOWN
    assert report.headline.startswith("fault kill is in the schedule, and nothing was recorded of it")


@pytest.mark.parametrize(
    ("file", "damage", "wrong"),
    [
        ("history/final_log/orders-0.parquet", "remove", "missing, though the partition has other files"),
        ("history/sends/orders-0.parquet", "truncate", "truncated, or not Parquet"),
        ("history/faults.parquet", "remove", "missing"),
        ("history/proofs.parquet", "text", "truncated, or not Parquet"),
        ("history/watermarks.parquet", "foreign", "a foreign file"),
        ("history/reads", "remove", "missing"),
        ("manifest.json", "truncate", "not a readable manifest"),
    ],
)
def test_a_damaged_run_is_unknown_with_the_file_and_what_is_wrong(
    tmp_path: Path, file: str, damage: str, wrong: str
) -> None:
    run = make_run(tmp_path, KEPT)
    path = tmp_path / file
    if damage == "remove" and path.is_dir():
        path.rename(tmp_path / "gone")
    elif damage == "remove":
        path.unlink()
    elif damage == "truncate":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage == "text":
        path.write_text("not Parquet at all")
    else:
        pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    report = judged(run)
    assert report.verdict is Verdict.UNKNOWN
    assert report.headline.startswith(f"{path}: {wrong}")


def test_a_partition_of_which_every_file_is_gone_is_missed(tmp_path: Path) -> None:
    topics = [MANIFEST["topics"][0] | {"partitions": 2}]
    report = judged(make_run(tmp_path, KEPT, topics=topics))
    assert report.verdict is Verdict.UNKNOWN
    assert report.headline == f"{tmp_path / 'history'}: every file of partition orders-1 is missing"


@pytest.mark.parametrize("state", ["running", "interrupted"])
def test_a_run_that_did_not_end_is_unknown_even_if_all_it_holds_is_right(tmp_path: Path, state: str) -> None:
    report = judged(make_run(tmp_path, KEPT, state=state))
    assert report.verdict is Verdict.UNKNOWN


def test_a_run_that_crashed_is_an_error_with_its_problem(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, KEPT, state="failed", problem="settle: broker 2 did not come up"))
    assert report.verdict is Verdict.ERROR
    assert "settle: broker 2 did not come up" in report.headline


def test_a_run_that_was_killed_before_any_load_is_unknown_with_the_phase(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, None, state="running", phase="cluster"))
    assert report.verdict is Verdict.UNKNOWN
    assert report.headline == (
        f"{tmp_path}: the run ended in phase 'cluster' before any load: its harness was killed"
    )


def test_a_killed_run_without_proofs_decides_nothing_and_counts_what_it_recorded(tmp_path: Path) -> None:
    run = make_run(tmp_path, history(ok(1, 0, at=0), info(1, 1), unproven=[0]), state="running")
    (run.history / "proofs.parquet").unlink()
    (run.history / "faults.parquet").unlink()
    report = judged(run)
    assert report.verdict is Verdict.UNKNOWN
    assert report.document["exposure"]["acked"] == 1
    assert report.document["findings"] == []


def test_a_run_whose_process_is_alive_is_left_alone(tmp_path: Path) -> None:
    owner = owner_of("x", os.getpid())
    run = make_run(
        tmp_path, None, state="running", owner={"pid": owner.pid, "start": owner.start, "host": owner.host}
    )
    with pytest.raises(RunDirectoryError, match=r"the run still goes on, in process \d+; check it later"):
        judged(run)


def test_the_document_and_the_summary_are_the_same_each_time(tmp_path: Path) -> None:
    run = make_run(tmp_path, killed_leader(LOST), schedule=["kill"])
    first, again = judged(run), judged(run)
    assert json.dumps(first.document) == json.dumps(again.document)
    assert first.as_markdown() == again.as_markdown()
    assert first.as_markdown().startswith("# FAIL: demo, seed 7\n")


def test_a_failure_after_the_judgement_is_an_error_in_both_files(tmp_path: Path) -> None:
    """A tear-down that failed leaves no green page behind."""
    run = make_run(tmp_path, history(ok(1, 0, at=0), logged(1, 0, 0), read(1, 0, 0)))
    before = judged(run)
    before.with_problem("a loop device is left").write()
    assert before.verdict is Verdict.PASS
    written = json.loads(run.verdict.read_text())
    assert (written["verdict"], written["outcome"]) == ("ERROR", "a loop device is left")
    assert written["reasons"] == [{"verdict": "ERROR", "sentence": "a loop device is left"}]
    assert written["properties"]["acked-loss"]["status"] == "holds"
    page = run.summary.read_text()
    assert page.startswith("# ERROR: demo, seed 7\n\na loop device is left\n")
    assert "PASS" not in page


def test_a_violation_outweighs_a_failure_after_it(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, killed_leader(LOST), schedule=["kill"])).with_problem("late trouble")
    assert report.verdict is Verdict.FAIL
    assert sentences(report)[-1] == "late trouble"
    assert "- ERROR: late trouble" in report.as_markdown()


def test_a_copy_that_was_read_before_a_power_failure_is_lost_with_it_though_a_retry_was_acknowledged_later(
    tmp_path: Path,
) -> None:
    """The first attempt is read at 3 s, the power goes at 4 s, the retry is acked elsewhere at 13 s."""
    rows = history(
        ok(1, 0, at=0, invoked=SECOND, done=2 * SECOND),
        replace(logged(1, 0, 0), leader_epoch=0),
        ok(1, 1, at=2, invoked=2 * SECOND, done=13 * SECOND),
        replace(logged(2, 0, 1), leader_epoch=1),
        info(2, 0, invoked=12 * SECOND),
        replace(logged(1, 1, 2), leader_epoch=1),
        replace(read(1, 1, 1), read_ns=3 * SECOND),
    )
    cut = killed_leader(rows)
    power = replace(cut.faults[0], kind="power-loss", nodes=(1, 2, 3), unclean=(1, 2, 3), data_lost=(1, 2, 3))
    facts = {"schedule": ["kill"], "expect": "any"}
    place = {"topic": TOPIC, "partition": 0, "broker": 2}
    ends = (
        ReplicaOffset(**place, at_ns=4 * SECOND, log_end=2, source="before-power-loss"),
        ReplicaOffset(**place, at_ns=7 * SECOND, log_end=1, source="after-power-loss"),
    )
    powerless = replace(
        cut, faults=(replace(power, down=(1, 2, 3), down_ns=(5 * SECOND,) * 3, up_ns=(7 * SECOND,) * 3),)
    )
    report = judged(make_run(tmp_path, replace(powerless, replica_offsets=ends), **facts))
    assert report.document["properties"]["hw-loss"]["permitted"] == 1
    assert report.verdict is Verdict.PASS


def test_reads_are_counted_as_witnesses(tmp_path: Path) -> None:
    report = judged(make_run(tmp_path, history(ok(1, 0, at=0), logged(1, 0, 0), read(1, 0, 0))))
    assert report.document["properties"]["read-uncommitted"]["examined"] == 1

"""A run that has shown nothing is UNKNOWN, and says what was not shown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.history import replica_rows
from fakes.history.history_rows import history, logged, ok, read, sample
from fakes.run.run_directories import MANIFEST, make_run, reference

from checkers.history.rows import Fault, History, MetadataChange, Pressure
from checkers.verdict.algebra import Verdict
from harness.report.judge import judge
from harness.report.report import Report
from harness.run_directory.layout import RunDir

SECOND = 1_000_000_000


def run_of(path: Path, *acks_at_s: float, hit: tuple[int, ...] = (1,), **times: float) -> RunDir:
    """A kill of these nodes from 5 s on, and acks of a partition on brokers 1, 2 and 3; a sample sees all."""
    times = {"inject": 5, "effect": 5.5, "heal": 60, "recovered": 61} | times
    kill = Fault(
        index=0,
        name="kill",
        kind="kill",
        nodes=hit,
        down=hit,
        unclean=hit,
        down_ns=(5 * SECOND,) * len(hit),
        up_ns=(60 * SECOND,) * len(hit),
        **{f"{name}_ns": int(second * SECOND) for name, second in times.items()},
    )
    state = MetadataChange(
        at_ms=0, topic="orders", partition=0, leader=1, leader_epoch=0, partition_epoch=0, replicas=(1, 2, 3)
    )
    rows = history(
        *(
            ok(1, n, at=n, invoked=int(at * SECOND) - 9, done=int(at * SECOND))
            for n, at in enumerate(acks_at_s)
        ),
        *(logged(1, n, n) for n in range(len(acks_at_s))),
        sample(len(acks_at_s), at=80 * SECOND),
    )
    rows = replace(rows, faults=[kill], metadata=[state], collected=frozenset())
    return make_run(path, rows, schedule=["kill"], load_ended_ns=90 * SECOND)


def judged(run: RunDir) -> Report:
    return judge(run, reference)


def test_a_fault_in_whose_window_nothing_was_acknowledged_shows_nothing(tmp_path: Path) -> None:
    """Killed from 5 s to 61 s; acknowledged at 3 s and at 70 s: the kill could cost nothing."""
    report = judged(run_of(tmp_path, 3, 70))
    assert (report.verdict, report.outcome) == (
        Verdict.UNKNOWN,
        "nothing was at risk in the window of fault kill: no send was acknowledged on the partition that it "
        "touches, from shortly before it, and what it overlaps, until it was over",
    )
    (window,) = report.exposure["fault_windows"]
    assert (window["at_risk"], window["partitions"], window["partitions_at_risk"]) == (0, 1, 0)


@pytest.mark.parametrize("at_s", [4.5, 5.5, 30, 60.5])
def test_one_ack_around_the_fault_is_enough(tmp_path: Path, at_s: float) -> None:
    report = judged(run_of(tmp_path, 3, at_s, 70))
    assert report.verdict is Verdict.PASS
    (window,) = report.exposure["fault_windows"]
    assert (window["at_risk"], window["partitions"], window["partitions_at_risk"]) == (1, 1, 1)


def test_a_fault_of_a_node_that_holds_no_replica_of_the_load_shows_nothing(tmp_path: Path) -> None:
    report = judged(run_of(tmp_path, 3, 10, 20, 70, hit=(7,)))
    assert (report.verdict, report.outcome) == (
        Verdict.UNKNOWN,
        "nothing was at risk in the window of fault kill: it touches no partition of the load",
    )


def test_a_fault_of_a_controller_puts_every_partition_at_risk(tmp_path: Path) -> None:
    assert judged(run_of(tmp_path, 3, 10, 20, 70, hit=(102,))).verdict is Verdict.PASS


def unseen() -> History:
    return history(ok(1, 0, at=0), logged(1, 0, 0), ok(1, 1, at=0, on=1), logged(1, 1, 0, on=1))


TWO = [MANIFEST["topics"][0] | {"partitions": 2}]


def test_without_a_read_and_a_sample_nothing_is_known_of_what_was_below_the_high_watermark(
    tmp_path: Path,
) -> None:
    report = judged(make_run(tmp_path, unseen(), topics=TWO))
    assert (report.verdict, report.outcome) == (
        Verdict.UNKNOWN,
        "hw-loss: nothing was examined of orders-0, orders-1: no reader was given a record, and no sample "
        "has a high watermark",
    )
    hw_loss = report.document["properties"]["hw-loss"]
    assert (hw_loss["status"], hw_loss["examined"]) == ("nothing examined", 0)


@pytest.mark.parametrize(
    ("witnesses", "verdict", "examined"),
    [
        ([sample(1), sample(1, on=1)], Verdict.PASS, 2),
        ([sample(1), read(1, 1, 0, on=1)], Verdict.PASS, 2),
        ([sample(1), sample(-1, on=1)], Verdict.UNKNOWN, 1),
        ([read(1, 0, 0)], Verdict.UNKNOWN, 1),
    ],
)
def test_each_partition_needs_a_witness(
    tmp_path: Path, witnesses: list[Any], verdict: Verdict, examined: int
) -> None:
    rows = unseen()
    reads = [row for row in witnesses if hasattr(row, "reader")]
    samples = [row for row in witnesses if not hasattr(row, "reader")]
    report = judged(make_run(tmp_path, replace(rows, reads=reads, watermarks=samples), topics=TWO))
    assert report.verdict is verdict
    assert report.document["properties"]["hw-loss"]["examined"] == examined
    assert report.exposure["unwitnessed"] == ([] if verdict is Verdict.PASS else ["orders-1"])


def test_readers_that_the_scenario_has_must_have_been_given_something(tmp_path: Path) -> None:
    rows = replace(unseen(), watermarks=[sample(1), sample(1, on=1)])
    assert judged(make_run(tmp_path / "none", rows, topics=TWO)).verdict is Verdict.PASS
    report = judged(make_run(tmp_path / "two", rows, readers=2, topics=TWO))
    assert (report.verdict, report.outcome) == (
        Verdict.UNKNOWN,
        "no reader was given a record, and the scenario has 2: nobody saw what the log held",
    )


def test_a_run_without_acks_has_one_reason_for_it(tmp_path: Path) -> None:
    report = judged(run_of(tmp_path))
    assert [reason.sentence for reason in report.reasons] == [
        "no send was acknowledged, so nothing was put at risk"
    ]


def test_a_partition_that_never_acknowledged_misses_a_bound_on_availability(tmp_path: Path) -> None:
    """orders-1 was sent to from 1 s on, and acknowledged nothing until the load ended, at 90 s."""
    acks = [ok(1, n, at=n, invoked=(1 + n) * SECOND, done=(1 + n) * SECOND + 5) for n in range(90)]
    never = ok(1, 90, on=1, invoked=2 * SECOND, done=-1)
    rows = history(
        *acks,
        *(logged(1, n, n) for n in range(90)),
        replace(never, outcome=2),
        sample(90),
    )
    facts = {"topics": TWO, "load_ended_ns": 90 * SECOND, "accept": ["unavailable.max <= 5s"]}
    calm = [
        Pressure(at_ns=(n + 1) * SECOND, span_ns=SECOND, stall_ns=0, steal_ns=0, busy_ns=0, late_ns=0)
        for n in range(90)
    ]
    report = judged(make_run(tmp_path, replace(rows, pressure=calm), **facts))
    assert report.verdict is Verdict.FAIL
    sentence = report.reasons[0].sentence
    assert sentence.startswith("acceptance: unavailable.max <= 5s: measured 89 s on orders-1")


def test_a_replica_that_was_not_read_leaves_the_run_undecided(tmp_path: Path) -> None:
    """The one that nobody has read may be the one that differs. Where none was collected, nothing is said."""
    state = MetadataChange(
        at_ms=0, topic="orders", partition=0, leader=1, leader_epoch=0, partition_epoch=0, replicas=(1, 2)
    )
    logs = replica_rows.disk(1, replica_rows.batch(0)), replica_rows.disk(2, replica_rows.batch(0))
    rows = replica_rows.history(*logs, read_to=1, acked=(0,), metadata=[state], watermarks=[sample(1)])
    assert judged(make_run(tmp_path / "whole", rows)).verdict is Verdict.PASS
    torn = replace(rows.replicas[1], complete=False, reason="its disk was not mounted")
    report = judged(make_run(tmp_path / "torn", replace(rows, replicas=[rows.replicas[0], torn])))
    assert (report.verdict, report.outcome) == (
        Verdict.UNKNOWN,
        "replicas were not read: orders-0 on broker 2 (its disk was not mounted)",
    )
    report = judged(make_run(tmp_path / "one", replace(rows, replicas=rows.replicas[:1])))
    assert report.outcome == "replicas were not read: orders-0 on broker 2 (nothing of it was kept)"
    old = replace(rows, replicas=[], replica_batches=[], collected=frozenset())
    assert judged(make_run(tmp_path / "old", old)).verdict is Verdict.PASS

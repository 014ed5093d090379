"""The shipped scenarios of transactions on real clusters, in one suite: each is atomic for who reads what is
committed, and shows what it is for. Then every damage to a copy of one of the runs is noticed.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fakes.run.highwater_process import ended_suite, highwater, once_each, verdict

SCENARIOS = ("coordinator-isolated", "coordinator-kill", "coordinator-kill-tv1", "zombie-producer-fenced")
PROPERTIES = (
    "aborted-read",
    "torn-transaction",
    "hanging-transaction",
    "zombie-fenced",
    "marker-per-transaction",
)
WITHIN_S, CHECK_S, SELFTEST_S = 900.0, 120.0, 300.0


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a suite with one run of each, which ends by itself."""
    return ended_suite(
        tmp_path_factory.mktemp("suite"), once_each("transactions", SCENARIOS), within_s=WITHIN_S
    )


def run_of(suite: Path, scenario: str) -> Path:
    """The directory of the only run of a scenario."""
    rows = json.loads((suite / "suite.json").read_text())["runs"]
    (row,) = (row for row in rows if row["scenario"] == scenario)
    return suite / row["directory"]


def rows(run: Path, table: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = pq.read_table(run / f"history/{table}.parquet").to_pylist()
    return listed


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_transactions_are_whole_or_not_there_and_the_evidence_is(suite: Path, scenario: str) -> None:
    run = run_of(suite, scenario)
    judged = verdict(run)
    assert judged["verdict"] == "PASS", judged["outcome"]
    assert [line["holds"] for line in judged["require"]] == [True] * len(judged["require"])
    for name in PROPERTIES:
        its = judged["properties"][name]
        nobody_fenced = name == "zombie-fenced" and not scenario.startswith("zombie-")
        status = "nothing examined" if nobody_fenced else "holds"
        assert (its["status"], its["violations"], its["undecided"]) == (status, 0, 0), name
    assert judged["properties"]["torn-transaction"]["examined"] >= 100
    assert judged["properties"]["marker-per-transaction"]["examined"] >= 100
    assert judged["properties"]["aborted-read"]["examined"] >= 5


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_committed_record_was_read_by_a_reader_of_what_is_committed(suite: Path, scenario: str) -> None:
    """The fresh one, at the end; and no marker is of a producer that nobody knows."""
    run = run_of(suite, scenario)
    transactions = rows(run, "transactions")
    given = {(r["producer"], r["sequence"]) for r in rows(run, "transaction_reads") if r["reader"] == 0}
    committed = [row for row in transactions if row["outcome"] == "committed"]
    acked = {
        (row["producer"], sequence)
        for row in committed
        for sequence in range(row["first_sequence"], row["last_sequence"] + 1)
    }
    assert len(acked & given) >= 0.99 * len(acked), "a send that was never made may be among them"
    producer_ids = {row["producer_id"] for row in transactions}
    assert {row["producer_id"] for row in rows(run, "markers")} <= producer_ids
    assert len(producer_ids - {-1}) == 4, "a transactional id keeps its producer id"


def test_zombies_were_fenced_each_by_the_instance_that_had_its_place(suite: Path) -> None:
    fencings = rows(run_of(suite, "zombie-producer-fenced"), "fencings")
    told = [row for row in fencings if row["done_ns"] != -1 and row["error"]]
    assert len(told) >= 8
    assert all(row["begun_ns"] < row["done_ns"] < row["at_ns"] for row in told)
    assert all(row["by"] > row["producer"] for row in told)


@pytest.mark.parametrize(("scenario", "version"), [("coordinator-kill", "2"), ("coordinator-kill-tv1", "1")])
def test_the_cluster_has_the_transaction_version_that_was_asked_for(
    suite: Path, scenario: str, version: str
) -> None:
    features = {
        r["name"]: r["value"] for r in rows(run_of(suite, scenario), "configs") if r["kind"] == "feature"
    }
    assert features["transaction.version"] == version


def test_a_coordinator_that_was_killed_was_replaced(suite: Path) -> None:
    states = rows(run_of(suite, "coordinator-kill"), "coordinators")
    leaders = Counter((row["partition"], row["leader"]) for row in states if row["leader"] != -1)
    assert len({partition for partition, _ in leaders}) == 4
    assert len(leaders) > 4


def test_check_says_the_same_again(suite: Path) -> None:
    run = run_of(suite, "coordinator-isolated")
    before = verdict(run)
    assert highwater("check", str(run), within_s=CHECK_S) == (0, before)


def test_every_damage_to_a_copy_of_a_run_with_transactions_is_noticed(suite: Path) -> None:
    """Of one whose brokers were stopped: those that run on have no checkpoints to be held to."""
    run = run_of(suite, "coordinator-kill-tv1")
    assert json.loads((run / "manifest.json").read_text())["disks_of"] == "stopped"
    code, table = highwater("selftest", str(run), within_s=SELFTEST_S)
    assert (code, table["survivors"]) == (0, [])

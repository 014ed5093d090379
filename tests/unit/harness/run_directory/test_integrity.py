"""What does not belong together is UNKNOWN, with the file: damages of a healthy run directory."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from fakes.history.damaged_pages import damage_pages
from fakes.history.history_rows import history, info, logged, ok, proof, read, sample
from fakes.run.run_directories import SEALED_NS, change_manifest, make_run, noted, reference, write_scenario

from checkers.errors import MalformedHistory
from checkers.history.rows import Fault, History, MetadataChange
from checkers.history.tables import REPLICA_BATCHES, TABLES, write_table
from checkers.verdict.algebra import Verdict
from harness.report.judge import judge
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import read_manifest
from harness.run_directory.times import check_times

SECOND = 1_000_000_000
OTHER = "11111111-2222-4333-8444-555555555555"
TWO = [{"name": "orders", "partitions": 2, "replication": 3, "config": {"min.insync.replicas": "2"}}]


def healthy(begin_ns: int = 10 * SECOND) -> History:
    """Four acks on two partitions around a pause of broker 1; everything is seen and kept."""

    def acked(sequence: int, second: int, at: int, on: int):
        at_ns = begin_ns + second * SECOND
        return ok(1, sequence, at=at, on=on, invoked=at_ns - 1000, done=at_ns)

    places = [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)]
    rows = history(
        *(acked(sequence, 1 + sequence, at, on) for sequence, on, at in places),
        *(logged(1, sequence, at, on=on) for sequence, on, at in places),
        *(
            replace(read(1, sequence, at, on=on), read_ns=begin_ns + 6 * SECOND)
            for sequence, on, at in places
        ),
        *(sample(2, at=begin_ns + 5 * SECOND, on=on) for on in (0, 1)),
    )
    pause = Fault(
        index=0,
        name="pause",
        kind="pause",
        nodes=(1,),
        inject_ns=begin_ns + 2 * SECOND,
        effect_ns=begin_ns + 2 * SECOND,
        heal_ns=begin_ns + 3 * SECOND,
        recovered_ns=begin_ns + 4 * SECOND,
    )
    changes = [
        MetadataChange(
            at_ms=0,
            topic="orders",
            partition=on,
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            replicas=(1, 2, 3),
        )
        for on in (0, 1)
    ]
    read_of_disks = {"replicas", "producer_states", REPLICA_BATCHES}
    return replace(rows, faults=(pause,), metadata=changes, collected=rows.collected - read_of_disks)


def run_of(path: Path, rows: History | None = None, **facts: Any) -> RunDir:
    return make_run(path, rows or healthy(), **({"topics": TWO, "schedule": ["pause"]} | facts))


def refusal(run: RunDir) -> str:
    """The outcome of a run that is UNKNOWN because it cannot be judged."""
    report = judge(run, reference)
    assert (report.verdict, report.document) == (Verdict.UNKNOWN, {})
    return report.outcome


def test_the_run_that_is_damaged_below_passes_as_it_is(tmp_path: Path) -> None:
    report = judge(run_of(tmp_path), reference)
    assert (report.verdict, report.reasons[0].sentence) == (
        Verdict.PASS,
        "all 4 acknowledged records are in the final log, and no property is violated",
    )


OF_ONE_PARTITION = tuple(f"{table}/orders-1.parquet" for table in ("sends", "final_log", "reads"))


@pytest.mark.parametrize(
    "names",
    [OF_ONE_PARTITION, ("faults.parquet",), ("metadata.parquet",), ("watermarks.parquet",), ("history",)],
)
def test_files_of_another_run_are_named(tmp_path: Path, names: tuple[str, ...]) -> None:
    """The other run did the same at the same times: nothing but the run's id tells its files."""
    run, other = run_of(tmp_path / "run"), run_of(tmp_path / "other", run=OTHER)
    for name in names:
        if name == "history":
            shutil.rmtree(run.history)
            shutil.copytree(other.history, run.history)
        else:
            shutil.copy(other.history / name, run.history / name)
    first = min(str(path) for path in run.history.rglob("*.parquet") if _run(path) == OTHER)
    assert refusal(run) == f"{first}: of run {OTHER}, and manifest.json of run {run.id}"


def _run(path: Path) -> str:
    return pq.read_schema(path).metadata[b"highwater.run"].decode()


@pytest.mark.parametrize("state", ["complete", "interrupted"])
def test_a_file_that_was_changed_after_it_was_sealed_is_named(tmp_path: Path, state: str) -> None:
    """One ack of four is taken away, and the record from the log: a loss that nobody would see."""
    run = run_of(tmp_path)
    change_manifest(run, state=state)
    path = run.history / "reads/orders-0.parquet"
    table = pq.read_table(path, partitioning=None)
    write_table(path, "reads", table.slice(0, 1), "orders", 0, run=run.id)
    digest = noted(run)["reads/orders-0.parquet"]["sha256"]
    assert refusal(run) == f"{path}: changed since it was sealed with 2 rows: its SHA-256 is {digest}"


def test_a_file_that_was_sealed_and_is_gone_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    (run.history / "clocks.parquet").unlink()
    assert refusal(run) == f"{run.history}/clocks.parquet: missing, though it was sealed with the run"


def test_a_file_that_was_not_sealed_with_the_run_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path, replace(healthy(), collected=frozenset()))
    write_table(run.history / "clocks.parquet", "clocks", TABLES["clocks"].empty_table(), run=run.id)
    assert refusal(run) == (
        f"{run.history}/clocks.parquet: was not sealed with the run: the manifest does not list it"
    )


@pytest.mark.parametrize(
    ("rows", "facts", "wrong"),
    [
        (healthy(), {"clock": {"monotonic_ns": 30 * SECOND, "wall_ns": 0}}, "18.0 s before the run began"),
        (healthy(SEALED_NS), {}, "2.0 s after the run was sealed"),
    ],
)
def test_times_outside_the_run_are_named_with_their_file(
    tmp_path: Path, rows: History, facts: dict[str, Any], wrong: str
) -> None:
    """The first file by name that has such times is that of the faults."""
    said = refusal(run_of(tmp_path, rows, **facts))
    assert said.startswith(f"{tmp_path}/history/faults.parquet: inject_ns has a time ")
    assert wrong in said


@pytest.mark.parametrize(
    ("change", "file", "column"),
    [
        (
            lambda rows: replace(rows, sends=[*rows.sends, info(1, 4, invoked=2 * SEALED_NS)]),
            "sends/orders-0.parquet",
            "invoked_ns",
        ),
        (
            lambda rows: replace(rows, sends=[*rows.sends, ok(1, 4, invoked=1, done=2 * SEALED_NS)]),
            "sends/orders-0.parquet",
            "completed_ns",
        ),
        (
            lambda rows: replace(
                rows, reads=[*rows.reads[:-1], replace(rows.reads[-1], read_ns=2 * SEALED_NS)]
            ),
            "reads/orders-1.parquet",
            "read_ns",
        ),
        (
            lambda rows: replace(rows, watermarks=[sample(2, at=2 * SEALED_NS)]),
            "watermarks.parquet",
            "at_ns",
        ),
        (
            lambda rows: replace(
                rows,
                faults=[replace(rows.faults[0], down=(1, 2), down_ns=(-1, 2 * SEALED_NS), up_ns=(-1, -1))],
            ),
            "faults.parquet",
            "down_ns",
        ),
    ],
)
def test_one_time_after_the_run_is_found_in_any_column(
    tmp_path: Path, change: Callable[[History], History], file: str, column: str
) -> None:
    said = refusal(run_of(tmp_path, change(healthy())))
    assert said == (
        f"{tmp_path}/history/{file}: {column} has a time 1000.0 s after the run was sealed: {2 * SEALED_NS}"
    )


def test_a_column_of_times_that_cannot_be_read_is_damage_of_its_file(tmp_path: Path) -> None:
    """Of a run that was never sealed, which has no digests; a send in flight has no end, so rows are read."""
    run = run_of(tmp_path, replace(healthy(), sends=[*healthy().sends, info(1, 4, invoked=11 * SECOND)]))
    path = damage_pages(run.history / "sends/orders-0.parquet")
    with pytest.raises(MalformedHistory) as caught:
        check_times(run, read_manifest(run))
    assert caught.value.file == path


def test_none_and_durations_are_no_times(tmp_path: Path) -> None:
    rows = replace(healthy(), sends=[*healthy().sends, info(1, 4, invoked=11 * SECOND)])
    facts = {"clock": {"monotonic_ns": 10 * SECOND, "wall_ns": 0}, "load_ended_ns": 20 * SECOND}
    assert judge(run_of(tmp_path, rows, **facts), reference).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("ended_ns", "wrong"),
    [
        (5 * SECOND, "4.0 s before the run began: 5000000000"),
        (2 * SEALED_NS, "1000.0 s after the run was sealed: 2000000000000"),
    ],
)
def test_a_load_that_ended_outside_the_run_is_refused(tmp_path: Path, ended_ns: int, wrong: str) -> None:
    """Otherwise the time without acknowledgements would be as long as one likes."""
    facts = {"clock": {"monotonic_ns": 9 * SECOND, "wall_ns": 0}, "load_ended_ns": ended_ns}
    run = run_of(tmp_path, **facts)
    assert refusal(run) == f"{run.manifest}: load_ended_ns: {wrong}"


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"expect": "nun"}, "expect: unknown 'nun'; allowed: any, none, permitted"),
        ({"expect": "any"}, "expect: 'any', and scenario.yaml has 'none'"),
        ({"topics": []}, "topics: [], and scenario.yaml has ['orders: 2 partitions, 3 replicas']"),
        (
            {"topics": [TWO[0] | {"partitions": 1}]},
            "topics: ['orders: 1 partitions, 3 replicas'], and scenario.yaml has ['orders: 2 partitions, 3",
        ),
        ({"schedule": []}, "schedule: [], and scenario.yaml has ['pause']"),
        ({"accept": ["acked.count >= 1"]}, "accept: ['acked.count >= 1'], and scenario.yaml has []"),
        ({"seed": 8}, "seed: 8, and scenario.yaml has 7"),
        ({"release": "4.3.0"}, "release: '4.3.0', and scenario.yaml has '4.3.1'"),
        (
            {"producers": [{"producer": 1, "acks": "1", "idempotence": True}]},
            "producers[0].acks: '1', and scenario.yaml has 'all'",
        ),
        (
            {"cluster": {"brokers": 2, "controllers": 3, "elr": True}},
            "cluster.brokers: 2, and scenario.yaml has 3",
        ),
        (
            {"clock": {"monotonic_ns": 10**40, "wall_ns": 0}},
            "clock.monotonic_ns: input should be less than 9223372036854775808, found 1000000",
        ),
        (
            {"clock": {"monotonic_ns": 0, "wall_ns": -1}},
            "clock.wall_ns: input should be greater than or equal to 0, found -1",
        ),
    ],
)
def test_a_manifest_that_contradicts_the_scenario_is_named_with_its_key(
    tmp_path: Path, changes: dict[str, Any], wrong: str
) -> None:
    run = run_of(tmp_path)
    change_manifest(run, **changes)
    assert refusal(run).startswith(f"{run.manifest}: {wrong}")


def test_a_scenario_that_was_changed_with_the_manifest_is_named(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    change_manifest(run, expect="any")
    write_scenario(run, json.loads(run.manifest.read_text()))
    assert refusal(run).startswith(f"{run.scenario}: changed since the run began: its SHA-256 is ")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (None, "cannot be read: No such file or directory"),
        ("name: [", "not a scenario: "),
        ("name: demo\n", "topics: is missing"),
    ],
)
def test_a_scenario_that_cannot_be_read_is_named(tmp_path: Path, text: str | None, wrong: str) -> None:
    run = run_of(tmp_path)
    if text is None:
        run.scenario.unlink()
    else:
        run.scenario.write_text(text)
    said = refusal(run)
    assert said.startswith(f"{run.scenario}:")
    assert wrong in said


def test_a_partition_that_was_removed_from_files_proofs_and_counts_is_missed(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    for name in OF_ONE_PARTITION:
        (run.history / name).unlink()
    proofs = run.history / "proofs.parquet"
    kept = pq.read_table(proofs).filter(pc.field("partition") == 0)
    write_table(proofs, "proofs", kept, run=run.id)
    recorded = {"1": {"attempts": 2, "ok": 2, "fail": 0, "info": 0}}
    change_manifest(run, files=noted(run), recorded=recorded)
    assert refusal(run) == f"{run.history}: every file of partition orders-1 is missing"


def test_a_topic_that_the_manifest_does_not_list_is_refused(tmp_path: Path) -> None:
    """It would be judged with Kafka's defaults: min.insync.replicas=1 permits nearly every loss."""
    rows = healthy()
    run = run_of(tmp_path, rows, topics=[TWO[0] | {"partitions": 1}])
    assert refusal(run) == f"{run.history}/sends/orders-1.parquet: manifest.json has no orders-1"


@pytest.mark.parametrize("table", ["watermarks", "metadata"])
def test_a_row_of_a_partition_that_the_manifest_does_not_list_is_refused(tmp_path: Path, table: str) -> None:
    rows = healthy()
    other = replace(getattr(rows, table)[0], topic="audit")
    run = run_of(tmp_path, replace(rows, **{table: [*getattr(rows, table), other]}))
    assert refusal(run) == f"{run.history}/{table}.parquet: a row of audit-0, manifest.json has none"


def test_a_fault_that_the_schedule_does_not_have_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path, schedule=[])
    assert refusal(run) == (
        f"{run.history}/faults.parquet: a fault 'pause' that the schedule of manifest.json lacks"
    )


def reseal(run: RunDir, table: str, on: int, change: Callable[[Any], Any]) -> None:
    """Rewrite a file with other rows, and let the manifest say that it was sealed so."""
    path = run.history / f"{table}/orders-{on}.parquet"
    rows = change(pq.read_table(path, partitioning=None))
    write_table(path, table, rows, "orders", on, run=run.id)
    change_manifest(run, files=noted(run))


@pytest.mark.parametrize(
    ("gone", "recorded", "wrong"),
    [
        (1, 4, "producer 1 has 3 sends, the last of them with sequence 3: 1 missing"),
        (0, 4, "producer 1 has 3 sends, the last of them with sequence 3: 1 missing"),
        (3, 4, "producer 1 has 3 sends, 4 were recorded"),
        (1, None, "producer 1 has 3 sends, the last of them with sequence 3: 1 missing"),
    ],
)
def test_a_send_that_is_missing_is_noticed(
    tmp_path: Path, gone: int, recorded: int | None, wrong: str
) -> None:
    """Its record is lost as well: without the send, nobody would miss it. A killed run has no counts."""
    rows = healthy()
    killed = {"state": "interrupted"} if recorded is None else {}
    run = run_of(
        tmp_path, replace(rows, final_log=[r for r in rows.final_log if r.sequence != gone]), **killed
    )
    change_manifest(run, **({"recorded": None} if recorded is None else {}))
    reseal(run, "sends", gone % 2, lambda table: table.filter(pc.field("sequence") != gone))
    assert refusal(run) == f"{run.history}/sends: {wrong}"


def test_acks_that_became_indeterminate_are_noticed(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    outcomes = pq.read_table(run.history / "sends/orders-0.parquet", partitioning=None)["outcome"]
    assert outcomes.to_pylist() == [0, 0]

    def forget(table):
        at = table.column_names.index("outcome")
        return table.set_column(at, "outcome", pc.add(outcomes, 2).cast("int8"))

    reseal(run, "sends", 0, forget)
    assert refusal(run) == f"{run.history}/sends: 2 sends are ok, 4 were recorded"


def test_a_producer_that_sent_nothing_of_what_it_recorded_is_noticed(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    nothing = {"attempts": 0, "ok": 0, "fail": 0, "info": 0}
    counts = {"1": nothing | {"attempts": 4, "ok": 4}, "2": nothing | {"attempts": 5, "ok": 5}}
    change_manifest(run, recorded=counts)
    assert refusal(run) == f"{run.history}/sends: producer 2 has 0 sends, 5 were recorded"


def test_a_producer_of_which_everything_was_removed_is_missed(tmp_path: Path) -> None:
    two = [{"producer": number, "acks": "all", "idempotence": True} for number in (1, 2)]
    run = run_of(tmp_path, producers=two)
    recorded = {"1": json.loads(run.manifest.read_text())["recorded"]["1"]}
    change_manifest(run, producers=two[:1], recorded=recorded)
    assert refusal(run) == f"{run.manifest}: producers: 1 instances, and scenario.yaml has 2 producers"


def test_recorded_producers_that_the_manifest_does_not_list_are_noticed(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    change_manifest(run, producers=[{"producer": 9, "acks": "all", "idempotence": True}])
    assert refusal(run) == f"{run.manifest}: recorded: not the producers that `producers` lists"


@pytest.mark.parametrize(
    ("key", "description"),
    [
        ("scenario_sha256", "SHA-256 of scenario.yaml"),
        ("files", "by path below history/: each file when it was sealed, `rows`, `sha256`"),
        (
            "recorded",
            "by producer instance: its sends as counted in memory, `attempts`, `ok`, `fail`, `info`",
        ),
        ("sealed_ns", "when the last of `files` was written, on the history's clock"),
        ("load_ended_ns", "when the producers had stopped, on the history's clock"),
    ],
)
def test_a_complete_run_with_an_id_must_have_recorded_all(tmp_path: Path, key: str, description: str) -> None:
    run = run_of(tmp_path)
    change_manifest(run, **{key: None})
    assert refusal(run) == f"{run.manifest}: {key}: is missing; it is {description}"


def test_files_with_a_run_under_a_manifest_without_one_are_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    change_manifest(run, run=None, files=None, recorded=None, scenario_sha256=None)
    first = min(str(path) for path in run.history.rglob("*.parquet"))
    assert refusal(run) == f"{first}: of run {run.id}, and manifest.json of no named run"


def test_of_a_run_without_an_id_only_what_it_recorded_is_checked(tmp_path: Path) -> None:
    """As older versions left it: no id, no digests, no counts. The load's first send may be missing."""
    rows = healthy()
    fewer = replace(rows, sends=[replace(send, sequence=send.sequence + 1) for send in rows.sends])
    log = [replace(record, sequence=record.sequence + 1) for record in rows.final_log]
    reads = [replace(one, sequence=one.sequence + 1) for one in rows.reads]
    run = run_of(tmp_path, replace(fewer, final_log=log, reads=reads), run="")
    change_manifest(run, run=None, files=None, recorded=None, scenario_sha256=None, sealed_ns=None)
    assert judge(run, reference).verdict is Verdict.PASS
    change_manifest(run, expect="any")
    assert refusal(run) == f"{run.manifest}: expect: 'any', and scenario.yaml has 'none'"


def test_a_proof_may_lack_where_nothing_is_decided(tmp_path: Path) -> None:
    """Integrity is not completeness: an undecided partition is told as such, and the run is judged."""
    rows = replace(healthy(), proofs=[proof(2)])
    report = judge(run_of(tmp_path, rows), reference)
    assert report.verdict is Verdict.UNKNOWN
    assert report.outcome == "orders-1 is undecided: no final read"

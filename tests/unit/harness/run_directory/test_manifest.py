"""manifest.json: refused with file, key, value and what is allowed; replaced as a whole at each change."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from fakes.run.run_directories import MANIFEST, make_run, write_manifest
from pydantic import BaseModel

from harness.errors import HistoryError
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import (
    ClockReading,
    ClusterReady,
    Manifest,
    ManifestPart,
    ManifestProducer,
    ManifestTopic,
    Phase,
    Timings,
    read_manifest,
)
from harness.run_directory.manifest_writer import ManifestWriter

ROOT = Path(__file__).parents[4]

AS_WRITTEN_BEFORE: dict[str, Any] = {
    "schema_version": 1,
    "tool_version": "0.1.0",
    "scenario": "acks1-leader-kill",
    "seed": 7,
    "argv": ["run", "acks1-leader-kill", "--seed", "7"],
    "release": "4.3.1",
    "expect": "permitted",
    "accept": ["unavailable.max <= 20s"],
    "owner": {"pid": 17963, "start": "60690@88584a15", "host": "vm/pid:[4026531836]"},
    "topics": [
        {
            "name": "orders",
            "partitions": 6,
            "replication": 3,
            "config": {
                "min.insync.replicas": "2",
                "unclean.leader.election.enable": "false",
                "flush.messages": "9223372036854775807",
                "flush.ms": "9223372036854775807",
            },
        }
    ],
    "producers": [{"producer": 1, "acks": "1", "idempotence": False}],
    "cluster": {
        "brokers": 3,
        "controllers": 3,
        "combined": False,
        "elr": True,
        "broker_config": {"auto.create.topics.enable": "false", "min.insync.replicas": "2"},
    },
    "schedule": ["cut", "kill"],
    "state": "interrupted",
    "phase": "seal",
    "problem": "the user asked to stop before the schedule had ended",
    "clock": {"monotonic_ns": 608306977327, "wall_ns": 1795294496589845432},
    "timings": {"cluster_s": 16.432, "topics_s": 0.897, "seal_s": 0.367},
    "run_id": "8583ef7b",
    "images": ["highwater/kafka:4.3.1-35d655252f60", "highwater/toxiproxy:2.12.0-f259a728b6f8"],
    "cluster_ready": {"proxy_s": 1.571, "ready_s": 16.385, "appcds": True},
    "load_ended_ns": 651708759166,
    "cut_short": True,
}
"""By the version before the manifest had a schema: every key that it could write."""


def manifest_of(tmp_path: Path, manifest: dict[str, Any]) -> Manifest:
    run = RunDir(path=tmp_path)
    write_manifest(run, manifest)
    return read_manifest(run)


def refusal(tmp_path: Path, **changes: Any) -> str:
    """What is wrong with a manifest in which these keys were changed, without the name of the file."""
    with pytest.raises(HistoryError) as refused:
        manifest_of(tmp_path, MANIFEST | changes)
    file, _, wrong = str(refused.value).partition("manifest.json: ")
    assert file == f"{tmp_path}/"
    assert "\n" not in wrong
    return wrong


def test_a_manifest_of_the_version_before_is_read_whole(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, AS_WRITTEN_BEFORE)
    assert json.loads(manifest.as_text()) == AS_WRITTEN_BEFORE
    assert manifest.clock == ClockReading(monotonic_ns=608306977327, wall_ns=1795294496589845432)
    assert manifest.producers == (ManifestProducer(producer=1, acks="1", idempotence=False),)
    assert manifest.cluster_ready == ClusterReady(proxy_s=1.571, ready_s=16.385, appcds=True)


def test_what_a_run_had_not_come_to_yet_is_absent(tmp_path: Path) -> None:
    late = ("run_id", "images", "cluster_ready", "load_ended_ns", "cut_short")
    first = {key: value for key, value in AS_WRITTEN_BEFORE.items() if key not in late}
    manifest = manifest_of(tmp_path, first | {"cluster_ready": {}})
    assert (manifest.run_id, manifest.images, manifest.load_ended_ns) == (None, (), None)
    assert manifest.cluster_ready == ClusterReady()


@pytest.mark.parametrize(
    "key", ["state", "expect", "clock", "topics", "producers", "problem", "owner", "seed"]
)
def test_a_key_that_is_missing_is_named(tmp_path: Path, key: str) -> None:
    run = RunDir(path=tmp_path)
    write_manifest(run, {name: value for name, value in MANIFEST.items() if name != key})
    with pytest.raises(HistoryError) as refused:
        read_manifest(run)
    description = Manifest.model_fields[key].description
    assert str(refused.value) == f"{run.manifest}: {key}: is missing; it is {description}"


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        (
            {"state": "done"},
            "state: unknown 'done'; allowed: complete, failed, interrupted, running",
        ),
        ({"expect": "nun"}, "expect: unknown 'nun'; allowed: any, none, permitted"),
        ({"state": None}, "state: unknown None; allowed: complete, failed, interrupted, running"),
        ({"phase": "judge"}, "phase: unknown 'judge'; "),
        ({"seed": "7"}, "seed: input should be a valid integer, found '7'"),
        ({"seed": 7.0}, "seed: input should be a valid integer, found 7.0"),
        ({"seed": -1}, "seed: input should be greater than or equal to 0, found -1"),
        ({"stat": "complete"}, "stat: unknown key 'stat'; did you mean state? allowed: accept, argv, "),
        ({"owner": {"pid": 1, "start": ""}}, "owner.host: is missing; it is the machine and process-id "),
        ({"clock": {"monotonic_ns": 1, "wall_ns": True}}, "clock.wall_ns: input should be a valid integer"),
        (
            {"clock": {"monotonic_ns": 1, "wall_ns": 2, "wal_ns": 3}},
            "clock.wal_ns: unknown key 'wal_ns'; did you mean wall_ns? allowed: monotonic_ns, wall_ns",
        ),
        (
            {"producers": [{"producer": 1, "acks": "2", "idempotence": False}]},
            "producers[0].acks: unknown '2'; allowed: 0, 1, all",
        ),
        (
            {"producers": [{"producer": 1, "acks": 1, "idempotence": False}]},
            "producers[0].acks: unknown 1; allowed: 0, 1, all",
        ),
        (
            {"topics": [MANIFEST["topics"][0] | {"config": {"min.insync.replicas": "two"}}]},
            "topics[0].config: min.insync.replicas: expected a whole number, found 'two'",
        ),
        (
            {"cluster": MANIFEST["cluster"] | {"broker_config": {"unclean.leader.election.enable": "maybe"}}},
            "cluster.broker_config: unclean.leader.election.enable: expected true or false, found 'maybe'",
        ),
        (
            {"topics": [MANIFEST["topics"][0] | {"config": {"flush.messages": 1}}]},
            "topics[0].config.flush.messages: input should be a valid string, found 1",
        ),
        ({"topics": {"orders": 1}}, "topics: input should be a valid array, found {'orders': 1}"),
        ({"accept": ["acked.count >= nan"]}, "accept[0]: not a number: 'nan', the bound of acked.count"),
        ({"accept": ["uptime > 1s"]}, "accept[0]: unknown metric 'uptime'; allowed: unavailable.max, "),
        ({"accept": ["isr.min <= 1"]}, "accept[0]: isr.min is evidence, and no service to clients: "),
        ({"require": ["uptime > 1s"]}, "require[0]: unknown metric 'uptime'; allowed: unavailable.max, "),
        ({"timings": {"cluster_s": float("nan")}}, "timings.cluster_s: input should be a finite number"),
        ({"timings": {"judge_s": 1.0}}, "timings.judge_s: unknown key 'judge_s'; "),
        (
            {"load_ended_ns": 10**400},
            "load_ended_ns: input should be less than 9223372036854775808, found 1000",
        ),
        ({"sealed_ns": -5}, "sealed_ns: input should be greater than or equal to 0, found -5"),
        (
            {"topics": [MANIFEST["topics"][0] | {"partitions": 1001}]},
            "topics[0].partitions: input should be less than or equal to 1000, found 1001",
        ),
        (
            {"topics": [MANIFEST["topics"][0] | {"config": {"min.insync.replicas": "9" * 5000}}]},
            "topics[0].config: min.insync.replicas: expected a whole number, found '999",
        ),
        ({"load_ended_ns": "late"}, "load_ended_ns: input should be a valid integer, found 'late'"),
        (
            {"seed": "7", "state": "?", "phase": "?"},
            "seed: input should be a valid integer, found '7' (and 2 more)",
        ),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_with_its_key(
    tmp_path: Path, changes: dict[str, Any], wrong: str
) -> None:
    assert refusal(tmp_path, **changes).startswith(wrong)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a readable manifest: Expecting value"),
        ("{", "not a readable manifest: Expecting property name"),
        ("[]", "not a manifest: found list"),
        ('{"schema_version": 9}', "unknown schema_version 9, this version reads 1"),
        ('{"schema_version": "1"}', "unknown schema_version '1', this version reads 1"),
        ("{}", "unknown schema_version None, this version reads 1"),
    ],
)
def test_a_damaged_manifest_is_named_with_what_is_wrong(tmp_path: Path, text: str, reason: str) -> None:
    run = RunDir(path=tmp_path)
    run.manifest.write_text(text)
    with pytest.raises(HistoryError) as refused:
        read_manifest(run)
    assert str(refused.value).startswith(f"{run.manifest}: {reason}")


def test_a_manifest_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"manifest\.json: cannot be read: No such file"):
        read_manifest(RunDir(path=tmp_path))


def test_each_phase_has_its_timing() -> None:
    assert list(Timings.model_fields) == [f"{phase}_s" for phase in get_args(Phase) if phase]


def described(model: type[BaseModel], above: str = "") -> dict[str, str | None]:
    """`key`, `part.key` or `list[].key` → its description, in the order of the schema."""
    keys: dict[str, str | None] = {}
    for name, field in model.model_fields.items():
        keys[f"`{above}{name}`"] = field.description
        parts = [part for part in ManifestPart.__subclasses__() if part.__name__ in str(field.annotation)]
        if parts:
            kind = "[]" if str(field.annotation).startswith("tuple") else ""
            kind = "{}" if "Mapping" in str(field.annotation) else kind
            keys |= described(parts[0], f"{above}{name}{kind}.")
    return keys


def test_the_page_about_the_history_describes_each_key_as_the_schema_does() -> None:
    page = (ROOT / "docs/history.md").read_text()
    section = page[page.index("## manifest.json") :]
    rows = re.findall(r"^\| (`\S+`) \| (.*) \| (?:always)? ?\|$", section, re.MULTILINE)
    assert list(dict(rows).items()) == list(described(Manifest).items())


def test_the_manifest_on_disk_shows_the_phase_of_the_run_and_how_long_each_took(tmp_path: Path) -> None:
    run = make_run(tmp_path, None, state="running", phase="", timings={})
    writer = ManifestWriter(run, read_manifest(run))
    with writer.phase("cluster"):
        during = read_manifest(run)
    after = read_manifest(run)
    assert (during.state, during.phase, during.seed) == ("running", "cluster", 7)
    assert list(after.timings.model_dump(exclude_none=True)) == ["cluster_s"]


def test_each_fact_is_on_disk_when_its_call_returns(tmp_path: Path) -> None:
    run = make_run(tmp_path, None, state="running")
    writer = ManifestWriter(run, read_manifest(run))
    topic = ManifestTopic(name="a", partitions=1, replication=1, config={})
    producer = ManifestProducer(producer=5, acks="0", idempotence=False)
    ready = ClusterReady(ready_s=12.5, appcds=True)
    writer.cluster_started(run_id="x", images=("k", "t"), ready=ready)
    writer.topics_created((topic,))
    writer.load_ended(99)
    writer.cut_short()
    writer.sealed((producer,))
    manifest = read_manifest(run)
    assert manifest == writer.manifest
    assert (manifest.run_id, manifest.images, manifest.cluster_ready) == ("x", ("k", "t"), ready)
    assert (manifest.topics, manifest.producers) == ((topic,), (producer,))
    assert (manifest.load_ended_ns, manifest.cut_short) == (99, True)


def test_the_first_problem_of_a_run_is_the_one_that_stays(tmp_path: Path) -> None:
    run = make_run(tmp_path, None, state="running")
    writer = ManifestWriter(run, read_manifest(run))
    writer.finish("failed", "broker 2 did not come up")
    writer.finish("interrupted", "Ctrl-C")
    assert read_manifest(run).problem == "broker 2 did not come up"


def test_a_complete_run_can_still_be_marked_as_failed(tmp_path: Path) -> None:
    run = make_run(tmp_path, None, state="running")
    writer = ManifestWriter(run, read_manifest(run))
    writer.finish("complete")
    writer.finish("failed", "the session died")
    assert read_manifest(run).state == "failed"

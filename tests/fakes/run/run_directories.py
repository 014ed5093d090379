"""Run directories made by hand: a manifest and a small history, judged by the reference implementation.

They are whole: the files carry the run's id, the manifest has their digests and the counts of the sends, and
scenario.yaml asks for what the manifest says. A test damages what it is about.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checkers.damage.write import write
from checkers.history.load import load
from checkers.history.rows import History
from checkers.history.tables import Outcome
from checkers.judgement import Judgement
from checkers.reference import check
from harness.run_directory.digests import digests
from harness.run_directory.layout import RunDir, write_whole
from harness.scenario.model import Scenario
from harness.scenario.resolve import scenario_text

NOBODY = {"pid": 0, "start": "", "host": ""}
RUN = "0b5c7a52-6d0f-4a3e-9a41-3f1f3f6f7d10"


def reference(history_dir: Path) -> Judgement:
    """The judgement of the reference implementation, which needs no Spark."""
    return check(load(history_dir))


def make_run(
    path: Path, history: History | None, *, readers: int = 0, transactions: bool = False, **facts: Any
) -> RunDir:
    """A run directory with this history (None: it has none); `facts` go over the manifest's defaults.

    Producers of the history that the manifest does not list are listed as the first one is. `readers` is how
    many the scenario has, `transactions` whether its load has them.
    """
    manifest = MANIFEST | facts
    run = RunDir(path=path, id=manifest["run"])
    path.mkdir(parents=True, exist_ok=True)
    if history is not None:
        write(history, run.history, run=run.id)
        manifest |= {"producers": _listed(manifest["producers"], history)}
        manifest = {"recorded": recorded(history, manifest["producers"])} | manifest
        if manifest["state"] == "complete":
            manifest = {"files": noted(run), "sealed_ns": SEALED_NS} | manifest
    write_scenario(run, manifest, readers, transactions=transactions)
    digest = hashlib.sha256(run.scenario.read_bytes()).hexdigest()
    write_manifest(run, {"scenario_sha256": digest} | manifest)
    return run


def _listed(producers: list[dict[str, Any]], history: History) -> list[dict[str, Any]]:
    others = {send.producer for send in history.sends} - {each["producer"] for each in producers}
    return producers + [producers[0] | {"producer": number} for number in sorted(others) if producers]


def recorded(history: History, producers: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The counts of the sends of each producer, as the recorder would have had them."""
    counts: dict[int, Counter[str]] = {each["producer"]: Counter() for each in producers}
    for send in history.sends:
        counts.setdefault(send.producer, Counter())[Outcome(send.outcome).name.lower()] += 1
    return {
        str(producer): {"attempts": its.total(), **{name: its[name] for name in ("ok", "fail", "info")}}
        for producer, its in counts.items()
    }


def noted(run: RunDir) -> dict[str, dict[str, Any]]:
    """The files of the history as they are, for the manifest."""
    return {name: its.model_dump() for name, its in digests(run.history).items()}


def write_scenario(
    run: RunDir, manifest: Mapping[str, Any], readers: int = 0, *, transactions: bool = False
) -> None:
    """The scenario that asks for what a manifest says; where the manifest says nothing, for something."""
    producers = manifest["producers"] or [{"acks": "all", "idempotence": True}]
    shape = ("name", "partitions", "replication")
    topics = [{key: topic[key] for key in shape} for topic in manifest["topics"]]
    cluster = {key: manifest["cluster"][key] for key in ("brokers", "controllers", "elr")}
    scenario = {
        "name": manifest["scenario"],
        "seed": manifest["seed"],
        "cluster": cluster | {"kafka": manifest["release"]},
        "topics": topics or [{"name": "orders"}],
        "workload": {
            "producers": len(producers),
            "acks": producers[0]["acks"],
            "idempotence": producers[0]["idempotence"],
            "readers": readers,
            **({"transactions": {}} if transactions else {}),
        },
        "faults": [{"name": name} for name in manifest["schedule"]],
        "expect": {"acked_loss": manifest["expect"]},
        "accept": list(manifest["accept"]),
        "require": list(manifest.get("require", ())),
    }
    write_whole(run.scenario, scenario_text(Scenario.model_validate(scenario)))


def change_manifest(run_dir: RunDir, **changes: Any) -> None:
    """Give keys of a manifest other values; None takes a key away."""
    manifest = json.loads(run_dir.manifest.read_text()) | changes
    write_manifest(run_dir, {key: value for key, value in manifest.items() if value is not None})


def write_manifest(run: RunDir, manifest: dict[str, Any]) -> None:
    """Write a manifest that nobody has checked."""
    write_whole(run.manifest, json.dumps(manifest))


MANIFEST: dict[str, Any] = {
    "schema_version": 1,
    "tool_version": "0.1.0",
    "scenario": "demo",
    "seed": 7,
    "release": "4.3.1",
    "state": "complete",
    "phase": "seal",
    "problem": "",
    "expect": "none",
    "accept": [],
    "schedule": [],
    "owner": NOBODY,
    "clock": {"monotonic_ns": 0, "wall_ns": 0},
    "timings": {"cluster_s": 12.0},
    "topics": [{"name": "orders", "partitions": 1, "replication": 3, "config": {"min.insync.replicas": "2"}}],
    "producers": [{"producer": 1, "acks": "all", "idempotence": True}],
    "cluster": {"brokers": 3, "controllers": 3, "elr": True, "broker_config": {}},
    "load_ended_ns": 20,
    "run": RUN,
}
SEALED_NS = 1_000_000_000_000
"""Later than whatever happens in the histories of tests."""

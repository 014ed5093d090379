"""Run directories made by hand: a manifest and a small history, judged by the reference implementation."""

import json
from pathlib import Path
from typing import Any

from checkers.damage.write import write
from checkers.history.load import load
from checkers.history.rows import History
from checkers.judgement import Judgement
from checkers.reference import check
from harness.run_directory.layout import RunDir, write_whole

NOBODY = {"pid": 0, "start": "", "host": ""}


def reference(history_dir: Path) -> Judgement:
    """The judgement of the reference implementation, which needs no Spark."""
    return check(load(history_dir))


def make_run(path: Path, history: History | None, **facts: Any) -> RunDir:
    """A run directory with this history (None: it has none); `facts` go over the manifest's defaults."""
    run = RunDir(path=path)
    path.mkdir(exist_ok=True)
    if history is not None:
        write(history, run.history)
    write_manifest(run, MANIFEST | facts)
    return run


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
}

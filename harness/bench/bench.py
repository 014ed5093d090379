"""`make bench`: every figure that the project promises, measured here, each against its peer or target.

    python -m harness.bench.bench [--only PART]...

Writes build/bench.json (a list of lines) and docs/benchmarks.md. With --only, the other lines stay as they
were.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from compose.host import shell
from harness.bench.cluster import plain_ready_time, ready_times, send_lines
from harness.bench.page import page
from harness.bench.recorded import lines as recorded_lines
from spark_verify.selftest.audit_bench import bench_audit
from spark_verify.selftest.bench import bench_one_partition, bench_verifier

Line = Mapping[str, Any]
BUILD = Path("build")
PAGE = Path("docs/benchmarks.md")
ROUNDS = 3
PLAIN = 0.55
BEYOND = 2.4
"""25 s on a machine that takes 10.4 s for the peer."""
LATE_S, NEW_S, KEPT_S = 0.1, 12.0, 5.0
VERIFIER_ROWS = (1_000_000, 10_000_000)
RUN_S = 600.0
HIGHWATER = (sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())")

EVERY_FAULT = """\
name: every-fault
about: One fault of each kind, for the delay from injection to effect.
topics: [{name: orders, partitions: 6, replication: 3, config: {min.insync.replicas: 2}}]
workload: {producers: 4, acks: all, rate: 2000/s, lasts: 1s}
faults:
  - {name: partition-refuse, at: 2s, do: partition, edges: followers -> leader, for: 2s}
  - {name: partition-blackhole, after: previous.recovered + 1s, do: partition, edges: followers -> leader,
     mode: blackhole, for: 2s}
  - {name: pause, after: previous.recovered + 1s, do: pause, target: leader, for: 2s}
  - {name: disk-stall, after: previous.recovered + 1s, do: disk-stall, target: leader, for: 4s}
  - {name: stop, after: previous.recovered + 1s, do: stop, target: leader, for: 2s}
  - {name: kill, after: previous.recovered + 1s, do: kill, target: leader, for: 2s}
  - {name: power-loss, after: previous.recovered + 1s, do: power-loss, target: node 2, for: 2s}
expect: {acked_loss: any}
"""
SMALL = """\
name: small
topics: [{name: orders, partitions: 6, replication: 3, config: {min.insync.replicas: 2}}]
workload: {producers: 4, acks: all, rate: 2000/s, lasts: 10s}
faults: [{name: kill, at: 3s, do: kill, target: leader, for: 3s}]
"""


AS_LONG = "workload.lasts=28s"
"""As long as the schedules of the suite nightly, in the mean."""


def line(name: str, value: float, unit: str, *, target: float | None = None) -> dict[str, Any]:
    """A line without a peer; a target is a bound from above."""
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "peer": "",
        "peer_value": None,
        "ratio": None,
        "target": target,
        "met": None if target is None else value <= target,
    }


def cluster() -> list[Line]:
    """Seconds from nothing until every broker serves: against itself without the class-data archive, and
    against the same nodes in plain containers."""
    with_archive, without = ready_times(ROUNDS)
    peers = (
        ("the same without AppCDS", without, 1.0),
        ("its nodes in plain containers", plain_ready_time(ROUNDS), PLAIN),
    )
    lines: list[Line] = []
    for peer, value, target in peers:
        ratio = round(with_archive / value, 3)
        against = {"peer": peer, "peer_value": value, "ratio": ratio, "target": target}
        ready = line("cluster ready, with AppCDS", with_archive, "s")
        lines.append({**ready, **against, "met": ratio <= target})
    return lines


def verifier() -> list[Line]:
    """The Spark verifier against DuckDB on the same files."""
    return list(bench_verifier(VERIFIER_ROWS, BUILD.resolve() / "verifier"))


def spread() -> list[Line]:
    """One large partition on two cores against one, and on two executors against one."""
    return list(bench_one_partition(workdir=BUILD.resolve() / "verifier"))


def audit() -> list[Line]:
    """The audit of a replica on one core, against aiokafka's parser on the same file."""
    return list(bench_audit(workdir=BUILD.resolve() / "audit"))


def recorded() -> list[Line]:
    """Sealing and measuring what a load has recorded, by its size."""
    return [dict(each) for each in recorded_lines()]


def faults() -> list[Line]:
    """From the injection of each kind of fault to the moment its effect was first true."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "every-fault.yaml"
        file.write_text(EVERY_FAULT)
        highwater_run(str(file), Path(scratch))
        rows = pq.read_table(Path(scratch) / "latest/history/faults.parquet").to_pylist()
    if unproven := [f"{row['name']}: {row['evidence']}" for row in rows if not row["proven"]]:
        raise RuntimeError(f"no effect to measure of {'; '.join(unproven)}")
    return [
        line(f"inject to effect: {row['name']}", round((row["effect_ns"] - row["inject_ns"]) / 1e9, 3), "s")
        for row in rows
    ]


def overhead() -> list[Line]:
    """Wall time of a whole `highwater run` with a new cluster, beyond its schedule, against the start of six
    plain JVMs, which depends on the machine as much; medians of ROUNDS."""
    beyond = []
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(ROUNDS):
            begin = time.monotonic()
            verdict = highwater_run("acks1-leader-kill", Path(scratch))
            beyond.append(time.monotonic() - begin - verdict["timings"]["schedule_s"])
    _, without = ready_times(ROUNDS)
    value = round(statistics.median(beyond), 1)
    ratio = round(value / without, 3)
    peer = {"peer": "its cluster alone, ready without AppCDS", "peer_value": without, "ratio": ratio}
    return [
        {
            **line("a run's wall time beyond its schedule", value, "s"),
            **peer,
            "target": BEYOND,
            "met": ratio <= BEYOND,
        }
    ]


def precision() -> list[Line]:
    """How late the faults of a hard storm began."""
    with tempfile.TemporaryDirectory() as scratch:
        sets = ("--set", "storm.intensity=hard", "--seed", "7")
        times = highwater_run("storm", Path(scratch), *sets)["fault_times"]
    name = f"{times['faults']} faults of a hard storm, begin after the planned instant"
    return [
        line(f"{name}, median", times["median_late_s"], "s"),
        line(f"{name}, p99", times["p99_late_s"], "s", target=LATE_S),
    ]


def suite() -> list[Line]:
    """What the runs of a suite take beyond their schedules: on a kept cluster, and each on one of its own."""
    kept = suite_seconds("{scenario: small.yaml, at_most: 4}")["kept_cluster"]
    new = suite_seconds(f"{{scenario: small.yaml, at_most: 4, clean_stop: true, set: [{AS_LONG}]}}")
    if (kept["runs"], new["new_cluster"]["runs"]) != (3, 4):
        raise RuntimeError(f"three runs on a kept cluster and four on new ones were asked for: {kept}, {new}")
    name = "a run of a suite beyond its schedule"
    return [
        line(f"{name}, new cluster", new["new_cluster"]["mean_s"], "s", target=NEW_S),
        line(f"{name}, new cluster, most", new["new_cluster"]["most_s"], "s"),
        line(f"{name}, kept cluster", kept["mean_s"], "s", target=KEPT_S),
    ]


def suite_seconds(entry: str) -> dict[str, Any]:
    """Where the time of a suite of one scenario went. RuntimeError if it does not end well."""
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        (here / "small.yaml").write_text(SMALL)
        (here / "four.yaml").write_text(f"name: four\nscenarios: [{entry}]\n")
        options = ("--budget", "10m", "--out", str(here / "runs"))
        shell.run([*HIGHWATER, "suite", str(here / "four.yaml"), *options], timeout_s=RUN_S)
        (found,) = (here / "runs").glob("*/suite.json")
        return dict(json.loads(found.read_text())["seconds"])


def highwater_run(scenario: str, out: Path, *options: str) -> dict[str, Any]:
    """Run one scenario as a user does; its verdict.json. RuntimeError if there is none."""
    command = [*HIGHWATER, "run", scenario, *options, "--out", str(out), "--json"]
    done = shell.run(command, timeout_s=RUN_S, check=False)
    verdict = json.loads(done.stdout)
    if not isinstance(verdict, dict) or "timings" not in verdict:
        raise RuntimeError(f"{scenario} ended with exit code {done.code}: {verdict}")
    return verdict


PARTS: Mapping[str, Callable[[], Sequence[Line]]] = {
    "cluster": cluster,
    "sends": send_lines,
    "recorded": recorded,
    "verifier": verifier,
    "spread": spread,
    "audit": audit,
    "faults": faults,
    "precision": precision,
    "overhead": overhead,
    "suite": suite,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write, print; exit code 0 also if a target is missed: this is a bench, not a test."""
    parser = argparse.ArgumentParser(prog="python -m harness.bench.bench", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=list(PARTS), help="measure this part; may be repeated"
    )
    wanted = parser.parse_args(argv).only or list(PARTS)
    (BUILD / "verifier").mkdir(parents=True, exist_ok=True)
    results = _earlier()
    for name in wanted:
        print(f"measuring: {name}", flush=True)
        os.sync()  # what the part before has written would be written back during this one
        results[name] = [dict(measured) for measured in PARTS[name]()]
        _write(results)
    print(page(_flat(results)))
    return 0


def _earlier() -> dict[str, list[dict[str, Any]]]:
    """What was measured before, by part; nothing if it cannot be read."""
    try:
        lines = json.loads((BUILD / "bench.json").read_text())
    except (OSError, ValueError):
        return {}
    return {part: [each for each in lines if each.get("part") == part] for part in PARTS}


def _flat(results: Mapping[str, Sequence[Line]]) -> list[Line]:
    return [{**each, "part": part} for part in PARTS for each in results.get(part, ())]


def _write(results: Mapping[str, Sequence[Line]]) -> None:
    lines = _flat(results)
    (BUILD / "bench.json").write_text(json.dumps(lines, indent=2) + "\n")
    PAGE.write_text(page(lines))


if __name__ == "__main__":
    sys.exit(main())

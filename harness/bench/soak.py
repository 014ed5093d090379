"""A storm of an hour, and what it costs all along: memory, open files, threads.

    python -m harness.bench.soak [--duration 60m] [--seed SEED]

Every SAMPLE_S the processes of the run are looked at: `highwater run` itself, its Spark (the JVM), and the
Python workers of that, which are there near the end. Writes docs/soak.md.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import psutil

from harness.bench.bench import HIGHWATER
from harness.bench.page import measured_on
from harness.report.fault_times import in_words
from harness.run_directory.layout import LATEST, RunDir
from harness.run_directory.manifest import read_manifest

PAGE = Path("docs/soak.md")
OUT = Path("build/soak")
MIB = 1 << 20
SAMPLE_S, ROW_S, SETTLED_S = 5.0, 300.0, 300.0
FIGURES = {
    "harness_mib": "harness, MiB",
    "spark_mib": "Spark, MiB",
    "files": "open files",
    "threads": "threads",
    "connections": "connections",
}
LEVEL = tuple(name for name in FIGURES if name != "connections")
"""What does not follow the faults: whatever of it goes up all along is never given back."""
ENDING = {
    "settle_s": "in sync",
    "final_read_s": "final read",
    "disks_s": "disks",
    "seal_s": "sealing",
    "audit_s": "audit",
}
"""The phases behind the load, by their timing."""
HEAD = """\
# An hour of storm

`make soak` runs this and writes this page: `highwater run storm --set storm.intensity=normal` for the length
below, its processes looked at every 5 s. MiB are resident memory; a row has the greatest of its minutes.
Connections are counted apart from other open files. Those to brokers follow who leads: a client opens one to
each broker that it needs, a fault ends it, and a broker closes it after ten idle minutes. Of those to the
engine, the last 25 addresses that were asked keep theirs. So they come and go: the least number of them tells
what is never closed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The processes of the run, so many seconds after it was started; MiB of resident memory."""

    at_s: float
    harness_mib: float
    spark_mib: float
    files: int
    """Descriptors of anything but a connection: files, pipes."""
    threads: int
    connections: int
    """To brokers, to their proxy, and to the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Seconds after the run was started: its load had ended, its verdict was there, its process was gone."""

    load_ended_s: float
    judged_s: float
    gone_s: float


def main(argv: Sequence[str] | None = None) -> int:
    """Run it, write the page, and return the exit code of the run."""
    parser = argparse.ArgumentParser(prog="python -m harness.bench.soak", description=__doc__)
    parser.add_argument("--duration", default="60m", help="of the storm, as in 60m (default)")
    parser.add_argument("--seed", default="", help="drawn if not given")
    asked = parser.parse_args(argv)
    sets = (f"storm.duration={asked.duration}", "storm.intensity=normal")
    command = [*HIGHWATER, "run", "storm", "--out", str(OUT), "--json"]
    command += [word for each in sets for word in ("--set", each)]
    command += ["--seed", asked.seed] if asked.seed else []
    begin_s, begin = time.time(), time.monotonic()
    with TemporaryFile() as verdict_json:  # a verdict of many reasons is larger than a pipe
        with subprocess.Popen(command, stdout=verdict_json) as run:
            samples = list(_sampled(run))
        gone_s = time.monotonic() - begin
        verdict_json.seek(0)
        verdict = json.load(verdict_json)
    latest = RunDir(path=OUT / LATEST)
    moments = Moments(
        load_ended_s=(read_manifest(latest).load_ended_ns or 0) / 1e9 - begin,
        judged_s=latest.verdict.stat().st_mtime - begin_s,
        gone_s=gone_s,
    )
    PAGE.write_text(page(asked.duration, verdict, samples, moments))
    print(PAGE.read_text())
    return run.returncode


def _sampled(run: "subprocess.Popen[bytes]") -> Iterator[Sample]:
    begin = time.monotonic()
    while run.poll() is None:
        if (sample := look_at(run.pid, time.monotonic() - begin)) is not None:
            yield sample
        time.sleep(SAMPLE_S)


def look_at(pid: int, at_s: float) -> Sample | None:
    """The process and its children as they are now; None if it has just ended."""
    try:
        run = psutil.Process(pid)
        connections = len(run.net_connections("all"))
        return Sample(
            at_s=at_s,
            harness_mib=run.memory_info().rss / MIB,
            spark_mib=sum(_resident_mib(child) for child in run.children(recursive=True)),
            files=run.num_fds() - connections,
            threads=run.num_threads(),
            connections=connections,
        )
    except psutil.NoSuchProcess:
        return None


def _resident_mib(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss / MIB)
    except psutil.NoSuchProcess:
        return 0.0


def page(duration: str, verdict: Mapping[str, Any], samples: Sequence[Sample], moments: Moments) -> str:
    """The whole page."""
    windows = verdict["exposure"]["fault_windows"]
    proven = sum(window["proven"] and window["recovered"] for window in windows)
    loaded = [one for one in samples if one.at_s < moments.load_ended_s]
    late = in_words(verdict["fault_times"])
    return "\n".join(
        [
            HEAD,
            measured_on(),
            "",
            f"{duration}, seed {verdict['seed']}: **{verdict['verdict']}**, {verdict['outcome']}. "
            f"{len(windows)} faults, {proven} of them with evidence of effect and recovery; {late}.",
            "",
            *_growth(loaded),
            _end(verdict["timings"], moments),
            "",
            *_curve(loaded),
            "",
            f"| minutes | {' | '.join(FIGURES.values())} |",
            f"|{'---|' * (1 + len(FIGURES))}",
            *_rows(samples),
            "",
        ]
    )


def _end(timings: Mapping[str, float | None], moments: Moments) -> str:
    """How long it took from the end of the load, and what of that: some of it goes on side by side."""
    parts = ", ".join(f"{what} {timings[name] or 0.0:.0f}" for name, what in ENDING.items())
    judged_s, gone_s = moments.judged_s - moments.load_ended_s, moments.gone_s - moments.judged_s
    end = f"- from the end of the load to the verdict: {judged_s:.0f} s ({parts})"
    return f"{end}, to the end: {gone_s:.0f} s more"


def _growth(loaded: Sequence[Sample]) -> Iterator[str]:
    """From the fifth minute on under load: medians of a minute at both ends, connections by halves."""
    settled = [one for one in loaded if one.at_s >= SETTLED_S]
    if not settled or settled[-1].at_s < SETTLED_S + 120:
        yield "The load was too short to say anything of growth."
        return
    begin = [one for one in settled if one.at_s < settled[0].at_s + 60]
    end = [one for one in settled if one.at_s > settled[-1].at_s - 60]
    for name in LEVEL:
        first, last = (statistics.median(getattr(one, name) for one in part) for part in (begin, end))
        grown = (last / first - 1) * 100 if first else 0.0
        yield f"- {FIGURES[name]}: {first:.0f} in the sixth minute, {last:.0f} in the last: {grown:+.1f} %"
    connections, middle = [one.connections for one in settled], len(settled) // 2
    early, late = _spread(connections[:middle]), _spread(connections[middle:])
    yield f"- connections: {early} in the first half from the sixth minute on, {late} in the second"


def _spread(counts: Sequence[int]) -> str:
    return f"{min(counts)} to {max(counts)}, {statistics.median(counts):.0f} by median"


def _curve(loaded: Sequence[Sample]) -> Iterator[str]:
    """The harness's memory, minute by minute, as a Mermaid chart."""
    minutes = [
        [one for one in loaded if one.at_s // 60 == minute]
        for minute in range(int(loaded[-1].at_s // 60) + 1)
    ]
    means = [f"{statistics.fmean(one.harness_mib for one in part):.0f}" for part in minutes if part]
    yield "```mermaid"
    yield "xychart-beta"
    yield '    title "the harness, minute by minute"'
    yield f'    x-axis "minute" 1 --> {len(means)}'
    yield '    y-axis "MiB of resident memory" 0 --> 400'
    yield f"    line [{', '.join(means)}]"
    yield "```"


def _rows(samples: Sequence[Sample]) -> Iterator[str]:
    for number in range(int(samples[-1].at_s // ROW_S) + 1):
        part = [one for one in samples if one.at_s // ROW_S == number]
        if part:
            most = [max(getattr(one, name) for one in part) for name in FIGURES]
            cells = " | ".join(f"{value:.0f}" for value in most)
            yield f"| {number * 5} to {number * 5 + 5} | {cells} |"


if __name__ == "__main__":
    sys.exit(main())

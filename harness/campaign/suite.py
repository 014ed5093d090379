"""One or several runs in one process and one Spark session, and what is printed around and after them."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any, TextIO

from compose.docker.labels import owner_of
from compose.spec.server_properties import server_properties
from compose.spec.topology import RESERVED
from harness.errors import Interrupted
from harness.report.report import Report, worst_exit_code
from harness.run.interrupts import Interrupts
from harness.run.run import Job, run
from harness.run.steps import Rooms
from harness.run_directory import layout
from harness.run_directory.manifest import Manifest
from harness.scenario.resolve import Resolved
from harness.terminal.panel import LivePanel
from harness.terminal.progress import Lines, Show
from harness.terminal.summary import side_by_side, words

SEED_BITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run and where to tell; with `as_json`, stdout holds nothing but JSON."""

    out: Path
    as_json: bool
    argv: tuple[str, ...]

    @property
    def progress(self) -> TextIO:
        """Where a person reads along."""
        return sys.stderr if self.as_json else sys.stdout


def derived_seeds(first: int, count: int) -> list[int]:
    """`count` different seeds, the first of which is `first`; the same for the same `first`."""
    draw, seeds = Random(first), [first]
    while len(seeds) < count:
        seed = draw.getrandbits(SEED_BITS)
        if seed not in seeds:
            seeds.append(seed)
    return seeds


def run_suite(orders: Sequence[Resolved], rooms: Rooms, options: Options) -> int:
    """Run all, one after the other; returns the exit code: the worst, or that of the interrupt."""
    reports: list[Report] = []
    with Interrupts(lambda text: print(f"        {text}", file=options.progress, flush=True)) as interrupts:
        try:
            for order in orders:
                reports.append(_run_one(order, rooms, options, interrupts))
                if interrupts.received is not None:
                    break
        except Interrupted:
            pass
    _tell_all(reports, options)
    if interrupts.received is not None:
        return 128 + interrupts.received
    return worst_exit_code(reports)


def _run_one(order: Resolved, rooms: Rooms, options: Options, interrupts: Interrupts) -> Report:
    out = options.progress
    place = layout.create(options.out, order.scenario.name, order.seed)
    layout.write_whole(place.scenario, order.text())
    print(f"seed {order.seed}  scenario {order.scenario.name}  {place.path}", file=out, flush=True)
    manifest = Manifest(place, facts_of(order, options.argv))
    try:
        with show_for(order, options) as show:
            job = Job(
                resolved=order, run=place, manifest=manifest, rooms=rooms, show=show, interrupts=interrupts
            )
            report = replace(run(job), name=f"{order.scenario.name}, seed {order.seed}")
        report.write(place)
        print(f"\n{words(report)}", file=out, flush=True)
    finally:
        print(f"seed {order.seed}  {place.path}\n", file=out, flush=True)
    return report


def show_for(order: Resolved, options: Options) -> AbstractContextManager[Show]:
    """The live panel on a terminal, lines everywhere else."""
    if options.progress.isatty() and not options.as_json:
        return LivePanel(f"{order.scenario.name}, seed {order.seed}")
    return Lines(options.progress)


def facts_of(order: Resolved, argv: Sequence[str]) -> dict[str, Any]:
    """What the manifest says from the start; keys as in docs/history.md."""
    scenario, workload = order.scenario, order.scenario.workload
    owner = owner_of(scenario.name, os.getpid())
    brokers = server_properties(order.topology, 1, client_address="")
    return {
        "tool_version": version("highwater"),
        "scenario": scenario.name,
        "seed": order.seed,
        "argv": list(argv),
        "release": scenario.cluster.kafka,
        "expect": scenario.expect.acked_loss,
        "accept": list(scenario.accept),
        "owner": {"pid": owner.pid, "start": owner.start, "host": owner.host},
        "topics": [topic.model_dump(mode="json") for topic in scenario.topics],
        "producers": [
            {"producer": number, "acks": workload.acks, "idempotence": workload.idempotent}
            for number in range(workload.producers)
        ],
        "cluster": {
            "brokers": scenario.cluster.brokers,
            "controllers": scenario.cluster.controllers,
            "combined": scenario.cluster.combined,
            "elr": order.topology.elr_on,
            "broker_config": {key: text for key, text in brokers.items() if not RESERVED.fullmatch(key)},
        },
        "schedule": [step.name for step in order.steps],
    }


def _tell_all(reports: Sequence[Report], options: Options) -> None:
    if options.as_json:
        documents = [report.as_json() for report in reports]
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
    if len(reports) > 1:
        print(side_by_side(reports), file=options.progress, flush=True)

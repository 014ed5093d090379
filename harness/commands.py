"""What each command of the command line does; each returns its exit code."""

import json
import sys
from argparse import Namespace
from collections.abc import Collection
from pathlib import Path
from typing import TextIO

from harness.scenario.resolve import Resolved, catalogue, draw_seed, find, resolve

# Spark, Docker and the Kafka client take seconds to import; a command imports the ones it needs.


def run(arguments: Namespace) -> int:
    """`highwater run`: resolve everything first, then run one after the other."""
    from harness.campaign.suite import Options, derived_seeds, run_suite

    sets = [*arguments.sets, *([f"cluster.kafka={arguments.kafka}"] if arguments.kafka else [])]
    first = draw_seed() if arguments.seed is None and arguments.repeat > 1 else arguments.seed
    seeds = [first] if arguments.repeat == 1 else derived_seeds(first, arguments.repeat)
    files = [find(name) for name in arguments.scenarios]
    orders = [resolve(*file, sets=sets, seed=seed) for file in files for seed in seeds]
    options = Options(out=arguments.out, as_json=arguments.json, argv=tuple(sys.argv[1:]))
    if arguments.repeat > 1:
        print(f"seeds {' '.join(map(str, seeds))}", file=options.progress, flush=True)
    from harness.run.live_steps import RealRooms

    _prepare_images({order.topology.kafka for order in orders}, options.progress)
    with RealRooms(arguments.spark_master) as rooms:
        return run_suite(orders, rooms, options)


def _prepare_images(releases: Collection[str], out: TextIO) -> None:
    """Pull or build what a release needs, before any live view, and tell why that fails."""
    from compose.errors import ComposeError, EngineUnreachable
    from compose.setup.prepare import ensure_images

    for release in sorted(releases):
        try:
            ensure_images(release, lambda text: print(text, file=out, flush=True))
        except EngineUnreachable:
            return  # the run says the same
        except ComposeError as error:
            print(error, file=out, flush=True)


def check(arguments: Namespace) -> int:
    """`highwater check`: judge a run directory again."""
    from harness.check import check_run

    report = check_run(arguments.run, arguments.spark_master)
    if arguments.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        from harness.terminal.summary import words

        print(words(report))
    return report.verdict.exit_code


def scenario_list(arguments: Namespace) -> int:
    """`highwater scenario list`: the shipped scenarios."""
    entries = list(catalogue())
    if arguments.json:
        print(json.dumps(entries, indent=2))
        return 0
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        print(f"{entry['name']:<{width}}  acked loss expected: {entry['expect']:<9}  {entry['about']}")
    return 0


def scenario_show(arguments: Namespace) -> int:
    """`highwater scenario show`: a shipped scenario's file, as it is."""
    text, _ = find(arguments.name)
    print(text, end="")
    return 0


def scenario_validate(arguments: Namespace) -> int:
    """`highwater scenario validate`: complain, or say in one line what would run."""
    resolved: Resolved = resolve(*find(arguments.file), sets=arguments.sets)
    scenario = resolved.scenario
    faults = ", ".join(f"{step.kind} {step.asked}" for step in resolved.steps) or "no faults"
    print(f"{Path(arguments.file).name}: valid. {scenario.name}: Kafka {scenario.cluster.kafka}, {faults}")
    return 0


def doctor(arguments: Namespace) -> int:
    """`highwater doctor`: what this machine lacks."""
    from harness.machine import tell_doctor

    return tell_doctor(as_json=arguments.json)


def clean(arguments: Namespace) -> int:
    """`highwater clean`: remove what dead runs left behind."""
    from harness.machine import tell_clean

    return tell_clean(everything=arguments.all)

"""What each command of the command line does; each returns its exit code."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO

from harness.errors import EXIT_ERROR, EXIT_SURVIVED, EXIT_UNKNOWN, HighwaterError, UsageError

if TYPE_CHECKING:
    from compose.setup.doctor import Check
    from harness.campaign.accept.acceptance import Acceptance
    from harness.campaign.suites.files.record import SuiteRecord
    from harness.campaign.upgrade.record import UpgradeRecord

OUT = Path("runs")
SPARK_MASTER = "local[*]"

# Arrow, Spark, Docker and the Kafka client take seconds to import; a command imports the ones it needs.


def run(arguments: Namespace) -> int:
    """`highwater run`: resolve everything first, then run one after the other."""
    from harness import api
    from harness.scenario.resolve import derived_seeds, draw_seed
    from harness.terminal.read_along import read_along
    from harness.terminal.summary import side_by_side

    progress = read_along(sys.stderr if arguments.json else sys.stdout)
    sets = [*arguments.sets, *([] if arguments.kafka is None else [f"cluster.kafka={arguments.kafka}"])]
    first = draw_seed() if arguments.seed is None and arguments.repeat > 1 else arguments.seed
    seeds = [first] if arguments.repeat == 1 else derived_seeds(first, arguments.repeat)
    scenarios = [api.resolved(name, seed=seed, sets=sets) for name in arguments.scenarios for seed in seeds]
    if arguments.repeat > 1:
        print(f"seeds {' '.join(map(str, seeds))}", file=progress, flush=True)
    result = api.run_all(
        scenarios,
        out=arguments.out,
        spark_master=arguments.spark_master,
        progress=progress,
        panel=progress.isatty() and not arguments.json,
        argv=sys.argv[1:],
    )
    if arguments.json:
        documents = [report.as_json() for report in result.reports]
        print(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
    if len(result.reports) > 1:
        print(side_by_side(result.reports), file=progress, flush=True)
    return result.exit_code


def suite(arguments: Namespace) -> int:
    """`highwater suite`: draw runs until the budget is spent, or go on with a suite."""
    from harness.campaign.suites.files.observed import observed_text
    from harness.campaign.suites.files.table import table
    from harness.terminal.read_along import read_along

    progress = read_along(sys.stderr if arguments.json else sys.stdout)
    if (arguments.suite is None) == (arguments.resume is None):
        raise UsageError("suite: give the name or file of a suite, or --resume DIR")
    made = _drawn_suite if arguments.resume is None else _resumed_suite
    record = made(arguments, progress)
    if arguments.json:
        print(record.as_text(), end="")
    print(f"\n{table(record)}", file=progress, flush=True)
    if seen := observed_text(record, get_terminal_size().columns):
        print(f"\n{seen}", file=progress, flush=True)
    return EXIT_ERROR if record.exit_code is None else record.exit_code


def _drawn_suite(arguments: Namespace, progress: TextIO) -> "SuiteRecord":
    from harness import api

    return api.suite(
        arguments.suite,
        budget_s=arguments.budget,
        repeat=arguments.repeat,
        seed=arguments.seed,
        shard="1/1" if arguments.shard is None else arguments.shard,
        out=arguments.out,
        spark_master=arguments.spark_master,
        progress=progress,
        argv=sys.argv[1:],
    )


def _resumed_suite(arguments: Namespace, progress: TextIO) -> "SuiteRecord":
    from harness import api

    if any(each is not None for each in (arguments.seed, arguments.shard, arguments.repeat)):
        raise UsageError("suite: --resume goes on with the seed, the shard and the repeats of the suite")
    return api.resume_suite(
        arguments.resume,
        budget_s=arguments.budget,
        spark_master=arguments.spark_master,
        progress=progress,
        argv=sys.argv[1:],
    )


def accept(arguments: Namespace) -> int:
    """`highwater accept`: what a configuration promises, or each of a matrix; and its proof."""
    from harness.campaign.accept.matrix.matrix import NAME, is_matrix

    if wrong := next(_wrong_with_accept(arguments), None):
        raise UsageError(f"accept: {wrong}")
    arguments.out = arguments.out or OUT
    arguments.spark_master = arguments.spark_master or SPARK_MASTER
    if arguments.configuration == NAME or (arguments.resume is not None and is_matrix(arguments.resume)):
        return _matrix(arguments)
    return _promised(arguments) if arguments.no_proof else _proven(arguments)


def _wrong_with_accept(arguments: Namespace) -> Iterator[str]:
    """Options that do not go together: each would be ignored."""
    given = (arguments.configuration, arguments.from_topic, arguments.resume)
    if sum(each is not None for each in given) != 1:
        yield "give a configuration, or --from-topic NAME, or --resume DIR"
    if (arguments.from_topic is None) != (arguments.bootstrap is None):
        yield "--from-topic and --bootstrap go together"
    if arguments.client and arguments.from_topic is None:
        yield "--client is for the cluster of --from-topic"
    limited = arguments.search_limit is not None
    if arguments.resume is not None:
        if arguments.no_proof:
            yield "--resume goes on with a proof"
        if arguments.sets or arguments.seed is not None or arguments.no_search or limited:
            yield "--resume goes on with the configuration, the seed and the searches that there are"
        if arguments.out is not None:
            yield "--resume goes on in the directory that there is: it takes no --out"
    if arguments.no_search and limited:
        yield "--no-search and --search-limit exclude each other"
    of_runs = (arguments.seed, arguments.budget, arguments.out, arguments.spark_master)
    if arguments.no_proof and (limited or arguments.no_search or any(each is not None for each in of_runs)):
        yield (
            "--no-proof searches nothing and runs nothing: it takes no --no-search, --search-limit, --seed, "
            "--budget, --out or --spark-master"
        )


def _promised(arguments: Namespace) -> int:
    from harness import api
    from harness.campaign.accept import page
    from harness.campaign.accept.acceptance import exit_code

    record = api.promise(_acceptance(arguments))
    print(record.as_text() if arguments.json else _fitted(page.promise(record), sys.stdout))
    return exit_code(record, None)


def _proven(arguments: Namespace) -> int:
    from checkers.verdict.algebra import Verdict
    from harness import api
    from harness.campaign.accept import page
    from harness.campaign.accept.acceptance import exit_code, no_run
    from harness.campaign.suites.files.table import table
    from harness.campaign.suites.made import judged_entries
    from harness.terminal.read_along import read_along

    progress = read_along(sys.stderr if arguments.json else sys.stdout)
    if arguments.resume is not None:
        record, suite = api.resume_accept(
            arguments.resume,
            budget_s=arguments.budget,
            spark_master=arguments.spark_master,
            progress=progress,
            argv=sys.argv[1:],
        )
    else:
        its = _acceptance(arguments)
        record = api.promise(its)
        print(f"{_fitted(page.promise(record), progress)}\n", file=progress, flush=True)
        if no_run(its):
            print(page.answer(record, {}), file=progress, flush=True)
            if arguments.json:
                print(json.dumps(page.as_json(record, {}), indent=2))
            return exit_code(record, None) or Verdict.UNKNOWN.exit_code
        record, suite = api.accept(
            its,
            search_s=0.0 if arguments.no_search else arguments.search_limit,
            seed=arguments.seed,
            budget_s=arguments.budget,
            out=arguments.out,
            spark_master=arguments.spark_master,
            progress=progress,
            argv=sys.argv[1:],
        )
    judged = judged_entries(suite)
    print(f"\n{table(suite)}\n\n{page.answer(record, judged)}", file=progress, flush=True)
    if arguments.json:
        print(json.dumps(page.as_json(record, judged), indent=2))
    return exit_code(record, suite)


def _acceptance(arguments: Namespace) -> "Acceptance":
    from harness import api

    if arguments.from_topic is None:
        return api.configured(arguments.configuration, sets=arguments.sets)
    client = dict(_assignment(each) for each in arguments.client)
    return api.of_topic(arguments.from_topic, arguments.bootstrap, client=client, sets=arguments.sets)


def _assignment(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise UsageError(f"accept: --client {name}: expected KEY=VALUE, as in security.protocol=SSL")
    return name, value


def _matrix(arguments: Namespace) -> int:
    from harness import api
    from harness.campaign.accept.matrix import matrix_page
    from harness.campaign.accept.matrix.matrix import exit_code
    from harness.campaign.suites.made import judged_entries
    from harness.terminal.read_along import read_along

    if arguments.no_proof:
        promised = api.promised_matrix(sets=arguments.sets)
        text = _fitted(matrix_page.table(promised), sys.stdout)
        print(promised.model_dump_json(indent=2) if arguments.json else text)
        return exit_code(promised, None)
    progress = read_along(sys.stderr if arguments.json else sys.stdout)
    if arguments.resume is not None:
        record, suite = api.resume_matrix(
            arguments.resume,
            budget_s=arguments.budget,
            spark_master=arguments.spark_master,
            progress=progress,
            argv=sys.argv[1:],
        )
    else:
        record, suite = api.accept_matrix(
            sets=arguments.sets,
            search_s=0.0 if arguments.no_search else arguments.search_limit,
            seed=arguments.seed,
            budget_s=arguments.budget,
            out=arguments.out,
            spark_master=arguments.spark_master,
            progress=progress,
            argv=sys.argv[1:],
        )
    judged = judged_entries(suite)
    print(f"\n{matrix_page.table(record, judged)}", file=progress, flush=True)
    if arguments.json:
        print(json.dumps(matrix_page.as_json(record, judged), indent=2))
    return exit_code(record, suite)


def upgrade(arguments: Namespace) -> int:
    """`highwater upgrade`: show what an upgrade costs, and which way back there is, or go on with one."""
    from harness.campaign.suites.files.table import table
    from harness.campaign.upgrade.page import answer
    from harness.terminal.read_along import read_along

    releases = (arguments.older, arguments.newer)
    if (arguments.resume is None and None in releases) or (arguments.resume and releases != (None, None)):
        raise UsageError("upgrade: give two releases, as in 4.0.0 4.3.1, or --resume DIR")
    progress = read_along(sys.stderr if arguments.json else sys.stdout)
    made = _new_upgrade if arguments.resume is None else _resumed_upgrade
    record, suite = made(arguments, progress)
    print(f"\n{table(suite)}\n\n{answer(record)}", file=progress, flush=True)
    if arguments.json:
        print(record.as_text(), end="")
    return EXIT_ERROR if suite.exit_code is None else suite.exit_code


def _new_upgrade(arguments: Namespace, progress: TextIO) -> "tuple[UpgradeRecord, SuiteRecord]":
    from harness import api

    return api.upgrade(
        arguments.older,
        arguments.newer,
        only=arguments.only,
        sets=arguments.sets,
        seed=arguments.seed,
        budget_s=arguments.budget,
        out=arguments.out,
        spark_master=arguments.spark_master,
        progress=progress,
        argv=sys.argv[1:],
    )


def _resumed_upgrade(arguments: Namespace, progress: TextIO) -> "tuple[UpgradeRecord, SuiteRecord]":
    from harness import api

    if arguments.only or arguments.sets or arguments.seed is not None:
        raise UsageError(
            "upgrade: --resume goes on with the phases, the settings and the seed of the upgrade"
        )
    return api.resume_upgrade(
        arguments.resume,
        budget_s=arguments.budget,
        spark_master=arguments.spark_master,
        progress=progress,
        argv=sys.argv[1:],
    )


def check(arguments: Namespace) -> int:
    """`highwater check`: judge a run directory again."""
    from harness import api
    from harness.terminal.summary import report_text

    report = api.check(arguments.run, spark_master=arguments.spark_master)
    text = _fitted(report_text(report), sys.stdout)
    print(json.dumps(report.as_json(), indent=2) if arguments.json else text)
    return report.verdict.exit_code


def selftest(arguments: Namespace) -> int:
    """`highwater selftest`: judge damaged copies of a run; 1 if one goes unnoticed, 3 without any."""
    import time

    from harness import api
    from harness.selftest import kill_table

    began, results, family = time.monotonic(), [], ""
    with api.selftest(arguments.run, only=arguments.only, spark_master=arguments.spark_master) as test:
        if not arguments.json:
            print(kill_table.heading(test.report, len(test.mutants)), flush=True)
        for result in test:
            results.append(result)
            if arguments.json:
                continue
            if result.mutant.family != family:
                family = result.mutant.family
                print(f"\n{family}", flush=True)
            print(kill_table.row(result), flush=True)
    if arguments.json:
        print(json.dumps(kill_table.as_json(test.report, results), indent=2))
    else:
        print(f"\n{kill_table.summary(results, time.monotonic() - began)}")
    if not any(result.applied for result in results):
        print("highwater: none of these damages applies to this run: nothing is shown", file=sys.stderr)
        return EXIT_UNKNOWN
    return EXIT_SURVIVED if any(result.survived for result in results) else 0


def _fitted(text: str, out: TextIO) -> str:
    from harness.terminal.columns import width_of, wrapped

    return wrapped(text, width_of(out))


def scenario_list(arguments: Namespace) -> int:
    """`highwater scenario list`: the shipped scenarios by group, or those with all of some tags."""
    from harness.scenario.catalogue import catalogue, listing

    entries = catalogue(arguments.tags)
    if arguments.json:
        print(json.dumps([entry.as_json() for entry in entries], indent=2))
    elif entries:
        print(_fitted("\n".join(listing(entries)), sys.stdout))
    else:
        print(f"no scenario has {' and '.join(arguments.tags)} together")
    return 0


def scenario_show(arguments: Namespace) -> int:
    """`highwater scenario show`: a shipped scenario's file, as it is."""
    from harness.scenario.resolve import find

    text, _ = find(arguments.name)
    print(text, end="")
    return 0


def scenario_validate(arguments: Namespace) -> int:
    """`highwater scenario validate`: describe each in a line, and complain at the end."""
    from harness.scenario.validate import Validation

    validation = Validation(names=arguments.files, sets=arguments.sets, seed=arguments.seed)
    for line in validation.descriptions():
        print(line, flush=True)
    if validation.refused:
        raise UsageError("\n".join(validation.refused))
    return 0


def setup(arguments: Namespace) -> int:
    """`highwater setup`: Java, Docker Engine, images and Spark's class archive, whatever is missing."""
    from compose.docker import images
    from compose.host.progress import print_line
    from compose.setup.prepare import prepare_machine
    from spark_verify.make_class_archive import prepare_archive, remove_archives

    if arguments.remove:
        for name in images.remove_ours():
            print_line(f"removed image {name}")
        remove_archives()
        return 0
    prepare_machine(docker=not arguments.no_docker, on_line=print_line)
    prepare_archive(print_line)
    return 0


def doctor(arguments: Namespace) -> int:
    """`highwater doctor`: print every check; 4 if something is missing."""
    from compose.setup.doctor import examine

    checks = examine()
    if arguments.json:
        print(json.dumps([asdict(each) for each in checks], indent=2))
    else:
        print("\n".join(map(_check_text, checks)))
    return 0 if all(each.ok for each in checks) else EXIT_ERROR


def _check_text(check: "Check") -> str:
    line = f"{'ok     ' if check.ok else 'MISSING'}  {check.name}: {check.seen}"
    return line if check.ok else f"{line}\n         why: {check.why}\n         next step: {check.next_step}"


def clean(arguments: Namespace) -> int:
    """`highwater clean`: remove what dead runs (or all runs) left behind, and print each thing."""
    from compose.cleanup import cleanup

    report = cleanup.clean_all() if arguments.all else cleanup.clean_dead()
    for line in report.lines():
        print(line)
    if report.did_nothing():
        print("nothing to remove")
    if report.failed:
        raise HighwaterError(f"{len(report.failed)} things could not be removed; try again")
    return 0

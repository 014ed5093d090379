"""The command line: `highwater run | suite | accept | upgrade | check | selftest | scenario | …`.

Exit codes: 0 PASS · 1 FAIL · 2 usage or scenario error · 3 UNKNOWN · 4 ERROR · 129/130/143 interrupted · 141
nobody read standard output to its end. A crash of the tool itself is an ERROR in one sentence, never a
traceback and never exit 1.
"""

import argparse
import errno
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path

from compose.host.memory import restart_without_thread_caches
from harness import commands
from harness.errors import (
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_UNREAD,
    EXIT_USAGE,
    HighwaterError,
    Interrupted,
    is_ours,
    unforeseen,
)

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write answers where there is no room, or the disk is broken."""
LOADED = (commands.run, commands.suite, commands.accept, commands.upgrade)
"""The commands that put a load on a cluster, for hours perhaps."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Every error is a sentence on stderr."""
    if sys.stdout is None:  # the shell has closed it
        return _failed("standard output is closed", EXIT_ERROR)
    code = _ended(argv)
    try:
        sys.stdout.flush()
    except OSError as error:
        return _unprinted(error)
    return code


def _ended(argv: Sequence[str] | None) -> int:
    try:
        arguments = _parsed(argv)
        if argv is None and arguments.command in LOADED:
            restart_without_thread_caches()
        code: int = arguments.command(arguments)
        sys.stdout.flush()
    except HighwaterError as error:
        return _failed(str(error), error.exit_code)
    except Interrupted as interrupted:
        return interrupted.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else EXIT_USAGE
    except Exception as error:
        if isinstance(error, OSError) and _is_of_stdout(error):
            return _unprinted(error)
        return _failed(str(error) if is_ours(error) else f"internal error: {unforeseen(error)}", EXIT_ERROR)
    return code


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line; SystemExit also where its error cannot be told.

    What argparse prints is printed here: newer releases of Python ignore there whether it could be written.
    """
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            return parser().parse_args(argv)
    except SystemExit:
        print(printed.getvalue(), end="", flush=True)
        raise
    except OSError:
        _give_up_stderr()
        raise SystemExit(EXIT_USAGE) from None


def _failed(text: str, code: int) -> int:
    """The code holds whether or not anybody can be told."""
    try:
        print(f"highwater: {text}", file=sys.stderr, flush=True)
    except OSError:
        _give_up_stderr()
    return code


def _give_up_stderr() -> None:
    """What is buffered could not be written when Python ends either, which would be its exit code."""
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends


def _is_of_stdout(error: OSError) -> bool:
    """Whether nothing can be written there: tried once more, as an error of a file may look the same."""
    if error.errno not in FULL or error.filename is not None:
        return isinstance(error, BrokenPipeError)
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"\n")
    except OSError as again:
        return again.errno == error.errno
    return False


def _unprinted(error: OSError) -> int:
    """Nothing more can be printed, neither now nor when Python ends; of a reader that has gone no word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return EXIT_UNREAD
    return _failed(f"standard output: {error.strerror}", EXIT_ERROR)


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="highwater",
        description="Chaos tests for real Kafka clusters: is any acknowledged record lost, and why?",
        epilog="Exit codes: 0 PASS, 1 FAIL, 2 usage, 3 UNKNOWN, 4 ERROR, 129/130/143 interrupted, "
        "141 standard output not read to its end.",
    )
    top.add_argument("--version", action="version", version=f"highwater {version('highwater')}")
    kinds = top.add_subparsers(required=True, metavar="COMMAND")
    _add_run(kinds)
    _add_suite(kinds)
    _add_accept(kinds)
    _add_upgrade(kinds)
    _add_check(kinds)
    _add_selftest(kinds)
    _add_scenario(kinds)
    setup = kinds.add_parser("setup", help="install or build what this machine lacks, once")
    setup.add_argument("--no-docker", action="store_true", help="only what `highwater check` needs")
    setup.add_argument("--remove", action="store_true", help="remove the images and archives it made")
    setup.set_defaults(command=commands.setup)
    doctor = kinds.add_parser("doctor", help="list what this machine lacks, and why it is needed")
    doctor.add_argument("--json", action="store_true", help="as JSON")
    doctor.set_defaults(command=commands.doctor)
    clean = kinds.add_parser("clean", help="remove what dead runs left: containers, networks, volumes, disks")
    clean.add_argument("--all", action="store_true", help="also what belongs to runs that are still alive")
    clean.set_defaults(command=commands.clean)
    return top


def _add_run(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    run = kinds.add_parser("run", help="run scenarios on a real cluster and judge them")
    run.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="a shipped name, or a file")
    run.add_argument("--seed", type=_seed, help="of every random choice; drawn if not given")
    _add_sets(run, SET_HELP)
    _add_out(run)
    run.add_argument("--repeat", type=_count, default=1, metavar="N", help="run N times with derived seeds")
    run.add_argument("--kafka", metavar="RELEASE", help="the same as --set cluster.kafka=RELEASE")
    run.add_argument("--json", action="store_true", help="verdicts as JSON on stdout, progress on stderr")
    _add_master(run)
    run.set_defaults(command=commands.run)


def _add_suite(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    suite = kinds.add_parser(
        "suite", help="run a suite: every shipped scenario, or runs drawn until a budget is spent"
    )
    suite.add_argument("suite", nargs="?", metavar="SUITE", help="a shipped name, or a file")
    suite.add_argument(
        "--budget",
        type=_duration,
        metavar="TIME",
        help="for example 60m; catalogue needs none, it ends by itself",
    )
    suite.add_argument("--repeat", type=_count, metavar="N", help="catalogue: run each scenario N times")
    suite.add_argument("--seed", type=_seed, help="of the draw; drawn if not given")
    suite.add_argument("--shard", metavar="I/N", help="this machine's part of the draw; give --seed too")
    suite.add_argument("--resume", type=Path, metavar="DIR", help="go on with the suite in DIR")
    _add_out(suite)
    suite.add_argument("--json", action="store_true", help="suite.json on stdout, progress on stderr")
    _add_master(suite)
    suite.set_defaults(command=commands.suite)


def _add_accept(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    accept = kinds.add_parser(
        "accept",
        help="say what a configuration promises, and prove it on a real cluster",
        description=ACCEPT_HELP,
    )
    accept.add_argument(
        "configuration",
        nargs="?",
        metavar="CONFIG",
        help="a profile (payments, analytics), a file, or matrix",
    )
    _add_sets(accept, ACCEPT_SET_HELP)
    accept.add_argument("--from-topic", metavar="NAME", help="of a running cluster, which is only read")
    accept.add_argument("--bootstrap", metavar="HOST:PORT,…", help="where that cluster is")
    accept.add_argument(
        "--client",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of librdkafka to reach it, as security.protocol=SSL",
    )
    accept.add_argument("--no-proof", action="store_true", help="answer from the contract alone")
    accept.add_argument("--no-search", action="store_true", help="search no counterexamples")
    accept.add_argument(
        "--search-limit", type=_duration, metavar="TIME", help="of each search; default: 300s"
    )
    accept.add_argument("--budget", type=_duration, metavar="TIME", help="of all runs; none by default")
    accept.add_argument("--seed", type=_seed, help="of the runs; drawn if not given")
    accept.add_argument(
        "--resume", type=Path, metavar="DIR", help="go on with the acceptance or the matrix in DIR"
    )
    _add_out(accept)
    accept.add_argument(
        "--json", action="store_true", help="accept.json or matrix.json on stdout, progress on stderr"
    )
    _add_master(accept)
    # None: not given, so that a command that ignores them can say so.
    accept.set_defaults(command=commands.accept, out=None, spark_master=None)


def _add_upgrade(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    upgrade = kinds.add_parser(
        "upgrade",
        help="upgrade a real cluster under load and faults, and go back",
        description=UPGRADE_HELP,
    )
    upgrade.add_argument("older", nargs="?", metavar="FROM", help="the release to begin with, as 4.0.0")
    upgrade.add_argument("newer", nargs="?", metavar="TO", help="the newer release, as 4.3.1")
    upgrade.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PHASE",
        help="up, down or refused; may be given again",
    )
    _add_sets(upgrade, SET_HELP)
    upgrade.add_argument("--budget", type=_duration, metavar="TIME", help="of all runs; none by default")
    upgrade.add_argument("--seed", type=_seed, help="of the runs; drawn if not given")
    upgrade.add_argument("--resume", type=Path, metavar="DIR", help="go on with the upgrade in DIR")
    _add_out(upgrade)
    upgrade.add_argument("--json", action="store_true", help="upgrade.json on stdout, progress on stderr")
    _add_master(upgrade)
    upgrade.set_defaults(command=commands.upgrade)


def _add_check(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    check = kinds.add_parser("check", help="judge a run again from its directory, without Docker")
    check.add_argument("run", type=Path, metavar="RUN", help="a run directory, for example runs/latest")
    check.add_argument("--json", action="store_true", help="the verdict as JSON")
    _add_master(check)
    check.set_defaults(command=commands.check)


def _add_selftest(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    selftest = kinds.add_parser(
        "selftest",
        help="damage copies of a run in every way, and see that the verdict notices",
        description=SELFTEST_HELP,
    )
    selftest.add_argument("run", type=Path, metavar="RUN", help="a run directory; it is not changed")
    selftest.add_argument(
        "--only", action="append", default=[], metavar="MUTANT", help="this one; may be given again"
    )
    selftest.add_argument("--json", action="store_true", help="the kill table as JSON")
    _add_master(selftest)
    selftest.set_defaults(command=commands.selftest)


def _add_scenario(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    scenario = kinds.add_parser("scenario", help="list, show or validate scenarios")
    verbs = scenario.add_subparsers(required=True, metavar="VERB")
    listing = verbs.add_parser("list", help="the shipped scenarios, by group")
    listing.add_argument(
        "--tag",
        action="append",
        default=[],
        metavar="TAG",
        dest="tags",
        help="those with this tag, as network",
    )
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.set_defaults(command=commands.scenario_list)
    show = verbs.add_parser("show", help="a shipped scenario's file")
    show.add_argument("name", metavar="NAME")
    show.set_defaults(command=commands.scenario_show)
    validate = verbs.add_parser("validate", help="check scenarios without running them")
    validate.add_argument(
        "files", nargs="+", metavar="FILE", help="a file, a shipped name, or - for standard input"
    )
    validate.add_argument("--seed", type=_seed, help="of every random choice; the plan it gives is printed")
    _add_sets(validate, SET_HELP)
    validate.set_defaults(command=commands.scenario_validate)


def _add_sets(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="sets", help=what)


def _add_out(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, default=commands.OUT, metavar="DIR", help="default: runs")


def _add_master(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--spark-master",
        type=_master,
        default=commands.SPARK_MASTER,
        metavar="URL",
        help="default: local[*]",
    )


def _seed(text: str) -> int:
    if not WHOLE.fullmatch(text) or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text!r} is refused; allowed: a whole number from 0 to 2^63-1")
    return int(text)


def _duration(text: str) -> float:
    from harness.scenario.text.units import duration_s

    try:
        seconds = duration_s(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no time at all")
    return seconds


def _count(text: str) -> int:
    if not WHOLE.fullmatch(text) or not 1 <= int(text) <= MOST_REPEATS:
        allowed = f"a whole number from 1 to {MOST_REPEATS}"
        raise argparse.ArgumentTypeError(f"{text!r} is refused; allowed: {allowed}")
    return int(text)


WHOLE = re.compile(r"[0-9]{1,19}")
MOST_REPEATS = 1000


def _master(text: str) -> str:
    if not MASTER.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no master of Spark; allowed: local, local[2], local[*], spark://HOST:PORT, "
            "k8s://URL, yarn"
        )
    return text


MASTER = re.compile(
    r"local(\[([1-9][0-9]{0,3}|\*)(, *[1-9][0-9]{0,3})?\])?|spark://\S+:[0-9]+|k8s://\S+|yarn"
)
"""As Spark's documentation lists them."""
SET_HELP = "change a value of the scenario, as in workload.acks=1 or topics.0.replication=2"
ACCEPT_SET_HELP = "change a value of the configuration, as in producer.acks=1 or topic.replication=2"
ACCEPT_HELP = (
    "Say what a configuration of a topic, its producers and its brokers promises, and which traps it falls "
    "into; search a simulated Kafka for the shortest faults that lose or block something; then run a "
    "scenario for each."
)
UPGRADE_HELP = (
    "Bring every node from one Kafka release to a newer one, controllers first, under load and with faults "
    "in between, and finalize its features; go up and back before anything is finalized; and see Kafka "
    "refuse the way back after that. Each of these phases is a run on a cluster of its own."
)
SELFTEST_HELP = (
    "Make damaged copies of a run (mutants), seal each again, judge each as `highwater check` does, and "
    "print which damage each verdict names. Exit code 1 if one damage goes unnoticed."
)

"""Settings that change in simulated runs: a value that may have been in force can make a loss undecided, and
never makes a violation permitted, nor a permitted loss a violation."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

import pytest

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.losses import LOSSES
from checkers.contract.realised.terms import MIN_ISR
from checkers.history.rows import ConfigChange, Fault, History
from checkers.model import Bug, Simulated, draw_case, simulate
from checkers.model.case import TOPIC
from checkers.reference import check
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.verdict_of import realised_of

FIRST_SEED = 77_000_000_051
MINUTE_NS = 60_000_000_000
WANTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Lossy:
    """A simulated run that lost something, and what the reference finds in it."""

    run: Simulated
    anomalies: Anomalies


@cache
def lossy(bug: Bug | None) -> Sequence[Lossy]:
    """Runs of a correct Kafka, or of one with a bug that shows."""
    runs = (
        simulate(draw_case(seed, frozenset({bug} - {None}))) for seed in range(FIRST_SEED, FIRST_SEED + 160)
    )
    found = islice((run for run in runs if (run.manifested if bug else run.truth.lost)), WANTED)
    return [Lossy(run=run, anomalies=check(run.history).anomalies) for run in found]


def changed(history: History, share: float, value: str) -> ConfigChange:
    """A record that gives the topic this min.insync.replicas, after that share of the metadata log."""
    rows = sorted(history.metadata, key=lambda row: row.log_offset)
    row = rows[min(len(rows) - 1, int(share * len(rows)))]
    offset = max(row.log_offset, max(each.log_offset for each in rows if each.partition_epoch == 0) + 1)
    return ConfigChange(
        at_ms=row.at_ms, log_offset=offset, kind="topic", name=TOPIC, key=MIN_ISR, value=value
    )


def kinds(its: Lossy, *rows: ConfigChange, faults: Sequence[Fault] = ()) -> list[str]:
    """The label of each loss in a run, with these rows planted in it."""
    history = its.run.history
    planted = replace(history, configs=(*history.configs, *rows), faults=(*history.faults, *faults))
    labels = judge_contract(its.anomalies, realised_of(planted, asked_of(its.run)))
    each = zip(its.anomalies, labels, strict=True)
    return [label.kind for anomaly, label in each if anomaly.property in LOSSES]


def moves(bug: Bug | None, value: str, share: float) -> Counter[tuple[str, str]]:
    """How the labels of all runs move when the setting changes."""
    found = Counter[tuple[str, str]]()
    for its in lossy(bug):
        found += moves_of(its, value, share)
    return found


def moves_of(its: Lossy, value: str, share: float) -> Counter[tuple[str, str]]:
    """How those of one run do."""
    return Counter(zip(kinds(its), kinds(its, changed(its.run.history, share, value)), strict=True))


BUGS = (None, Bug.ELR_KEPT_AFTER_UNCLEAN_SHUTDOWN, Bug.TRUNCATE_TO_HIGH_WATERMARK)


@pytest.mark.parametrize("bug", BUGS, ids=str)
@pytest.mark.parametrize("value", ["1", "3", "9"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_change_never_decides_the_other_way(bug: Bug | None, value: str, share: float) -> None:
    """The runs were made under one value; another one that is claimed besides only takes certainty."""
    moved = moves(bug, value, share)
    assert moved
    assert {move for move in moved if move[0] != move[1]} <= {
        ("violation", "undecided"),
        ("permitted", "undecided"),
    }


def test_some_labels_do_move_and_some_do_not() -> None:
    """Otherwise nothing was looked at: a weaker value in force takes a violation's certainty, a stricter one
    that of a permitted loss."""
    too_few = simulate(draw_case(77_000_000_614, frozenset({Bug.ACK_BEFORE_MIN_ISR})))
    weaker = moves_of(Lossy(run=too_few, anomalies=check(too_few.history).anomalies), "1", 0.0)
    stricter = moves(None, "3", 0.0)
    assert weaker["violation", "undecided"] > 0
    assert stricter["permitted", "undecided"] > 0
    assert stricter["permitted", "permitted"] > 0


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_what_every_broker_had_left_before_the_run_changes_nothing(bug: Bug | None) -> None:
    """A minute before the first send, by the word of the fault that did it."""
    for its in lossy(bug):
        run = its.run
        clock = realised_of(run.history, asked_of(run)).clock
        began_ms = (clock.wall_ns - 2 * MINUTE_NS) // 1_000_000
        at_ns = clock.at(began_ms)
        own = asked_of(run).topics[TOPIC].min_isr
        rows = [
            replace(changed(run.history, 0.0, value), at_ms=began_ms + seconds * 1000, log_offset=offset)
            for offset, (seconds, value) in enumerate([(0, "1"), (10, "3"), (20, str(own))], start=1 << 40)
        ]
        fault = Fault(
            index=99,
            name="config",
            kind="config",
            target=f"topic {TOPIC}: {MIN_ISR}=3",
            inject_ns=at_ns,
            effect_ns=at_ns + MINUTE_NS // 3,
            end_ns=at_ns,
            heal_ns=at_ns,
            recovered_ns=at_ns + MINUTE_NS // 2,
        )
        assert kinds(its, *rows, faults=[fault]) == kinds(its)
        unseen = replace(fault, proven=False, recovered=False)
        assert all(
            kind in (was, "undecided")
            for kind, was in zip(kinds(its, *rows, faults=[unseen]), kinds(its), strict=True)
        )

"""A follower that had what an older epoch had written, cut that off, and was elected: it had the record.

So had one that had nothing there when it began to fetch.
"""

from dataclasses import replace
from functools import partial

import pytest
from fakes.history.judged_run import begins_to, down, led, lost, sampled, world

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import BrokerLine

# Broker 1 leads epoch 5, and stops with offsets 7 and 8 that only it has, or broker 3 too; broker 2 leads
# epoch 6 from offset 7 on, where it acknowledges a record at 5 s. Broker 3 is elected from the ISR with a log
# up to 40, and goes; broker 1 is elected uncleanly, with a log up to 9.
RECORD = lost(offset=7, sent=4.9, acked=5)
LEADS = replace(begins_to("lead", 8, 3, 7), offset=40)
follows = partial(begins_to, "follow")


def cut(second: float, node: int, offset: int, kind: str = "truncated") -> BrokerLine:
    return replace(begins_to("lead", second, node, -1), kind=kind, offset=offset)


def loaded(second: float, node: int) -> BrokerLine:
    return replace(cut(second, node, 9), kind="loaded")


def recovered(second: float, node: int) -> BrokerLine:
    return replace(cut(second, node, 0), kind="recovered")


def fetches(second: float, node: int, offset: int, epoch: int = 6) -> BrokerLine:
    return replace(cut(second, node, offset), kind="fetcher-start", leader_epoch=epoch)


def label(*lines: BrokerLine) -> Label:
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(3, 5),
        down(3.9, 1, kind="stop", recovered=20),
        led(4, 2, 6, (2, 3)),
        sampled(4.8, 6, leader=2, epoch=6, isr=(2, 3)),
        down(7.9, 2, kind="stop", recovered=22),
        led(8, 3, 7, (3,)),
        down(12, 3, recovered=30),
        led(13, -1, 8, (), elr=(3,)),
        led(20, 1, 9, (1,)),
        *lines,
        LEADS,
        LogRun(5, 0, 8),
        LogRun(9, 9, 50),
        unclean=True,
    )
    return judge_contract(Anomalies.of([RECORD]), run)[0]


@pytest.mark.parametrize("kind", ["truncated", "truncated-below-hw"])
@pytest.mark.parametrize("offset", [6, 7])
def test_what_it_had_there_after_its_cut_its_leader_had_given_it(offset: int, kind: str) -> None:
    found = label(follows(4.1, 3, 6), cut(4.2, 3, offset, kind))
    assert (found.kind, found.cause) == ("permitted", "unclean election")
    assert "broker 1, not in sync, was elected at 20.00 s" in found.clause
    assert "broker 3" not in found.clause


@pytest.mark.parametrize("offset", [6, 7])
def test_what_it_had_there_after_its_fetcher_began_its_leader_had_given_it(offset: int) -> None:
    found = label(fetches(4.1, 3, offset))
    assert (found.kind, found.cause) == ("permitted", "unclean election")
    assert "broker 3" not in found.clause


def test_so_had_it_after_a_process_that_stopped_in_order() -> None:
    assert label(follows(4.1, 3, 6), cut(4.2, 3, 7), loaded(4.3, 3)).kind == "permitted"


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [fetches(4.1, 3, 8)],
        [fetches(4.1, 2, 7)],
        [fetches(3.5, 3, 7, epoch=5)],
        [fetches(8.1, 3, 7, epoch=7)],
        [fetches(4.1, 3, 7, epoch=-1)],
        [fetches(4.1, 3, -1)],
        [follows(4.1, 3, 6), fetches(4.1, 3, 8, epoch=6)],
        [fetches(4.1, 3, 7), recovered(4.2, 3), loaded(4.2, 3)],
        [follows(4.1, 3, 6), cut(4.2, 3, 7), recovered(4.3, 3), loaded(4.3, 3)],
        [follows(4.1, 3, 6)],
        [follows(4.1, 3, 6), cut(4.2, 3, 8)],
        [follows(4.1, 3, 6), follows(4.1, 2, 6), cut(4.2, 2, 7)],
        [follows(3.5, 3, 5), cut(3.6, 3, 7), follows(4.1, 3, 6)],
        [follows(4.1, 3, 6), loaded(4.2, 3), cut(4.3, 3, 7)],
        [cut(4.2, 3, 7)],
        [follows(4.1, 3, 6), replace(cut(4.2, 3, 7), partition=1)],
        [follows(4.1, 3, 6), LEADS, cut(8.1, 3, 7)],
    ],
    ids=[
        "no line",
        "fetched from behind it",
        "fetched by another",
        "fetched under an epoch before",
        "fetched under an epoch after",
        "fetched under no epoch",
        "fetched from nowhere",
        "followed, and fetched from behind it",
        "fetched, then a process that recovered the log",
        "cut, then a process that recovered the log",
        "no cut",
        "cut behind it",
        "cut by another",
        "cut before",
        "another process",
        "no role",
        "another partition",
        "cut as the leader",
    ],
)
def test_without_that_it_may_have_had_what_the_older_epoch_had_there(lines: list[BrokerLine]) -> None:
    found = label(*lines)
    assert found.kind == "undecided"
    assert found.clause.startswith("the evidence allows both: broker 3 was elected at 8.00 s (epoch 7, ")


def test_a_cut_does_not_speak_for_a_log_that_begins_below_the_record() -> None:
    """Its own line has the leader begin at offset 7: whoever cut there has nothing behind it."""
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(3, 5),
        led(4, 2, 6, (2, 3)),
        follows(4.1, 3, 6),
        cut(4.2, 3, 7),
        down(7.9, 2, recovered=22),
        led(8, 3, 7, (3,)),
        replace(LEADS, offset=7),
        LogRun(5, 0, 6),
        LogRun(7, 7, 50),
    )
    found = judge_contract(Anomalies.of([RECORD]), run)[0]
    assert (found.kind, found.cause) == ("violation", "in-sync replica elected without the data")

"""What befalls transactions is a violation, unless the markers that end them may be lost."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from fakes.history.judged_run import ALL_CUT, LEADER_KILLED, QUIET, down, led, lost, world

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.contract.realised.settings import Realised
from checkers.contract.transactions import OF_TRANSACTIONS
from checkers.history.rows import Coordinator
from checkers.properties import Property

WANTED = [
    "aborted-read",
    "torn-transaction",
    "hanging-transaction",
    "zombie-fenced",
    "marker-per-transaction",
]


ALL = (1, 2, 3)


def label(wanted: str, run: Realised, *others, coordinating: Sequence[tuple[int, ...]] = (ALL,)) -> Label:
    """The label of an anomaly of a transaction in orders-0 among others; `coordinating` are those that were
    in sync with the coordinators' log, one time after another."""
    its = lost(wanted)
    anomalies = Anomalies.of([its, *others])
    rows = [
        Coordinator(at_ms=5_000_000, log_offset=at, partition=0, leader=1, isr=isr)
        for at, isr in enumerate(coordinating)
    ]
    known = replace(run, context=replace(run.context, coordinators=rows))
    return judge_contract(anomalies, known)[list(anomalies).index(its)]


def test_the_properties_of_transactions_are_these() -> None:
    assert {each.value for each in OF_TRANSACTIONS} == {*WANTED, Property.EXACTLY_ONCE.value}


@pytest.mark.parametrize("wanted", WANTED)
def test_where_nothing_could_be_lost_it_is_a_violation(wanted: str) -> None:
    for run in (world(*QUIET), world(*LEADER_KILLED), world(*QUIET, down(4, 1, kind="power-loss"))):
        assert label(wanted, run) == Label("violation", f"no configuration permits {wanted}")


@pytest.mark.parametrize("wanted", WANTED)
def test_where_records_of_its_partition_were_lost_it_is_undecided(wanted: str) -> None:
    """Whatever the configuration permits of them: a marker is a record, too."""
    found = label(wanted, world(*LEADER_KILLED), lost(offset=8))
    assert (found.kind, found.clause) == (
        "undecided",
        "records of orders-0 were lost: the markers of transactions may have gone with it",
    )


@pytest.mark.parametrize("wanted", WANTED)
def test_what_another_partition_has_lost_excuses_nothing_here(wanted: str) -> None:
    assert label(wanted, world(*LEADER_KILLED), lost(offset=8, partition=1)).kind == "violation"


def test_where_all_in_sync_may_have_lost_their_data_it_is_undecided() -> None:
    """The coordinators' log, too, has lost what those had not synced who were in sync with it."""
    assert label("torn-transaction", world(*ALL_CUT)).clause == (
        "brokers [1, 2, 3] lost data, and perhaps no other was in sync with orders-0; "
        "brokers [1, 2, 3] lost data, and perhaps no other coordinator was in sync: "
        "the markers of transactions may have gone with it"
    )


def test_the_last_one_in_sync_may_have_lost_it_alone() -> None:
    """Of the partition, or of the coordinators' log, which concerns every partition."""
    alone = (led(0, 1, 5, ALL), led(3, 1, 5, (1,)), down(4, 1, kind="power-loss"))
    assert label("torn-transaction", world(*alone)).clause.startswith("brokers [1] lost data, and perhaps")
    run = world(*QUIET, down(4, 1, kind="power-loss"))
    assert label("torn-transaction", run, coordinating=(ALL, (1,), ALL)).kind == "undecided"
    assert label("torn-transaction", run, coordinating=(ALL, (1, 2))).kind == "violation"
    assert label("torn-transaction", run, coordinating=()).kind == "undecided", "nobody knows who was"


def test_where_a_leader_was_elected_that_lacked_something_it_is_undecided() -> None:
    events = (led(0, 1, 5, (1,)), led(3, -1, 5, (1,)), led(4, 2, 6, (2,)))
    run = world(*events, unclean=True, min_isr=1, elr=False)
    assert label("torn-transaction", run).clause.startswith("a leader of orders-0 was elected that was not")

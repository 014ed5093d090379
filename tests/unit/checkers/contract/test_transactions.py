"""What befalls transactions is a violation, unless the markers that end them may be lost."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import ALL_CUT, LEADER_KILLED, QUIET, down, led, lost, world

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label
from checkers.contract.settings import Realised
from checkers.contract.transactions import OF_TRANSACTIONS
from checkers.history.rows import TopicPartition
from checkers.properties import Property

WANTED = [
    "aborted-read",
    "torn-transaction",
    "hanging-transaction",
    "zombie-fenced",
    "marker-per-transaction",
]


def label(wanted: str, run: Realised, *others) -> Label:
    """The label of an anomaly of a transaction among others."""
    its = lost(wanted)
    anomalies = Anomalies.of([its, *others])
    partitions = (TopicPartition("orders", 0),)
    known = replace(run, context=replace(run.context, partitions=partitions))
    return judge_contract(anomalies, known)[list(anomalies).index(its)]


def test_the_properties_of_transactions_are_these() -> None:
    assert {each.value for each in OF_TRANSACTIONS} == {*WANTED, Property.EXACTLY_ONCE.value}


@pytest.mark.parametrize("wanted", WANTED)
def test_where_nothing_could_be_lost_it_is_a_violation(wanted: str) -> None:
    for run in (world(*QUIET), world(*LEADER_KILLED), world(*QUIET, down(4, 1, kind="power-loss"))):
        assert label(wanted, run) == Label("violation", f"no configuration permits {wanted}")


@pytest.mark.parametrize("wanted", WANTED)
def test_where_records_were_lost_it_is_undecided(wanted: str) -> None:
    """Whatever the configuration permits of them: a marker is a record, too."""
    found = label(wanted, world(*LEADER_KILLED), lost(offset=8))
    assert (found.kind, found.clause) == (
        "undecided",
        "records of the run were lost: the markers of transactions may have gone with it",
    )


def test_where_all_in_sync_may_have_lost_their_data_it_is_undecided() -> None:
    """The coordinators' own log needs two in-sync replicas, and has lost what those had not synced."""
    assert label("torn-transaction", world(*ALL_CUT)).clause.startswith("brokers [1, 2, 3] lost data")


def test_where_a_leader_was_elected_that_lacked_something_it_is_undecided() -> None:
    events = (led(0, 1, 5, (1,)), led(3, -1, 5, (1,)), led(4, 2, 6, (2,)))
    run = world(*events, unclean=True, min_isr=1, elr=False)
    assert label("torn-transaction", run).clause.startswith("a leader was elected that was not in sync")

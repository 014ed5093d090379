"""What a roll has cost: the periods before, during and after it, of a history that is spelled out.

Broker 1 leads, is killed at 5.25 s and succeeded at 9.25 s; broker 2 leads then, and hands over at 21 s, in a
roll from 20 s to 27 s, before its process ends at 22 s. The load lasts 40 s.
"""

from dataclasses import replace

import numpy as np
from fakes.history.judged_run import CLOCK, led, ns, registered

from checkers.contract.realised.timeline import Timeline
from checkers.history.rows import Context, Fault, TopicPartition
from checkers.verdict.exposure.gaps import Times
from harness.campaign.upgrade.periods import periods
from harness.campaign.upgrade.record import PeriodRow

TP, SILENT = TopicPartition("orders", 0), TopicPartition("orders", 1)
KILL = Fault(
    index=0,
    name="kill",
    kind="kill",
    inject_ns=ns(5),
    recovered_ns=ns(14),
    down=(1,),
    down_ns=(ns(5.25),),
    up_ns=(ns(11),),
    unclean=(1,),
)
ROLL = Fault(
    index=1,
    name="roll",
    kind="rolling-upgrade",
    inject_ns=ns(20),
    recovered_ns=ns(27),
    down=(2,),
    down_ns=(ns(22),),
    up_ns=(ns(23),),
)
CONTEXT = Context(
    partitions=(TP,),
    faults=(KILL, ROLL),
    metadata=(
        led(-2, 1, 0, (1, 2, 3)),
        led(9.25, 2, 1, (2, 3)),
        led(13, 2, 1, (1, 2, 3)),
        led(21, 3, 2, (1, 3)),
        led(26, 3, 2, (1, 2, 3)),
    ),
    brokers=(registered(-3, 1, 1), registered(-3, 2, 2), registered(12, 1, 50), registered(24, 2, 90)),
)
EMPTY: Times = np.empty(0, np.int64)


def every_half_second(*spans: tuple[float, float]) -> Times:
    """Acknowledgements from the first to the last second of each span."""
    return np.concatenate([np.arange(ns(first), ns(last) + 1, ns(0.5) - ns(0)) for first, last in spans])


ACKS = every_half_second((0, 5), (9.5, 40))


def rows(context: Context = CONTEXT, **acks: Times) -> list[PeriodRow]:
    of = {TP: acks.get("acked", ACKS)} | ({SILENT: acks["silent"]} if "silent" in acks else {})
    return list(periods(context, of, Timeline(context, CLOCK), ns(40)))


def test_each_period_has_what_begins_in_it() -> None:
    before, during, after = rows()
    assert before == PeriodRow(
        period="before",
        seconds=20.0,
        acked=11 + 21,
        longest_gap_s=4.5,
        longest_gap_at="orders-0",
        unavailable_s={"orders-0": 4.5},
        isr_shrinks=1,
        isr_shrinks_per_minute=3.0,
        isr_expands=1,
        elections=1,
        after_an_end=1,
        mean_election_s=4.0,
        longest_election_s=4.0,
        longest_election_at="orders-0",
    )
    assert during == PeriodRow(
        period="during",
        seconds=7.0,
        acked=14,
        longest_gap_s=0.5,
        longest_gap_at="orders-0",
        isr_shrinks=1,
        isr_shrinks_per_minute=8.6,
        isr_expands=1,
        elections=1,
        after_an_end=0,
    )
    assert (after.period, after.seconds, after.acked) == ("after", 13.0, 27)
    assert (after.isr_shrinks, after.elections, after.unavailable_s) == (0, 0, {})


def test_a_roll_that_has_not_recovered_lasts_until_the_load_ends() -> None:
    context = replace(CONTEXT, faults=(KILL, replace(ROLL, recovered_ns=-1)))
    assert [(row.period, row.seconds) for row in rows(context)] == [("before", 20.0), ("during", 20.0)]


def test_the_roll_ends_with_what_it_finalizes() -> None:
    finalize = replace(
        ROLL, index=2, kind="finalize", inject_ns=ns(28), recovered_ns=ns(30), down=(), down_ns=()
    )
    context = replace(CONTEXT, faults=(KILL, ROLL, replace(finalize, up_ns=())))
    assert [(row.period, row.seconds) for row in rows(context)] == [
        ("before", 20.0),
        ("during", 10.0),
        ("after", 10.0),
    ]


def test_a_run_without_a_roll_is_all_before_it() -> None:
    (only,) = rows(replace(CONTEXT, faults=(KILL,)))
    assert (only.period, only.seconds, only.isr_shrinks) == ("before", 40.0, 2)


def test_a_partition_that_never_acknowledges_is_unavailable_for_all_the_load() -> None:
    first = rows(silent=EMPTY)[0]
    assert (first.longest_gap_s, first.longest_gap_at) == (40.0, "orders-1")
    assert first.unavailable_s == {"orders-0": 4.5, "orders-1": 40.0}


def test_a_partition_of_which_the_metadata_log_is_silent_leaves_its_churn_unknown() -> None:
    for row in rows(replace(CONTEXT, partitions=(TP, SILENT))):
        assert (row.isr_shrinks, row.isr_expands, row.elections, row.after_an_end) == (None, None, None, None)
        assert row.acked > 0


def test_a_run_without_acknowledgements_has_no_periods() -> None:
    assert rows(acked=EMPTY) == []

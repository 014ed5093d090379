"""Records that a leader has deleted whose clock ran ahead: permitted if it was ahead by so much."""

from dataclasses import replace

import pytest
from fakes.history.judged_run import (
    CLOCK,
    begins_to,
    checkpoint,
    down,
    led,
    log_end,
    lost,
    ns,
    proof,
    sampled,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.clauses import DEPOSED_LEADER, RETENTION, UNREPLICATED_TAIL
from checkers.contract.evidence.partition_evidence import partition_evidence
from checkers.contract.fates.fate import Reason
from checkers.contract.fates.retention import in_words
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import OR, Label
from checkers.contract.realised.downtimes import SECOND_NS
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.terms import TopicPromise
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import BrokerLine, ClockPair, Fault, TopicPartition, Watermark

ALL = (1, 2, 3)
DAY_MS = 86_400_000
ORDERS = TopicPartition("orders", 0)


def skewed(offset, *nodes, second=5, until=30, proven=True) -> Fault:
    """The clocks of nodes were ahead by an offset between two seconds, and were seen to be."""
    return Fault(
        index=0,
        name="ahead",
        kind="clock-skew",
        target=f"leader(orders-0): {offset}",
        nodes=nodes,
        inject_ns=ns(second),
        effect_ns=ns(second + 0.1) if proven else -1,
        end_ns=ns(until),
        heal_ns=ns(until + 0.1),
        recovered_ns=ns(until + 0.2),
        proven=proven,
    )


def begins(second, log_start, leader=1, epoch=5) -> Watermark:
    """A leader reported where its log starts."""
    return replace(sampled(second, 50, leader=leader, epoch=epoch), log_start=log_start)


LED_BY_1 = (led(0, 1, 5, ALL), begins(4, 0), begins(10, 0), begins(11, 16), LogRun(5, 16, 49))
"""The log start moved from 0 to 16 between 10 s and 11 s, while broker 1 led."""


def run(*events, retention_ms=7 * DAY_MS, log_start=16, **settings) -> Realised:
    made = world(*events, replace(proof(50, log_start=log_start), at_ns=ns(40)), **settings)
    return replace(made, topics={"orders": replace(made.topics["orders"], retention_ms=retention_ms)})


def label(its, **record) -> Label:
    """The label of a record at offset 7, sent at 2 s and acknowledged at 3 s, that is not there."""
    return judge_contract(Anomalies.of([lost(**record)]), its)[0]


def test_what_a_leader_s_clock_made_too_old_the_contract_lets_go() -> None:
    found = label(run(*LED_BY_1, skewed("+8d", 1)))
    assert (found.kind, found.cause) == ("permitted", RETENTION)
    assert found.clause == (
        "deleted by retention: the clock of broker 1 was 8 days ahead, by which it was older than "
        "retention.ms (7 days)"
    )
    assert found.fate.reason is Reason.DELETED


def test_a_clock_that_was_not_so_far_ahead_deletes_nothing() -> None:
    found = label(run(*LED_BY_1, skewed("+6d", 1)))
    assert (found.kind, found.cause) == ("violation", RETENTION)
    assert found.clause == (
        "the log start moved over it, and by no clock it was older than retention.ms (7 days): that of "
        "broker 1 was 6 days ahead"
    )


def test_what_a_broker_wrote_that_led_under_anothers_epoch_was_perhaps_never_there_to_be_deleted() -> None:
    """Broker 2 wrote in its log that it leads under the epoch of broker 1; the clocks of both were ahead."""
    found = label(run(*LED_BY_1, skewed("+8d", 1, 2), begins_to("lead", 2.5, 2, 5)))
    assert found.kind == "undecided"
    assert "deleted by retention: the clock of broker 1" in found.clause
    assert "or: it was taken from the middle of the log" in found.clause


@pytest.mark.parametrize("node", [2, 3])
def test_a_follower_s_clock_explains_nothing_of_the_leader(node: int) -> None:
    found = label(run(*LED_BY_1, skewed("+8d", node)))
    assert found.kind == "violation"
    assert found.clause.endswith("that of broker 1 was right, or behind")


def test_a_clock_that_was_right_again_deletes_nothing() -> None:
    """The leader reported the old log start when its clock had been right for five seconds."""
    assert label(run(*LED_BY_1, skewed("+8d", 1, second=2.5, until=5))).kind == "violation"
    assert label(run(*LED_BY_1, skewed("+8d", 1, second=2.5, until=10.5))).kind == "permitted"


def test_what_may_have_come_only_when_the_clock_was_right_again_is_undecided() -> None:
    its = run(*LED_BY_1, skewed("+8d", 1, second=2.5, until=10.5))
    assert label(its, sent=10.1, acked=10.4).kind == "permitted"
    assert label(its, sent=10.1, acked=10.7).kind == "undecided"


def test_a_clock_that_was_set_later_deletes_nothing() -> None:
    assert label(run(*LED_BY_1, skewed("+8d", 1, second=12))).kind == "violation"


def test_a_clock_that_was_behind_deletes_nothing() -> None:
    assert label(run(*LED_BY_1, skewed("-8d", 1))).kind == "violation"


def test_without_the_proof_that_the_clock_was_ahead_nothing_is_decided() -> None:
    found = label(run(*LED_BY_1, skewed("+8d", 1, proven=False)))
    assert (found.kind, found.cause) == ("undecided", "missing evidence")
    assert found.clause == (
        "not measured: whether the leader's clock was so far ahead that it was older than retention.ms (7 "
        "days)"
    )


def test_a_clock_that_was_as_far_ahead_as_records_are_kept_decides_nothing() -> None:
    """The record's own age of some seconds would make the difference, and is not known to the millisecond."""
    its = run(*LED_BY_1, skewed("+1d", 1), retention_ms=DAY_MS + 9_000)
    assert label(its, sent=2.0).kind == "undecided"
    assert label(its, sent=9.0, acked=9.5).kind == "violation"


def test_what_became_too_old_only_while_nobody_looked_is_undecided() -> None:
    """Nobody sampled the leader for 16 s: the record was too old at the end of that, and not at the begin."""
    silent = (led(0, 1, 5, ALL), begins(4, 0), begins(20, 16), LogRun(5, 16, 49))
    its = run(*silent, skewed("+1d", 1), retention_ms=DAY_MS + 9_000)
    assert label(its).kind == "undecided"
    assert label(run(*silent, skewed("+8d", 1))).kind == "permitted"


def test_where_nobody_led_when_the_log_start_moved_nothing_is_decided() -> None:
    """The last sample is of 10 s; then only the final read shows where the log begins."""
    gone = (led(0, 1, 5, ALL), led(6, -1, 6, (1,)), begins(10, 0), LogRun(5, 16, 49))
    found = label(run(*gone, skewed("+8d", 1)))
    assert (found.kind, found.cause) == ("undecided", "missing evidence")
    assert found.clause == "not measured: who led when the log start moved over it"


def test_a_topic_whose_records_are_kept_for_ever_deletes_none() -> None:
    found = label(run(*LED_BY_1, skewed("+8d", 1), retention_ms=-1))
    assert found.clause == "the log start moved to offset 16, and no setting deletes records"
    assert found.kind == "violation"


def test_a_run_that_sets_no_clock_has_no_reason_to_delete() -> None:
    found = label(run(*LED_BY_1))
    assert (found.kind, found.cause) == ("violation", "hole")
    assert found.clause == "the log start moved to offset 16, and no setting deletes records"


def test_a_record_above_the_log_start_was_not_deleted() -> None:
    found = label(run(*LED_BY_1, skewed("+8d", 1)), offset=20)
    assert (found.kind, found.cause) == ("violation", "hole")


def test_where_leadership_moved_while_the_log_start_did_both_clocks_count() -> None:
    """The log of epoch 6 begins at offset 30: the election did not remove the record."""
    moved = (
        led(0, 1, 5, ALL),
        led(10.5, 2, 6, ALL),
        begins(10, 0),
        begins(11, 16, leader=2, epoch=6),
        LogRun(5, 16, 29),
        LogRun(6, 30, 49),
    )
    assert label(run(*moved, skewed("+8d", 1))).kind == "undecided"
    both = label(run(*moved, skewed("+8d", 1, 2)))
    assert (both.kind, both.cause) == ("permitted", RETENTION)
    assert "the clock of broker 1 was 8 days ahead and the clock of broker 2 was 8 days ahead" in both.clause


def test_one_that_deleted_as_a_follower_takes_it_from_all_once_it_leads() -> None:
    moved = (
        led(0, 1, 5, ALL),
        led(10.5, 2, 6, ALL),
        begins(10.8, 0),
        begins(12, 16, leader=2, epoch=6),
        LogRun(5, 16, 29),
        LogRun(6, 30, 49),
    )
    elected = run(*moved, skewed("+8d", 2, second=5, until=9))
    assert label(elected).kind in ("permitted", "undecided")
    assert label(run(*moved, skewed("+6d", 2, second=5, until=9))).kind == "violation"


ELECTED_AGAIN = (
    led(0, 1, 5, ALL),
    *(sampled(second, 5) for second in (2.8, 5.9)),
    led(6, 2, 6, ALL),
    led(8, 1, 7, ALL),
    checkpoint(2, (5, 0), (6, 5)),
    checkpoint(1, (5, 0), (7, 12)),
    *(begins(10, 0, epoch=7), begins(11, 16, epoch=7)),
    LogRun(7, 16, 49),
    skewed("+8d", 1),
)
"""Broker 1 led, broker 2 from offset 5 on, and broker 1 again, from 12 on: its log start moved to 16."""


@pytest.mark.parametrize(
    ("more", "causes"),
    [((), {UNREPLICATED_TAIL, RETENTION}), ((log_end(7, 1, 5, epoch=6),), {UNREPLICATED_TAIL})],
    ids=["followed nobody", "had cut its log"],
)
def test_a_leader_that_is_elected_again_may_have_deleted_what_the_one_between_had_not(more, causes) -> None:
    found = label(run(*ELECTED_AGAIN, *more, acks="1"))
    assert (found.kind, set(found.cause.split(OR))) == ("permitted", causes)


def test_of_what_a_leader_elected_again_had_instead_retention_has_taken_the_sign() -> None:
    """Broker 2, deposed at 8 s, acknowledges until 9 s; broker 1 has other records there, of its own."""
    late = (begins_to("follow", 9, 2, 7), *(sampled(each, 5, leader=2, epoch=6) for each in (7.9, 8.95)))
    found = label(run(*ELECTED_AGAIN, *late, acks="1"), sent=8.7, acked=8.8)
    assert found.kind == "permitted"
    assert {DEPOSED_LEADER, RETENTION} <= set(found.cause.split(OR))
    assert {each.removed_by and each.removed_by.leader_epoch for each in (found.fate, *found.others)} == {
        7,
        None,
    }


def test_an_election_that_removed_it_is_another_matter() -> None:
    """Nobody was ahead by enough, and broker 2 was elected without it: acks=1 permits that."""
    killed = (
        led(0, 1, 5, ALL),
        sampled(2.8, 5),
        down(4, 1, recovered=12),
        led(7, 2, 6, (2, 3)),
        begins(8, 0, leader=2, epoch=6),
        LogRun(5, 0, 4),
        LogRun(6, 5, 49),
    )
    found = label(run(*killed, skewed("+5m", 3), acks="1", log_start=0), acked=3.9)
    assert (found.kind, found.cause) == ("permitted", "acks=1 unreplicated tail")


def test_a_run_of_offsets_that_lost_its_records_is_judged_at_both_ends() -> None:
    whole = label(
        run(*LED_BY_1, skewed("+8d", 1)),
        wanted="hw-loss",
        offset=0,
        last=15,
        sent=None,
        acked=None,
        producer=-1,
    )
    assert (whole.kind, whole.cause) == ("permitted", RETENTION)


def test_an_acknowledgement_without_an_offset_may_be_of_a_deleted_record() -> None:
    its = run(*LED_BY_1, skewed("+8d", 1))
    assert label(its, offset=-1).kind == "undecided"
    assert label(run(*LED_BY_1), offset=-1).kind == "violation"


def test_what_kafka_moves_up_in_a_checkpoint_is_where_an_epoch_begins_at_the_latest() -> None:
    """What lies below the log start, the checkpoint has from there on."""
    replica = replace(checkpoint(2, (5, 16), (6, 30)), log_start=16, log_end=50)
    moved = (led(0, 1, 4, ALL), led(3, 1, 5, ALL), led(12, 2, 6, ALL), LogRun(5, 16, 29), LogRun(6, 30, 49))
    starts = partition_evidence(run(*moved, replica, skewed("+8d", 1)), ORDERS).starts
    assert ((starts[5].low, starts[5].high), (starts[6].low, starts[6].high)) == ((0, 16), (30, 30))
    exact = partition_evidence(run(*moved, replica), ORDERS).starts
    assert (exact[5].low, exact[5].high) == (16, 16)


def divergent(*, replica: int, first: int, last: int):
    """A replica lacks offsets that the final log has."""
    return replace(lost("divergence", offset=first, last=last, sent=None, acked=None), replica=replica)


def test_a_follower_that_deleted_for_its_own_clock_differs_as_it_may() -> None:
    log = replace(checkpoint(2, (5, 16)), log_start=16, log_end=50)
    events = (led(0, 1, 5, ALL), begins(10, 0), LogRun(5, 0, 49), log)

    def of(offset: str, node: int, last: int) -> Label:
        its = run(*events, skewed(offset, node), log_start=0)
        return judge_contract(Anomalies.of([divergent(replica=2, first=0, last=last)]), its)[0]

    assert (of("+8d", 2, 15).kind, of("+8d", 2, 15).cause) == ("permitted", RETENTION)
    assert of("+6d", 2, 15).kind == "violation"
    assert of("+8d", 1, 15) == Label("violation", "no configuration permits divergence")
    assert of("+8d", 2, 20) == Label("violation", "no configuration permits divergence")


def disk(broker: int, log_start: int):
    """The log of a broker as it was read at the end."""
    return replace(checkpoint(broker, (5, log_start)), log_start=log_start, log_end=50)


TAKEN_OVER = (led(0, 1, 5, ALL), led(20, 3, 6, ALL), LogRun(5, 0, 49), disk(2, 16))
"""Broker 2 begins at offset 16. Broker 1 led until 20 s; then broker 3 does, which has all."""


def truncated(broker: int, *, to: int):
    """A broker wrote that it cut its log."""
    tp = {"topic": "orders", "partition": 0}
    return BrokerLine(
        at_ms=CLOCK.wall_ns // 1_000_000 + 22_000, node=broker, kind="truncated", offset=to, **tp
    )


def of_replica_2(*events, last: int = 15, retention_ms: int = 7 * DAY_MS) -> Label:
    its = run(*TAKEN_OVER, *events, log_start=0, retention_ms=retention_ms)
    return judge_contract(Anomalies.of([divergent(replica=2, first=0, last=last)]), its)[0]


def test_a_follower_that_took_over_what_a_leader_had_deleted_differs_as_it_may() -> None:
    found = of_replica_2(begins(10, 16), skewed("+8d", 1))
    assert (found.kind, found.cause) == ("permitted", RETENTION)
    assert found.clause == (
        "deleted by retention: the clock of broker 1, whose log start it took over, was 8 days ahead, by "
        "which all is older than retention.ms (7 days)"
    )
    above = of_replica_2(begins(10, 16), skewed("+8d", 1), last=20)
    assert above == Label("violation", "no configuration permits divergence"), "above the replica's log start"


def test_a_log_start_that_no_clock_explains_names_the_replica_and_the_clock() -> None:
    found = of_replica_2(begins(10, 16), skewed("+6d", 1))
    assert (found.kind, found.clause) == (
        "violation",
        "broker 2's log starts above it, and by no clock it was older than retention.ms (7 days): that of "
        "broker 1, whose log start it took over, was 6 days ahead",
    )


def test_a_leader_whose_log_begins_below_has_passed_on_nothing() -> None:
    """Its disk was read, and nothing has moved its log start back."""
    ahead = skewed("+8d", 1)
    assert of_replica_2(begins(10, 0), ahead, disk(1, 0)).kind == "violation"
    assert of_replica_2(begins(10, 0), ahead, disk(1, 16)).kind == "permitted"
    assert of_replica_2(begins(10, 0), ahead, disk(1, 12)).kind == "violation"
    assert of_replica_2(begins(10, 0), ahead, disk(1, 12), last=11).kind == "permitted"


def test_a_leader_whose_log_start_nobody_knows_leaves_it_undecided() -> None:
    ahead = skewed("+8d", 1)
    unread = of_replica_2(begins(10, 0), ahead)
    assert (unread.kind, unread.cause) == ("undecided", "missing evidence")
    assert unread.clause == "not measured: where broker 1's log began when it led last"
    killed = down(22, 1, recovered=26)
    assert of_replica_2(begins(10, 0), ahead, disk(1, 0), killed).kind == "undecided", "it may have forgotten"
    before = down(1, 1, recovered=2)
    assert of_replica_2(begins(10, 0), ahead, disk(1, 0), before).kind == "violation", "it was right then"


def test_only_who_led_while_its_clock_was_ahead_or_after_that_passes_on_anything() -> None:
    back = led(30, 1, 7, ALL)
    assert of_replica_2(begins(10, 0), back, skewed("+8d", 1)).kind == "violation", "it leads, and has it all"
    assert of_replica_2(skewed("+8d", 1, second=35, until=38)).kind == "violation", "it did not lead any more"


def test_a_truncation_below_its_log_start_may_have_moved_it_back() -> None:
    ahead, back_to = skewed("+8d", 1), truncated(1, to=0)
    assert of_replica_2(begins(10, 0), ahead, disk(1, 0), back_to).kind == "undecided"
    assert of_replica_2(begins(10, 0), ahead, disk(1, 0), truncated(1, to=30)).kind == "violation"


def test_what_a_later_leader_had_brought_back_is_gone_by_that_one() -> None:
    """Broker 1, which is ahead, had moved the log start to 16; broker 2, which is right, began at 5 then."""
    back = (
        *LED_BY_1,
        led(12, 2, 6, ALL),
        begins(13.5, 5, leader=2, epoch=6),
        begins(15, 16, leader=2, epoch=6),
        LogRun(6, 30, 49),
    )
    ahead = skewed("+8d", 1, second=9, until=11.5)
    assert label(run(*back, ahead)).kind == "violation", "it was there at 13.5 s"
    assert label(run(*back, ahead), offset=3).kind == "undecided", "perhaps it was not any more"
    deposed = begins(11.9, 0, leader=3, epoch=4)
    assert label(run(*LED_BY_1, deposed, ahead)).kind == "permitted", "of an epoch that was over"


def own(second, log_start, broker=2, epoch=5):
    """A broker reported where its own log starts."""
    return replace(log_end(second, broker, 50, epoch=epoch), log_start=log_start)


FOLLOWED_BY_2 = (*LED_BY_1, led(13, 2, 6, ALL), skewed("+8d", 1, second=9, until=11.5), LogRun(6, 30, 49))
"""Broker 1, which was ahead, had moved the log start to 16; then broker 2 leads, which is right."""


def test_who_had_heard_of_the_deletion_brings_nothing_back() -> None:
    heard = (*FOLLOWED_BY_2, own(11.7, 16), begins(15, 16, leader=2, epoch=6))
    assert label(run(*heard)).kind == "permitted"
    partly = (*FOLLOWED_BY_2, own(11.7, 10), begins(15, 10, leader=2, epoch=6))
    assert label(run(*partly, log_start=10)).kind == "permitted"


def test_who_was_not_seen_to_have_heard_of_the_deletion_may_have_brought_it_back() -> None:
    """Its log began at 5 before it led, and it may have taken over the rest before it did."""
    deaf = (*FOLLOWED_BY_2, own(11.7, 5))
    for start in (16, 20):
        found = run(*deaf, begins(15, start, leader=2, epoch=6), log_start=start)
        assert (label(found, offset=3).kind, label(found).kind) == ("permitted", "undecided")
        unseen = run(*FOLLOWED_BY_2, begins(15, start, leader=2, epoch=6), log_start=start)
        assert label(unseen, offset=3).kind == "undecided", "nobody asked it"


def test_who_led_with_a_log_that_began_lower_has_moved_it_by_its_own_clock() -> None:
    led_deaf = (*FOLLOWED_BY_2, own(14.5, 5, epoch=6), begins(15, 16, leader=2, epoch=6))
    assert label(run(*led_deaf)).kind == "violation"
    assert label(run(*led_deaf, skewed("+8d", 2))).kind == "permitted"


def test_who_had_reported_a_higher_log_start_may_have_forgotten_it() -> None:
    forgot = (*FOLLOWED_BY_2, own(11.7, 18), begins(15, 16, leader=2, epoch=6))
    assert label(run(*forgot)).kind == "undecided"


def test_who_had_heard_of_the_first_of_two_deletions_brings_back_the_second() -> None:
    """Broker 1 moved the log start to 10, of which broker 2 heard, and to 16; its clock was right long before
    broker 2 led."""
    partly = (
        *FOLLOWED_BY_2[:-3],
        begins(19, 16),
        led(20, 2, 6, ALL),
        skewed("+8d", 1, second=9, until=11.5),
        begins(24, 10, leader=2, epoch=6),
        LogRun(6, 30, 49),
    )
    assert label(run(*partly, own(10.8, 10), log_start=10)).kind == "permitted"
    assert label(run(*partly, log_start=10)).kind == "undecided", "nobody asked it"


def test_a_leader_that_took_over_the_log_start_unseen_may_have_it_of_one_before() -> None:
    """Broker 1, which is ahead, led until 10.2 s, then broker 3, which had not heard of it, then 2."""
    moved = (
        led(0, 1, 5, ALL),
        led(10.2, 3, 6, ALL),
        led(12, 2, 7, ALL),
        begins(10, 0),
        begins(11.9, 0, leader=3, epoch=6),
        begins(14, 16, leader=2, epoch=7),
        LogRun(5, 16, 29),
        LogRun(7, 30, 49),
    )
    ahead = skewed("+8d", 1, second=9, until=10.1)
    found = label(run(*moved, ahead))
    assert (found.kind, found.clause) == (
        "undecided",
        "not measured: whether broker 1 had deleted it, which led before",
    )
    assert label(run(*moved, ahead, disk(1, 0))).kind == "violation", "its log has it"
    assert label(run(*moved, ahead, disk(1, 16))).kind == "undecided"
    assert label(run(*moved, skewed("+6d", 1, second=9, until=10.1))).kind == "violation"


def test_a_log_that_begins_before_its_epoch_cache_may_have_forgotten_where_it_began() -> None:
    """Broker 2 had taken over the log start, and was killed before it had noted that."""
    forgot = replace(checkpoint(2, (5, 16)), log_start=0, log_end=50)
    events = (led(0, 1, 5, ALL), led(20, 3, 6, ALL), begins(10, 16), LogRun(5, 0, 49), disk(1, 16))

    def of(*its, log=forgot, offset: int = 0) -> Label:
        flaw = replace(lost("checkpoint-sane", offset=offset, sent=None, acked=None), replica=2)
        judged = run(*events, log, *its, log_start=0)
        return judge_contract(Anomalies.of([flaw]), judged)[0]

    ahead, killed = skewed("+8d", 1), down(12, 2, recovered=16)
    found = of(ahead, killed)
    assert (found.kind, found.cause) == ("undecided", "missing evidence")
    assert found.clause == (
        "not measured: whether broker 2's log began at offset 16, as its epoch cache does, until its process "
        "ended uncleanly"
    )
    forbidden = Label("violation", "no configuration permits checkpoint-sane")
    assert of(ahead) == forbidden, "it ended cleanly"
    assert of(killed) == forbidden, "no clock was wrong"
    assert of(ahead, killed, offset=20) == forbidden, "another flaw"
    assert of(ahead, killed, log=replace(forgot, epoch_starts=(30,))) == forbidden, "no log began there"
    assert of(ahead, killed, log=replace(forgot, epoch_starts=(0,))) == forbidden, "the cache is whole"


def test_readers_may_disagree_where_retention_has_deleted_what_shows_the_loss() -> None:
    """An election may have taken a record at offset 7; what came after it is deleted."""
    elected = (*LED_BY_1, led(4.5, 2, 6, ALL), led(4.7, 1, 7, ALL))

    def of(*its, offset: int = 7, **settings) -> Label:
        differ = lost("same-for-all", offset=offset, sent=None, acked=None, producer=-1)
        return judge_contract(Anomalies.of([differ]), run(*its, **settings))[0]

    ahead = skewed("+8d", 1)
    found = of(*elected, ahead)
    assert (found.kind, found.cause) == ("undecided", "missing evidence")
    assert of(*elected, ahead, offset=16).kind == "violation", "the final log has it"
    assert of(*LED_BY_1, ahead).kind == "violation", "nobody was elected"
    assert of(*elected).kind == "violation", "no clock was wrong"


def test_a_usurper_s_record_is_not_the_one_that_retention_deleted() -> None:
    """Broker 3 wrote into its own log that it leads epoch 5, which is broker 1's."""
    usurped = BrokerLine(
        at_ms=CLOCK.wall_ns // 1_000_000,
        topic="orders",
        partition=0,
        node=3,
        kind="leader-start",
        leader_epoch=5,
        offset=0,
    )
    assert label(run(*LED_BY_1, skewed("+8d", 1), usurped)).kind == "undecided"


def test_where_nobody_can_place_what_a_controller_wrote_nothing_is_decided() -> None:
    its = run(*LED_BY_1, skewed("+8d", 1))
    unplaced = replace(its, context=replace(its.context, unplaced=frozenset({3})))
    assert label(unplaced).kind == "undecided"
    assert "the clock of one was off by less than the run lasted" in label(unplaced).clause


def test_a_reading_of_the_clocks_widens_what_may_have_been() -> None:
    """With readings as in a real run the label is the same."""
    readings = [ClockPair(at_ns=ns(at), wall_ns=CLOCK.wall_ns + at * SECOND_NS) for at in range(0, 42, 2)]
    found = label(run(*LED_BY_1, *readings, skewed("+8d", 1)))
    assert (found.kind, found.cause) == ("permitted", RETENTION)


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (DAY_MS, "1 day"),
        (7 * DAY_MS, "7 days"),
        (3_600_000, "1 hour"),
        (90 * 60_000, "90 minutes"),
        (1_500, "1,500 milliseconds"),
        (61_000, "61 seconds"),
    ],
)
def test_a_time_in_words_has_the_largest_unit_that_divides_it(milliseconds: int, words: str) -> None:
    assert in_words(milliseconds) == words


def test_the_default_is_kafka_s_week() -> None:
    assert TopicPromise().retention_ms == 7 * DAY_MS

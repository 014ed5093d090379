"""The contract, clause by clause: the same loss is permitted or a violation, as the run really was."""

from dataclasses import replace

import pytest
from fakes.judged_run import ALL_POWERED_OFF, CLOCK, LEADER_KILLED, QUIET, cut, down, led, lost, ns, world

from checkers.anomalies import Anomalies
from checkers.contract.label import CLIENT, Label, judge_contract
from checkers.contract.settings import ProducerPromise, Realised, TopicPromise
from checkers.history.rows import MetadataChange, Watermark


def label(anomaly, realised_world, *others) -> Label:
    """The label of the first anomaly among all of them."""
    labels = judge_contract(Anomalies.of([anomaly, *others]), realised_world)
    return labels.classes[labels.of[0][0]]


TWO_KILLED_ONE_AFTER_THE_OTHER = (
    led(0, 1, 5, (1, 2, 3)),
    down(4, 1, recovered=9),
    led(6, 2, 6, (2, 3)),
    led(9, 2, 6, (1, 2, 3)),
    down(10, 2, recovered=15),
    led(12, 3, 7, (1, 3)),
    led(15, 3, 7, (1, 2, 3)),
)
TWO_KILLED_TOGETHER = (
    led(0, 1, 5, (1, 2, 3)),
    down(4, 1, recovered=14),
    led(6, 2, 6, (2, 3)),
    down(8, 2, recovered=15),
    led(9, 3, 7, (3,)),
    led(14, 3, 7, (1, 3)),
    led(15, 3, 7, (1, 2, 3)),
)
LAST_ONE_POWERED_OFF = (
    led(0, 1, 5, (1, 2)),
    down(4, 2, kind="stop", recovered=16),
    led(4, 1, 5, (1,)),
    down(5, 1, kind="power-loss", recovered=17),
    led(8, -1, 6, (1,)),
    led(14, 1, 7, (1,)),
    led(16, 1, 7, (1, 2)),
)
UNCLEAN_ELECTION = (
    led(0, 1, 5, (1, 2, 3)),
    led(2, 1, 5, (1,)),
    down(4, 1, recovered=12),
    led(6, -1, 6, (1,)),
    led(7, 2, 7, (2,)),
    led(12, 2, 7, (1, 2)),
)
ZOMBIE = (
    led(0, 1, 5, (1, 2, 3)),
    cut(3),
    led(6, 2, 6, (2, 3)),
    led(20, 2, 6, (1, 2, 3)),
)


@pytest.mark.parametrize("acks", ["1", "all"])
def test_a_loss_that_nothing_explains_is_a_violation(acks):
    """No fault, no election."""
    assert label(lost(), world(*QUIET, acks=acks)) == Label(
        "violation", f"acks={acks}: no fault or election permits it"
    )


def test_acks_0_promises_nothing():
    """Not even that a record was written, with or without an offset."""
    for offset in (7, -1):
        assert label(lost(offset=offset), world(*QUIET, acks="0")) == Label(
            "permitted", "acks=0: nothing was promised"
        )


def test_acks_1_permits_what_was_acked_before_the_leader_changed():
    """The mission's positive control."""
    assert label(lost(acked=3.9), world(*LEADER_KILLED, acks="1")) == Label(
        "permitted",
        "acks=1: the leader of orders-0 changed at 7.00 s (to broker 2, epoch 6), "
        "maybe before it was replicated",
    )


def test_acks_1_does_not_permit_what_was_acked_after_the_change():
    """The killed leader acknowledges nothing any more, and the new one stays."""
    assert label(lost(sent=8, acked=8.1), world(*LEADER_KILLED, acks="1")).kind == "violation"


def test_acks_1_permits_what_a_deposed_leader_acked_without_knowing():
    """It was cut off from the controllers, not killed, and went on until it was in sync again."""
    zombie = world(*ZOMBIE, acks="1")
    assert label(lost(sent=15, acked=15.1), zombie) == Label(
        "permitted", "acks=1: broker 1, deposed at 6.00 s, may have acknowledged it without knowing"
    )
    assert label(lost(sent=22, acked=22.1), zombie).kind == "violation"


def test_acks_1_does_not_permit_a_loss_below_the_high_watermark():
    """What was exposed is promised by the brokers, whatever the producer asked for."""
    seen = lost("read-uncommitted", acked=3.9)
    for wanted in ("hw-loss", "read-uncommitted"):
        assert label(lost(wanted, acked=3.9), world(*LEADER_KILLED, acks="1"), seen) == Label(
            "violation", "it was below the high watermark, and no fault or election permits its loss"
        )


def test_an_ack_of_a_deposed_leader_does_not_witness_that_its_record_was_below_the_high_watermark():
    """Ack and samples may be of two leaders. A reader's witness leaves no such doubt, nor does acks=all."""
    exposed = lost("hw-loss", sent=15, acked=15.1)
    assert label(exposed, world(*ZOMBIE, acks="1")) == Label(
        "permitted",
        "acks=1: broker 1, deposed by then, may have acknowledged it, "
        "so it need not have been below the high watermark",
    )
    seen = lost("read-uncommitted", sent=15, acked=15.1)
    assert label(exposed, world(*ZOMBIE, acks="1"), seen).kind == "violation"
    assert label(exposed, world(*ZOMBIE, acks="all")).kind == "violation"


@pytest.mark.parametrize("wanted", ["acked-loss", "hw-loss"])
def test_acks_all_survives_the_kill_of_a_leader(wanted):
    """One unclean shutdown is fewer than min.insync.replicas 2."""
    assert label(lost(wanted, acked=3.9), world(*LEADER_KILLED)).kind == "violation"


@pytest.mark.parametrize("wanted", ["acked-loss", "hw-loss", "read-uncommitted"])
def test_as_many_unclean_shutdowns_as_min_isr_permit_the_loss_of_what_was_there_before(wanted):
    """Simultaneous power loss; whoever wrote it, seen or not."""
    assert label(lost(wanted, acked=3.9), world(*ALL_POWERED_OFF)) == Label(
        "permitted",
        "3 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 2, 3 by 4.00 s",
    )


def test_what_was_acked_after_the_power_loss_is_not_permitted_by_it():
    """Nobody shut down since."""
    assert label(lost(sent=11, acked=12), world(*ALL_POWERED_OFF)).kind == "violation"


def test_an_effect_that_was_seen_only_after_the_restart_counts_from_its_injection():
    """Lost bytes are counted when the node is back; what was written between is nobody's excuse."""
    late = replace(down(4, 1, 2, 3, kind="power-loss"), effect_ns=ns(16))
    events = (*(event for event in ALL_POWERED_OFF if isinstance(event, MetadataChange)), late)
    assert label(lost(acked=3.9), world(*events)).permitted
    assert label(lost(sent=15.5, acked=15.6), world(*events)).kind == "violation"


def test_what_was_acked_while_the_nodes_were_being_shut_down_was_there_before():
    """Pausing three nodes takes a second or two."""
    slow = replace(down(4, 1, 2, 3, kind="power-loss"), effect_ns=ns(6))
    events = (*(event for event in ALL_POWERED_OFF if isinstance(event, MetadataChange)), slow)
    assert label(lost(sent=5.8, acked=5.9), world(*events)).permitted


def test_an_info_record_that_was_seen_is_placed_by_when_it_was_sent():
    """It has no acknowledgement."""
    assert label(lost("hw-loss", acked=None), world(*ALL_POWERED_OFF)).permitted
    assert label(lost("hw-loss", sent=11, acked=None), world(*ALL_POWERED_OFF)).kind == "violation"


def test_what_a_reader_saw_is_placed_by_when_it_saw_it_if_no_ack_was_for_that_copy():
    """The power goes at 4 s. The send was retried, so its acknowledgement says nothing of the first copy."""
    assert label(lost("hw-loss", acked=None, seen=3.5), world(*ALL_POWERED_OFF)).permitted
    assert label(lost("hw-loss", acked=None, seen=13), world(*ALL_POWERED_OFF)).kind == "violation"


def test_a_record_of_which_nothing_is_known_may_have_been_there_before():
    """A sampled high watermark names neither record nor time."""
    nameless = lost("hw-loss", sent=None, acked=None, producer=-1, sequence=-1)
    assert label(nameless, world(*ALL_POWERED_OFF)).permitted
    assert label(nameless, world(*LEADER_KILLED)).kind == "violation"


@pytest.mark.parametrize("events", [ALL_POWERED_OFF, LAST_ONE_POWERED_OFF, TWO_KILLED_TOGETHER])
def test_with_a_flush_before_each_ack_unclean_shutdowns_permit_nothing(events):
    """flush.messages=1: the negative control of the power failure."""
    assert label(lost(), world(*events, flush=1, elr=False)).kind == "violation"


def test_unclean_shutdowns_with_a_recovered_isr_between_them_do_not_add_up():
    """The first one was in sync again before the second one went."""
    assert label(lost(), world(*TWO_KILLED_ONE_AFTER_THE_OTHER)).kind == "violation"


def test_unclean_shutdowns_before_the_isr_has_recovered_add_up():
    """The first one was still out when the second one went."""
    assert label(lost(), world(*TWO_KILLED_TOGETHER)) == Label(
        "permitted",
        "2 unclean shutdowns ≥ min.insync.replicas 2 before the ISR recovered: brokers 1, 2 by 8.00 s",
    )


def test_only_those_who_held_the_record_count():
    """Broker 1 was out of the ISR when it was acknowledged, so only one holder shut down."""
    events = (led(0, 2, 5, (2, 3)), down(4, 1), down(5, 2), led(6, 3, 6, (3,)))
    assert label(lost(), world(*events)).kind == "violation"


def test_min_isr_1_tolerates_no_unclean_shutdown():
    """A false sense of safety: tolerance is min.insync.replicas - 1."""
    assert label(lost(acked=3.9), world(*LEADER_KILLED, min_isr=1)) == Label(
        "permitted", "1 unclean shutdown ≥ min.insync.replicas 1 before the ISR recovered: broker 1 by 4.00 s"
    )


def test_without_elr_the_last_in_sync_replica_takes_everything_with_it():
    """Last replica standing: one unclean shutdown is enough, though another replica had it all."""
    assert label(lost(), world(*LAST_ONE_POWERED_OFF, elr=False)) == Label(
        "permitted", "ELR off: the last in-sync replica, broker 1, shut down uncleanly at 5.00 s"
    )


def test_without_elr_one_of_several_in_sync_replicas_does_not_nor_what_was_acked_later():
    """Another one is elected and has it all; and what came after was not there to be lost."""
    assert label(lost(), world(*LEADER_KILLED, elr=False)).kind == "violation"
    later = lost(sent=15, acked=15.1)
    assert label(later, world(*LAST_ONE_POWERED_OFF, elr=False)).kind == "violation"


def test_a_node_that_was_back_before_anybody_missed_it_counts_until_its_fault_had_recovered():
    """It never left the ISR of the metadata log."""
    quick = (*QUIET, down(4, 1, recovered=5), down(6, 2, recovered=7))
    assert label(lost(), world(*quick)).kind == "violation"
    never = (*QUIET, down(4, 1), down(6, 2))
    assert label(lost(), world(*never)).permitted


def test_with_elr_the_last_in_sync_replica_does_not():
    """The one that stopped cleanly is eligible; electing the emptied one breaks the promise."""
    assert label(lost(), world(*LAST_ONE_POWERED_OFF, elr=True)).kind == "violation"


def test_an_unclean_election_permits_a_loss_where_it_is_allowed():
    """A replica outside the ISR was elected, as the topic permits."""
    allowed = world(*UNCLEAN_ELECTION, unclean=True, min_isr=2)
    assert label(lost(), allowed) == Label("permitted", "unclean election of broker 2 at 7.00 s")
    assert label(lost("hw-loss"), allowed).permitted


def test_a_report_may_reach_its_client_a_second_late():
    """The record was there before the election, or the shutdown; the news was in a queue."""
    assert label(lost(sent=6.5, acked=7.9), world(*UNCLEAN_ELECTION, unclean=True)).permitted
    assert label(lost(sent=3.9, acked=5.05), world(*ALL_POWERED_OFF)).permitted
    assert label(lost(sent=3.9, acked=5.15), world(*ALL_POWERED_OFF)).kind == "violation"


def test_an_unclean_election_permits_nothing_where_it_is_not_allowed():
    """It should not have happened."""
    assert label(lost(), world(*UNCLEAN_ELECTION, unclean=False)).kind == "violation"


def test_allowing_unclean_elections_permits_nothing_unless_one_happened():
    """The setting alone loses no record."""
    assert label(lost(), world(*LEADER_KILLED, unclean=True)).kind == "violation"


def test_an_election_from_the_eligible_replicas_is_clean():
    """KIP-966: the ISR is empty, the ELR is not."""
    events = (
        led(0, 1, 5, (1, 2)),
        led(3, 1, 5, (1,), (2,)),
        down(4, 1),
        led(6, -1, 6, (), (1, 2)),
        led(9, 2, 7, (2,), (1,)),
    )
    assert label(lost(), world(*events, unclean=True)).kind == "violation"


def test_what_was_acked_after_an_unclean_election_is_not_permitted_by_it():
    """The new leader's own records stay."""
    assert label(lost(sent=9, acked=9.1), world(*UNCLEAN_ELECTION, unclean=True)).kind == "violation"


@pytest.mark.parametrize("acks", ["1", "all"])
@pytest.mark.parametrize("wanted", ["acked-loss", "unknown-offset-ack"])
def test_an_ack_without_an_offset_accuses_the_client(acks, wanted):
    """Whatever the brokers' contract permits: no broker ever reported where the record is."""
    for events in (QUIET, LEADER_KILLED, ALL_POWERED_OFF):
        assert label(lost(wanted, offset=-1), world(*events, acks=acks)) == Label("violation", CLIENT)


@pytest.mark.parametrize("wanted", ["content", "resurrected", "phantom", "offset-gap", "real-time-order"])
def test_no_configuration_permits_these(wanted):
    """Not acks=0, not a power failure, not an unclean election."""
    for events in (ALL_POWERED_OFF, UNCLEAN_ELECTION):
        anything_goes = world(*events, acks="0", unclean=True, min_isr=1, elr=False)
        assert label(lost(wanted), anything_goes) == Label("violation", f"no configuration permits {wanted}")


@pytest.mark.parametrize("wanted", ["duplicate", "producer-order"])
def test_retries_without_idempotence_may_double_and_reorder(wanted):
    """With idempotence they may not."""
    assert label(lost(wanted), world(*QUIET, acks="1", idempotence=False)) == Label(
        "permitted", "idempotence off: a retry may write a record again, or behind a later one"
    )
    assert label(lost(wanted), world(*QUIET, acks="all", idempotence=True)).kind == "violation"
    assert label(lost(wanted), world(*QUIET, acks="all", idempotence=False)).permitted


def test_a_retrys_second_copy_may_lie_behind_later_records():
    """Real-time order is excused for the copy, at its very place, and for nothing else."""
    late = lost("real-time-order", offset=9)
    assert label(late, world(*QUIET, acks="1"), lost("duplicate", offset=9)).permitted
    assert label(late, world(*QUIET, acks="1"), lost("duplicate", offset=8)).kind == "violation"
    assert label(late, world(*QUIET, acks="all"), lost("duplicate", offset=9)).kind == "violation"


def test_an_earlier_attempts_copy_may_outlive_the_acknowledged_one_without_idempotence():
    """Only where the acknowledged copy was permitted to go."""
    assert label(lost("ack-offset", acked=3.9), world(*LEADER_KILLED, acks="1")).permitted
    assert label(lost("ack-offset", acked=3.9), world(*QUIET, acks="1")).kind == "violation"
    assert label(lost("ack-offset", acked=3.9), world(*ALL_POWERED_OFF)).kind == "violation"


def test_readers_may_disagree_only_where_a_loss_is_permitted():
    """A derived effect is as good as its cause, at its very offset."""
    disagreed = lost("same-for-all", producer=-1, sequence=-1, sent=None, acked=None)
    loss = lost("hw-loss")
    assert label(disagreed, world(*ALL_POWERED_OFF), loss).permitted
    assert label(disagreed, world(*LEADER_KILLED), loss).kind == "violation"
    assert label(disagreed, world(*ALL_POWERED_OFF), lost("hw-loss", offset=6)).kind == "violation"
    other = lost("hw-loss", sequence=2, sent=11, acked=12)
    assert label(disagreed, world(*ALL_POWERED_OFF), loss, other).kind == "violation"
    assert label(disagreed, world(*ALL_POWERED_OFF)).kind == "violation"


def test_a_reader_may_step_back_only_at_or_behind_a_permitted_truncation():
    """Not before it, and not if any of the losses is a violation."""
    stepped = lost("monotone-read", offset=9, sent=None)
    assert label(stepped, world(*ALL_POWERED_OFF), lost("hw-loss", offset=7)).permitted
    assert label(stepped, world(*ALL_POWERED_OFF), lost("hw-loss", offset=10)).kind == "violation"
    assert label(stepped, world(*LEADER_KILLED), lost("hw-loss", offset=7)).kind == "violation"
    assert label(stepped, world(*ALL_POWERED_OFF), lost("hw-loss", offset=9)).permitted
    late = lost("hw-loss", offset=9, sent=11, acked=12)
    assert label(stepped, world(*ALL_POWERED_OFF), lost("hw-loss", offset=7), late).kind == "violation"


def test_each_producer_has_its_own_contract():
    """A mixed cluster: the same place and time, two promises."""
    mixed = Realised(
        producers={
            0: ProducerPromise(acks="1", idempotence=False),
            1: ProducerPromise(acks="all", idempotence=True),
        },
        topics={"orders": TopicPromise(min_isr=2)},
        elr=True,
        clock=CLOCK,
        context=world(*LEADER_KILLED).context,
    )
    labels = judge_contract(Anomalies.of([lost(producer=0), lost(producer=1), lost(producer=7)]), mixed)
    assert [labels.classes[each].kind for each in labels.of[0]] == ["permitted", "violation", "violation"]


def test_without_a_metadata_log_the_samples_tell_who_led():
    """A run whose metadata log could not be read is judged by what the sampler saw."""
    seen = [
        Watermark(topic="orders", partition=0, at_ns=ns(s), leader=n, leader_epoch=e, isr=isr)
        for s, n, e, isr in (
            (1, 1, 5, (1, 2, 3)),
            (8, 2, 6, (2, 3)),
            (9, 1, 5, (1, 2, 3)),
            (13, 2, 6, (1, 2, 3)),
        )
    ]
    sampled = world(*seen, down(4, 1), acks="1")
    assert [(e.leader, e.deposed, e.leader_epoch) for e in sampled.timeline.elections(("orders", 0))] == [
        (2, 1, 6)
    ]
    assert label(lost(acked=3.9), sampled).permitted

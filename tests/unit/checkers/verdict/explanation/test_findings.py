"""One cause is one finding, and its first line explains what happened."""

from dataclasses import replace

from fakes.history.judged_run import (
    ALL_CUT,
    LEADER_KILLED,
    QUIET,
    cut,
    down,
    led,
    log_end,
    lost,
    lost_directory,
    ns,
    sampled,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.history.records.log_runs import LogRun
from checkers.history.rows import BrokerLine, Proof
from checkers.verdict.explanation.explain import MOST_EXPLAINED, explain, explain_gravest
from checkers.verdict.explanation.findings import MOST_BETWEEN, group

PROOF = Proof(topic="orders", partition=0, log_start=0, high_watermark=9000, log_end=9000, complete=True)


def found(anomalies, realised):
    """The findings, with the labels that the contract gives."""
    blocks = Anomalies.of(anomalies)
    return group(blocks, judge_contract(blocks, realised), realised.timeline)


def grouped(anomalies, realised) -> list[tuple[str, list[str], int, int, int]]:
    """Label, properties, offsets and records of each finding."""
    return [
        (f.label.kind, [p.value for p in f.properties], f.first_offset, f.last_offset, f.records)
        for f in found(anomalies, realised)
    ]


def explained(anomalies, realised):
    """The explanation of the first finding."""
    return explain(found(anomalies, realised)[0], realised)


def test_a_truncated_run_of_offsets_is_one_finding_that_names_all_properties():
    """Acknowledged, exposed and read, at neighbouring offsets, in any order."""
    anomalies = [
        lost("read-uncommitted", offset=6, sequence=6),
        lost("hw-loss", offset=6, sequence=6),
        *(lost(offset=offset, sequence=offset) for offset in (8, 5, 7, 6)),
        lost("hw-loss", offset=7, sequence=7),
        lost("same-for-all", offset=6, producer=-1, sequence=-1, sent=None, acked=None),
    ]
    assert grouped(anomalies, world(*ALL_CUT)) == [
        ("permitted", ["acked-loss", "hw-loss", "read-uncommitted", "same-for-all"], 5, 8, 4)
    ]


def test_a_hole_of_indeterminate_records_does_not_split_a_truncation():
    """Nobody reports those, and they were truncated as well."""
    near = [lost(offset=5), lost(offset=5 + MOST_BETWEEN)]
    far = [lost(offset=5), lost(offset=6 + MOST_BETWEEN)]
    assert len(grouped(near, world(*QUIET))) == 1
    assert len(grouped(far, world(*QUIET))) == 2


def test_each_partition_epoch_and_label_is_a_finding_of_its_own():
    """Violations come first, then what is undecided: nothing is known of partition 1."""
    anomalies = [
        lost(offset=5, acked=3),
        lost(offset=6, sent=13, acked=13.5),
        lost(offset=7, acked=3, partition=1),
    ]
    assert grouped(anomalies, world(*LEADER_KILLED, acks="1")) == [
        ("violation", ["acked-loss"], 6, 6, 1),
        ("undecided", ["acked-loss"], 7, 7, 1),
        ("permitted", ["acked-loss"], 5, 5, 1),
    ]


def test_the_worst_label_of_an_offset_is_its_findings_label():
    """The producer was promised nothing there, the readers were."""
    seen = {"acked": 3.9, "seen": 3.95}
    anomalies = [lost(acked=3.9), lost("hw-loss", **seen), lost("read-uncommitted", **seen)]
    assert grouped(anomalies, world(*LEADER_KILLED, acks="1")) == [
        ("violation", ["acked-loss", "hw-loss", "read-uncommitted"], 7, 7, 1)
    ]


def test_one_label_under_two_leader_epochs_is_two_findings():
    """Two truncations, or one too many."""
    anomalies = [lost(offset=5, acked=3), lost(offset=6, sent=8, acked=9)]
    assert [row[2:] for row in grouped(anomalies, world(*LEADER_KILLED))] == [(5, 5, 1), (6, 6, 1)]


def test_the_record_that_was_promised_speaks_for_an_offset_that_two_records_lost():
    """Another one's loss at that offset is permitted."""
    allowed, forbidden = lost(acked=3.9), lost("hw-loss", sequence=2, acked=3.9, seen=3.95)
    line = explained([allowed, forbidden], world(*LEADER_KILLED, acks="1")).line
    assert line.startswith("orders-0 offset 7, record 0/2: lost from below the high watermark; ")


def test_records_acknowledged_without_an_offset_are_one_finding_apart():
    """They have no place, but each is a record."""
    anomalies = [
        lost(wanted, offset=-1, sequence=n) for n in (1, 2) for wanted in ("acked-loss", "unknown-offset-ack")
    ]
    assert grouped([*anomalies, lost(offset=0)], world(*QUIET)) == [
        ("violation", ["acked-loss", "unknown-offset-ack"], -1, -1, 2),
        ("violation", ["acked-loss"], 0, 0, 1),
    ]


def test_other_properties_have_findings_of_their_own():
    """A duplicate at the offset of a loss is another cause."""
    anomalies = [lost("duplicate"), lost("content", offset=3), lost()]
    assert grouped(anomalies, world(*QUIET)) == [
        ("violation", ["acked-loss"], 7, 7, 1),
        ("violation", ["content"], 3, 3, 1),
        ("violation", ["duplicate"], 7, 7, 1),
    ]


def test_the_line_names_record_ack_leader_epoch_fault_and_high_watermark():
    """The whole story of a positive control in one sentence, the evidence after it."""
    realised = world(
        led(0, 1, 5, (1, 2, 3)),
        cut(2.5, healed=6),
        down(4, 1, recovered=12),
        led(7, 2, 6, (2, 3)),
        led(12, 2, 6, (1, 2, 3)),
        sampled(2, 4700),
        sampled(3.4, 4801),
        sampled(8, 4801, leader=2, epoch=6, isr=(2, 3)),
        log_end(3.9, 1, 5300),
        log_end(6.5, 2, 4801),
        log_end(9, 1, 5250, source="disk-down"),
        BrokerLine(topic="orders", partition=0, at_ms=5_012_000, node=1, kind="truncated", offset=4801),
        LogRun(5, 0, 4800),
        LogRun(6, 4801, 8999),
        PROOF,
        acks="1",
    )
    note = "offset 5120 now holds record 3/910"
    anomalies = [
        lost(offset=5120, sent=3.3, acked=3.5, sequence=812, note=note),
        lost(offset=5121, sent=3.3, acked=3.6, sequence=813),
    ]
    explanation = explained(anomalies, realised)
    clause = (
        "acks=1: broker 2 was elected at 7.00 s (epoch 6, its log begins at offset 4801), "
        "before it was replicated"
    )
    assert explanation.line == (
        "orders-0 offset 5120, record 0/812 and 1 more: acknowledged and lost; "
        "acknowledged at 3.50 s by broker 1, leader epoch 5, in sync were [1, 2, 3]; "
        "cut (partition of 2->1, 3->1) was active, kill-1 (kill of node 1) followed 0.50 s later; "
        f"{clause}; "
        "the high watermark of orders-0 was 4801 then (sampled 0.10 s before), "
        "4801 at 8.00 s under broker 2, leader epoch 6, 9000 at the end; "
        "offset 5120 now holds record 3/910"
    )
    assert explanation.evidence == (
        f"permitted (acks=1 unreplicated tail): {clause}",
        "acked-loss 2",
        "2 offsets: 5120 to 5121",
        "acked-loss at offset 5120, record 0/812: acknowledged at 3.50 s by broker 1, leader epoch 5, "
        "in sync were [1, 2, 3]; offset 5120 now holds record 3/910",
        "acked-loss at offset 5121, record 0/813: acknowledged at 3.60 s by broker 1, leader epoch 5, "
        "in sync were [1, 2, 3]",
        "election: broker 1 → broker 2, leader epoch 6, at 7.00 s: clean, it was in the ISR [1, 2, 3]",
        "truncation: leader epoch 6 begins at offset 4801; every other log was cut there",
        "broker 1 cut its log to offset 4801 at 12.00 s",
        "replica 1 (killed, page cache kept) held all 2 of the offsets: "
        "on its disk, before it was started again",
        "replica 2 held none of the offsets: its log end was 4801 at 6.50 s",
        "what replica 3 held was not measured",
        "cut (partition of 2->1, 3->1) at 2.50 s",
        "kill-1 (kill of node 1) at 4.00 s, unclean shutdown of 1",
    )


def test_without_a_metadata_log_the_leader_is_the_samplers():
    """The next best witness."""
    realised = world(sampled(1, 5, leader=3, epoch=9), sampled(4, 8, leader=3, epoch=9))
    assert explained([lost()], realised).line == (
        "orders-0 offset 7, record 0/1: acknowledged and lost; "
        "acknowledged at 3.00 s by broker 3, leader epoch 9, in sync were [1, 2, 3]; "
        "no election since it was written begins at or below its offset; "
        "the high watermark of orders-0 was 5 then (sampled 2.00 s before)"
    )


def test_a_loss_without_any_witness_of_time_is_explained_as_such():
    """Only a sampled high watermark accuses."""
    nameless = lost("hw-loss", producer=-1, sequence=-1, sent=None, acked=None, note="nothing is there now")
    assert explained([nameless], world(*QUIET, down(4, 1))).line == (
        "orders-0 offset 7: lost from below the high watermark; when it was written is not known; "
        "no election since it was written begins at or below its offset; nothing is there now"
    )


def test_an_indeterminate_record_is_placed_in_time_by_when_it_was_sent():
    """It was never acknowledged."""
    assert explained([lost("hw-loss", acked=None)], world(*QUIET)).line == (
        "orders-0 offset 7, record 0/1: lost from below the high watermark; "
        "sent, never acknowledged, at 2.00 s by broker 1, leader epoch 5, in sync were [1, 2, 3]; "
        "no election since it was written begins at or below its offset"
    )


def test_a_fault_that_had_ended_is_not_active():
    """Nor is one that is still to come."""
    line = explained([lost(sent=12, acked=13)], world(*QUIET, cut(2, healed=5), down(14, 1))).line
    assert "no fault was active, kill-1 (kill of node 1) followed 1.00 s later" in line


def test_all_faults_up_to_the_election_are_named_and_none_behind_it():
    """The kill took the record, also where it was written just before the cut; the later pause did not."""
    paused = replace(down(9, 3, kind="pause"), unclean=())
    line = explained([lost(acked=3)], world(*LEADER_KILLED, cut(3.5, healed=6), paused, acks="1")).line
    assert (
        "no fault was active, cut (partition of 2->1, 3->1) followed 0.50 s later, "
        "kill-1 (kill of node 1) followed 1.00 s later"
    ) in line


def test_a_fault_is_active_until_its_recovery_is_proven_and_for_ever_if_it_was_not_healed():
    """One that was never injected never is."""
    recovering = replace(cut(2, healed=5), recovered_ns=ns(8))
    assert (
        "cut (partition of 2->1, 3->1) was active"
        in explained([lost(acked=7)], world(*QUIET, recovering)).line
    )
    assert (
        "cut (partition of 2->1, 3->1) was active" in explained([lost(acked=99)], world(*QUIET, cut(2))).line
    )
    assert "no fault was active" in explained([lost()], world(*QUIET, cut(-1))).line


def test_the_high_watermark_is_this_partitions_as_far_as_it_was_sampled():
    """Not another partition's, not an unknown one, not an unproven one."""
    elsewhere = replace(sampled(2, 77), partition=1)
    others = (elsewhere, sampled(2.5, -1), replace(PROOF, complete=False), replace(PROOF, partition=1))
    assert "high watermark" not in explained([lost()], world(*QUIET, *others)).line
    line = explained([lost()], world(*QUIET, *others, sampled(5, 40))).line
    assert line.endswith("the high watermark of orders-0 was 40 then (sampled 2.00 s after)")


def test_a_fault_without_a_name_of_its_own_is_named_by_its_kind():
    """Schedules name a step after its kind unless they are given another name."""
    line = explained([lost()], world(*QUIET, replace(down(4, 1), name="kill"))).line
    assert "no fault was active, kill of node 1 followed 1.00 s later" in line


def test_a_fault_on_many_edges_names_the_first_ones():
    """A sentence is not a table."""
    edges = tuple(f"{source}->9" for source in range(1, 8))
    line = explained([lost()], world(*QUIET, cut(2, edges=edges))).line
    assert "cut (partition of 1->9, 2->9, 3->9, 4->9 and 3 more) was active" in line


def test_a_disaster_is_counted_in_full_and_explained_in_part():
    """The gravest findings first."""
    anomalies = [lost("content", offset=n * (MOST_BETWEEN + 1)) for n in range(MOST_EXPLAINED + 7)]
    findings = found(anomalies, world(*QUIET))
    explained_part = explain_gravest(findings, world(*QUIET))
    assert (len(findings), len(explained_part)) == (57, 50)
    assert explained_part[0][0].first_offset == 0
    assert explained_part[0][1].line.startswith("orders-0 offset 0, record 0/1: altered; ")


def test_faults_on_other_brokers_and_unproven_ones_are_not_named():
    """Broker 9 is no replica of orders-0; a fault without evidence of an effect explains nothing."""
    stranger = replace(led(0, 9, 1, (9,)), partition=1, replicas=(9,))
    elsewhere = down(3.5, 9)
    edge = cut(3.6, edges=("9->1",))
    unproven = replace(cut(3.7), proven=False)
    line = explained(
        [lost(acked=3)], world(*LEADER_KILLED, stranger, elsewhere, edge, unproven, acks="1")
    ).line
    assert "no fault was active, kill-1 (kill of node 1) followed 1.00 s later; acks=1: broker 2" in line


def test_the_ack_of_a_deposed_leader_names_it_and_who_had_deposed_it():
    run = world(
        led(0, 1, 5, (1, 2, 3)),
        sampled(5, 5),
        led(6, 2, 6, (2, 3)),
        led(20, 2, 6, (1, 2, 3)),
        LogRun(5, 0, 4),
        LogRun(6, 5, 90),
        acks="1",
    )
    line = explained([lost(offset=40, sent=9, acked=9.1)], run).line
    assert (
        "acknowledged at 9.10 s by broker 1, leader epoch 5, which broker 2 had deposed at 6.00 s (epoch 6)"
        in line
    )


def test_each_power_loss_names_what_it_took_of_each_replica():
    evidence = explained([lost(offset=7)], world(*ALL_CUT)).evidence
    assert [line for line in evidence if line.startswith("power loss")] == [
        f"power loss of broker {node} at 4.00 s: 28 records: its log went from 30 to 2" for node in (1, 2, 3)
    ]
    assert (
        "replica 2 (power loss) held none of the offsets: on its disk, before it was started again"
        in evidence
    )


LONE_LEADER = (
    led(0, 1, 5, (1, 2)),
    led(3, 1, 5, (1,)),
    lost_directory(5, 1, restarted=12, recovered=16),
    led(5.5, -1, 6, (1,)),
    log_end(12.5, 1, 4, source="disk-down"),
    led(14, 1, 7, (1,)),
    led(15, 1, 7, (1, 2)),
    LogRun(5, 0, 3),
    LogRun(7, 4, 50),
)
"""The last broker in sync loses the log directory of its replica, which comes back with 4 records."""


def test_a_lost_log_directory_is_told_with_what_came_back_of_it():
    told = explained([lost(offset=7, sent=3.5, acked=4)], world(*LONE_LEADER, min_isr=1))
    assert "log-dir-failure-1 (log-dir-failure of node 1) followed 1.00 s later" in told.line
    assert "loss of a log directory of broker 1 at 5.00 s: its log went to 4" in told.evidence
    assert any(line.startswith("replica 1 (log directory lost) held none of") for line in told.evidence)
    cost = "1 replica offline, unclean shutdown of 1, unsynced data lost on 1"
    assert any(line.endswith(f"at 5.00 s, {cost}") for line in told.evidence)


def test_a_fault_of_another_log_directory_is_named_only_if_the_node_was_restarted_for_it():
    """What lies elsewhere lost its leader by that, and nothing else."""
    elsewhere = lost_directory(3, 1, restarted=12, recovered=16, partition=1)
    went_on = replace(elsewhere, down=(), down_ns=(), up_ns=(), unclean=(), data_lost=())
    line = explained([lost(sent=3.5, acked=4)], world(*QUIET, went_on)).line
    assert "no fault was active" in line
    line = explained([lost(sent=3.5, acked=4)], world(*QUIET, elsewhere)).line
    assert "log-dir-failure-1 (log-dir-failure of node 1) was active" in line


def of_broker(wanted, broker, epoch, note=""):
    """An anomaly of what the controllers decided."""
    return lost(wanted, offset=-1, producer=broker, sequence=epoch, sent=None, acked=None, note=note)


def of_replica(wanted, broker, first, last, note=""):
    """An anomaly of one replica's disk."""
    nameless = lost(
        wanted, offset=first, last=last, producer=-1, sequence=-1, sent=None, acked=None, note=note
    )
    return replace(nameless, replica=broker)


def test_an_election_is_told_by_broker_and_leader_epoch_and_by_no_record():
    """The high watermark and the faults around a record have nothing to do with it."""
    note = "broker 3 was elected under ISR [1, 2] (metadata offset 90)"
    run = world(*LEADER_KILLED, PROOF)
    assert explained([of_broker("leader-legal", 3, 5, note)], run).line == (
        "orders-0: broker 3 under leader epoch 5: led by a broker that was not eligible; "
        "broker 3 was elected under ISR [1, 2] (metadata offset 90)"
    )


def test_its_evidence_names_each_end_of_the_finding_the_elections_and_the_faults():
    anomalies = [of_broker("leader-legal", 3, 5, "one"), of_broker("leader-legal", 2, 9, "two")]
    explanation = explained(anomalies, world(*LEADER_KILLED, PROOF))
    assert explanation.line == (
        "orders-0: broker 3 under leader epoch 5 and 1 more: led by a broker that was not eligible; one"
    )
    assert explanation.evidence == (
        "violation: no configuration permits leader-legal",
        "leader-legal 2",
        "leader-legal, broker 3 under leader epoch 5; one",
        "leader-legal, broker 2 under leader epoch 9; two",
        "leader of orders-0: broker 2, epoch 6, elected at 7.00 s (clean)",
        "kill-1 (kill of node 1) at 4.00 s, unclean shutdown of 1",
    )


def test_a_broker_in_the_isr_and_an_epoch_without_a_leader_are_told_the_same_way():
    run = world(*QUIET)
    assert explained([of_broker("fenced-out", 2, 5)], run).line == (
        "orders-0: broker 2 under leader epoch 5: with a fenced broker in the ISR"
    )
    assert explained([of_broker("epoch-step", -1, 7)], run).line == (
        "orders-0: no leader under leader epoch 7: under an epoch that no step of the protocol leads to"
    )


def test_what_is_on_one_replicas_disk_is_told_by_its_broker_and_offsets_and_at_no_time():
    run = world(*LEADER_KILLED, PROOF)
    explanation = explained([of_replica("divergence", 2, 4, 5, "broker 2 lacks what was read there")], run)
    assert explanation.line == (
        "orders-0 offsets 4 to 5 on broker 2: not the same on every replica; "
        "broker 2 lacks what was read there"
    )
    assert explanation.evidence[:4] == (
        "violation: no configuration permits divergence",
        "divergence 2",
        "2 offsets: 4 to 5",
        "divergence at offset 4 to 5 on broker 2; broker 2 lacks what was read there",
    )
    assert explained([of_replica("crc", 3, 8, 8)], run).line == (
        "orders-0 offset 8 on broker 3: in a batch with a wrong CRC"
    )


def test_a_replica_with_several_runs_of_offsets_has_their_number_in_its_line():
    runs = [of_replica("divergence", 2, 4, 5), of_replica("divergence", 2, 9, 9)]
    assert explained(runs, world(*QUIET)).line == (
        "orders-0 offsets 4 to 9, in 2 ranges, on broker 2: not the same on every replica"
    )


def test_a_high_watermark_that_fell_was_answered_and_not_read():
    fell = lost("hw-monotone", offset=40, last=99, producer=-1, sequence=-1, sent=None, acked=None, seen=6)
    assert explained([fell], world(*QUIET)).line.startswith(
        "orders-0 offset 40 and 59 more: above a high watermark that fell; "
        "the higher one was answered at 6.00 s by broker 1, leader epoch 5, in sync were [1, 2, 3]; "
    )

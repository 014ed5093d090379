"""One cause is one finding, and its first line explains what happened."""

from dataclasses import replace

from fakes.judged_run import ALL_POWERED_OFF, LEADER_KILLED, QUIET, cut, down, lost, ns, sampled, world

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.history.rows import Proof
from checkers.verdict.explain import MOST_EXPLAINED, explain, explain_gravest
from checkers.verdict.findings import MOST_BETWEEN, group

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
    assert grouped(anomalies, world(*ALL_POWERED_OFF)) == [
        ("permitted", ["acked-loss", "hw-loss", "read-uncommitted", "same-for-all"], 5, 8, 4)
    ]


def test_a_hole_of_indeterminate_records_does_not_split_a_truncation():
    """Nobody reports those, and they were truncated as well."""
    near = [lost(offset=5), lost(offset=5 + MOST_BETWEEN)]
    far = [lost(offset=5), lost(offset=6 + MOST_BETWEEN)]
    assert len(grouped(near, world(*QUIET))) == 1
    assert len(grouped(far, world(*QUIET))) == 2


def test_each_partition_epoch_and_label_is_a_finding_of_its_own():
    """Violations come first."""
    anomalies = [
        lost(offset=5, acked=3),
        lost(offset=6, sent=13, acked=13.5),
        lost(offset=7, acked=3, partition=1),
    ]
    assert grouped(anomalies, world(*LEADER_KILLED, acks="1")) == [
        ("violation", ["acked-loss"], 6, 6, 1),
        ("violation", ["acked-loss"], 7, 7, 1),
        ("permitted", ["acked-loss"], 5, 5, 1),
    ]


def test_the_worst_label_of_an_offset_is_its_findings_label():
    """The producer was promised nothing there, the readers were."""
    anomalies = [lost(acked=3.9), lost("hw-loss", acked=3.9), lost("read-uncommitted", acked=3.9)]
    assert grouped(anomalies, world(*LEADER_KILLED, acks="1")) == [
        ("violation", ["acked-loss", "hw-loss", "read-uncommitted"], 7, 7, 1)
    ]


def test_one_label_under_two_leader_epochs_is_two_findings():
    """Two truncations, or one too many."""
    anomalies = [lost(offset=5, acked=3), lost(offset=6, sent=8, acked=9)]
    assert [row[2:] for row in grouped(anomalies, world(*LEADER_KILLED))] == [(5, 5, 1), (6, 6, 1)]


def test_the_record_that_was_promised_speaks_for_an_offset_that_two_records_lost():
    """Another one's loss at that offset is permitted."""
    allowed, forbidden = lost(acked=3.9), lost("hw-loss", sequence=2, acked=3.9)
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
        *LEADER_KILLED,
        cut(2.5, healed=6),
        sampled(2, 4700),
        sampled(3.4, 4801),
        sampled(8, 4801, leader=2, epoch=6, isr=(2, 3)),
        PROOF,
        acks="1",
    )
    note = "offset 5120 now holds record 3/910"
    anomalies = [
        lost(offset=5120, sent=3.3, acked=3.5, sequence=812, note=note),
        lost(offset=5121, sent=3.3, acked=3.6, sequence=813),
    ]
    explanation = explained(anomalies, realised)
    assert explanation.line == (
        "orders-0 offset 5120, record 0/812 and 1 more: acknowledged and lost; "
        "acknowledged at 3.50 s by broker 1, leader epoch 5; "
        "cut (partition of 2->1, 3->1) was active, kill-1 (kill of node 1) followed 0.50 s later; "
        "the high watermark of orders-0 was 4801 then, 4801 after the fail-over to broker 2, "
        "9000 at the end; "
        "offset 5120 now holds record 3/910"
    )
    assert explanation.evidence == (
        "permitted: acks=1: the leader of orders-0 changed at 7.00 s (to broker 2, epoch 6), "
        "maybe before it was replicated",
        "acked-loss 2",
        "2 offsets from 5120 to 5121",
        "acked-loss at offset 5120, record 0/812: acknowledged at 3.50 s by broker 1, leader epoch 5; "
        "offset 5120 now holds record 3/910",
        "acked-loss at offset 5121, record 0/813: acknowledged at 3.60 s by broker 1, leader epoch 5",
        "leader of orders-0: broker 2, epoch 6, elected at 7.00 s",
        "kill-1 (kill of node 1) at 4.00 s, unclean shutdown of 1",
        "cut (partition of 2->1, 3->1) at 2.50 s",
    )


def test_without_a_metadata_log_the_leader_is_the_samplers():
    """The next best witness."""
    realised = world(sampled(1, 5, leader=3, epoch=9), sampled(4, 8, leader=3, epoch=9))
    assert explained([lost()], realised).line == (
        "orders-0 offset 7, record 0/1: acknowledged and lost; "
        "acknowledged at 3.00 s by broker 3, leader epoch 9; "
        "the high watermark of orders-0 was 5 then"
    )


def test_a_loss_without_any_witness_of_time_is_explained_as_such():
    """Only a sampled high watermark accuses."""
    nameless = lost("hw-loss", producer=-1, sequence=-1, sent=None, acked=None, note="nothing is there now")
    assert explained([nameless], world(*QUIET, down(4, 1))).line == (
        "orders-0 offset 7: lost from below the high watermark; when it was written is not known; "
        "nothing is there now"
    )


def test_an_indeterminate_record_is_placed_in_time_by_when_it_was_sent():
    """It was never acknowledged."""
    assert explained([lost("hw-loss", acked=None)], world(*QUIET)).line == (
        "orders-0 offset 7, record 0/1: lost from below the high watermark; "
        "sent, never acknowledged, at 2.00 s by broker 1, leader epoch 5"
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
    assert line.endswith("the high watermark of orders-0 was 40 then")


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

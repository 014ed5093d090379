"""What makes a run PASS, FAIL, UNKNOWN or ERROR, one reason at a time and in company."""

from dataclasses import replace

import numpy as np
import pytest
from fakes.history.judged_run import (
    ALL_CUT,
    LEADER_KILLED,
    QUIET,
    cut,
    down,
    led,
    lost,
    ns,
    proof,
    sampled,
    world,
)

from checkers.anomalies import Anomalies
from checkers.contract.judge_contract import judge_contract
from checkers.contract.label import Label, Labels
from checkers.history.rows import ClientEvent, Context, Fault
from checkers.history.tables import OPTIONAL
from checkers.judgement import Judgement, PartitionUndecided, Totals
from checkers.properties import DECIDED, Property
from checkers.verdict.algebra import Reason, RunState, Verdict, worst
from checkers.verdict.decide import decide

COMPLETE = RunState(state="complete")
RETRIED = ClientEvent(at_ns=ns(3), since_ns=ns(1), producer=0, broker=1, retries=1)


def judged(*anomalies, ok=1000, last_ack=20, undecided_partitions=(), undecided=0) -> Judgement:
    """A judgement of a run with some acknowledged records."""
    return Judgement(
        examined=dict.fromkeys(DECIDED, ok),
        undecided=dict.fromkeys(DECIDED, undecided),
        anomalies=Anomalies.of(anomalies),
        undecided_partitions=undecided_partitions,
        totals=Totals(sends=ok, ok=ok, first_ack_ns=ns(1), last_ack_ns=ns(last_ack)),
    )


def decision_of(judgement, realised, expect="none", run=COMPLETE):
    """The decision, with the labels that the contract gives."""
    labels = judge_contract(judgement.anomalies, realised)
    return decide(judgement, labels, realised.context, expect, run)


def decided(judgement, realised, expect="none", run=COMPLETE):
    """Verdict and sentences."""
    decision = decision_of(judgement, realised, expect, run)
    return decision.verdict.value, [reason.sentence for reason in decision.reasons]


def test_a_run_without_any_reason_against_it_passes():
    """And names what it examined."""
    assert decided(judged(), world(*LEADER_KILLED)) == (
        "PASS",
        ["all 1000 acknowledged records are in the final log, and no property is violated"],
    )


def test_a_violation_fails_and_names_it():
    """With the promise that was broken."""
    assert decided(judged(lost(), lost(offset=8)), world(*LEADER_KILLED)) == (
        "FAIL",
        [
            "acked-loss is violated 2 times: broker 2 was elected at 7.00 s (epoch 6, its log begins at "
            "offset 5) without it, though it was in sync, and had it"
        ],
    )


@pytest.mark.parametrize("expect", ["none", "permitted", "any"])
def test_a_violation_fails_whatever_was_expected(expect):
    """Expected loss must be permitted loss."""
    assert decided(judged(lost("duplicate")), world(*QUIET), expect)[0] == "FAIL"


def test_a_permitted_loss_fails_a_scenario_that_expects_none():
    """The contract allows it, the scenario does not."""
    assert decided(judged(lost()), world(*LEADER_KILLED, acks="1")) == (
        "FAIL",
        [
            "acked-loss once: permitted by the contract, but this scenario expects none "
            "(acks=1: broker 2 was elected at 7.00 s (epoch 6, its log begins at offset 5), "
            "before it was replicated)"
        ],
    )


@pytest.mark.parametrize("expect", ["permitted", "any"])
def test_a_permitted_loss_passes_where_it_is_expected_or_allowed(expect):
    """The positive control has shown what it can."""
    assert decided(judged(lost()), world(*LEADER_KILLED, acks="1"), expect) == (
        "PASS",
        ["1 of 1000 acknowledged records were lost, as permitted and expected"],
    )


def test_an_expected_loss_that_was_not_seen_is_a_weak_control():
    """It has not shown that the harness would see one."""
    verdict, sentences = decided(judged(), world(*LEADER_KILLED, acks="1"), "permitted")
    assert verdict == "UNKNOWN"
    assert sentences[0].startswith("weak control: ")


def test_a_permitted_loss_of_other_records_is_no_control_of_acknowledged_loss():
    """Only acknowledged records count."""
    seen = lost("hw-loss", acked=None)
    assert decided(judged(seen), world(*ALL_CUT), "permitted")[0] == "UNKNOWN"
    assert decided(judged(seen), world(*ALL_CUT), "none")[0] == "FAIL"
    assert decided(judged(seen), world(*ALL_CUT), "any")[0] == "PASS"


def test_a_permitted_duplicate_does_not_fail_a_scenario_that_expects_no_loss():
    """Nothing is lost."""
    assert decided(judged(lost("duplicate")), world(*QUIET, RETRIED, acks="1"))[0] == "PASS"


def test_a_run_without_any_ack_is_unknown():
    """An empty history too: nothing was put at risk."""
    assert decided(judged(ok=0, last_ack=-1), world(*QUIET)) == (
        "UNKNOWN",
        ["no send was acknowledged, so nothing was put at risk"],
    )


def test_a_run_without_an_ack_after_its_first_fault_began_is_unknown():
    """Unless something was lost: that is not vacuous."""
    assert decided(judged(last_ack=3.9), world(*LEADER_KILLED)) == (
        "UNKNOWN",
        ["no send was acknowledged after the first fault began"],
    )
    assert decided(judged(last_ack=4.1), world(*LEADER_KILLED))[0] == "PASS"
    assert decided(judged(last_ack=4.1), world(*LEADER_KILLED, down(8, 2)))[0] == "PASS"
    assert decided(judged(lost(), last_ack=3.9), world(*ALL_CUT), "permitted")[0] == "PASS"


@pytest.mark.parametrize(
    ("proven", "recovered", "sentence"),
    [
        (False, False, "fault kill-1 (kill of leader) has no evidence that it took effect"),
        (True, False, "fault kill-1 (kill of leader) has no evidence that it was healed"),
    ],
)
def test_a_fault_without_evidence_makes_the_run_unknown(proven, recovered, sentence):
    """Of its effect, or of its end."""
    fault = down(4, 1)
    object.__setattr__(fault, "proven", proven)
    object.__setattr__(fault, "recovered", recovered)
    assert decided(judged(), world(*QUIET, fault)) == ("UNKNOWN", [sentence])


def test_a_log_that_begins_later_than_it_did_makes_the_run_unknown():
    """Acks=0 permits every loss of its records, but nothing permits that a log is cut at its front."""
    begun = replace(sampled(3, 5), log_start=0)
    moved = world(*QUIET, begun, proof(50, log_start=16), acks="0")
    assert decided(judged(), moved) == (
        "UNKNOWN",
        ["orders-0 began at offset 0 and begins at 16 now: no setting of a run deletes records"],
    )
    assert decided(judged(), world(*QUIET, begun, proof(50)))[0] == "PASS"


def ahead(offset):
    """The clock of broker 1, which leads, was ahead from 2.5 s to 20 s."""
    times = {"effect_ns": ns(2.6), "end_ns": ns(20), "heal_ns": ns(20.1), "recovered_ns": ns(20.2)}
    target = f"leader: {offset}"
    return Fault(
        index=0, name="ahead", kind="clock-skew", target=target, nodes=(1,), inject_ns=ns(2.5), **times
    )


def test_a_log_that_begins_later_since_a_clock_was_ahead_is_explained():
    """By the label of what was deleted, be it permitted or not; a label of another partition explains
    nothing."""
    begun = replace(sampled(3, 50), log_start=0)
    moved = (*QUIET, begun, replace(sampled(5, 50), log_start=16), proof(50, log_start=16))
    deleted = judged(lost(sent=1, acked=2))
    assert decided(deleted, world(*moved, ahead("+8d")), "permitted")[0] == "PASS"
    verdict, sentences = decided(deleted, world(*moved, ahead("+8d")))
    assert verdict == "FAIL"
    assert not [sentence for sentence in sentences if "no setting" in sentence]
    verdict, sentences = decided(deleted, world(*moved, ahead("+6d")), "permitted")
    assert verdict == "FAIL"
    assert "by no clock it was older than retention.ms (7 days)" in sentences[0]
    assert decided(judged(), world(*moved, ahead("+8d"))) == (
        "UNKNOWN",
        [
            "orders-0 began at offset 0 and begins at 16 now: a clock was ahead, and nothing shows that by "
            "it retention deleted what lay there"
        ],
    )


def test_an_undecided_partition_makes_the_run_unknown_and_gives_its_reason():
    """A final read without a proof."""
    undecided = PartitionUndecided(topic="orders", partition=3, reason="replica 2 is not in sync")
    verdict, sentences = decided(judged(undecided_partitions=(undecided,), undecided=4), world(*QUIET))
    assert verdict == "UNKNOWN"
    assert sentences == [
        "orders-3 is undecided: replica 2 is not in sync",
        "4 acknowledged records are undecided: no final read reached them",
    ]


def test_a_run_with_acks_that_too_few_may_have_backed_is_unknown():
    """Undecided acks alone are no reason: a leader that is cut off has a while to learn of its ISR."""
    undecided = replace(judged(), undecided={**judged().undecided, Property.ACK_CONTRACT: 9})
    assert decided(undecided, world(*QUIET))[0] == "PASS"
    assert decided(replace(undecided, doubtful_acks=9), world(*QUIET)) == (
        "UNKNOWN",
        [
            "ack-contract: 9 acknowledgements of acks=all may have been backed by too few: nothing shows "
            "which ISR and which min.insync.replicas the leader knew of then"
        ],
    )


def test_a_run_whose_transactions_no_disk_decides_is_unknown():
    """Of a few the producer id may be unknown; of all, nobody has looked for their markers."""
    of, wanted = judged(), Property.MARKER_PER_TRANSACTION
    some = replace(of, undecided={**of.undecided, wanted: 7})
    assert decided(some, world(*QUIET))[0] == "PASS"
    none = replace(some, examined={**of.examined, wanted: 0})
    assert decided(none, world(*QUIET)) == (
        "UNKNOWN",
        ["marker-per-transaction is undecided: of none of 7 transactions do the disks show the end"],
    )


@pytest.mark.parametrize(
    ("state", "problem", "verdict", "sentence"),
    [
        ("failed", "broker 2 did not come up", "ERROR", "the run failed: broker 2 did not come up"),
        ("failed", "", "ERROR", "the run failed: it does not say why"),
        ("interrupted", "", "UNKNOWN", "the run was interrupted: by its user"),
        ("running", "", "UNKNOWN", "the run did not end: its state is still 'running'"),
    ],
)
def test_a_run_that_did_not_complete_is_never_green(state, problem, verdict, sentence):
    """Whatever it found until then."""
    assert decided(judged(), world(*QUIET), run=RunState(state=state, problem=problem)) == (
        verdict,
        [sentence],
    )


def test_a_reason_that_the_harness_adds_counts():
    """A missed acceptance line, for example."""
    missed = Reason(Verdict.FAIL, "unavailable.max <= 20s is missed: 31 s")
    run = RunState(state="complete", more=(missed,))
    assert decided(judged(), world(*QUIET), run=run) == ("FAIL", [missed.sentence])


def test_the_worst_reason_wins_and_all_are_reported():
    """FAIL before ERROR before UNKNOWN."""
    verdict, sentences = decided(
        judged(lost(), ok=0),
        world(*QUIET),
        run=RunState(state="failed", problem="disk full"),
    )
    assert verdict == "FAIL"
    assert [sentence.split(":")[0] for sentence in sentences] == [
        "acked-loss is violated once",
        "the run failed",
        "no send was acknowledged, so nothing was put at risk",
    ]


def test_a_suite_is_as_bad_as_its_worst_run():
    """Exit codes 1 > 4 > 3 > 0."""
    assert [v.exit_code for v in Verdict] == [1, 4, 3, 0]
    assert worst([Verdict.PASS, Verdict.UNKNOWN, Verdict.ERROR, Verdict.FAIL]).exit_code == 1
    assert worst([Verdict.PASS, Verdict.UNKNOWN, Verdict.ERROR]).exit_code == 4
    assert worst([Verdict.PASS, Verdict.UNKNOWN]).exit_code == 3
    assert worst([Verdict.PASS, Verdict.PASS]).exit_code == 0
    assert worst([]).exit_code == 0


def test_each_property_answers_with_the_worst_that_applies():
    """Violated, permitted, undecided or holds, with its counts."""
    judgement = judged(lost(), lost(offset=8, sent=8, acked=8.1), lost("duplicate"), undecided=2)
    properties = decision_of(judgement, world(*LEADER_KILLED, RETRIED, acks="1"), "any").properties
    acked_loss = properties[Property.ACKED_LOSS]
    assert (acked_loss.status, acked_loss.violations, acked_loss.permitted) == ("violated", 1, 1)
    assert properties[Property.DUPLICATE].status == "permitted"
    assert properties[Property.CONTENT].status == "undecided"
    clean = decision_of(judged(), world(*QUIET)).properties
    assert {clean[each].status for each in DECIDED} == {"holds"}


def test_a_property_that_examined_nothing_does_not_hold_and_changes_no_verdict():
    """No reader, no read: nothing is known of what readers are given."""
    everything = judged()
    judgement = replace(everything, examined={**everything.examined, Property.MONOTONE_READ: 0})
    decision = decision_of(judgement, world(*QUIET))
    monotone_read = decision.properties[Property.MONOTONE_READ]
    assert (monotone_read.status, monotone_read.examined) == ("nothing examined", 0)
    assert decision.properties[Property.ACKED_LOSS].status == "holds"
    assert decision.verdict is Verdict.PASS


def test_a_property_of_which_everything_is_undecided_is_undecided():
    """It is not the same as having nothing to examine."""
    nothing = dict.fromkeys(DECIDED, 0)
    judgement = replace(judged(undecided=3), examined=nothing)
    properties = decision_of(judgement, world(*QUIET)).properties
    assert {properties[each].status for each in DECIDED} == {"undecided"}


def test_a_property_without_rules_is_not_decided_with_the_reason_and_changes_no_verdict():
    """What is missing is named."""
    decision = decision_of(judged(), world(*QUIET))
    reasons = {each: decision.properties[each].reason for each in Property}
    assert decision.verdict is Verdict.PASS
    assert {each for each in Property if decision.properties[each].status == "not decided"} == (
        set(Property) - set(DECIDED)
    )
    assert reasons[Property.TORN_BATCH] == "not collected: batch headers of the final log"
    assert reasons[Property.EXACTLY_ONCE] == "not collected: committed offsets of consumer groups"
    assert reasons[Property.ONE_CONTROLLER] == "not collected: samples of the controllers' quorum"
    assert {reasons[each] for each in DECIDED} == {""}


def without(*tables):
    """The results of the properties in a run that has not collected these tables."""
    realised = world(*QUIET, collected=frozenset(OPTIONAL) - set(tables))
    nothing = dict.fromkeys(DECIDED, 0)
    return decision_of(replace(judged(), examined=nothing, undecided=nothing), realised).properties


@pytest.mark.parametrize(
    ("table", "reason", "undecidable"),
    [
        (
            "replica_batches",
            "not collected: log files of every replica",
            {
                *("divergence", "epoch-monotone", "log-matching", "crc", "checkpoint-sane"),
                *("sequence-dense", "one-leader"),
            },
        ),
        (
            "brokers",
            "not collected: broker registrations in the metadata log",
            {"leader-legal", "eligible-step", "fenced-out"},
        ),
        (
            "configs",
            "not collected: settings of topics, in the metadata log and as reported",
            {"ack-contract", "leader-legal", "eligible-step"},
        ),
        ("producers", "not collected: settings of the producers", {"ack-contract"}),
        (
            "transactions",
            "not collected: transactions of the clients",
            {
                *("aborted-read", "torn-transaction", "hanging-transaction", "zombie-fenced"),
                "marker-per-transaction",
            },
        ),
        (
            "transaction_reads",
            "not collected: reads of what is committed",
            {"aborted-read", "torn-transaction", "zombie-fenced"},
        ),
        (
            "markers",
            "not collected: markers of transactions on the disks",
            {"marker-per-transaction"},
        ),
        ("clocks", "not collected: readings of the clocks", {"ack-contract", "early-read", "loads-all"}),
        (
            "replica_offsets",
            "not collected: log ends, as brokers told them and as disks held them",
            {"loads-all"},
        ),
        ("broker_lines", "not collected: lines of the nodes' logs", {"loads-all"}),
        ("node_events", "not collected: ends and starts of the nodes", {"loads-all"}),
        ("pressure", "", set()),
    ],
)
def test_what_needs_a_table_that_was_not_collected_is_not_decided(table, reason, undecidable):
    """It is not the same as having had nothing to examine."""
    properties = without(table)
    found = {each for each in DECIDED if properties[each].status == "not decided"}
    assert {each.value for each in found} == undecidable
    assert {properties[each].reason for each in found} == ({reason} if reason else set())
    assert {properties[each].status for each in set(DECIDED) - found} == {"nothing examined"}
    assert {properties[each].reason for each in set(DECIDED) - found} == {""}


def test_all_that_is_missing_is_named_in_one_reason():
    reason = without("configs", "clocks")[Property.ACK_CONTRACT].reason
    assert reason == (
        "not collected: settings of topics, in the metadata log and as reported, readings of the clocks"
    )


def test_what_a_run_has_not_collected_changes_no_verdict():
    assert decided(judged(), world(*QUIET, collected=frozenset()))[0] == "PASS"


def test_an_anomaly_counts_whatever_was_not_collected():
    """Evidence that is there is never hidden by what is not."""
    run = world(*QUIET, collected=frozenset())
    decision = decision_of(judged(replace(lost("divergence"), replica=2)), run)
    assert decision.verdict is Verdict.FAIL
    divergence = decision.properties[Property.DIVERGENCE]
    assert (divergence.status, divergence.violations, divergence.reason) == ("violated", 1, "")


def test_many_clauses_are_summed_up_by_the_most_frequent_one():
    """And the number of the others."""
    anomalies = [lost(), lost(offset=8), lost(offset=-1)]
    assert decided(judged(*anomalies), world(*QUIET))[1] == [
        "acked-loss is violated 3 times: no election since it was written begins at or below its offset; "
        "and 1 other clause"
    ]


@pytest.mark.parametrize("expect", ["none", "any"])
def test_a_cut_that_loses_nothing_under_acks_all_passes(expect):
    """The twin of the positive control."""
    events = (led(0, 1, 5, (1, 2, 3)), cut(2, healed=5))
    assert decided(judged(), world(*events), expect)[0] == "PASS"


def labelled(judgement, *labels):
    """The decision where the contract gave the only block of the judgement these labels, row by row."""
    classes = tuple(dict.fromkeys(labels))
    of = (np.array([classes.index(label) for label in labels]),)
    return decide(judgement, Labels(classes=classes, of=of), Context(), "any", COMPLETE)


def test_a_loss_that_the_contract_cannot_label_is_unknown_and_neither_permitted_nor_a_violation():
    """It is counted apart."""
    unclear = Label("undecided", "nobody measured the log of broker 2")
    decision = labelled(judged(lost(), lost(offset=8)), unclear, unclear)
    assert decision.verdict is Verdict.UNKNOWN
    assert [reason.sentence for reason in decision.reasons] == [
        "acked-loss 2 times: whether the contract permits it is undecided: "
        "nobody measured the log of broker 2"
    ]
    result = decision.properties[Property.ACKED_LOSS]
    assert (result.status, result.violations, result.permitted, result.undecided_anomalies) == (
        "undecided",
        0,
        0,
        2,
    )


def test_the_causes_of_a_property_are_counted_as_its_labels_name_them():
    """And a label without one is not counted."""
    tail, stale = (Label("permitted", "acks=1", "unreplicated"), Label("permitted", "unclean", "stale"))
    anomalies = judged(lost(), lost(offset=8), lost(offset=9), lost(offset=10))
    decision = labelled(anomalies, tail, stale, stale, Label("permitted", "nobody knows"))
    assert decision.properties[Property.ACKED_LOSS].causes == {"stale": 2, "unreplicated": 1}
    assert decision.properties[Property.HW_LOSS].causes == {}


def test_a_violation_beside_what_is_undecided_is_a_violation():
    """The worst label counts."""
    labels = (Label("undecided", "unclear"), Label("violation", "promised"))
    decision = labelled(judged(lost(), lost(offset=8)), *labels)
    assert decision.verdict is Verdict.FAIL
    assert decision.properties[Property.ACKED_LOSS].status == "violated"


def test_a_hole_counts_as_many_records_as_it_has_offsets():
    """Whatever was there is gone from each."""
    hole = replace(lost("hw-loss", offset=5, producer=-1, sequence=-1), last_offset=14)
    decision = labelled(judged(hole), Label("violation", "promised"))
    assert decision.properties[Property.HW_LOSS].violations == 10
    assert decision.reasons[0].sentence == "hw-loss is violated 10 times: promised"

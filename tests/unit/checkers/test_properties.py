"""Each property is one record: what is counted, reported and documented of it follows from that."""

from checkers.properties import DECIDED, Property, by_property
from checkers.property_terms import ExaminedUnit, Family, LossRole
from checkers.reference import durability, high_watermark, hw_monotone, order, presence, reads
from checkers.reference.check import RULES
from checkers.reference.control_plane import rules as control_plane
from checkers.reference.replicas import between, checkpoints, within
from checkers.reference.transactions import rules as transactions

MODULES = (
    *(durability, high_watermark, hw_monotone, order, presence, reads),
    *(control_plane, between, within, checkpoints, transactions),
)


def test_the_reference_has_one_rule_for_each_decided_property_and_no_other():
    ruled = [each for module in MODULES for each in module.RULES]
    of_bulk_tables = (Property.ACK_CONTRACT, Property.EARLY_READ)
    assert sorted([*ruled, *of_bulk_tables]) == sorted(DECIDED)
    across_partitions = (*control_plane.RULES, *transactions.RULES)
    assert sorted([*RULES, *across_partitions, *of_bulk_tables]) == sorted(DECIDED)


def test_the_properties_of_the_specification_are_these():
    assert {each.value for each in Property if each.record.family is Family.DURABILITY} == {
        "acked-loss",
        "hw-loss",
        "ack-offset",
        "content",
        "unknown-offset-ack",
    }
    assert {each.value for each in Property if each.record.family is Family.ORDER} == {
        "duplicate",
        "producer-order",
        "real-time-order",
        "resurrected",
        "phantom",
        "torn-batch",
        "offset-gap",
    }
    assert {each.value for each in Property if each.record.family is Family.REPLICAS} == {
        "divergence",
        "epoch-monotone",
        "log-matching",
        "crc",
        "checkpoint-sane",
        "sequence-dense",
        "loads-all",
    }
    assert {each.value for each in Property if each.record.family is Family.CONTROL_PLANE} == {
        "ack-contract",
        "leader-legal",
        "eligible-step",
        "fenced-out",
        "one-leader",
        "epoch-step",
        "one-controller",
    }
    assert {each.value for each in Property if each.record.family is Family.CONSUMERS} == {
        "read-uncommitted",
        "monotone-read",
        "same-for-all",
        "hw-monotone",
        "early-read",
        "group-commit",
    }
    assert {each.value for each in Property if each.record.family is Family.TRANSACTIONS} == {
        "aborted-read",
        "torn-transaction",
        "hanging-transaction",
        "zombie-fenced",
        "exactly-once",
        "marker-per-transaction",
    }


def test_a_scenario_that_expects_no_loss_fails_on_these():
    assert [each.value for each in Property if each.record.loss_role is LossRole.LOSS] == [
        "acked-loss",
        "hw-loss",
        "unknown-offset-ack",
        "read-uncommitted",
    ]
    assert [each.value for each in Property if each.record.loss_role is LossRole.EFFECT] == [
        "offset-gap",
        "monotone-read",
        "same-for-all",
        "hw-monotone",
        "early-read",
    ]


def test_every_decided_property_counts_its_unit():
    units = {unit: number for number, unit in enumerate(ExaminedUnit)}
    counts = by_property(units)
    assert list(counts) == list(DECIDED)
    assert counts[Property.HW_LOSS] == units[ExaminedUnit.READ_OR_SAMPLED_OFFSET]
    assert counts[Property.MONOTONE_READ] == counts[Property.SAME_FOR_ALL] == units[ExaminedUnit.READ]


def test_a_record_has_what_a_report_needs():
    for each in Property:
        assert each.value == each.record.id
        assert each.record.sentence
        assert each.record.words
        assert bool(each.record.place) == each.record.implemented == (not each.record.not_decided)

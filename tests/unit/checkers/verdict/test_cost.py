"""What a verdict costs follows from how many kinds of trouble there were, not from how many records."""

from collections import Counter

import numpy as np
import pytest
from fakes.history.judged_run import ALL_CUT, ns, sampled, world

from checkers.anomalies import COLUMNS, Anomalies, AnomalyBlock
from checkers.contract.judge_contract import judge_contract
from checkers.history.rows import Context, TopicPartition
from checkers.judgement import Judgement, Totals
from checkers.properties import DECIDED, Property
from checkers.verdict.algebra import RunState
from checkers.verdict.decide import decide
from checkers.verdict.explanation.explain import explain_gravest
from checkers.verdict.explanation.findings import group

TRUNCATED = (Property.ACKED_LOSS, Property.HW_LOSS, Property.READ_UNCOMMITTED)


def truncated(wanted: Property, records: int) -> AnomalyBlock:
    """A tail that was acknowledged at 3 s, from offset 100 on."""
    columns = {name: np.full(records, ns(3)) for name in COLUMNS}
    columns["offset"] = columns["last_offset"] = 100 + np.arange(records)
    columns |= {"producer": np.zeros(records, np.int64), "sequence": np.arange(records)}
    note = "offset {} is gone".format
    return AnomalyBlock(property=wanted, tp=TopicPartition("orders", 0), note=note, **columns)


@pytest.fixture
def made(monkeypatch) -> Counter:
    """How many anomalies were made as objects."""
    calls, honest = Counter(), AnomalyBlock.at

    def counting(self, row):
        calls["anomalies"] += 1
        return honest(self, row)

    monkeypatch.setattr(AnomalyBlock, "at", counting)
    return calls


def judged(records: int, made: Counter) -> tuple[int, int]:
    """Anomalies made as objects from the labels to the explanations, and the findings."""
    anomalies = Anomalies(truncated(each, records) for each in TRUNCATED)
    realised = world(*ALL_CUT, sampled(2, 50))
    labels = judge_contract(anomalies, realised)
    made.clear()
    judgement = Judgement(
        examined=dict.fromkeys(DECIDED, records),
        undecided=dict.fromkeys(DECIDED, 0),
        anomalies=anomalies,
        undecided_partitions=(),
        totals=Totals(sends=records, ok=records),
    )
    decision = decide(judgement, labels, Context(), "any", RunState(state="complete"))
    findings = group(anomalies, labels, realised.timeline)
    explain_gravest(findings, realised)
    lost = decision.properties[Property.ACKED_LOSS]
    assert lost.permitted + lost.violations + lost.undecided_anomalies == records
    assert [(f.records, f.ranges) for f in findings] == [(records, ((100, 99 + records),))]
    assert findings[0].counts == dict.fromkeys(TRUNCATED, records)
    return made["anomalies"], len(findings)


def test_ten_thousand_lost_records_are_weighed_and_explained_with_as_few_objects_as_ten(made):
    """Three for the first offset of the finding, three for the last."""
    assert judged(10, made) == (6, 1)
    assert judged(10_000, made) == (6, 1)

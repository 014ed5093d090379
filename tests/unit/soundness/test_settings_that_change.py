"""Runs in which min.insync.replicas and ELR change: verdict and truth agree which value counts for a loss.

The truth goes by what the simulated controller and leaders had (checkers/model/promised.py), the verdict by
the metadata log and by what the brokers were seen to know.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from checkers.contract import clauses
from checkers.contract.losses import LossLabels
from checkers.contract.realised.terms import TermsOverTime
from checkers.history.tables import NONE
from checkers.model import (
    Case,
    ElrFeature,
    Kill,
    MinIsr,
    ModelSettings,
    Partition,
    ProducerSettings,
    Simulated,
    draw_case,
    simulate,
)
from checkers.model.draw.settings import with_settings
from checkers.model.kafka.leader import Leader
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import disagreements
from spark_verify.selftest.model_fuzz.verdict_of import Judged, verdict_of

RAISED = Case(
    seed=7986,
    settings=ModelSettings(min_isr=1, first_leader=1, records=200, load_s=30.0),
    schedule=(
        Partition(at_s=3.0, hold_s=22.0, edges=("2->1", "3->1")),
        MinIsr(at_s=9.0, hold_s=12.0, value=2),
    ),
)
"""Leader 1 is alone in sync when two have to be."""
FIRST = 52_000_000_000
SEEDS = (506, 573, 627, 681, 794, 879, 953, 972, 1034, 1131, 1141, *range(1300, 1312))
"""Some of whose runs need each rule, and some more."""
CHANGED_BACK = Case(
    seed=7985,
    settings=ModelSettings(
        partitions=2,
        producers=(ProducerSettings(), ProducerSettings(acks="1", idempotence=False)),
        readers=2,
        records=144,
        load_s=38.508977673209586,
        metadata_late_s=0.58499484428946,
    ),
    schedule=(
        Partition(at_s=4.511696044859431, hold_s=10.253119026020553, edges=("2->3",)),
        Partition(at_s=4.511696044859431, hold_s=11.393250408761936, edges=("1->3",)),
        Kill(at_s=14.247799090623776, hold_s=1.1805182367867313, nodes=(3,)),
        MinIsr(at_s=4.322, hold_s=3.427, value=1),
    ),
)
"""Leader 3 hears 0.4 s late that two have to be in sync again, and is alone meanwhile."""
ENDED_BETWEEN = 1430
"""A setting changes between an election and what its deposed leader appends after that."""
THE_RULE = TermsOverTime.of


def forced(seed: int) -> Case:
    """The case of a seed, with settings that change."""
    case = draw_case(seed)
    drawn = any(isinstance(action, MinIsr | ElrFeature) for action in case.schedule)
    return case if drawn else with_settings(case, share=1.1)


@cache
def runs() -> tuple[Simulated, ...]:
    cases = [forced(FIRST + seed) for seed in SEEDS]
    return tuple(simulate(case) for case in (*cases, CHANGED_BACK, forced(ENDED_BETWEEN)))


def judged(run: Simulated) -> Judged:
    return verdict_of(run.history, asked_of(run))


def test_the_verdict_is_the_truth() -> None:
    verdicts = Counter[Verdict]()
    for run in runs():
        of_run = judged(run)
        assert (run.case.to_json(), disagreements(run, of_run)) == (run.case.to_json(), ())
        assert all(one.permitted for one in (*run.truth.lost, *run.truth.exposed_lost))
        verdicts[of_run.decision.verdict] += 1
    assert verdicts[Verdict.PASS] > 0.8 * len(runs())
    assert verdicts[Verdict.FAIL] == 0


def always(self: LossLabels, record: Any, fate: Any, *_: Any) -> int:
    return int(fate.removed_by.at_ns - 1) if fate.removed_by else NONE


def by_the_weakest(
    self: TermsOverTime, name: str, topic: Any, since_ns: int, election: Any, last: Callable[[int], int]
) -> Any:
    return THE_RULE(self, name, topic, since_ns, election, lambda _: last(1))


WEAKENED = {
    "earlier values never count": (LossLabels, "_last_enough_ns", always),
    "as many in sync as the weakest value wants are enough": (TermsOverTime, "of", by_the_weakest),
    "nobody is forgotten": (clauses, "forgotten_by_change", lambda *_: False),
    "a leader knows each value at once": (clauses, "may_be_by_older_value", lambda *_: False),
}


@pytest.mark.parametrize("name", WEAKENED)
def test_a_verdict_with_a_weakened_rule_is_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*WEAKENED[name])
    assert any(disagreements(run, judged(run)) for run in runs())


LESS_CERTAIN = {
    "earlier values always count": (LossLabels, "_last_enough_ns", lambda *_: NONE),
    "whom ELR did not keep while it was off counts": (clauses, "unkept_without_elr", lambda *_: False),
}


@pytest.mark.parametrize("name", LESS_CERTAIN)
def test_a_verdict_without_a_rule_decides_less(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [judged(run).decision.verdict for run in runs()]
    monkeypatch.setattr(*LESS_CERTAIN[name])
    after = [judged(run).decision.verdict for run in runs()]
    moved = {pair for pair in zip(before, after, strict=True) if pair[0] is not pair[1]}
    assert moved == {(Verdict.PASS, Verdict.UNKNOWN)}


def test_a_leader_that_goes_on_by_the_smaller_setting_breaks_the_promise_of_the_larger_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No record is lost for that; a correct leader refuses meanwhile, and is PASS."""
    assert verdict_on(RAISED) is Verdict.PASS
    monkeypatch.setattr(Leader, "min_isr", property(lambda self: 1))
    assert verdict_on(RAISED) is Verdict.FAIL


def verdict_on(case: Case) -> Verdict:
    """The verdict on a simulated run."""
    simulated = simulate(case)
    return verdict_of(simulated.history, asked_of(simulated)).decision.verdict

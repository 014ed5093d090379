"""Every clause of the contract and every rule is needed: with one weakened, verdict and truth disagree.

The weakened code judges the same simulated runs as the honest one, which disagrees with the truth in none of
them: some of a correct Kafka, some of each planted bug.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from checkers.contract import clauses, effects, fate, losses, partition_evidence, timeline
from checkers.contract.fate import Reason
from checkers.contract.partition_evidence import EpochStart
from checkers.model import Bug, Simulated, draw_case, simulate
from checkers.properties import Property
from checkers.reference.control_plane import rules as control_plane
from checkers.reference.control_plane.rule_result import RuleResult
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import disagreements
from spark_verify.selftest.model_fuzz.verdict_of import verdict_of

reference = import_module("checkers.reference.check")
CORRECT: None = None
FIRST_SEED = 77_000_000_000
RUNS_OF_CORRECT = 150
RUNS_OF_A_BUG = 12


@cache
def runs(bug: Bug | None) -> Sequence[Simulated]:
    """Simulated runs: of a correct Kafka, or those of the first seeds that show a bug."""
    bugs = frozenset({bug} - {None})
    wanted = RUNS_OF_A_BUG if bug else RUNS_OF_CORRECT
    found: list[Simulated] = []
    for seed in range(FIRST_SEED, FIRST_SEED + 40 * wanted):
        run = simulate(draw_case(seed, bugs))
        if bug is None or run.manifested:
            found.append(run)
        if len(found) == wanted:
            break
    return found


def disagreeing(bug: Bug | None) -> Iterator[Simulated]:
    """The runs of which the verdict is not the truth."""
    for run in runs(bug):
        if disagreements(run, verdict_of(run.history, asked_of(run))):
            yield run


def without(wanted: Property) -> dict[Property, Any]:
    """The rules of the reference, one of which finds nothing."""
    return dict(reference.RULES) | {wanted: lambda facts: iter(())}


def without_control(wanted: Property) -> dict[Property, Any]:
    """The same of the control plane's."""
    return dict(control_plane.RULES) | {wanted: lambda context: RuleResult()}


def permits(reason: Reason) -> Callable[..., clauses.Ruling]:
    """The contract, but that one reason is always permitted."""
    honest = clauses.rule

    def rule(record, its_fate, *others):
        ruling = honest(record, its_fate, *others)
        return replace(ruling, kind="permitted") if its_fate.reason is reason else ruling

    return rule

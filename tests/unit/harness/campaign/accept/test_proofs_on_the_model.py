"""What the run of each clause must show, the simulated Kafka shows under the same schedule."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from fakes.run.rehearsal import case_of
from fakes.run.rehearsed_evidence import missed

from checkers.model import Case, simulate
from checkers.promises import clauses
from harness.campaign.accept.configuration.configuration_file import AcceptFile
from harness.campaign.accept.proofs import proofs
from harness.campaign.accept.record import named
from harness.campaign.accept.scenarios import setup
from harness.scenario.resolve import Resolved, resolve_made

SEED = 1
OF_ALL = 3
"""Replicas with which every partition of the model is on all its brokers."""


def made(*, acks="all", replication=3, min_isr=2, unclean=False, elr=True, flush=None):
    config = {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean}
    its = AcceptFile.model_validate(
        {
            "name": "mine",
            "cluster": {"elr": elr},
            "topic": {
                "replication": replication,
                "config": config | ({"flush.messages": flush} if flush else {}),
            },
            "producer": {"acks": acks},
        }
    )
    return setup(its)


def name_of(settings) -> str:
    return ",".join(f"{name}={value}" for name, value in settings.items())


REPLICAS = [{"replication": r, "min_isr": m} for r in (1, 2, 3) for m in range(1, r + 1)]
SETTINGS = (("0", "1", "all"), REPLICAS, (False, True), (True, False))
CONFIGURATIONS = [
    {"acks": acks, **replicas, "unclean": unclean, "elr": elr}
    for places in product(*(range(len(values)) for values in SETTINGS))
    if sum(places) % 2 == 0
    for acks, replicas, unclean, elr in [
        tuple(values[at] for values, at in zip(SETTINGS, places, strict=True))
    ]
    if replicas["replication"] > 1 or not unclean
] + [{"flush": 1}, {"flush": 1, "min_isr": 1}, {"flush": 1, "replication": 1, "min_isr": 1}]
OF_SOME = [
    {"acks": "all", "replication": 3, "min_isr": 2, "unclean": False, "elr": False},
    {"acks": "1", "replication": 3, "min_isr": 2, "unclean": True, "elr": True},
    {"acks": "0", "replication": 1, "min_isr": 1, "unclean": False, "elr": True},
]


def cases(configurations):
    """Each clause that has a run, of each configuration."""
    for settings in configurations:
        its = made(**settings)
        for proof in proofs(its, clauses(its.configuration)):
            if proof.scenario is not None:
                yield pytest.param(settings, proof.clause, id=f"{proof.clause}-{name_of(settings)}")


def proven(settings, clause):
    """The proof of a clause, and the causes that the clause names."""
    its = made(**settings)
    given = clauses(its.configuration)
    (proof,) = (one for one in proofs(its, given) if one.clause == clause)
    (causes,) = (one.causes for one in given if one.id == clause)
    return resolve_made(proof.scenario, clause, seed=1), causes


def case(resolved: Resolved, seed: int) -> Case:
    """With fewer replicas than the model has brokers, a single partition is on the first ones, as all are on
    a cluster that has no more brokers.
    """
    its = case_of(resolved, seed)
    many = its.settings.partitions if its.settings.replication == OF_ALL else 1
    return replace(its, settings=replace(its.settings, partitions=many))


@pytest.mark.parametrize(("settings", "clause"), [*cases(CONFIGURATIONS)])
def test_the_simulated_kafka_shows_what_the_run_of_a_clause_must_show(settings, clause, tmp_path: Path):
    resolved, causes = proven(settings, clause)
    scenario = resolved.scenario
    simulated = simulate(case(resolved, SEED))
    lost = simulated.truth.lost
    assert all(record.permitted for record in lost)
    match scenario.expect.acked_loss:
        case "permitted":
            assert named({record.cause for record in lost}, causes)
        case "none":
            assert lost == ()
    assert missed([*scenario.accept, *scenario.require], simulated, tmp_path) == []


@pytest.mark.parametrize(("settings", "clause"), [*cases(OF_SOME)])
def test_without_its_faults_the_run_of_a_clause_lacks_its_evidence(settings, clause, tmp_path: Path):
    resolved, _ = proven(settings, clause)
    its = case(resolved, SEED)
    idle = Case(seed=SEED, settings=replace(its.settings, records=60, load_s=5.0))
    assert resolved.scenario.require
    assert missed(resolved.scenario.require, simulate(idle), tmp_path) != []

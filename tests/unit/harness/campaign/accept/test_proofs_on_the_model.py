"""What the run of each clause must show, the simulated Kafka shows under the same schedule."""

import re

import pytest

from checkers.history.node_clocks import offset_ms
from checkers.model import Case, CleanStop, ClockSkew, DiskWipe, Kill, Partition, PowerLoss
from checkers.model.case import BROKERS, CONTROLLERS
from checkers.model.fate import truth_of
from checkers.model.simulate import run_case
from checkers.promises import clauses
from checkers.promises.search.schedules import Kind, Timed
from checkers.promises.search.trial import case_of
from harness.campaign.accept.configuration_file import AcceptFile
from harness.campaign.accept.proofs import proofs
from harness.campaign.accept.record import named
from harness.campaign.accept.scenarios import setup
from harness.scenario.acceptance import parse_accepted
from harness.scenario.units import duration_s

SEEDS = (1, 2)
LEADER = 1
"""Of one of the three partitions."""
ROLES = {
    "leader": (LEADER,),
    "followers": tuple(node for node in BROKERS if node != LEADER),
    "brokers": BROKERS,
    "controllers": CONTROLLERS,
}
ENDS = {"kill": Kill, "stop": CleanStop, "power-loss": PowerLoss, "disk-wipe": DiskWipe}


def nodes_of(words):
    """ "node 3", "1+2", "leader" as numbers."""
    return ROLES.get(words) or tuple(int(number) for number in re.findall(r"\d+", words))


def edges_of(text):
    source, arrow, target = re.fullmatch(r"(.+) (<->|->) (.+)", text).groups()
    pairs = [(a, b) for a in nodes_of(source) for b in nodes_of(target)]
    pairs += [(b, a) for a, b in pairs] if arrow == "<->" else []
    return tuple(f"{a}->{b}" for a, b in pairs if a != b)


def actions_of(scenario):
    """The steps of a scenario as the model's actions."""
    begins, found = {}, []
    for step in scenario.faults:
        if "at" in step:
            at_s = duration_s(step["at"])
        else:
            anchor, _, delay = step["after"].partition(" + ")
            at_s = begins[anchor.removesuffix(".begin")] + (duration_s(delay) if delay else 0.0)
        begins[step["name"]], hold_s = at_s, duration_s(step["for"])
        if step["do"] == "partition":
            found.append(Partition(at_s=at_s, hold_s=hold_s, edges=edges_of(step["edges"]), refuse=True))
        elif step["do"] == "clock-skew":
            nodes, ahead_s = nodes_of(step["target"]), offset_ms(step["offset"]) / 1000
            found.append(ClockSkew(at_s=at_s, hold_s=hold_s, nodes=nodes, ahead_s=ahead_s))
        else:
            found.append(ENDS[step["do"]](at_s=at_s, hold_s=hold_s, nodes=nodes_of(step["target"])))
    return tuple(found)


def shown(its, scenario, seed):
    """(by what acknowledged records are lost, how long a record waited) under the scenario's schedule."""
    schedule = actions_of(scenario)
    blank = case_of(its.configuration, its.times, ONE_FAULT, seed)
    last_s = max(one.at_s + one.hold_s for one in schedule)
    settings = {"load_s": last_s, "records": round(12 * last_s)}
    case = Case(
        seed=seed,
        settings=type(blank.settings)(**{name: getattr(blank.settings, name) for name in KEPT} | settings),
        schedule=schedule,
    )
    run = run_case(case)
    sent = [record for producer in run.producers for record in producer.sent]
    truth, _ = truth_of(run.cluster, sent, run.final.present(), run.readers)
    assert all(record.permitted for record in truth.lost)
    return {record.cause for record in truth.lost}, max(
        record.completed_s - record.invoked_s for record in sent
    )


ONE_FAULT = (Timed(kind=Kind.KILL, node=1),)
KEPT = (
    *("partitions", "replication", "min_isr", "elr", "unclean_election", "flush_messages", "producers"),
    *("readers", "lag_max_s", "session_s"),
)
CONFIGURATIONS = {
    "payments": {},
    "without eligible leader replicas": {"elr": False},
    "one in sync": {"min_isr": 1},
    "unclean election": {"min_isr": 1, "unclean": True},
    "unclean election of two in sync": {"unclean": True},
    "acks=1": {"acks": "1"},
    "acks=1, unclean election": {"acks": "1", "min_isr": 1, "unclean": True},
    "flushed": {"flush": 1},
    "all in sync": {"min_isr": 3},
}


def made(*, acks="all", min_isr=2, unclean=False, elr=True, flush=None):
    config = {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean}
    its = AcceptFile.model_validate(
        {
            "name": "mine",
            "cluster": {"elr": elr},
            "topic": {"config": config | ({"flush.messages": flush} if flush else {})},
            "producer": {"acks": acks},
        }
    )
    return setup(its)


CASES = [
    (name, proof.clause)
    for name, settings in CONFIGURATIONS.items()
    for proof in proofs(made(**settings), clauses(made(**settings).configuration))
    if proof.scenario is not None
]


@pytest.mark.parametrize(("name", "clause"), CASES)
def test_the_simulated_kafka_shows_what_the_run_of_a_clause_must_show(name, clause):
    its = made(**CONFIGURATIONS[name])
    given = clauses(its.configuration)
    (proof,) = (one for one in proofs(its, given) if one.clause == clause)
    (causes,) = (one.causes for one in given if one.id == clause)
    for seed in SEEDS:
        lost, waited_s = shown(its, proof.scenario, seed)
        match proof.scenario.expect.acked_loss:
            case "permitted":
                assert named(lost, causes)
            case "none":
                assert not lost
        for line in proof.scenario.accept:
            assert parse_accepted(line).holds(waited_s), (line, waited_s)

"""The scenario of each clause and of each schedule that a search has found: valid, and on this
configuration.
"""

from itertools import product
from typing import get_args

import pytest

from checkers.promises import clauses
from checkers.promises.clauses import KINDS, Clause
from checkers.promises.search import Goal
from checkers.promises.search.schedules import Kind, Timed
from harness.campaign.accept.configuration.configuration_file import (
    MOST_LETTERS,
    AcceptFile,
    parse_configuration,
    read_configuration,
)
from harness.campaign.accept.configuration.in_force import configuration_of
from harness.campaign.accept.proofs import SCENARIOS, proofs
from harness.campaign.accept.scenarios import setup
from harness.campaign.accept.search.counterexamples import counterexample, steps
from harness.scenario.resolve import resolve, resolve_made, scenario_text


def asked(*, acks="all", replication=3, min_isr=2, unclean=False, flush=None, **cluster) -> AcceptFile:
    config = {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean}
    return AcceptFile.model_validate(
        {
            "name": "mine",
            "cluster": cluster,
            "topic": {
                "replication": replication,
                "config": config | ({"flush.messages": flush} if flush else {}),
            },
            "producer": {"acks": acks},
        }
    )


def proven(its: AcceptFile):
    """The scenarios of all clauses, by the clause."""
    made = setup(its)
    return {one.clause: one for one in proofs(made, clauses(made.configuration))}


def test_every_clause_has_its_scenario():
    assert set(SCENARIOS) == set(KINDS)


def test_the_longest_name_has_room_for_every_proof_and_every_search():
    its = setup(asked(elr=False).model_copy(update={"name": "x" * MOST_LETTERS}))
    every = [Clause(id=name, kind=kind, sentence="") for name, kind in KINDS.items()]
    names = [proof.scenario.name for proof in proofs(its, every)]
    schedule = (Timed(kind=Kind.KILL, node=1),)
    names += [counterexample(its, goal, schedule).name for goal in get_args(Goal)]
    assert len(names) == len(KINDS) + 2
    assert max(map(len, names)) == 61


SETTINGS = (("0", "1", "all"), (1, 2, 3), (1, 2), (False, True), (True, False))
CELLS = [
    tuple(values[place] for values, place in zip(SETTINGS, places, strict=True))
    for places in product(*(range(len(values)) for values in SETTINGS))
    if sum(places) % 2 == 0
]
"""Every second one of all: whatever four of the five settings can be together is among them."""


def test_what_is_kept_requires_that_something_happened():
    found = proven(asked(flush=1, replication=3))
    required = {clause: one.scenario.require for clause, one in found.items() if one.scenario is not None}
    assert required["process-kill"] == ["brokers.restarted >= 3", "unavailable.max >= 2s"]
    deposed = ["zombie.max >= 3s", "zombie.committed <= 0", "elections.max >= 1", "brokers.fenced >= 1"]
    assert required["deposed-leader"] == deposed
    assert required["power-flushed"] == ["brokers.restarted >= 3"]
    assert required["broker-loss"] == ["brokers.restarted >= 1", "elections.max >= 1", "isr.expands >= 1"]
    assert proven(asked())["broker-loss"].scenario.require[0] == "data-lost.brokers >= 1"


def test_a_leader_without_followers_stands_still_before_it_is_killed_where_nothing_is_promised():
    """A bare kill loses what was on its way just then, or nothing."""
    assert proven(asked(acks="0", replication=1, min_isr=1))["nothing-promised"].scenario.faults == [
        {"name": "pause", "at": "6s", "do": "pause", "target": "leader", "for": "5s"},
        {"name": "kill", "after": "pause.begin + 2s", "do": "kill", "target": "leader", "for": "8s"},
    ]


def test_who_stays_eligible_is_killed_too_where_nobody_may_lead():
    """With acks=1 and min.insync.replicas of all, whoever leaves the ISR is eligible from then on."""
    found = {elr: proven(asked(acks="1", min_isr=3, elr=elr))["offline"] for elr in (True, False)}
    killed = {elr: one.scenario.faults[-1]["target"] for elr, one in found.items()}
    assert killed == {True: "1+2+3", False: "1+2"}


@pytest.mark.parametrize(("acks", "replication", "min_isr", "unclean", "elr"), CELLS)
def test_every_scenario_of_a_proof_is_valid(acks, replication, min_isr, unclean, elr):
    its = asked(acks=acks, replication=replication, min_isr=min_isr, unclean=unclean, elr=elr)
    for clause, proof in proven(its).items():
        if proof.scenario is None:
            assert proof.why_not, clause
            continue
        resolved = resolve(scenario_text(proof.scenario), clause, seed=1)
        assert resolve_made(proof.scenario, clause, seed=1) == resolved
        topic, load = resolved.scenario.topics[0], resolved.scenario.workload
        assert topic.config["min.insync.replicas"] == str(min_isr)
        assert (topic.replication, load.acks) == (replication, acks)
        assert resolved.steps, clause


def test_what_is_kept_expects_no_loss_and_what_may_be_lost_expects_some():
    found = proven(asked(elr=False))
    loss = {clause: one.scenario.expect.acked_loss for clause, one in found.items()}
    assert loss == {
        "process-kill": "none",
        "broker-loss": "none",
        "deposed-leader": "none",
        "power-of-all": "permitted",
        "unclean-shutdowns": "permitted",
        "last-replica-standing": "permitted",
        "disk-loss": "permitted",
        "retention-by-clock": "permitted",
        "spare-replicas": "none",
        "below-min-isr": "none",
        "unreached-leader": "none",
        "stalled-leader": "none",
        "offline": "none",
        "last-leader-away": "none",
    }


def test_availability_is_a_bound_on_the_longest_time_without_an_acknowledgement():
    found = proven(asked())
    assert found["spare-replicas"].shows == "unavailable.max <= 12.5s"
    assert found["below-min-isr"].shows == "unavailable.max >= 12.5s"
    assert found["spare-replicas"].scenario.faults == [
        {"name": "kill", "at": "6s", "do": "kill", "target": "node 1", "for": "24.5s"}
    ]
    assert found["below-min-isr"].scenario.faults[0]["target"] == "1+2"


def test_the_disk_of_a_leader_stands_still_for_longer_than_a_fail_over_and_nobody_is_elected():
    """As in the scenario stalled-leader-disk."""
    proof = proven(asked())["stalled-leader"]
    assert proof.scenario.faults == [
        {"name": "stall", "at": "6s", "do": "disk-stall", "target": "leader", "for": "20.5s"}
    ]
    assert proof.shows == "unavailable.max >= 12.5s"
    assert proof.scenario.require == ["unavailable.max >= 4.5s", "elections.max <= 0", "brokers.fenced <= 0"]


def test_the_last_leader_is_the_last_one_to_be_back_after_all_were_killed():
    """The others are up again for longer than a fail-over takes, and nobody of them leads."""
    proof = proven(asked())["last-leader-away"]
    assert proof.scenario.faults == [
        {"name": "others", "at": "6s", "do": "kill", "target": "2+3", "for": "6s"},
        {"name": "last", "after": "others.begin + 2s", "do": "kill", "target": "node 1", "for": "26.5s"},
    ]
    assert proof.shows == "unavailable.max >= 18.5s"
    of_elr = ["elections.last-known >= 1", "offline.max >= 5s", "brokers.restarted >= 3"]
    assert proof.scenario.require == of_elr
    assert proven(asked(elr=False))["last-leader-away"].scenario.require == ["isr.min <= 1", *of_elr[1:]]


@pytest.mark.parametrize(
    ("cluster", "clause", "why_not"),
    [
        ({"combined": True}, "stalled-leader", "its brokers are controllers"),
        ({"combined": True}, "last-leader-away", "its brokers are controllers"),
        ({"acks": "0"}, "stalled-leader", "with acks=0 nobody waits for the disk"),
    ],
)
def test_what_no_run_can_show_of_a_leader_has_a_reason(cluster, clause, why_not):
    proof = proven(asked(**cluster))[clause]
    assert proof.scenario is None
    assert proof.why_not.startswith(why_not)


@pytest.mark.parametrize("flush", [None, 1])
@pytest.mark.parametrize(("acks", "replication"), [("1", 1), ("1", 2), ("0", 2), ("1", 3)])
def test_more_in_sync_replicas_than_there_are_name_no_node_that_there_is_not(acks, replication, flush):
    """Before 3.7, where writes that wait for the leader alone are taken all the same."""
    old = asked(acks=acks, replication=replication, min_isr=replication + 2, flush=flush, kafka="3.6.1")
    found = proven(old)
    for clause, proof in found.items():
        if proof.scenario is not None:
            assert resolve(scenario_text(proof.scenario), clause, seed=1).steps, clause
    assert any(proof.scenario is not None for proof in found.values())


def test_with_one_replica_a_kill_loses_nothing_with_acks_1_either():
    found = proven(asked(acks="1", replication=1, min_isr=1))
    loss = {clause: found[clause].scenario.expect.acked_loss for clause in ("process-kill", "offline")}
    assert loss == {"process-kill": "none", "offline": "none"}


def test_the_last_in_sync_replica_is_left_alone_before_it_loses_its_power():
    assert proven(asked(elr=False))["last-replica-standing"].scenario.faults == [
        {
            "name": "cut",
            "at": "4s",
            "edges": "node 3 -> 1+2",
            "do": "partition",
            "for": "17s",
            "mode": "refuse",
        },
        {"name": "others", "after": "cut.begin + 7s", "do": "stop", "target": "node 2", "for": "14s"},
        {"name": "power", "after": "others.begin + 3s", "do": "power-loss", "target": "node 1", "for": "12s"},
    ]


def test_a_disk_is_emptied_after_all_others_that_have_the_record_were_killed():
    wipe = {"do": "disk-wipe", "disk": "emptied"}
    assert proven(asked(flush=1))["disk-loss"].scenario.faults[1:] == [
        {"name": "others", "after": "cut.begin + 7s", "do": "kill", "target": "node 2", "for": "8s"},
        {"name": "wipe", **wipe, "target": "node 1", "for": "12s", "after": "others.begin + 2s"},
    ]
    assert proven(asked(min_isr=1))["disk-loss"].scenario.faults[1:] == [
        {"name": "wipe", **wipe, "target": "leader", "for": "5s", "after": "cut.begin + 7s"},
    ]
    assert proven(asked(replication=1, min_isr=1))["disk-loss"].scenario.faults == [
        {"name": "wipe", "at": "6s", **wipe, "target": "brokers", "for": "1s"},
    ]


def test_the_disk_of_a_controller_is_not_emptied():
    proof = proven(asked(combined=True))["disk-loss"]
    assert proof.scenario is None
    assert proof.why_not.startswith("its brokers are controllers")


def test_controllers_that_find_no_room_on_a_runs_brokers_are_beside_them_and_that_decides():
    made = setup(asked(replication=2, min_isr=1, combined=True))
    assert "combined: a run of one broker for each replica has 3 controllers beside them" in made.left_out
    found = proven(made.asked)
    for clause in ("disk-loss", "retention-by-clock"):
        resolved = resolve(scenario_text(found[clause].scenario), clause, seed=1)
        assert not resolved.topology.combined
    # The run of a schedule has three brokers, whatever the replicas.
    assert made.combined_when_searched
    assert made.scenario("any", "", [], brokers=3).cluster.combined
    five = setup(asked(brokers=5, controllers=5, combined=True))
    assert not five.combined_when_searched
    assert "combined: a run of one broker for each replica has 5 controllers beside them" in five.left_out
    assert "combined" not in " ".join(setup(asked(combined=True)).left_out)


def test_what_a_cluster_has_beside_its_settings_is_carried():
    given = {"log_dirs": 2, "volume": "2GiB", "transaction_version": 1, "elr": False, "controllers": 1}
    cluster = setup(asked(**given)).scenario("any", "", []).cluster
    assert (cluster.log_dirs, cluster.volume, cluster.transaction_version) == (2, 2 << 30, 1)
    assert (cluster.elr, cluster.controllers) == (False, 1)
    resolve(scenario_text(setup(asked(**given)).scenario("any", "", [])), "any", seed=1)


def test_without_acks_all_no_run_asks_for_more_in_sync_replicas_than_there_are():
    """Releases before 3.7 are refused such a topic in a scenario; since then it counts as all."""
    old = setup(asked(acks="1", min_isr=4, kafka="3.6.1"))
    assert old.no_run == ""
    assert "min.insync.replicas=4: a run has one broker for each replica" in old.left_out
    its = resolve(scenario_text(old.scenario("any", "", [])), "any", seed=1).scenario
    assert its.topics[0].config["min.insync.replicas"] == "3"
    new = setup(asked(min_isr=4))
    assert (new.no_run, [line for line in new.left_out if "insync" in line]) == ("", [])
    assert new.scenario("any", "", []).topics[0].config["min.insync.replicas"] == "4"


def test_a_clock_is_set_further_ahead_than_the_run_keeps_its_records():
    proof = proven(asked())["retention-by-clock"]
    assert proof.scenario.faults == [
        {"name": "ahead", "at": "6s", "do": "clock-skew", "target": "leader", "offset": "+8d", "for": "45s"}
    ]
    assert proof.scenario.cluster.broker_config["log.retention.check.interval.ms"] == "1000"
    longer = asked(broker_config={"log.retention.hours": 24 * 30})
    assert proven(longer)["retention-by-clock"].scenario.faults[0]["offset"] == "+31d"
    too_short = asked(broker_config={"log.retention.hours": 2})
    assert proven(too_short)["retention-by-clock"].scenario.faults[0]["offset"] == "+8d"


@pytest.mark.parametrize(
    ("cluster", "why_not"),
    [
        ({"combined": True}, "its brokers are controllers"),
        ({"acks": "0"}, "with acks=0 a lost record does not show"),
        ({"broker_config": {"log.retention.hours": 24 * 400}}, "in a run its records are kept for longer"),
    ],
)
def test_no_clock_is_set_where_it_cannot_be_or_would_show_nothing(cluster, why_not):
    proof = proven(asked(**cluster))["retention-by-clock"]
    assert proof.scenario is None
    assert proof.why_not.startswith(why_not)


def test_the_times_of_the_configuration_stretch_its_proofs():
    slow = asked(broker_config={"replica.lag.time.max.ms": 10000})
    assert setup(slow).times.fail_over_s == 15.0
    assert proven(slow)["spare-replicas"].shows == "unavailable.max <= 23s"


def test_what_would_make_a_run_judge_something_else_is_left_out_and_named():
    its = AcceptFile.model_validate(
        {
            "name": "mine",
            "cluster": {"racks": {"1": "a"}},
            "topic": {"config": {"cleanup.policy": "compact", "retention.ms": 60000}},
            "producer": {"buffer.memory": 1, "linger.ms": 3},
        }
    )
    made = setup(its)
    assert made.left_out == ("cleanup.policy=compact", "retention.ms=60000", "racks", "buffer.memory=1")
    scenario = made.scenario("any", "", [])
    assert scenario.topics[0].config == {
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "false",
    }
    assert scenario.workload.client == {"linger.ms": "3"}


BEYOND = [
    ("broker_config", "offsets.topic.replication.factor"),
    ("broker_config", "transaction.state.log.replication.factor"),
    ("broker_config", "default.replication.factor"),
    ("broker_config", "min.insync.replicas"),
    ("controller_config", "min.insync.replicas"),
    ("controller_config", "default.replication.factor"),
]


@pytest.mark.parametrize(("holder", "key"), BEYOND)
@pytest.mark.parametrize("replication", [1, 2])
def test_a_run_asks_for_no_more_replicas_than_it_has_brokers(replication, holder, key):
    its = asked(replication=replication, min_isr=1, **{holder: {key: 3}})
    made = setup(its)
    assert f"{key}=3: a run has one broker for each replica" in made.left_out
    for brokers, count in ((None, replication), (3, 3)):
        scenario = made.scenario("any", "", [], brokers=brokers)
        assert getattr(scenario.cluster, holder)[key] == str(count)
        resolve(scenario_text(scenario), "any", seed=1)


def test_a_cluster_and_a_topic_that_are_larger_than_a_run_has_are_answered():
    text = "name: mine\ncluster: {brokers: 60, racks: {60: a}}\ntopic: {partitions: 1200}\n"
    made = setup(parse_configuration(text, "mine"))
    assert (made.configuration.cluster.brokers, made.configuration.cluster.racks) == (60, {60: "a"})
    assert made.left_out[:2] == (
        "57 of 60 brokers: a run has one for each replica",
        "partitions: run with 12",
    )
    resolved = resolve(scenario_text(made.scenario("any", "", [])), "any", seed=1)
    assert (resolved.topology.brokers, resolved.scenario.topics[0].partitions) == (3, 12)


def test_as_many_replicas_as_brokers_are_carried():
    made = setup(asked(broker_config={"offsets.topic.replication.factor": 3, "min.insync.replicas": 1}))
    config = made.scenario("any", "", []).cluster.broker_config
    assert config == {"offsets.topic.replication.factor": "3", "min.insync.replicas": "1"}
    assert [line for line in made.left_out if "replica" in line] == []


def test_of_settings_that_may_hold_a_secret_a_run_has_none_and_the_answer_the_names():
    hush = "hush-hush"
    secret = {"sasl.jaas.config": hush, "basic.auth.user.info": hush, "interceptor.key": hush}
    of_brokers = {"ssl.keystore.password": hush, "listener.name.client.ssl.key.password": hush}
    its = AcceptFile.model_validate(
        {
            "name": "mine",
            "cluster": {"broker_config": of_brokers, "controller_config": {"ssl.key.password": hush}},
            "producer": {"buffer.memory": 1, **secret},
        }
    )
    made = setup(its)
    assert made.left_out == (*of_brokers, "ssl.key.password", "buffer.memory=1", *secret)
    assert hush not in scenario_text(made.scenario("any", "", []))


@pytest.mark.parametrize(
    ("partitions", "replication", "of_the_run"),
    [(1, 3, 3), (2, 2, 3), (1, 1, 3), (3, 5, 5), (6, 3, 6), (12, 3, 12), (500, 3, 12), (500, 14, 14)],
)
def test_each_broker_that_a_schedule_names_leads_a_partition(partitions, replication, of_the_run):
    topic = {"partitions": partitions, "replication": replication}
    made = setup(AcceptFile.model_validate({"name": "mine", "cluster": {"brokers": 14}, "topic": topic}))
    assert made.scenario("any", "", []).topics[0].partitions == of_the_run
    named = [text for text in made.left_out if text.startswith("partitions")]
    assert named == ([] if of_the_run == partitions else [f"partitions: run with {of_the_run}"])


@pytest.mark.parametrize(
    ("producer", "carried", "left_out"),
    [
        ({"retries": 5, "batch.size": 0}, {"retries": "5"}, ("batch.size=0",)),
        ({"linger.ms": 1_000_000}, {}, ("linger.ms=1000000",)),
        # Longer than the delivery time-out of the runs: the client takes neither with the other.
        ({"linger.ms": 70_000, "retries": 5}, {}, ("linger.ms=70000", "retries=5")),
    ],
)
def test_what_kafkas_producer_takes_and_the_loads_client_does_not_is_left_out_and_named(
    producer, carried, left_out
):
    its = AcceptFile.model_validate({"name": "mine", "producer": producer})
    made = setup(its)
    assert (made.left_out, made.scenario("any", "", []).workload.client) == (left_out, carried)
    assert resolve(scenario_text(made.scenario("any", "", [])), "any", seed=1)


def test_a_producer_may_have_more_on_its_way_than_the_loads_client():
    producer = {"enable.idempotence": False, "max.in.flight.requests.per.connection": 2_000_000}
    made = setup(AcceptFile.model_validate({"name": "mine", "producer": producer}))
    client = made.scenario("any", "", []).workload.client
    assert client == {"max.in.flight.requests.per.connection": "1000000"}


@pytest.mark.parametrize("acks", ["1", "all"])
@pytest.mark.parametrize("replicas", [2, 3])
def test_where_all_must_be_in_sync_the_first_to_be_back_has_lost_what_it_had(acks, replicas):
    proof = proven(asked(acks=acks, replication=replicas, min_isr=replicas, unclean=True))["unclean-election"]
    assert [step["do"] for step in proof.scenario.faults] == ["power-loss", "kill"]
    assert proof.scenario.require == ["elections.unclean >= 1", "data-lost.brokers >= 1"]


def test_where_all_must_be_in_sync_and_are_controllers_nobody_elects_the_first_to_be_back():
    proof = proven(asked(min_isr=3, unclean=True, combined=True))["unclean-election"]
    assert proof.scenario is None
    assert proof.why_not.startswith("its brokers are controllers")


def test_where_a_replica_that_is_behind_may_lead_no_run_shows_what_one_that_comes_back_lacks():
    found = proven(asked(acks="1", unclean=True, elr=False))
    hidden = {clause for clause, one in found.items() if one.why_not.startswith("whoever is up first leads")}
    assert hidden == {"power-of-all", "unclean-shutdowns", "last-replica-standing", "disk-loss"}
    assert {clause for clause, one in proven(asked(min_isr=1, unclean=True)).items() if one.why_not} == {
        *("power-of-all", "isr-of-one", "disk-loss")
    }


def test_with_acks_0_only_that_nothing_is_promised_can_be_shown_of_losses():
    found = proven(asked(acks="0", elr=False))
    assert {clause for clause, one in found.items() if one.scenario is not None} == {
        *("nothing-promised", "spare-replicas", "offline", "last-leader-away")
    }


# Schedules that a search has found


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("goal", ["loss", "unavailability"])
def test_a_schedule_of_the_model_is_a_valid_scenario(kind, goal):
    its = setup(read_configuration("payments"))
    schedule = (Timed(kind=Kind.BEHIND, node=3), Timed(kind=kind, node=1, after_s=6.5))
    resolved = resolve(scenario_text(counterexample(its, goal, schedule)), "found", seed=1)
    assert len(resolved.steps) == 2
    assert resolved.topology.brokers == 3


def test_a_schedule_keeps_its_times_and_ends_all_at_once():
    schedule = (
        Timed(kind=Kind.ALONE, node=1),
        Timed(kind=Kind.POWER_LOSS, node=1, after_s=6.5),
        Timed(kind=Kind.POWER_LOSS, node=2),
        Timed(kind=Kind.DEPOSED, node=3, after_s=2.0),
    )
    cut = {"do": "partition", "mode": "refuse"}
    assert steps(setup(read_configuration("payments")), "loss", schedule) == [
        {"name": "fault-1", "at": "6s", **cut, "edges": "brokers -> node 1", "for": "21s"},
        {"name": "fault-2", "at": "12.5s", "do": "power-loss", "target": "1+2", "for": "14.5s"},
        {
            "name": "fault-3",
            "at": "14.5s",
            **cut,
            "edges": "node 3 -> controllers, node 3 <-> brokers",
            "for": "12.5s",
        },
    ]


def test_with_acks_0_who_ends_stands_still_before():
    """Else it is a matter of luck whether anything is on its way to it."""
    its = setup(asked(acks="0", replication=1, min_isr=1))
    schedule = (
        Timed(kind=Kind.ALONE, node=2),
        Timed(kind=Kind.KILL, node=1),
        Timed(kind=Kind.STOP, node=3),
        Timed(kind=Kind.POWER_LOSS, node=2, after_s=6.5),
    )
    found = steps(its, "loss", schedule)
    assert [(step["name"], step["at"], step["do"], step.get("target")) for step in found] == [
        ("pause-2", "6s", "pause", "node 1"),
        ("fault-1", "8s", "partition", None),
        ("fault-2", "8s", "kill", "node 1"),
        ("fault-3", "8s", "stop", "node 3"),
        ("pause-4", "12.5s", "pause", "node 2"),
        ("fault-4", "14.5s", "power-loss", "node 2"),
    ]
    assert {step["for"] for step in found if step["do"] == "pause"} == {"5s"}
    assert resolve(scenario_text(counterexample(its, "loss", schedule)), "found", seed=1)
    assert not any(step["do"] == "pause" for step in steps(its, "unavailability", schedule))


@pytest.mark.parametrize(("kind", "tail_s"), [(Kind.DEPOSED, 20.0), (Kind.ALONE, 2.0)])
def test_the_load_goes_on_until_no_offset_of_a_deposed_leader_is_left(kind, tail_s):
    its = setup(read_configuration("analytics"))
    schedule = (Timed(kind=kind, node=1), Timed(kind=Kind.KILL, node=1, after_s=6.5))
    assert counterexample(its, "loss", schedule).workload.tail_s == tail_s


def test_a_loss_that_was_found_must_be_there_and_be_permitted():
    its = setup(read_configuration("payments"))
    schedule = tuple(Timed(kind=Kind.POWER_LOSS, node=node) for node in (1, 2, 3))
    scenario = counterexample(its, "loss", schedule)
    assert scenario.expect.acked_loss == "permitted"
    assert scenario.about == "Found on the simulated Kafka: brokers 1 and 2 and 3 lose their power."
    stopped = counterexample(its, "unavailability", schedule)
    assert (stopped.accept, stopped.require) == ([], ["unavailable.max >= 8.5s"])


def test_the_configuration_of_a_file_is_the_one_that_is_proven():
    its = read_configuration("analytics")
    assert setup(its).configuration == configuration_of(its)

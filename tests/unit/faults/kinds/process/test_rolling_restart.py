"""A rolling restart takes one broker at a time, waits as it was told, and is proven by new broker epochs."""

import json
from threading import Event

import pytest
from fakes.world import fault_steps
from fakes.world.fault_world import Aside, World

from compose.errors import NodeStateError
from compose.protocols import CLIENT
from faults.clock import ns
from faults.documentation import kinds_table
from faults.errors import BadStep
from faults.kinds.process.rolling_restart import ROLLING_RESTART
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate
from faults.schedule.record import FaultEvent, FaultRecord
from faults.targets.facts import Facts, TopicFacts

ROLL: dict[str, object] = {"name": "roll", "do": "rolling-restart", "target": "brokers", "for": "0s"}
IMPATIENT = ROLL | {"patient": False}


def run(world: World, words: dict[str, object], *, stop: Event | None = None) -> FaultRecord:
    """Run one step, 5 s after the start; a broker boots for 3 s and is in sync 0.5 s later."""

    def note(event: FaultEvent) -> None:
        world.calls.append(event.stage)

    (record,) = fault_steps.run(world, words, log=note, stop=stop)
    return record


def shown(record: FaultRecord) -> dict[str, object]:
    effect = json.loads(record.evidence)["effect"]
    assert isinstance(effect, dict)
    return effect


def changes(world: World) -> list[str]:
    """What was done to the nodes, and when the step had begun."""
    return [call for call in world.calls if call.split()[0] in ("stop", "kill", "start", "injected")]


def test_each_broker_is_stopped_and_started_before_the_next() -> None:
    world = World()
    record = run(world, ROLL)
    assert changes(world) == ["stop 1", "start 1", "stop 2", "start 2", "stop 3", "start 3", "injected"]
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert record.unclean == ()
    assert record.down == (1, 2, 3)


def test_it_shows_exit_codes_and_new_broker_epochs() -> None:
    effect = shown(run(World(), ROLL))
    took_s = effect.pop("took_s")
    assert effect == {
        "exit_codes": {"1": 143, "2": 143, "3": 143},
        "broker_epochs_before": {"1": 10, "2": 10, "3": 10},
        "broker_epochs": {"1": 15, "2": 20, "3": 25},
    }
    assert isinstance(took_s, float)
    assert 10.5 <= took_s <= 13.0


def test_how_kill_ends_each_uncleanly() -> None:
    world = World()
    record = run(world, ROLL | {"how": "kill"})
    assert changes(world) == ["kill 1", "start 1", "kill 2", "start 2", "kill 3", "start 3", "injected"]
    assert (record.proven, record.unclean) == (True, (1, 2, 3))
    assert shown(record)["exit_codes"] == {"1": 137, "2": 137, "3": 137}


def test_what_it_costs_depends_on_how() -> None:
    """The page of all kinds says both."""
    step = {"name": "roll", "at": "5s", "do": "rolling-restart", "target": "brokers", "for": "0s"}
    costs = {how: ROLLING_RESTART.cost_of(parse_step(step | {"how": how})) for how in ("stop", "kill")}
    assert {how: cost.unclean for how, cost in costs.items()} == {"stop": False, "kill": True}
    assert ROLLING_RESTART.cost == costs["kill"]
    assert "| a controlled shutdown, with `how: kill` an unclean one |" in kinds_table()


def test_a_patient_one_takes_the_next_broker_when_the_isr_is_full() -> None:
    """3 s until it has booted, 20 s until it is in sync: never are two brokers away at a time."""
    record = run(World(rejoin_ns=ns(20)), ROLL)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    _, second, third = record.down_ns
    assert second - record.up_ns[0] > ns(23)
    assert third - record.up_ns[1] > ns(23)


def test_an_impatient_one_waits_for_the_pause_alone() -> None:
    """The second broker goes down before the first has booted."""
    at_once, later = run(World(), IMPATIENT), run(World(), IMPATIENT | {"pause": "2s"})
    assert (at_once.proven, at_once.recovered) == (True, True), at_once.evidence
    assert at_once.down_ns[1] - at_once.up_ns[0] < ns(0.5)
    assert ns(2) <= later.down_ns[1] - later.up_ns[0] < ns(2.5)


def test_patience_ends_after_a_minute() -> None:
    """A broker that does not come into the ISR leaves the others alone; what was done is healed."""
    world = World(rejoin_ns=ns(3600))
    record = run(world, ROLL)
    assert changes(world)[:2] == ["stop 1", "start 1"]
    assert "stop 2" not in world.calls
    assert not record.proven
    reason = str(json.loads(record.evidence)["reason"])
    assert reason.startswith(
        "the injection failed: 60 s after the restart of node 1: isr of orders-0 is [2, 3]"
    )


@pytest.mark.parametrize(("how", "ignored"), [("stop", "stop"), ("kill", "kill")])
def test_brokers_that_do_not_end_are_no_evidence(how: str, ignored: str) -> None:
    """They go on under their old epochs, which are waited for, and then are the reason."""
    record = run(World(ignores={ignored}), IMPATIENT | {"how": how})
    assert not record.proven
    assert "its broker epoch is 10, was 10" in str(json.loads(record.evidence)["reason"])


def test_a_broker_that_is_not_started_is_started_by_healing() -> None:
    """An injection that fails half way leaves its broker down, until it is healed."""
    world = World(failing={"start": [NodeStateError("node 1: the engine is busy")]})
    record = run(world, ROLL)
    assert (record.proven, record.recovered) == (False, True)
    assert changes(world) == ["stop 1", "start 1", "injected", "start 1"]
    assert record.down == (1,)
    assert not any(world.mesh.is_cut(edge) for edge in world.mesh.edges)


def test_a_broker_is_up_from_its_start_and_not_from_the_healing() -> None:
    record = run(World(), ROLL | {"for": "10s"})
    assert record.up_ns[2] < record.begin_ns < record.heal_ns


def test_a_schedule_that_is_broken_off_takes_no_further_broker() -> None:
    """Set while the first broker is down, `stop` lets that one come back, and no other go."""
    world, stop = World(), Event()
    world.clock.call_at(ns(5.2), stop.set)
    record = run(world, IMPATIENT | {"pause": "1s"}, stop=stop)
    assert [call for call in changes(world) if call != "injected"] == ["stop 1", "start 1"]
    assert not record.proven
    assert {world.state(node).status for node in world.brokers} == {"running"}


KILL_3: dict[str, object] = {"name": "kill", "do": "kill", "target": "node 3", "for": "30s"}


def test_healing_leaves_a_broker_down_that_another_fault_has_ended() -> None:
    """The kill holds it for its 30 s, and the restart of the round stays the one that the round has made."""
    world = World()
    roll, kill = fault_steps.run(world, ROLL | {"for": "5s"}, KILL_3 | {"after": "roll.begin + 2s"})
    assert (roll.proven, roll.recovered, kill.proven, kill.recovered) == (True, True, True, True)
    assert changes(world)[-3:] == ["start 3", "kill 3", "start 3"]
    assert roll.up_ns[2] < roll.begin_ns
    assert ns(30) <= kill.up_ns[0] - kill.down_ns[0] < ns(31)


def test_the_turn_of_a_broker_that_another_fault_holds_down_breaks_the_round_off() -> None:
    """After 5 s in which it is waited for. The round restarts the two before it, and claims no more."""
    world = World()
    roll, kill = fault_steps.run(
        world, IMPATIENT | {"how": "kill", "pause": "3s", "at": "9s"}, KILL_3 | {"at": "10s"}
    )
    assert (roll.proven, roll.down, kill.proven, kill.recovered) == (False, (1, 2), True, True)
    assert json.loads(roll.evidence)["reason"] == (
        "the injection failed: the turn of node 3 has come, and node 3 is exited, ended by kill, for 5 s"
    )
    assert [call for call in changes(world) if call.endswith("3")] == ["kill 3", "start 3"]
    assert ns(30) <= kill.up_ns[0] - kill.down_ns[0] < ns(31)


def test_a_broker_that_is_back_in_time_has_its_turn() -> None:
    world = World()
    late = IMPATIENT | {"pause": "3s", "at": "9s"}
    roll, kill = fault_steps.run(world, late, KILL_3 | {"at": "10s", "for": "8s"})
    assert (roll.proven, roll.recovered, kill.proven, kill.recovered) == (True, True, True, True)
    assert roll.down == (1, 2, 3)
    assert roll.down_ns[2] > kill.up_ns[0]


def test_a_schedule_that_is_broken_off_waits_for_no_turn() -> None:
    world, stop = World(), Event()
    world.clock.call_at(ns(17), stop.set)
    late = IMPATIENT | {"pause": "3s", "at": "9s"}
    roll, kill = fault_steps.run(world, late, KILL_3 | {"at": "10s"}, stop=stop)
    assert roll.down == (1, 2)
    assert kill.heal_ns < ns(18)
    assert {world.state(node).status for node in world.brokers} == {"running"}


@pytest.mark.parametrize("do", ["kill", "stop", "pause"])
def test_a_step_waits_for_a_broker_whose_turn_it_is(do: str) -> None:
    """Its shutdown takes 4 s: what is to be done to it meanwhile is done when it is started again."""
    world = World(stop_ns=ns(4))
    then = {"do": do, "target": "node 1", "at": "6s", "for": "2s"}
    roll, other = fault_steps.run(world, ROLL | {"patient": False}, then, threads=Aside(world.clock))
    assert (roll.proven, other.proven, other.recovered) == (True, True, True), (roll.evidence, other.evidence)
    assert roll.up_ns[0] <= other.inject_ns < roll.up_ns[0] + ns(1)
    assert "roll is ending it" in json.loads(other.evidence)["delayed"]


def test_the_edges_to_a_broker_are_closed_while_it_is_down() -> None:
    world = World()
    run(world, ROLL | {"target": "node 1"})
    to_1 = [f"{source}->1" for source in (CLIENT, 2, 3)]
    begin = world.calls.index("stop 1")
    assert world.calls[begin : begin + 9] == [
        "stop 1",
        *(f"cut {edge} refuse roll" for edge in to_1),
        "log_ends 1",
        "start 1",
        *(f"mend {edge} roll" for edge in to_1),
    ]


FACTS = Facts(
    brokers=(1, 2, 3),
    controllers=(101, 102, 103),
    edges=World().mesh.edges,
    topics=(TopicFacts(name="orders", partitions=1, replication=3),),
)


@pytest.mark.parametrize("target", ["nodes", "controllers", "node 101", "1+101"])
def test_a_target_with_a_controller_is_refused(target: str) -> None:
    with pytest.raises(
        BadStep, match=r"target: .* is refused; allowed: brokers: the restart of a controller"
    ):
        validate(parse_steps([{"at": "5s"} | ROLL | {"target": target}]), FACTS)


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [("how", "term", "one of stop, kill"), ("patient", "no", "true or false"), ("pause", "2", "a duration")],
)
def test_a_manner_that_does_not_exist_is_refused(key: str, value: str, allowed: str) -> None:
    with pytest.raises(BadStep, match=f"{key}: '{value}' is refused; allowed: {allowed}"):
        parse_step({"at": "5s"} | ROLL | {key: value})


def test_a_step_in_every_manner_is_written_as_it_was_read() -> None:
    words = {"at": "5s"} | ROLL | {"how": "kill", "patient": False, "pause": "500ms"}
    assert write_step(parse_step(words)) == {
        "name": "roll",
        "do": "rolling-restart",
        "at": "5s",
        "target": "brokers",
        "how": "kill",
        "patient": "false",
        "pause": "0.5s",
        "for": "0s",
    }
    assert parse_step(write_step(parse_step(words))) == parse_step(words)

"""Pulses of a pause and of a stall: for as long as they hold, proven by counters, and never left on."""

import json
from threading import Event

import pytest
from fakes.world.fault_steps import run
from fakes.world.fault_world import World

from compose.errors import DiskError, NodeStateError
from compose.protocols import Edge
from faults.clock import ns
from faults.errors import BadStep
from faults.plan.parse import parse_steps
from faults.plan.validate import validate
from faults.schedule.record import FaultRecord
from faults.targets.facts import Facts

PULSES = {"do": "pulses", "target": "node 2", "on": "200ms", "off": "300ms", "for": "3s"}
STUTTER = {"do": "disk-stutter", "target": "node 1", "on": "500ms", "off": "500ms", "for": "5s"}
BOTH = (PULSES, STUTTER)
SWITCHES = {"pulses": ("pause", "unpause"), "disk-stutter": ("freeze", "thaw")}


def by_kind(words: dict[str, str]) -> str:
    return words["do"]


def evidence(record: FaultRecord) -> dict[str, object]:
    found = json.loads(record.evidence)
    assert isinstance(found, dict)
    return found


def switched(world: World) -> list[str]:
    """What was held and let go, in order."""
    return [call for call in world.calls if call.split()[0] in ("pause", "unpause", "freeze", "thaw")]


@pytest.mark.parametrize("words", BOTH, ids=by_kind)
def test_pulses_go_on_for_as_long_as_they_hold(words: dict[str, str]) -> None:
    """3 s have time for six pulses of 0.2 s, 0.3 s apart; 5 s for five of 0.5 s."""
    world = World()
    (record,) = run(world, words)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    on, off = SWITCHES[words["do"]]
    node = words["target"].removeprefix("node ")
    calls = switched(world)
    assert calls[:8] == [f"{on} {node}", f"{off} {node}"] * 4
    assert calls[-1] == f"{off} {node}"
    assert calls.count(f"{on} {node}") == {"pulses": 6, "disk-stutter": 5}[words["do"]]


@pytest.mark.parametrize("words", BOTH, ids=by_kind)
def test_pulses_show_what_stood_still_and_what_moved_between(words: dict[str, str]) -> None:
    (record,) = run(World(), words)
    shown = evidence(record)["effect"]
    assert (
        shown
        == {
            "pulses": {
                "still_for_s": [0.2, 0.2],
                "moved_between": {"2": 350_000},
                "moved_between_over_s": 0.4,
            },
            "disk-stutter": {
                "still_for_s": [0.5, 0.5],
                "moved_between": {"1": 550_000},
                "moved_between_over_s": 0.6,
            },
        }[words["do"]]
    )
    assert record.effect_ns == record.begin_ns


@pytest.mark.parametrize("words", BOTH, ids=by_kind)
def test_nodes_that_are_not_held_are_no_evidence(words: dict[str, str]) -> None:
    on, _ = SWITCHES[words["do"]]
    (record,) = run(World(ignores={on}), words)
    assert not record.proven
    assert "pulses, in 0 of which all were held and stood still" in str(evidence(record)["reason"])


@pytest.mark.parametrize(
    ("words", "counter", "let_go"), [(PULSES, "cpu_ns", "unpause 2"), (STUTTER, "log_bytes", "thaw 1")]
)
def test_a_slow_counter_does_not_show_that_nodes_are_held(
    words: dict[str, str], counter: str, let_go: str
) -> None:
    """It stands still for as long as a pulse by itself, and moves between two."""
    on, _ = SWITCHES[words["do"]]
    world = World(ignores={on})
    setattr(world, counter, lambda node, log_dir=None: world.calls.count(let_go))
    (record,) = run(world, words)
    assert not record.proven
    assert "pulses, in 0 of which all were held and stood still" in str(evidence(record)["reason"])


@pytest.mark.parametrize("words", BOTH, ids=by_kind)
def test_nodes_that_are_never_let_go_are_no_evidence_and_do_not_recover(words: dict[str, str]) -> None:
    """They stand still in the pulses, and between them too."""
    _, off = SWITCHES[words["do"]]
    (record,) = run(World(ignores={off}), words)
    assert (record.proven, record.recovered) == (False, False)


@pytest.mark.parametrize("words", BOTH, ids=by_kind)
def test_no_pulse_begins_after_the_end(words: dict[str, str]) -> None:
    """Also where another fault goes on for a minute."""
    world = World()
    other = {"do": "pause", "target": "node 3", "after": "previous.begin + 500ms", "for": "60s"}
    first, _ = run(world, words, other)
    _, off = SWITCHES[words["do"]]
    ours = [call for call in switched(world) if not call.endswith("3")]
    assert ours[-1].startswith(off)
    assert first.recovered
    assert world.clock.now_ns() > ns(60)


@pytest.mark.parametrize("words", BOTH, ids=by_kind)
def test_a_schedule_that_is_broken_off_leaves_nobody_held(words: dict[str, str]) -> None:
    """At whatever moment of a pulse."""
    for at_s in (5.2, 5.4, 5.6, 5.8, 6.0):
        world, stop = World(), Event()
        world.clock.call_at(ns(at_s), stop.set)
        (record,) = run(world, words | {"for": "1h"}, stop=stop)
        assert record.heal_ns > 0
        assert {world.state(node).status for node in world.brokers} == {"running"}
        assert world.frozen == set()


@pytest.mark.parametrize("words", BOTH, ids=by_kind)
def test_a_pulse_that_fails_is_left_out(words: dict[str, str]) -> None:
    """One change in between fails: the next pulses prove the effect all the same."""
    on, _ = SWITCHES[words["do"]]
    world = World()
    world.clock.call_at(
        ns(5.1), lambda: world.failing.update({on: [NodeStateError("unable to freeze"), DiskError("busy")]})
    )
    (record,) = run(world, words | {"for": "6s"})
    assert (record.proven, record.recovered) == (True, True), record.evidence


def test_a_first_pulse_that_fails_is_a_failed_injection() -> None:
    world = World(failing={"pause": [NodeStateError("node 2: unable to freeze")]})
    (record,) = run(world, PULSES)
    assert (record.proven, record.recovered) == (False, True)
    assert evidence(record)["reason"] == "the injection failed: node 2: unable to freeze"
    assert "pause 2" not in switched(world)[1:]


def test_pulses_let_nobody_go_whom_another_fault_holds() -> None:
    """A pause in the midst of pulses lasts as long as it would by itself."""
    world, states = World(), dict[float, str]()
    for at_s in (7.5, 8.0, 8.5, 9.0):
        world.clock.call_at(ns(at_s), lambda at_s=at_s: states.update({at_s: world.states[2].status}))  # type: ignore[misc]
    pause = {"do": "pause", "target": "node 2", "after": "previous.begin + 2s", "for": "3s"}
    pulses, _ = run(world, PULSES | {"for": "10s"}, pause)
    assert set(states.values()) == {"paused"}
    assert (pulses.proven, pulses.recovered) == (True, True)


def test_a_node_that_is_killed_in_the_midst_comes_back() -> None:
    """It cannot be held while it is down, and is let alone then."""
    world = World()
    kill = {"do": "kill", "target": "node 2", "after": "previous.begin + 1500ms", "for": "2s"}
    pulses, killed = run(world, PULSES | {"for": "8s"}, kill)
    assert (pulses.proven, pulses.recovered) == (True, True), pulses.evidence
    assert (killed.proven, killed.recovered) == (True, True), killed.evidence
    assert world.state(2).status == "running"


@pytest.mark.parametrize(("words", "counter"), [(PULSES, "cpu_ns"), (STUTTER, "log_bytes")])
def test_a_counter_that_cannot_be_read_holds_nobody_longer(words: dict[str, str], counter: str) -> None:
    """The pulse is not counted, and ends all the same."""
    world = World()

    def unreadable(node: int) -> int:
        raise DiskError(f"node {node}: cannot be read now")

    world.clock.call_at(ns(5.1), lambda: setattr(world, counter, unreadable))
    world.clock.call_at(ns(6.0), lambda: delattr(world, counter))
    (record,) = run(world, words | {"for": "6s"})
    on, off = SWITCHES[words["do"]]
    assert [call.split()[0] for call in switched(world)[:4]] == [on, off] * 2
    assert (record.proven, record.recovered) == (True, True), record.evidence


FACTS = Facts(brokers=(1, 2, 3), controllers=(101,), edges=(Edge(source="client", target=1),), topics=())


@pytest.mark.parametrize(
    ("words", "change", "refusal"),
    [
        (PULSES, {"on": "50ms"}, r"on: '50ms' is refused; allowed: from 0\.1s to 10s"),
        (PULSES, {"off": "11s"}, r"off: '11s' is refused; allowed: from 0\.1s to 10s"),
        (PULSES, {"for": "2s"}, r"for: '2s' is refused; allowed: at least 2\.1s: fewer than 3 pulses"),
        (STUTTER, {"for": "4s"}, r"for: '4s' is refused; allowed: at least 4\.8s: fewer than 3 pulses"),
    ],
)
def test_what_cannot_be_proven_is_refused(
    words: dict[str, str], change: dict[str, str], refusal: str
) -> None:
    with pytest.raises(BadStep, match=refusal):
        validate(parse_steps([{"at": "5s"} | words | change]), FACTS)


def test_a_disk_that_is_frozen_already_is_nothing_to_stall() -> None:
    world = World()
    world.frozen.add(1)
    (record,) = run(world, STUTTER)
    assert "nothing to stall: a disk of node 1 is frozen" in str(evidence(record)["reason"])

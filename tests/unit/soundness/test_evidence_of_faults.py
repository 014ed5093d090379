"""Faults are proven as a whole, edge by edge, and are over only when somebody has seen that they are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event

import pytest
from fakes.world.fault_world import Inline, World, WorldView

from compose.errors import ViewError
from compose.protocols import Edge, PartitionState
from faults.clock import ns
from faults.plan.parse import parse_steps
from faults.schedule.record import FaultRecord
from faults.schedule.scheduler import run_schedule

CUT = {"name": "cut", "do": "partition", "edges": "all -> leader", "for": "3s"}
FOLLOWERS = {"name": "earlier", "do": "partition", "edges": "followers -> leader", "for": "9s"}
CLIENTS = {"name": "clients", "do": "partition", "edges": "client -> all", "for": "5s"}


def run(
    world: World, *words: dict[str, str], view: WorldView | None = None, first_at: str = "5s"
) -> tuple[FaultRecord, ...]:
    """Run steps on the world's own clock."""
    steps = parse_steps([{"at": first_at, **words[0]}, *words[1:]])
    seen = view or WorldView(world)
    return run_schedule(
        steps, world, seen, world.clock, stop=Event(), on_event=lambda _: None, threads=Inline()
    )


def evidence(record: FaultRecord) -> Mapping[str, object]:
    found = json.loads(record.evidence)
    assert isinstance(found, dict)
    return found


def test_a_cut_is_not_proven_by_one_busy_edge_that_falls_silent_while_the_others_were_shut_before() -> None:
    """Three edges lead to the leader, and an earlier fault holds two of them: the client's is no proof of
    theirs. Right: not proven, with the names of the two."""
    _, cut = run(World(), FOLLOWERS, CUT | {"after": "earlier.begin + 2s"})
    assert cut.edges == ("2->1", "3->1", "client->1")
    assert not cut.proven
    assert evidence(cut)["reason"] == (
        "no evidence of an effect: "
        "no byte crossed 2->1, 3->1 before the cut, and no request was answered there"
    )


@pytest.mark.parametrize("lets_through", [set(), {"2->1"}, {"2->1", "3->1"}])
def test_an_idle_edge_of_a_cut_is_proven_by_a_request_that_is_answered_no_more(
    lets_through: set[str],
) -> None:
    """The client's edge is busy and falls silent; nothing crosses the others. Right: not proven while a
    request through any of them is still answered, with its name."""
    world = World()
    world.mesh.quiet |= {Edge.parse(edge) for edge in ("2->1", "3->1")}
    answers = world.mesh.probe
    through = {Edge.parse(edge) for edge in lets_through}
    world.mesh.probe = lambda edges, *, within_s: (  # type: ignore[method-assign]
        answers(edges, within_s=within_s) | (through & set(edges))
    )
    (cut,) = run(world, CUT)
    assert cut.proven == (not lets_through)
    if lets_through:
        names = ", ".join(sorted(lets_through))
        assert evidence(cut)["reason"] == f"no evidence of an effect: still answering: {names}"
    else:
        assert evidence(cut)["effect"]["answered_before_not_after"] == ["2->1", "3->1"]  # type: ignore[index]


@dataclass
class CutOffView(WorldView):
    """What clients see of the brokers: nothing while their edges are cut. `forgets` is a time (s) up to which
    brokers that answer do not know the topic."""

    forgets_until_s: float = -1.0
    asked_ns: list[int] = field(default_factory=list)

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        edges = [Edge(source="client", target=node) for node in self.world.brokers]
        if not any(self.world.mesh.passes(edge) for edge in edges):
            raise ViewError("none of the brokers answers")
        now_ns = self.world.clock.now_ns()
        self.asked_ns.append(now_ns)
        forgotten = ns(5) < now_ns < ns(self.forgets_until_s)
        return () if forgotten else super().describe(*topics)


def test_a_fault_has_not_recovered_while_no_broker_answers_what_is_in_sync() -> None:
    """The clients' edges are cut from 5 s to 25 s, and node 3 is killed meanwhile: what was in sync before
    the kill nobody could ask. It rejoins 20 s after it has started. Right: recovered when all are seen to be
    in sync, and not when the process answers."""
    world = World(rejoin_ns=ns(20))
    kill = {"name": "kill", "do": "kill", "target": "node 3", "for": "1s", "after": "clients.begin + 5s"}
    clients, killed = run(world, CLIENTS | {"for": "12s"}, kill, view=CutOffView(world))
    assert (clients.recovered, killed.recovered) == (True, True)
    assert clients.heal_ns > killed.heal_ns
    assert killed.recovered_ns - killed.heal_ns > ns(20)


def test_a_fault_has_not_recovered_while_the_brokers_that_answer_do_not_know_the_topic() -> None:
    """Until 20 s no broker reports orders-0, though some answer. Right: recovered after that."""
    world = World()
    (cut,) = run(world, CUT, view=CutOffView(world, forgets_until_s=20))
    assert cut.recovered
    assert cut.heal_ns < ns(9)
    assert cut.recovered_ns >= ns(20)

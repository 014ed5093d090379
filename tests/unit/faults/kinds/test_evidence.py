"""Every fault is proven by its effect, on a cluster that reacts; on one that does not, none is."""

import json
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import pytest
from fakes.world.fault_steps import run
from fakes.world.fault_world import World

from compose.errors import MeshError, NodeStateError
from compose.protocols import Edge
from faults.clock import ns
from faults.schedule.record import FaultRecord

CUT = {"do": "partition", "edges": "followers -> leader", "for": "3s"}
BLACKHOLE = CUT | {"mode": "blackhole"}
PAUSE = {"do": "pause", "target": "follower", "for": "3s"}
KILL = {"do": "kill", "target": "leader", "for": "3s"}
STOP = {"do": "stop", "target": "leader", "for": "3s"}
STALL = {"do": "disk-stall", "target": "leader", "for": "3s"}
POWER = {"do": "power-loss", "target": "brokers", "for": "1s"}
ALL = (CUT, BLACKHOLE, PAUSE, KILL, STOP, STALL, POWER)


def shown(record: FaultRecord) -> dict[str, object]:
    """The values that prove the effect."""
    effect = json.loads(record.evidence)["effect"]
    assert isinstance(effect, dict)
    return effect


def reason(record: FaultRecord) -> str:
    """Why there is no evidence."""
    return str(json.loads(record.evidence)["reason"])


@pytest.mark.parametrize("words", ALL, ids=lambda words: f"{words['do']} {words.get('mode', '')}")
def test_every_fault_is_proven_and_recovers(words: dict[str, str]) -> None:
    """On a cluster that reacts, effect and recovery are proven, and dated in order."""
    (record,) = run(World(), words)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert ns(5) <= record.inject_ns <= record.effect_ns <= record.heal_ns <= record.recovered_ns
    assert record.inject_ns - ns(5) < ns(0.1)
    assert record.effect_ns - record.inject_ns < ns(1)


@pytest.mark.parametrize(
    ("words", "ignored", "why"),
    [
        (CUT, "cut", "not still for long enough"),
        (BLACKHOLE, "cut", "not still for long enough"),
        (PAUSE, "pause", "states: {'2': 'running'}"),
        (KILL, "kill", "exit codes: {'1': None}"),
        (STOP, "stop", "exit codes: {'1': None}"),
        (STALL, "freeze", "frozen: {'1': False}"),
        (POWER, "kill", "exit codes: {'1': None"),
        (POWER, "drop_unsynced", "unsynced bytes and lost none"),
    ],
)
def test_no_effect_no_evidence(words: dict[str, str], ignored: str, why: str) -> None:
    """Where the call did nothing, the fault stays unproven, with what the probe found instead."""
    (record,) = run(World(ignores={ignored}), words)
    assert not record.proven
    assert record.effect_ns == -1
    assert why in reason(record)


@pytest.mark.parametrize(
    ("words", "ignored", "lacking"),
    [
        (CUT, "mend", "no byte and no answer on 2->1, 3->1"),
        (PAUSE, "unpause", "node 2 is paused"),
        (KILL, "start", "node 1 is exited"),
        (STOP, "start", "node 1 is exited"),
        (STALL, "thaw", "log of node 1 has not grown since the thaw"),
        (POWER, "start", "node 1 is exited"),
    ],
)
def test_no_recovery(words: dict[str, str], ignored: str, lacking: str) -> None:
    """A cluster on which healing did nothing leaves the fault unrecovered a minute later."""
    world = World(ignores={ignored})
    (record,) = run(world, words)
    assert (record.proven, record.recovered, record.recovered_ns) == (True, False, -1)
    assert lacking in str(json.loads(record.evidence)["recovery"])
    assert ns(60) <= world.clock.now_ns() - record.heal_ns < ns(61)


def quieten(world: World, *edges: str) -> None:
    """Nothing is sent over these edges."""
    world.mesh.quiet |= {Edge.parse(edge) for edge in edges}


def test_a_partition_shows_which_bytes_stopped() -> None:
    """The evidence of a cut names the bytes that had passed, in which time, and for how long none did."""
    (record,) = run(World(), CUT)
    assert shown(record) == {
        "bytes_before": {"2->1": 1_000_000, "3->1": 1_000_000},
        "bytes_before_over_s": 1.0,
        "no_byte_for_s": 0.8,
        "answered_before_not_after": [],
    }
    assert record.edges == ("2->1", "3->1")
    assert record.nodes == (1, 2, 3)


def test_a_quiet_edge_is_proven_by_a_probe() -> None:
    """An edge without traffic is probed before and after the cut; an edge in use proves itself."""
    world = World()
    quieten(world, "3->1")
    (record,) = run(world, CUT)
    assert (record.proven, record.recovered) == (True, True)
    assert shown(record)["answered_before_not_after"] == ["3->1"]
    assert list(shown(record)["bytes_before"]) == ["2->1"]  # type: ignore[call-overload]


def test_quiet_edges_that_go_on_answering_are_no_evidence() -> None:
    """If every edge was quiet and still answers after the cut, the cut is not proven."""
    world = World(ignores={"cut"})
    quieten(world, "2->1", "3->1")
    (record,) = run(world, CUT)
    assert not record.proven
    assert "still answering: 2->1, 3->1" in reason(record)


@pytest.mark.parametrize(("late", "proven"), [({1}, False), ({1, 3}, False), ({1, 2}, True)])
def test_one_late_answer_is_no_evidence_of_a_cut_of_quiet_edges(late: set[int], proven: bool) -> None:
    """A busy machine may be late once; that two requests in a row are not answered shows it."""
    world = World(ignores={"cut"})
    quieten(world, "2->1", "3->1")
    probe, during = world.mesh.probe, list[int]()

    def busy(edges: Collection[Edge], *, within_s: float) -> frozenset[Edge]:
        if world.clock.now_ns() >= ns(5):
            during.append(len(during))
        return frozenset() if set(during[-1:]) & late else probe(edges, within_s=within_s)

    world.mesh.probe = busy  # type: ignore[method-assign]
    (record,) = run(world, CUT)
    assert max(during) > max(late)
    assert record.proven is proven, record.evidence


class Reads(World):
    """Each reading of a counter takes 0.4 s; `took` has when it began, and when it ended."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.took: list[tuple[int, int]] = []
        self.mesh.bytes = partial(self._late, self.mesh.bytes)  # type: ignore[method-assign]

    def _late(self, read: Callable[..., Any], *of: Any, **more: Any) -> Any:
        began_ns, found = self.clock.now_ns(), read(*of, **more)
        self.clock.advance(ns(0.4))
        self.took.append((began_ns, self.clock.now_ns()))
        return found

    def cpu_ns(self, node: int) -> int:
        return int(self._late(super().cpu_ns, node))

    def log_bytes(self, node: int, *, log_dir: int | None = None) -> int:
        return int(self._late(super().log_bytes, node, log_dir=log_dir))


@pytest.mark.parametrize(
    ("words", "still"), [(CUT, "no_byte_for_s"), (PAUSE, "no_cpu_for_s"), (STALL, "log_still_for_s")]
)
def test_a_reading_that_takes_long_makes_no_stillness_longer(words: dict[str, str], still: str) -> None:
    """What it shows may be from its beginning: so long it stood still from the end of the first one on."""
    world = Reads()
    (record,) = run(world, words)
    assert record.proven, record.evidence
    during = [times for times in world.took if record.begin_ns <= times[0] < record.end_ns]
    (_, first_ended_ns), (last_began_ns, _) = during[0], during[-1]
    assert shown(record)[still] == (last_began_ns - first_ended_ns) / 1e9


def test_edges_that_were_shut_before_are_no_evidence() -> None:
    """Cutting only what another fault had cut already proves nothing."""
    first, second = run(World(), CUT, CUT | {"after": "previous.begin + 1s", "for": "1s"})
    assert (first.proven, second.proven) == (True, False)
    assert "no byte crossed 2->1, 3->1 before the cut" in reason(second)


def test_a_pause_shows_the_time_that_stood_still() -> None:
    """The evidence of a pause names the CPU time of before, and for how long none was used after."""
    (record,) = run(World(), PAUSE)
    assert shown(record) == {
        "states": {"2": "paused"},
        "cpu_ns_before": {"2": 1_000_000},
        "no_cpu_for_s": 0.8,
    }


def test_a_stall_shows_the_log_that_stood_still() -> None:
    """The evidence of a stall names what the log had grown by, and for how long it did not after."""
    (record,) = run(World(), STALL)
    assert shown(record) == {
        "frozen": [1],
        "log_bytes_grown_before": {"1": 1_000_000},
        "log_bytes_grown_before_over_s": 1.0,
        "log_still_for_s": 0.8,
    }


def test_a_log_that_did_not_grow_before_is_no_evidence() -> None:
    """A log that stood still anyway does not show that the disk is frozen."""
    world = World()
    world.log_bytes = lambda node, *, log_dir=None: 1000  # type: ignore[method-assign]
    (record,) = run(world, STALL)
    assert not record.proven
    assert "the log did not grow before the stall either" in reason(record)


OF_ALL = (
    {"do": "pause"},
    {"do": "pulses", "on": "200ms", "off": "300ms"},
    {"do": "cpu-limit", "cpus": "0.1"},
    {"do": "memory-limit", "memory": "400MiB"},
    {"do": "disk-stall"},
    {"do": "disk-stutter", "on": "500ms", "off": "500ms"},
    {"do": "disk-full"},
    {"do": "clock-skew", "offset": "+5m"},
    {"do": "rolling-restart"},
)


@pytest.mark.parametrize("words", OF_ALL, ids=lambda words: words["do"])
def test_a_target_of_which_one_is_down_is_waited_for_and_then_refused(words: dict[str, str]) -> None:
    """A fault that hits two of three brokers does not count as one of all of them."""
    others = words | {"target": "brokers", "after": "previous.begin + 2s", "for": "6s"}
    kill = KILL | {"name": "kill", "target": "node 3"}
    _, refused = run(World(), kill | {"for": "30s"}, others)
    assert refused.inject_ns == -1
    assert reason(refused).startswith("not injected: cannot ")
    assert reason(refused).endswith(" all of 1+2+3: node 3 is exited, ended by kill, for 5 s")
    killed, late = run(World(), kill | {"for": "4s"}, others)
    assert late.inject_ns >= killed.up_ns[0] > 0


def test_what_ends_nodes_leaves_out_those_that_are_down() -> None:
    down = KILL | {"name": "first", "target": "node 3", "for": "30s"}
    for words in (KILL, STOP, POWER):
        _, other = run(World(), down, words | {"target": "brokers", "after": "previous.begin + 2s"})
        assert (other.proven, other.down) == (True, (1, 2)), other.evidence


def test_cpu_time_that_did_not_rise_before_is_no_evidence() -> None:
    """A node that used no CPU time anyway does not show that it is paused."""
    world = World()
    world.cpu_ns = lambda node: 7  # type: ignore[method-assign]
    (record,) = run(world, PAUSE)
    assert not record.proven
    assert "CPU time did not rise before the pause either" in reason(record)


def test_power_loss_shows_what_is_gone() -> None:
    """The evidence names unsynced and lost bytes of each node, and the record the nodes."""
    world = World()
    (record,) = run(world, POWER)
    lost = shown(record)["lost_log_bytes"]
    assert lost == shown(record)["unsynced_log_bytes_before"]
    assert isinstance(lost, dict)
    assert min(lost.values()) >= 5_000_000
    assert shown(record)["exit_codes"] == {"1": 137, "2": 137, "3": 137}
    assert shown(record)["all_paused_within_s"] == 0.15
    assert (record.data_lost, record.unclean) == ((1, 2, 3), (1, 2, 3))


class Undeleting(World):
    """What node 1 had deleted a moment before is back after the cut, and larger than what it lost."""

    def log_sizes(self, node: int, *, log_dir: int | None = None) -> Mapping[str, int]:
        back = {"old-0/00000000000000000000.log": 1 << 30} if node == 1 and node in self.cut_off else {}
        return back | dict(super().log_sizes(node, log_dir=log_dir))


def test_a_file_that_the_cut_brings_back_hides_no_loss() -> None:
    """A deletion may be as unsynced as a record is."""
    (record,) = run(Undeleting(), POWER)
    assert record.proven, record.evidence
    assert shown(record)["lost_log_bytes"] == shown(record)["unsynced_log_bytes_before"]


def test_controllers_lose_their_power_as_brokers_do() -> None:
    """All of them at one instant; where their metadata log was flushed, they lose nothing."""
    world = World(flushed=True)
    (record,) = run(world, POWER | {"target": "controllers"})
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert (record.down, record.unclean, record.data_lost) == ((101, 102, 103), (101, 102, 103), ())
    assert shown(record)["lost_log_bytes"] == {"101": 0, "102": 0, "103": 0}
    order = [call for call in world.calls if call.split()[0] in ("pause", "drop_unsynced", "kill")]
    assert order == [f"{do} {node}" for do in ("pause", "drop_unsynced", "kill") for node in (101, 102, 103)]


def test_power_loss_of_a_flushed_log_loses_nothing() -> None:
    """Where everything was synced, the fault is proven without a loss, and its record names no lost data."""
    (record,) = run(World(flushed=True), POWER)
    assert record.proven
    assert shown(record)["lost_log_bytes"] == {"1": 0, "2": 0, "3": 0}
    assert (record.data_lost, record.unclean) == ((), (1, 2, 3))


def test_a_power_cut_that_reached_one_node_less_is_not_proven_by_the_kills() -> None:
    """Where everything was synced, only a file system that failed tells a power cut from a kill."""
    world = World(flushed=True)
    cut = world.drop_unsynced
    world.drop_unsynced = lambda node: () if node == 2 else cut(node)  # type: ignore[method-assign]
    (record,) = run(world, POWER)
    assert (record.proven, record.recovered, record.down) == (False, True, (1, 2, 3)), record.evidence
    assert "node 2: no file system is known to have failed a read" in reason(record)


def test_power_loss_shows_how_each_file_system_failed() -> None:
    (record,) = run(World(flushed=True), POWER)
    error = ["Input/output error"]
    assert shown(record)["reads_failed_with"] == {"1": error, "2": error, "3": error}


def test_lost_data_counts_without_proof() -> None:
    """If the nodes do not die, the cut is unproven, but the contract learns whose data it may have taken."""
    (record,) = run(World(ignores={"kill"}), POWER)
    assert (record.proven, record.data_lost) == (False, (1, 2, 3))


def test_no_node_is_started_on_a_disk_that_is_still_cut_off() -> None:
    """A dead file system may linger where it is mounted; healing waits until it is gone."""
    world = World(lingers_ns=ns(2.5))
    (record,) = run(world, POWER)
    assert (record.proven, record.recovered) == (True, True)
    assert record.heal_ns - record.inject_ns > ns(2.5)


def test_power_is_cut_from_all_nodes_at_one_instant() -> None:
    """All nodes are paused before any loses data, and all have lost data before any is killed."""
    world = World()
    run(world, POWER)
    order = [call for call in world.calls if call.split()[0] in ("pause", "drop_unsynced", "kill", "start")]
    assert order == [
        f"{do} {node}" for do in ("pause", "drop_unsynced", "kill", "start") for node in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("words", "unclean"), [(KILL, (1,)), (STOP, ()), (POWER, (1, 2, 3)), (PAUSE, ()), (STALL, ()), (CUT, ())]
)
def test_which_faults_end_a_node_uncleanly(words: dict[str, str], unclean: tuple[int, ...]) -> None:
    """Only a kill and a power cut end a node uncleanly."""
    (record,) = run(World(), words)
    assert record.unclean == unclean


def test_a_node_that_does_not_stop_is_killed() -> None:
    """A stop that takes too long ends in a kill: unproven as a stop, and an unclean shutdown."""
    world = World(failing={"stop": [NodeStateError("node 1 still runs 30 s after SIGTERM")]})
    (record,) = run(world, STOP)
    assert (record.proven, record.recovered, record.unclean) == (False, True, (1,))
    assert "exit codes: {'1': 137}" in reason(record)


@pytest.mark.parametrize("words", [KILL, STOP, POWER | {"target": "leader"}])
def test_the_edges_to_a_dead_node_are_closed(words: dict[str, str]) -> None:
    """Every edge to the node, the clients' too, closes with it, and opens after it was started.

    Before its death, where a proxy would else hang dialling the dead; but a node that stops in order needs
    its edges until then.
    """
    world = World()
    run(world, words | {"name": "it"})
    to_1 = [f"{source}->1" for source in ("client", 2, 3)]
    cuts = [f"cut {edge} refuse it" for edge in to_1]
    end = ["stop 1", *cuts] if words is STOP else [*cuts, "kill 1"]
    assert world.calls[-9:] == [*end, "log_ends 1", "start 1", *(f"mend {edge} it" for edge in to_1)]


@pytest.mark.parametrize("words", [KILL, STOP])
def test_a_node_is_up_from_its_first_start_however_often_its_edges_are_opened(words: dict[str, str]) -> None:
    """A healing that fails after the start is tried again, a second later."""
    world = World(failing={"mend": [MeshError("the proxy is busy")]})
    (record,) = run(world, words)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert record.up_ns[0] < record.heal_ns - ns(0.9)


def test_a_pause_closes_no_edge() -> None:
    """A paused node goes on where it was: its connections hang, as they would."""
    world = World()
    run(world, PAUSE)
    assert not [call for call in world.calls if call.startswith("cut")]


def test_recovery_waits_for_the_isr() -> None:
    """A restarted node has recovered when it is in sync again, not when it runs."""
    (record,) = run(World(rejoin_ns=ns(20)), KILL)
    assert record.recovered
    assert record.recovered_ns - record.heal_ns > ns(20)


def test_the_isr_need_not_become_better_than_it_was() -> None:
    """A replica that was out of sync before the fault is not waited for after it."""
    world = World()
    cut_off = {"do": "partition", "edges": "3 -> 1", "for": "40s"}
    _, pause = run(world, cut_off, PAUSE | {"target": "node 2", "after": "previous.begin + 5s"})
    assert pause.recovered
    assert pause.recovered_ns - pause.heal_ns < ns(5)

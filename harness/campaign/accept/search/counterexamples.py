"""A schedule that the search has found, as a scenario: what the simulated Kafka did, a real one is asked to
do.
"""

from checkers.promises.search import Goal, Schedule, in_words
from checkers.promises.search.schedules import FIRST_S, HELD_S, Kind, at_once, begins_s
from harness.campaign.accept.proofs import MISSED_S
from harness.campaign.accept.scenarios import DEPOSED_TAIL_S, ONE_IN_FLIGHT, TAIL_S, Setup, Step, duration
from harness.scenario.model import Scenario

BROKERS = 3
"""The model has so many, and the partitions of the topic are spread over them alike."""
BEGINS_S = 6.0
"""When brokers that have just started serve the whole load."""
STANDS_STILL_S = 2.0
"""Shorter than the session of a broker: it still leads when it ends."""
ENDS = frozenset({Kind.POWER_LOSS, Kind.KILL, Kind.DISK_LOSS})
"""Without a word to anybody."""


def counterexample(its: Setup, goal: Goal, schedule: Schedule) -> Scenario:
    """The scenario; a loss must be there and be permitted, or writes must stop for so long. Where it is not,
    the verdict is UNKNOWN: the cluster keeps more than the simulated one.
    """
    unavailable = goal == "unavailability"
    return its.scenario(
        f"search-{goal}",
        f"Found on the simulated Kafka: {in_words(schedule)}.",
        steps(its, goal, schedule),
        brokers=BROKERS,
        loss="any" if unavailable else "permitted",
        require=[stops_writes(its)] if unavailable else [],
        client=ONE_IN_FLIGHT,
        tail_s=DEPOSED_TAIL_S if any(fault.kind is Kind.DEPOSED for fault in schedule) else TAIL_S,
    )


def stops_writes(its: Setup) -> str:
    """The line that a run fulfils whose writes waited for more than a fail-over, as on the model."""
    return f"unavailable.max >= {duration(its.times.fail_over_s + MISSED_S / 2)}"


def steps(its: Setup, goal: Goal, schedule: Schedule) -> list[Step]:
    """The faults of a schedule; all are healed at the same time, as on the model. With acks=0 who is to lose
    something stands still before it ends: of a bare kill it is a matter of luck whether anything is on its
    way.
    """
    pauses = goal == "loss" and its.configuration.producer.acks == "0"
    ends_s = begins_s(schedule)[-1] + its.times.fail_over_s + HELD_S
    found: list[tuple[float, Step]] = []
    for place, ((kind, at_s), nodes) in enumerate(at_once(schedule), start=1):
        begins = at_s - FIRST_S + BEGINS_S + STANDS_STILL_S * pauses
        fault = {**_what(kind, nodes), "for": duration(ends_s - at_s)}
        found.append((begins, {"name": f"fault-{place}", "at": duration(begins), **fault}))
        if pauses and kind in ENDS:
            pause = {"do": "pause", "target": _who(nodes), "for": duration(STANDS_STILL_S + 3)}
            since = begins - STANDS_STILL_S
            found.append((since, {"name": f"pause-{place}", "at": duration(since), **pause}))
    return [step for _, step in sorted(found, key=lambda each: each[0])]


def _who(nodes: tuple[int, ...]) -> str:
    return f"node {nodes[0]}" if len(nodes) == 1 else "+".join(map(str, nodes))


def _what(kind: Kind, nodes: tuple[int, ...]) -> dict[str, str]:
    who = _who(nodes)
    cut = {"do": "partition", "mode": "refuse"}
    match kind:
        case Kind.POWER_LOSS:
            return {"do": "power-loss", "target": who}
        case Kind.KILL:
            return {"do": "kill", "target": who}
        case Kind.STOP:
            return {"do": "stop", "target": who}
        case Kind.DISK_LOSS:
            return {"do": "disk-wipe", "target": who, "disk": "emptied"}
        case Kind.BEHIND:
            return {**cut, "edges": f"{who} -> brokers"}
        case Kind.ALONE:
            return {**cut, "edges": f"brokers -> {who}"}
        case Kind.DEPOSED:
            return {**cut, "edges": f"{who} -> controllers, {who} <-> brokers"}

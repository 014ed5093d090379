"""How long the load of a scenario lasts, and what it needs: volumes, room on the machine.

A broker has a volume for each of its log directories. A replica lies in one of them, and Kafka puts a new one
where there are fewest, so that the load spreads by whole replicas.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compose.spec.topology import Topology
from faults.durations import parse_duration
from faults.kinds.fault.step import After, At, Step, TargetStep, When
from faults.targets.moments import Combined, StepMoment, time_of
from harness.scenario.model import Scenario, topology_of

GIB = 1 << 30
BESIDE_THE_VALUE = 100
"""Bytes of a record on disk, beside its value: its own head and key, and a share of its batch's 61 bytes that
is all of them where a batch has one record."""
SPARE = 1.25
"""Of a volume, for indexes, the metadata log, and the file system itself."""
MOST_VOLUME_BYTES = 1 << 44
"""16 TiB: the largest file of ext4, in which a node's file system is kept."""

LONGEST_LOAD_S = 365 * 86_400.0
"""A year."""
RECORDED_BYTES = 1000
"""Of a record in the journals of a run and in its history, which for a moment are both there."""

MOST_LATE_S = 600.0
"""Beyond twice its plan no load lasts longer than this: a warm-up, recoveries, restarts one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLength:
    """How long a load lasts: `planned_s` if each step begins when it is due, as every event comes at once;
    `longest_s` if every event comes at the last moment; `most_s` whatever holds the run up.

    Volumes and room are planned for the longest. For the most they would be many times too large: of a
    schedule of half a minute it is eleven.
    """

    planned_s: float
    longest_s: float
    most_s: float


def load_length(scenario: Scenario, steps: Sequence[Step]) -> LoadLength:
    """As long as is asked for, as the `steps` of the schedule take, and as a storm takes that they are of."""
    planned_s, longest_s = (
        max(schedule_s(steps, scenario, waits=waits), _storm_s(scenario)) for waits in (False, True)
    )
    waits_s = sum(step.start.within_s for step in steps if isinstance(step.start, When))
    most_s = 2 * planned_s + waits_s + MOST_LATE_S
    return LoadLength(planned_s=planned_s, longest_s=longest_s, most_s=max(longest_s, most_s))


def schedule_s(steps: Sequence[Step], scenario: Scenario, *, waits: bool = False) -> float:
    """About how long a schedule takes, if steps begin when they are due, and take no longer than they pause
    and hold; with `waits` each event comes as late as it is waited for, and else at once."""
    topology = topology_of(scenario.cluster)
    begins: dict[str, float] = {}
    ends: dict[str, float] = {}
    last_s = 0.0

    def moment_s(moment: StepMoment) -> float:
        return (begins if moment.moment == "begin" else ends)[moment.step]

    for step in steps:
        match step.start:
            case At(offset_s=offset_s, once=once):
                last_s = max([offset_s, *(ends[name] for name in once)])
            case After(of=of, delay_s=delay_s, once=once):
                last_s = max([time_of(of, moment_s) + delay_s, *(ends[name] for name in once)])
            case When(since=StepMoment() | Combined() as since):
                last_s = time_of(since, moment_s)
            case When(since=str()):
                last_s = 0.0
            case When():
                pass  # with the step before, at the earliest
        if waits and isinstance(step.start, When):
            last_s += step.start.within_s
        last_s += step.pauses_s(_hit(step, topology))
        begins[step.name], ends[step.name] = last_s, last_s + step.hold_s
    tail_s = scenario.workload.tail_s if steps else 0.0
    return max(scenario.workload.lasts_s, max(ends.values(), default=0.0) + tail_s)


def _hit(step: Step, topology: Topology) -> int:
    """How many nodes a step hits, at least: a role that moves may be that of one."""
    moves = isinstance(step, TargetStep) and step.target.moves
    return 1 if moves else len(step.candidates(topology.broker_ids, topology.controller_ids))


def _storm_s(scenario: Scenario) -> float:
    """With the load that goes on after it."""
    if scenario.storm is None:
        return 0.0
    return parse_duration(scenario.storm.get("duration"), "duration") + scenario.workload.tail_s


def volume_bytes(scenario: Scenario, load_s: float) -> int:
    """The size of each volume: as it is asked for, else the default; more for a long schedule."""
    cluster, written = scenario.cluster, _written_bytes(scenario, load_s)
    has_schedule = scenario.storm is not None or bool(scenario.faults)
    if "volume" in cluster.model_fields_set or written is None or not has_schedule:
        return cluster.volume
    needed = -(-int(written * fullest_share(scenario) * SPARE) // GIB) * GIB
    return min(max(cluster.volume, needed), MOST_VOLUME_BYTES)


def volume_count(scenario: Scenario) -> int:
    """How many volumes the brokers have."""
    return scenario.cluster.brokers * scenario.cluster.log_dirs


def fullest_share(scenario: Scenario) -> float:
    """The share of the load, with its replicas, that the fullest volume gets at least: partitions get as much
    as each other, and some volume has as many replicas as the mean, rounded up."""
    replicas = sum(topic.partitions * topic.replication for topic in scenario.topics)
    return math.ceil(replicas / volume_count(scenario)) / replicas


def replicated_bytes(scenario: Scenario, load_s: float) -> int | None:
    """What the load writes to all volumes together, which hold no more; None as fast as it goes."""
    written = _written_bytes(scenario, load_s)
    room = volume_bytes(scenario, load_s) * volume_count(scenario)
    return None if written is None else min(int(written), room)


def recorded_bytes(scenario: Scenario, load_s: float) -> int | None:
    """What is written down of the load, in the run's directory; None as fast as it goes."""
    rate = scenario.workload.rate
    return None if rate is None else int(rate * load_s * RECORDED_BYTES)


def _written_bytes(scenario: Scenario, load_s: float) -> float | None:
    """With all replicas."""
    load = scenario.workload
    if load.rate is None:
        return None
    return load.rate * load_s * (load.record + BESIDE_THE_VALUE) * copies(scenario)


def copies(scenario: Scenario) -> float:
    """Replicas of a record, of all partitions alike."""
    partitions = sum(topic.partitions for topic in scenario.topics)
    return sum(topic.partitions * topic.replication for topic in scenario.topics) / partitions

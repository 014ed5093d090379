"""The metrics by name: what each counts, in which unit, and whether an acceptance line may bound it.

What the clients got is accepted or not. All else is evidence of what happened to the cluster, which a busy
machine may have kept from happening: such a number fails no run, and only a required line may bound it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from checkers.verdict.exposure.gaps import SECOND_NS

Unit = Literal["duration", "number"]
ERRORS = "errors."
"""Before the name of an error: how many sends ended with it, as errors.NOT_ENOUGH_REPLICAS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number of a run. The least value of each is 0; a duration is in seconds.

    `of_clients`: an acceptance line may bound it. `whole`: it has no fractions.
    """

    name: str
    says: str
    unit: Unit = "number"
    whole: bool = True
    greatest: float = math.inf
    of_clients: bool = False

    def with_unit(self, value: float) -> str:
        """`value` as a person reads it: "20 s", "0.04"."""
        return f"{value:.3g} s" if self.unit == "duration" else f"{value:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The value of a metric in one run; None if the run does not show it, and why. `where` has it, if one
    partition does."""

    value: float | None
    where: str = ""
    unknown: str = ""


def _ratio(name: str, says: str) -> Metric:
    return Metric(name=name, says=says, whole=False, greatest=1.0, of_clients=True)


def _longest(name: str, says: str, *, of_clients: bool = False) -> Metric:
    return Metric(name=name, says=says, unit="duration", whole=False, of_clients=of_clients)


_ALL = (
    _longest(
        "unavailable.max",
        "the longest time that a partition went without an acknowledgement while there was load",
        of_clients=True,
    ),
    _longest(
        "resumed.max",
        "the longest time that a partition went without an acknowledgement after the last fault had "
        "recovered, until its next one or the end of the load",
        of_clients=True,
    ),
    _ratio("indeterminate.ratio", "sends of which nobody knows whether they were written, of all sends"),
    _ratio("failed.ratio", "sends that were certainly not written, of all sends"),
    Metric(name="acked.count", says="acknowledged sends", of_clients=True),
    Metric(name="acked.partitions", says="partitions with an acknowledgement"),
    Metric(
        name="elections.max",
        says="elections of the partition that had the most, its first leader not counted: each new leader "
        "epoch with a leader, also with the same one, as when a reassignment takes a replica away",
    ),
    Metric(
        name="leaders.moved",
        says="times that another broker led a partition than the last one that had led it, of the partition "
        "with the most",
    ),
    _longest("elections.apart", "the shortest time between two elections of one partition"),
    Metric(name="elections.unclean", says="elections of a leader that was neither in sync nor eligible"),
    Metric(name="elections.elr", says="elections from the eligible leader replicas (KIP-966)"),
    Metric(
        name="elections.last-known",
        says="elections of the last known leader, when nobody was in sync or eligible (KIP-966)",
    ),
    _longest("offline.max", "the longest time that a partition had no leader"),
    _longest(
        "zombie.max", "the longest time that a deposed leader still answered as leader beside its successor"
    ),
    Metric(
        name="zombie.appended",
        says="offsets that a deposed leader appended beside its successor, of the one with the most: with "
        "acks=1 it acknowledged them",
    ),
    Metric(
        name="zombie.committed",
        says="offsets by which a deposed leader moved its high watermark beside its successor, of the one "
        "with the most: with acks=all it acknowledged them",
    ),
    Metric(
        name="unreplicated.at-election",
        says="offsets by which a leader's log went beyond its high watermark when it was last measured, of "
        "those that another broker replaced, of the partition with the most",
    ),
    Metric(
        name="alone.committed",
        says="offsets by which a leader moved its high watermark while it was the only in-sync replica, of "
        "the one with the most: no other replica had to have them",
    ),
    _longest(
        "watermark.stalled",
        "the longest time that a leader's high watermark stood still below what every in-sync replica had, "
        "and no fewer than min.insync.replicas were in sync",
    ),
    Metric(name="isr.min", says="the fewest in-sync replicas that a partition had at any time"),
    Metric(name="isr.shrinks", says="times that an ISR shrank, of the partition with the most"),
    Metric(name="isr.expands", says="times that an ISR grew, of the partition with the most"),
    Metric(
        name="replicas.changes",
        says="times that a partition got other replicas, of the partition with the most",
    ),
    _longest(
        "metadata.silent",
        "the longest time in which nothing was committed to the metadata log, to which an active controller "
        "with a majority writes every half second",
    ),
    Metric(name="brokers.fenced", says="fencings of brokers that were not shutting down"),
    Metric(name="brokers.restarted", says="brokers that registered again, under a new broker epoch"),
    Metric(name="nodes.new-release", says="nodes that ran more than one Kafka release, by their own logs"),
    Metric(name="metadata.versions", says="levels at which metadata.version was finalized"),
    Metric(
        name="log-dirs.offline",
        says="log directories that the controllers took for offline while their broker went on (KIP-858)",
    ),
    Metric(
        name="data-lost.brokers",
        says="brokers whose disk lost data to a fault",
    ),
    _longest("clocks.apart", "how far a node's own clock was off the others', ahead or behind"),
    Metric(
        name="log-start.moved",
        says="offsets by which the log start moved up, of the partition with the most",
    ),
    Metric(
        name="reads.lost",
        says="records that a reader was given and that the final log does not have at their offset",
    ),
    Metric(name="transactions.committed", says="transactions that a coordinator has committed"),
    Metric(name="transactions.aborted", says="transactions that a coordinator has aborted"),
    Metric(
        name="transactions.interrupted",
        says="transactions that had begun before a fault took effect, and ended after it, by their clients",
    ),
    Metric(
        name="fencings",
        says="producers that another instance of their transactional id had replaced, and that were told so",
    ),
    Metric(
        name="coordinators.moved",
        says="times that a broker lost transactional ids of the load to other coordinators: several within "
        "2 s are once",
    ),
)
METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _ALL})


def in_seconds(length_ns: int) -> float:
    """The value of a duration, to the millisecond."""
    return round(length_ns / SECOND_NS, 3)


def metric_of(name: str) -> Metric | None:
    """The metric of this name; None if there is none. Whether a client knows an error is not asked here."""
    if name.startswith(ERRORS) and name != ERRORS:
        return Metric(name=name, says=f"sends that ended with {name.removeprefix(ERRORS)}")
    return METRICS.get(name)

"""What the metrics are on the simulated Kafka, and which lines of a scenario hold there."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from checkers.contract.timeline import Clock, Timeline
from checkers.damage import write
from checkers.history.load import load_context
from checkers.history.tables import REPLICA_BATCHES
from checkers.model import Simulated
from checkers.model.observe.clock import ORIGIN_MS, ORIGIN_NS
from checkers.reference import check
from checkers.verdict.exposure import measure
from checkers.verdict.metrics.measure import Metrics
from checkers.verdict.metrics.metric import Measured
from fakes.run.rehearsal import RECORDS_A_SECOND
from harness.scenario.acceptance import parse_required

CONTROLLERS = (101, 102, 103)
OF_THE_LOAD = ("unreplicated.at-election", "alone.committed", "zombie.appended", "reads.lost")
"""Metrics that count records."""
RATE = 2000.0
"""Records a second that the scenarios send."""


def missed(lines: Sequence[str], simulated: Simulated, folder: Path) -> list[str]:
    """The lines that do not hold in a simulated run, with what was measured."""
    its = metrics(simulated, folder)
    bounds = [parse_required(line) for line in lines]
    values = [(bound, at_rate(its.measured(bound.metric.name), bound.metric.name)) for bound in bounds]
    return [f"{bound.text}: {value}" for bound, value in values if value is None or not bound.holds(value)]


def metrics(simulated: Simulated, folder: Path) -> Metrics:
    """Of the whole history but the batches on the disks, which no metric looks at. The load ends with the
    last send."""
    its = simulated.history
    its = replace(its, collected=its.collected - {REPLICA_BATCHES}, replica_batches=())
    write(its, folder / "history", plain=True)
    context = load_context(folder / "history")
    load_ended_ns = max(send.invoked_ns for send in its.sends)
    clock = Clock(monotonic_ns=ORIGIN_NS, wall_ns=ORIGIN_MS * 1_000_000)
    return Metrics(
        history=folder / "history",
        context=context,
        timeline=Timeline(context, clock),
        exposure=measure(folder / "history", context, load_ended_ns, CONTROLLERS),
        judgement=check(its),
        load_ended_ns=load_ended_ns,
    )


def at_rate(measured: Measured, name: str) -> float | None:
    """What it would be at the rate of the scenarios, of what is as much as was sent meanwhile."""
    if measured.value is None or name not in OF_THE_LOAD:
        return measured.value
    return measured.value * RATE / RECORDS_A_SECOND

"""What the metrics are on the simulated Kafka, and which lines of a scenario hold there."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from checkers.contract.realised.timeline import Clock, Timeline
from checkers.damage import write
from checkers.history.clocks.true_times import on_engines_clock
from checkers.history.columnar import Rows, table_of
from checkers.history.load import SAMPLES
from checkers.history.rows import ROW_OF, History
from checkers.history.tables import REPLICA_BATCHES
from checkers.model import Simulated
from checkers.model.observe.clock import ORIGIN_MS, ORIGIN_NS
from checkers.reference import check
from checkers.verdict.metrics.measure import Metrics
from checkers.verdict.metrics.metric import ERRORS, Measured
from fakes.run.rehearsal import RECORDS_A_SECOND
from harness.scenario.acceptance import parse_required
from spark_verify.selftest.model_fuzz.verdict_of import exposure_of

CONTROLLERS = (101, 102, 103)
OF_THE_LOAD = ("unreplicated.at-election", "alone.committed", "zombie.appended", "reads.lost")
"""Metrics that count records."""
OF_A_JUDGEMENT = "reads.lost"
"""The metric that counts what a rule has found."""
RATE = 2000.0
"""Records a second that the scenarios send."""


def missed(lines: Sequence[str], simulated: Simulated, folder: Path) -> list[str]:
    """The lines that do not hold in a simulated run, with what was measured."""
    bounds = [parse_required(line) for line in lines]
    its = metrics(simulated, folder, [bound.metric.name for bound in bounds])
    values = [(bound, at_rate(its.measured(bound.metric.name), bound.metric.name)) for bound in bounds]
    return [f"{bound.text}: {value}" for bound, value in values if value is None or not bound.holds(value)]


def metrics(simulated: Simulated, folder: Path, names: Collection[str]) -> Metrics:
    """Those of these names, of the rows in memory. Only what is read from the files needs any, and only what
    needs a judgement has one: without it, who asks raises. The load ends with the last send."""
    its = simulated.history
    if any(name.startswith(ERRORS) for name in names):
        its = replace(its, collected=its.collected - {REPLICA_BATCHES}, replica_batches=())
        write(its, folder / "history", plain=True)
    context = on_engines_clock(replace(its, **{table: _columns(table, its) for table in SAMPLES}))
    load_ended_ns = max(send.invoked_ns for send in its.sends)
    clock = Clock(monotonic_ns=ORIGIN_NS, wall_ns=ORIGIN_MS * 1_000_000)
    return Metrics(
        history=folder / "history",
        context=context,
        timeline=Timeline(context, clock),
        exposure=exposure_of(context, load_ended_ns, CONTROLLERS),
        judgement=check(its) if OF_A_JUDGEMENT in names else None,
        load_ended_ns=load_ended_ns,
    )


def _columns(table: str, history: History) -> Rows[Any]:
    """Samples stay in columns, as when they are read from a file."""
    return Rows(table_of(table, getattr(history, table)), ROW_OF[table])


def at_rate(measured: Measured, name: str) -> float | None:
    """What it would be at the rate of the scenarios, of what is as much as was sent meanwhile."""
    if measured.value is None or name not in OF_THE_LOAD:
        return measured.value
    return measured.value * RATE / RECORDS_A_SECOND

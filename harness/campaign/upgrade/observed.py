"""What the run of a phase has shown, from its directory alone: without Docker, and without Spark."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checkers.contract.realised.settings import clock_of_nodes
from checkers.contract.realised.timeline import Timeline
from checkers.errors import CheckersError
from checkers.history.load import load_context
from checkers.history.rows import Context, Fault
from checkers.history.tables import NONE
from checkers.verdict.exposure.exposure import read_sends
from checkers.verdict.metrics.releases import metadata_levels, releases_by_node
from faults.kinds.admin.features.finalize import FinalizeStep
from faults.kinds.admin.features.refused_downgrade import RefusedDowngradeStep
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from harness.campaign.suites.files.record import RunRow
from harness.campaign.upgrade.periods import periods
from harness.campaign.upgrade.record import ObservedRow, RollRow
from harness.errors import HistoryError
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import read_manifest


def observed(directory: Path, row: RunRow) -> ObservedRow | None:
    """Of a run of the suite in `directory`; None of one that has no verdict.

    The verdict is that of the run. A history that cannot be read leaves out the rest, and says why.
    """
    if row.verdict is None:
        return None
    its = ObservedRow(verdict=row.verdict, outcome=row.outcome, directory=row.directory)
    try:
        return _with_history(its, RunDir(path=directory / row.directory))
    except (HistoryError, CheckersError) as error:
        return its.model_copy(update={"unread": str(error)})


def _with_history(its: ObservedRow, run: RunDir) -> ObservedRow:
    manifest, context = read_manifest(run), load_context(run.history)
    clock = clock_of_nodes(context.clocks, manifest.clock.monotonic_ns, manifest.clock.wall_ns)
    acks = {tp: read_sends(run.history, tp).acks for tp in context.partitions}
    ended_ns = NONE if manifest.load_ended_ns is None else manifest.load_ended_ns
    return ObservedRow(
        verdict=its.verdict,
        outcome=its.outcome,
        directory=its.directory,
        releases=releases_by_node(context),
        metadata_levels=metadata_levels(context),
        rolls=tuple(
            RollRow(
                step=fault.name,
                release=effect["release"],
                nodes=tuple(effect["order"]),
                took_s=effect["took_s"],
            )
            for fault, effect in _proven(context, RollingUpgradeStep.kind)
        ),
        finalized={
            feature: (before, now)
            for _, effect in _proven(context, FinalizeStep.kind)
            for feature, (before, now) in effect["levels"].items()
        },
        refusals=tuple(effect["refused"] for _, effect in _proven(context, RefusedDowngradeStep.kind)),
        periods=periods(context, acks, Timeline(context, clock), ended_ns),
    )


def _proven(context: Context, kind: str) -> Iterator[tuple[Fault, Mapping[str, Any]]]:
    """The steps of a kind of which the effect is proven, with the values that prove it."""
    for fault in context.faults:
        if fault.kind == kind and fault.proven:
            yield fault, json.loads(fault.evidence)["effect"]

"""An upgrade from two releases to the answer, in call order: phases, runs, what they have shown.

    pair_of(older, newer)       refuses what cannot be, before anything starts
    phases_of(pair)             what is to be shown, and the scenario that shows it
    planned(…)                  a suite of the runs
    concluded(directory, …)     once the suite has been run: upgrade.json and upgrade.md

The runs are those of a suite, so they can be interrupted, and are resumed from the directory.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from harness.campaign.suites.directory import Suite
from harness.campaign.suites.files.record import RunRow, SuiteRecord
from harness.campaign.suites.made import judged_entries, suite_of
from harness.campaign.upgrade.observed import observed
from harness.campaign.upgrade.page import write_page
from harness.campaign.upgrade.pair import Pair
from harness.campaign.upgrade.phases import Phase, left_out, phases_of, rolled
from harness.campaign.upgrade.record import PhaseRow, UpgradeRecord, read_upgrade, write_upgrade
from harness.errors import UsageError
from harness.scenario.resolve import resolve, scenario_text
from harness.scenario.text.positions import place_of


def planned(
    pair: Pair,
    *,
    only: Sequence[str] = (),
    sets: Sequence[str] = (),
    out: Path,
    seed: int | None,
    budget_s: float,
) -> Suite:
    """A directory with the suite of the runs, their scenario files and upgrade.json.

    `only` are names of phases, none for all; `sets` are assignments for every scenario. Raises UsageError,
    ScenarioError.
    """
    phases = [_of_cluster(pair, phase, sets) for phase in phases_of(pair, only)]
    suite = suite_of(
        pair.slug, [each.scenario for each in phases], sets=sets, out=out, seed=seed, budget_s=budget_s
    )
    rows = [PhaseRow(phase=each.name, expects=each.expects, entry=place) for place, each in enumerate(phases)]
    record = UpgradeRecord(
        tool_version=version("highwater"),
        older=pair.older,
        newer=pair.newer,
        levels=pair.levels,
        phases=tuple(rows),
        left_out=left_out(pair, only),
    )
    write_upgrade(suite.path, record)
    return suite


def _of_cluster(pair: Pair, phase: Phase, sets: Sequence[str]) -> Phase:
    """The phase on the cluster that the assignments make. UsageError if one of them changes what only the two
    releases decide, by whatever key, or gives all phases one name.
    """
    name = phase.scenario.name
    asked, given = (
        resolve(scenario_text(phase.scenario), f"{name}.yaml", sets=each, seed=0) for each in ((), sets)
    )
    assigned = " ".join(place_of(text) for text in sets)
    before, after = asked.topology, given.topology
    if (after.kafka, after.every_release) != (before.kafka, before.every_release):
        raise UsageError(f"upgrade: {assigned}: the releases are {pair.older} and {pair.newer}")
    if given.scenario.name != name:
        raise UsageError(f"upgrade: {assigned}: each phase has a name of its own, as {name}")
    return rolled(phase, len(after.nodes))


def concluded(directory: Path, suite: SuiteRecord) -> UpgradeRecord:
    """The record with what the runs of the suite have shown, written, and the page. Raises RunDirectoryError,
    HistoryError.
    """
    record, judged = read_upgrade(directory), judged_entries(suite)
    phases = tuple(_with_run(directory, row, judged.get(row.entry)) for row in record.phases)
    record = record.model_copy(update={"phases": phases})
    write_upgrade(directory, record)
    write_page(directory, record)
    return record


def _with_run(directory: Path, row: PhaseRow, run: RunRow | None) -> PhaseRow:
    return row if run is None else row.model_copy(update={"observed": observed(directory, run)})

"""A suite that was made for something: its scenarios are files beside its runs, and so is what it is for.

As an acceptance, a matrix, or an upgrade. It can be interrupted and resumed like any other suite; what it is
for is a record of its own, in a file beside suite.json.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.campaign.suites.directory import Suite, create
from harness.campaign.suites.draw import Shard
from harness.campaign.suites.files.record import RunRow, Source, SuiteRecord
from harness.campaign.suites.fresh_topics import names_too_long
from harness.campaign.suites.plan import Entry, SuitePlan
from harness.errors import ScenarioError
from harness.run_directory.layout import write_whole
from harness.scenario.model import Scenario
from harness.scenario.resolve import resolve, scenario_text

SCENARIOS = "scenarios"
"""The directory of the scenario files, below the suite's."""


def suite_of(
    name: str,
    scenarios: Sequence[Scenario],
    *,
    sets: Sequence[str] = (),
    out: Path,
    seed: int | None,
    budget_s: float,
) -> Suite:
    """A new suite that makes one run of each scenario; the files are beside its runs. ScenarioError.

    `sets` are assignments for each of them, as in workload.acks=1.
    """
    texts = [scenario_text(scenario) for scenario in scenarios]
    names = [f"{scenario.name}.yaml" for scenario in scenarios]
    for text, filename in zip(texts, names, strict=True):
        resolved = resolve(text, filename, sets=sets, seed=0)
        if found := [f"{filename}: {each}" for each in names_too_long(resolved.scenario)]:
            raise ScenarioError(found)
    entries = [
        Entry(scenario=f"{SCENARIOS}/{filename}", set=list(sets), at_least=1, at_most=1) for filename in names
    ]
    suite = create(
        SuitePlan(name=name, scenarios=entries),
        budget_s=budget_s,
        seed=seed,
        shard=Shard(),
        out=out,
        sources=[Source(filename=each, text=text) for each, text in zip(names, texts, strict=True)],
    )
    (suite.path / SCENARIOS).mkdir()
    for text, filename in zip(texts, names, strict=True):
        write_whole(suite.path / SCENARIOS / filename, text)
    return suite


def judged_entries(suite: SuiteRecord) -> Mapping[int, RunRow]:
    """The runs that are done, by the place of their scenario in the suite."""
    return {row.entry: row for row in suite.runs if row.state == "judged"}

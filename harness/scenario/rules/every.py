"""What a scenario cannot have: each contradiction at its place, before anything starts."""

from collections.abc import Iterable, Sequence

from harness.scenario.model import Scenario
from harness.scenario.rules.bounds import deadlines, evidence, lines
from harness.scenario.rules.client import client, client_settings
from harness.scenario.rules.cluster import cluster, release
from harness.scenario.rules.contradiction import Contradiction, Rule
from harness.scenario.rules.settings import deletion, settings
from harness.scenario.rules.sizes import batches, retention_outlasts_the_load, volumes, warm_up
from harness.scenario.rules.topics import topics
from harness.scenario.rules.transactions import transactions
from harness.scenario.rules.workload import schedule, workload
from harness.scenario.text.positions import Path

STAGES: Sequence[Sequence[Rule]] = (
    (topics, cluster, release, deletion, workload, client_settings, deadlines, lines, schedule),
    (settings, evidence, transactions),
    (batches, volumes, warm_up, retention_outlasts_the_load),
    (client,),
)
"""Each stage reads what the ones before have found to be well formed. The client library is asked last."""


def contradictions(scenario: Scenario) -> Sequence[Contradiction]:
    """All that the first stage with a contradiction finds; at most one for each value."""
    for rules in STAGES:
        if found := _first_of_each_place(each for rule in rules for each in rule(scenario)):
            return found
    return ()


def _first_of_each_place(found: Iterable[Contradiction]) -> Sequence[Contradiction]:
    of_place: dict[Path, Contradiction] = {}
    for each in found:
        of_place.setdefault(each.path, each)
    return tuple(of_place.values())

"""What a scenario cannot have: each contradiction at its place, before anything starts."""

from collections.abc import Iterable, Sequence

from harness.scenario.load.load_size import LoadLength
from harness.scenario.model import Scenario
from harness.scenario.rules.bounds import causes, counts, deadlines, durations, evidence, lines, subjects
from harness.scenario.rules.client import client, client_settings
from harness.scenario.rules.cluster import cluster, release
from harness.scenario.rules.contradiction import Contradiction, LoadRule, Rule
from harness.scenario.rules.settings import deletion, retention, settings, start
from harness.scenario.rules.sizes import batches, retention_outlasts_the_load, too_long, volumes, warm_up
from harness.scenario.rules.topics import in_sync, topics
from harness.scenario.rules.transactions import transactions
from harness.scenario.rules.workload import schedule, workload
from harness.scenario.text.positions import Path

STAGES: Sequence[Sequence[Rule]] = (
    (topics, in_sync, cluster, release, deletion, workload, client_settings, deadlines, lines, schedule),
    (settings, evidence, subjects, causes, transactions),
    (start, batches, warm_up),
    (client,),
)
"""Each stage reads what the ones before have found to be well formed. The client library is asked last."""

OF_LOAD: Sequence[LoadRule] = (too_long, volumes, retention, retention_outlasts_the_load, counts, durations)
"""What follows from how long the load lasts, which is known once the schedule has been read or drawn."""


def contradictions(scenario: Scenario) -> Sequence[Contradiction]:
    """All that the first stage with a contradiction finds; at most one for each value."""
    for rules in STAGES:
        if found := _first_of_each_place(each for rule in rules for each in rule(scenario)):
            return found
    return ()


def contradictions_of_load(scenario: Scenario, length: LoadLength) -> Sequence[Contradiction]:
    """All that cannot be with a load of this length; at most one for each value."""
    return _first_of_each_place(each for rule in OF_LOAD for each in rule(scenario, length))


def _first_of_each_place(found: Iterable[Contradiction]) -> Sequence[Contradiction]:
    of_place: dict[Path, Contradiction] = {}
    for each in found:
        of_place.setdefault(each.path, each)
    return tuple(of_place.values())

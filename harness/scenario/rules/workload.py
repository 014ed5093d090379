"""What no producer can do, and settings of the client that the harness needs for itself."""

from collections.abc import Iterator

from checkers.history.records.payload import HEADER_BYTES
from faults.plan.expand import MOST_STEPS
from harness.scenario.model import Scenario
from harness.scenario.rules.contradiction import Contradiction


def workload(scenario: Scenario) -> Iterator[Contradiction]:
    """Idempotence without acks=all, and records too small for their id."""
    asked = scenario.workload
    if asked.idempotence and asked.acks != "all":
        text = f"an idempotent producer needs acks: all, found acks: {asked.acks}"
        yield Contradiction(path=("workload", "idempotence"), text=text)
    if asked.record < HEADER_BYTES:
        text = f"{asked.record} bytes cannot carry a record's id; at least {HEADER_BYTES}B"
        yield Contradiction(path=("workload", "record"), text=text)


def schedule(scenario: Scenario) -> Iterator[Contradiction]:
    """A storm and faults of one's own exclude each other, and a schedule has an end."""
    if scenario.storm is not None and scenario.faults:
        yield Contradiction(path=("storm",), text="a scenario has faults or a storm, not both")
    if len(scenario.faults) > MOST_STEPS:
        text = f"{len(scenario.faults)} steps are too many; allowed: at most {MOST_STEPS}"
        yield Contradiction(path=("faults",), text=text)

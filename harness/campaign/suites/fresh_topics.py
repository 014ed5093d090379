"""A scenario with topics of its own names, so that a cluster can serve several runs of it.

Every row of a history that names a topic, every file on a broker's disk and every record of the metadata log
then belongs to one run, by its name.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from harness.scenario.model import Scenario
from harness.scenario.resolve import Resolved, resolve_made

MOST_LETTERS = 200
"""Of a topic's name."""
MOST_RUNS = 99_999
"""Numbers of runs for which a name has room."""
SHOWN = 20
"""Letters of a name that is too long."""


def names_too_long(scenario: Scenario) -> Iterator[str]:
    """The topics that would have no room for a run's number in their names, each in a sentence."""
    most = MOST_LETTERS - len(f"-r{MOST_RUNS}")
    for topic in scenario.topics:
        if len(topic.name) > most:
            text = f"its topic {topic.name[:SHOWN]}… has {len(topic.name)} letters"
            yield f"{text}, and each run of a suite adds its number; allowed: at most {most}"


def with_topics_of(resolved: Resolved, run: str) -> Resolved:
    """The same scenario on topics `<name>-<run>`; its faults name them too. It draws nothing.

    ScenarioError if a name gets too long.
    """
    scenario = resolved.scenario
    names = {topic.name for topic in scenario.topics}
    topics = [topic.model_copy(update={"name": f"{topic.name}-{run}"}) for topic in scenario.topics]
    faults = [_step_renamed(step, names, run) for step in scenario.faults]
    renamed = scenario.model_copy(update={"topics": topics, "faults": faults})
    fresh = resolve_made(renamed.model_copy(update={"storm": None}), f"{scenario.name}.yaml")
    return replace(fresh, topology=resolved.topology)


def _step_renamed(step: Mapping[str, Any], names: Collection[str], run: str) -> dict[str, Any]:
    """A step names a topic by itself under `topic`, and a partition of one in its other words."""
    words = {key: _renamed(value, names, run) for key, value in step.items()}
    return words | {"topic": f"{step['topic']}-{run}"} if step.get("topic") in names else words


def _renamed(value: Any, names: Collection[str], run: str) -> Any:  # noqa: ANN401 - YAML holds any value
    """A partition stands in brackets in a fault's words: leader(orders-3), isr.size(orders-0) <= 1.

    What a coordinator is of is none, though it may look like one.
    """
    if not isinstance(value, str):
        return value
    one_of = "|".join(map(re.escape, sorted(names)))
    return re.sub(rf"(?<!coordinator)\(({one_of})-(\d+)\)", rf"(\1-{run}-\2)", value)

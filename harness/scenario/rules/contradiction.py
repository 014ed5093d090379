"""One thing that a scenario cannot have, at its place."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.scenario.load.load_size import LoadLength
from harness.scenario.model import Scenario
from harness.scenario.text.positions import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """What is wrong with the value at `path`; `of_key`: with the key, so that its place is shown."""

    path: Path
    text: str
    of_key: bool = False


Rule = Callable[[Scenario], Iterator[Contradiction]]
LoadRule = Callable[[Scenario, LoadLength], Iterator[Contradiction]]

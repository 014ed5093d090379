"""Checks scenarios without running them: each is described, or its complaints are kept for the end."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faults.plan.parse import write_step
from harness.errors import UsageError
from harness.scenario.resolve import Resolved, find, resolve
from harness.scenario.text.yaml_tree import MOST_CHARACTERS

STDIN = "-"
MOST_LISTED = 12
"""Faults that the line of a scenario lists; of more, it says how many."""


@dataclass(slots=True, kw_only=True)
class Validation:
    """Scenarios to check: names, files, or "-" for standard input. `seed` None: each file's own, or drawn."""

    names: Sequence[str]
    sets: Sequence[str] = ()
    seed: int | None = None
    refused: list[str] = field(default_factory=list)
    """The complaints about each scenario that is refused, once they have been described."""

    def descriptions(self) -> Iterator[str]:
        """A line for each scenario that is valid; with a seed, or with blocks or repeats, also the plan."""
        for name in self.names:
            try:
                text, filename = _from_stdin() if name == STDIN else find(name)
                resolved = resolve(text, filename, sets=self.sets, seed=self.seed)
            except UsageError as refusal:
                self.refused.append(str(refusal))
                continue
            yield _description(Path(filename if name == STDIN else name).name, resolved)
            if self.seed is not None or resolved.is_expanded:
                yield from _plan(resolved)


def _from_stdin() -> tuple[str, str]:
    if sys.stdin is None:  # the shell has closed it
        raise UsageError("<stdin>: cannot be read: it is closed")
    try:
        return sys.stdin.read(MOST_CHARACTERS + 1), "<stdin>"
    except UnicodeDecodeError:
        raise UsageError("<stdin>: cannot be read: it is not text") from None


def _description(name: str, resolved: Resolved) -> str:
    scenario = resolved.scenario
    return (
        f"{name}: valid. {scenario.name}: Kafka {scenario.cluster.kafka}, {_faults(resolved) or 'no faults'}"
    )


def _faults(resolved: Resolved) -> str:
    """Each fault and what it is to hit, or how many there are of each kind."""
    if len(resolved.steps) <= MOST_LISTED:
        return ", ".join(f"{step.kind} {step.asked}" for step in resolved.steps)
    kinds = Counter(step.kind for step in resolved.steps).most_common()
    return f"{len(resolved.steps)} faults: {', '.join(f'{count} {kind}' for kind, count in kinds)}"


def _plan(resolved: Resolved) -> Iterator[str]:
    yield f"  seed {resolved.seed}"
    for step in resolved.steps:
        yield f"  - {{{', '.join(f'{key}: {_quoted(value)}' for key, value in write_step(step).items())}}}"


def _quoted(value: str) -> str:
    """The value as it can stand in braces."""
    return f"'{value}'" if any(letter in value for letter in ",{}[]") else value

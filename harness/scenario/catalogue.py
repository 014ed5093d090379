"""The scenarios that come with the tool, by group and tag: what each expects and which evidence it needs.

The first tag of a scenario is its group. Its file lies in the folder of that name.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from harness.errors import UsageError
from harness.scenario.resolve import find, resolve, shipped
from harness.scenario.text.complaints import unknown

WITHOUT_GROUP = "others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One shipped scenario; `expect` is the loss that it expects, `faults` how many it has."""

    name: str
    about: str
    shows: str
    tags: tuple[str, ...]
    expect: str
    accept: tuple[str, ...]
    require: tuple[str, ...]
    faults: int

    @property
    def group(self) -> str:
        """The heading under which it is listed."""
        return self.tags[0] if self.tags else WITHOUT_GROUP

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name,
            "about": self.about,
            "shows": self.shows,
            "tags": list(self.tags),
            "expect": self.expect,
            "accept": list(self.accept),
            "require": list(self.require),
            "faults": self.faults,
        }


def catalogue(tags: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Those that have all of `tags`, by group and name. UsageError for a tag that no scenario has."""
    entries = [_entry(name) for name in shipped()]
    known = {tag for entry in entries for tag in entry.tags}
    for tag in tags:
        if tag not in known:
            raise UsageError(f"tag: {unknown(tag, known)}")
    found = [entry for entry in entries if set(tags) <= set(entry.tags)]
    return tuple(sorted(found, key=lambda entry: (entry.group, entry.name)))


def _entry(name: str) -> Entry:
    resolved = resolve(*find(name), seed=0)
    scenario = resolved.scenario
    return Entry(
        name=name,
        about=scenario.about,
        shows=scenario.shows,
        tags=tuple(scenario.tags),
        expect=scenario.expect.acked_loss,
        accept=tuple(scenario.accept),
        require=tuple(scenario.require),
        faults=len(resolved.steps),
    )


def listing(entries: Sequence[Entry]) -> Iterator[str]:
    """Lines for a terminal: a heading for each group, below it a line for each scenario; then their tags."""
    if not entries:
        yield "no scenario has all of these tags"
        return
    width = max(len(entry.name) for entry in entries)
    for number, (group, its) in enumerate(by_group(entries)):
        if number:
            yield ""
        yield group
        for entry in its:
            yield f"  {entry.name:<{width}}  acked loss expected: {entry.expect:<9}  {entry.about}"
    yield ""
    yield f"tags: {', '.join(sorted({tag for entry in entries for tag in entry.tags}))}"


def by_group(entries: Iterable[Entry]) -> Iterator[tuple[str, Sequence[Entry]]]:
    """The entries of each group, which are in the order of `catalogue`."""
    for group, its in groupby(entries, key=lambda entry: entry.group):
        yield group, tuple(its)

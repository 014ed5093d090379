"""A suite's file as typed data: which scenarios are drawn, how often, and how many runs there must be.

docs/suite.md describes every key. What is wrong in a file is refused at its place, all of it at once, also
what its scenarios refuse. The suite `catalogue` has no file: it is every shipped scenario once, or as often
as is asked for, and ends when all are done.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from harness.campaign.suites.fresh_topics import names_too_long
from harness.errors import ScenarioError, UsageError
from harness.scenario.model import Part
from harness.scenario.resolve import find, resolve, shipped
from harness.scenario.text.complaints import at, complaints, unknown
from harness.scenario.text.positions import Document, load, place_of
from harness.scenario.text.positions import Path as KeyPath
from harness.scenario.text.yaml_tree import MOST_CHARACTERS

LIBRARY = Path(__file__).parent / "library"
CATALOGUE = "catalogue"
MOST = 1000
"""Of a weight, of repeats, and of runs that there must be."""


class Entry(Part):
    """One scenario of a suite."""

    scenario: str = Field(min_length=1)
    weight: int = Field(default=1, ge=1, le=MOST)
    repeat: int = Field(default=1, ge=1, le=MOST)
    at_least: int = Field(default=0, ge=0, le=MOST)
    at_most: int | None = Field(default=None, ge=1)
    set: list[str] = Field(default=[])
    clean_stop: bool = False


class SuitePlan(Part):
    """A whole suite file."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    about: str = ""
    seed: int | None = Field(default=None, ge=0, lt=1 << 63)
    scenarios: list[Entry] = Field(min_length=1)

    @property
    def ends_by_itself(self) -> bool:
        """Whether there is an end to its runs, however long the budget is."""
        return all(entry.at_most is not None for entry in self.scenarios)

    def as_plain(self) -> dict[str, Any]:
        """The plan with every default written out."""
        return self.model_dump(mode="json")


def read_plan(name: str, *, repeat: int | None = None) -> SuitePlan:
    """The suite of a shipped name, or of a file. UsageError, ScenarioError with file, line and column.

    A scenario that is a file is looked for beside the suite's file first. `repeat` is for the catalogue only.
    """
    if name == CATALOGUE:
        return _catalogue(repeat or 1)
    if repeat is not None:
        raise UsageError(
            f"repeat: it belongs to the suite {CATALOGUE}; a suite's file has a key of this name"
        )
    text, path = _find(name)
    document = load(text, str(path if path.parent != LIBRARY else path.name), what="a suite")
    try:
        plan = SuitePlan.model_validate(document.data)
    except ValidationError as error:
        raise ScenarioError(complaints(error, document, SuitePlan)) from None
    found_at = [_beside(path, entry.scenario) for entry in plan.scenarios]
    entries = [
        entry.model_copy(update={"scenario": scenario})
        for entry, scenario in zip(plan.scenarios, found_at, strict=True)
    ]
    if found := [each for number, entry in enumerate(entries) for each in _refusals(number, entry, document)]:
        raise ScenarioError(found)
    return plan.model_copy(update={"scenarios": entries})


def shipped_suites() -> list[str]:
    """Names of the suites that come with the tool."""
    return sorted([CATALOGUE, *(path.stem for path in LIBRARY.glob("*.yaml"))])


def _catalogue(repeat: int) -> SuitePlan:
    if repeat > MOST:
        raise UsageError(f"repeat: {repeat} runs of each scenario; allowed: at most {MOST}")
    return SuitePlan(
        name=CATALOGUE,
        about="Every shipped scenario, with a table of what was expected and what was observed.",
        scenarios=[Entry(scenario=name, at_least=repeat, at_most=repeat) for name in shipped()],
    )


def scenario_source(entry: Entry) -> tuple[str, str]:
    """The text of an entry's scenario, and its name for messages. UsageError."""
    return find(entry.scenario)


def _find(name: str) -> tuple[str, Path]:
    path = LIBRARY / f"{name}.yaml" if name in shipped_suites() else Path(name)
    if path.parent != LIBRARY and not path.exists() and not name.endswith((".yaml", ".yml")):
        raise UsageError(f"suite: {unknown(name, shipped_suites())}; or give the path of a file")
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MOST_CHARACTERS + 1), path
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"{path}: cannot be read: {reason}") from None


def _beside(suite: Path, scenario: str) -> str:
    """A scenario's name, or its path from the working directory."""
    near = suite.parent / scenario
    return str(near) if scenario not in shipped() and near.is_file() else scenario


def _refusals(number: int, entry: Entry, document: Document) -> Iterator[str]:
    """All that is wrong with one entry, each at its place in the suite's file or in that of the scenario."""
    here = ("scenarios", number)
    if entry.at_most is not None and entry.at_least > entry.at_most:
        yield at(document, (*here, "at_least"), f"{entry.at_least} is more than at_most: {entry.at_most}")
    try:
        resolved = resolve(*scenario_source(entry), sets=entry.set, seed=0)
    except ScenarioError as refused:
        for complaint in refused.complaints:
            yield _of_set(complaint, (*here, "set"), entry.set, document) or complaint
    except UsageError as error:
        yield at(document, (*here, "scenario"), str(error).removeprefix("scenario: "))
    else:
        yield from (at(document, (*here, "scenario"), each) for each in names_too_long(resolved.scenario))


def _of_set(complaint: str, path: KeyPath, sets: Sequence[str], document: Document) -> str:
    """A complaint about an assignment of the file, at its place; "" for any other one."""
    for number, assignment in enumerate(sets):
        as_option = f"{place_of(assignment)}: "
        if complaint.startswith(as_option):
            return at(document, (*path, number), complaint.removeprefix(as_option))
    return ""

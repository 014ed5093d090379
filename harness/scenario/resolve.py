"""From a scenario file to one that leaves nothing open: defaults, `--set`, seed, every random choice drawn.

What is written as scenario.yaml reads back to the same resolved scenario, and draws nothing.
"""

import io
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML

from compose.spec.topology import Topology
from faults.errors import BadStep
from faults.kinds.clock.clock_skew import clocks_of
from faults.kinds.fault.step import Step
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from faults.plan.blocks import is_written_out
from faults.plan.parse import parse_plan, write_step
from faults.plan.storm import KEYS as STORM_KEYS
from faults.plan.storm import parse_storm, storm
from faults.plan.validate import validate_plan
from faults.targets.facts import Facts
from harness.errors import ScenarioError, UsageError
from harness.scenario.cluster.facts import facts_of
from harness.scenario.load.load_size import LoadLength, load_length, volume_bytes
from harness.scenario.model import ExpectPart, Scenario, topology_of
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.rules.every import contradictions, contradictions_of_load
from harness.scenario.text.complaints import at, complaints, cut, unknown, unknown_key
from harness.scenario.text.positions import Document, load, override
from harness.scenario.text.positions import Path as KeyPath
from harness.scenario.text.yaml_tree import MOST_CHARACTERS

SHIPPED = Path(__file__).parent / "library"
SEED_BITS = 32
LINE_CHARACTERS = 9
"""At most what stands around a key and a value on a line of YAML: indentation, colon, quotes, line end."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A scenario with a seed and without a storm, its faults as data, its cluster as a topology.

    `is_expanded`: its faults were written as blocks or repetitions.
    """

    scenario: Scenario
    steps: tuple[Step, ...]
    topology: Topology
    is_expanded: bool = False

    @property
    def seed(self) -> int:
        """The seed of every choice; a resolved scenario has one."""
        assert self.scenario.seed is not None
        return self.scenario.seed

    @cached_property
    def text(self) -> str:
        """The resolved scenario as YAML."""
        return _yaml(self.scenario.as_plain())


def scenario_text(scenario: Scenario) -> str:
    """A scenario that was made in Python, as `resolve` takes it."""
    return _yaml(_as_asked(scenario))


def _as_asked(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json", by_alias=True, exclude_none=True)


def _yaml(plain: dict[str, Any]) -> str:
    out = io.StringIO()
    writer = YAML()
    writer.width = 110
    writer.dump(plain, out)
    return out.getvalue()


def resolve(text: str, filename: str, *, sets: Sequence[str] = (), seed: int | None = None) -> Resolved:
    """Check a scenario and draw every choice; raises ScenarioError with one complaint a line."""
    document = load(text, filename)
    override(document, sets)
    return _resolved(document, seed)


def resolve_made(scenario: Scenario, filename: str, *, seed: int | None = None) -> Resolved:
    """The same of a scenario that was made in Python, as of its text; to write and read that takes 14 ms.

    A complaint has no line.
    """
    return _resolved(Document(filename=filename, data=_as_asked(scenario)), seed)


def refusal_of(scenario: Scenario) -> str:
    """Why there can be no run of a scenario that was made in Python: the first complaint; "" if there can."""
    document = Document(filename="", data=_as_asked(scenario))
    try:
        _resolved(document, seed=0)
    except ScenarioError as refused:
        return refused.complaints[0].removeprefix(f"{document.place(())}: ")
    return ""


def _resolved(document: Document, seed: int | None) -> Resolved:
    asked = _validated(document)
    topology = topology_of(asked.cluster)
    chosen = next((each for each in (seed, asked.seed) if each is not None), None)
    chosen = draw_seed() if chosen is None else chosen
    steps = _steps(asked, facts_of(asked, topology), chosen, document)
    length = load_length(asked, steps)
    _refuse(contradictions_of_load(asked, length), document)
    closed = _closed(_sized(asked, length), topology, steps, chosen)
    _refuse_too_long(closed, document)
    clocks = clocks_of(steps, topology.broker_ids, topology.controller_ids)
    return Resolved(
        scenario=closed,
        steps=steps,
        topology=replace(topology_of(closed.cluster), later=_later(steps), clocks=clocks),
        is_expanded=not is_written_out(asked.faults),
    )


def _later(steps: Sequence[Step]) -> tuple[str, ...]:
    """The releases to which nodes are brought, each once."""
    found = (step.release for step in steps if isinstance(step, RollingUpgradeStep))
    return tuple(dict.fromkeys(found))


def _refuse_too_long(closed: Scenario, document: Document) -> None:
    """ScenarioError if the resolved schedule could not be read again: each step is written out in it."""
    pairs = [pair for step in closed.faults for pair in step.items()]
    at_most = sum(len(key) + len(value) + LINE_CHARACTERS for key, value in pairs)
    if at_most > MOST_CHARACTERS and (length := len(_yaml(closed.as_plain()))) > MOST_CHARACTERS:
        text = f"{length} characters with each step written out; allowed: at most {MOST_CHARACTERS}"
        raise ScenarioError([at(document, ("faults",), text)])


def _sized(asked: Scenario, length: LoadLength) -> Scenario:
    """`asked` with the volumes that its load needs."""
    cluster = asked.cluster.model_copy(update={"volume": volume_bytes(asked, length.longest_s)})
    return asked.model_copy(update={"cluster": cluster})


def _closed(asked: Scenario, topology: Topology, steps: Sequence[Step], seed: int) -> Scenario:
    """`asked` with everything written out that it left to defaults or to chance."""
    return asked.model_copy(
        update={
            "seed": seed,
            "storm": None,
            "faults": [write_step(step) for step in steps],
            "cluster": asked.cluster.model_copy(
                update={"elr": topology.elr_on, "formatted": topology.format_release}
            ),
            "workload": asked.workload.model_copy(update={"idempotence": asked.workload.idempotent}),
            "expect": _expected(asked),
        }
    )


def _expected(asked: Scenario) -> ExpectPart:
    """Beyond the promise, what is lost must be permitted; nobody can expect that nothing is."""
    beyond = asked.storm is not None and parse_storm(asked.storm).limit == "beyond-promise"
    return ExpectPart(acked_loss="any") if beyond and asked.expect.acked_loss == "none" else asked.expect


def draw_seed() -> int:
    """A new seed, short enough to be typed."""
    return secrets.randbits(SEED_BITS)


def derived_seeds(first: int, count: int) -> list[int]:
    """`count` different seeds, the first of which is `first`; the same for the same `first`."""
    draw, seeds = Random(first), [first]
    while len(seeds) < count:
        seed = draw.getrandbits(SEED_BITS)
        if seed not in seeds:
            seeds.append(seed)
    return seeds


def _validated(document: Document) -> Scenario:
    try:
        scenario = Scenario.model_validate(document.data)
    except ValidationError as error:
        raise ScenarioError(complaints(error, document, Scenario)) from None
    _refuse(contradictions(scenario), document)
    return scenario


def _refuse(found: Sequence[Contradiction], document: Document) -> None:
    """ScenarioError with a complaint about each, if there is any."""
    if found:
        raise ScenarioError([at(document, each.path, each.text, of_key=each.of_key) for each in found])


def _steps(scenario: Scenario, facts: Facts, seed: int, document: Document) -> tuple[Step, ...]:
    """The schedule as written, or as drawn."""
    try:
        if scenario.storm is not None:
            return storm(parse_storm(scenario.storm), seed=seed, facts=facts)
        return validate_plan(parse_plan(scenario.faults, seed=seed), facts)
    except BadStep as refusal:
        raise ScenarioError([_complaint(refusal, document, in_storm=scenario.storm is not None)]) from None


def _complaint(refusal: BadStep, document: Document, *, in_storm: bool) -> str:
    path: KeyPath = ("storm",) if in_storm else ("faults", *refusal.path)
    path = (*path, refusal.field)
    keys = STORM_KEYS if in_storm and refusal.field not in STORM_KEYS else refusal.keys
    if refusal.field == "storm":
        return at(document, ("storm",), f"{refusal.value}; allowed: {refusal.allowed}")
    if keys:
        return at(document, path, unknown_key(refusal.field, keys), of_key=True)
    if refusal.value is None or (refusal.value == [] and document.at(path) is None):
        return at(document, path, f"is missing; allowed: {refusal.allowed}")
    return at(document, path, f"{cut(repr(refusal.value))} is refused; allowed: {refusal.allowed}")


def find(name: str) -> tuple[str, str]:
    """The text and the name of a scenario file: a path, or one of the shipped names. Raises UsageError."""
    known = _shipped()
    path = known.get(name, Path(name))
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    try:
        if name not in known and not is_path and not path.exists():
            raise UsageError(f"scenario: {unknown(name, known)}; or give the path of a file")
        with path.open(encoding="utf-8") as file:
            return file.read(MOST_CHARACTERS + 1), path.name if name in known else str(path)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: cannot be read: it is not text") from None
    except (OSError, ValueError) as error:  # a name may hold what no file system takes
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None


def shipped() -> list[str]:
    """Names of the scenarios that come with the tool."""
    return sorted(_shipped())


def _shipped() -> Mapping[str, Path]:
    """The file of each: in a folder for each group, or not yet in one."""
    return {path.stem: path for path in SHIPPED.rglob("*.yaml")}

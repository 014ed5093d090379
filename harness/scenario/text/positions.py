"""YAML with positions: plain data, and for each key and value the place it was written at.

A place is "file:line:column" (both from 1), or "--set key=value" for what the command line put there; no
place and no complaint shows a value that may be a secret.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from harness.errors import ScenarioError
from harness.scenario.text.hidden import may_be_secret, without_secret
from harness.scenario.text.yaml_tree import OutOfBounds, yaml_tree

Path = tuple[str | int, ...]
"""Keys and list indices from the root, for example ("faults", 0, "do")."""

INDEX = re.compile(r"[0-9]{1,9}")
OF_YAML = tuple("*&!|>%@`")
"""Letters with which no text begins in YAML."""
FREE_FORM = frozenset({"config", "client", "producer", "broker_config", "controller_config"})
"""Maps whose keys are Kafka's own names, with dots in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed file; `keys` and `values` give the place of each key and of each value."""

    filename: str
    data: dict[str, Any]
    keys: dict[Path, str] = field(default_factory=dict)
    values: dict[Path, str] = field(default_factory=dict)

    def place(self, path: Path, *, of_key: bool = False) -> str:
        """The place of a value (or of its key); for a path that was never written, its nearest parent's."""
        if of_key and path in self.keys:
            return self.keys[path]
        for length in range(len(path), 0, -1):
            if path[:length] in self.values:
                return self.values[path[:length]]
        return f"{self.filename}:1:1"

    def at(self, path: Path) -> Any:  # noqa: ANN401 - YAML holds any value
        """What is written at `path`; None for what is not."""
        node: Any = self.data
        for word in path:
            try:
                node = node[word]
            except (KeyError, IndexError, TypeError):
                return None
        return node


def load(text: str, filename: str, *, what: str = "a scenario") -> Document:
    """Parse one YAML document whose root is a map; raises ScenarioError with the place otherwise, and with
    `what` it is.
    """
    try:
        tree = yaml_tree(text)
    except YAMLError as error:
        raise ScenarioError([f"{filename}:{_mark(error)}: {_problem(error)}"]) from None
    if not isinstance(tree, CommentedMap):
        raise ScenarioError([f"{filename}:1:1: {what} is a map of keys, found {_kind(tree)}"])
    document = Document(filename=filename, data={})
    document.data.update(_walk(tree, (), document))
    return document


def _mark(error: YAMLError) -> str:
    mark = (error.problem_mark or error.context_mark) if isinstance(error, MarkedYAMLError) else None
    return f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"


def _problem(error: YAMLError, what: str = "not YAML") -> str:
    marked = (error.problem or error.context) if isinstance(error, MarkedYAMLError) else None
    text = str(marked or error).splitlines()[0]
    if text == "but found another document":
        text = "a second document begins; allowed: one"
    if may_be_secret(text):
        text = text.partition(" with value ")[0]
    return text if isinstance(error, OutOfBounds) else f"{what}: {text}"


def _kind(tree: object) -> str:
    if tree is None:
        return "an empty file"
    return "a list" if isinstance(tree, CommentedSeq) else f"the single value {str(tree)!r}"


def _walk(node: object, path: Path, document: Document) -> Any:  # noqa: ANN401 - YAML holds any value
    if isinstance(node, CommentedMap):
        _refuse_keys_of_several_words(node, path, document)
        return {str(key): _child(node, key, (*path, str(key)), document) for key in node}
    if isinstance(node, CommentedSeq):
        return [_child(node, index, (*path, index), document) for index in range(len(node))]
    return _plain(node)


def _refuse_keys_of_several_words(node: CommentedMap, path: Path, document: Document) -> None:
    for key in node:
        if isinstance(key, Mapping | tuple):
            place = document.place(path) if path else f"{document.filename}:1:1"
            raise ScenarioError([f"{place}: a map or list stands where a key belongs; allowed: a word"])


def _child(node: CommentedMap | CommentedSeq, key: object, path: Path, document: Document) -> object:
    """The plain value below `node`; ruamel keeps (line, column) of a key, then of its value, from 0."""
    position = (node.lc.data or {}).get(key)
    if position is not None:
        document.keys[path] = f"{document.filename}:{position[0] + 1}:{position[1] + 1}"
        document.values[path] = f"{document.filename}:{position[-2] + 1}:{position[-1] + 1}"
    return _walk(node[key], path, document)


def _plain(value: object) -> object:
    """The plain value of one of the parser's number and string types, which remember their spelling.

    That of a date is its text.
    """
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value.isoformat() if isinstance(value, date) else value


def override(document: Document, assignments: Sequence[str]) -> None:
    """Apply `--set` assignments "dotted.path=value" in order; list items are named by their index.

    Keys with dots in them (Kafka's own) are found by the longest match. Raises ScenarioError.
    """
    for assignment in assignments:
        name, sign, text = assignment.partition("=")
        place = place_of(assignment)
        if not sign or not name:
            raise ScenarioError([f"{place}: expected key=value, for example --set workload.acks=1"])
        path = _resolve_path(document.data, name.split("."), place)
        _assign(document, path, _value_of(text, place), place)


def place_of(assignment: str) -> str:
    """The place of what an assignment has put there."""
    return f"--set {without_secret(assignment)}"


def _value_of(text: str, place: str) -> Any:  # noqa: ANN401 - YAML holds any value
    try:
        return _walk(yaml_tree(text), (), Document(filename=place, data={}))
    except YAMLError as error:
        is_text = text[:1] in OF_YAML and not isinstance(error, OutOfBounds)
        quoted = "; a text that begins so stands in quotes" if is_text else ""
        raise ScenarioError([f"{place}: {_problem(error, 'the value is not YAML')}{quoted}"]) from None


def _resolve_path(data: Mapping[str, Any], words: Sequence[str], place: str) -> Path:
    path: Path = ()
    node: Any = data
    rest = list(words)
    while rest:
        key, taken = _next_key(node, rest, path, place)
        path, rest = (*path, key), rest[taken:]
        node = _descend(node, key)
    return path


def _descend(node: Any, key: str | int) -> Any:  # noqa: ANN401 - YAML holds any value
    if isinstance(node, list):
        return node[int(key)]
    return node.get(key, {}) if isinstance(node, dict) else {}


def _next_key(node: object, rest: list[str], path: Path, place: str) -> tuple[str | int, int]:
    """The next step of the path, and how many words of the dotted name it takes."""
    if isinstance(node, list):
        if not INDEX.fullmatch(rest[0]) or int(rest[0]) >= len(node):
            where = ".".join(map(str, path))
            raise ScenarioError([f"{place}: {where} is a list of {len(node)}, it has no item {rest[0]!r}"])
        return int(rest[0]), 1
    if isinstance(node, dict):
        for length in range(len(rest), 0, -1):
            if ".".join(rest[:length]) in node:
                return ".".join(rest[:length]), length
    if path and path[-1] in FREE_FORM:
        return ".".join(rest), len(rest)
    return rest[0], 1


def _assign(document: Document, path: Path, value: Any, place: str) -> None:  # noqa: ANN401
    """A map that is made on the way has the place of the assignment too, as what it stands in for is gone."""
    node: Any = document.data
    for length, key in enumerate(path[:-1], start=1):
        if isinstance(node, dict) and not isinstance(node.get(key), (dict, list)):
            node[key] = {}
            document.keys[path[:length]] = document.values[path[:length]] = place
        node = node[key]
    node[path[-1]] = value
    for written in list(_below(document.values, path)):
        document.values.pop(written)
        document.keys.pop(written, None)
    document.keys[path] = document.values[path] = place


def _below(places: Mapping[Path, str], path: Path) -> Iterator[Path]:
    return (written for written in places if written[: len(path)] == path)

"""From pydantic's errors to complaints to act on: "file:line:column: key: what is wrong; allowed: …".

`dotted`, `unknown` and `problem` put one error into words, without a place; the manifest uses them too.
"""

import difflib
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from harness.scenario.text.hidden import HIDDEN, may_be_secret, secrets_in, without
from harness.scenario.text.positions import Document, Path

MOST_SHOWN = 200
"""Characters of a wrong value that a complaint repeats."""
PLAINLY: Mapping[str, str] = {
    "dict_type": "Input should be a map",
    "model_type": "Input should be a map of keys",
}
"""In place of pydantic's words, by its name of what is wrong: its own are about Python."""


def complaints(error: ValidationError, document: Document, model: type[BaseModel]) -> list[str]:
    """One line for each error, in the order of the file's keys as pydantic met them."""
    return [
        at(document, found["loc"], problem(found, model), of_key=found["type"] == "extra_forbidden")
        for found in error.errors()
    ]


def at(document: Document, path: Path, text: str, *, of_key: bool = False) -> str:
    """A complaint about the value (or key) at `path`; what may be a secret there is not shown."""
    shown = without(text, secrets_in(document.at(path), dotted(path)))
    return f"{document.place(path, of_key=of_key)}: {dotted(path)}: {shown}"


def dotted(path: Path) -> str:
    """("faults", 0, "do") → "faults[0].do"."""
    words = [f"[{word}]" if isinstance(word, int) else f".{word}" for word in path]
    return "".join(words).removeprefix(".")


def unknown(value: object, allowed: Iterable[str]) -> str:
    """ "unknown …; allowed: …", with the nearest allowed one first if it looks like a slip."""
    choices = sorted(allowed)
    near = difflib.get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown {value!r}; {hint}allowed: {', '.join(choices)}"


def unknown_key(key: object, allowed: Iterable[str]) -> str:
    """As `unknown`, of a key."""
    return unknown(key, allowed).replace("unknown", "unknown key", 1)


def problem(found: ErrorDetails, model: type[BaseModel]) -> str:
    """What is wrong with one value of `model`, with the value."""
    match found["type"]:
        case "extra_forbidden":
            path = found["loc"]
            return unknown_key(path[-1], keys_of(model_at(model, path[:-1])))
        case "missing":
            return _missing(found["loc"], model)
        case "literal_error":
            allowed = found["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
            return unknown(found["input"], allowed)
    return _as_one_sentence(found)


def _missing(path: Path, model: type[BaseModel]) -> str:
    """With an example, where the model gives one."""
    fields = model_at(model, path[:-1]).model_fields
    examples = next((its.examples for name, its in fields.items() if path[-1] in (name, its.alias)), None)
    return f"is missing; write it as in {examples[0]}" if examples else "is missing"


def _as_one_sentence(found: ErrorDetails) -> str:
    message = PLAINLY.get(found["type"], found["msg"]).removeprefix("Value error, ")
    if found["type"] == "value_error":
        return message
    return f"{message[0].lower()}{message[1:]}, found {_shown(found['loc'], found['input'])}"


def _shown(path: Path, value: object) -> str:
    text = "nothing" if value is None else repr(value)
    if may_be_secret(dotted(path)) or may_be_secret(text):
        return HIDDEN
    return cut(text)


def cut(text: str) -> str:
    """As much of a wrong value as a complaint repeats."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys a person may write for `model`."""
    return [field.alias or name for name, field in model.model_fields.items()]


def model_at(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel]:
    """The model that describes the map at `path` below `model`."""
    for word in path:
        field = next((f for name, f in model.model_fields.items() if word in (name, f.alias)), None)
        if field is None:
            continue  # an index of a list, or a key of a map
        model = next(_models_in(field.annotation))
    return model


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)

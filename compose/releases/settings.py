"""The settings that each Kafka release knows, of topics, brokers and producers, and what their values may be.

`settings.tsv` is made from the releases' own jars by `python -m compose.releases.list_settings`: Kafka's
`LogConfig`, `KafkaConfig` and `ProducerConfig` list each setting with its type, range, words and default.
Where Kafka's check of a value is code (a level of gzip, the name of a class), every value of the type passes
here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

Scope = Literal["topic", "broker", "producer"]
TABLE = "settings.tsv"
ANY_CASE = "(any case)"
"""Stands before words that Kafka compares without regard to case."""
NOT_EMPTY = "(not empty)"
"""Stands instead of words where Kafka takes any text but none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting as a release defines it.

    `type` is the name of a Kafka `ConfigDef.Type`. `least`, `greatest` and `default` are written as Kafka
    writes them, "" where there is none; `words` are the only ones allowed, empty for any.
    """

    name: str
    type: str
    least: str
    greatest: str
    words: tuple[str, ...]
    default: str


@cache
def releases() -> tuple[str, ...]:
    """Every release whose settings are known, oldest first."""
    return _shipped()[0]


@cache
def settings_of(release: str, scope: Scope) -> Mapping[str, Setting]:
    """What `release`, a known one, defines for topics, for brokers (and controllers), or for its producer."""
    assert release in releases(), f"{release} is none of {releases()}"
    rows = (cells for cells, within in _shipped()[1].items() if release in within and cells[0] == scope)
    return {cells[1]: _setting(cells) for cells in rows}


def releases_with(name: str, scope: Scope) -> str:
    """The releases that define a setting, as in "3.6.0-3.9.2,4.1.0"; "" if none does."""
    return _spans(tuple(each for each in releases() if name in settings_of(each, scope)), releases())


Cells = tuple[str, ...]
"""A line of ListSettings: scope, name, type, least, greatest, words joined with commas, default."""


def read_table(text: str) -> tuple[tuple[str, ...], Mapping[Cells, tuple[str, ...]]]:
    """The releases of a table, oldest first, and for each definition those that have it."""
    first, *lines = text.splitlines()
    known = tuple(first.split("\t")[1:])
    rows = (line.split("\t") for line in lines)
    return known, {tuple(row[1:]): _within(row[0], known) for row in rows}


def table_text(known: tuple[str, ...], definitions: Mapping[Cells, tuple[str, ...]]) -> str:
    """The text that `read_table` reads back; one line for each definition, in the order of the names."""
    rows = (f"{_spans(definitions[cells], known)}\t" + "\t".join(cells) for cells in sorted(definitions))
    return "\n".join(["\t".join(("releases", *known)), *rows]) + "\n"


@cache
def _shipped() -> tuple[tuple[str, ...], Mapping[Cells, tuple[str, ...]]]:
    return read_table(files("compose.releases").joinpath(TABLE).read_text(encoding="utf-8"))


def _within(spans: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """ "3.6.0-3.7.1,4.0.0" → the releases from 3.6.0 to 3.7.1, and 4.0.0."""
    found: list[str] = []
    for span in spans.split(","):
        first, _, last = span.partition("-")
        found += known[known.index(first) : known.index(last or first) + 1]
    return tuple(found)


def _spans(within: tuple[str, ...], known: tuple[str, ...]) -> str:
    """The reverse of `_within`."""
    spans: list[list[str]] = []
    for release in sorted(within, key=known.index):
        if spans and known.index(spans[-1][-1]) + 1 == known.index(release):
            spans[-1][1:] = [release]
        else:
            spans.append([release])
    return ",".join("-".join(span) for span in spans)


def _setting(cells: Cells) -> Setting:
    _, name, kind, least, greatest, words, default = cells
    return Setting(
        name=name,
        type=kind,
        least=least,
        greatest=greatest,
        words=tuple(words.split(",")) if words else (),
        default=default,
    )

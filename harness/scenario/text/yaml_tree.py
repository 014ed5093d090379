"""Reads YAML within bounds: a text of bounded size and depth, without aliases, anchors and tags.

A scenario is a short, flat file. One that is not is refused at its place before it costs minutes, the whole
memory or the parser's recursion; an alias or a tag makes a value that is written nowhere.
"""

import re
from functools import lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, ScalarEvent
from ruamel.yaml.scanner import RoundTripScanner

MOST_CHARACTERS = 1 << 21
"""A storm of 10,000 steps, written out, has about 1,400,000."""
MOST_LEVELS = 12
"""The deepest value of a scenario, a list in a step of the schedule, is at level 5."""
MOST_BITS = 64
MOST_DIGITS = 100
"""In a row, in any text: no number that anything takes has more, and to read one of thousands is an error."""
TOO_LONG = re.compile(rf"\d{{{MOST_DIGITS + 1},}}")
MOST_KEPT, KEPT_CHARACTERS = 128, 1 << 13
"""How many trees are kept, and of how long a text at most: a suite reads each scenario again for each of its
runs. To parse one of 1,300 characters takes 6 ms, and its tree 28 kB."""


class OutOfBounds(MarkedYAMLError):
    """The text is YAML, and not what a scenario may be; the message says what is allowed."""


def yaml_tree(text: str) -> Any:  # noqa: ANN401 - YAML holds any value
    """The tree of one document, with positions, for reading only: who asks for it again gets the same one.

    Raises OutOfBounds, or YAMLError for what is no YAML.
    """
    if len(text) > MOST_CHARACTERS:
        raise OutOfBounds(problem=f"the text is too large; allowed: at most {MOST_CHARACTERS} characters")
    return _kept(text) if len(text) <= KEPT_CHARACTERS else _parsed(text)


@lru_cache(maxsize=MOST_KEPT)
def _kept(text: str) -> Any:  # noqa: ANN401 - YAML holds any value
    return _parsed(text)


def _parsed(text: str) -> Any:  # noqa: ANN401 - YAML holds any value
    parser = YAML(typ="rt")
    parser.Scanner, parser.Composer, parser.Constructor = _Scanner, _Composer, _Constructor
    try:
        return parser.load(text)
    except (ValueError, OverflowError) as error:  # an escape of no character: "\\UFFFFFFFF"
        raise YAMLError(str(error)) from None


class _Scanner(RoundTripScanner):
    """Refuses brackets in brackets before the library looks ahead past a thousand of them."""

    def fetch_flow_collection_start(self, TokenClass: Any, to_push: str) -> None:  # noqa: N803, ANN401 - its own
        if self.flow_level >= MOST_LEVELS:
            raise _too_deep(self.reader.get_mark())
        super().fetch_flow_collection_start(TokenClass, to_push)


class _Composer(Composer):
    """Refuses an alias, an anchor, a tag and one level too many where it meets it."""

    _level = 0

    def compose_node(self, parent: object, index: object) -> Any:  # noqa: ANN401 - the library's own
        event = self.parser.peek_event()
        _refuse(event)
        if self._level >= MOST_LEVELS:
            raise _too_deep(event.start_mark)
        self._level += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._level -= 1


class _Constructor(RoundTripConstructor):
    """Gives the place of what looks like a number or a date and is none that can be used: 2026-13-45."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401 - the library's own
        try:
            value = super().construct_object(node, deep)
        except ValueError as error:
            raise MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from None
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise OutOfBounds(
                problem=f"a number of {value.bit_length()} bits; allowed: at most {MOST_BITS}",
                problem_mark=node.start_mark,
            )
        return value


def _refuse(event: Any) -> None:  # noqa: ANN401 - an event of a node, the library has no name for it
    if isinstance(event, AliasEvent):
        raise _refused("alias", f"*{event.anchor}", event)
    if event.anchor:
        raise _refused("anchor", f"&{event.anchor}", event)
    if event.tag:
        raise _refused("tag", event.tag.replace("tag:yaml.org,2002:", "!!"), event)
    if isinstance(event, ScalarEvent) and (digits := TOO_LONG.search(event.value)):
        raise OutOfBounds(
            problem=f"a number of {len(digits[0])} digits; allowed: at most {MOST_DIGITS}",
            problem_mark=event.start_mark,
        )
    if isinstance(event, ScalarEvent) and any("\ud800" <= letter <= "\udfff" for letter in event.value):
        raise OutOfBounds(problem="half of a character, as in \\ud800", problem_mark=event.start_mark)


def _refused(what: str, word: str, event: Any) -> OutOfBounds:  # noqa: ANN401 - as above
    text = f"the {what} {word} is refused; allowed: the value itself, written out"
    return OutOfBounds(problem=text, problem_mark=event.start_mark)


def _too_deep(mark: object) -> OutOfBounds:
    return OutOfBounds(problem=f"nested too deep; allowed: at most {MOST_LEVELS} levels", problem_mark=mark)

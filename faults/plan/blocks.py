"""Reads a plan as it is written: steps, and blocks of steps in a sequence or in parallel.

    - name: roll
      at: 5s
      then: recovered + 2s
      sequence:
        - {do: stop, target: node 1, for: 3s}
        - parallel:
            - {do: pause, target: node 2, for: 3s}
            - {do: pause, target: node 101, for: 3s}

The keys of a step beside its name, its start and its repetition stay as they are written. Every error is a
BadStep with the path to the key.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from faults.durations import parse_duration, write_duration
from faults.errors import BadStep, Path
from faults.kinds.fault.step import At, Start, Words
from faults.kinds.registry import KINDS
from faults.plan.repeat import Repeat, parse_repeat
from faults.plan.starts import ALL_KEYS, no_start, parse_start
from faults.targets.moments import PREVIOUS, STEP_NAME, Moment

BlockKind = Literal["sequence", "parallel"]
BLOCK_KINDS: tuple[BlockKind, ...] = ("sequence", "parallel")
OF_KINDS = tuple(dict.fromkeys(key for kind in KINDS.values() for key in kind.step.keys))
"""The keys that kinds of faults add."""
STEP_KEYS = ("name", "do", *ALL_KEYS, "repeat", *OF_KINDS, "for")
BLOCK_KEYS = ("name", *ALL_KEYS, "repeat", *BLOCK_KINDS, "then")

MOST_DEPTH = 3
"""How many blocks may stand in each other: a parallel of sequences in a sequence."""

NAMES = (
    f"lower-case letters, digits and hyphens, of a repetition with its number behind, as in kill#2; not "
    f"'{PREVIOUS}'"
)

READY_S = 1.2
"""After a moment that nobody can foresee a step takes so long to be made ready; sooner, it would be late."""

_THEN = re.compile(r"(?P<moment>begin|end|recovered)(?: ?\+ ?(?P<delay>.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Then:
    """When the next step of a sequence begins, counted from the one before."""

    moment: Moment = "recovered"
    delay_s: float = READY_S


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenStep:
    """One step; `start` None: that of its block, or by the step before in its sequence."""

    name: str
    words: Words
    start: Start | None
    repeat: Repeat | None
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Steps and blocks in a sequence or in parallel; `start` as of a step."""

    kind: BlockKind
    name: str | None
    entries: tuple["Entry", ...]
    then: Then
    start: Start | None
    repeat: Repeat | None
    path: Path


Entry = WrittenStep | Block


def read(plan: Sequence[Words]) -> tuple[Entry, ...]:
    """The entries of a plan."""
    reader = _Reader()
    entries: list[Entry] = []
    for index, words in enumerate(plan):
        try:
            entries.append(reader.entry(words, (index,)))
            if entries[-1].start is None:
                raise no_start()
        except BadStep as refusal:
            raise _located(refusal, (index,)) from None
    return tuple(entries)


def is_written_out(plan: Sequence[Words]) -> bool:
    """Whether each entry is one step: there are no blocks and no repetitions."""
    return not any({*BLOCK_KINDS, "repeat"} & words.keys() for words in plan)


def steps_as_written(plan: object, path: Path = ()) -> Iterator[tuple[Path, Words]]:
    """The words of each step with its path, in blocks too, of a plan that nobody has checked yet: what is
    neither a step nor a block is left out."""
    for index, words in enumerate(plan if isinstance(plan, list | tuple) else ()):
        if not isinstance(words, Mapping):
            continue
        kinds = [kind for kind in BLOCK_KINDS if kind in words]
        for kind in kinds:
            yield from steps_as_written(words[kind], (*path, index, kind))
        if not kinds:
            yield (*path, index), words


def _located(refusal: BadStep, path: Path) -> BadStep:
    """The refusal below `path`, unless it has been located by what stands deeper."""
    return refusal if refusal.path[: len(path)] == path else refusal.below(*path)


class _Reader:
    """Counts the steps as they are written: one without a name is called by its number."""

    def __init__(self) -> None:
        self._count = 0

    def entry(self, words: object, path: Path) -> Entry:
        """One step or block."""
        try:
            if not isinstance(words, Mapping):
                raise BadStep("do", words, "a step or a block, as a map of its keys")
            kinds = [kind for kind in BLOCK_KINDS if kind in words]
            return self._block(kinds, words, path) if kinds else self._step(words, path)
        except BadStep as refusal:
            raise _located(refusal, path) from None

    def _step(self, words: Words, path: Path) -> WrittenStep:
        _refuse_unknown(words, STEP_KEYS, "a step")
        self._count += 1
        return WrittenStep(
            name=_parse_name(words["name"]) if "name" in words else f"{words.get('do')}-{self._count}",
            words={key: value for key, value in words.items() if key not in ("name", "repeat", *ALL_KEYS)},
            start=parse_start(words),
            repeat=_parse_repeat(words),
            path=path,
        )

    def _block(self, kinds: Sequence[BlockKind], words: Words, path: Path) -> Block:
        _refuse_unknown(words, BLOCK_KEYS, "a block")
        if len(kinds) > 1:
            raise BadStep("parallel", words["parallel"], "one of sequence, parallel, in one block")
        kind = kinds[0]
        if len(path) >= 2 * MOST_DEPTH:
            raise BadStep(kind, words[kind], f"at most {MOST_DEPTH} blocks in each other")
        if "then" in words and kind != "sequence":
            raise BadStep("then", words["then"], "nothing: it belongs to 'sequence'")
        return Block(
            kind=kind,
            name=_parse_name(words["name"]) if "name" in words else None,
            entries=self._entries(kind, words[kind], path),
            then=_parse_then(words["then"]) if "then" in words else Then(),
            start=parse_start(words),
            repeat=_parse_repeat(words),
            path=path,
        )

    def _entries(self, kind: BlockKind, listed: object, path: Path) -> tuple[Entry, ...]:
        if not isinstance(listed, list | tuple) or not listed:
            raise BadStep(kind, listed, "a list of steps and blocks")
        entries = tuple(self.entry(words, (*path, kind, index)) for index, words in enumerate(listed))
        for entry in entries:
            if isinstance(entry.start, At):
                allowed = "nothing in a block, whose steps have its start; or after, or when"
                raise BadStep("at", write_duration(entry.start.offset_s), allowed, path=entry.path)
        if kind == "sequence" and entries[0].start is not None:
            key = next(key for key in ("after", "when") if key in listed[0])
            allowed = "nothing in the first step of a sequence: it begins with the block"
            raise BadStep(key, listed[0][key], allowed, path=entries[0].path)
        return entries


def _refuse_unknown(words: Words, keys: Sequence[str], what: str) -> None:
    for key in words:
        if key not in keys:
            raise BadStep(key, words[key], f"the keys of {what}: {', '.join(keys)}", keys=keys)


def _parse_name(value: object) -> str:
    if not isinstance(value, str) or not STEP_NAME.fullmatch(value) or value == PREVIOUS:
        raise BadStep("name", value, NAMES)
    return value


def _parse_repeat(words: Words) -> Repeat | None:
    return parse_repeat(words["repeat"]) if "repeat" in words else None


def _parse_then(value: object) -> Then:
    match = _THEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise BadStep("then", value, "begin, end or recovered, as in end + 2s")
    delay_s = parse_duration(match["delay"], "then") if match["delay"] else READY_S
    match match["moment"]:
        case "begin" | "end" as moment:
            return Then(moment=moment, delay_s=delay_s)
        case _:
            return Then(delay_s=delay_s)

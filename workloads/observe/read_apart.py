"""Reads partitions to their ends in processes of their own, as many as there are processors.

Decoding holds the interpreter's lock, so that one process keeps one processor busy, however many there are.
Each is a program (`python -m workloads.observe.read_apart BOOTSTRAP HISTORY RUN PARTITIONS`), not a fork:
what has threads cannot be forked. It is asked by lines of JSON, and answers each with one. It ends when who
asks has ended, also in the middle of a read: a harness that was killed leaves nothing behind.
"""

import json
import os
import queue
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Any

from checkers.history.rows import TopicPartition
from compose.errors import CommandFailed
from compose.host.shell import Answering, own_modules
from workloads.clients.consumer import exact_reader
from workloads.errors import ReadEnded
from workloads.observe.leaders import LeaderState
from workloads.observe.partition_logs import LogsHere, Reached

LOOK_S = 0.2
"""How often somebody looks whether a read that may take minutes is to be broken off."""


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LogsApart:
    """Implements `partition_logs.PartitionLogs` in processes, which start at once.

    `records` says how much there is to read of each partition: about as much is dealt to each process.
    ReadEnded if one of them has ended by itself.
    """

    def __init__(
        self, records: Mapping[TopicPartition, int], bootstrap: str, history: Path, run: str, *, count: int
    ) -> None:
        self._share = dealt(records, count)
        self._readers: list[Answering] = []
        try:
            for share in self._share:
                program = [sys.executable, "-m", "workloads.observe.read_apart", bootstrap, str(history), run]
                self._readers.append(Answering([*program, json.dumps(share)], env=own_modules()))
        except BaseException:
            self.close()
            raise

    def read(
        self, states: Sequence[LeaderState], deadline: float, stop: Event
    ) -> dict[TopicPartition, Reached]:
        """All at once; `deadline` is of a clock that all processes share. ReadEnded if it is broken off."""
        asked = [
            {"deadline": deadline, "states": [asdict(state) for state in states if state.tp in share]}
            for share in self._share
        ]
        answers = [each for answer in self._asked(asked, stop) for each in answer]
        return {TopicPartition(*tp): Reached(*reached) for tp, reached in answers}

    def finish(self) -> None:
        """And have them end."""
        self._asked([{} for _ in self._readers], Event())
        self.close()

    def close(self) -> None:
        """End them at once."""
        for reader in self._readers:
            reader.kill()

    def _asked(self, questions: Sequence[Mapping[str, Any]], stop: Event) -> list[Any]:
        """The answers of all of them, who work at the same time."""
        for reader, question in zip(self._readers, questions, strict=True):
            reader.ask(json.dumps(question))
        try:
            return [self._answer(reader, stop) for reader in self._readers]
        except CommandFailed as error:
            raise ReadEnded(f"a process that reads the final log has ended: {error}") from error

    def _answer(self, reader: Answering, stop: Event) -> Any:  # noqa: ANN401 - as JSON has it
        while not reader.has_answered(within_s=LOOK_S):
            if stop.is_set():
                raise ReadEnded("the final read was broken off")
        return json.loads(reader.answer())


def dealt(records: Mapping[TopicPartition, int], count: int) -> list[list[TopicPartition]]:
    """The partitions in at most `count` parts, with about as many records in each."""
    parts: list[list[TopicPartition]] = [[] for _ in range(min(count, len(records)))]
    sizes = [0] * len(parts)
    for tp in sorted(records, key=lambda each: -records[each]):
        least = sizes.index(min(sizes))
        parts[least].append(tp)
        sizes[least] += records[tp]
    return parts


def main(argv: Sequence[str] | None = None) -> int:
    """The program."""
    bootstrap, history, run, partitions = sys.argv[1:] if argv is None else argv
    tps = [TopicPartition(*tp) for tp in json.loads(partitions)]
    logs = LogsHere(tps, Path(history), exact_reader(bootstrap), run)
    questions: queue.SimpleQueue[str] = queue.SimpleQueue()
    never = threading.Event()
    threading.Thread(target=_pass_on, args=(questions,), daemon=True).start()
    while question := json.loads(questions.get()):
        states = [_state(words) for words in question["states"]]
        reached = logs.read(states, question["deadline"], never)
        print(json.dumps(list(reached.items())), flush=True)
    logs.finish()
    print("[]", flush=True)
    return 0


def _pass_on(questions: "queue.SimpleQueue[str]") -> None:
    for question in sys.stdin:
        questions.put(question)
    os._exit(0)  # who asks has ended


def _state(words: Mapping[str, Any]) -> LeaderState:
    lists = {name: tuple(words[name]) for name in ("replicas", "isr")}
    return LeaderState(**{**words, **lists, "tp": TopicPartition(*words["tp"])})


if __name__ == "__main__":
    raise SystemExit(main())

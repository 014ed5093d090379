"""Seals a load in a process of its own.

Who seals while the final read goes on would keep the interpreter's lock from it, and the processors where all
are busy: so it comes behind others, and catches up while the brokers stop. The process is a program
(`python -m workloads.record.seal_apart RUN_DIR RUN`), not a fork or a copy of this one: what has threads
cannot be forked, and the module that a user runs need not be one that may be run twice. It prints what it has
sealed as JSON; its exit code is DAMAGED, and its last line the reason, where a journal is. It ends when its
stdin does, which is when who waits for it has ended: whoever judges what that left seals it again, and must
not find somebody at the same files.
"""

import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compose.host.shell import BEHIND_OTHERS, Running, own_modules
from workloads.errors import JournalUnreadable, SealEnded
from workloads.record.recorder import RecordedSends
from workloads.record.seal import ProducerFacts, Sealed, seal_load

DAMAGED = 3


class SealApart:
    """The process, which starts at once."""

    def __init__(self, run_dir: Path, run: str) -> None:
        """As `seal_load` of a load that has ended."""
        program = [sys.executable, "-m", "workloads.record.seal_apart", str(run_dir), run]
        self._process = Running([*BEHIND_OTHERS, *program], env=own_modules())

    def result(self) -> Sealed:
        """Wait for it. JournalUnreadable as `seal_load`; SealEnded if the process has ended by itself."""
        done = self._process.wait()
        if done.ok:
            return _sealed(json.loads(done.stdout))
        last = (done.stderr.strip().splitlines() or [""])[-1]
        if done.code == DAMAGED:
            raise JournalUnreadable(last)
        raise SealEnded(f"the process that seals the history has ended with {done.code}: {last}")

    def kill(self) -> None:
        """End it at once: the journals stay."""
        self._process.kill()


def main(argv: Sequence[str] | None = None) -> int:
    """The program."""
    run_dir, run = sys.argv[1:] if argv is None else argv
    threading.Thread(target=_end_with_who_waits, name="stdin", daemon=True).start()
    try:
        sealed = seal_load(Path(run_dir), run, ended=True)
    except JournalUnreadable as error:
        print(error, file=sys.stderr)
        return DAMAGED
    print(json.dumps(asdict(sealed)))
    return 0


def _end_with_who_waits() -> None:
    """Past Python's own stdin, whose lock must be free when the interpreter ends."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _sealed(facts: dict[str, Any]) -> Sealed:
    producers = (
        ProducerFacts(**{**each, "recorded": each["recorded"] and RecordedSends(**each["recorded"])})
        for each in facts["producers"]
    )
    return Sealed(producers=tuple(producers), sends=facts["sends"], reads=facts["reads"])


if __name__ == "__main__":
    raise SystemExit(main())

"""The state of a run as it goes: one manifest, written again at each change; a crash shows where it was."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from harness.run_directory.layout import SCHEMA_VERSION, RunDir

State = Literal["running", "complete", "interrupted", "failed"]


class Manifest:
    """Facts of a run; every change is on disk before the call returns."""

    def __init__(self, run_dir: RunDir, facts: Mapping[str, Any]) -> None:
        """Write the first manifest, state "running", with one reading of both clocks."""
        self._run_dir = run_dir
        self.facts: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            **facts,
            "state": "running",
            "phase": "",
            "problem": "",
            "clock": {"monotonic_ns": time.monotonic_ns(), "wall_ns": time.time_ns()},
            "timings": {},
        }
        self._write()

    def add(self, **facts: Any) -> None:  # noqa: ANN401 - a manifest holds any JSON
        """Note facts that became known."""
        self.facts.update(facts)
        self._write()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Note that `name` begins, and how long it took (also if it fails)."""
        self.add(phase=name)
        begin = time.monotonic()
        try:
            yield
        finally:
            self.facts["timings"][f"{name}_s"] = round(time.monotonic() - begin, 3)
            self._write()

    def finish(self, state: State, problem: str = "") -> None:
        """Note how the run ended; the first end counts, later ones only if the run had been complete."""
        if self.facts["state"] in ("running", "complete"):
            self.add(state=state, problem=problem)

    def _write(self) -> None:
        self._run_dir.write_manifest(self.facts)

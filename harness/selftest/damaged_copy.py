"""A copy of a run's directory whose tables can be changed row by row, and sealed again.

Files are symbolic links to those of the run until they are changed, so a copy costs milliseconds, and nothing
is ever written to the run itself: every way to write replaces the link.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.errors import MalformedHistory
from checkers.history.load import partitions, replica_files, rows_of
from checkers.history.rows import TopicPartition
from checkers.history.tables import (
    OPTIONAL,
    PARTITIONED,
    REPLICA_BATCHES,
    TABLES,
    Outcome,
    replica_path,
    unit_path,
    write_table,
)
from harness.run_directory.digests import files_of, sha256_of
from harness.run_directory.layout import RunDir, write_whole

_NAMES = {each.value: each.name.lower() for each in Outcome}
Row = dict[str, Any]
"""A row of a table by column, lists as lists."""


class NotApplicable(Exception):
    """The run has nothing that this damage could change; the message says what it lacks."""


class Original:
    """A run that is copied many times: what was read of it stays in memory."""

    def __init__(self, run: RunDir) -> None:
        """Nothing is read but the names of the files, the manifest and the scenario."""
        self.files = files_of(run.history)
        self.partitions = partitions(run.history)
        self.manifest = run.manifest.read_text()
        self.scenario = run.scenario.read_text()
        self._rows: dict[Path, list[Row]] = {}
        self._lock = Lock()

    def rows(self, path: Path) -> list[Row]:
        """The rows of a file of the run; nobody may change them."""
        with self._lock:
            if path not in self._rows:
                self._rows[path] = _read(path)
            return self._rows[path]


def _read(path: Path) -> list[Row]:
    """Without any check: a damaged table is read, too."""
    with pq.ParquetFile(path) as file:
        return list(file.read(use_threads=False).to_pylist())


def _outcomes(path: Path) -> Counter[tuple[int, int]]:
    """How many sends of a file each producer has with each outcome; without any check."""
    with pq.ParquetFile(path) as file:
        rows = file.read(columns=["producer", "outcome"], use_threads=False)
    return Counter(zip(rows["producer"].to_pylist(), rows["outcome"].to_pylist(), strict=True))


class DamagedCopy:
    """The copy of one run in a folder of its own."""

    def __init__(self, original: Original, folder: Path) -> None:
        """Link every file of the history, copy manifest and scenario."""
        self.run = RunDir(path=folder)
        for name, path in original.files.items():
            link = self.run.history / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.resolve())
        self.manifest: Row = json.loads(original.manifest)
        self.scenario = original.scenario
        self._original = original

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Every partition of the run."""
        return self._original.partitions

    def rows(self, table: str, tp: TopicPartition | None = None) -> list[Row]:
        """The rows of a table, or of one partition's file of it; NotApplicable if it was not collected."""
        path = unit_path(self.run.history, table, *(tp or ()))
        if table in OPTIONAL and not path.exists():
            raise NotApplicable(f"no table {table}")
        return self._rows(path)

    def count(self, table: str, tp: TopicPartition) -> int:
        """How many rows one partition's file of a table has."""
        return rows_of(unit_path(self.run.history, table, *tp))

    def put(self, table: str, rows: Sequence[Row], tp: TopicPartition | None = None) -> None:
        """Replace the rows of a table, or of one partition's file of it."""
        path = unit_path(self.run.history, table, *(tp or ()))
        self._write(path, table, rows, tp)

    def brokers_of(self, tp: TopicPartition) -> list[int]:
        """The brokers whose batches of a partition there are; NotApplicable without any."""
        found = {int(path.stem.partition("-")[0]) for path in replica_files(self.run.history, tp)}
        if not found:
            raise NotApplicable("no batches of replicas")
        return sorted(found)

    def batches(self, tp: TopicPartition, broker: int) -> list[Row]:
        """The batches of one replica in the order of its log."""
        return [row for path in self._pieces(tp, broker) for row in self._rows(path)]

    def put_batches(self, tp: TopicPartition, broker: int, rows: Sequence[Row]) -> None:
        """Replace the batches of one replica."""
        for path in self._pieces(tp, broker):
            path.unlink()
        self._write(replica_path(self.run.history, *tp, broker, 0), REPLICA_BATCHES, rows, tp)

    def put_bytes(self, path: Path, content: bytes) -> None:
        """Replace a file by these bytes; it may be new."""
        path.unlink(missing_ok=True)
        path.write_bytes(content)

    def remove(self, table: str, tp: TopicPartition | None = None) -> None:
        """Remove a table, or one partition's file of it; of the replicas' batches all files."""
        folder = self.run.history / table
        whole = table in (*PARTITIONED, REPLICA_BATCHES) and tp is None
        paths = folder.rglob("*.parquet") if whole else [unit_path(self.run.history, table, *(tp or ()))]
        for path in list(paths):
            path.unlink()
        if table == REPLICA_BATCHES:
            for each in folder.iterdir():
                each.rmdir()
            folder.rmdir()

    def close(self, *, sealed: bool) -> None:
        """Write manifest and scenario; `sealed`: with the digests and counts of what there is now."""
        if sealed:
            self._seal()
        write_whole(self.run.scenario, self.scenario)
        write_whole(self.run.manifest, json.dumps(self.manifest))

    def _seal(self) -> None:
        found = files_of(self.run.history)
        known = self.manifest.get("files") or {}
        if "files" in self.manifest:
            self.manifest["files"] = {
                name: known[name] if self._unchanged(name, path) else self._noted(path)
                for name, path in found.items()
            }
        if "scenario_sha256" in self.manifest:
            self.manifest["scenario_sha256"] = hashlib.sha256(self.scenario.encode()).hexdigest()
        if "recorded" in self.manifest and self._sends_changed(found):
            self.manifest["recorded"] = self._recorded()

    def _unchanged(self, name: str, path: Path) -> bool:
        return name in self._original.files and path.is_symlink()

    def _noted(self, path: Path) -> Row:
        try:
            rows = rows_of(path)
        except MalformedHistory:
            rows = 0
        return {"rows": rows, "sha256": sha256_of(path)}

    def _sends_changed(self, found: Mapping[str, Path]) -> bool:
        its = {name: path for name, path in found.items() if name.startswith("sends/")}
        before = {name for name in self._original.files if name.startswith("sends/")}
        return its.keys() != before or not all(self._unchanged(name, path) for name, path in its.items())

    def _recorded(self) -> dict[str, Row]:
        """Counted anew; the counts that there were, if a file of them cannot be read."""
        counts: dict[int, Counter[str]] = {each["producer"]: Counter() for each in self.manifest["producers"]}
        for path in (self.run.history / "sends").glob("*.parquet"):
            try:
                found = _outcomes(path)
            except (pa.ArrowException, OSError):
                return dict(self.manifest["recorded"])
            for (producer, outcome), sends in found.items():
                counts.setdefault(producer, Counter())[_NAMES.get(outcome, "info")] += sends
        return {
            str(producer): {"attempts": its.total(), **{name: its[name] for name in ("ok", "fail", "info")}}
            for producer, its in sorted(counts.items())
        }

    def _rows(self, path: Path) -> list[Row]:
        """Of a file that is still a link from memory; each row may be changed."""
        if path.is_symlink():
            return [dict(row) for row in self._original.rows(path.resolve())]
        return _read(path)

    def _pieces(self, tp: TopicPartition, broker: int) -> list[Path]:
        found = map(Path, map(str, replica_files(self.run.history, tp)))
        return [path for path in found if path.stem.partition("-")[0] == str(broker)]

    def _write(self, path: Path, table: str, rows: Sequence[Row], tp: TopicPartition | None) -> None:
        held = pa.Table.from_pylist(list(rows), schema=TABLES[table])
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(path, table, held, *(tp or ()), run=self.manifest.get("run", ""))

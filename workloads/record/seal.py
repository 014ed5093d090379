"""Turns the journals of a run into tables of its history; the bulk ones have a file for each partition.

Works as well on what a killed run has left. A send that was invoked and has no completion in the journal is
sealed as info with completed_ns -1. Memory is bounded by SLICE rows, whatever the length of the run.

Every journal must be of the run, whole up to where it was torn, and hold what its writer counted. A journal
without an end is what a killed run leaves; in a run that came to its end it is damage.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from checkers.history.rows import TopicPartition
from checkers.history.tables import (
    GROUP_ROWS,
    NONE,
    OPTIONAL,
    TABLES,
    TOPIC_NAME,
    Outcome,
    file_schema,
    open_writer,
    unit_path,
    write_table,
)
from workloads.errors import JournalUnreadable
from workloads.record import journal
from workloads.record.journal import JournalState, Portion
from workloads.record.recorder import INVOKED, READ, RecordedSends

SLICE = 1_000_000
REMOVED = ".journal.sealed"
"""What the directory of the journals is called until it is removed: it is no journal any more."""
OF_LOAD = ("watermarks", "client_events")
OBSERVED = ("node_events", "clocks", "pressure", "replica_offsets", "transaction_reads")
"""Tables that the load alone writes to; and those that others write to as well, or alone. Their journals have
their columns; one that has no journal was not collected."""
LAST_OF: Mapping[str, tuple[str, ...]] = {
    "faults": ("index",),
    "transactions": ("producer", "number"),
    "fencings": ("producer",),
}
"""Tables whose rows are written down again at each of their stages: of those with the same in these columns
the last one counts."""
_INVOKED_TYPES = (np.int16, np.int64, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerFacts:
    """One producer instance, as the manifest lists it; `recorded` None: it was killed at its work."""

    producer: int
    acks: str
    idempotence: bool
    recorded: RecordedSends | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """What was sealed."""

    producers: tuple[ProducerFacts, ...] = ()
    sends: int = 0
    reads: int = 0


def seal(run_dir: Path, run: str = "", *, ended: bool = False) -> Sealed:
    """Write `sends`, `reads`, `producers` and what was observed of the run, then remove the journals.

    `run` is the run's id, `ended` whether every journal must have its end. Files get their names when they
    are whole; a seal that is interrupted is done again from the journals. JournalUnreadable names a journal
    that is damaged or of another run; or there is none that has the run's partitions.
    """
    sealed = seal_load(run_dir, run, ended=ended)
    seal_observed(run_dir, run, ended=ended)
    remove_sealed(run_dir)
    return sealed


def remove_sealed(run_dir: Path) -> None:
    """Remove the journals that `seal_observed` has put aside, or what is left of them after an interrupt.

    It may take seconds: a file system may first write down what else waits to be written.
    """
    if (left := run_dir / REMOVED).is_dir():
        shutil.rmtree(left)


def seal_load(run_dir: Path, run: str = "", *, ended: bool = False) -> Sealed:
    """The part of `seal` whose journals end with the load, as soon as it has; the journals stay.

    Raises as `seal`.
    """
    directory, history = run_dir / "journal", run_dir / "history"
    of_load, observed = _journals(directory)
    states = _inspected(of_load, run, ended=ended)
    partitions = _partitions(directory, states | _inspected(observed, run, ended=False))
    producers = [state for path, state in states.items() if path.name.endswith(".invoked.arrow")]
    readers = _named_after("reads-", states)
    facts = tuple(_producer(each, states) for each in producers)
    errors = _error_names(states.get(directory / "errors.arrow"))
    with ThreadPoolExecutor(1, "seal") as beside:
        sealing = beside.submit(_seal_all_reads, readers, _Units(history, "reads", partitions, run))
        with _Units(history, "sends", partitions, run) as units:
            sends = sum(
                _seal_sends(each, states.get(_done_of(each.path)), its, errors, units)
                for each, its in zip(producers, facts, strict=True)
            )
        reads = sealing.result()
    _seal_tables(OF_LOAD, states, history, run)
    for table in LAST_OF:
        _seal_last(table, _named_after(table, states), history, run)
    _write_producers(facts, history, run)
    return Sealed(producers=facts, sends=sends, reads=reads)


def seal_observed(run_dir: Path, run: str = "", *, ended: bool = False) -> None:
    """The rest: what was observed of nodes, replicas, clocks and processors. Raises as `seal`.

    All journals are put aside then, for `remove_sealed`.
    """
    directory, history = run_dir / "journal", run_dir / "history"
    _, observed = _journals(directory)
    states = _inspected(observed, run, ended=ended)
    _seal_tables(OBSERVED, states, history, run)
    _put_aside(directory)


def _put_aside(directory: Path) -> None:
    """All journals at once: of half of them, another seal would make tables without the rest."""
    remove_sealed(directory.parent)
    directory.rename(directory.with_name(REMOVED))


def _journals(directory: Path) -> tuple[list[Path], list[Path]]:
    """Those of the load, and those of what was observed, which may still be written."""
    paths = sorted(directory.glob("*.arrow"))
    observed = [path for path in paths if path.name.startswith(OBSERVED)]
    return [path for path in paths if path not in observed], observed


def _inspected(journals: Iterable[Path], run: str, *, ended: bool) -> dict[Path, JournalState]:
    """Those with a whole head; each byte of them is checked here, and nowhere again."""
    states = {}
    for path in journals:
        state = journal.inspect(path)
        if ended and (state is None or state.counted is None):
            raise JournalUnreadable(f"{path}: damaged: its writer has ended it, and the end is not there")
        if state is not None and state.facts.get("run", "") != run:
            raise JournalUnreadable(f"{path}: of run {state.facts.get('run', '')!r}, this is run {run!r}")
        if state is not None:
            states[path] = state
    return states


def _partitions(directory: Path, states: Mapping[Path, JournalState]) -> tuple[TopicPartition, ...]:
    if not states:
        raise JournalUnreadable(
            f"{directory}: no journal with a whole head; nothing was ever sent in this run"
        )
    lists = {state.facts.get("partitions", "") for state in states.values()}
    if len(lists) != 1 or "" in lists:
        raise JournalUnreadable(f"{directory}: journals of different runs, partitions {lists}")
    text = lists.pop()
    try:
        partitions = tuple(_partition(item) for item in json.loads(text))
    except (ValueError, TypeError, RecursionError):
        partitions = ()
    if not partitions or len(set(partitions)) < len(partitions):
        raise JournalUnreadable(
            f"{directory}: the journals are of partitions that no run has: {text[:200]!r}"
        )
    return partitions


def _partition(item: object) -> TopicPartition:
    """A partition that a journal names. ValueError if it is none of Kafka's: it becomes part of a path."""
    match item:
        case [str(topic), int(number)] if re.fullmatch(TOPIC_NAME, topic) and number in range(1 << 31):
            return TopicPartition(topic, int(number))
    raise ValueError(item)


def _named_after(name: str, states: Mapping[Path, JournalState]) -> list[JournalState]:
    return [state for path, state in states.items() if path.name.startswith(name)]


def _producer(invoked: JournalState, states: Mapping[Path, JournalState]) -> ProducerFacts:
    """The instance whose sends are in the journal `invoked`; its completions must be there too."""
    done = _done_of(invoked.path)
    if invoked.portions and done not in states:
        raise JournalUnreadable(f"{done}: missing or torn, though its producer has sent records")
    return ProducerFacts(
        producer=int(invoked.facts["producer"]),
        acks=invoked.facts["acks"],
        idempotence=bool(json.loads(invoked.facts["idempotence"])),
        recorded=_recorded(invoked, states.get(done)),
    )


def _recorded(invoked: JournalState, done: JournalState | None) -> RecordedSends | None:
    """What a producer counted that ended both of its journals."""
    ends = (done.counted if done is not None else None) or {}
    if invoked.counted is None or "ok" not in ends:
        return None
    return RecordedSends(attempts=invoked.counted["rows"], ok=ends["ok"], fail=ends["fail"])


def _done_of(invoked: Path) -> Path:
    return invoked.with_name(invoked.name.replace(".invoked.", ".done."))


class _Units:
    """The files of one bulk table, one for each partition, written together."""

    def __init__(self, history: Path, table: str, partitions: Sequence[TopicPartition], run: str) -> None:
        self._table, self._partitions, self._run = table, partitions, run
        self._paths = [unit_path(history, table, *tp) for tp in partitions]
        self._stack = ExitStack()

    def __enter__(self) -> "_Units":
        self._writers = [
            self._stack.enter_context(
                open_writer(path.with_suffix(".growing"), self._table, *tp, run=self._run)
            )
            for path, tp in zip(self._paths, self._partitions, strict=True)
        ]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stack.close()
        if kind is None:
            for path in self._paths:
                path.with_suffix(".growing").rename(path)

    def write(self, lanes: NDArray[np.int16], columns: dict[str, NDArray[Any] | pa.Array]) -> None:
        """Give each row to the file of its lane; rows of a lane keep their order."""
        order = np.argsort(lanes, kind="stable")
        bounds = np.searchsorted(lanes[order], np.arange(len(self._partitions) + 1))
        rows = pa.table(columns).take(pa.array(order))
        for lane, writer in enumerate(self._writers):
            begin, end = int(bounds[lane]), int(bounds[lane + 1])
            if begin < end:
                self._put(writer, self._partitions[lane], rows.slice(begin, end - begin))

    def _put(self, writer: pq.ParquetWriter, tp: TopicPartition, rows: pa.Table) -> None:
        home = {
            "topic": _constant(tp.topic, rows.num_rows),
            "partition": pa.array(np.full(rows.num_rows, tp.partition, np.int32)),
        }
        whole = home | dict(zip(rows.column_names, rows.columns, strict=True))
        names = TABLES[self._table].names
        schema = file_schema(self._table, *tp, run=self._run)
        writer.write_table(
            pa.table([whole[name] for name in names], schema=schema), row_group_size=GROUP_ROWS
        )


def _constant(text: str, count: int) -> pa.Array:
    """A string column with one value, made without a Python object a row."""
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [text]).cast(pa.string())


def _seal_sends(
    sends: JournalState,
    ends: JournalState | None,
    producer: ProducerFacts,
    errors: Sequence[str],
    units: _Units,
) -> int:
    """Seal one producer instance, SLICE sequences at a time; how many sends it made."""
    completions = _Completions(ends)
    total = 0
    outcomes: NDArray[np.int64] = np.zeros(len(Outcome), np.int64)
    for invoked in _slices(sends, INVOKED, _INVOKED_TYPES):
        lanes, invoked_ns, checksums = invoked
        count = len(lanes)
        done = completions.of(total, count)
        columns = {
            "producer": np.full(count, producer.producer, np.int32),
            "sequence": np.arange(total, total + count, dtype=np.int64),
            "invoked_ns": invoked_ns,
            "completed_ns": done["completed_ns"],
            "outcome": done["outcome"],
            "offset": done["offset"],
            "checksum": checksums,
            "error": _named(done["error"], errors),
        }
        units.write(lanes, columns)
        total += count
        outcomes += np.bincount(done["outcome"], minlength=len(Outcome))
    _compare(_done_of(sends.path), producer, outcomes)
    return total


def _compare(done: Path, producer: ProducerFacts, outcomes: NDArray[np.int64]) -> None:
    """The completions that were sealed must be those that were counted when they were reported."""
    if (counted := producer.recorded) is None:
        return
    found, expected = outcomes.tolist(), [counted.ok, counted.fail, counted.info]
    if found != expected:
        raise JournalUnreadable(f"{done}: damaged: {_counts(found)}; its writer counted {_counts(expected)}")


def _counts(by_outcome: Sequence[int]) -> str:
    return ", ".join(f"{by_outcome[each]} {each.name.lower()}" for each in Outcome)


class _Completions:
    """How the sends of one producer ended. They are in the order of their ends, so each portion of the
    journal has sequences near each other, and is read for one slice of them or two."""

    def __init__(self, state: JournalState | None) -> None:
        """None: there are none."""
        self._state = state
        self._portions: list[Portion] = []
        spans = []
        for portion, batch in journal.read_portions(state) if state is not None else ():
            sequences = batch.column("sequence").to_numpy()
            self._portions.append(portion)
            spans.append((int(sequences.min()), int(sequences.max())))
        self._lowest, self._highest = np.array(spans, np.int64).reshape(-1, 2).T

    def of(self, first: int, count: int) -> dict[str, NDArray[Any]]:
        """Of the sends `first` .. `first + count - 1`, by position; info and -1 where nothing is known."""
        ends: dict[str, NDArray[Any]] = {
            "completed_ns": np.full(count, NONE, np.int64),
            "outcome": np.full(count, Outcome.INFO, np.int8),
            "offset": np.full(count, NONE, np.int64),
            "error": np.zeros(count, np.int16),
        }
        touching = (self._lowest < first + count) & (self._highest >= first)
        portions = [self._portions[at] for at in np.flatnonzero(touching).tolist()]
        for batch in journal.rows_at(self._state.path, portions) if self._state is not None else ():
            place = batch.column("sequence").to_numpy() - first
            mine = (place >= 0) & (place < count)
            for name, column in ends.items():
                column[place[mine]] = batch.column(name).to_numpy()[mine]
        return ends


def _error_names(state: JournalState | None) -> list[str]:
    """The names of errors by their numbers; 0 is none."""
    return ["", *(name for batch in journal.read(state) for name in batch.column("name").to_pylist())]


def _named(numbers: NDArray[np.int16], names: Sequence[str]) -> pa.Array:
    """The error of each send; one whose name was lost with the machine keeps its number."""
    distinct, places = np.unique(numbers, return_inverse=True)
    known = [names[n] if 0 <= n < len(names) else f"error {n} of a lost name" for n in distinct.tolist()]
    return pa.DictionaryArray.from_arrays(places.astype(np.int32), known).cast(pa.string())


def _seal_all_reads(readers: Sequence[JournalState], of_reads: _Units) -> int:
    with of_reads as units:
        return sum(_seal_reads(each, units) for each in readers)


def _seal_reads(reads: JournalState, units: _Units) -> int:
    total = 0
    for lanes, *rest in _slices(reads, READ, tuple(field.type.to_pandas_dtype() for field in READ)):
        units.write(lanes, dict(zip(READ.names[1:], rest, strict=True)))
        total += len(lanes)
    return total


def _slices(state: JournalState, schema: pa.Schema, types: Sequence[type]) -> Iterator[list[NDArray[Any]]]:
    """The columns of a journal in portions of about SLICE rows."""
    for batches in _portions(journal.read(state)):
        yield _join(batches, schema, types)


def _join(batches: list[pa.RecordBatch], schema: pa.Schema, types: Sequence[type]) -> list[NDArray[Any]]:
    columns = ([batch.column(name).to_numpy() for batch in batches] for name in schema.names)
    return [np.concatenate(column).astype(t, copy=False) for column, t in zip(columns, types, strict=True)]


def _seal_tables(tables: Iterable[str], states: Mapping[Path, JournalState], history: Path, run: str) -> None:
    """Each table from those of the journals that are named after it."""
    for table in tables:
        _seal_table(table, _named_after(table, states), history, run)


def _seal_table(table: str, journals: Sequence[JournalState], history: Path, run: str) -> None:
    """Write the rows of all journals of a table that is one file. Without any it was not collected, and is
    not there; where it must be there, it is empty."""
    if table in OPTIONAL and not journals:
        return
    path = unit_path(history, table)
    growing = path.with_suffix(".growing")
    with open_writer(growing, table, run=run) as writer:
        for batches in _portions(batch for each in journals for batch in journal.read(each)):
            rows = pa.Table.from_batches(batches).replace_schema_metadata(writer.schema.metadata)
            writer.write_table(rows, row_group_size=GROUP_ROWS)
    growing.rename(path)


def _seal_last(table: str, journals: Sequence[JournalState], history: Path, run: str) -> None:
    """The last that was written down of each row; a schedule that came to its end has left its table."""
    path = unit_path(history, table)
    if path.exists() or not journals:
        return
    rows = pa.Table.from_batches((batch for each in journals for batch in journal.read(each)), TABLES[table])
    keys = zip(*(rows[name].to_pylist() for name in LAST_OF[table]), strict=True)
    last = {key: row for row, key in enumerate(keys)}
    kept = pa.array([last[key] for key in sorted(last)], pa.int64())
    write_table(path, table, rows.take(kept), run=run)


def _portions(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Batches of about SLICE rows together."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= SLICE:
            yield held
            held, rows = [], 0
    if held:
        yield held


def _write_producers(facts: Sequence[ProducerFacts], history: Path, run: str) -> None:
    columns = {
        "producer": [each.producer for each in facts],
        "acks": [each.acks for each in facts],
        "idempotence": [each.idempotence for each in facts],
    }
    rows = pa.table(columns, schema=TABLES["producers"])
    write_table(unit_path(history, "producers"), "producers", rows, run=run)

"""Damage to what readers were given."""

from dataclasses import replace
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, pick, swap
from checkers.history.rows import Read
from checkers.history.tables import NONE
from checkers.properties import Property


def _read(history: EditableHistory, rng: Random) -> Read:
    decided = history.decided()
    return pick(rng, [read for read in history.reads if read.tp in decided])


def _stream(history: EditableHistory, rng: Random, least: int) -> list[Read]:
    """All that one reader was given of a partition in one generation, at least so many reads."""
    streams: dict[tuple[object, ...], list[Read]] = {}
    decided = history.decided()
    for read in history.reads:
        if read.tp in decided:
            streams.setdefault((read.tp, read.reader, read.generation), []).append(read)
    return pick(rng, [stream for stream in streams.values() if len(stream) >= least])


@noticed_by(Property.READ_UNCOMMITTED)
def read_another(history: EditableHistory, rng: Random) -> None:
    """A reader was given another record than the one that stayed, perhaps one without an id."""
    read = _read(history, rng)
    ids = sorted({send.id for send in history.sends} - {read.id})
    producer, sequence = rng.choice([*ids, (NONE, NONE)])
    swap(history.reads, read, replace(read, producer=producer, sequence=sequence))


@noticed_by(Property.READ_UNCOMMITTED)
def read_other_content(history: EditableHistory, rng: Random) -> None:
    """A reader was given other content."""
    read = _read(history, rng)
    swap(history.reads, read, replace(read, checksum=read.checksum + rng.randint(1, 2)))


@noticed_by(Property.READ_UNCOMMITTED)
def read_beyond_end(history: EditableHistory, rng: Random) -> None:
    """A reader was given records behind what is now the log's end."""
    read = _read(history, rng)
    end = max(proof.log_end for proof in history.proofs if proof.tp == read.tp)
    for offset in range(end, end + rng.randint(1, 3)):
        history.reads.append(replace(read, reader=read.reader + 10, offset=offset))


@noticed_by(Property.MONOTONE_READ)
def skip_a_read(history: EditableHistory, rng: Random) -> None:
    """A reader skipped a record."""
    stream = _stream(history, rng, 3)
    skipped = rng.choice(stream[1:-1])
    history.reads = [read for read in history.reads if read is not skipped]


@noticed_by(Property.MONOTONE_READ)
def repeat_a_read(history: EditableHistory, rng: Random) -> None:
    """A reader was given a record twice."""
    read = _read(history, rng)
    at = next(at for at, other in enumerate(history.reads) if other is read)
    history.reads.insert(at, read)


@noticed_by(Property.MONOTONE_READ)
def read_backwards(history: EditableHistory, rng: Random) -> None:
    """A reader was given two records in the wrong order."""
    stream = _stream(history, rng, 2)
    at = rng.randrange(len(stream) - 1)
    one, other = stream[at], stream[at + 1]
    places = [next(i for i, read in enumerate(history.reads) if read is each) for each in (one, other)]
    history.reads[places[0]], history.reads[places[1]] = other, one


@noticed_by(Property.SAME_FOR_ALL)
def give_two_records(history: EditableHistory, rng: Random) -> None:
    """Two readers were given different records at one offset."""
    read = _read(history, rng)
    changed = rng.choice(
        (replace(read, sequence=read.sequence + 1), replace(read, checksum=read.checksum ^ 1))
    )
    history.reads.append(replace(changed, reader=read.reader + 20))


@perhaps_harmless
def merge_generations(history: EditableHistory, rng: Random) -> None:
    """The seeks of a reader were not written down."""
    reader = pick(rng, history.reads).reader
    history.reads = [replace(r, generation=0) if r.reader == reader else r for r in history.reads]


@perhaps_harmless
def shift_reads(history: EditableHistory, rng: Random) -> None:
    """The offsets of a read are off by a few, perhaps below the log's start."""
    read = pick(rng, history.reads)
    swap(history.reads, read, replace(read, offset=max(0, read.offset + rng.randint(-8, 8))))


READ_KINDS = (
    read_another,
    read_other_content,
    read_beyond_end,
    skip_a_read,
    repeat_a_read,
    read_backwards,
    give_two_records,
    merge_generations,
    shift_reads,
)

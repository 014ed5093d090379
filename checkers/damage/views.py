"""Damage to what readers were given."""

from dataclasses import replace
from random import Random

from checkers.damage.draft import Draft, pick, swap
from checkers.damage.kind import noticed_by, perhaps_harmless
from checkers.history.rows import Read
from checkers.history.tables import NONE
from checkers.judgement import Property


def _read(draft: Draft, rng: Random) -> Read:
    decided = draft.decided()
    return pick(rng, [read for read in draft.reads if read.tp in decided])


def _stream(draft: Draft, rng: Random, least: int) -> list[Read]:
    """All that one reader was given of a partition in one generation, at least so many reads."""
    streams: dict[tuple[object, ...], list[Read]] = {}
    decided = draft.decided()
    for read in draft.reads:
        if read.tp in decided:
            streams.setdefault((read.tp, read.reader, read.generation), []).append(read)
    return pick(rng, [stream for stream in streams.values() if len(stream) >= least])


@noticed_by(Property.READ_UNCOMMITTED)
def read_another(draft: Draft, rng: Random) -> None:
    """A reader was given another record than the one that stayed, perhaps one without an id."""
    read = _read(draft, rng)
    ids = sorted({send.id for send in draft.sends} - {read.id})
    producer, sequence = rng.choice([*ids, (NONE, NONE)])
    swap(draft.reads, read, replace(read, producer=producer, sequence=sequence))


@noticed_by(Property.READ_UNCOMMITTED)
def read_other_content(draft: Draft, rng: Random) -> None:
    """A reader was given other content."""
    read = _read(draft, rng)
    swap(draft.reads, read, replace(read, checksum=read.checksum + rng.randint(1, 2)))


@noticed_by(Property.READ_UNCOMMITTED)
def read_beyond_end(draft: Draft, rng: Random) -> None:
    """A reader was given records behind what is now the log's end."""
    read = _read(draft, rng)
    end = max(proof.log_end for proof in draft.proofs if proof.tp == read.tp)
    for offset in range(end, end + rng.randint(1, 3)):
        draft.reads.append(replace(read, reader=read.reader + 10, offset=offset))


@noticed_by(Property.MONOTONE_READ)
def skip_a_read(draft: Draft, rng: Random) -> None:
    """A reader skipped a record."""
    stream = _stream(draft, rng, 3)
    skipped = rng.choice(stream[1:-1])
    draft.reads = [read for read in draft.reads if read is not skipped]


@noticed_by(Property.MONOTONE_READ)
def repeat_a_read(draft: Draft, rng: Random) -> None:
    """A reader was given a record twice."""
    read = _read(draft, rng)
    at = next(at for at, other in enumerate(draft.reads) if other is read)
    draft.reads.insert(at, read)


@noticed_by(Property.MONOTONE_READ)
def read_backwards(draft: Draft, rng: Random) -> None:
    """A reader was given two records in the wrong order."""
    stream = _stream(draft, rng, 2)
    at = rng.randrange(len(stream) - 1)
    one, other = stream[at], stream[at + 1]
    places = [next(i for i, read in enumerate(draft.reads) if read is each) for each in (one, other)]
    draft.reads[places[0]], draft.reads[places[1]] = other, one


@noticed_by(Property.SAME_FOR_ALL)
def tell_two_stories(draft: Draft, rng: Random) -> None:
    """Two readers were given different records at one offset."""
    read = _read(draft, rng)
    changed = rng.choice(
        (replace(read, sequence=read.sequence + 1), replace(read, checksum=read.checksum ^ 1))
    )
    draft.reads.append(replace(changed, reader=read.reader + 20))


@perhaps_harmless
def merge_generations(draft: Draft, rng: Random) -> None:
    """The seeks of a reader were not written down."""
    reader = pick(rng, draft.reads).reader
    draft.reads = [replace(r, generation=0) if r.reader == reader else r for r in draft.reads]


@perhaps_harmless
def shift_reads(draft: Draft, rng: Random) -> None:
    """The offsets of a read are off by a few, perhaps below the log's start."""
    read = pick(rng, draft.reads)
    swap(draft.reads, read, replace(read, offset=max(0, read.offset + rng.randint(-8, 8))))


READ_KINDS = (
    read_another,
    read_other_content,
    read_beyond_end,
    skip_a_read,
    repeat_a_read,
    read_backwards,
    tell_two_stories,
    merge_generations,
    shift_reads,
)

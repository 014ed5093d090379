"""A fuzz that never fails proves nothing: each part of the verifier, when it is broken, must show as
mismatches."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from fakes.history.inline_spark import InlineSpark

from checkers.damage import random_history, write
from checkers.damage.editable_history import EditableHistory, NotApplicable
from checkers.damage.kinds.log import copy_within
from checkers.history.rows import History
from checkers.judgement import Judgement
from checkers.reference import check
from spark_verify import partition_task, verify
from spark_verify.kernels import transactions
from spark_verify.kernels.anomalies import blocks, losses
from spark_verify.kernels.by_id import given, match_by_id
from spark_verify.kernels.by_position import order, reads
from spark_verify.kernels.ids import Ids
from spark_verify.kernels.replicas import between, checkpoints, within
from spark_verify.passes import apply_rules
from spark_verify.passes.by_id import fetch
from spark_verify.passes.partition import lay, scan
from spark_verify.passes.replicas import scan_replicas
from spark_verify.selftest import fuzz

NOTHING = np.empty(0, np.int64)
SEED = 24
TELLING = (97, 129, 57, 90, 11, 101, 151)
"""Each broken part shows in one of these histories, or in one with a copy. They are judged before the others,
those first in which most parts show, for time's sake only: when other histories are drawn one day, the others
are judged too, and it takes a second for each part."""
OTHERS, COPIES = 15, 20
"""Copies are histories in which one record is twice in its partition, and nothing else is wrong. A verifier
that gets the times of such a copy wrong shows in one of seven of them, and in one of 900 that are drawn as
the others."""


def only_at_home(shared, wanted):
    """Pass 2 that asks each partition only for the ids that it suspects itself."""
    own = scan.scan(wanted.task).suspects
    return fetch.fetch(
        FixedIds([own.ids if own else Ids.none()]),
        replace(wanted, case=0),
    )


def blocks_as_they_are(suspects, fetched):
    """Pass 1's blocks without the sends that other partitions have."""
    return [block for its in suspects for block in its.blocks]


def last_of_equal_reads(differing):
    """The groups of the reads in reverse."""
    groups = given.given({name: column[::-1] for name, column in differing.items()})
    last = len(differing["offset"]) - 1
    return replace(groups, first=last - groups.first, content=last - groups.content)


def without_times(residue):
    """Matches by id that give no record the times of its send."""
    nothing = match_by_id.Times(rows=NOTHING, invoked_ns=NOTHING, completed_ns=NOTHING)
    return replace(match_by_id.match_by_id(residue), given=nothing)


class FixedIds:
    def __init__(self, value):
        self.value = value


BROKEN = {
    "copies out of place have no time": (scan, "match_by_id", without_times),
    "second copies of acks have no time": (
        match_by_id,
        "placed_rows",
        lambda log, ids, _: ids.sequence * 0 - 1,
    ),
    "ids of placed acks are not looked up": (scan, "unresolved", lambda _: Ids.none()),
    "whatever is absent is explained": (losses, "absent", lambda unplaced, copies: copies < 0),
    "whatever has one copy is explained": (scan, "present_otherwise", lambda unplaced, copies: copies > 1),
    "no epoch encloses an ack": (
        losses,
        "_acks_below_watermark",
        lambda its: np.zeros(len(its.unplaced["offset"]), bool),
    ),
    "senders in other partitions are not asked for": (apply_rules, "with_senders", blocks_as_they_are),
    "of equal reads the last one counts": (scan, "given", last_of_equal_reads),
    "nobody was given what the log holds": (lay, "doubtful_rows", lambda *_: NOTHING),
    "witnesses do not silence the nameless": (
        scan,
        "nameless_losses",
        lambda task, window, holes, named: blocks.nameless_losses(task, window, holes, NOTHING),
    ),
    "sequences are not compared": (order.Sequences, "offenders", lambda self: Ids.none()),
    "sequences are compared within a batch only": (
        order.Sequences,
        "add",
        lambda self, step, honest=order.Sequences.add: (self.greatest.clear(), honest(self, step)),
    ),
    "times are not compared": (lay, "out_of_real_time", lambda *_: Ids.none()),
    "offenders come without the record that proves it": (
        order,
        "_below_the_greatest_before",
        lambda values, others, _: np.flatnonzero(values[1:] < np.maximum.accumulate(others)[:-1]) + 1,
    ),
    "reads that differ are passed over": (reads.Reads, "_add_differing", lambda *_: None),
    "order of reads is not compared": (reads.Streams, "_add_sorted", lambda *_: None),
    "what was not read is decided": (
        partition_task.Window,
        "unread",
        lambda self, offsets: np.zeros(len(offsets), bool),
    ),
    "holes are not seen": (scan, "_holes", lambda *_: np.empty((0, 2), np.int64)),
    "other partitions are not asked": (verify, "fetch", only_at_home),
    "replicas are not compared with what was read": (between.AgainstRead, "add", lambda *_: None),
    "headers of batches are not compared": (
        between,
        "_same",
        lambda one, other, mine, theirs: np.ones(len(mine), bool),
    ),
    "the lower broker is the better replica": (
        between.Compared,
        "_partners",
        lambda self: ((at, list(range(at))) for at in range(1, len(self._logs))),
    ),
    "no sequence is wanted": (
        within,
        "_wanted",
        lambda batches, rows, opens, changes: (np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)),
    ),
    "epoch caches are not compared": (checkpoints, "_epochs", lambda log: iter(())),
    "no record of a transaction is hidden": (transactions, "_hidden", lambda *_: []),
    "no reader was given what is not committed": (transactions, "_given", lambda *_, **__: []),
    "every other send is in no transaction": (
        transactions.LedgerColumns,
        "places",
        lambda self, ids, honest=transactions.LedgerColumns.places: np.where(
            ids.sequence % 2 == 0, honest(self, ids), -1
        ),
    ),
    "torn tails are judged": (scan_replicas, "whole", lambda columns, clean: columns),
}


def drawn() -> Iterator[tuple[str, History]]:
    """Damaged histories with their names, the telling ones first."""
    for number in TELLING:
        yield str(number), fuzz.specimen(SEED, number).history
    for number in range(COPIES):
        rng = Random(f"{SEED}/copy/{number}")
        history = EditableHistory.of(random_history(rng))
        with suppress(NotApplicable):
            copy_within.apply(history, rng)
            yield f"copy-{number}", history.freeze()
    for number in sorted({*range(OTHERS)} - {*TELLING}):
        yield str(number), fuzz.specimen(SEED, number).history


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> list[tuple[Path, Judgement]]:
    """Damaged histories on disk, each with the reference's judgement."""
    folder = tmp_path_factory.mktemp("histories")
    histories = dict(drawn())
    for name, history in histories.items():
        write(history, folder / name, plain=True)
    return [(folder / name, check(history)) for name, history in histories.items()]


def judged(folders) -> list[Judgement]:
    return verify.verify_all(folders, InlineSpark(), batch_rows=3)


def test_an_honest_verifier_agrees_with_the_reference(written):
    """On every history in which a broken one may be noticed; `make fuzz` compares 5,000."""
    found = judged([folder for folder, _ in written])
    differing = [
        folder for one, (folder, wanted) in zip(found, written, strict=True) if not fuzz.agree(one, wanted)
    ]
    assert differing == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_verifier_is_noticed(name, written, monkeypatch):
    monkeypatch.setattr(*BROKEN[name])
    assert any(not fuzz.agree(found, wanted) for folder, wanted in written for found in judged([folder]))

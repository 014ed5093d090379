"""A partition that is judged in parts is judged as in one piece, and as by the reference, wherever it is
cut."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from fakes.history.inline_spark import InlineSpark

from checkers.damage import write
from checkers.damage.editable_history import EditableHistory
from checkers.errors import MalformedHistory
from checkers.history.load import load
from checkers.history.rows import History
from checkers.history.tables import NONE, PARTITIONED, Outcome, open_writer, unit_path, write_table
from checkers.judgement import Judgement
from checkers.properties import Property
from checkers.reference import check
from spark_verify import first_pass
from spark_verify.kernels.by_position import reads
from spark_verify.kernels.by_position.order import Extremes
from spark_verify.kernels.ids import Ids
from spark_verify.passes.open_history import open_history
from spark_verify.passes.parts import cut, join_parts
from spark_verify.passes.parts.cut import Cutting
from spark_verify.selftest import fuzz
from spark_verify.synthetic import TOPIC, Shape, write_history
from spark_verify.verify import verify, verify_all

SEED = 31
HISTORIES = 16


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Damaged histories in small row groups, each with the reference's judgement, cuts and batch rows."""
    folder, found = tmp_path_factory.mktemp("histories"), []
    write_history(folder / "made", Shape(sends=40, partitions=1, producers=2))
    made = load(folder / "made")
    known = [late_copies(made), swapped(made), leaping(made), with_a_hole(made)]
    drawn = [fuzz.specimen(SEED, number).history for number in range(HISTORIES)]
    for number, history in enumerate([*known, *drawn]):
        rng, place = Random(number), folder / str(number)
        write(history, place, group_rows=4 if number < len(known) else rng.choice((1, 2, 5, 1000)))
        cutting = Cutting(at=(8, 15, 22)) if number < len(known) else fuzz.random_cutting(rng)
        found.append((place, check(history), cutting, rng.choice((2, 65_536))))
    return found


def with_a_hole(history: History) -> History:
    """Offsets 10 to 29 are gone: acknowledged, read, and below the high watermark."""
    return replace(history, final_log=[row for row in history.final_log if not 10 <= row.offset < 30])


def swapped(history: History) -> History:
    """A record lies where a later one of its producer should, and the other way round."""
    log = list(history.final_log)
    log[4], log[30] = replace(log[30], offset=log[4].offset), replace(log[4], offset=log[30].offset)
    return replace(history, final_log=log)


def leaping(history: History) -> History:
    """A reader goes back, and on again."""
    seen = list(history.reads)
    return replace(history, reads=[*seen[:20], *seen[2:8], *seen[20:]])


def late_copies(history: History) -> History:
    """Four records are at the end of the log once more, long after they were acknowledged."""
    late_ns, log = 10_000_000_000, list(history.final_log)
    sends = [
        replace(s, invoked_ns=s.invoked_ns + late_ns, completed_ns=s.completed_ns + late_ns)
        if s.sequence >= 10 and s.outcome is Outcome.OK
        else s
        for s in history.sends
    ]
    copies = [replace(row, offset=log[-1].offset + 1 + at) for at, row in enumerate(log[6:10])]
    return replace(history, final_log=[*log, *copies], sends=sends)


def judged(written) -> Iterator[Judgement]:
    """What is found in parts, history by history."""
    for folder, _, cutting, batch_rows in written:
        yield verify_all([folder], InlineSpark(), batch_rows=batch_rows, cutting=cutting)[0]


@pytest.fixture(scope="module")
def honest(written) -> list[Judgement]:
    return list(judged(written))


def disagreement(written, judgements) -> int | None:
    """The number of the first history that is judged otherwise in parts than by the reference."""
    for number, ((_, wanted, _, _), found) in enumerate(zip(written, judgements, strict=True)):
        if not fuzz.agree(found, wanted):
            return number
    return None


def test_20_damaged_histories_cut_anywhere_are_judged_as_the_reference_judges_them(written, honest):
    assert disagreement(written, honest) is None
    violated = sum(bool(wanted.anomalies) for _, wanted, _, _ in written)
    assert violated > 10


def test_not_even_the_order_of_anomalies_depends_on_the_cuts(written, honest):
    for (folder, *_), parts in zip(written, honest, strict=True):
        (whole,) = verify_all([folder], InlineSpark())
        assert list(map(repr, whole.anomalies)) == list(map(repr, parts.anomalies))
        assert whole.attempts == parts.attempts


def blind(self, below):
    """An order in which lower offsets break nothing."""
    return False


BROKEN = {
    "no part looks at what is below it": (Extremes, "broken_by", blind),
    "copies in other parts have no time": (
        first_pass.join_parts,
        "matched_ids",
        lambda whole, honest=join_parts.matched_ids: (
            (its := honest(whole)) and replace(its, given=replace(its.given, rows=its.given.rows[:0]))
        ),
    ),
    "placed acks of other parts are not looked up": (join_parts, "unresolved", lambda _: Ids.none()),
    "streams of reads begin anew in each part": (
        join_parts,
        "jumps_between",
        lambda seams: {name: np.empty(0, np.int64) for name in reads.JUMP_COLUMNS},
    ),
    "holes end where parts end": (join_parts, "_joined_runs", np.concatenate),
    "sends without an offset belong to nobody": (
        cut,
        "_in_part",
        lambda groups, first, last, honest=cut._in_part: tuple(
            each._replace(owned=False) for each in honest(groups, first, last)
        ),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_parts_are_noticed(name, written, monkeypatch):
    monkeypatch.setattr(*BROKEN[name])
    try:
        noticed = disagreement(written, judged(written)) is not None
    except MalformedHistory as error:
        noticed = "within the statistics of their row group" in error.what
    assert noticed


def judged_alike(folder: Path, history) -> dict:
    """Judged in parts cut at one offset in three, and at all of them together; the counts by property."""
    wanted = check(history)
    for at in (*((each,) for each in range(2, 40, 3)), (9, 13, 17), tuple(range(1, 40))):
        (found,) = verify_all([folder], InlineSpark(), batch_rows=4, cutting=Cutting(at=at))
        assert fuzz.agree(found, wanted), f"cut at {at}"
    return {each: sum(a.property is each for a in wanted.anomalies) for each in Property}


@pytest.fixture
def healthy(tmp_path) -> EditableHistory:
    write_history(tmp_path / "made", Shape(sends=40, partitions=1, producers=2))
    return EditableHistory.of(load(tmp_path / "made"))


def test_a_cut_in_the_middle_of_a_run_of_duplicates_changes_nothing(healthy, tmp_path):
    """Eight records lie twice in the log, the copies right behind the originals."""
    history = healthy.freeze()
    log = list(history.final_log)
    copies = [replace(row, offset=row.offset + 8) for row in log[10:18]]
    moved = [replace(row, offset=row.offset + 8) for row in log[18:]]
    again = {row.offset for row in log[18:]}
    sends = [replace(s, offset=s.offset + 8) if s.offset in again else s for s in history.sends]
    reads_ = [replace(r, offset=r.offset + 8) if r.offset in again else r for r in history.reads]
    its = replace(history, final_log=[*log[:18], *copies, *moved], sends=sends, reads=reads_)
    write(its, tmp_path / "cut", group_rows=3)
    counts = judged_alike(tmp_path / "cut", its)
    assert counts[Property.DUPLICATE] == 8
    greatest = {row.producer: row.sequence for row in log[10:18]}
    assert counts[Property.PRODUCER_ORDER] == sum(r.sequence < greatest[r.producer] for r in log[10:18]) > 4


def test_a_cut_in_the_middle_of_a_lost_range_changes_nothing(healthy, tmp_path):
    history = healthy.freeze()
    its = with_a_hole(history)
    write(its, tmp_path / "cut", group_rows=7)
    counts = judged_alike(tmp_path / "cut", its)
    assert counts[Property.ACKED_LOSS] == sum(10 <= s.offset < 30 for s in history.sends) > 15
    assert counts[Property.OFFSET_GAP] == 1
    assert counts[Property.READ_UNCOMMITTED] == 20


def test_a_reader_that_leaps_back_over_a_cut_is_seen(healthy, tmp_path):
    its = leaping(healthy.freeze())
    write(its, tmp_path / "cut", group_rows=4)
    assert judged_alike(tmp_path / "cut", its)[Property.MONOTONE_READ] == 2


def test_a_large_partition_is_cut_where_its_rows_are_halved(tmp_path):
    """Into parts of about equal weight that have all offsets between them; each group has one owner."""
    write_history(tmp_path, Shape(sends=2_000_000, partitions=1))
    spark = InlineSpark()
    judgement = verify(tmp_path, spark)
    assert spark.jobs == 2  # the offsets of the sends, and the parts
    assert (judgement.totals.sends, len(judgement.anomalies)) == (2_000_000, 0)
    (task,) = open_history(tmp_path).tasks
    groups = cut.footers(task)
    asked = cut.surveys(task, groups)
    groups = cut.with_surveys(groups, asked, [cut.survey(each) for each in asked])
    assert len(cut.parts(task, groups, Cutting.for_cores(2, task.rows))) == 2
    pieces = cut.parts(task, groups, Cutting(rows=3 << 19))
    assert len(pieces) == 4
    assert (pieces[0].part.first, pieces[-1].part.last) == (0, np.iinfo(np.int64).max)
    assert all(one.part.last + 1 == next_.part.first for one, next_ in pairwise(pieces))
    for table in PARTITIONED:
        owned = [g.number for each in pieces for g in each.part.groups[table] if g.owned]
        assert sorted(owned) == list(range(len(groups[table].rows)))
        read = [sum(groups[table].rows[g.number] for g in each.part.groups[table]) for each in pieces]
        assert max(read) < 1_000_000


def test_a_log_whose_groups_do_not_ascend_is_not_cut_but_refused(tmp_path):
    write_history(tmp_path, Shape(sends=2_000, partitions=1))
    path = unit_path(tmp_path, "final_log", TOPIC, 0)
    log = pq.read_table(path, partitioning=None)
    swapped = log.take(np.concatenate([np.arange(1000, len(log)), np.arange(1000)]))
    write_table(path, "final_log", swapped, TOPIC, 0, group_rows=100)
    with pytest.raises(MalformedHistory, match=rf"ascend: {len(log) - 1} then 0 at row {len(log) - 1000}"):
        verify_all([tmp_path], InlineSpark(), cutting=Cutting(at=(500, 1500)))


def test_offsets_that_do_not_ascend_within_a_group_are_refused_by_the_part_that_reads_it(tmp_path):
    write_history(tmp_path, Shape(sends=2_000, partitions=1))
    path = unit_path(tmp_path, "final_log", TOPIC, 0)
    log = pq.read_table(path, partitioning=None)
    order = np.arange(len(log))
    order[[450, 451]] = order[[451, 450]]
    write_table(path, "final_log", log.take(order), TOPIC, 0, group_rows=100)
    with pytest.raises(MalformedHistory, match=r"offsets do not ascend: 451 then 450 at row 451"):
        verify_all([tmp_path], InlineSpark(), cutting=Cutting(at=(451, 1500)))


def test_sends_without_any_offset_are_judged_in_parts_too(tmp_path):
    """No row group of the sends tells an offset: all of them are the first part's."""
    write_history(tmp_path, Shape(sends=1_000, partitions=1))
    path = unit_path(tmp_path, "sends", TOPIC, 0)
    rows = pq.read_table(path, partitioning=None)
    nowhere = pc.multiply(pc.add(pc.multiply(rows["offset"], 0), 1), NONE)
    rows = rows.set_column(rows.column_names.index("offset"), "offset", nowhere)
    with open_writer(path, "sends", TOPIC, 0) as writer:
        writer.write_table(rows, row_group_size=100)
    whole, parts = (
        verify_all([tmp_path], InlineSpark(), cutting=each)[0] for each in (None, Cutting(at=(1, 400, 700)))
    )
    assert whole.key() == parts.key()
    assert parts.totals.ok_without_offset == parts.totals.ok > 990

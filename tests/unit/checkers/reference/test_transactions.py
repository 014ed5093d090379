"""The rules about transactions, on histories that are spelled out; both implementations say the same."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fakes.history.history_rows import TOPIC, history, info, logged, ok, proof, read
from fakes.history.inline_spark import InlineSpark
from fakes.history.replica_rows import judged

from checkers.damage import write
from checkers.history.rows import (
    Fault,
    Fencing,
    History,
    Marker,
    NodeEvent,
    Read,
    Replica,
    Transaction,
)
from checkers.history.tables import REPLICA_BATCHES
from checkers.properties import Property
from checkers.property_terms import Family
from spark_verify.passes.parts.cut import Cutting
from spark_verify.selftest.fuzz import agree
from spark_verify.verify import verify_all

SECOND = 1_000_000_000
BROKERS = (1, 2, 3)
OF_TRANSACTIONS = {each for each in Property if each.record.family is Family.TRANSACTIONS}


def transaction(first, last, outcome="committed", request="commit", **more) -> Transaction:
    """Sends `first` to `last` of producer 1, which asked for the end at 30."""
    its = Transaction(
        producer=1,
        number=first,
        first_sequence=first,
        last_sequence=last,
        transactional_id="payments-1",
        producer_id=7,
        timeout_ms=1000,
        begun_ns=5,
        requested_ns=30 if request else -1,
        completed_ns=40 if outcome != "open" else -1,
        request=request,
        outcome=outcome,
    )
    return replace(its, **more)


def given(sequence, offset, on=0, reader=0) -> Read:
    """A record that a read_committed reader was given; 0 is the fresh one, at the end."""
    return Read(
        topic=TOPIC,
        partition=on,
        producer=1,
        sequence=sequence,
        checksum=100 + sequence,
        reader=reader,
        generation=1,
        offset=offset,
        read_ns=50,
    )


def run(*rows, transactions, reads=(), fencings=(), markers=None, read_committed=True) -> History:
    """The rows with their transactions; without `markers` no disk was read."""
    its = history(*rows)
    collected = its.collected - {REPLICA_BATCHES}
    proofs = [
        replace(each, committed_to=each.high_watermark if read_committed and each.complete else -1)
        for each in its.proofs
    ]
    replicas = [
        Replica(**tp._asdict(), broker=broker, log_start=0, log_end=_end(proofs, tp.partition))
        for tp in its.partitions
        for broker in BROKERS
    ]
    return replace(
        its,
        collected=collected - ({"markers"} if markers is None else set()),
        transactions=transactions,
        transaction_reads=list(reads),
        fencings=list(fencings),
        markers=list(markers or ()),
        replicas=replicas if markers is not None else (),
        proofs=proofs,
    )


def _end(proofs, partition) -> int:
    return next(each.high_watermark for each in proofs if each.partition == partition)


def marker(offset, kind="commit", on=0, **more) -> Marker:
    """A marker of the transaction's producer, on every disk."""
    its = Marker(topic=TOPIC, partition=on, offset=offset, producer_id=7, kind=kind, brokers=BROKERS)
    return replace(its, **more)


def found(*rows, **more) -> list[tuple[str, int, int, int]]:
    """What breaks a property of transactions: (property, partition, offset, sequence)."""
    anomalies = judged(run(*rows, **more)).anomalies
    return sorted(
        (each.property.value, each.partition, each.offset, each.sequence)
        for each in anomalies
        if each.property in OF_TRANSACTIONS
    )


def counts(property_, *rows, **more) -> tuple[int, int]:
    """How many were examined, and how many are undecided."""
    judgement = judged(run(*rows, **more))
    return judgement.examined[property_], judgement.undecided[property_]


IN_DOUBT = transaction(0, 1, "indeterminate")
TWO = (info(1, 0), info(1, 1, on=1), logged(1, 0, 0), logged(1, 1, 0, on=1))
"""Two records, one in each of two partitions."""


@pytest.mark.parametrize("reader", [0, 1])
@pytest.mark.parametrize(
    "its",
    [transaction(0, 0, "aborted", "abort"), transaction(0, 0, "open", ""), transaction(0, 0, "aborted")],
    ids=["as asked", "never ended", "instead of a commit"],
)
def test_a_reader_of_what_is_committed_is_given_a_record_that_was_aborted(its, reader):
    rows = (info(1, 0), logged(1, 0, 0))
    assert found(*rows, transactions=[its], reads=[given(0, 0, reader=reader)]) == [("aborted-read", 0, 0, 0)]
    assert found(*rows, transactions=[its]) == []


@pytest.mark.parametrize("reads", [(), (given(0, 0), given(1, 0, on=1))], ids=["nothing", "all"])
def test_of_a_commit_that_nobody_knows_of_all_or_nothing_is_visible(reads):
    assert found(*TWO, transactions=[IN_DOUBT], reads=reads) == []


def test_of_a_commit_that_nobody_knows_of_a_part_is_visible():
    """Which part is missing is what is reported, also where the log has nothing of it."""
    assert found(*TWO, transactions=[IN_DOUBT], reads=[given(0, 0)]) == [("torn-transaction", 1, 0, 1)]
    without = (*TWO[:3], proof(0, on=1))
    assert found(*without, transactions=[IN_DOUBT], reads=[given(0, 0)]) == [("torn-transaction", 1, -1, 1)]


def test_what_a_reader_was_given_of_a_transaction_that_is_not_visible_in_the_end():
    """It lies where it was read, so it was given before its fate was decided."""
    early = [given(0, 0, reader=1)]
    assert found(*TWO, transactions=[IN_DOUBT], reads=early) == [("aborted-read", 0, 0, 0)]
    elsewhere = [given(0, 5, reader=1)]
    assert found(*TWO, transactions=[IN_DOUBT], reads=elsewhere) == []


def witnessed(*rows, **more) -> list[tuple[str, int, int, int]]:
    """What breaks a property of losses and of readers, as `found` has it: of a whole partition, and of one
    that is judged in parts."""
    its = run(*rows, **more)
    with TemporaryDirectory() as folder:
        write(its, Path(folder), group_rows=2)
        (in_parts,) = verify_all([Path(folder)], InlineSpark(), batch_rows=2, cutting=Cutting(at=(1, 3)))
    judgement = judged(its)
    assert agree(in_parts, judgement)
    return sorted(
        (each.property.value, each.partition, each.offset, each.sequence)
        for each in judgement.anomalies
        if each.property not in OF_TRANSACTIONS
    )


OTHERS = [each for n in range(4) for each in (info(2, n), logged(2, n, n, epoch=1))]
"""The log: four records of another producer, that nobody asks about."""


@pytest.mark.parametrize("its", [IN_DOUBT, transaction(0, 1)], ids=["in doubt", "committed"])
def test_what_a_read_committed_reader_was_given_stays(its):
    """It tails the log, and is given both records; then the log has others in their places."""
    rows = (info(1, 0), info(1, 1), *OTHERS)
    reads = [given(0, 0, reader=1), given(1, 1, reader=1), given(1, 1, reader=2)]
    assert witnessed(*rows, transactions=[its], reads=reads) == [
        *(("hw-loss", 0, 0, 0), ("hw-loss", 0, 1, 1)),
        *(("read-uncommitted", 0, 0, 0), ("read-uncommitted", 0, 1, 1)),
    ]
    judgement = judged(run(*rows, transactions=[its], reads=reads))
    lost = [each.note for each in judgement.anomalies if each.property is Property.READ_UNCOMMITTED]
    assert lost[0] == "read_committed reader 1 was given record 1/0 there, offset 0 now holds record 2/0"
    of_readers = (Property.READ_UNCOMMITTED, Property.SAME_FOR_ALL, Property.MONOTONE_READ)
    for property_ in (Property.HW_LOSS, *of_readers):
        assert counts(property_, *rows, transactions=[its], reads=reads) == (3, 0)


def test_the_fresh_read_committed_reader_is_the_witness_of_no_loss():
    """What it was given is the log itself, and has rules of its own."""
    rows = (info(1, 0), *OTHERS)
    assert witnessed(*rows, transactions=[transaction(0, 0)], reads=[given(0, 0)]) == []
    assert counts(Property.HW_LOSS, *rows, transactions=[transaction(0, 0)], reads=[given(0, 0)]) == (0, 0)


def test_where_the_final_read_decides_nothing_a_read_committed_reader_decides_nothing():
    """Below the log start, above the high watermark, and in a partition without a proof."""
    rows = (info(1, 0), proof(4, start=1, log_end=6), *OTHERS[2:])
    reads = [given(0, 0, reader=1), given(0, 4, reader=2), given(0, 5, reader=3)]
    its = {"transactions": [transaction(0, 0)], "reads": reads}
    assert witnessed(*rows, **its) == []
    assert counts(Property.READ_UNCOMMITTED, *rows, **its) == (1, 2)
    unread = (info(1, 0), proof(0, complete=False))
    assert counts(Property.SAME_FOR_ALL, *unread, **its) == (0, 3)


def test_readers_of_both_kinds_are_given_the_same():
    """What the log holds, and what it does not."""
    rows = (info(1, 0), *OTHERS, read(2, 0, 0, reader=1))
    reads = [given(0, 0, reader=1), given(0, 9, reader=1), replace(given(1, 9, reader=2), generation=3)]
    found_ = witnessed(*rows, transactions=[transaction(0, 1)], reads=reads)
    assert [each[:3] for each in found_ if each[0] == "same-for-all"] == [
        ("same-for-all", 0, 0),
        ("same-for-all", 0, 9),
    ]


LOGGED = [each for n in range(5) for each in (ok(1, n, at=n), logged(1, n, n))]
FRESH = [given(n, n) for n in range(5)]
WHOLE = transaction(0, 4)
"""The log is five records of one transaction."""


def leaps(*reads, fresh=FRESH, its=WHOLE) -> list[tuple[int, int]]:
    """(offset, reader) of each leap of read_committed readers; nothing else is wrong."""
    more = {"transactions": [its], "reads": [*fresh, *reads]}
    anomalies = judged(run(*LOGGED, **more)).anomalies
    leaps_ = [each for each in anomalies if each.property is Property.MONOTONE_READ]
    assert len(witnessed(*LOGGED, **more)) == len(leaps_)
    return sorted((each.offset, each.producer) for each in leaps_)


def test_a_read_committed_reader_goes_back_or_leaves_out_what_is_visible():
    assert leaps(*(given(n, n, reader=1) for n in (0, 4, 2, 2, 3))) == [(2, 1), (2, 1), (4, 1)]
    both = [given(n, n, reader=reader) for n in (1, 2, 4) for reader in (1, 2)]
    assert leaps(*both) == [(4, 1), (4, 2)]
    (leap,) = judged(run(*LOGGED, transactions=[WHOLE], reads=[*FRESH, *both[::2]])).anomalies
    assert (leap.acked_offset, leap.sequence, leap.invoked_ns, leap.completed_ns) == (2, 1, 50, 50)
    assert leap.note == "read_committed reader 1 was given offset 2, then 4"


def test_a_read_committed_reader_leaves_out_what_was_aborted():
    """It begins anew in another generation, and somewhere else."""
    again = replace(given(1, 1, reader=1), generation=2)
    assert leaps(given(3, 3, reader=1), again) == []
    assert leaps(given(0, 0, reader=1), given(4, 4, reader=1), fresh=[FRESH[0], FRESH[4]], its=IN_DOUBT) == []


def test_what_a_read_committed_reader_left_out_may_have_been_other_records():
    """What it was given behind them was written again since, at the same place under another epoch."""
    rewritten = [replace(given(4, 4, reader=1), leader_epoch=3)]
    assert leaps(given(0, 0, reader=1), *rewritten) == []
    fresh = [replace(each, leader_epoch=3) for each in FRESH]
    assert leaps(given(0, 0, reader=1), *rewritten, fresh=fresh) == [(4, 1)]


def test_what_retention_may_have_deleted_of_a_transaction_does_not_tear_it():
    """The log of the other partition begins at offset 1 now, and nobody knows where its record was."""
    deleted = (*TWO[:3], proof(1, start=1, on=1))
    assert found(*deleted, transactions=[IN_DOUBT], reads=[given(0, 0)]) == []


def test_a_committed_record_that_is_not_visible():
    rows = (ok(1, 0, at=0), ok(1, 1, at=1), logged(1, 0, 0), logged(1, 1, 1))
    assert found(*rows, transactions=[transaction(0, 1)], reads=[given(0, 0)]) == [
        ("torn-transaction", 0, 1, 1)
    ]


def test_a_committed_record_that_is_gone_is_lost_and_not_torn():
    judgement = judged(
        run(
            *(ok(1, 0, at=0), ok(1, 1, at=1), logged(1, 0, 0), proof(2)),
            transactions=[transaction(0, 1)],
            reads=[given(0, 0)],
        )
    )
    assert [each.property.value for each in judgement.anomalies] == ["acked-loss"]


def test_where_nobody_read_what_is_committed_nothing_is_decided_of_it():
    rows = (ok(1, 0, at=0), logged(1, 0, 0))
    lacking = {"transactions": [transaction(0, 0)], "read_committed": False}
    assert found(*rows, **lacking) == []
    assert counts(Property.TORN_TRANSACTION, *rows, **lacking) == (0, 1)
    assert counts(
        Property.TORN_TRANSACTION, *rows, transactions=[transaction(0, 0)], reads=[given(0, 0)]
    ) == (
        1,
        0,
    )


TAKEN_OVER = Fencing(
    transactional_id="payments-1", producer=1, by=2, begun_ns=20, done_ns=25, at_ns=40, error="_FENCED"
)


def test_a_record_of_an_instance_that_was_replaced_and_fenced_is_visible():
    fenced = transaction(0, 0, "fenced")
    rows = (info(1, 0), logged(1, 0, 0))
    assert found(*rows, transactions=[fenced], fencings=[TAKEN_OVER], reads=[given(0, 0)]) == [
        ("zombie-fenced", 0, 0, 0)
    ]
    assert found(*rows, transactions=[fenced], fencings=[TAKEN_OVER]) == []
    counted = counts(Property.ZOMBIE_FENCED, *rows, transactions=[fenced], fencings=[TAKEN_OVER])
    assert counted == (1, 0)


def test_an_instance_that_was_replaced_commits_all_the_same():
    rows = (ok(1, 0, at=0), logged(1, 0, 0))
    late = {"transactions": [transaction(0, 0)], "reads": [given(0, 0)]}
    assert found(*rows, **late, fencings=[TAKEN_OVER]) == [("zombie-fenced", 0, 0, 0)]
    in_time = replace(TAKEN_OVER, done_ns=31)
    assert found(*rows, **late, fencings=[in_time]) == []


def test_a_replaced_instance_commits_nothing_either_if_it_gets_no_answer():
    """Its commit was asked for when another one had taken over: what the log says is not left open."""
    unanswered = {"transactions": [transaction(0, 0, "indeterminate")], "fencings": [TAKEN_OVER]}
    rows = (info(1, 0), logged(1, 0, 0))
    assert found(*rows, **unanswered, reads=[given(0, 0)]) == [("zombie-fenced", 0, 0, 0)]
    assert found(*rows, **unanswered) == []
    assert counts(Property.ZOMBIE_FENCED, *rows, **unanswered) == (1, 0)


def test_a_commit_that_was_asked_for_before_the_takeover_may_have_been_made():
    """The client was fenced, and nobody knows whether its commit came first."""
    fenced = transaction(0, 0, "fenced")
    rows = (info(1, 0), logged(1, 0, 0))
    sooner = [replace(TAKEN_OVER, done_ns=31)]
    assert found(*rows, transactions=[fenced], fencings=sooner, reads=[given(0, 0)]) == []
    assert found(*rows, transactions=[fenced], fencings=sooner) == []


def hanging(at_s, isr=BROKERS):
    """A partition of two records, of which the second is not stable, as its final read ended at `at_s`."""
    stuck = replace(
        proof(2, complete=False, reason="a transaction is open"),
        at_ns=at_s * SECOND,
        last_stable=1,
        replicas=BROKERS,
        isr=isr,
    )
    return (info(1, 0), info(1, 1), stuck)


def test_a_last_stable_offset_that_stays_behind_when_every_time_out_is_over():
    """The last transaction was open for a second at most, and the coordinators had half a minute more."""
    hangs = [transaction(0, 1, "open", "")]
    assert found(*hanging(40), transactions=hangs) == [("hanging-transaction", 0, 1, -1)]
    assert found(*hanging(20), transactions=hangs) == []
    assert counts(Property.HANGING_TRANSACTION, *hanging(20), transactions=hangs) == (0, 1)
    assert found(*hanging(40, isr=(1, 2)), transactions=hangs) == []


KILL = Fault(index=0, name="kill", kind="kill", inject_ns=20 * SECOND, heal_ns=30 * SECOND)


def ended(at_s, event="exited") -> NodeEvent:
    """The process of broker 4, which has no replica of the partition."""
    return NodeEvent(at_ns=at_s * SECOND, node=4, role="broker", event=event, exit_code=1, planned=False)


@pytest.mark.parametrize(
    ("cluster", "at_s"),
    [
        ({"faults": [KILL]}, 60),
        ({"faults": [replace(KILL, recovered=False)]}, 90),
        ({"node_events": [ended(1, "started"), ended(50)]}, 90),
    ],
    ids=["healed not long ago", "never healed", "a broker is gone"],
)
def test_a_transaction_hangs_only_where_its_coordinator_could_have_ended_it(cluster, at_s):
    hangs = [transaction(0, 1, "open", "")]

    def hanging_at(second, **more):
        judgement = judged(replace(run(*hanging(second), transactions=hangs), **more))
        return [a.offset for a in judgement.anomalies if a.property is Property.HANGING_TRANSACTION]

    assert hanging_at(at_s, **cluster) == []
    assert hanging_at(90, faults=[KILL], node_events=[ended(50), ended(55, "started")]) == [1]


def marked(*markers):
    """Two records in two partitions, each with room for a marker behind it."""
    return {"markers": markers}, (*TWO, proof(2), proof(2, on=1))


@pytest.mark.parametrize(
    ("markers", "wrong"),
    [
        ((marker(1), marker(1, on=1)), []),
        ((marker(1, "abort"), marker(1, "abort", on=1)), []),
        ((marker(1), marker(1, "abort", on=1)), [("marker-per-transaction", 1, 0, 0)]),
        ((marker(1), marker(1, on=1, producer_id=8)), [("marker-per-transaction", 1, 0, 0)]),
    ],
    ids=["committed", "aborted", "torn", "missing"],
)
def test_markers_decide_the_same_in_all_partitions(markers, wrong):
    visible = [given(0, 0), given(1, 0, on=1)] if markers[0].kind == "commit" else []
    more, rows = marked(*markers)
    assert found(*rows, transactions=[IN_DOUBT], reads=visible, **more) == wrong


def test_a_marker_is_of_the_kind_that_the_client_was_told():
    more, rows = marked(marker(1), marker(1, on=1))
    aborted = transaction(0, 1, "aborted", "abort")
    assert found(*rows, transactions=[aborted], **more) == [
        ("marker-per-transaction", 0, 0, 0),
        ("marker-per-transaction", 1, 0, 0),
    ]


def test_without_a_producer_id_or_a_disk_nothing_is_decided_of_markers():
    more, rows = marked()
    nameless = [replace(IN_DOUBT, producer_id=-1)]
    assert counts(Property.MARKER_PER_TRANSACTION, *rows, transactions=nameless, **more) == (0, 1)
    assert counts(Property.MARKER_PER_TRANSACTION, *rows, transactions=[IN_DOUBT]) == (0, 0)


@pytest.mark.parametrize(("log_end", "counted"), [(2, (1, 0)), (1, (0, 1))])
def test_a_disk_of_a_running_broker_decides_if_it_reaches_the_high_watermark(log_end, counted):
    """All is stable below it, so the markers are there."""
    more, rows = marked(marker(1), marker(1, on=1))
    reads = [given(0, 0), given(1, 0, on=1)]
    its = run(*rows, transactions=[IN_DOUBT], reads=reads, **more)
    running = [replace(each, clean=False, log_end=log_end) for each in its.replicas]
    judgement = judged(replace(its, replicas=running))
    wanted = Property.MARKER_PER_TRANSACTION
    assert (judgement.examined[wanted], judgement.undecided[wanted]) == counted
    assert not [each for each in judgement.anomalies if each.property is wanted]


def test_an_offset_with_a_marker_is_no_hole_and_one_without_is():
    """Where no disk was read nobody knows which it is."""
    more, rows = marked(marker(1), marker(1, on=1))
    reads = [given(0, 0), given(1, 0, on=1)]

    def holes(**markers):
        judgement = judged(run(*rows, transactions=[IN_DOUBT], reads=reads, **markers))
        return [(a.partition, a.offset) for a in judgement.anomalies if a.property is Property.OFFSET_GAP]

    assert holes(**more) == []
    assert holes(markers=[marker(1)]) == [(1, 1)]
    assert holes(markers=[marker(1), marker(1, on=1, brokers=(1, 2))]) == [(1, 1)]
    assert holes() == []

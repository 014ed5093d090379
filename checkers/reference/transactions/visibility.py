"""What readers of committed records are given: of a transaction all, or nothing.

Invariant: a read_committed reader is given no record of a transaction that was not committed; what is
committed is visible in each of its partitions; an instance that another one has replaced commits nothing.
Evidence: what the clients asked for and were told, and what read_committed readers were given. A commit whose
answer never came decides nothing: then the log does, and must have decided the same for all of its records.
Counterexample to "each record is either committed or aborted, so all is well":
    a transaction writes 1/7 to orders-0 and 1/8 to orders-1; its commit times out
    the fresh read_committed reader is given 1/7, and not 1/8: torn-transaction, of 1/8

That a record of a committed transaction is not in the log at all is acked-loss, and not reported here; nor is
one of a commit that nobody knows of, where the log was cut at its front: it may have been deleted.
"""

from collections.abc import Iterable, Iterator

from checkers.anomalies import Anomaly
from checkers.history.records.transactions import NEVER_VISIBLE, Ending, Given, Hidden
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import RuleResult
from checkers.reference.transactions.tally import Tally, Whole


def aborted_read(tally: Tally) -> RuleResult:
    """Each distinct (offset, record) that a reader was given of a transaction that was not committed."""
    anomalies = [
        _of_given(Property.ABORTED_READ, tp, given, f"{whole}, which {_end(whole)}")
        for tp, given, whole in _given(tally)
        if whole.entry.ending is not Ending.FENCED
    ]
    return _result(anomalies, tally.of(Ending.ABORTED, Ending.UNKNOWN))


def torn_transaction(tally: Tally) -> RuleResult:
    """Each record that is not visible, of a transaction of which others are or all must be."""
    anomalies = []
    cut = {proof.tp for proof in tally.context.proofs if proof.log_start > 0}
    for partition in tally.shown:
        for hidden in partition.hidden:
            if hidden.offset == NONE and partition.tp in cut:
                continue
            whole = tally.at(hidden.of)
            if whole is not None and (whole.entry.ending is Ending.COMMITTED or whole.visible):
                anomalies.append(_of_hidden(partition.tp, hidden, whole))
    return _result(anomalies, tally.of(Ending.COMMITTED, Ending.UNKNOWN))


def zombie_fenced(tally: Tally) -> RuleResult:
    """Each record that a reader was given of a fenced instance; and each commit of a replaced one."""
    anomalies = [
        _of_given(Property.ZOMBIE_FENCED, tp, given, f"{whole}, whose producer was fenced")
        for tp, given, whole in _given(tally)
        if whole.entry.ending is Ending.FENCED
    ]
    late = [whole for whole in tally.of(Ending.COMMITTED) if whole.entry.was_late]
    for whole in late:
        anomalies += _of_commit(whole)
    return _result(anomalies, [*tally.of(Ending.FENCED), *late])


def _given(tally: Tally) -> Iterator[tuple[TopicPartition, Given, Whole]]:
    """What readers were given and should not have been, with its transaction."""
    for partition in tally.shown:
        for given in partition.given:
            if (whole := tally.at(given.of)) is not None:
                yield partition.tp, given, whole


def _end(whole: Whole) -> str:
    return "was aborted" if whole.entry.ending in NEVER_VISIBLE else "is not visible in the end"


def _result(anomalies: list[Anomaly], concerned: Iterable[Whole]) -> RuleResult:
    decided = [whole.is_decided for whole in concerned]
    return RuleResult(anomalies=anomalies, examined=sum(decided), undecided=len(decided) - sum(decided))


def _of_given(wanted: Property, tp: TopicPartition, given: Given, of: str) -> Anomaly:
    return Anomaly(
        property=wanted,
        topic=tp.topic,
        partition=tp.partition,
        offset=given.offset,
        producer=given.producer,
        sequence=given.sequence,
        seen_ns=given.read_ns,
        note=f"read_committed reader {given.reader} was given it, of {of}",
    )


def _of_hidden(tp: TopicPartition, hidden: Hidden, whole: Whole) -> Anomaly:
    committed = whole.entry.ending is Ending.COMMITTED
    why = "was committed" if committed else f"has {whole.visible} records that are visible"
    where = "is not in the log" if hidden.offset == NONE else "is not visible"
    return Anomaly(
        property=Property.TORN_TRANSACTION,
        topic=tp.topic,
        partition=tp.partition,
        offset=hidden.offset,
        producer=hidden.producer,
        sequence=hidden.sequence,
        invoked_ns=hidden.invoked_ns,
        completed_ns=hidden.completed_ns,
        note=f"it {where}, and {whole} {why}",
    )


def _of_commit(whole: Whole) -> Iterator[Anomaly]:
    """At the first record of it in the log; without any, nothing was committed."""
    for partition, cell in whole.parts:
        if cell.first != NONE:
            row = whole.entry.row
            yield Anomaly(
                property=Property.ZOMBIE_FENCED,
                topic=partition.tp.topic,
                partition=partition.tp.partition,
                offset=cell.first,
                producer=row.producer,
                sequence=row.first_sequence,
                completed_ns=row.completed_ns,
                note=f"{whole} was committed, though another instance had taken over before it asked",
            )
            return

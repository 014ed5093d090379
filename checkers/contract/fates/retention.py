"""Records that retention has deleted because a broker's clock ran ahead of them.

Kafka deletes a segment once the youngest record in it is older than retention.ms by the clock of the broker
that has it. Each broker does so by itself, a follower too; what a leader deletes is gone for everybody, for
its log starts above it then, and its followers take that over with their next fetch. Who takes it over may
lead later, or follow another one that has heard of nothing.

Invariant: "permitted" only where the log start was seen to move over a record whose age, by a clock that
whoever led then certainly had meanwhile, was above retention.ms as soon as they had it; "violation" where by
no clock that may have been theirs it ever was.
Evidence: sampled log starts, those of the disks, the leaders, the faults that set clocks (node_clocks.py),
when records were sent: their producers date them then.
Counterexample to "the clock was ahead, so retention deleted it":
    retention.ms is 7 days; the clock of broker 1, which leads, is a day ahead
    its log start moves over records that were sent ten seconds ago: by no clock were they older than a day
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from checkers.contract.evidence.log_ends import FAR
from checkers.contract.evidence.log_starts import LogStartMove
from checkers.contract.evidence.partition_evidence import PartitionEvidence
from checkers.contract.fates.lost_record import LostRecord
from checkers.contract.realised.downtimes import NEVER_NS
from checkers.contract.realised.settings import Realised
from checkers.history.clocks.node_clocks import RIGHT, Ahead
from checkers.history.tables import NONE

NEAR_MS = 1_000
"""An age may be off by so much: a record is dated before its send is noted, and sampled some time after."""
MILLISECOND_NS = 1_000_000
FOREVER = -1
"""The retention.ms by which nothing is deleted."""
_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"))
Kind = Literal["violation", "permitted", "undecided"]
_GRAVEST_FIRST: Sequence[Kind] = ("violation", "undecided", "permitted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Whether the contract permits that the log start moved over a record, and why."""

    kind: Kind
    sentence: str


def deleted(
    record: LostRecord, evidence: PartitionEvidence, realised: Realised, retention_ms: int
) -> Deletion:
    """Rule on a record below the log start; it is of the leader by whose word the log start had moved."""
    over_it = [
        each for each in evidence.log_start_moves if each.from_offset <= record.offset < each.log_start
    ]
    move = over_it[-1] if over_it else None
    if move is None or retention_ms == FOREVER or not realised.clocks_ahead:
        sentence = f"the log start moved to offset {evidence.log_start}, and no setting deletes records"
        return Deletion(kind="violation", sentence=sentence)
    leaders = _leaders(record, move, evidence, realised)
    kept = f"retention.ms ({in_words(retention_ms)})"
    if not leaders:
        sentence = "not measured: who led when the log start moved over it"
        return Deletion(kind="undecided", sentence=sentence)
    if max(_most_aged_ms(record, move, node, realised) for node in leaders) + NEAR_MS <= retention_ms:
        followed = leaders != {move.before}  # who leads on takes nothing over
        for node in _led_before(record, move, evidence, realised) - leaders if followed else ():
            if _most_aged_ms(record, move, node, realised) + NEAR_MS > retention_ms:
                sentence = f"not measured: whether broker {node} had deleted it, which led before"
                return Deletion(kind="undecided", sentence=sentence)
        clocks = ", ".join(f"that of broker {node} was {_most(node, realised)}" for node in sorted(leaders))
        sentence = f"the log start moved over it, and by no clock it was older than {kept}: {clocks}"
        return Deletion(kind="violation", sentence=sentence)
    if min(_least_aged_ms(record, move, node, realised) for node in leaders) - NEAR_MS > retention_ms:
        clocks = " and ".join(
            f"the clock of broker {node} was {_most(node, realised)}" for node in sorted(leaders)
        )
        return Deletion(kind="permitted", sentence=f"{clocks}, by which it was older than {kept}")
    sentence = f"not measured: whether the leader's clock was so far ahead that it was older than {kept}"
    return Deletion(kind="undecided", sentence=sentence)


def below_its_start(
    replica: int, evidence: PartitionEvidence, realised: Realised, retention_ms: int
) -> Iterator[tuple[int, Deletion]]:
    """Below which offsets a replica may lack what the final log has, and why: the gravest rulings first.

    It may have deleted for its own clock, or taken over the log start of a leader that had. A leader whose
    log is known to have begun nowhere above an offset has passed on no log start above it.
    """
    found = []
    if replica in realised.clocks_ahead:
        found.append((FAR, _by_clock_of(replica, replica, realised, retention_ms)))
    for leader in sorted(realised.clocks_ahead.keys() - {replica}):
        if not _led_since_ahead(leader, evidence, realised):
            continue
        ruling, own = _by_clock_of(leader, replica, realised, retention_ms), evidence.own_starts[leader]
        found.append((own.highest, ruling))
        if ruling.kind != "violation" and not own.certain:
            sentence = f"not measured: where broker {leader}'s log began when it led last"
            found.append((FAR, Deletion(kind="undecided", sentence=sentence)))
    yield from sorted(found, key=lambda each: _GRAVEST_FIRST.index(each[1].kind))


def _led_since_ahead(leader: int, evidence: PartitionEvidence, realised: Realised) -> bool:
    """Whether a broker may have led since its clock was first ahead."""
    since_ns = (span.since_ns for span in realised.clocks_ahead[leader] if span.ahead_ms > 0)
    led = realised.timeline.leaders(evidence.tp, min(since_ns, default=NEVER_NS), NEVER_NS)
    return any(each.leader == leader for each in led)


def _by_clock_of(broker: int, replica: int, realised: Realised, retention_ms: int) -> Deletion:
    """Rule on records of any age that a replica lacks below its own log start, and the leader has, as far as
    one broker's clock can be the reason: its own, or that of a leader whose log start it took over."""
    spans = realised.clocks_ahead[broker]
    kept = f"retention.ms ({in_words(retention_ms)})"
    whose = "" if broker == replica else ", whose log start it took over,"
    if retention_ms != FOREVER and any(
        span.ahead_ms > retention_ms + NEAR_MS and span.certain_since_ns < span.certain_until_ns
        for span in spans
    ):
        clock = f"the clock of broker {broker}{whose} was {_most(broker, realised)}"
        return Deletion(kind="permitted", sentence=f"{clock}, by which all is older than {kept}")
    lasted_ms = _lasted_ms(realised)
    if retention_ms != FOREVER and any(span.ahead_ms + lasted_ms + NEAR_MS > retention_ms for span in spans):
        sentence = f"not measured: whether by broker {broker}'s clock it was older than {kept}"
        return Deletion(kind="undecided", sentence=sentence)
    clock = f"that of broker {broker}{whose} was {_most(broker, realised)}"
    sentence = f"broker {replica}'s log starts above it, and by no clock it was older than {kept}: {clock}"
    return Deletion(kind="violation", sentence=sentence)


def time_marks(evidence: PartitionEvidence, realised: Realised, retention_ms: int) -> Iterator[int]:
    """The times that `deleted` compares a record's times with."""
    spans = [span for its in realised.clocks_ahead.values() for span in its]
    moves = [at_ns for move in evidence.log_start_moves for at_ns in (move.since_ns, move.until_ns)]
    yield from moves
    for span in spans:
        edges = (span.since_ns, span.until_ns, span.certain_since_ns, span.certain_until_ns)
        yield from edges
        for at_ns in (*edges, *moves):
            for near_ms in (-NEAR_MS, NEAR_MS):
                yield at_ns + (span.ahead_ms - retention_ms + near_ms) * MILLISECOND_NS


def in_words(milliseconds: int) -> str:
    """ "8 days", "90 minutes"."""
    unit, name = next((each for each in _UNITS if milliseconds % each[0] == 0), (1, "millisecond"))
    amount = milliseconds // unit
    return f"{amount:,} {name}{'s' * (amount != 1)}"


def _leaders(
    record: LostRecord, move: LogStartMove, evidence: PartitionEvidence, realised: Realised
) -> frozenset[int]:
    """Who may have moved the log start: who led meanwhile, and who reported it."""
    since_ns = max(move.since_ns, record.since_ns)
    led = realised.timeline.leaders(evidence.tp, since_ns, move.until_ns)
    return frozenset({each.leader for each in led} | {move.leader}) - {NONE}


def _led_before(
    record: LostRecord, move: LogStartMove, evidence: PartitionEvidence, realised: Realised
) -> frozenset[int]:
    """Who may have deleted it as a leader of before, and passed on that log start to who moved it: with a
    log that may have begun above it."""
    led = realised.timeline.leaders(evidence.tp, record.since_ns, move.until_ns)
    nodes = {each.leader for each in led} & evidence.own_starts.keys()
    return frozenset(
        node
        for node in nodes
        if record.offset < evidence.own_starts[node].highest or not evidence.own_starts[node].certain
    )


def _most_aged_ms(record: LostRecord, move: LogStartMove, node: int, realised: Realised) -> int:
    """How old the record was at most by a clock that a broker may have had while it may have deleted it."""
    begin_ns = _begin_ns(record, move, node)
    ages = [
        span.ahead_ms + (min(span.until_ns, move.until_ns) - record.since_ns) // MILLISECOND_NS
        for span in _spans_of(node, realised)
        if span.since_ns <= move.until_ns and begin_ns <= span.until_ns
    ]
    return max(ages, default=-NEVER_NS)


def _least_aged_ms(record: LostRecord, move: LogStartMove, node: int, realised: Realised) -> int:
    """How old it was at least by a clock that a broker certainly had while the record was there, and the
    broker may have deleted it: at the begin of that time, and dated as late as it can have been."""
    begin_ns, dated_ns = _begin_ns(record, move, node), max(record.since_ns, record.written_ns)
    ages = [
        span.ahead_ms + max(0, max(begin_ns, span.certain_since_ns) - dated_ns) // MILLISECOND_NS
        for span in _spans_of(node, realised)
        if span.certain_since_ns <= min(span.certain_until_ns, move.until_ns)
        and max(begin_ns, dated_ns) <= span.certain_until_ns
    ]
    return max(ages, default=-NEVER_NS)


def _begin_ns(record: LostRecord, move: LogStartMove, node: int) -> int:
    """From when on a broker may have deleted it: who reported the lower log start at the begin of the move,
    since then; another one may have done so before, as a follower."""
    return record.since_ns if node != move.before else max(move.since_ns, record.since_ns)


def _spans_of(node: int, realised: Realised) -> Sequence[Ahead]:
    return realised.clocks_ahead.get(node, (RIGHT,))


def _most(node: int, realised: Realised) -> str:
    """How far a broker's clock was ahead at most, in words."""
    ahead_ms = max(span.ahead_ms for span in _spans_of(node, realised))
    return f"{in_words(ahead_ms)} ahead" if ahead_ms > 0 else "right, or behind"


def _lasted_ms(realised: Realised) -> int:
    """How old a record of the run can be at most."""
    ends = [pair.at_ns for pair in realised.context.clocks] or [
        proof.at_ns for proof in realised.context.proofs
    ]
    return max(0, max(ends, default=0) - realised.clock.monotonic_ns) // MILLISECOND_NS

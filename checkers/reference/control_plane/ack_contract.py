"""The promise of acks=all: an acknowledgement is backed by min.insync.replicas in-sync replicas.

Invariant: at some time between the call of send and its acknowledgement, the partition had a leader that knew
of an ISR of at least min.insync.replicas members.
Evidence: the spans of `backing`; what the producers asked for (producers table).
Counterexample:
    acks=all, min.insync.replicas=2; ISR [1] from 5 s to 9 s, and leader 1 reports it at 5.2 s
    send 1/7 is invoked at 6.5 s and acknowledged at 7 s: ack-contract, of 1/7

Undecided is an acknowledgement that only the slack of the clocks allows, or only an older ISR that its leader
may still have known; one of a partition without a timeline, setting or producer that is known. Doubtful of
these is one for which the leader would have to have known the older ISR, or gone by the older setting, long
after nothing shows that it did.
"""

from collections.abc import Iterable, Sequence

from checkers.anomalies import Anomaly
from checkers.history.rows import Context, Producer, Send, TopicPartition
from checkers.properties import Property
from checkers.reference.control_plane.backing import Backing, Span, backing
from checkers.reference.control_plane.rule_result import NOT_COLLECTED, RuleResult, collected
from checkers.reference.control_plane.wall_clock import wall_clock

ALL = "all"


def backing_of(context: Context) -> dict[TopicPartition, Backing] | None:
    """The spans of each partition; None: the property is not decided, its evidence was not collected, or
    nobody can date what the controllers decided."""
    clock = wall_clock(context.clocks)
    if clock is None or context.unplaced or not collected(context, "configs", "producers", "clocks"):
        return None
    return backing(context, clock)


def waits_for_all(producers: Iterable[Producer]) -> dict[int, bool]:
    """For each known producer, whether it asked for acks=all."""
    return {each.producer: each.acks == ALL for each in producers}


def ack_contract(context: Context, sends: Iterable[Send]) -> RuleResult:
    """Each acknowledgement of a producer with acks=all that no span allows. Subset: by id."""
    spans = backing_of(context)
    if spans is None:
        return NOT_COLLECTED
    waits = waits_for_all(context.producers)
    anomalies, examined, undecided, doubtful = [], 0, 0, 0
    for send in sends:
        if not send.acked or not waits.get(send.producer, True):
            continue
        of = spans.get(send.tp)
        if of is None or send.producer not in waits:
            undecided += 1
        elif _overlaps(send, of.certain):
            examined += 1
        elif _overlaps(send, of.possible):
            undecided += 1
            doubtful += not _overlaps(send, of.near)
        else:
            examined += 1
            anomalies.append(too_few(send, of))
    return RuleResult(anomalies=anomalies, examined=examined, undecided=undecided, doubtful=doubtful)


def _overlaps(send: Send, spans: Sequence[Span]) -> bool:
    return any(begin <= send.completed_ns and send.invoked_ns < end for begin, end in spans)


def too_few(send: Send, of: Backing) -> Anomaly:
    """The anomaly of one acknowledgement."""
    return Anomaly(
        property=Property.ACK_CONTRACT,
        topic=send.topic,
        partition=send.partition,
        offset=send.offset,
        producer=send.producer,
        sequence=send.sequence,
        invoked_ns=send.invoked_ns,
        completed_ns=send.completed_ns,
        acked_offset=send.offset,
        note=too_few_note(of),
    )


def too_few_note(of: Backing) -> str:
    """Half a sentence with the slack that was allowed for."""
    slack_ms = of.slack_ns / 1e6
    return (
        "from its sending to its acknowledgement no leader knew of min.insync.replicas in sync "
        f"(the clocks agree to {slack_ms:.1f} ms)"
    )

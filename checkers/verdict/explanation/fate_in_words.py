"""The fate of lost records in words: who wrote them, which election removed them, where each log was cut, how
the high watermark moved, and who still had them."""

from collections.abc import Iterator, Sequence

from checkers.contract.evidence.partition_evidence import PartitionEvidence
from checkers.contract.fates.fate import Fate
from checkers.contract.realised.downtimes import SECOND_NS
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.timeline import Election
from checkers.history.columnar import columns_of
from checkers.history.rows import CUT, BrokerLine, TopicPartition
from checkers.history.tables import NONE
from checkers.verdict.explanation.holders import Holder, holders


def appended(fate: Fate, realised: Realised) -> str:
    """ "by broker 1, leader epoch 5", and that it had been deposed by then."""
    leader = f"by broker {fate.appended.leader}, leader epoch {fate.appended.epoch}"
    deposing = fate.appended.deposed_by
    if deposing is None:
        return leader
    at = realised.clock.seconds(deposing.at_ns)
    return f"{leader}, which broker {deposing.leader} had deposed at {at} (epoch {deposing.leader_epoch})"


def election_line(fate: Fate, realised: Realised) -> str:
    """From whom to whom, how, and from which replicas; "" without an election."""
    election = fate.removed_by
    if election is None:
        return ""
    led = f"broker {election.deposed}" if election.deposed != NONE else "none"
    at = realised.clock.seconds(election.at_ns)
    return (
        f"election: {led} → broker {election.leader}, leader epoch {election.leader_epoch}, at {at}: "
        f"{_legality(election)}"
    )


def _legality(election: Election) -> str:
    isr, elr = sorted(election.isr), sorted(election.elr)
    match election.kind:
        case "clean":
            return f"clean, it was in the ISR {isr}"
        case "ELR":
            return f"of the ELR {elr}, the ISR was {isr}"
        case "last known ELR":
            return "the last known of the ELR: ISR and ELR were empty (KIP-966)"
        case "unclean":
            return f"unclean, it was neither in the ISR {isr} nor in the ELR {elr}"
        case "not known":
            return "who was in sync is not known"


def truncation_lines(fate: Fate, tp: TopicPartition, realised: Realised) -> Iterator[str]:
    """Where the new epoch begins, and where each broker's own log says that it cut."""
    election = fate.removed_by
    if election is None:
        return
    if fate.start != NONE:
        begins = f"leader epoch {election.leader_epoch} begins at offset {fate.start}"
        yield f"truncation: {begins}; every other log was cut there"
    for line in _cuts(tp, election, realised):
        where = f"to offset {line.offset}"
        below = f", below the high watermark {line.high_watermark}" if line.kind == CUT[1] else ""
        yield f"broker {line.node} cut its log {where}{below} at {_wall(line, realised)}"


def _cuts(tp: TopicPartition, election: Election, realised: Realised) -> list[BrokerLine]:
    ended_ns = realised.timeline.ended_ns(tp, election.leader_epoch)
    slack_ns = realised.timeline.slack_ns
    return [
        line
        for line in realised.context.broker_lines
        if line.tp == tp
        and line.kind in CUT
        and election.at_ns - slack_ns <= realised.clock.at(line.at_ms) <= ended_ns + slack_ns
    ]


def _wall(line: BrokerLine, realised: Realised) -> str:
    return realised.clock.seconds(realised.clock.at(line.at_ms))


def outage_lines(evidence: PartitionEvidence, replicas: Sequence[int], realised: Realised) -> Iterator[str]:
    """What each power cut or wiped disk took of each replica, where it was measured."""
    for outage in evidence.outages:
        if outage.node in replicas and outage.data_lost and outage.after is not None:
            before = "" if outage.before is None else f"{max(0, outage.before - outage.after)} records: "
            reached = "" if outage.before is None else f" from {outage.before}"
            at = realised.clock.seconds(outage.since_ns)
            took = f"{before}its log went{reached} to {outage.after}"
            kind = "disk loss" if outage.wiped else "power loss"
            what = "loss of a log directory" if outage.offline else kind
            yield f"{what} of broker {outage.node} at {at}: {took}"


def holder_lines(
    fate: Fate,
    written_ns: int,
    offsets: tuple[int, int],
    replicas: Sequence[int],
    evidence: PartitionEvidence,
    realised: Realised,
) -> Iterator[str]:
    """Who still had how many of the lost offsets (first, last) when the election took place."""
    first, last = offsets
    found = holders(fate, written_ns, replicas, evidence, realised)
    for holder in found:
        held = holder.held(first, last)
        total = last - first + 1
        amount = f"all {total:,}" if held == total else (f"{held:,} of {total:,}" if held else "none")
        measured = _measured(holder, realised)
        yield f"replica {holder.broker}{_condition(holder)} held {amount} of the offsets{measured}"
    unknown = sorted(set(replicas) - {holder.broker for holder in found})
    if unknown:
        yield f"what replica{'s' * (len(unknown) > 1)} {', '.join(map(str, unknown))} held was not measured"


def _condition(holder: Holder) -> str:
    if holder.outage is None:
        return ""
    if holder.outage.offline:
        return " (log directory lost)"
    if holder.outage.data_lost:
        return " (disk lost)" if holder.outage.wiped else " (power loss)"
    return " (killed, page cache kept)" if holder.outage.unclean else " (stopped)"


def _measured(holder: Holder, realised: Realised) -> str:
    if holder.from_disk:
        return ": on its disk, before it was started again"
    return f": its log end was {holder.log_end} at {realised.clock.seconds(holder.at_ns)}"


def watermark_line(tp: TopicPartition, written_ns: int, realised: Realised) -> str:
    """The high watermark when they were written, after the fail-over and at the end, with ages of samples."""
    names = ("topic", "partition", "at_ns", "leader", "leader_epoch", "high_watermark")
    columns = columns_of(realised.context.watermarks, names)
    here = (columns["topic"] == tp.topic) & (columns["partition"] == tp.partition)
    here &= columns["high_watermark"] != NONE
    at_ns, leader, epoch, value = (columns[name][here] for name in names[2:])
    values = []
    if len(at_ns) and written_ns != NONE:
        order = at_ns.argsort(kind="stable")
        at_ns, leader, epoch, value = (column[order] for column in (at_ns, leader, epoch, value))
        place = max(0, int(at_ns.searchsorted(written_ns, "right")) - 1)
        values.append(f"{value[place]} then{_age(int(at_ns[place]), written_ns)}")
        later = (epoch > epoch[place]) & (at_ns > at_ns[place])
        if later.any():
            after = int(later.argmax())
            at = realised.clock.seconds(int(at_ns[after]))
            values.append(f"{value[after]} at {at} under broker {leader[after]}, leader epoch {epoch[after]}")
    final = next((proof for proof in realised.context.proofs if proof.tp == tp and proof.complete), None)
    if final:
        values.append(f"{final.high_watermark} at the end")
    return f"the high watermark of {tp} was {', '.join(values)}" if values else ""


def _age(sampled_ns: int, at_ns: int) -> str:
    apart = abs(at_ns - sampled_ns) / SECOND_NS
    if apart < 0.005:
        return ""
    return f" (sampled {apart:.2f} s {'before' if sampled_ns < at_ns else 'after'})"

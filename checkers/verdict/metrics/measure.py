"""The metrics of one run, each measured when somebody asks for it: from its history, and what was found in
it."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import pyarrow.compute as pc

from checkers.contract.realised.timeline import Timeline
from checkers.history.load import read_groups
from checkers.history.rows import Context
from checkers.history.tables import unit_path
from checkers.judgement import Judgement
from checkers.places import Place
from checkers.properties import Property
from checkers.verdict.exposure.exposure import Exposure
from checkers.verdict.exposure.resumption import Resumption
from checkers.verdict.log_starts import moved_log_starts
from checkers.verdict.metrics import clocks, transactions
from checkers.verdict.metrics.alone import committed_alone
from checkers.verdict.metrics.control_plane import ControlPlane
from checkers.verdict.metrics.metric import ERRORS, Measured
from checkers.verdict.metrics.releases import metadata_versions, new_release
from checkers.verdict.metrics.silence import longest_silence
from checkers.verdict.metrics.stalled import longest_stall
from checkers.verdict.metrics.unreplicated import unreplicated_at_election
from checkers.verdict.metrics.zombies import Zombies

OF_CONTROL_PLANE = ("elections.", "leaders.", "offline.", "isr.", "replicas.", "brokers.", "log-dirs.")
"""How the names of the metrics begin that the metadata log shows."""


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """What the metrics are measured on; `load_ended_ns` is -1 where it is not known."""

    history: Place
    context: Context
    timeline: Timeline
    exposure: Exposure
    judgement: Judgement
    load_ended_ns: int

    def measured(self, name: str) -> Measured:
        """The value of one of `metric.METRICS`, or of the sends that ended with an error."""
        if name.startswith(ERRORS):
            return Measured(value=float(self._errors[name.removeprefix(ERRORS)]))
        match name:
            case "zombie.max":
                return self._zombies.longest()
            case "zombie.appended":
                return self._zombies.appended()
            case "zombie.committed":
                return self._zombies.committed()
            case "alone.committed":
                return committed_alone(self.context.watermarks)
            case "unreplicated.at-election":
                return unreplicated_at_election(self.context.watermarks, self.context.replica_offsets)
            case "watermark.stalled":
                return longest_stall(self.context)
            case "data-lost.brokers":
                lost = {node for fault in self.context.faults for node in fault.data_lost}
                return Measured(value=float(len(lost)))
            case "clocks.apart":
                return clocks.farthest(self.context.faults)
            case "log-start.moved":
                return _most_moved(self.context)
            case "reads.lost":
                return _lost_reads(self.judgement)
            case "resumed.max":
                return _longest(self.exposure.resumption)
            case "acked.partitions":
                return Measured(value=float(self.exposure.acked_partitions))
            case "nodes.new-release":
                return new_release(self.context)
            case "metadata.silent":
                return longest_silence(self.context, self.timeline.clock, self.load_ended_ns)
            case "metadata.versions":
                return metadata_versions(self.context)
        if name.startswith(OF_CONTROL_PLANE):
            return self._control_plane.measured(name)
        if transactions.of_transactions(name):
            return transactions.measured(self.context, name)
        value = self.exposure.metric(name)
        where = self.exposure.longest_gap_at if name == "unavailable.max" else ""
        return Measured(value=value, where=where, unknown="nothing was sent" if value is None else "")

    @cached_property
    def _control_plane(self) -> ControlPlane:
        return ControlPlane(context=self.context, timeline=self.timeline, load_ended_ns=self.load_ended_ns)

    @cached_property
    def _zombies(self) -> Zombies:
        return Zombies(watermarks=self.context.watermarks, log_ends=self.context.replica_offsets)

    @cached_property
    def _errors(self) -> Counter[str]:
        """How many sends ended with each error; a row group at a time."""
        found: Counter[str] = Counter()
        for tp in self.context.partitions:
            path = unit_path(self.history, "sends", *tp)
            for group in read_groups(path, "sends", *tp, columns=["error"]):
                counts = pc.value_counts(group["error"])
                for each in counts.to_pylist():
                    found[each["values"]] += each["counts"]
        return found


def _longest(resumption: Resumption) -> Measured:
    if resumption.unknown:
        return Measured(value=None, unknown=resumption.unknown)
    longest = resumption.gaps[0]
    return Measured(value=longest.length_s, where=str(longest.tp))


def _lost_reads(judgement: Judgement) -> Measured:
    """Unknown if no reader was given a record, or one was given some whose fate no final read shows."""
    if undecided := judgement.undecided[Property.READ_UNCOMMITTED]:
        return Measured(value=None, unknown=f"reads of offsets that no final read reached: {undecided}")
    if not judgement.examined[Property.READ_UNCOMMITTED]:
        return Measured(value=None, unknown="no reader was given a record")
    lost = (block for block in judgement.anomalies.blocks if block.property is Property.READ_UNCOMMITTED)
    return Measured(value=float(sum(map(len, lost))))


def _most_moved(context: Context) -> Measured:
    """With the partition; unknown where no final read says where its log begins."""
    if not context.proofs:
        return Measured(value=None, unknown="no final read was made")
    most = max(moved_log_starts(context), key=lambda its: its.last - its.first, default=None)
    if most is None:
        return Measured(value=0.0)
    return Measured(value=float(most.last - most.first), where=str(most.tp))

"""The metrics of one run, each measured when somebody asks for it: from its history alone."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import pyarrow.compute as pc

from checkers.contract.timeline import Timeline
from checkers.history.load import read_groups
from checkers.history.rows import Context
from checkers.history.tables import unit_path
from checkers.places import Place
from checkers.verdict.exposure import Exposure
from checkers.verdict.metrics import transactions
from checkers.verdict.metrics.control_plane import ControlPlane
from checkers.verdict.metrics.metric import ERRORS, Measured
from checkers.verdict.metrics.zombies import longest_zombie


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """What the metrics are measured on; `load_ended_ns` is -1 where it is not known."""

    history: Place
    context: Context
    timeline: Timeline
    exposure: Exposure
    load_ended_ns: int

    def measured(self, name: str) -> Measured:
        """The value of one of `metric.METRICS`, or of the sends that ended with an error."""
        if name.startswith(ERRORS):
            return Measured(value=float(self._errors[name.removeprefix(ERRORS)]))
        match name:
            case "zombie.max":
                return longest_zombie(self.context.watermarks)
            case "data-lost.brokers":
                lost = {node for fault in self.context.faults for node in fault.data_lost}
                return Measured(value=float(len(lost)))
            case "acked.partitions":
                return Measured(value=float(self.exposure.acked_partitions))
        if name.startswith(("elections.", "offline.", "isr.", "brokers.")):
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

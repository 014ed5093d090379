"""How long the metadata log of a run was silent: nothing was committed to it.

An active controller appends a NO_OP_RECORD every half second (KIP-835), so a longer silence is a time without
one that a majority followed. One that has lost its majority appends until it resigns, by default 3 s later;
if it is elected again, that is committed after all, with the dates of its appends. So a silence may have
been longer than is measured. It was not shorter, but where a fault had set the clock of a controller: then
each of its ends may be off by the 2 s within which two places of a record are one (true_times.py).

Invariant: from one of its ends to the other nothing was appended that was committed in the end.
Evidence: the metadata_appends table, in the order of the log, from the run's first topic on; and when the
load had ended, for the log was copied after that.
"""

from itertools import pairwise

from checkers.contract.realised.timeline import Clock
from checkers.history.metadata_log.since import appends_since
from checkers.history.rows import Context
from checkers.history.tables import NONE
from checkers.verdict.metrics.metric import Measured, in_seconds


def longest_silence(context: Context, clock: Clock, load_ended_ns: int) -> Measured:
    """In seconds; `load_ended_ns` -1: not known."""
    if "metadata_appends" not in context.collected:
        return Measured(value=None, unknown="not collected: metadata_appends")
    began = min((row.log_offset for row in context.metadata), default=NONE)
    if began == NONE:
        return Measured(value=None, unknown="the metadata log does not reach back to the run's first topic")
    rows = appends_since(sorted(context.metadata_appends, key=lambda row: row.log_offset), began)
    if not rows:
        return Measured(value=None, unknown="the metadata log has no append")
    for row in rows:
        if row.at_ms == NONE:
            written = f"the record at offset {row.log_offset} of the metadata log was written"
            return Measured(value=None, unknown=f"nobody knows when {written}: a clock was off then")
    latest_ns = [clock.at(rows[0].at_ms)]
    for at_ns in (*(clock.at(row.at_ms) for row in rows[1:]), load_ended_ns):
        latest_ns.append(max(at_ns, latest_ns[-1]))  # the order is the log's: its clock may step back
    return Measured(value=in_seconds(max(late - early for early, late in pairwise(latest_ns))))

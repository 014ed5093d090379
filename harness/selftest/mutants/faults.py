"""Damage to what is known of faults, processes and clocks."""

from checkers.history.tables import NONE
from harness.selftest.choose import first, middle
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable, Row
from harness.selftest.mutant import family

HOUR_NS = 3_600_000_000_000
STEP_NS = 30_000_000_000
EARLIER_NS = 10_000_000_000


def unprove_fault(copy: DamagedCopy) -> None:
    """A fault has no evidence that it took effect."""
    rows = copy.rows("faults")
    _proven(rows)["proven"] = False
    copy.put("faults", rows)


def unheal_fault(copy: DamagedCopy) -> None:
    """A fault has no evidence that it was healed."""
    rows = copy.rows("faults")
    _proven(rows)["recovered"] = False
    copy.put("faults", rows)


def drop_fault(copy: DamagedCopy) -> None:
    """Nothing was recorded of a fault of the schedule."""
    rows = copy.rows("faults")
    rows.remove(_proven(rows))
    copy.put("faults", rows)


def invent_fault(copy: DamagedCopy) -> None:
    """A fault is recorded that is not in the schedule."""
    rows = copy.rows("faults")
    copy.put("faults", [*rows, _proven(rows) | {"name": "invented", "index": len(rows)}])


def misdate_fault(copy: DamagedCopy) -> None:
    """A fault that ended processes is recorded ten seconds earlier than they ended."""
    rows = copy.rows("faults")
    row = _ending(rows)
    for name in ("inject_ns", "effect_ns"):
        row[name] -= EARLIER_NS
    row["down_ns"] = [at_ns - EARLIER_NS for at_ns in row["down_ns"]]
    copy.put("faults", rows)


def call_shutdown_clean(copy: DamagedCopy) -> None:
    """A fault that killed processes is recorded as if they had shut down cleanly, with all their data."""
    rows = copy.rows("faults")
    row = first([row for row in rows if row["unclean"]], "no unclean shutdown")
    row |= {"unclean": [], "data_lost": []}
    copy.put("faults", rows)


def call_shutdown_unclean(copy: DamagedCopy) -> None:
    """A fault that ended no process is recorded as a power loss of every broker."""
    rows = copy.rows("faults")
    row = first([row for row in rows if not row["down"] and row["proven"]], "every fault ended a process")
    nodes = sorted({each["node"] for each in copy.rows("node_events") if each["role"] == "broker"})
    row |= {
        "down": nodes,
        "down_ns": [row["inject_ns"]] * len(nodes),
        "up_ns": [row["heal_ns"]] * len(nodes),
        "unclean": nodes,
        "data_lost": nodes,
    }
    copy.put("faults", rows)


def end_process(copy: DamagedCopy) -> None:
    """A broker has ended by itself, and nobody had planned it."""
    rows = copy.rows("node_events")
    started = first([row for row in rows if row["role"] == "broker"], "no broker was watched")
    exited = {"event": "exited", "exit_code": 1, "planned": False, "at_ns": rows[-1]["at_ns"]}
    copy.put("node_events", [*rows, started | exited])


def call_end_unplanned(copy: DamagedCopy) -> None:
    """The end of a process that a fault or the run had planned was not planned."""
    rows = copy.rows("node_events")
    first([row for row in rows if row["event"] == "exited"], "no process ended")["planned"] = False
    copy.put("node_events", rows)


def drop_end_of_process(copy: DamagedCopy) -> None:
    """The end of a process that a fault had ended is missing."""
    rows = copy.rows("node_events")
    ended = [row for row in rows if row["event"] == "exited" and row["fault"]]
    rows.remove(first(ended, "no fault ended a process"))
    copy.put("node_events", rows)


def drop_start_of_process(copy: DamagedCopy) -> None:
    """The start of a broker at the begin of the run is missing."""
    rows = copy.rows("node_events")
    started = [row for row in rows if row["event"] == "started" and row["role"] == "broker"]
    rows.remove(first(started, "no broker was watched"))
    copy.put("node_events", rows)


def watch_no_process(copy: DamagedCopy) -> None:
    """No process of the cluster was watched."""
    if not copy.rows("node_events"):
        raise NotApplicable("no process was watched")
    copy.put("node_events", [])


def step_clock(copy: DamagedCopy) -> None:
    """One reading of the wall clocks is half a minute ahead."""
    rows = copy.rows("clocks")
    row = middle(rows, "no reading of the clocks")
    row |= _ahead(row, STEP_NS)
    copy.put("clocks", rows)


def shift_clocks(copy: DamagedCopy) -> None:
    """All readings of the wall clocks are an hour ahead of the manifest's."""
    rows = copy.rows("clocks")
    first(rows, "no reading of the clocks")
    for row in rows:
        row |= _ahead(row, HOUR_NS)
    copy.put("clocks", rows)


def read_no_clock(copy: DamagedCopy) -> None:
    """The clocks were never read."""
    if not copy.rows("clocks"):
        raise NotApplicable("no reading of the clocks")
    copy.put("clocks", [])


def _ahead(row: Row, by_ns: int) -> Row:
    """Both wall clocks of a reading, as far as they were read."""
    return {name: row[name] + by_ns for name in ("wall_ns", "engine_ns") if row[name] != NONE}


def _proven(rows: list[Row]) -> Row:
    return first([row for row in rows if row["proven"] and row["recovered"]], "no fault with evidence")


def _ending(rows: list[Row]) -> Row:
    return first([row for row in rows if row["down"]], "no fault ended a process")


MUTANTS = family(
    "faults, processes, clocks",
    unprove_fault,
    unheal_fault,
    drop_fault,
    invent_fault,
    misdate_fault,
    call_shutdown_clean,
    call_shutdown_unclean,
    end_process,
    call_end_unplanned,
    drop_end_of_process,
    drop_start_of_process,
    watch_no_process,
    step_clock,
    shift_clocks,
    read_no_clock,
)

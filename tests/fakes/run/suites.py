"""Rows and records of a suite in few words."""

from harness.campaign.suites.files.record import ClusterUse, RunRow, RunSeconds, Source, SuiteRecord
from harness.campaign.suites.plan import Entry, SuitePlan
from harness.run_directory.manifest import RunOwner

ENTRIES = (Entry(scenario="demo"),)
NOBODY = RunOwner(pid=0, start="", host="")


def row(
    index, verdict, *, scenario="demo", seed=7, state="judged", served=0, overhead_s=10.5, **more
) -> RunRow:
    """A run that took its schedule of 50 s, and more."""
    told = {"entry": 0, "outcome": f"outcome of {index}", "report": f"report of {index}"} | more
    parts = {"cluster_s": overhead_s}
    return RunRow(
        index=index,
        scenario=scenario,
        seed=seed,
        required=False,
        directory=f"{index:04d}_{scenario}_{seed}",
        state=state,
        verdict=verdict,
        cluster=ClusterUse(run_id="cafe", served=served, why_new=""),
        seconds=RunSeconds(wall_s=50 + overhead_s, schedule_s=50.0, overhead_s=overhead_s, parts=parts),
        **told,
    )


def record(*rows, missing=(), entries=(), **more) -> SuiteRecord:
    """The record of a suite; without entries, of one scenario as often as the rows need."""
    entries = entries or ENTRIES * (1 + max((each.entry for each in rows), default=0))
    return SuiteRecord(
        tool_version="0",
        name="small",
        seed=7,
        shard="1/1",
        budget_s=600.0,
        owner=NOBODY,
        plan=SuitePlan(name="small", scenarios=list(entries)),
        sources=tuple(Source(filename=f"{entry.scenario}.yaml", text="") for entry in entries),
        runs=rows,
        missing=missing,
        **more,
    )

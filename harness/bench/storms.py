"""Storms of every intensity, one after the other: what they lost, what was proven, how late the faults began.

    python -m harness.bench.storms

Ten hard ones within the promise, which may lose nothing; three beyond it, which may; and gentle and normal
ones. Writes docs/storms.md.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from compose.host import shell
from harness.bench.bench import HIGHWATER
from harness.bench.page import measured_on

PAGE = Path("docs/storms.md")
OUT = Path("build/storms")
ALL_AWAY = (11, 14, 15)
"""Beyond the promise with power losses alone, these plans have all brokers away at one time."""
PLAN = (
    *(("hard", "within-promise", seed) for seed in range(1, 11)),
    *(("hard", "beyond-promise", seed) for seed in ALL_AWAY),
    *(("normal", "within-promise", seed) for seed in range(21, 25)),
    *(("gentle", "within-promise", seed) for seed in range(31, 34)),
)
LOSING = "storm.kinds=[power-loss]"
"""Replicas of a partition are lost only together, and among all kinds there are few power losses."""
RUN_S = 600.0
HEAD = """\
# Storms

`make storms` runs these and writes this page: `highwater run storm` with the intensity, the limit and the
seed of each row, two minutes each; beyond the promise only power losses are drawn, and each of these storms
has to lose something. *Late*: from the planned instant of an injection to its begin.
"""


def main() -> int:
    """Run them all and write the page; 1 if one of them was not as it has to be."""
    rows = [_run(*each) for each in PLAN]
    PAGE.write_text(page(rows))
    print(PAGE.read_text())
    return 0 if all(row["as it has to be"] for row in rows) else 1


def _run(intensity: str, limit: str, seed: int) -> dict[str, Any]:
    out = OUT / f"{intensity}-{limit}-{seed}"
    sets = ["storm.duration=2m", f"storm.intensity={intensity}", f"storm.limit={limit}"]
    if limit == "beyond-promise":
        sets.append(LOSING)
    command = [*HIGHWATER, "run", "storm", "--seed", str(seed)]
    command += [word for each in sets for word in ("--set", each)]
    done = shell.run([*command, "--out", str(out), "--json"], timeout_s=RUN_S, check=False)
    verdict = json.loads(done.stdout)
    faults = pq.read_table(out / "latest/history/faults.parquet").to_pylist()
    late = [(f["inject_ns"] - f["planned_begin_ns"]) / 1e9 for f in faults if f["inject_ns"] > 0]
    proven = sum(fault["proven"] and fault["recovered"] for fault in faults)
    loss = verdict["properties"]["acked-loss"]
    return {
        "intensity": intensity,
        "limit": limit,
        "seed": seed,
        "verdict": verdict["verdict"],
        "outcome": verdict["outcome"],
        "faults": len(faults),
        "proven": proven,
        "late": sorted(late),
        "permitted": loss["permitted"],
        "as it has to be": verdict["verdict"] == "PASS"
        and proven == len(faults)
        and bool(loss["permitted"]) == (limit == "beyond-promise"),
    }


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """The whole page."""
    late = sorted(each for row in rows for each in row["late"])
    p99 = late[max(-(-len(late) * 99 // 100), 1) - 1]
    return "\n".join(
        [
            HEAD,
            measured_on(),
            "",
            f"{len(late)} faults began {late[len(late) // 2] * 1e3:.0f} ms after their planned instants "
            f"(median), {p99 * 1e3:.0f} ms at the 99th percentile, {late[-1] * 1e3:.0f} ms at most.",
            "",
            "| intensity | limit | seed | verdict | faults | proven | latest, ms | permitted | outcome |",
            "|---|---|---|---|---|---|---|---|---|",
            *_rows(rows),
            "",
        ]
    )


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        latest = max(row["late"], default=0.0) * 1e3
        cells = [row[name] for name in ("intensity", "limit", "seed", "verdict", "faults", "proven")]
        cells += [f"{latest:.0f}", row["permitted"], row["outcome"]]
        yield f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())

"""Storms of every intensity, one after the other: what they lost, what was proven, how late the faults began.

    python -m harness.bench.storms [--judge-only]

Ten hard ones within the promise, which may lose nothing; three beyond it, which may; and gentle and normal
ones. Writes docs/storms.md. With --judge-only the storms that ran before are judged once more.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from checkers.contract.clauses import CLIENT, RESENT
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
CLIENTS_OWN = (CLIENT, RESENT)
"""What no broker has done. When all replicas come back empty, the client does the one or the other."""
RUN_S = 600.0
HEAD = """\
# Storms

`make storms` runs these and writes this page: `highwater run storm` with the intensity, the limit and the
seed of each row, two minutes each; beyond the promise only power losses are drawn, and each of these storms
has to lose something. *Late*: from the planned instant of an injection to its begin.

A storm beyond the promise may be a FAIL by what the client does alone: when all replicas come back empty, it
takes a record for written that never was, or writes it again under a new producer epoch (see
[causes](properties.md#causes)). Whatever the brokers lose there has to be permitted.
"""


def main() -> int:
    """Run them all and write the page; 1 if one of them was not as it has to be."""
    parser = argparse.ArgumentParser(prog="storms")
    parser.add_argument("--judge-only", action="store_true", help="judge those that ran before")
    judge_only = parser.parse_args().judge_only
    rows = [_row(*each, _judged(*each) if judge_only else _ran(*each)) for each in PLAN]
    PAGE.write_text(page(rows))
    print(PAGE.read_text())
    return 0 if all(row["as it has to be"] for row in rows) else 1


def _out(intensity: str, limit: str, seed: int) -> Path:
    return OUT / f"{intensity}-{limit}-{seed}"


def _ran(intensity: str, limit: str, seed: int) -> Mapping[str, Any]:
    """The verdict of a run."""
    sets = ["storm.duration=2m", f"storm.intensity={intensity}", f"storm.limit={limit}"]
    if limit == "beyond-promise":
        sets.append(LOSING)
    words = ["run", "storm", "--seed", str(seed), *(word for each in sets for word in ("--set", each))]
    return _verdict(*words, "--out", str(_out(intensity, limit, seed)))


def _judged(intensity: str, limit: str, seed: int) -> Mapping[str, Any]:
    """The verdict on a run of before."""
    return _verdict("check", str(_out(intensity, limit, seed) / "latest"))


def _verdict(*words: str) -> Mapping[str, Any]:
    done = shell.run([*HIGHWATER, *words, "--json"], timeout_s=RUN_S, check=False)
    verdict: Mapping[str, Any] = json.loads(done.stdout)
    return verdict


def is_as_it_has_to_be(verdict: Mapping[str, Any], limit: str) -> bool:
    """Whether a storm lost what it had to, within its promise nothing at all, and no broker did wrong."""
    lost_as_permitted = bool(verdict["properties"]["acked-loss"]["permitted"])
    if limit == "within-promise":
        return verdict["verdict"] == "PASS" and not lost_as_permitted
    violations = [each["clause"] for each in verdict["findings"] if each["label"] != "permitted"]
    told = verdict["findings_total"] == len(verdict["findings"])
    by_client = told and all(clause.startswith(CLIENTS_OWN) for clause in violations)
    only_violated = all(" is violated " in each["sentence"] for each in verdict["reasons"])
    failed_by_client = verdict["verdict"] == "FAIL" and by_client and only_violated
    return lost_as_permitted and (verdict["verdict"] == "PASS" or failed_by_client)


def _row(intensity: str, limit: str, seed: int, verdict: Mapping[str, Any]) -> dict[str, Any]:
    faults = pq.read_table(_out(intensity, limit, seed) / "latest/history/faults.parquet").to_pylist()
    late = [(f["inject_ns"] - f["planned_begin_ns"]) / 1e9 for f in faults if f["inject_ns"] > 0]
    proven = sum(fault["proven"] and fault["recovered"] for fault in faults)
    loss = verdict["properties"]["acked-loss"]
    return {
        "intensity": intensity,
        "limit": limit,
        "seed": seed,
        "verdict": verdict["verdict"],
        "outcome": "; ".join([verdict["outcome"], *_amiss(verdict)]),
        "faults": len(faults),
        "proven": proven,
        "late": sorted(late),
        "permitted": loss["permitted"],
        "as it has to be": proven == len(faults) and is_as_it_has_to_be(verdict, limit),
    }


def _amiss(verdict: Mapping[str, Any]) -> Iterator[str]:
    if verdict["verdict"] != "PASS":
        yield from (reason["sentence"] for reason in verdict["reasons"])


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

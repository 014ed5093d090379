"""summary.md: verdict.json for a person, as one page of Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.report.fault_times import in_words

FINDINGS_SHOWN = 20


def markdown(document: Mapping[str, Any]) -> str:
    """The whole page."""
    parts = (_head, _reasons, _findings, _properties, _faults, _exposure, _timings)
    return "\n".join(line for part in parts for line in part(document)) + "\n"


def _head(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {document['verdict']}: {document['scenario']}, seed {document['seed']}"
    yield ""
    yield f"{document['outcome']}"
    yield ""
    releases = " and ".join(document["releases"] or [document["release"]])
    yield f"Kafka {releases}, run state: {document['state']}. {document['problem']}".rstrip()
    yield ""


def _reasons(document: Mapping[str, Any]) -> Iterator[str]:
    yield "## Why"
    yield ""
    for reason in document["reasons"]:
        yield f"- {reason['verdict']}: {reason['sentence']}"
    for kind, key in (("acceptance", "accept"), ("required evidence", "require")):
        for line in document[key]:
            held = {True: "holds", False: "missed", None: "not known"}[line["holds"]]
            where = f" on {line['where']}" if line["where"] else ""
            yield f"- {kind} `{line['line']}`: {held} (measured {line['value']}{where})"
    yield ""


def _findings(document: Mapping[str, Any]) -> Iterator[str]:
    found = document["findings"]
    if not found:
        return
    yield "## What happened"
    yield ""
    for finding in found[:FINDINGS_SHOWN]:
        yield f"- **{finding['label']}** {finding['line']}"
        for line in finding["evidence"]:
            yield f"  - {line}"
    if document["findings_total"] > FINDINGS_SHOWN:
        more = document["findings_total"] - FINDINGS_SHOWN
        yield f"- and {more:,} more findings; verdict.json has the gravest {len(found)}"
    yield ""


def _properties(document: Mapping[str, Any]) -> Iterator[str]:
    yield "## Properties"
    yield ""
    yield "| property | answer | examined | violations | permitted | undecided |"
    yield "|---|---|---|---|---|---|"
    not_decided: dict[str, list[str]] = {}
    for name, result in document["properties"].items():
        if result["status"] == "not decided":
            not_decided.setdefault(result["reason"], []).append(name)
            continue
        counts = (result[key] for key in ("examined", "violations", "permitted", "undecided"))
        yield f"| {name} | {result['status']} | {' | '.join(f'{count:,}' for count in counts)} |"
    yield ""
    if not_decided:
        groups = (f"{', '.join(names)} ({reason})" for reason, names in not_decided.items())
        yield f"Not decided: {'; '.join(groups)}."
        yield ""


def _faults(document: Mapping[str, Any]) -> Iterator[str]:
    windows = document["exposure"]["fault_windows"]
    if not windows:
        return
    yield "## Faults"
    yield ""
    yield "| fault | hit | effect seen | recovery seen | acks in its window | acks it put at risk |"
    yield "|---|---|---|---|---|---|"
    for window in windows:
        name = f"{window['fault']} ({window['kind']})"
        hit = ", ".join([*(f"node {node}" for node in window["nodes"]), *window["edges"]]) or window["target"]
        proven, recovered = ("yes" if window[key] else "NO" for key in ("proven", "recovered"))
        acks = f"{window['acked']:,} | {window['at_risk']:,}"
        yield f"| {name} | {hit} | {proven} | {recovered} | {acks} |"
    yield ""
    if timing := in_words(document["fault_times"]):
        yield f"{timing}."
        yield ""
    if notes := document["fault_times"]["notes"]:
        yield from (f"- note: {note}" for note in notes)
        yield ""


def _exposure(document: Mapping[str, Any]) -> Iterator[str]:
    exposure = document["exposure"]
    yield "## Exposure"
    yield ""
    yield (
        f"{exposure['attempts']:,} sends: {exposure['acked']:,} acknowledged "
        f"({exposure['acked_without_offset']:,} without an offset), "
        f"{exposure['failed']:,} failed for certain, {exposure['indeterminate']:,} indeterminate; "
        f"acknowledgements on {exposure['acked_partitions']} of {exposure['partitions']} partitions; "
        f"{exposure['watermark_samples']:,} samples of the high watermark, "
        f"{exposure['reads']:,} records given to readers; "
        f"{exposure['leader_changes']} changes of a leader, {exposure['isr_changes']} of an ISR."
    )
    if (gap_s := exposure["longest_gap_s"]) is not None:
        yield f"Longest time without an acknowledgement: {gap_s} s on {exposure['longest_gap_at']}."
    yield ""


def _timings(document: Mapping[str, Any]) -> Iterator[str]:
    yield "## Timings"
    yield ""
    took = {
        name.removesuffix("_s"): value for name, value in document["timings"].items() if value is not None
    }
    yield ", ".join(f"{name} {value:.1f} s" for name, value in took.items())

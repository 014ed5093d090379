"""junit.xml of a suite, for the servers and dashboards that read nothing else.

A run is a test case: PASS is one that passed, FAIL a `failure`, ERROR an `error`; UNKNOWN is an `error` too,
of the type UNKNOWN, for a run that has shown nothing is not green. An interrupted run is `skipped`, with what
became of it. A required run that was not made is an `error`. The format has no schema of its own; this is
what JUnit's Ant task writes, which all of them read.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from harness.campaign.suites.files.record import RunRow, SuiteRecord
from harness.run_directory.layout import write_whole

FILE = "junit.xml"
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""


def write_junit(directory: Path, record: SuiteRecord) -> None:
    """Replace the file."""
    write_whole(directory / FILE, junit(record))


def junit(record: SuiteRecord) -> str:
    """The text of the file."""
    done = [row for row in record.runs if row.state != "running"]
    cases = [*(_case(record, row) for row in done), *_missing(record)]
    suite = Element(
        "testsuite",
        name=_text(record.name),
        tests=str(len(cases)),
        failures=str(_count(cases, "failure")),
        errors=str(_count(cases, "error")),
        skipped=str(_count(cases, "skipped")),
        time=f"{record.seconds.total_s:.3f}",
    )
    _properties(suite, {"seed": str(record.seed), "shard": record.shard, "budget_s": f"{record.budget_s:g}"})
    suite.extend(cases)
    top = Element("testsuites")
    top.append(suite)
    indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(top, encoding="unicode") + "\n"


def _case(record: SuiteRecord, row: RunRow) -> Element:
    wall_s = row.seconds.wall_s if row.seconds else 0.0
    case = Element(
        "testcase",
        classname=_text(f"{record.name}.{row.scenario}"),
        name=f"{row.scenario}, seed {row.seed}, run {row.index}",
        time=f"{wall_s:.3f}",
    )
    told = {"directory": row.directory, "cluster": row.cluster.run_id if row.cluster else ""}
    _properties(case, told)
    kind = {"FAIL": "failure", "ERROR": "error", "UNKNOWN": "error"}.get(row.verdict or "")
    if row.state == "interrupted":
        SubElement(case, "skipped", message=_text(row.outcome))
    elif kind:
        found = SubElement(case, kind, type=row.verdict or "", message=_text(row.outcome))
        found.text = _text(row.report)
    SubElement(case, "system-out").text = _text(row.report)
    return case


def _missing(record: SuiteRecord) -> Iterator[Element]:
    spent = record.state == "complete"
    why = "the budget was spent before it could be made" if spent else "the suite ended before it was made"
    for name in record.missing:
        case = Element("testcase", classname=_text(f"{record.name}.required"), name=_text(name), time="0.000")
        SubElement(case, "error", type="UNKNOWN", message=why)
        yield case


def _properties(of: Element, values: dict[str, str]) -> None:
    properties = SubElement(of, "properties")
    for name, value in values.items():
        SubElement(properties, "property", name=name, value=_text(value))


def _count(cases: list[Element], kind: str) -> int:
    return sum(case.find(kind) is not None for case in cases)


def _text(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)

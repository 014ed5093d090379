"""The answer as text: for the terminal, and as upgrade.md. docs/upgrade.md says how to read it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.campaign.upgrade.record import ObservedRow, PeriodRow, PhaseRow, UpgradeRecord
from harness.run_directory.layout import write_whole
from harness.terminal.columns import columns

FILE = "upgrade.md"
NOT_RUN = "not run"
PHASE_HEADS = ("phase", "expected", "observed", "run")
PERIOD_HEADS = (
    *("phase", "period", "length", "acknowledged", "longest wait", "unavailable"),
    *("ISR shrinks", "elections", "longest election"),
)


def answer(record: UpgradeRecord) -> str:
    """Each phase, what it was to show and what it has shown; what Kafka refused; the three periods."""
    lines = [_heading(record), "", *columns([PHASE_HEADS, *map(_of_phase, record.phases)])]
    if record.left_out:
        lines += ["", record.left_out]
    for phase in record.phases:
        lines += [f"{phase.phase}: {said}" for said in _refusals(phase)]
    if rows := list(_periods(record)):
        lines += ["", *columns([PERIOD_HEADS, *rows])]
    return "\n".join(lines)


def write_page(directory: Path, record: UpgradeRecord) -> None:
    """Replace upgrade.md."""
    write_whole(directory / FILE, "\n".join(_page(record)) + "\n")


def _page(record: UpgradeRecord) -> Iterator[str]:
    yield f"# {_heading(record)}"
    yield ""
    yield from _table([PHASE_HEADS, *map(_of_phase, record.phases)])
    if record.left_out:
        yield ""
        yield f"{record.left_out}."
    for phase in record.phases:
        if phase.observed is not None:
            yield ""
            yield f"## {phase.phase}: {phase.observed.verdict}"
            yield ""
            yield from (f"- {line}" for line in _shown(phase.observed))
    if rows := list(_periods(record)):
        yield ""
        yield "## Before, during and after the roll"
        yield ""
        yield from _table([PERIOD_HEADS, *rows])


def _heading(record: UpgradeRecord) -> str:
    low, high = record.levels
    return f"Kafka {record.older} to {record.newer}: metadata.version {low} to {high}"


def _of_phase(row: PhaseRow) -> tuple[str, ...]:
    its = row.observed
    shown = NOT_RUN if its is None else f"{its.verdict}: {its.outcome}"
    return row.phase, row.expects, shown, "" if its is None else its.directory


def _refusals(row: PhaseRow) -> Sequence[str]:
    return () if row.observed is None else row.observed.refusals


def _shown(its: ObservedRow) -> Iterator[str]:
    """What the run has shown of releases and features, a sentence each."""
    yield its.outcome
    for releases in dict.fromkeys(its.releases.values()):
        nodes = ", ".join(str(node) for node, of in its.releases.items() if of == releases)
        yield f"nodes {nodes} ran {', then '.join(releases)}, by their own logs"
    for roll in its.rolls:
        order = ", ".join(map(str, roll.nodes))
        yield f"`{roll.step}` brought {order} to {roll.release} in {roll.took_s:.1f} s"
    if its.metadata_levels:
        yield f"metadata.version was at {', then '.join(map(str, its.metadata_levels))}"
    for feature, (before, now) in its.finalized.items():
        yield f"finalized: {feature} from {before} to {now}"
    for said in its.refusals:
        yield f"the way back: {said}"
    if its.unread:
        yield f"nothing more is known: {its.unread}"


def _periods(record: UpgradeRecord) -> Iterator[tuple[str, ...]]:
    for phase in record.phases:
        for row in () if phase.observed is None else phase.observed.periods:
            yield _of_period(phase.phase, row)


def _of_period(phase: str, row: PeriodRow) -> tuple[str, ...]:
    return (
        phase,
        row.period,
        f"{row.seconds:.1f} s",
        f"{row.acked:,}",
        _where(row.longest_gap_s, row.longest_gap_at),
        _unavailable(row),
        _shrinks(row),
        _elections(row),
        _where(row.longest_election_s, row.longest_election_at),
    )


def _where(seconds: float | None, where: str) -> str:
    return "none" if seconds is None else f"{seconds:.1f} s ({where})"


def _unavailable(row: PeriodRow) -> str:
    """In all, and how many partitions share it."""
    if not row.unavailable_s:
        return "never"
    count = len(row.unavailable_s)
    worst = max(row.unavailable_s, key=lambda where: row.unavailable_s[where])
    partitions = f"{count} partition{'s' * (count > 1)}"
    return f"{partitions}, most {row.unavailable_s[worst]:.1f} s ({worst})"


def _shrinks(row: PeriodRow) -> str:
    if row.isr_shrinks is None:
        return "not known"
    return f"{row.isr_shrinks}, {row.isr_shrinks_per_minute:g} a minute"


def _elections(row: PeriodRow) -> str:
    if row.elections is None:
        return "not known"
    return f"{row.elections}, {row.after_an_end} after an end"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *rest = rows
    for row in (head, ("---",) * len(head), *rest):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"

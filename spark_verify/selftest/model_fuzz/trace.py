"""Whether a planted bug has left a trace: something in the history that a correct Kafka does not put there.

A verdict is made from the history alone. Where a correct Kafka has the same history of the same case, a
verdict that finds the bug would be a false alarm on the correct one: nobody can tell the two apart.

Counterexample to "the bug acted, and a record is lost that was below the high watermark":
    with an ISR of one, below min.insync.replicas, a leader moves its high watermark over acks=1 records
    0.1 s later it loses its power; nobody has sampled it or read from it since
    a correct one would not have moved it, and the same records are gone, as acks=1 permits
"""

from collections.abc import Iterable
from dataclasses import replace

from checkers.history.rows import ROW_OF, History
from checkers.history.tables import NONE, TABLES
from checkers.model import Simulated, simulate

WITHIN_NS = 50_000_000
"""The longest that a broker of the model takes to learn of a record in the metadata log, unless the case has
brokers that hear late. All delays are drawn from one source: where a bug lets a node do one thing more, or
less, others take another time."""
_UNITS_NS = {"_ns": 1, "_ms": 1_000_000}
_UNREAD = {("broker_lines", "high_watermark")}
"""What a broker adds to a line of its log. No rule reads it: a follower learns of its leader's late."""


def leaves_a_trace(simulated: Simulated) -> bool:
    """Whether a correct Kafka has another history of the same case, apart from small differences of time."""
    correct = simulate(replace(simulated.case, bugs=frozenset()))
    late_ns = int(simulated.case.settings.metadata_late_s * 1e9)
    return not same_history(simulated.history, correct.history, within_ns=WITHIN_NS + late_ns)


def same_history(one: History, other: History, *, within_ns: int = WITHIN_NS) -> bool:
    """Whether two histories are the same in all that rules read, but for times that differ by `within_ns` at
    most."""
    return all(_same_table(table, one, other, within_ns) for table in ROW_OF)


def _same_table(table: str, one: History, other: History, within_ns: int) -> bool:
    rows, others = getattr(one, table), getattr(other, table)
    names = [name for name in TABLES[table].names if (table, name) not in _UNREAD]
    return len(rows) == len(others) and all(
        _same_row(names, row, its, within_ns) for row, its in zip(rows, others, strict=True)
    )


def _same_row(names: Iterable[str], one: object, other: object, within_ns: int) -> bool:
    within = {ending: within_ns // unit_ns for ending, unit_ns in _UNITS_NS.items()}
    return all(_same(within.get(name[-3:]), getattr(one, name), getattr(other, name)) for name in names)


def _same(within: int | None, one: object, other: object) -> bool:
    """`within`: how much a time may differ, in its unit; None: of anything else."""
    if one == other or within is None:
        return one == other
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, [within] * len(one), one, other))
    assert isinstance(one, int), "a time, or a list of times"
    assert isinstance(other, int), "as the other"
    return NONE not in (one, other) and abs(one - other) <= within

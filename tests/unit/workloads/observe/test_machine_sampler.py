"""The thread that reads the clocks and the machine's pressure, on a virtual clock."""

from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from checkers.history.rows import TopicPartition
from compose.protocols import ClockReading
from workloads.observe.machine_sampler import MachineSampler
from workloads.observe.pressure import Counters
from workloads.record import journal
from workloads.record.recorder import Recorder

MS, S = 1_000_000, 1_000_000_000


@dataclass
class Machine:
    """A machine on which each wait takes 100 ms and `late_ms` more; it starves half of the time."""

    late_ms: int = 0
    question_ms: int = 10
    now_ns: int = 1000 * S
    waits: int = 0
    questions: list[int] = field(default_factory=list)

    def counters(self) -> Counters:
        return Counters(stall_ns=self.now_ns // 2, steal_ns=0, busy_ns=self.now_ns // 4)

    def clocks(self) -> ClockReading:
        self.questions.append(self.now_ns)
        self.now_ns += self.question_ms * MS
        return ClockReading(at_ns=self.now_ns, wall_ns=1, engine_ns=2, error_ns=self.question_ms * MS // 2)


@dataclass
class Stop(Event):
    """Set after so many waits."""

    machine: Machine
    after: int

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.machine.now_ns += int(timeout * S) + self.machine.late_ms * MS
        self.machine.waits += 1
        return self.machine.waits >= self.after


def sampled(tmp_path: Path, machine: Machine, waits: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of both tables after so many ticks."""
    with Recorder(tmp_path, (TopicPartition("orders", 0),)) as recorder:
        sampler = MachineSampler(
            machine.clocks,
            clocks=recorder.table("clocks"),
            pressures=recorder.table("pressure"),
            read_counters=machine.counters,
            now_ns=lambda: machine.now_ns,
        )
        sampler(Stop(machine, waits))
    journals = {name: journal.inspect(tmp_path / f"journal/{name}.arrow") for name in ("clocks", "pressure")}
    return {
        name: [row for batch in journal.read(each) for row in batch.to_pylist()]
        for name, each in journals.items()
    }


def test_pressure_is_a_row_a_second_and_the_last_one_when_it_ends(tmp_path: Path) -> None:
    rows = sampled(tmp_path, Machine(question_ms=0), 25)["pressure"]
    assert [row["span_ns"] for row in rows] == [S, S, S // 2]
    assert [row["stall_ns"] for row in rows] == [S // 2, S // 2, S // 4]
    assert [row["late_ns"] for row in rows] == [0, 0, 0]


def test_rows_follow_each_other_without_a_hole(tmp_path: Path) -> None:
    rows = sampled(tmp_path, Machine(late_ms=35), 60)["pressure"]
    ends = [row["at_ns"] for row in rows]
    assert [row["at_ns"] - row["span_ns"] for row in rows[1:]] == ends[:-1]


def test_what_the_loop_woke_late_is_added_up(tmp_path: Path) -> None:
    """Ticks of 150 ms: seven of them make a row, 50 ms late each."""
    rows = sampled(tmp_path, Machine(late_ms=50, question_ms=0), 7)["pressure"]
    assert [(row["span_ns"], row["late_ns"]) for row in rows] == [(1050 * MS, 350 * MS)]


def test_a_slow_answer_of_the_engine_is_no_lateness_of_the_loop(tmp_path: Path) -> None:
    rows = sampled(tmp_path, Machine(question_ms=3000), 3)["pressure"]
    assert [row["late_ns"] for row in rows] == [0, 0]
    assert rows[0]["span_ns"] == 3100 * MS


def test_the_clocks_are_read_at_once_every_two_seconds_and_at_the_end(tmp_path: Path) -> None:
    machine = Machine(question_ms=0)
    rows = sampled(tmp_path, machine, 45)["clocks"]
    assert [(at - 1000 * S) / S for at in machine.questions] == [0, 2, 4, 4.5]
    assert [row["at_ns"] for row in rows] == machine.questions

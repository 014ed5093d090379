"""What an end of a node means: nothing if it was planned, Kafka's failure, or a run that was disturbed."""

from collections.abc import Sequence

import pytest
from fakes.history.judged_run import CLOCK, down, ns

from checkers.history.rows import Fault, NodeEvent
from checkers.verdict.algebra import Reason, Verdict
from checkers.verdict.node_ends import reasons

FATAL = "[t] ERROR Shutdown broker because all log dirs in /data have failed (kafka.log.LogManager)"


def event(second=12.3, node=2, role="broker", what="exited", code=1, planned=False, detail="") -> NodeEvent:
    """An end of broker 2 by itself, unless a test says otherwise."""
    return NodeEvent(
        at_ns=ns(second), node=node, role=role, event=what, exit_code=code, planned=planned, detail=detail
    )


def of(*events: NodeEvent, faults: Sequence[Fault] = ()) -> list[Reason]:
    return list(reasons(events, faults, CLOCK))


def test_what_was_planned_means_nothing() -> None:
    planned = [event(code=code, planned=True) for code in (137, 143, 0, 1, -1)]
    assert of(*planned, event(what="started", code=-1, planned=True)) == []


def test_a_node_that_ends_by_itself_is_a_failure_with_its_fatal_line() -> None:
    assert of(event(detail=f"[t] ERROR earlier\n{FATAL}")) == [
        Reason(Verdict.FAIL, f"node 2 (broker) ended by itself at 12.30 s with exit code 1: {FATAL}")
    ]


@pytest.mark.parametrize("code", [0, 3, 134, 135, 139])
def test_an_exit_code_that_the_process_gave_itself_is_its_own_end(code: int) -> None:
    """A JVM that crashes ends with SIGABRT, SIGBUS or SIGSEGV, but nobody sent it; 3 is its lack of heap."""
    (reason,) = of(event(code=code))
    assert reason == Reason(Verdict.FAIL, f"node 2 (broker) ended by itself at 12.30 s with exit code {code}")


def test_a_kill_from_outside_is_an_error_with_node_time_code_and_last_lines() -> None:
    assert of(event(code=137, role="controller", node=101, detail="a\nb")) == [
        Reason(
            Verdict.ERROR,
            "node 101 (controller) was ended from outside at 12.30 s: SIGKILL, exit code 137, as the kernel "
            "does where memory is short; its last lines: a | b",
        )
    ]
    assert of(event(code=143)) == [
        Reason(Verdict.ERROR, "node 2 (broker) was ended from outside at 12.30 s: SIGTERM, exit code 143")
    ]


def test_lack_of_memory_is_an_error() -> None:
    assert of(event(what="oom-killed", code=137)) == [
        Reason(
            Verdict.ERROR, "node 2 (broker) was killed at 12.30 s because its memory ran out, exit code 137"
        )
    ]


@pytest.mark.parametrize("code", [1, 2, 137, -1])
def test_a_dead_proxy_is_an_error_whatever_ended_it(code: int) -> None:
    (reason,) = of(event(node=-1, role="proxy", code=code))
    assert reason.verdict is Verdict.ERROR
    assert reason.sentence.startswith("the proxy ")


def test_a_start_that_nobody_planned_is_an_error() -> None:
    assert of(event(what="started", code=-1)) == [
        Reason(Verdict.ERROR, "node 2 (broker) was started at 12.30 s, and not by this run")
    ]


def test_an_end_without_a_known_exit_code_is_unknown() -> None:
    assert of(event(code=-1)) == [
        Reason(
            Verdict.UNKNOWN,
            "node 2 (broker) ended at 12.30 s, nobody had planned it, and its exit code is not known",
        )
    ]


def test_an_end_by_itself_after_a_kill_from_outside_does_not_blame_kafka() -> None:
    halted, killed = event(second=20, node=3), event(second=12.3, code=137)
    after = Reason(
        Verdict.ERROR,
        "node 3 (broker) ended by itself at 20.00 s with exit code 1 "
        "(after the cluster was disturbed from outside)",
    )
    assert of(halted, killed)[1] == after
    assert [each.verdict for each in of(event(second=5, node=3), killed)] == [Verdict.FAIL, Verdict.ERROR]


def test_a_node_that_ends_after_a_fault_that_could_not_be_healed_shows_nothing_of_kafka() -> None:
    """Its disk was cut off at 10 s and stayed so. What ends earlier, elsewhere or healed is Kafka's."""
    stuck, healed = down(10, 2, kind="power-loss"), down(10, 2, kind="power-loss", recovered=11)
    (reason,) = of(event(), faults=[stuck])
    assert reason == Reason(
        Verdict.ERROR,
        "node 2 (broker) ended by itself at 12.30 s with exit code 1 (fault power-loss-2 hit it and could "
        "not be healed)",
    )
    assert [each.verdict for each in of(event(), faults=[healed])] == [Verdict.FAIL]
    assert [each.verdict for each in of(event(second=9), event(node=3), faults=[stuck])] == [Verdict.FAIL] * 2

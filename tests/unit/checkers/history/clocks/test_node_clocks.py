"""By how much a node's own clock was off, and when that is certain."""

from dataclasses import replace

import pytest

from checkers.history.clocks.node_clocks import NEVER_NS, Ahead, offset_ms, offset_of, spans_of
from checkers.history.rows import Fault

SKEW = Fault(
    index=0,
    name="ahead",
    kind="clock-skew",
    target="leader(orders-0): +5m",
    nodes=(1,),
    inject_ns=100,
    effect_ns=110,
    end_ns=200,
    heal_ns=205,
    recovered_ns=220,
)


def times(span: Ahead) -> tuple[int, int, int, int, int]:
    return (
        span.ahead_ms,
        span.since_ns,
        span.until_ns,
        span.certain_since_ns,
        span.certain_until_ns,
    )


def later(by_ns: int) -> dict[str, int]:
    names = ("inject_ns", "effect_ns", "end_ns", "heal_ns", "recovered_ns")
    return {name: getattr(SKEW, name) + by_ns for name in names}


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("+5m", 300_000), ("-1h", -3_600_000), ("+8d", 691_200_000), ("+90s", 90_000), ("-30.500s", -30_500)],
)
def test_an_offset_is_read_in_its_unit(text: str, milliseconds: int) -> None:
    assert offset_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "5m", "+5", "+m", "+5 m", "+5ms", "++5m"])
def test_another_text_is_no_offset(text: str) -> None:
    with pytest.raises(ValueError, match="not by how much a clock is off"):
        offset_ms(text)


def test_the_offset_of_a_fault_stands_behind_its_target() -> None:
    assert offset_of(SKEW) == 300_000


def test_between_injection_and_proof_a_clock_may_be_either() -> None:
    assert [times(span) for span in spans_of([SKEW])[1]] == [
        (0, -NEVER_NS, 110, -NEVER_NS, 100),
        (300_000, 100, 220, 110, 200),
        (0, 200, NEVER_NS, 220, NEVER_NS),
    ]


def test_an_effect_that_was_not_proven_is_never_certain() -> None:
    unproven = replace(SKEW, proven=False, effect_ns=-1)
    right, ahead, _ = spans_of([unproven])[1]
    assert times(right) == (0, -NEVER_NS, NEVER_NS, -NEVER_NS, 100)
    assert times(ahead) == (300_000, 100, 220, NEVER_NS, 200)


def test_a_clock_that_was_not_seen_to_be_right_again_may_be_wrong_to_the_end() -> None:
    left = replace(SKEW, recovered=False, recovered_ns=-1)
    _, ahead, after = spans_of([left])[1]
    assert times(ahead) == (300_000, 100, NEVER_NS, 110, 200)
    assert times(after) == (0, 200, NEVER_NS, NEVER_NS, NEVER_NS)


def test_a_clock_that_was_set_twice_was_right_between() -> None:
    again = replace(SKEW, index=1, target="node 1: -1h", nodes=(1, 2), **later(1000))
    spans = spans_of([again, SKEW])
    assert [times(span) for span in spans[1]] == [
        (0, -NEVER_NS, 110, -NEVER_NS, 100),
        (300_000, 100, 220, 110, 200),
        (0, 200, 1110, 220, 1100),
        (-3_600_000, 1100, 1220, 1110, 1200),
        (0, 1200, NEVER_NS, 1220, NEVER_NS),
    ]
    assert len(spans[2]) == 3


def test_other_faults_and_those_that_were_not_injected_set_no_clock() -> None:
    kill = replace(SKEW, kind="kill", target="leader")
    waiting = replace(SKEW, inject_ns=-1, nodes=())
    assert spans_of([kill, waiting]) == {}

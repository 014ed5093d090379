"""Moments of steps: one, or the last or the first of several."""

import pytest

from faults.errors import BadStep
from faults.targets.moments import (
    Combined,
    StepMoment,
    combined,
    each_moment,
    levels,
    parse_moments,
    replaced,
    time_of,
)

CUT_END = StepMoment(step="cut", moment="end")
KILL_END = StepMoment(step="kill#2", moment="end")


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ("cut.end", CUT_END),
        ("all(cut.end, kill#2.end)", Combined(which="all", of=(CUT_END, KILL_END))),
        ("any( cut.end ,kill#2.end )", Combined(which="any", of=(CUT_END, KILL_END))),
        ("all.begin", StepMoment(step="all", moment="begin")),
        (
            "any(cut.end, all(cut.end, kill#2.end))",
            Combined(which="any", of=(CUT_END, Combined(which="all", of=(CUT_END, KILL_END)))),
        ),
    ],
)
def test_reading_and_writing(text: str, moments: object) -> None:
    """Moments are written as the words that read back to them."""
    found = parse_moments(text, "after")
    assert found == moments
    assert parse_moments(str(found), "after") == moments


def test_refusing_a_moment_that_there_is_not() -> None:
    """The message lists those that there are."""
    with pytest.raises(BadStep) as caught:
        parse_moments("all(cut.end, cut.middle)", "after")
    assert str(caught.value) == (
        "after: 'cut.middle' is refused; allowed: one of STEP.begin, STEP.end, STEP.recovered"
    )


def test_refusing_too_many_levels() -> None:
    """Four are read, a fifth is not."""
    four = "all(any(all(any(a.end, b.end))))"
    assert levels(parse_moments(four, "after")) == 4
    with pytest.raises(BadStep) as caught:
        parse_moments(f"any({four})", "after")
    assert caught.value.allowed == "all() and any() in each other, at most 4 levels deep"


def test_a_very_deep_text_is_refused_at_once() -> None:
    """And does not exhaust the stack."""
    with pytest.raises(BadStep):
        parse_moments("all(" * 100_000 + "a.end" + ")" * 100_000, "after")


def test_when_they_come() -> None:
    """The last of all(), the first of any()."""
    times = {"a": 1, "b": 2, "c": 3}
    found = {
        text: time_of(parse_moments(text, "after"), lambda each: times[each.step])
        for text in ("b.end", "all(a.end, b.end)", "any(b.end, c.end)", "all(a.end, any(b.end, c.end))")
    }
    assert list(found.values()) == [2, 2, 2, 2]
    assert (
        time_of(parse_moments("any(c.end, all(a.end, b.end))", "after"), lambda each: times[each.step]) == 2
    )


def test_replacing() -> None:
    """What stands for several steps becomes all of them, in one all()."""
    several = Combined(which="all", of=(CUT_END, KILL_END))
    found = replaced(
        parse_moments("all(x.end, b.end)", "after"), lambda each: several if each.step == "x" else each
    )
    assert str(found) == "all(cut.end, kill#2.end, b.end)"
    assert [each.step for each in each_moment(found)] == ["cut", "kill#2", "b"]
    assert combined("all", (CUT_END,)) == CUT_END

"""When could each step come at the earliest? So that its counters are read in time, and not all the time."""

from collections.abc import Mapping, Sequence

from faults.clock import ns
from faults.plan.steps import After, At, When
from faults.schedule.step_state import Course


def earliest(courses: Sequence[Course], start_ns: int) -> list[int]:
    """For each step the earliest time at which it can be due, as far as is known now.

    Steps depend on earlier ones only, so one pass over them in order is enough.
    """
    by_name = {course.step.name: course for course in courses}
    times: list[int] = []
    for course in courses:
        known = course.due_ns >= 0
        times.append(course.due_ns if known else _guess(course, courses, by_name, times, start_ns))
    return times


def _guess(
    course: Course, courses: Sequence[Course], by_name: Mapping[str, Course], times: list[int], start_ns: int
) -> int:
    """From the earliest times of earlier steps, which are in `times`, and their holds."""
    match course.step.start:
        case At(offset_s=offset_s):
            return start_ns + ns(offset_s)
        case After(anchor=anchor, moment=moment, delay_s=delay_s):
            earlier = by_name[anchor]
            begin_ns = _begin(earlier, times)
            end_ns = earlier.heal_ns if earlier.heal_ns >= 0 else begin_ns + ns(earlier.step.hold_s)
            return (begin_ns if moment == "begin" else end_ns) + ns(delay_s)
        case When():
            return _begin(courses[course.index - 1], times) if course.index else start_ns


def _begin(course: Course, times: list[int]) -> int:
    return course.begin_ns if course.begin_ns >= 0 else times[course.index]

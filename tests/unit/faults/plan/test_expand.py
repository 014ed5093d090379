"""Repetitions and blocks become plain steps, which read as if a person had written each."""

import time
from typing import Any

import pytest
from fakes.world.cluster import full_mesh

from faults.errors import BadStep
from faults.kinds.fault.step import At
from faults.plan.parse import parse_plan, parse_steps, write_step
from faults.plan.validate import validate, validate_plan
from faults.targets.facts import Facts, TopicFacts

FACTS = Facts(
    brokers=(1, 2, 3),
    controllers=(101, 102, 103),
    edges=full_mesh((1, 2, 3), (101, 102, 103)),
    topics=(TopicFacts(name="orders", partitions=2, replication=3),),
)
KILL = {"do": "kill", "target": "node 1", "for": "1s"}
PAUSE = {"do": "pause", "target": "node 2", "for": "2s"}


def starts(plan: list[dict[str, Any]], seed: int = 0) -> dict[str, str]:
    """When each step begins, in words, by its name; the plan is valid, and reads back to the same."""
    steps = validate(parse_steps(plan, seed=seed), FACTS)
    written = [write_step(step) for step in steps]
    assert validate(parse_steps(written), FACTS) == steps
    keys = ("at", "after", "when", "since", "once")
    return {
        words["name"]: ", ".join(f"{key} {words[key]}" for key in keys if key in words) for words in written
    }


def refusal(plan: list[Any]) -> str:
    """Why a plan is refused, and where."""
    with pytest.raises(BadStep) as caught:
        validate_plan(parse_plan(plan), FACTS)
    return str(caught.value)


def test_a_step_is_repeated_so_often() -> None:
    """Each repetition has its number, its own time, and waits until the one before has recovered."""
    assert starts([KILL | {"at": "5s", "repeat": {"every": "10s", "times": 3}}]) == {
        "kill-1#1": "at 5s",
        "kill-1#2": "at 15s, once kill-1#1",
        "kill-1#3": "at 25s, once kill-1#2",
    }


def test_a_step_is_repeated_until_a_time_of_the_schedule() -> None:
    """The last one may be at that time."""
    for until, count in (("24.9s", 2), ("25s", 3), ("5s", 1)):
        found = starts([KILL | {"at": "5s", "repeat": {"every": "10s", "until": until, "overlap": "allow"}}])
        assert list(found.values()) == ["at 5s", "at 15s", "at 25s"][:count]


def test_jitter_is_drawn_from_the_seed() -> None:
    """The first is on time, the others within it; the same seed draws the same, whatever follows."""
    repeated = KILL | {"name": "it", "at": "5s", "repeat": {"every": "10s", "jitter": "2s", "times": 200}}
    plan = parse_steps([repeated], seed=7)
    planned = [step.start.offset_s for step in plan if isinstance(step.start, At)]
    late = [offset_s - (5 + 10 * number) for number, offset_s in enumerate(planned)]
    assert len(late) == 200
    assert late[0] == 0
    assert -2 <= min(late) < -1.8
    assert 1.8 < max(late) <= 2
    assert parse_steps([repeated, PAUSE | {"at": "1s"}], seed=7)[:200] == plan
    assert parse_steps([repeated], seed=8) != plan


def test_repetitions_after_a_moment_and_after_an_event() -> None:
    """The first one waits for it, and the others count from the same moment, or from its begin."""
    twice = {"repeat": {"every": "10s", "times": 2}}
    assert starts(
        [
            KILL | {"name": "a", "at": "5s"},
            KILL | {"name": "b", "after": "a.end + 1s"} | twice,
            KILL | {"name": "c", "when": "leader.changed", "since": "b.end"} | twice,
        ]
    ) == {
        "a": "at 5s",
        "b#1": "after a.end + 1s",
        "b#2": "after a.end + 11s, once b#1",
        "c#1": "when leader.changed(orders-0), since all(b#1.end, b#2.end)",
        "c#2": "after c#1.begin + 10s, once c#1",
    }


@pytest.mark.parametrize(
    ("then", "after"),
    [
        ({}, "first.recovered + 1.2s"),
        ({"then": "recovered"}, "first.recovered + 1.2s"),
        ({"then": "end + 0s"}, "first.end + 0s"),
        ({"then": "begin + 1500ms"}, "first.begin + 1.5s"),
    ],
)
def test_a_sequence(then: dict[str, str], after: str) -> None:
    """Its first step begins with it, each other one after the one before."""
    block = {"at": "5s", "once": "zero", "sequence": [KILL | {"name": "first"}, PAUSE | {"name": "second"}]}
    assert starts([KILL | {"at": "1s", "name": "zero"}, block | then]) == {
        "zero": "at 1s",
        "first": "at 5s, once zero",
        "second": f"after {after}",
    }


def test_a_parallel_ends_with_its_last() -> None:
    """All its steps begin with it, but for those that have a start of their own."""
    delayed = PAUSE | {"after": "previous.begin + 1s"}
    block = {"name": "both", "at": "5s", "parallel": [KILL, PAUSE, delayed]}
    assert starts([block, KILL | {"after": "both.end + 2s"}, KILL | {"after": "both.begin"}]) == {
        "kill-1": "at 5s",
        "pause-2": "at 5s",
        "pause-3": "after pause-2.begin + 1s",
        "kill-4": "after all(kill-1.end, pause-2.end, pause-3.end) + 2s",
        "kill-5": "after kill-1.begin + 0s",
    }


def test_blocks_in_blocks() -> None:
    """A parallel of sequences in a sequence: the step after it waits for all of them."""
    inner = {"parallel": [{"then": "end", "sequence": [KILL, PAUSE]}, PAUSE]}
    block = {"after": "x.end + 1s", "sequence": [PAUSE, inner, KILL]}
    assert starts([KILL | {"name": "x", "at": "0s"}, block]) == {
        "x": "at 0s",
        "pause-2": "after x.end + 1s",
        "kill-3": "after pause-2.recovered + 1.2s",
        "pause-4": "after kill-3.end + 1.2s",
        "pause-5": "after pause-2.recovered + 1.2s",
        "kill-6": "after all(kill-3.recovered, pause-4.recovered, pause-5.recovered) + 1.2s",
    }


def test_an_event_in_a_sequence_counts_from_the_step_before() -> None:
    """Unless the step says from when on it does."""
    waiting = PAUSE | {"when": "leader.changed"}
    block = {"at": "5s", "then": "end", "sequence": [KILL, waiting, waiting | {"since": "kill-1.begin"}]}
    assert starts([block]) == {
        "kill-1": "at 5s",
        "pause-2": "when leader.changed(orders-0), since kill-1.end",
        "pause-3": "when leader.changed(orders-0), since kill-1.begin",
    }


def test_all_steps_of_a_parallel_wait_for_one_event() -> None:
    """It counts for each from the begin of the step before the block; at the start of a plan, from there."""
    block = {"when": "leader.changed", "parallel": [KILL, PAUSE]}
    assert starts([KILL | {"name": "x", "at": "0s"}, block]) == {
        "x": "at 0s",
        "kill-2": "when leader.changed(orders-0), since x.begin",
        "pause-3": "when leader.changed(orders-0), since x.begin",
    }
    assert starts([block]) == {
        "kill-1": "when leader.changed(orders-0), since start",
        "pause-2": "when leader.changed(orders-0), since start",
    }


def test_a_block_is_repeated() -> None:
    """Within a repetition a name means the step of the same one; outside, all of them."""
    block = {
        "name": "roll",
        "at": "5s",
        "repeat": {"every": "60s", "times": 2},
        "sequence": [KILL | {"name": "a"}, PAUSE | {"name": "b", "after": "a.begin + 3s"}],
    }
    later = KILL | {"name": "c", "after": "a.end + 1s"}
    last = KILL | {"name": "d", "after": "any(b#1.end, roll.end)"}
    assert starts([block, later, last]) == {
        "a#1": "at 5s",
        "b#1": "after a#1.begin + 3s",
        "a#2": "at 65s, once a#1 + b#1",
        "b#2": "after a#2.begin + 3s",
        "c": "after all(a#1.end, a#2.end) + 1s",
        "d": "after any(b#1.end, all(a#1.end, b#1.end, a#2.end, b#2.end)) + 0s",
    }


def test_repetitions_in_repetitions() -> None:
    """The numbers of both are in the name."""
    inner = KILL | {"name": "a", "repeat": {"every": "5s", "times": 2}}
    block = {"at": "0s", "repeat": {"every": "60s", "times": 2}, "sequence": [inner]}
    assert starts([block]) == {
        "a#1#1": "at 0s",
        "a#1#2": "at 5s, once a#1#1",
        "a#2#1": "at 60s, once a#1#1 + a#1#2",
        "a#2#2": "at 65s, once a#1#1 + a#1#2 + a#2#1",
    }


REPEATED = KILL | {"name": "it", "at": "5s"}


@pytest.mark.parametrize(
    ("repeat", "message"),
    [
        (5, "repeat: 5 is refused; allowed: a map, as in {every: 5s, times: 6}"),
        (
            {"every": "5s", "times": 2, "until": "9s"},
            "repeat, times: 2 is refused; allowed: exactly one of times, until",
        ),
        ({"every": "5s"}, "repeat, times: None is refused; allowed: exactly one of times, until"),
        (
            {"times": 2},
            "repeat, every: None is refused; "
            "allowed: a duration with its unit, not negative: 500ms, 2.5s, 10m, 1h",
        ),
        ({"every": "0s", "times": 2}, "repeat, every: '0s' is refused; allowed: 0.1s or longer"),
        ({"every": "5s", "times": 0}, "repeat, times: 0 is refused; allowed: a whole number, 1 to 10000"),
        (
            {"every": "5s", "times": 10**9},
            "repeat, times: 1000000000 is refused; allowed: a whole number, 1 to 10000",
        ),
        (
            {"every": "5s", "times": True},
            "repeat, times: True is refused; allowed: a whole number, 1 to 10000",
        ),
        (
            {"every": "5s", "times": 2, "jitter": "2.6s"},
            "repeat, jitter: '2.6s' is refused; allowed: at most half of every: 2.5s",
        ),
        (
            {"every": "5s", "times": 2, "overlap": "maybe"},
            "repeat, overlap: 'maybe' is refused; allowed: one of forbid, allow",
        ),
        (
            {"every": "5s", "times": 2, "for": "1s"},
            "repeat, for: '1s' is refused; "
            "allowed: the keys of a repetition: every, jitter, times, until, overlap",
        ),
        (
            {"every": "5s", "until": "4s"},
            "repeat, until: '4s' is refused; allowed: 5s or later, when the first one begins",
        ),
        (
            {"every": "100ms", "until": "24h", "overlap": "allow"},
            "repeat, until: '86400s' is refused; allowed: at most 10000 repetitions",
        ),
        (
            {"every": "3s", "jitter": "1s", "times": 2},
            "repeat, every: '3s' is refused; "
            "allowed: more than the hold of 1s, and twice the jitter beyond that; or overlap: allow",
        ),
    ],
)
def test_refusing_a_repetition(repeat: object, message: str) -> None:
    """With the path to the key, the value and what is allowed."""
    assert refusal([REPEATED | {"repeat": repeat}]) == f"step 1, {message}"


def test_refusing_until_without_a_time() -> None:
    """Nobody knows how often that would be."""
    words = KILL | {"after": "it.end", "repeat": {"every": "5s", "until": "60s"}}
    assert refusal([REPEATED, words]) == (
        "step 2, repeat, until: '60s' is refused; allowed: nothing: it belongs to 'at'; write times instead"
    )


DEEP: dict[str, Any] = {"parallel": [KILL]}
for _ in range(3):
    DEEP = {"parallel": [DEEP]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"at": "5s", "sequence": []}, "sequence: [] is refused; allowed: a list of steps and blocks"),
        (
            {"at": "5s", "sequence": "kill"},
            "sequence: 'kill' is refused; allowed: a list of steps and blocks",
        ),
        (
            {"at": "5s", "sequence": ["kill"]},
            "sequence 1, do: 'kill' is refused; allowed: a step or a block, as a map of its keys",
        ),
        ({"sequence": [KILL]}, "at: [] is refused; allowed: exactly one of at, after, when"),
        (
            {"at": "5s", "parallel": [KILL], "sequence": [PAUSE]},
            f"parallel: {[KILL]} is refused; allowed: one of sequence, parallel, in one block",
        ),
        (
            {"at": "5s", "parallel": [KILL], "then": "end"},
            "then: 'end' is refused; allowed: nothing: it belongs to 'sequence'",
        ),
        (
            {"at": "5s", "sequence": [KILL], "then": "healed"},
            "then: 'healed' is refused; allowed: begin, end or recovered, as in end + 2s",
        ),
        (
            {"at": "5s", "parallel": [KILL], "for": "2s"},
            "for: '2s' is refused; allowed: the keys of a block: "
            "name, at, after, when, once, within, since, repeat, sequence, parallel, then",
        ),
        (
            {"at": "5s", "sequence": [KILL, PAUSE | {"at": "9s"}]},
            "sequence 2, at: '9s' is refused; "
            "allowed: nothing in a block, whose steps have its start; or after, or when",
        ),
        (
            {"at": "5s", "sequence": [KILL | {"when": "leader.changed"}]},
            "sequence 1, when: 'leader.changed' is refused; "
            "allowed: nothing in the first step of a sequence: it begins with the block",
        ),
        (
            {"at": "5s", "sequence": [KILL, {"parallel": [PAUSE, PAUSE | {"for": "0s"}]}]},
            "sequence 2, parallel 2, for: '0s' is refused; "
            "allowed: at least 1s: a shorter pause cannot be proven",
        ),
        (
            {"at": "5s", "parallel": [KILL, KILL | {"target": "boss"}]},
            "parallel 2, target: 'boss' is refused; allowed: "
            "leader, follower, followers (each also of a partition, as leader(orders-0)), active controller, "
            "transaction coordinator(ID), controllers, brokers, nodes, minority, majority, node N, N+M",
        ),
        (
            {"after": "nobody.end", "sequence": [KILL]},
            "after: 'nobody' is refused; allowed: the name of an earlier step",
        ),
        (
            {"at": "1s", "parallel": [PAUSE | {"after": "previous.end"}]},
            "parallel 1, after: 'previous' is refused; "
            "allowed: the name of an earlier step; the first step has none before it",
        ),
        (
            {"at": "1s", "name": "a", "parallel": [KILL | {"name": "a"}]},
            "name: 'a' is refused; allowed: a name that no earlier step has",
        ),
        (
            {"at": "1s", "name": "A", "parallel": [KILL]},
            "name: 'A' is refused; allowed: lower-case letters, digits and hyphens, of a repetition with its "
            "number behind, as in kill#2; not 'previous'",
        ),
        (
            {"at": "1s"} | DEEP,
            "parallel 1, parallel 1, parallel 1, parallel: "
            f"{[KILL]} is refused; allowed: at most 3 blocks in each other",
        ),
    ],
)
def test_refusing_a_block(words: dict[str, Any], message: str) -> None:
    """With the path to the key, the value and what is allowed."""
    assert refusal([words]) == f"step 1, {message}"


def test_refusing_a_name_of_a_repeated_block_that_there_is() -> None:
    """It would mean two things."""
    block = {"at": "9s", "repeat": {"every": "60s", "times": 2}, "sequence": [KILL | {"name": "it"}]}
    assert refusal([REPEATED, block]) == (
        "step 2, name: 'it' is refused; allowed: a name that no earlier step has"
    )


def test_refusing_too_many_steps() -> None:
    """At once, however many are asked for."""
    times = {"every": "10s", "times": 10_000}
    inner = {"repeat": times, "parallel": [KILL]}
    began = time.monotonic()
    assert refusal([{"at": "0s", "repeat": times, "parallel": [inner, inner]}]) == (
        "step 1, repeat: '10001 or more' is refused; allowed: what makes at most 10000 steps in all"
    )
    assert time.monotonic() - began < 10


def test_refusing_too_many_names() -> None:
    """Many steps that each follow many steps have starts that nobody can hold."""
    many = KILL | {"name": "a", "at": "0s", "repeat": {"every": "10s", "times": 400}}
    each = KILL | {"after": "a.end", "repeat": {"every": "10s", "times": 400, "overlap": "allow"}}
    assert refusal([many, each]) == (
        "step 2, after: '20001 or more' is refused; "
        "allowed: at most 20000 names in all; that of a block stands for those of its steps"
    )


def test_refusing_too_many_levels() -> None:
    """The name of a block counts as a level of its own."""
    both = {"name": "both", "at": "0s", "parallel": [KILL, PAUSE]}
    deepest = KILL | {
        "after": "all(kill-1.end, any(pause-2.end, all(kill-1.end, any(both.end, kill-1.end))))"
    }
    assert refusal([both, deepest]) == (
        "step 2, after: 'all(kill-1.end, any(pause-2.end, all(kill-1.end, "
        "any(all(kill-1.end, pause-2.end), kill-1.end))))' is refused; "
        "allowed: all() and any() at most 4 levels deep; the name of a block is an all()"
    )


def test_ten_thousand_repetitions_are_read_in_seconds() -> None:
    """As many as there may be."""
    began = time.monotonic()
    plan = [KILL | {"at": "0s", "repeat": {"every": "10s", "times": 10_000}}]
    assert len(validate_plan(parse_plan(plan), FACTS)) == 10_000
    assert time.monotonic() - began < 20

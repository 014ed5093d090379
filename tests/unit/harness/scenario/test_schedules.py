"""Schedules of blocks and repetitions: refused where they are written, and resolved to plain steps."""

import io
import re
import sys

import pytest

from faults.documentation import PAGE
from harness.cli import main
from harness.errors import ScenarioError
from harness.scenario import resolve as resolving
from harness.scenario.resolve import resolve

TEXT = """\
name: demo
topics: [{name: orders}]
faults:
  - {name: cut, at: 5s, do: partition, edges: followers -> leader, for: 2s}
  - name: roll
    after: cut.recovered + 2s
    then: end + 5s
    sequence:
      - {do: stop, target: node 1, for: 3s}
      - parallel:
          - {do: pause, target: node 2, for: 3s}
          - {do: kill, when: first ack after cut.end, target: leader, for: 2s}
    repeat: {every: 60s, jitter: 5s, times: 2}
"""
PLAN = [
    "  - {name: cut, do: partition, at: 5s, "
    "edges: followers(orders-0) -> leader(orders-0), mode: refuse, for: 2s}",
    "  - {name: stop-2#1, do: stop, after: cut.recovered + 2s, target: node 1, for: 3s}",
    "  - {name: pause-3#1, do: pause, after: stop-2#1.end + 5s, target: node 2, for: 3s}",
    "  - {name: kill-4#1, do: kill, when: first ack(orders-0) after cut.end, within: 60s, "
    "target: leader(orders-0), for: 2s}",
    "  - {name: stop-2#2, do: stop, after: cut.recovered + 62.867s, "
    "once: stop-2#1 + pause-3#1 + kill-4#1, target: node 1, for: 3s}",
    "  - {name: pause-3#2, do: pause, after: stop-2#2.end + 5s, target: node 2, for: 3s}",
    "  - {name: kill-4#2, do: kill, when: first ack(orders-0) after cut.end, within: 60s, "
    "target: leader(orders-0), for: 2s}",
]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "node 1",
            "node 9",
            "demo.yaml:9:28: faults[1].sequence[0].target: 'node 9' is refused; allowed: one of",
        ),
        (
            "node 2, for: 3s",
            "node 2, fro: 3s",
            "demo.yaml:11:41: faults[1].sequence[1].parallel[0].fro: unknown key 'fro'; "
            "did you mean for? allowed: after",
        ),
        (
            "cut.recovered",
            "cat.recovered",
            "demo.yaml:6:12: faults[1].after: 'cat' is refused; allowed: the name of an earlier step: cut",
        ),
        (
            "after cut.end",
            "after cat.end",
            "demo.yaml:12:30: faults[1].sequence[1].parallel[1].when: 'cat' is refused; allowed: the name",
        ),
        (
            "then: end + 5s",
            "then: end + 5",
            "demo.yaml:7:11: faults[1].then: '5' is refused; allowed: a duration with its unit",
        ),
        (
            "then: end",
            "than: end",
            "demo.yaml:7:5: faults[1].than: unknown key 'than'; did you mean then? allowed: after, at, name",
        ),
        (
            "times: 2",
            "time: 2",
            "demo.yaml:13:38: faults[1].repeat.time: unknown key 'time'; did you mean times? "
            "allowed: every, jitter, overlap, times, until",
        ),
        (
            "jitter: 5s",
            "jitter: 31s",
            "demo.yaml:13:34: faults[1].repeat.jitter: '31s' is refused; allowed: at most half of every: 30s",
        ),
        (
            "every: 60s, ",
            "",
            "demo.yaml:13:13: faults[1].repeat.every: is missing; allowed: a duration with its unit",
        ),
        (
            "first ack after cut.end",
            "broker 4 fenced",
            "demo.yaml:12:30: faults[1].sequence[1].parallel[1].when: 'broker 4 fenced' is refused; "
            "allowed: one of broker 1, broker 2, broker 3",
        ),
    ],
)
def test_refusing(old: str, new: str, complaint: str) -> None:
    """With file, line and column of what is written, however deep."""
    assert old in TEXT
    with pytest.raises(ScenarioError) as refused:
        resolve(TEXT.replace(old, new), "demo.yaml", seed=1)
    assert str(refused.value).startswith(complaint)


def test_events_of_eligible_leaders_need_them() -> None:
    """Where they are off, none would ever come; an ISR has a size everywhere."""
    waiting = TEXT.replace("first ack after cut.end", "elr.size >= 1")
    assert len(resolve(f"{waiting}cluster: {{elr: true}}\n", "demo.yaml", seed=1).steps) == 7
    with pytest.raises(ScenarioError) as refused:
        resolve(f"{waiting}cluster: {{elr: false}}\n", "demo.yaml", seed=1)
    assert str(refused.value) == (
        "demo.yaml:12:30: faults[1].sequence[1].parallel[1].when: 'elr.size(orders-0) >= 1' is refused; "
        "allowed: an event of the ISR: cluster.elr is off"
    )


def test_a_single_controller_cannot_move() -> None:
    """The event would never come."""
    waiting = TEXT.replace("first ack after cut.end", "controller.moved")
    with pytest.raises(ScenarioError) as refused:
        resolve(f"{waiting}cluster: {{controllers: 1}}\n", "demo.yaml", seed=1)
    assert str(refused.value).endswith(
        "when: 'controller.moved' is refused; allowed: another event: there is one controller only"
    )


def test_the_plan_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As steps, each with its start, and the seed that drew them."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(TEXT))
    assert main(["scenario", "validate", "-", "--seed", "1"]) == 0
    first, seed, *plan = capsys.readouterr().out.splitlines()
    assert first.startswith("<stdin>: valid. demo: Kafka 4.3.1, partition followers(orders-0) -> leader")
    assert seed == "  seed 1"
    assert plan == PLAN


def test_the_plan_is_shown_without_a_seed_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is written is not what is run, so a person wants to see it; then the seed is drawn."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(TEXT))
    assert main(["scenario", "validate", "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(PLAN)


def test_the_resolved_scenario_draws_nothing() -> None:
    """It has the steps as they were drawn, and reads back to them, whatever the seed."""
    resolved = resolve(TEXT, "demo.yaml", seed=1)
    again = resolve(resolved.text, "demo.yaml", seed=2)
    assert again.steps == resolved.steps
    assert (resolved.is_expanded, again.is_expanded) == (True, False)
    assert resolve(TEXT, "demo.yaml", seed=2).steps != resolved.steps


def test_a_schedule_that_could_not_be_read_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolved scenario holds each step of a repetition, in which long edges are too much."""
    monkeypatch.setattr(resolving, "MOST_CHARACTERS", 16_000)
    edges = ", ".join(f"{node} -> {other}" for node in (1, 2, 3) for other in (101, 102, 103))
    words = "{at: 0s, do: partition, edges: '%s', for: 2s, repeat: {every: 5s, times: %d}}"
    with pytest.raises(ScenarioError) as refused:
        resolve(f"name: demo\ntopics: [{{name: orders}}]\nfaults: [{words % (edges, 100)}]", "x.yaml")
    assert re.fullmatch(
        r"x\.yaml:3:9: faults: \d{5} characters with each step written out; allowed: at most 16000",
        str(refused.value),
    )
    fewer = resolve(f"name: demo\ntopics: [{{name: orders}}]\nfaults: [{words % (edges, 50)}]", "x.yaml")
    assert resolve(fewer.text, "x.yaml").steps == fewer.steps


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_examples_of_the_documentation(number: int) -> None:
    """The schedules of docs/faults.md are valid; the last has six pauses, three stops and two more. The first
    is an upgrade, from the release to which its last step wants to go back."""
    examples = re.findall(r"```yaml\n(faults:\n.*?)```", PAGE.read_text(), flags=re.S)
    cluster = "cluster: {kafka: 4.0.0}\n" if number == 0 else ""
    text = f"name: demo\n{cluster}topics: [{{name: orders}}]\n{examples[number]}"
    assert (len(examples), len(resolve(text, "demo.yaml", seed=1).steps)) == (3, [4, 4, 11][number])


def test_a_plan_that_is_shown_can_be_run() -> None:
    """Put into a scenario it gives the same steps."""
    text = TEXT[: TEXT.index("faults:")] + "faults:\n" + "\n".join(PLAN)
    assert resolve(text, "demo.yaml", seed=5).steps == resolve(TEXT, "demo.yaml", seed=1).steps

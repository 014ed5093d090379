"""A storm is drawn from its seed, its faults overlap, and it stays within what the configuration promises."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pytest
from fakes.world.cluster import full_mesh

from faults.durations import write_duration
from faults.errors import BadStep
from faults.kinds.fault.step import After, At, EdgesStep, Step, TargetStep
from faults.kinds.process.pulses import PulsesStep
from faults.kinds.registry import KINDS
from faults.plan.parse import parse_steps, write_step
from faults.plan.storm import STRENGTHS, Storm, longest_s, parse_storm, shortest_s, storm
from faults.plan.storm_draw import Range
from faults.plan.storm_limits import Limits, limits_of
from faults.plan.validate import validate
from faults.targets.facts import Facts, TopicFacts
from faults.targets.moments import StepMoment
from faults.targets.target import Target

WITHIN = (
    *("partition", "pause", "kill", "stop", "disk-stall"),
    *("latency", "bandwidth", "slicing", "reset"),
)
SEEDS = range(105)
DURATION_S = 120.0


def facts_of(
    brokers: int, controllers: int, *, replication: int = 3, min_isr: int = 2, combined: bool = False
) -> Facts:
    """A cluster with one topic of six partitions; controllers 101.. or, combined, the first brokers."""
    nodes = tuple(range(1, brokers + 1))
    voters = nodes[:controllers] if combined else tuple(range(101, 101 + controllers))
    topic = TopicFacts(name="orders", partitions=6, replication=replication, min_isr=min_isr)
    return Facts(brokers=nodes, controllers=voters, edges=full_mesh(nodes, voters), topics=(topic,))


FACTS = facts_of(3, 3)
MINUTE = Storm(duration_s=60.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """A step with its planned begin and end, in seconds of the schedule."""

    step: Step
    begin_s: float
    end_s: float

    @property
    def free_s(self) -> float:
        """When its node may be taken as recovered: 14 s after a process has ended, else 6 s."""
        return round(self.end_s + (14.0 if KINDS[self.step.kind].cost.ends_process else 6.0), 3)


def intervals(steps: Iterable[Step]) -> list[Interval]:
    """Planned times, from the words of the plan alone."""
    found: dict[str, Interval] = {}
    for step in steps:
        if isinstance(step.start, At):
            begin_s = step.start.offset_s
        else:
            assert isinstance(step.start, After)
            assert isinstance(step.start.of, StepMoment)
            assert step.start.of.moment == "begin"
            begin_s = found[step.start.of.step].begin_s + step.start.delay_s
        found[step.name] = Interval(step, round(begin_s, 3), round(begin_s + step.hold_s, 3))
    return list(found.values())


@cache
def plan_of(seed: int, facts: Facts) -> tuple[Interval, ...]:
    """A storm of the intensity whose turn it is with this seed."""
    asked = Storm(duration_s=DURATION_S, intensity=tuple(STRENGTHS)[seed % 3])
    return tuple(intervals(storm(asked, seed=seed, facts=facts)))


def plans() -> tuple[tuple[Interval, ...], ...]:
    """A storm for each seed, as many of each intensity."""
    return tuple(plan_of(seed, FACTS) for seed in SEEDS)


def victim(step: Step) -> Target:
    """The one node that a step is against; those at the other ends of its edges are not impaired."""
    if isinstance(step, TargetStep):
        return step.target
    assert isinstance(step, EdgesStep)
    (arrow,) = step.edges.arrows
    ends = [end for end in (arrow.left, arrow.right) if end.role in ("node", "leader", "active controller")]
    (end,) = ends
    return end


def impaired(at: Iterable[Interval], nodes: tuple[int, ...], role: str) -> set[str]:
    """The victims among these nodes, or that hold this role."""
    victims = (victim(each.step) for each in at)
    return {str(each) for each in victims if each.role == role or set(each.ids) & set(nodes)}


def in_force(plan: Iterable[Interval], at_s: float) -> list[Interval]:
    """What is injected and may not have recovered at a time."""
    return [each for each in plan if each.begin_s <= at_s < each.free_s]


CLUSTERS = [
    pytest.param(facts_of(3, 3), 1, 1, 1, id="three-of-each"),
    pytest.param(facts_of(5, 5, replication=5, min_isr=2), 3, 1, 2, id="five-of-each"),
    pytest.param(facts_of(4, 3, replication=3, min_isr=1), 2, 0, 1, id="min-isr-1"),
    pytest.param(facts_of(3, 3, combined=True), 1, 1, 1, id="combined"),
    pytest.param(facts_of(5, 3, replication=4, min_isr=2, combined=True), 2, 1, 1, id="some-combined"),
    pytest.param(facts_of(3, 1), 1, 1, 0, id="one-controller"),
]


@pytest.mark.parametrize(("facts", "brokers", "unclean", "controllers"), CLUSTERS)
def test_the_limits_hold_at_every_instant(facts: Facts, brokers: int, unclean: int, controllers: int) -> None:
    """Never more brokers, unclean shutdowns or controllers at one time than the promise covers."""
    for seed in SEEDS[:15]:
        plan = plan_of(seed, facts)
        for now in plan:
            at = in_force(plan, now.begin_s)
            assert len(impaired(at, facts.brokers, "leader")) <= brokers, seed
            quorum = "leader" if set(facts.controllers) & set(facts.brokers) else "active controller"
            away = impaired(at, facts.controllers, "active controller")
            assert len(away | impaired(at, (), quorum)) <= controllers, seed
            hard = [each for each in at if KINDS[each.step.kind].cost.unclean]
            assert len(impaired(hard, facts.brokers, "leader")) <= unclean, seed


def test_a_round_waits_for_every_fault_of_the_one_before() -> None:
    """However late they are, faults of two rounds are never in force together."""
    for plan in plans():
        steps = [each.step for each in plan]
        rounds: list[list[str]] = [[]]
        for step in steps:
            if isinstance(step.start, At):
                assert list(step.start.once) == rounds[-1]
                rounds.append([])
            else:
                assert isinstance(step.start, After)
                assert step.start.of == StepMoment(step=rounds[-1][0], moment="begin")
            rounds[-1].append(step.name)
        assert len(rounds) > 3


def test_all_is_healed_and_has_recovered_before_the_end() -> None:
    """And the storm is not much shorter than was asked for."""
    ends = [max(each.free_s for each in plan) for plan in plans()]
    assert max(ends) <= DURATION_S
    assert min(ends) >= DURATION_S - 50
    assert sum(ends) / len(ends) >= DURATION_S - 15


@pytest.mark.parametrize("intensity", STRENGTHS)
def test_all_kinds_and_all_nodes_are_hit(intensity: str) -> None:
    """By every seed, in six minutes; and by all of them together every shape of edges and every role."""
    asked = parse_storm({"duration": "6m", "intensity": intensity})
    edges, victims = set[str](), set[str]()
    for seed in SEEDS[:12]:
        steps = storm(asked, seed=seed, facts=FACTS)
        assert {step.kind for step in steps} == set(WITHIN)
        named = {str(victim(step)) for step in steps}
        assert named >= {f"node {node}" for node in (1, 2, 3, 101, 102, 103)}, seed
        victims |= named
        edges |= {str(step.edges) for step in steps if isinstance(step, EdgesStep)}
    assert victims >= {"active controller", *(f"leader(orders-{number})" for number in range(6))}
    assert edges >= {
        *(f"client -> node {node}" for node in (1, 2, 3)),
        *(f"all <-> node {node}" for node in (1, 2, 3, 101, 102, 103)),
        *(f"node {node} -> {to}" for node in (1, 2, 3) for to in ("brokers", "controllers", "nodes")),
        *(f"node {node} -> controllers" for node in (101, 102, 103)),
    }


@pytest.mark.parametrize(("number", "least"), [(0, 0.2), (1, 0.45), (2, 0.55)])
def test_faults_overlap(number: int, least: float) -> None:
    """Each but the first of its round begins while another is in force; a harder storm has more of them."""
    shares: list[float] = []
    for plan in plans()[number::3]:
        others = [each for each in plan if isinstance(each.step.start, After)]
        for each in others:
            assert any(one.begin_s < each.begin_s < one.end_s for one in plan)
        shares.append(len(others) / len(plan))
    assert sum(shares) / len(shares) >= least


def test_no_fault_begins_while_another_one_is_changed() -> None:
    """Two seconds between two begins, and one from an end, two where a process is started, to a begin."""
    for plan in plans():
        begins = sorted(each.begin_s for each in plan)
        assert all(later - sooner >= 1.999 for sooner, later in pairwise(begins))
        for each in plan:
            after_s = 2.0 if KINDS[each.step.kind].cost.ends_process else 1.0
            busy = (each.end_s - 0.499, each.end_s + after_s - 0.001)
            assert not any(busy[0] < begin_s < busy[1] for begin_s in begins)


def test_no_fault_ends_while_another_one_is_prepared() -> None:
    """What is measured before a fault would have to be measured again, and it would be late."""
    seen = 0
    for plan in plans():
        for each in plan:
            prepares_s = KINDS[each.step.kind].prepares_s
            ends = [one.end_s for one in plan if one is not each]
            assert not any(each.begin_s - prepares_s + 0.001 < end_s < each.begin_s for end_s in ends)
            seen += prepares_s > 0
    assert seen > 100


def test_what_a_fault_is_proven_by_is_there_when_it_begins() -> None:
    """No fault on a node that another one silences, nor on an edge to such a node or from it."""
    for plan in plans():
        for each in plan:
            others = [one.step for one in in_force(plan, each.begin_s) if one is not each]
            silent = {str(victim(one)) for one in others if isinstance(one, TargetStep)}
            assert silent.isdisjoint(must_answer(each.step))


def must_answer(step: Step) -> set[str]:
    """The nodes, by id or role, that a step is proven on: its own, and those its edges join."""
    own = str(victim(step))
    if isinstance(step, TargetStep):
        return {own}
    assert isinstance(step, EdgesStep)
    (arrow,) = step.edges.arrows
    brokers = {f"node {node}" for node in FACTS.brokers} | {f"leader(orders-{number})" for number in range(6)}
    controllers = {f"node {node}" for node in FACTS.controllers} | {"active controller"}
    if arrow.both_ways:
        return brokers | controllers
    groups = {"brokers": brokers, "controllers": controllers, "nodes": brokers | controllers}
    return groups.get(arrow.right.role, set()) | {own}


def test_the_same_seed_gives_the_same_storm() -> None:
    """Steps depend on the seed alone, and two seeds differ."""
    assert storm(MINUTE, seed=7, facts=FACTS) == storm(MINUTE, seed=7, facts=FACTS)
    assert storm(MINUTE, seed=7, facts=FACTS) != storm(MINUTE, seed=8, facts=FACTS)


def test_a_storm_of_an_hour() -> None:
    """Has hundreds of faults, all within the hour."""
    plan = intervals(storm(Storm(duration_s=3600.0), seed=1, facts=FACTS))
    assert 350 <= len(plan) <= 700
    assert 3560 <= max(each.free_s for each in plan) <= 3600


def test_what_the_configuration_promises() -> None:
    """By replicas and min.insync.replicas of the topic that has the least to spare."""
    assert limits_of("within-promise", FACTS) == Limits(brokers=1, unclean=1, controllers=1)
    assert limits_of("beyond-promise", FACTS) == Limits(brokers=3, unclean=3, controllers=3)
    one_more = TopicFacts(name="few", partitions=1, replication=4, min_isr=1)
    two = Facts(brokers=(1, 2, 3, 4), controllers=(101,), edges=(), topics=(*FACTS.topics, one_more))
    assert limits_of("within-promise", two) == Limits(brokers=1, unclean=0, controllers=0)


def test_beyond_the_promise_several_are_impaired_at_once() -> None:
    """Two and three brokers, two and three controllers, power losses among them."""
    asked = parse_storm({"duration": "5m", "limit": "beyond-promise", "intensity": "hard"})
    brokers, controllers, kinds = set[int](), set[int](), set[str]()
    for seed in SEEDS[:15]:
        plan = intervals(storm(asked, seed=seed, facts=FACTS))
        for now in plan:
            at = in_force(plan, now.begin_s)
            brokers.add(len(impaired(at, FACTS.brokers, "leader")))
            controllers.add(len(impaired(at, FACTS.controllers, "active controller")))
        kinds |= {each.step.kind for each in plan}
    assert (max(brokers), max(controllers)) == (3, 3)
    assert kinds == {*WITHIN, "power-loss"}


def test_power_loss_is_drawn_within_the_promise_only_if_it_is_asked_for() -> None:
    """min.insync.replicas 2 keeps what one power loss takes; with 1 there is nobody who does."""
    asked = parse_storm({"duration": "60s", "kinds": ["power-loss"]})
    assert {step.kind for step in storm(asked, seed=1, facts=FACTS)} == {"power-loss"}
    with pytest.raises(BadStep, match=r"kinds: .* power-loss only where min.insync.replicas is at least 2"):
        storm(asked, seed=1, facts=facts_of(3, 3, min_isr=1))


def test_a_kind_that_is_not_drawn_by_default_is_drawn_where_the_storm_names_it() -> None:
    """Among its kinds, or with a weight of its own."""
    asked = storm(Storm(duration_s=60.0, kinds=("pulses",)), seed=3, facts=FACTS)
    assert {step.kind for step in asked} == {"pulses"}
    by_weight = storm(Storm(duration_s=60.0, weights={"pulses": 50}), seed=3, facts=FACTS)
    assert "pulses" in {step.kind for step in by_weight}
    for seed in SEEDS[:5]:
        assert "pulses" not in {step.kind for step in storm(MINUTE, seed=seed, facts=FACTS)}


def test_drawn_pulses_have_time_to_be_proven() -> None:
    """Whatever their hold: three of them, with 0.2 s for the changes of each."""
    for seed in SEEDS[:12]:
        for holds in (Range(low_s=1.5, high_s=1.5), Range(low_s=2.0, high_s=12.0)):
            steps = storm(Storm(duration_s=60.0, kinds=("pulses",), holds=holds), seed=seed, facts=FACTS)
            for step in steps:
                assert isinstance(step, PulsesStep)
                assert 3 * (step.on_s + step.off_s + 0.2) <= step.hold_s + 1e-9


def test_weights() -> None:
    """A kind of weight 0 is left out; one of a great weight is most of the storm."""
    words = {"duration": "10m", "weights": {"latency": 100, "kill": 0, "stop": 0}}
    kinds = [step.kind for step in storm(parse_storm(words), seed=2, facts=FACTS)]
    assert set(kinds) == set(WITHIN) - {"kill", "stop"}
    assert kinds.count("latency") > len(kinds) * 0.7


def test_holds_and_gaps_that_are_asked_for() -> None:
    """Replace those of the intensity."""
    words: dict[str, object] = {"duration": "5m", "hold": ["2s", "3s"], "gap": ["20s", "21s"]}
    plan = intervals(storm(parse_storm(words), seed=4, facts=FACTS))
    assert all(2.0 <= each.step.hold_s <= 3.0 for each in plan)
    firsts = [each for each in plan if isinstance(each.step.start, At)]
    for first in firsts[1:]:
        before = max(each.free_s for each in plan if each.begin_s < first.begin_s)
        assert 19.999 <= first.begin_s - before <= 21.001


def test_a_resolved_storm_is_a_plan_like_any_other() -> None:
    """Its steps, written as words, read back to the same valid steps: a replay draws nothing."""
    steps = storm(MINUTE, seed=3, facts=FACTS)
    assert validate(parse_steps([write_step(step) for step in steps]), FACTS) == steps


def test_reading_a_storm() -> None:
    """Only the duration must be given."""
    assert parse_storm({"duration": "60s"}) == MINUTE
    words = {
        "duration": "2m",
        "intensity": "hard",
        "limit": "beyond-promise",
        "kinds": ["pause", "kill"],
        "weights": {"kill": 7},
        "hold": ["2s", "4s"],
        "gap": ["100ms", "1s"],
    }
    assert parse_storm(words) == Storm(
        duration_s=120.0,
        intensity="hard",
        limit="beyond-promise",
        kinds=("pause", "kill"),
        weights={"kill": 7},
        holds=Range(low_s=2.0, high_s=4.0),
        gaps=Range(low_s=0.1, high_s=1.0),
    )


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({}, "duration"),
        ({"duration": "-1s"}, "duration"),
        ({"duration": "60s", "kinds": ["flood"]}, "kinds"),
        ({"duration": "60s", "kinds": []}, "kinds"),
        ({"duration": "60s", "intensity": "wild"}, "intensity"),
        ({"duration": "60s", "limit": "none"}, "limit"),
        ({"duration": "60s", "weights": {"flood": 1}}, "weights"),
        ({"duration": "60s", "weights": {"kill": -1}}, "weights"),
        ({"duration": "60s", "weights": {"kill": True}}, "weights"),
        ({"duration": "60s", "hold": "2s"}, "hold"),
        ({"duration": "60s", "hold": ["1s", "2s"]}, "hold"),
        ({"duration": "60s", "gap": ["3s", "2s"]}, "gap"),
        ({"duration": "60s", "fury": "much"}, "fury"),
    ],
)
def test_refusing_words(words: dict[str, object], field: str) -> None:
    """A wrong value is refused with its key."""
    with pytest.raises(BadStep) as caught:
        parse_storm(words)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("words", "bound"),
    [({"duration": "20s"}, shortest_s), ({"duration": "9h"}, longest_s)],
)
def test_refusing_a_duration(words: dict[str, object], bound: Callable[..., float]) -> None:
    """In which no round has time to recover, or which gives more steps than a plan may have."""
    asked = parse_storm(words)
    limit_s = shortest_s(asked, WITHIN) if bound is shortest_s else longest_s(asked)
    with pytest.raises(BadStep, match=f"is refused; allowed: at (least|most) {write_duration(limit_s)},"):
        storm(asked, seed=1, facts=FACTS)


def test_the_kinds_that_are_asked_for_all_occur() -> None:
    """In a storm that is as short as may be, whatever the seed."""
    asked = parse_storm({"duration": "60s", "kinds": list(WITHIN)})
    least = Storm(duration_s=shortest_s(asked, WITHIN), kinds=WITHIN)
    for seed in SEEDS[:6]:
        assert {step.kind for step in storm(least, seed=seed, facts=FACTS)} == set(WITHIN)


def test_refusing_a_cluster_without_a_node_to_spare() -> None:
    """Where each replica is needed, taking one away would stop the writes."""
    tight = facts_of(3, 3, replication=2, min_isr=2)
    with pytest.raises(BadStep, match=r"topic orders with 2 replicas and min\.insync\.replicas 2"):
        storm(MINUTE, seed=1, facts=tight)
    assert storm(Storm(duration_s=60.0, limit="beyond-promise"), seed=1, facts=tight)

"""The phases of an upgrade: what each must show, and the scenario that shows it.

    up        the roll to the newer release, with faults on the older one, in between, and on the newer one;
              what the newer one can is finalized last
    down      the roll to the newer release and back, before anything is finalized
    refused   after everything was finalized Kafka refuses the way back

Each scenario runs alone as well: it is a file beside the runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from harness.campaign.upgrade.pair import Pair
from harness.campaign.upgrade.record import PhaseName
from harness.errors import UsageError
from harness.scenario.model import (
    ClusterPart,
    ExpectPart,
    Scenario,
    SettlePart,
    TopicPart,
    WorkloadPart,
)

NAMES: tuple[PhaseName, ...] = get_args(PhaseName)
Words = Mapping[str, Any]

BROKERS = (1, 2, 3)
CALM = "8s"
"""Without a fault, before the first and after the last: what both releases are compared by."""
SOON = "1s"
KILL: Words = {"do": "kill", "target": "leader", "for": "6s"}
"""Longer than its session, so that it is missed."""
CUT: Words = {"do": "partition", "edges": "follower -> leader", "mode": "refuse", "for": "5s"}
FINALIZE: Words = {"do": "finalize", "for": "1s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase: what it is to show in one sentence, and its scenario."""

    name: PhaseName
    expects: str
    scenario: Scenario


def phases_of(pair: Pair, only: Sequence[str] = ()) -> tuple[Phase, ...]:
    """Those of `only`, or all that a pair of releases has, in their order. UsageError."""
    for name in only:
        if name not in NAMES:
            raise UsageError(f"upgrade: unknown phase {name!r}; allowed: {', '.join(NAMES)}")
    if "refused" in only and (why := _never_refused(pair)):
        raise UsageError(f"upgrade: refused: {why}")
    asked = only or [name for name in NAMES if name != "refused" or not _never_refused(pair)]
    return tuple(MADE[name](pair) for name in NAMES if name in asked)


def left_out(pair: Pair, only: Sequence[str] = ()) -> str:
    """Why there is no phase `refused`; "" if there is one, or nobody has asked for it."""
    why = _never_refused(pair)
    return f"refused is left out: {why}" if why and not only else ""


def _never_refused(pair: Pair) -> str:
    if not pair.finalizes:
        return f"{pair.older} and {pair.newer} have the same metadata.version, and nothing to finalize"
    if pair.can_go_back:
        low, high = pair.levels
        return (
            f"Kafka takes metadata.version back from {high} to {low}: no level between {pair.older} and "
            f"{pair.newer} has changed what the metadata log holds"
        )
    return ""


def _up(pair: Pair) -> Phase:
    plan = _Plan()
    plan.then("kill-older", KILL, after=CALM)
    plan.then("controllers", _to(pair.newer, "controllers"), after=CALM)
    plan.roll("up", pair.newer, kill="kill-between", cut="cut-between")
    if pair.finalizes:
        plan.then("finalize", FINALIZE)
    plan.then("kill-newer", KILL, after=CALM)
    finalized = f", finalizes metadata.version {pair.levels[1]}" if pair.finalizes else ""
    return Phase(
        name="up",
        expects=f"nothing acknowledged is lost; every node runs {pair.newer}{finalized}",
        scenario=_scenario(
            pair,
            "up",
            f"Every node goes from {pair.older} to {pair.newer} under load, controllers first, with faults "
            "before, in between and after; features are finalized last. Nothing is lost.",
            plan.steps,
            levels=2 if pair.finalizes else 1,
        ),
    )


def _down(pair: Pair) -> Phase:
    plan = _Plan()
    plan.then("controllers-up", _to(pair.newer, "controllers"), after=CALM)
    plan.roll("up", pair.newer, kill="kill-up", cut="cut-up")
    plan.roll("down", pair.older, kill="kill-down", cut="cut-down")
    plan.then("controllers-down", _to(pair.older, "controllers"))
    return Phase(
        name="down",
        expects=f"nothing acknowledged is lost; every node is back on {pair.older}, nothing was finalized",
        scenario=_scenario(
            pair,
            "down",
            f"Every node goes from {pair.older} to {pair.newer} and back under load and faults, before "
            "anything is finalized. Nothing is lost.",
            plan.steps,
            levels=1,
        ),
    )


def _refused(pair: Pair) -> Phase:
    plan = _Plan()
    plan.then("up", _to(pair.newer, "nodes"), after="4s")
    plan.then("kill-up", KILL)
    plan.then("finalize", FINALIZE)
    plan.then("back", {"do": "refused-downgrade", "release": pair.older, "for": "1s"})
    plan.then("cut-finalized", CUT)
    low, high = pair.levels
    return Phase(
        name="refused",
        expects=f"nothing acknowledged is lost; Kafka refuses metadata.version {low} after {high}, with why",
        scenario=_scenario(
            pair,
            "refused",
            f"After an upgrade from {pair.older} to {pair.newer} was finalized, Kafka is asked to take "
            "metadata.version back, and refuses it. Nothing is lost.",
            plan.steps,
            levels=2,
        ),
    )


MADE: Mapping[PhaseName, Callable[[Pair], Phase]] = {"up": _up, "down": _down, "refused": _refused}


class _Plan:
    """Steps of which each begins when the one before has recovered."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def then(self, name: str, words: Words, *, after: str = SOON) -> None:
        """One more step; the first one begins so long after the load is warm."""
        before = self.steps[-1]["name"] if self.steps else None
        start = {"at": after} if before is None else {"after": f"{before}.recovered + {after}"}
        self.steps.append({"name": name, **start, **words})

    def roll(self, way: str, release: str, *, kill: str, cut: str) -> None:
        """The brokers, with two faults between them."""
        first, second, third = BROKERS
        self.then(f"{way}-{first}", _to(release, f"node {first}"))
        self.then(kill, KILL)
        self.then(f"{way}-{second}", _to(release, f"node {second}"))
        self.then(cut, CUT)
        self.then(f"{way}-{third}", _to(release, f"node {third}"))


def _to(release: str, target: str) -> Words:
    return {"do": "rolling-upgrade", "target": target, "release": release, "for": "0s"}


def _scenario(pair: Pair, name: str, about: str, steps: Sequence[Words], *, levels: int) -> Scenario:
    return Scenario(
        name=f"{pair.slug}-{name}",
        about=about,
        cluster=ClusterPart(brokers=len(BROKERS), kafka=pair.older),
        topics=[
            TopicPart(name="orders", partitions=6, replication=3, config={"min.insync.replicas": "2"}),
        ],
        workload=WorkloadPart.model_validate({"tail": CALM}),
        faults=[dict(step) for step in steps],
        settle=SettlePart.model_validate({"full_isr": "120s"}),
        expect=ExpectPart(acked_loss="none"),
        accept=["unavailable.max <= 20s"],
        require=list(_required(levels, kills=sum(step["do"] == "kill" for step in steps))),
    )


def _required(levels: int, *, kills: int) -> Iterator[str]:
    """Without this the run has shown nothing, whatever it has kept. Elections follow from each roll too, but
    a broker that leaves its lead in good order is not fenced: one that is killed is.
    """
    yield f"brokers.restarted >= {len(BROKERS)}"
    yield "metadata.versions >= 2" if levels > 1 else "metadata.versions < 2"
    yield f"brokers.fenced >= {kills}"


def rolled(phase: Phase, nodes: int) -> Phase:
    """The phase on a cluster of so many nodes, each of which must run the newer release."""
    require = [f"nodes.new-release >= {nodes}", *phase.scenario.require]
    return replace(phase, scenario=phase.scenario.model_copy(update={"require": require}))

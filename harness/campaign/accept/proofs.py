"""The scenario that confirms or refutes each clause, on a cluster that has as many brokers as the topic
replicas.

Nodes are named by number where the schedule needs to know who is in sync: the first ones stay, the last ones
fall behind. A clause that no run can show has a reason instead of a scenario.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from checkers.promises.clauses import Clause
from faults.kinds.clock.clock_skew import MOST_MS
from harness.campaign.accept.scenarios import ONE_IN_FLIGHT, Loss, Setup, Step, duration
from harness.scenario.deletion import retention_ms
from harness.scenario.model import Scenario

FIRST = "6s"
DAY_MS = 86_400_000
LONGER_THAN_A_CUT = {"replica.lag.time.max.ms": "10000"}
"""So that followers that are cut for 5 s stay in sync by name."""
OF_WHO_COMES_BACK = ("power-of-all", "isr-of-one", "unclean-shutdowns", "last-replica-standing", "disk-loss")
"""Clauses of a loss by a broker that leads again without its data. Where another one may lead that is not in
sync, it does so once the session of the first one has ended, however short that was away: a broker that comes
back cannot register before. Then the loss is one of an unclean election, or depends on who is back first."""
MISSED_S = 8.0
"""How much longer than a fail-over a partition may be without an acknowledgement, clients and all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a run shows of a clause. Without a scenario, `why_not` says why there is none."""

    clause: str
    shows: str = ""
    scenario: Scenario | None = None
    why_not: str = ""


def proofs(its: Setup, clauses: Sequence[Clause]) -> tuple[Proof, ...]:
    """One for each clause."""
    return tuple(_proof(its, clause) for clause in clauses)


def _proof(its: Setup, clause: Clause) -> Proof:
    found = _hidden(its, clause) or SCENARIOS[clause.id](its)
    if isinstance(found, str):
        return Proof(clause=clause.id, why_not=found)
    return Proof(
        clause=clause.id,
        shows=_shows(found),
        scenario=its.scenario(
            clause.id,
            clause.sentence,
            found.faults,
            loss=found.loss,
            accept=found.accept,
            client=found.client,
            broker_config=found.broker_config,
            tail_s=found.tail_s,
        ),
    )


def _hidden(its: Setup, clause: Clause) -> str:
    """Why no loss can be seen to be by the clause; "" if one can."""
    if clause.kind == "lost" and clause.id != "nothing-promised" and its.configuration.producer.acks == "0":
        return "with acks=0 a lost record does not show by what it was lost: nothing was promised"
    if clause.id in OF_WHO_COMES_BACK and its.configuration.stale_may_lead:
        return "whoever is up first leads, in sync or not: before one that comes back without its data"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """The faults of a proof, and what the run must show."""

    faults: Sequence[Step]
    loss: Loss = "none"
    accept: tuple[str, ...] = ()
    client: Mapping[str, str] | None = None
    broker_config: Mapping[str, str] | None = None
    tail_s: float = 2.0


def _shows(found: _Shown) -> str:
    if found.accept:
        return found.accept[0]
    return "acknowledged loss" if found.loss == "permitted" else "no acknowledged loss"


def _nodes(first: int, last: int) -> str:
    numbers = range(first, last + 1)
    return f"node {first}" if first == last else "+".join(map(str, numbers))


# What is kept


def _process_kill(its: Setup) -> _Shown:
    return _Shown(faults=[_step("kill", at=FIRST, do="kill", target="brokers", lasts="1s")])


def _broker_loss(its: Setup) -> _Shown:
    target = _nodes(1, its.configuration.min_isr - 1)
    return _Shown(
        faults=[_step("power", at=FIRST, do="power-loss", target=target, lasts="8s")], client=ONE_IN_FLIGHT
    )


def _deposed_leader(its: Setup) -> _Shown:
    return _Shown(faults=_zombie(its))


def _power_flushed(its: Setup) -> _Shown:
    return _Shown(faults=_power_of_all(), client=ONE_IN_FLIGHT)


def _zombie(its: Setup) -> list[Step]:
    lasts = duration(its.times.session_s + 8)
    return [
        _step("controllers", at=FIRST, do="partition", edges="leader -> controllers", lasts=lasts),
        _step(
            "followers", after="controllers.begin", do="partition", edges="followers <-> leader", lasts=lasts
        ),
    ]


# What may be lost


def _unreplicated_tail(its: Setup) -> _Shown:
    faults = [
        _step("cut", at=FIRST, do="partition", edges="followers -> leader", lasts="5s"),
        _step("kill", after="cut.begin + 2s", do="kill", target="leader", lasts="6s"),
    ]
    alone = [_step("kill", at=FIRST, do="kill", target="leader", lasts="6s")]
    several = its.configuration.topic.replication > 1
    return _Shown(faults=faults if several else alone, loss="permitted", broker_config=LONGER_THAN_A_CUT)


def _deposed_leader_acks(its: Setup) -> _Shown:
    return _Shown(faults=_zombie(its), loss="permitted", tail_s=20.0)


def _power_of_all() -> list[Step]:
    return [_step("power", at=FIRST, do="power-loss", target="brokers", lasts="1s")]


def _all_powerless(its: Setup) -> _Shown:
    return _Shown(faults=_power_of_all(), loss="permitted", client=ONE_IN_FLIGHT)


def _isr_of_one(its: Setup) -> _Shown:
    if its.configuration.topic.replication == 1:
        return _all_powerless(its)
    return _alone(its, _step("power", do="power-loss", target="leader", lasts="5s"))


def _alone(its: Setup, then: Step) -> _Shown:
    """The followers fall behind, and the leader meets a fault."""
    cut = _step("cut", at="4s", do="partition", edges="followers -> leader", lasts=duration(its.later_s + 3))
    faults = [cut, {**then, "after": f"cut.begin + {duration(its.later_s)}"}]
    return _Shown(faults=faults, loss="permitted", client=ONE_IN_FLIGHT)


def _unclean_shutdowns(its: Setup) -> _Shown:
    """All in sync but node 1 are killed, and node 1 loses its power before they are back."""
    return _one_after_another(its, "kill", "2s", "8s", _power_of_one())


def _last_standing(its: Setup) -> _Shown:
    """All in sync but node 1 leave in good order, and node 1 alone loses its power."""
    return _one_after_another(its, "stop", "3s", "14s", _power_of_one())


def _power_of_one() -> Step:
    return _step("power", do="power-loss", target="node 1", lasts="12s")


def _disk_loss(its: Setup) -> _Shown | str:
    """As the clauses of a power loss, and the disk is emptied: with another directory id than before nobody
    would elect its broker (KIP-858)."""
    if its.asked.cluster.combined:
        return "its brokers are controllers, and one that forgets its vote may give it twice"
    wipe = {"do": "disk-wipe", "disk": "emptied"}
    if its.configuration.topic.replication == 1:
        faults = [_step("wipe", at=FIRST, **wipe, target="brokers", lasts="1s")]
        return _Shown(faults=faults, loss="permitted", client=ONE_IN_FLIGHT)
    if its.configuration.min_isr == 1:
        return _alone(its, _step("wipe", **wipe, target="leader", lasts="5s"))
    return _one_after_another(its, "kill", "2s", "8s", _step("wipe", **wipe, target="node 1", lasts="12s"))


def _one_after_another(its: Setup, end: str, gap: str, lasts: str, last: Step) -> _Shown:
    """Those in sync but node 1 end, and node 1 meets the last fault."""
    least = its.configuration.min_isr
    begins, cut = _behind(its, least, its.later_s + 3)
    faults = [
        *cut,
        _step("others", **begins, do=end, target=_nodes(2, least), lasts=lasts),
        {**last, "after": f"others.begin + {gap}"},
    ]
    return _Shown(faults=faults, loss="permitted", client=ONE_IN_FLIGHT)


def _behind(its: Setup, in_sync: int, lasts_s: float) -> tuple[dict[str, str], list[Step]]:
    """The replicas beyond the first `in_sync` fall behind; and how a step begins once they have left the
    ISR.
    """
    replicas = its.configuration.topic.replication
    if in_sync >= replicas:
        return {"at": FIRST}, []
    edges = f"{_nodes(in_sync + 1, replicas)} -> {_nodes(1, in_sync)}"
    cut = _step("cut", at="4s", do="partition", edges=edges, lasts=duration(lasts_s))
    return {"after": f"cut.begin + {duration(its.later_s)}"}, [cut]


def _unclean_election(its: Setup) -> _Shown | str:
    if its.configuration.needed == its.configuration.topic.replication:
        return "every replica must be in sync for a write, so none is behind when it is elected"
    if its.configuration.min_isr == its.configuration.topic.replication:
        return (
            "while fewer than min.insync.replicas are in sync, what a replica that is behind lacks counts as "
            "not replicated: its loss is that of an unreplicated tail"
        )
    return _Shown(faults=_stale_left(its, 10.0), loss="permitted")


def _retention(its: Setup) -> _Shown | str:
    """The leader's clock is set a day further ahead than records are kept; segments are the smallest there
    are, and looked at every second. The brokers begin to look after half a minute."""
    if its.asked.cluster.combined:
        return "its brokers are controllers, and a clock that jumps ends the term of the active one"
    run = its.scenario("any", "", [])
    kept_ms = retention_ms(run.topics[0].config, run.cluster.broker_config)
    days = kept_ms // DAY_MS + 1
    if kept_ms < 0 or days * DAY_MS > MOST_MS:
        return "in a run its records are kept for longer than a clock is set ahead"
    skew = _step("ahead", at=FIRST, do="clock-skew", target="leader", offset=f"+{days}d", lasts="45s")
    often = {"log.retention.check.interval.ms": "1000", "log.segment.bytes": "1048576"}
    return _Shown(faults=[skew], loss="permitted", broker_config=often)


def _stale_left(its: Setup, lasts_s: float) -> list[Step]:
    """Those who are in sync are killed, so that who is left is behind."""
    least = its.configuration.min_isr
    if not its.configuration.waits_for_all:
        least = min(least, its.configuration.topic.replication - 1)
    least = max(least, 1)
    begins, cut = _behind(its, least, its.later_s + 5)
    kill = _step("kill", **begins, do="kill", target=_nodes(1, least), lasts=duration(lasts_s))
    return [*cut, kill]


# Availability


def _spare(its: Setup) -> _Shown:
    target = _nodes(1, its.configuration.spare)
    lasts = duration(its.times.fail_over_s + 20)
    return _available(its, [_step("kill", at=FIRST, do="kill", target=target, lasts=lasts)])


def _stays_up(its: Setup) -> _Shown:
    return _available(its, _stale_left(its, its.times.fail_over_s + 20))


def _available(its: Setup, faults: Sequence[Step]) -> _Shown:
    bound = duration(its.times.fail_over_s + MISSED_S)
    return _Shown(faults=faults, loss=_any_but(its), accept=(f"unavailable.max <= {bound}",))


def _below(its: Setup) -> _Shown:
    away = min(its.configuration.spare + 1, its.configuration.topic.replication)
    lasts = duration(its.times.fail_over_s + 12)
    target = _nodes(1, max(1, away))
    return _unavailable(its, [_step("kill", at=FIRST, do="kill", target=target, lasts=lasts)])


def _offline(its: Setup) -> _Shown:
    return _unavailable(its, _stale_left(its, its.times.fail_over_s + 16))


def _unavailable(its: Setup, faults: Sequence[Step]) -> _Shown:
    bound = duration(its.times.fail_over_s + MISSED_S)
    return _Shown(faults=faults, loss=_any_but(its), accept=(f"unavailable.max >= {bound}",))


def _any_but(its: Setup) -> Loss:
    """What a kill may lose: nothing of acks=all, unless an unclean election follows."""
    return "none" if its.configuration.waits_for_all and not its.configuration.topic.unclean else "any"


def _step(name: str, *, do: str, lasts: str, **more: str) -> Step:
    mode = {"mode": "refuse"} if do == "partition" else {}
    return {"name": name, **more, "do": do, "for": lasts, **mode}


SCENARIOS: Mapping[str, Callable[[Setup], _Shown | str]] = {
    "process-kill": _process_kill,
    "broker-loss": _broker_loss,
    "deposed-leader": _deposed_leader,
    "power-flushed": _power_flushed,
    "nothing-promised": _unreplicated_tail,
    "unreplicated-tail": _unreplicated_tail,
    "deposed-leader-acks": _deposed_leader_acks,
    "power-of-all": _all_powerless,
    "isr-of-one": _isr_of_one,
    "unclean-shutdowns": _unclean_shutdowns,
    "last-replica-standing": _last_standing,
    "disk-loss": _disk_loss,
    "unclean-election": _unclean_election,
    "retention-by-clock": _retention,
    "spare-replicas": _spare,
    "stays-up": _stays_up,
    "below-min-isr": _below,
    "offline": _offline,
}
"""By the id of a clause; the reason where no run can show it."""

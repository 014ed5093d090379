"""The scenario that confirms or refutes each clause, on a cluster that has as many brokers as the topic
replicas.

Nodes are named by number where the schedule needs to know who is in sync: the first ones stay, the last ones
fall behind. A clause that no run can show has a reason instead of a scenario.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from checkers.promises.clauses import Clause
from faults.kinds.clock.clock_skew import MOST_MS
from harness.campaign.accept.scenarios import (
    DEPOSED_TAIL_S,
    ONE_IN_FLIGHT,
    TAIL_S,
    Loss,
    Setup,
    Step,
    duration,
)
from harness.scenario.cluster.deletion import retention_ms
from harness.scenario.model import Scenario
from harness.scenario.resolve import refusal_of

FIRST = "6s"
DAY_MS = 86_400_000
LONGER_THAN_A_CUT = {"replica.lag.time.max.ms": "10000"}
"""So that followers that are cut for 5 s stay in sync by name."""
OF_WHO_COMES_BACK = ("power-of-all", "isr-of-one", "unclean-shutdowns", "last-replica-standing", "disk-loss")
"""Clauses of a loss by a broker that leads again without its data. Where another one may lead that is not in
sync, it does so once the session of the first one has ended, however short that was away: a broker that comes
back cannot register before. Then the loss is one of an unclean election, or depends on who is back first."""
OFFLINE = "offline.max >= 5s"
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


def that_can_run(found: Sequence[Proof]) -> tuple[Proof, ...]:
    """The same, with the reason where a scenario is refused: by settings that leave no room for its load, or
    with which it would last for too long.
    """
    return tuple(_that_can_run(one) for one in found)


def _that_can_run(one: Proof) -> Proof:
    why = "" if one.scenario is None else refusal_of(one.scenario)
    return Proof(clause=one.clause, why_not=no_run_of(why)) if why else one


def no_run_of(refusal: str) -> str:
    """That there is no run of a scenario that is refused, in words."""
    return f"its run is refused: {refusal}"


def _proof(its: Setup, clause: Clause) -> Proof:
    found = its.no_run or _hidden(its, clause) or SCENARIOS[clause.id](its)
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
            require=found.require,
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
    """The faults of a proof, and what the run must show. Without what `require` names its faults have led
    elsewhere, and it shows nothing.
    """

    faults: Sequence[Step]
    require: Sequence[str]
    loss: Loss = "none"
    accept: tuple[str, ...] = ()
    client: Mapping[str, str] | None = None
    broker_config: Mapping[str, str] | None = None
    tail_s: float = TAIL_S


def _shows(found: _Shown) -> str:
    if found.accept:
        return found.accept[0]
    return "acknowledged loss" if found.loss == "permitted" else "no acknowledged loss"


def _nodes(first: int, last: int) -> str:
    numbers = range(first, last + 1)
    return f"node {first}" if first == last else "+".join(map(str, numbers))


# What is kept


def _process_kill(its: Setup) -> _Shown:
    return _Shown(
        faults=[_step("kill", at=FIRST, do="kill", target="brokers", lasts="1s")],
        require=[_restarted(its.configuration.topic.replication), "unavailable.max >= 2s"],
    )


def _broker_loss(its: Setup) -> _Shown:
    """Where records are flushed on purpose, a broker may have nothing to lose with its power."""
    least, topic = its.configuration.min_isr - 1, its.configuration.topic
    flushes = topic.flush_messages is not None or topic.flush_s is not None
    return _Shown(
        faults=[_step("power", at=FIRST, do="power-loss", target=_nodes(1, least), lasts="8s")],
        require=[
            _restarted(least) if flushes else _data_lost(least),
            "elections.max >= 1",
            "isr.expands >= 1",
        ],
        client=ONE_IN_FLIGHT,
    )


def _deposed_leader(its: Setup) -> _Shown:
    return _Shown(faults=_zombie(its), require=_deposed(its, "zombie.committed <= 0"))


def _power_flushed(its: Setup) -> _Shown:
    require = [_restarted(its.configuration.topic.replication)]
    return _Shown(faults=_power_of_all(), require=require, client=ONE_IN_FLIGHT)


def _restarted(brokers: int) -> str:
    return f"brokers.restarted >= {brokers}"


def _data_lost(brokers: int) -> str:
    return f"data-lost.brokers >= {brokers}"


def _deposed(its: Setup, zombie: str) -> list[str]:
    """There was a deposed leader, for a while, and so much did it do. Where all must be in sync, its
    successor shows no high watermark before it is back, so that nobody sees both lead.
    """
    seen = its.configuration.min_isr < its.configuration.topic.replication
    return [*(["zombie.max >= 3s", zombie] if seen else []), "elections.max >= 1", _fenced(1)]


def _zombie(its: Setup) -> list[Step]:
    lasts = duration(its.times.session_s + 8)
    return [
        _step("controllers", at=FIRST, do="partition", edges="leader -> controllers", lasts=lasts),
        _step(
            "followers", after="controllers.begin", do="partition", edges="followers <-> leader", lasts=lasts
        ),
    ]


# What may be lost


def _nothing_promised(its: Setup) -> _Shown:
    """Without followers, what was on its way to a leader that stands still is lost with it."""
    if its.configuration.topic.replication > 1:
        return _unreplicated_tail(its)
    faults = [
        _step("pause", at=FIRST, do="pause", target="leader", lasts="5s"),
        _step("kill", after="pause.begin + 2s", do="kill", target="leader", lasts="8s"),
    ]
    return _Shown(faults=faults, require=[_fenced(1), "elections.max >= 1"], loss="permitted")


def _unreplicated_tail(its: Setup) -> _Shown:
    faults = [
        _step("cut", at=FIRST, do="partition", edges="followers -> leader", lasts="5s"),
        _step("kill", after="cut.begin + 2s", do="kill", target="leader", lasts="6s"),
    ]
    return _Shown(
        faults=faults,
        require=["unreplicated.at-election >= 50", "elections.max >= 1"],
        loss="permitted",
        broker_config=LONGER_THAN_A_CUT,
    )


def _deposed_leader_acks(its: Setup) -> _Shown:
    require = _deposed(its, "zombie.appended >= 1")
    return _Shown(faults=_zombie(its), require=require, loss="permitted", tail_s=DEPOSED_TAIL_S)


def _power_of_all() -> list[Step]:
    return [_step("power", at=FIRST, do="power-loss", target="brokers", lasts="1s")]


def _all_powerless(its: Setup) -> _Shown:
    require = [_data_lost(its.configuration.topic.replication)]
    return _Shown(faults=_power_of_all(), require=require, loss="permitted", client=ONE_IN_FLIGHT)


def _isr_of_one(its: Setup) -> _Shown:
    if its.configuration.topic.replication == 1:
        return _all_powerless(its)
    return _alone(its, _step("power", do="power-loss", target="leader", lasts="5s"))


def _alone(its: Setup, then: Step) -> _Shown:
    """The followers fall behind, and the leader meets a fault."""
    cut = _step("cut", at="4s", do="partition", edges="followers -> leader", lasts=duration(its.later_s + 3))
    faults = [cut, {**then, "after": f"cut.begin + {duration(its.later_s)}"}]
    require = ["isr.min <= 1", _data_lost(1)]
    return _Shown(faults=faults, require=require, loss="permitted", client=ONE_IN_FLIGHT)


def _unclean_shutdowns(its: Setup) -> _Shown:
    """All in sync but node 1 are killed, and node 1 loses its power before they are back."""
    faults = _one_after_another(its, "kill", "2s", "8s", _power_of_one())
    return _Shown(faults=faults, require=_emptied_last(its), loss="permitted", client=ONE_IN_FLIGHT)


def _emptied_last(its: Setup) -> list[str]:
    return [_led_last(its), _data_lost(1)]


def _led_last(its: Setup) -> str:
    """Node 1 was the last one that anybody knew to have everything."""
    return "elections.last-known >= 1" if its.configuration.cluster.elr else "isr.min <= 1"


def _last_standing(its: Setup) -> _Shown:
    """All in sync but node 1 leave in good order, and node 1 alone loses its power."""
    faults = _one_after_another(its, "stop", "3s", "14s", _power_of_one())
    require = ["isr.min <= 1", _data_lost(1), "offline.max >= 1s"]
    return _Shown(faults=faults, require=require, loss="permitted", client=ONE_IN_FLIGHT)


def _power_of_one() -> Step:
    return _step("power", do="power-loss", target="node 1", lasts="12s")


def _disk_loss(its: Setup) -> _Shown | str:
    """As the clauses of a power loss, and the disk is emptied: with another directory id than before nobody
    would elect its broker (KIP-858)."""
    if its.combined:
        return "its brokers are controllers, and one that forgets its vote may give it twice"
    wipe = {"do": "disk-wipe", "disk": "emptied"}
    if its.configuration.topic.replication == 1:
        faults = [_step("wipe", at=FIRST, **wipe, target="brokers", lasts="1s")]
        return _Shown(faults=faults, require=[_data_lost(1)], loss="permitted", client=ONE_IN_FLIGHT)
    if its.configuration.min_isr == 1:
        return _alone(its, _step("wipe", **wipe, target="leader", lasts="5s"))
    last = _step("wipe", **wipe, target="node 1", lasts="12s")
    faults = _one_after_another(its, "kill", "2s", "8s", last)
    return _Shown(faults=faults, require=_emptied_last(its), loss="permitted", client=ONE_IN_FLIGHT)


def _one_after_another(its: Setup, end: str, gap: str, lasts: str, last: Step) -> list[Step]:
    """Those in sync but node 1 end, and node 1 meets the last fault: before whoever was cut off is in sync
    again, however long a stop takes.
    """
    least = its.configuration.min_isr
    begins, cut = _behind(its, least, its.later_s + 10)
    return [
        *cut,
        _step("others", **begins, do=end, target=_nodes(2, least), lasts=lasts),
        {**last, "after": f"others.begin + {gap}"},
    ]


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
    require = ["elections.unclean >= 1"]
    if its.configuration.min_isr == its.configuration.topic.replication:
        if its.combined:
            return "its brokers are controllers, and without the others nobody elects the one that is back"
        return _Shown(
            faults=_emptied_first(its),
            require=[*require, _data_lost(1)],
            loss="permitted",
            client=ONE_IN_FLIGHT,
        )
    return _Shown(faults=_only_left(its, _in_sync(its), 10.0), require=require, loss="permitted")


def _emptied_first(its: Setup) -> list[Step]:
    """Where nothing is committed while one replica is behind, one must lose what it had: node 1 with its
    power. It is back, and nobody else, until well after the sessions of all have ended."""
    gap_s, away_s = 0.5, 1.0
    power = _step("power", at=FIRST, do="power-loss", target="node 1", lasts=duration(away_s))
    others = _nodes(2, its.configuration.topic.replication)
    lasts = duration(away_s - gap_s + its.later_s + 10)
    kill = _step("others", after=f"power.begin + {duration(gap_s)}", do="kill", target=others, lasts=lasts)
    return [power, kill]


def _retention(its: Setup) -> _Shown | str:
    """The leader's clock is set a day further ahead than records are kept; segments are the smallest there
    are, and looked at every second. The brokers begin to look after half a minute."""
    if its.combined:
        return "its brokers are controllers, and a clock that jumps ends the term of the active one"
    run = its.scenario("any", "", [])
    kept_ms = retention_ms(run.topics[0].config, run.cluster.broker_config)
    days = kept_ms // DAY_MS + 1
    if kept_ms < 0 or days * DAY_MS > MOST_MS:
        return "in a run its records are kept for longer than a clock is set ahead"
    skew = _step("ahead", at=FIRST, do="clock-skew", target="leader", offset=f"+{days}d", lasts="45s")
    often = {"log.retention.check.interval.ms": "1000", "log.segment.bytes": "1048576"}
    require = [f"clocks.apart >= {24 * days - 2}h", "log-start.moved >= 1"]
    return _Shown(faults=[skew], require=require, loss="permitted", broker_config=often)


def _in_sync(its: Setup) -> int:
    """How many stay in sync: as many as must be, and one less than all where a write needs but one."""
    least = its.configuration.min_isr
    if not its.configuration.waits_for_all:
        least = min(least, its.configuration.topic.replication - 1)
    return max(least, 1)


def _stays_eligible(its: Setup) -> bool:
    """Whether who falls behind may lead all the same: with eligible leader replicas, whoever leaves the ISR
    while fewer than min.insync.replicas are left in it.
    """
    return its.configuration.cluster.elr and _in_sync(its) < its.configuration.min_isr


def _only_left(its: Setup, killed: int, lasts_s: float) -> list[Step]:
    """The first ones are killed, so that who is left, if anybody is, is behind."""
    begins, cut = _behind(its, killed, its.later_s + 5)
    kill = _step("kill", **begins, do="kill", target=_nodes(1, killed), lasts=duration(lasts_s))
    return [*cut, kill]


# Availability


def _spare(its: Setup) -> _Shown:
    away = its.configuration.spare
    lasts = duration(its.times.fail_over_s + 20)
    faults = [_step("kill", at=FIRST, do="kill", target=_nodes(1, away), lasts=lasts)]
    return _available(its, faults, [_fenced(away), "elections.max >= 1"])


def _stays_up(its: Setup) -> _Shown:
    killed = _in_sync(its)
    elected = "elections.max >= 1" if _stays_eligible(its) else "elections.unclean >= 1"
    faults = _only_left(its, killed, its.times.fail_over_s + 20)
    return _available(its, faults, [_fenced(killed), elected])


def _available(its: Setup, faults: Sequence[Step], require: Sequence[str]) -> _Shown:
    accept = (f"unavailable.max <= {duration(its.times.fail_over_s + MISSED_S)}",)
    return _Shown(faults=faults, require=require, loss=_any_but(its), accept=accept)


def _fenced(brokers: int) -> str:
    return f"brokers.fenced >= {brokers}"


def _below(its: Setup) -> _Shown:
    away = max(1, min(its.configuration.beyond_needed + 1, its.configuration.topic.replication))
    lasts = duration(its.times.fail_over_s + 12)
    faults = [_step("kill", at=FIRST, do="kill", target=_nodes(1, away), lasts=lasts)]
    return _unavailable(its, faults, _fenced(away))


def _unreached_leader(its: Setup) -> _Shown:
    lasts = duration(its.times.fail_over_s + 16)
    cut = _step("cut", at=FIRST, do="partition", edges="followers -> leader", lasts=lasts)
    return _unavailable(its, [cut], "isr.shrinks >= 1")


def _stalled_leader(its: Setup) -> _Shown | str:
    """For longer than a fail-over takes, and nobody is elected or missed."""
    if its.configuration.producer.acks == "0":
        return "with acks=0 nobody waits for the disk: a producer takes for written what it has sent"
    if its.combined:
        return "its brokers are controllers, and the disk of one of these would stand still too"
    fail_over_s = its.times.fail_over_s
    stall = _step("stall", at=FIRST, do="disk-stall", target="leader", lasts=duration(fail_over_s + 16))
    stopped = f"unavailable.max >= {duration(fail_over_s)}"
    return _unavailable(its, [stall], stopped, "elections.max <= 0", "brokers.fenced <= 0")


def _offline(its: Setup) -> _Shown:
    """Who is eligible must be away too."""
    killed = its.configuration.topic.replication if _stays_eligible(its) else _in_sync(its)
    return _unavailable(its, _only_left(its, killed, its.times.fail_over_s + 16), OFFLINE)


def _last_leader_away(its: Setup) -> _Shown | str:
    """All are killed before anybody is missed, node 1 last, so that it is missed last and leads last. The
    others are back long before it.
    """
    if its.combined:
        return "its brokers are controllers, and whom these miss last after all were down is a matter of luck"
    others_s, replicas = 6.0, its.configuration.topic.replication
    lasts = duration(others_s + its.times.fail_over_s + 16)
    faults = [
        _step("others", at=FIRST, do="kill", target=_nodes(2, replicas), lasts=duration(others_s)),
        _step("last", after="others.begin + 2s", do="kill", target="node 1", lasts=lasts),
    ]
    return _unavailable(its, faults, _led_last(its), OFFLINE, _restarted(replicas), others_s=others_s)


def _unavailable(its: Setup, faults: Sequence[Step], *required: str, others_s: float = 0.0) -> _Shown:
    """`others_s`: after how long whoever else might lead is up again."""
    accept = (f"unavailable.max >= {duration(others_s + its.times.fail_over_s + MISSED_S)}",)
    return _Shown(faults=faults, require=required, loss=_any_but(its), accept=accept)


def _any_but(its: Setup) -> Loss:
    """What a kill may lose: nothing of what all in sync have, unless an unclean election follows."""
    kept = its.configuration.acknowledged_by_all and not its.configuration.stale_may_lead
    return "none" if kept else "any"


def _step(name: str, *, do: str, lasts: str, **more: str) -> Step:
    mode = {"mode": "refuse"} if do == "partition" else {}
    return {"name": name, **more, "do": do, "for": lasts, **mode}


SCENARIOS: Mapping[str, Callable[[Setup], _Shown | str]] = {
    "process-kill": _process_kill,
    "broker-loss": _broker_loss,
    "loss-beside-in-sync": _broker_loss,
    "deposed-leader": _deposed_leader,
    "power-flushed": _power_flushed,
    "nothing-promised": _nothing_promised,
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
    "unreached-leader": _unreached_leader,
    "stalled-leader": _stalled_leader,
    "offline": _offline,
    "last-leader-away": _last_leader_away,
}
"""By the id of a clause; the reason where no run can show it."""

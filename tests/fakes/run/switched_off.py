"""For each kind of fault, the calls to a cluster that make it a fault, and those that heal it.

Where the first ones do nothing, its effect must not be proven; where the others do nothing, its recovery must
not. Both are shown on a fake cluster for every kind, and on real ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Where = Literal["shared", "two log directories", "clocks", "two releases"]
"""Which real cluster a step needs: that of most tests, or one of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchedOff:
    """One step, and what of it is switched off.

    `words` are those of the step beside its name, those of `before` are of steps that it needs; {topic},
    {leader} and {followers} stand for the topic under load and who leads and follows its partition 0,
    {memory} for a limit that the leader will meet, {older} and {newer} for releases.
    `effect`, `recovery`: the calls of the injection and of the healing; no recovery where nothing is held.
    `breaks_off`: the injection itself needs the calls of the healing, and is not done without them.
    `then`: what is called beside, for each of its nodes, to heal what was not healed in time.
    `min_isr`: min.insync.replicas of the topic; with 1 nobody is eligible who has left the ISR.
    `flushed`: each message of the topic is on the disk before it is acknowledged.
    `is_partial`: what is not switched off changes the cluster all the same.
    """

    words: Mapping[str, str]
    effect: tuple[str, ...]
    recovery: tuple[str, ...] = ()
    breaks_off: bool = False
    then: tuple[str, ...] = ()
    before: tuple[Mapping[str, str], ...] = ()
    is_partial: bool = False
    where: Where = "shared"
    record_bytes: int = 200
    min_isr: int = 2
    flushed: bool = False

    @property
    def settings(self) -> dict[str, str]:
        """Those of the topic under load."""
        flush = {"flush.messages": "1"} if self.flushed else {}
        return {"min.insync.replicas": str(self.min_isr), **flush}

    def steps(self, name: str, topic: str, **values: str) -> tuple[dict[str, str], ...]:
        """The steps, the one with this name last, in the words of a plan."""
        place = f"{topic}-0"
        roles = {"topic": topic, "leader": f"leader({place})", "followers": f"followers({place})"}
        return tuple(
            {key: value.format(place=place, **roles, **values) for key, value in words.items()}
            for words in (*self.before, {"name": name, **({} if self.before else {"at": "2s"}), **self.words})
        )


FETCHES = "{followers} -> {leader}"
HALF_OPEN = {"do": "partition", "edges": FETCHES, "mode": "blackhole", "for": "3s"}
EDGES = {"effect": ("impair",), "recovery": ("mend",)}
POWER_LOSS = SwitchedOff(
    words={"do": "power-loss", "target": "{leader}", "for": "1s"},
    effect=("drop_unsynced",),
    recovery=("start",),
    is_partial=True,
)
ELR_OFF = "eligible.leader.replicas.version=0"

SWITCHED_OFF: Mapping[str, SwitchedOff] = {
    "partition": SwitchedOff(
        words={"do": "partition", "edges": FETCHES, "for": "2s"}, effect=("cut",), recovery=("mend",)
    ),
    "partition of quiet edges": SwitchedOff(
        words={"do": "partition", "edges": "1 -> controllers", "mode": "blackhole", "for": "2s"},
        effect=("cut",),
        recovery=("mend",),
    ),
    "partition of requests": SwitchedOff(
        words=HALF_OPEN | {"direction": "to"}, effect=("cut",), recovery=("mend",)
    ),
    "partition of answers": SwitchedOff(
        words=HALF_OPEN | {"direction": "from"}, effect=("cut",), recovery=("mend",)
    ),
    "pause": SwitchedOff(
        words={"do": "pause", "target": "node 2", "for": "2s"}, effect=("pause",), recovery=("unpause",)
    ),
    "pulses": SwitchedOff(
        words={"do": "pulses", "target": "node 2", "on": "200ms", "off": "300ms", "for": "4s"},
        effect=("pause",),
        recovery=("unpause",),
    ),
    "kill": SwitchedOff(
        words={"do": "kill", "target": "node 3", "for": "2s"}, effect=("kill",), recovery=("start",)
    ),
    "stop": SwitchedOff(
        words={"do": "stop", "target": "node 2", "for": "2s"}, effect=("stop",), recovery=("start",)
    ),
    "rolling-restart": SwitchedOff(
        words={"do": "rolling-restart", "target": "node 2", "for": "0s"},
        effect=("stop",),
        recovery=("start",),
        breaks_off=True,
    ),
    "rolling-upgrade": SwitchedOff(
        words={"do": "rolling-upgrade", "target": "node 1", "release": "{newer}", "for": "0s"},
        effect=("change_release",),
        recovery=("start",),
        breaks_off=True,
        is_partial=True,
        where="two releases",
    ),
    "cpu-limit": SwitchedOff(
        words={"do": "cpu-limit", "target": "{leader}", "cpus": "0.1", "for": "3s"},
        effect=("limit_cpu",),
        recovery=("limit_cpu",),
    ),
    "memory-limit": SwitchedOff(
        words={"do": "memory-limit", "target": "{leader}", "memory": "{memory}", "for": "15s"},
        effect=("limit_memory",),
        recovery=("limit_memory",),
        record_bytes=40_000,
    ),
    "disk-stall": SwitchedOff(
        words={"do": "disk-stall", "target": "{leader}", "for": "3s"}, effect=("freeze",), recovery=("thaw",)
    ),
    "disk-stutter": SwitchedOff(
        words={"do": "disk-stutter", "target": "{leader}", "on": "1s", "off": "500ms", "for": "8s"},
        effect=("freeze",),
        recovery=("thaw",),
    ),
    "disk-full": SwitchedOff(
        words={"do": "disk-full", "target": "{leader}", "for": "8s"},
        effect=("fill_up",),
        recovery=("free_up", "start"),
    ),
    "power-loss": POWER_LOSS,
    "power-loss of a flushed log": replace(POWER_LOSS, flushed=True),
    "power-loss of controllers": replace(POWER_LOSS, words={**POWER_LOSS.words, "target": "controllers"}),
    "disk-wipe": SwitchedOff(
        words={"do": "disk-wipe", "target": "{leader}", "for": "1s"},
        effect=("wipe",),
        recovery=("start",),
        is_partial=True,
    ),
    "log-dir-failure": SwitchedOff(
        words={"do": "log-dir-failure", "target": "node 1", "for": "6s"},
        effect=("fail_log_dir",),
        recovery=("stop",),
        then=("start",),
        where="two log directories",
    ),
    "clock-skew": SwitchedOff(
        words={"do": "clock-skew", "target": "{leader}", "offset": "+5m", "for": "3s"},
        effect=("set_clock",),
        recovery=("set_clock",),
        where="clocks",
    ),
    "latency": SwitchedOff(
        words={"do": "latency", "edges": FETCHES, "delay": "250ms", "jitter": "50ms", "for": "4s"}, **EDGES
    ),
    "bandwidth": SwitchedOff(
        words={"do": "bandwidth", "edges": FETCHES, "rate": "20KB/s", "for": "4s"}, **EDGES
    ),
    "slicing": SwitchedOff(
        words={"do": "slicing", "edges": FETCHES, "size": "100B", "delay": "5ms", "for": "4s"}, **EDGES
    ),
    "reset": SwitchedOff(words={"do": "reset", "edges": FETCHES, "for": "3s"}, **EDGES),
    "reassign": SwitchedOff(
        words={"do": "reassign", "topic": "{topic}", "to": "2 replicas", "for": "3s"},
        effect=("reassign",),
        recovery=("reassign",),
    ),
    "preferred-election": SwitchedOff(
        before=(
            {"name": "rotate", "at": "1500ms", "do": "reassign", "topic": "{topic}", "to": "rotated"}
            | {"for": "8s"},
        ),
        words={"after": "rotate.begin + 3s", "do": "preferred-election", "topic": "{topic}", "for": "2s"},
        effect=("elect",),
        is_partial=True,
    ),
    "unclean-election": SwitchedOff(
        before=(
            {"name": "cut", "at": "1500ms", "do": "partition", "edges": FETCHES, "for": "25s"},
            {"name": "end", "when": "isr({place}) == {{leader}}", "within": "20s", "do": "kill"}
            | {"target": "{leader}", "for": "12s"},
        ),
        words={"when": "leader({place}) == none", "within": "20s", "do": "unclean-election"}
        | {"topic": "{topic}", "for": "2s"},
        effect=("elect",),
        is_partial=True,
        min_isr=1,
    ),
    "create-topic": SwitchedOff(
        words={"do": "create-topic", "partitions": "4", "for": "2s"},
        effect=("create_topic",),
        recovery=("delete_topic",),
    ),
    "create-partitions": SwitchedOff(
        words={"do": "create-partitions", "partitions": "4", "for": "2s"},
        effect=("add_partitions",),
        recovery=("delete_topic",),
        is_partial=True,
    ),
    "config": SwitchedOff(
        words={"do": "config", "topic": "{topic}", "set": "min.insync.replicas=1", "for": "2s"},
        effect=("change_settings",),
        recovery=("change_settings",),
    ),
    "feature": SwitchedOff(
        words={"do": "feature", "set": ELR_OFF, "for": "2s"},
        effect=("set_feature",),
        recovery=("set_feature",),
    ),
    "finalize": SwitchedOff(
        words={"do": "finalize", "for": "1s"}, effect=("set_feature",), where="two releases"
    ),
    "refused-downgrade": SwitchedOff(
        words={"do": "refused-downgrade", "release": "{older}", "for": "1s"},
        effect=("set_feature",),
        where="two releases",
    ),
}
"""By name: that of the kind, or of the kind and what is special."""

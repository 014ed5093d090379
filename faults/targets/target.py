"""What a fault targets: a role, written in the plan and resolved to nodes when the fault is injected.

leader, leader(orders-3)        leader of a partition; without one: of the plan's default partition
follower, follower 2(orders-3)  first (second, ...) of the partition's other replicas, by node id
followers                       all other replicas
transaction coordinator(payments-1)
                                leader of the partition of Kafka's transaction log that has this id
active controller, controllers
brokers, nodes                  all brokers; all brokers and controllers
node 2, 2, 1+2                  by id
minority, majority(controllers) the lowest ids that are fewer than half of them; the rest. Default: brokers
client, all                     ends of edges only: the clients; every node and the clients
"""

import re
from dataclasses import dataclass, replace
from typing import Literal, get_args

from faults.errors import BadStep
from faults.numbers import NUMBER

PartitionRole = Literal["leader", "follower", "followers"]
CoordinatorRole = Literal["transaction coordinator"]
GroupRole = Literal["active controller", "controllers", "brokers", "nodes"]
ShareRole = Literal["minority", "majority"]
Group = Literal["brokers", "controllers"]
EdgeEndRole = Literal["client", "all"]
Role = PartitionRole | CoordinatorRole | GroupRole | ShareRole | EdgeEndRole | Literal["node"]

WORDS = (
    "leader, follower, followers (each also of a partition, as leader(orders-0)), active controller, "
    "transaction coordinator(ID), controllers, brokers, nodes, minority, majority, node N, N+M"
)

_TARGET = re.compile(
    rf"(?P<role>[a-z]+(?: controller| coordinator)?)(?: (?P<rank>{NUMBER}))?(?:\((?P<of>[^()]+)\))?"
)
_IDS = re.compile(rf"(?:nodes? )?(?P<ids>{NUMBER}(?: ?\+ ?{NUMBER})*)")
_PARTITION = re.compile(rf"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>{NUMBER})")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartition:
    """One partition of one topic, written `orders-0`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A role and what it is a role of.

    `of` is set for leader and followers once the plan is validated; `rank` counts followers from 1; `group`
    belongs to minority and majority, `ids` to node, `transactional_id` to transaction coordinator.
    """

    role: Role
    of: TopicPartition | None = None
    rank: int = 1
    group: Group = "brokers"
    ids: tuple[int, ...] = ()
    transactional_id: str = ""

    def __str__(self) -> str:
        """What `parse_target` reads back to the same target."""
        if self.role == "node":
            return ("node " if len(self.ids) == 1 else "nodes ") + "+".join(map(str, self.ids))
        if self.role in get_args(ShareRole):
            return f"{self.role}({self.group})"
        if self.role == "transaction coordinator":
            return f"{self.role}({self.transactional_id})"
        rank = f" {self.rank}" if self.rank > 1 else ""
        return f"{self.role}{rank}" + (f"({self.of})" if self.of else "")

    @property
    def moves(self) -> bool:
        """Whether other nodes can hold the role at another time."""
        return self.is_of_partition or self.role in ("active controller", "transaction coordinator")

    @property
    def is_of_partition(self) -> bool:
        """Whether the role is one in a partition: leader or follower."""
        return self.role in get_args(PartitionRole)


def parse_partition(text: str, field: str) -> TopicPartition:
    """Read "orders-0"."""
    match = _PARTITION.fullmatch(text)
    if match is None:
        raise BadStep(field, text, "TOPIC-PARTITION, as in orders-0")
    return TopicPartition(topic=match["topic"], partition=int(match["partition"]))


def parse_target(value: object, field: str = "target", *, edge_end: bool = False) -> Target:
    """Read a target as a person writes it; with `edge_end`, "client" and "all" are allowed too."""
    allowed = WORDS + (", client, all" if edge_end else "")
    text = " ".join(str(value).split())
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadStep(field, value, allowed)
    if match := _IDS.fullmatch(text):
        ids = tuple(sorted({int(each) for each in match["ids"].split("+")}))
        return Target(role="node", ids=ids)
    match = _TARGET.fullmatch(text)
    if match is None:
        raise BadStep(field, value, allowed)
    return _from_words(
        match["role"], match["rank"], match["of"], field, BadStep(field, value, allowed), edge_end
    )


def _from_words(
    word: str, rank: str | None, of: str | None, field: str, refusal: BadStep, edge_end: bool
) -> Target:
    """The target that these words name, or `refusal`."""
    if rank is not None and (word != "follower" or int(rank) < 1):
        raise refusal
    match word:
        case "leader" | "follower" | "followers":
            return Target(role=word, of=parse_partition(of, field) if of else None, rank=int(rank or 1))
        case "minority" | "majority":
            if of not in (None, *get_args(Group)):
                raise refusal
            return Target(role=word, group="controllers" if of == "controllers" else "brokers")
        case "transaction coordinator" if of is not None:
            return Target(role=word, transactional_id=of)
        case "active controller" | "controllers" | "brokers" | "nodes" if of is None:
            return Target(role=word)
        case "client" | "all" if of is None and edge_end:
            return Target(role=word)
        case _:
            raise refusal


def share(role: ShareRole, ids: tuple[int, ...]) -> tuple[int, ...]:
    """The lowest ids that are fewer than half of `ids`, or all the others."""
    fewer = (len(ids) - 1) // 2
    return ids[:fewer] if role == "minority" else ids[fewer:]


def candidates(target: Target, brokers: tuple[int, ...], controllers: tuple[int, ...]) -> tuple[int, ...]:
    """The nodes that can ever hold the role; for a role that never moves, those that hold it."""
    match target.role:
        case "minority" | "majority" as role:
            return share(role, brokers if target.group == "brokers" else controllers)
        case "active controller" | "controllers":
            return controllers
        case "leader" | "follower" | "followers" | "transaction coordinator" | "brokers":
            return brokers
        case "nodes" | "all":
            return tuple({*brokers, *controllers})
        case "node":
            return target.ids
        case "client":
            return ()


def with_partition(target: Target, default: TopicPartition | None) -> Target:
    """The target with `default` as its partition, if it is a role in one and names none."""
    if not target.is_of_partition or target.of is not None:
        return target
    return replace(target, of=default)

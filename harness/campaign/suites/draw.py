"""Which run comes when: a function of the plan, the seed and the shard alone, so that a suite can be resumed.

Runs are drawn in rounds. In a round each scenario comes `weight` times, in a random order, and each time
`repeat` times in succession. Before the first round comes what each scenario must have at least (`at_least`).
The runs of all rounds are numbered in one sequence; shard i of n makes every n-th of them, from the i-th on.
Within a round, the runs that can share a cluster come together, and a round goes on with the cluster with
which the round before has ended.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count, groupby
from random import Random
from typing import Protocol

MOST_SHARDS = 1000
MOST_SHOWN = 40
"""Characters of what is no shard."""
_SHARD = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")
SEED_BYTES = 4
"""A seed is short enough to be typed."""


class Share(Protocol):
    """How often a scenario is drawn, as `plan.Entry`."""

    @property
    def weight(self) -> int:
        """How often in a round."""

    @property
    def repeat(self) -> int:
        """Runs in succession, each time."""

    @property
    def at_least(self) -> int:
        """Runs before the first round."""

    @property
    def at_most(self) -> int | None:
        """Runs in all; None: no bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One run: its number in the suite, its round, the place of its scenario in the plan, its seed.

    `required`: the plan says that there must be so many runs of its scenario.
    """

    index: int
    round: int
    entry: int
    seed: int
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Part `number` (from 1) of `of`."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        """ "2/3"."""
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read "2/3"; ValueError for anything else."""
        found = _SHARD.fullmatch(text)
        number, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= of <= MOST_SHARDS:
            raise ValueError(
                f"{text[:MOST_SHOWN]!r} is not a shard: write 1/3, 2/3 or 3/3 on three machines; "
                f"allowed: at most {MOST_SHARDS} machines"
            )
        return cls(number=number, of=of)

    def has_run(self, shares: Sequence[Share]) -> bool:
        """Whether there is a run for this part in a whole draw."""
        most = [share.at_most for share in shares]
        return any(each is None for each in most) or self.number <= sum(each or 0 for each in most)


def draw(shares: Sequence[Share], seed: int) -> Iterator[Drawn]:
    """All runs in the order in which they are numbered; endless, unless every share has an `at_most`."""
    made: Counter[int] = Counter()
    index = 0
    for number in count():
        entries = _required(shares) if number == 0 else _round(shares, seed, number)
        for entry in entries:
            most = shares[entry].at_most
            if most is not None and made[entry] >= most:
                continue
            made[entry] += 1
            yield Drawn(
                index=index, round=number, entry=entry, seed=seed_of(seed, index), required=number == 0
            )
            index += 1
        if all(share.at_most is not None and made[at] >= share.at_most for at, share in enumerate(shares)):
            return


def seed_of(seed: int, index: int) -> int:
    """The seed of one run."""
    return int.from_bytes(sha256(f"{seed}:{index}".encode()).digest()[:SEED_BYTES], "big")


def of_shard(drawn: Iterable[Drawn], shard: Shard) -> Iterator[Drawn]:
    """Those that one machine of several makes; each run is made by exactly one of them."""
    return (one for one in drawn if one.index % shard.of == shard.number - 1)


def by_cluster(drawn: Iterable[Drawn], cluster_of: Callable[[int], Hashable]) -> Iterator[Drawn]:
    """The same runs, those of each round that can share a cluster together; `cluster_of` an entry."""
    last: Hashable = None
    for _, its in groupby(drawn, key=lambda one: one.round):
        together: dict[Hashable, list[Drawn]] = {}
        for one in its:
            together.setdefault(cluster_of(one.entry), []).append(one)
        for cluster in sorted(together, key=lambda cluster: cluster != last):
            yield from together[cluster]
            last = cluster


def _required(shares: Sequence[Share]) -> list[int]:
    return [entry for entry, share in enumerate(shares) for _ in range(share.at_least)]


def _round(shares: Sequence[Share], seed: int, number: int) -> list[int]:
    bag = [entry for entry, share in enumerate(shares) for _ in range(share.weight)]
    Random(f"{seed}/round {number}").shuffle(bag)
    return [entry for entry in bag for _ in range(shares[entry].repeat)]

"""The configurations of a matrix: acks × min.insync.replicas × replicas × unclean election."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from checkers.contract.realised.settings import Acks
from checkers.promises.clauses import clauses
from checkers.promises.configuration import Configuration

ACKS: tuple[Acks, ...] = ("0", "1", "all")
REPLICAS = (1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One configuration of the matrix."""

    acks: Acks
    replication: int
    min_isr: int
    unclean: bool

    @property
    def name(self) -> str:
        """ "acks-all-2-of-3-clean", as in the names of its scenarios."""
        return (
            f"acks-{self.acks}-{self.min_isr}-of-{self.replication}-{'unclean' if self.unclean else 'clean'}"
        )


def cells() -> Iterator[Cell]:
    """All of them, weaker promises first. Of one replica there is no unclean election."""
    for acks, replication, min_isr in product(ACKS, REPLICAS, REPLICAS):
        if min_isr <= replication:
            for unclean in (True, False) if replication > 1 else (False,):
                yield Cell(acks=acks, replication=replication, min_isr=min_isr, unclean=unclean)


LOSES: Mapping[str, str] = {
    "unreplicated-tail": "a leader dies or hands over",
    "deposed-leader-acks": "a leader is deposed",
    "power-of-all": "all in sync lose their power",
    "isr-of-one": "the only one in sync loses its power",
    "unclean-shutdowns": "as many as must be in sync end uncleanly and one loses its power",
    "last-replica-standing": "the last one in sync loses its power",
    "disk-loss": "disks are lost",
    "unclean-election": "a stale replica leads",
    "retention-by-clock": "a clock runs ahead of retention",
}
"""Clauses of a loss, in the words that go on from "may lose when"."""


def promise_of(configuration: Configuration) -> str:
    """The promise in a few words: how many brokers may be lost, when records may be lost all the same, and
    how many brokers may be away.
    """
    given = {clause.id: clause for clause in clauses(configuration)}
    if not configuration.acknowledged_by_all:
        keeps = "what was replicated"
    elif "broker-loss" in given:
        many = configuration.min_isr - 1
        keeps = f"all, with {many} broker{'s' * (many > 1)} lost"
    elif "process-kill" in given:
        keeps = "all, when brokers are killed"
    else:
        keeps = "all, while only replicas in sync lead"
    writes = "no write" if configuration.spare < 0 else f"writes with {configuration.spare} away"
    if "nothing-promised" in given:
        return f"keeps nothing; takes {writes}"
    *others, last = (LOSES[clause.id] for clause in given.values() if clause.kind == "lost")
    may = f"{', '.join(others)} or {last}" if others else last
    return f"keeps {keeps}; may lose when {may}; takes {writes}"

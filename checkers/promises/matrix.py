"""The configurations of a matrix: acks × min.insync.replicas × replicas × unclean election."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from checkers.contract.settings import Acks
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
    """All of them, weaker promises first."""
    for acks, replication, min_isr in product(ACKS, REPLICAS, REPLICAS):
        if min_isr <= replication:
            for unclean in (True, False):
                yield Cell(acks=acks, replication=replication, min_isr=min_isr, unclean=unclean)


def promise_of(configuration: Configuration) -> str:
    """The promise in a few words: how many brokers may be lost, and how many may be away."""
    given = {clause.id for clause in clauses(configuration)}
    if configuration.producer.acks != "all":
        keeps = "nothing" if configuration.producer.acks == "0" else "what was replicated"
    elif "broker-loss" in given:
        many = configuration.min_isr - 1
        keeps = f"all, with {many} broker{'s' * (many > 1)} lost"
    elif "process-kill" in given:
        keeps = "all, until a disk is lost"
    else:
        keeps = "all, until a stale replica leads"
    return f"keeps {keeps}; takes writes with {max(configuration.spare, 0)} away"

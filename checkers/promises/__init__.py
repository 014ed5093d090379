"""What a configuration of a topic, its producers and its brokers promises, before anything runs.

    clauses(configuration)      what is kept, what may be lost, what is unavailable when; in sentences
    search(configuration, …)    the shortest schedules of faults that lose or block something, on the model
    cells()                     the configurations of a matrix

The clauses follow from the contract (checkers/contract/clauses.py): a cause that it permits is one that a
clause names.
"""

from checkers.promises.clauses import Clause, clauses, may_be_lost_by
from checkers.promises.configuration import ClusterSettings, Configuration, ProducerSettings, TopicSettings
from checkers.promises.traps import Trap, traps

__all__ = [
    "Clause",
    "ClusterSettings",
    "Configuration",
    "ProducerSettings",
    "TopicSettings",
    "Trap",
    "clauses",
    "may_be_lost_by",
    "traps",
]

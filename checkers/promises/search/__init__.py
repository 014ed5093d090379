"""The shortest schedules of faults that break something, searched on the simulated Kafka."""

from checkers.promises.search.schedules import Kind, Schedule, in_words
from checkers.promises.search.search import SearchResult, search
from checkers.promises.search.trial import Found, Goal, Times, Trial, causes_of, simulated_alike

__all__ = [
    "Found",
    "Goal",
    "Kind",
    "Schedule",
    "SearchResult",
    "Times",
    "Trial",
    "causes_of",
    "in_words",
    "search",
    "simulated_alike",
]

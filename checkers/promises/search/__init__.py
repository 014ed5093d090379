"""The shortest schedules of faults that break something, searched on the simulated Kafka."""

from checkers.promises.search.schedules import Schedule, in_words
from checkers.promises.search.search import Found, Goal, SearchResult, search

__all__ = ["Found", "Goal", "Schedule", "SearchResult", "in_words", "search"]

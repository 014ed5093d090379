"""All traps."""

from itertools import chain

from checkers.promises.configuration import Configuration
from checkers.promises.traps import of_clusters, of_producers, of_topics
from checkers.promises.traps.trap import Trap


def traps(configuration: Configuration) -> tuple[Trap, ...]:
    """All that the configuration falls into: of the topic first, then of the producers, then of the
    brokers.
    """
    finders = (*of_topics.EVERY, *of_producers.EVERY, *of_clusters.EVERY)
    return tuple(chain.from_iterable(find(configuration) for find in finders))

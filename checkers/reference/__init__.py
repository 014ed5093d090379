"""The reference implementation: the properties in the words of their definitions, short and slow.

Each module is one group of properties and opens with the invariant, what counts as evidence, and a
counterexample. Every rule takes `Facts` and yields anomalies. Its docstring names the *subset* of the rows
on which it gives the same answer as on all of them, so that another implementation can filter first and let
the rules decide on what is left:
    by id      right for each id of which the subset has the send and every log record, in all partitions
    by offset  right for each (partition, offset) of which it has the log record, all reads, and all sends
               acknowledged there, together with all watermarks and proofs of the partition
    whole      it needs every row of the partition

A rule is registered by its line in the RULES at the end of its module.
"""

from checkers.reference.check import check
from checkers.reference.facts import Facts

__all__ = ["Facts", "check"]

"""Every clause of the contract and every rule is needed: with each one weakened, verdict and truth disagree.

The weakened code judges the same simulated runs as the honest one: of a correct Kafka, and of each planted
bug. The honest one disagrees in none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pytest

from checkers.contract import clauses, effects, fate, losses, partition_evidence, timeline
from checkers.contract.fate import Reason
from checkers.contract.partition_evidence import EpochStart, PartitionEvidence
from checkers.model import Bug, Simulated, draw_case, simulate
from checkers.properties import Property
from checkers.reference import check as reference
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import disagreements
from spark_verify.selftest.model_fuzz.verdict_of import verdict_of

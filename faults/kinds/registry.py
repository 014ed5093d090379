"""Every kind of fault, one line each: the plan, the schedule, storms and docs/faults.md know no others."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from faults.kinds.admin.config import CONFIG
from faults.kinds.admin.features.feature import FEATURE
from faults.kinds.admin.features.finalize import FINALIZE
from faults.kinds.admin.features.refused_downgrade import REFUSED_DOWNGRADE
from faults.kinds.admin.leaders.preferred_election import PREFERRED_ELECTION
from faults.kinds.admin.leaders.unclean_election import UNCLEAN_ELECTION
from faults.kinds.admin.reassign import REASSIGN
from faults.kinds.admin.topics.create_partitions import CREATE_PARTITIONS
from faults.kinds.admin.topics.create_topic import CREATE_TOPIC
from faults.kinds.clock.clock_skew import CLOCK_SKEW
from faults.kinds.disk.disk_full import DISK_FULL
from faults.kinds.disk.disk_stall import DISK_STALL
from faults.kinds.disk.disk_stutter import DISK_STUTTER
from faults.kinds.disk.disk_wipe import DISK_WIPE
from faults.kinds.disk.log_dir_failure import LOG_DIR_FAILURE
from faults.kinds.disk.power_loss import POWER_LOSS
from faults.kinds.fault.kind import FaultKind
from faults.kinds.fault.step import Step
from faults.kinds.network.bandwidth import BANDWIDTH
from faults.kinds.network.latency import LATENCY
from faults.kinds.network.partition import PARTITION
from faults.kinds.network.reset import RESET
from faults.kinds.network.slicing import SLICING
from faults.kinds.process.cpu_limit import CPU_LIMIT
from faults.kinds.process.kill import KILL
from faults.kinds.process.memory_limit import MEMORY_LIMIT
from faults.kinds.process.pause import PAUSE
from faults.kinds.process.pulses import PULSES
from faults.kinds.process.rolling_restart import ROLLING_RESTART
from faults.kinds.process.rolling_upgrade import ROLLING_UPGRADE
from faults.kinds.process.stop import STOP

ALL: tuple[FaultKind[Any], ...] = (
    PARTITION,
    PAUSE,
    PULSES,
    KILL,
    STOP,
    ROLLING_RESTART,
    ROLLING_UPGRADE,
    CPU_LIMIT,
    MEMORY_LIMIT,
    DISK_STALL,
    DISK_STUTTER,
    DISK_FULL,
    POWER_LOSS,
    DISK_WIPE,
    LOG_DIR_FAILURE,
    CLOCK_SKEW,
    LATENCY,
    BANDWIDTH,
    SLICING,
    RESET,
    REASSIGN,
    PREFERRED_ELECTION,
    UNCLEAN_ELECTION,
    CREATE_TOPIC,
    CREATE_PARTITIONS,
    CONFIG,
    FEATURE,
    FINALIZE,
    REFUSED_DOWNGRADE,
)

KINDS: Mapping[str, FaultKind[Any]] = MappingProxyType({kind.name: kind for kind in ALL})
"""By name, in the order of the documentation."""


def kind_of(step: Step) -> FaultKind[Any]:
    """The record of the step's kind."""
    return KINDS[step.kind]

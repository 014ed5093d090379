"""A simulated Kafka whose truth is known: what the rules and the contract are held against.

    case = draw_case(seed)                       settings and faults at random; with `bugs`, a broken Kafka
    simulated = simulate(case)                   its history, and the true fate of each record

It is written from Kafka's protocol (KIPs, source) and imports nothing that judges: no rule, no contract.
"""

from checkers.model.bugs import Bug
from checkers.model.case import (
    Action,
    Case,
    CleanStop,
    ClockSkew,
    DiskFull,
    DiskStall,
    DiskWipe,
    ElrFeature,
    Kill,
    Latency,
    LogDirFailure,
    MinIsr,
    ModelSettings,
    Partition,
    Pause,
    PowerLoss,
    PreferredElection,
    ProducerSettings,
    Reassign,
)
from checkers.model.draw.draw_case import draw_case
from checkers.model.simulate import simulate
from checkers.model.truth import RecordTruth, Removal, Simulated, Truth

__all__ = [
    "Action",
    "Bug",
    "Case",
    "CleanStop",
    "ClockSkew",
    "DiskFull",
    "DiskStall",
    "DiskWipe",
    "ElrFeature",
    "Kill",
    "Latency",
    "LogDirFailure",
    "MinIsr",
    "ModelSettings",
    "Partition",
    "Pause",
    "PowerLoss",
    "PreferredElection",
    "ProducerSettings",
    "Reassign",
    "RecordTruth",
    "Removal",
    "Simulated",
    "Truth",
    "draw_case",
    "simulate",
]

"""Settings that a fault changes, as the harness does: what is asked of the controller, and what brokers say.

Every broker that has a process is asked by itself. One that is paused, or does not serve yet, does not
answer: then nothing shows that all know a value.
"""

from typing import TypeAlias

from checkers.history.metadata_log.settings import ELR_FEATURE, MIN_ISR
from checkers.model.case import TOPIC, ElrFeature, MinIsr
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.controller import Controller

SettingAction: TypeAlias = MinIsr | ElrFeature


def value_of(action: SettingAction) -> int:
    """The value that is asked for; ELR's is its level."""
    return action.value if isinstance(action, MinIsr) else int(action.on)


def target_of(action: SettingAction) -> str:
    """As a fault's target is written."""
    if isinstance(action, MinIsr):
        return f"topic {TOPIC}: {MIN_ISR}={action.value}"
    return f"{ELR_FEATURE}={int(action.on)}"


def value_in_force(action: SettingAction, controller: Controller) -> int:
    """The value that the controller goes by."""
    return controller.rules.min_isr if isinstance(action, MinIsr) else int(controller.rules.elr)


def set_value(action: SettingAction, controller: Controller, value: int) -> None:
    """Have the controller write a value into the metadata log."""
    if isinstance(action, MinIsr):
        controller.set_min_isr(value)
    else:
        controller.set_elr(bool(value))


def all_say(action: SettingAction, cluster: Cluster, value: int) -> bool:
    """Whether every broker that has a process says that a value is in effect."""
    brokers = [one for one in cluster.brokers.values() if one.node.up]
    return bool(brokers) and all(
        one.node.serving
        and not one.node.paused
        and (one.min_isr if isinstance(action, MinIsr) else int(one.elr)) == value
        for one in brokers
    )

"""The brokers' registrations after each record: registered, fenced, in controlled shutdown, with which log
directories.

A registration begins fenced (unless it amends one of the same incarnation) and ends with its removal, or with
the next incarnation, which has a greater broker epoch. A BROKER_REGISTRATION_CHANGE_RECORD carries deltas: 1
sets, -1 clears, 0 or nothing leaves as it is; a list of log directories has those that are online, an empty
one or none leaves them as they are (KIP-858, since metadata version 3.7-IV2). Before metadata version 3.2
there were FENCE_BROKER_RECORD and UNFENCE_BROKER_RECORD instead. Source: `ClusterDelta` and
`BrokerRegistration.cloneWith` in Kafka's metadata module; KIP-631, KIP-841.
"""

from collections.abc import Sequence
from dataclasses import replace

from checkers.history.metadata_log.records import Record
from checkers.history.rows import BrokerState
from checkers.history.tables import NONE

FENCE, UNFENCE, UNCHANGED = 1, -1, 0


class Brokers:
    """The registrations as they are after the records applied so far."""

    def __init__(self) -> None:
        """No broker is registered yet."""
        self._states: dict[int, BrokerState] = {}

    def apply(self, record: Record) -> Sequence[BrokerState]:
        """The registration that `record` changes, as it is after it; none if it changes nothing.

        Raises ValueError for a change of a registration that no earlier record makes.
        """
        data = record["data"]
        match record["type"]:
            case "REGISTER_BROKER_RECORD":
                return self._put(_registered(record))
            case "UNREGISTER_BROKER_RECORD":
                known = self._known(record, data["brokerId"], data["brokerEpoch"])
                del self._states[known.node]
                return [_stamped(replace(known, registered=False), record)]
            case "FENCE_BROKER_RECORD":
                return self._change(record, data["id"], data["epoch"], fenced=FENCE)
            case "UNFENCE_BROKER_RECORD":
                return self._change(record, data["id"], data["epoch"], fenced=UNFENCE)
            case "BROKER_REGISTRATION_CHANGE_RECORD":
                fenced = data.get("fenced", UNCHANGED)
                stopping = data.get("inControlledShutdown", UNCHANGED)
                node, epoch = data["brokerId"], data["brokerEpoch"]
                log_dirs = _log_dirs(record)
                return self._change(record, node, epoch, fenced=fenced, stopping=stopping, log_dirs=log_dirs)
        return ()

    def _put(self, state: BrokerState) -> list[BrokerState]:
        self._states[state.node] = state
        return [state]

    def _change(
        self,
        record: Record,
        node: int,
        epoch: int,
        *,
        fenced: int,
        stopping: int = UNCHANGED,
        log_dirs: int = NONE,
    ) -> list[BrokerState]:
        before = self._known(record, node, epoch)
        after = replace(
            before,
            fenced=_after(before.fenced, fenced),
            in_controlled_shutdown=_after(before.in_controlled_shutdown, stopping),
            log_dirs=before.log_dirs if log_dirs == NONE else log_dirs,
        )
        return [] if after == before else self._put(_stamped(after, record))

    def _known(self, record: Record, node: int, epoch: int) -> BrokerState:
        state = self._states.get(node)
        if state is None or state.broker_epoch != epoch:
            raise ValueError(
                f"offset {record['offset']}: no earlier record registers broker {node} under epoch {epoch}"
            )
        return state


def _registered(record: Record) -> BrokerState:
    data = record["data"]
    return BrokerState(
        at_ms=record["timestamp_ms"],
        log_offset=record["offset"],
        node=data["brokerId"],
        broker_epoch=data["brokerEpoch"],
        fenced=data.get("fenced", True),
        in_controlled_shutdown=data.get("inControlledShutdown", False),
        log_dirs=_log_dirs(record),
        controller=record.get("controller", NONE),
    )


def _log_dirs(record: Record) -> int:
    """How many log directories the record names; -1: none, as records of old releases."""
    return len(record["data"].get("logDirs") or ()) or NONE


def _stamped(state: BrokerState, record: Record) -> BrokerState:
    return replace(
        state,
        at_ms=record["timestamp_ms"],
        log_offset=record["offset"],
        controller=record.get("controller", NONE),
    )


def _after(before: bool, delta: int) -> bool:
    return before if delta == UNCHANGED else delta == FENCE

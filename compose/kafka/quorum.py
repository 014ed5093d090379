"""Who leads the controller quorum, from the `quorum-state` files that its members write at every change."""

import json
from collections.abc import Mapping

STATE_FILE = "__cluster_metadata-0/quorum-state"


def leader(files: Mapping[int, str]) -> int | None:
    """The leader of the greatest epoch in `files` (text by node); None while that epoch has none."""
    newest, found = -1, None
    for text in files.values():
        epoch, leader_id = _state(text)
        # In one epoch there is one leader at most; some members may not know it yet.
        if epoch > newest or (epoch == newest and found is None):
            newest, found = epoch, leader_id if leader_id >= 0 else None
    return found


def _state(text: str) -> tuple[int, int]:
    try:
        state = json.loads(text)
        return int(state["leaderEpoch"]), int(state["leaderId"])
    except (ValueError, KeyError, TypeError):
        return -1, -1

"""What the schedule asks of the load that runs."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from checkers.history.rows import TopicPartition as Place
from faults.targets.target import TopicPartition
from harness.run.live.load import LiveLoad


@dataclass
class Load:
    """Two partitions, of which one has an acknowledgement."""

    last_ack_ns: dict[Place, int] = field(default_factory=lambda: {Place("a", 0): -1, Place("b-0", 1): 77})

    def stats(self) -> Any:
        return SimpleNamespace(last_ack_ns=self.last_ack_ns)


@pytest.mark.parametrize(
    ("of", "last_ns"),
    [
        (None, 77),
        (TopicPartition(topic="a", partition=0), -1),
        (TopicPartition(topic="b-0", partition=1), 77),
        (TopicPartition(topic="b", partition=0), -1),
    ],
)
def test_the_last_acknowledgement(of: TopicPartition | None, last_ns: int) -> None:
    """Of one partition, or of any."""
    assert LiveLoad(Load(), {}).last_ack_ns(of) == last_ns  # type: ignore[arg-type]

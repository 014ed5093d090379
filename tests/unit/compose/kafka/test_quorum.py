"""Who leads, from what the members have written down."""

from compose.kafka.quorum import leader


def state(epoch: int, leader_id: int) -> str:
    """A quorum-state file."""
    return f'{{"clusterId":"","leaderId":{leader_id},"leaderEpoch":{epoch},"votedId":-1,"data_version":0}}'


def test_agreement() -> None:
    """All agree."""
    assert leader({101: state(3, 102), 102: state(3, 102), 103: state(3, 102)}) == 102


def test_greatest_epoch() -> None:
    """A member that lags behind has no vote."""
    assert leader({101: state(3, 101), 102: state(4, 103), 103: state(4, 103)}) == 103


def test_some_do_not_know_yet() -> None:
    """In one epoch, who knows the leader is right."""
    assert leader({101: state(4, -1), 102: state(4, 103), 103: state(4, -1)}) == 103


def test_election() -> None:
    """While the greatest epoch has no leader there is none, whatever older epochs had."""
    assert leader({101: state(4, -1), 102: state(3, 101), 103: state(4, -1)}) is None


def test_unreadable() -> None:
    """A missing or torn file has no vote."""
    assert leader({101: "", 102: '{"leaderId":1', 103: state(0, 101)}) == 101
    assert leader({}) is None

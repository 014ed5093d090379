"""Unsynced bytes from filefrag's list of extents, and whose bytes count."""

import pytest

from compose.nodes.disks.disks import counts, delayed_bytes

HEAD = """\
Filesystem type is: ef53
File size of /mnt/kafka/orders-0/00000000000000000000.log is 2000000 (489 blocks of 4096 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
"""
SYNCED = "   0:        0..     244:      32897..     33141:    245:            \n"
DELAYED = (
    "   1:      245..     488:          0..         0:      0:             last,unknown_loc,delalloc,eof\n"
)
UNWRITTEN = "   1:      245..     488:      33142..     33385:    244:             last,unwritten,eof\n"
NAME = "/mnt/kafka/orders-0/00000000000000000000.log"


def test_delayed() -> None:
    """Blocks 245 to 488 have no place yet; the last of them is not full."""
    assert delayed_bytes(HEAD + SYNCED + DELAYED) == {NAME: 2_000_000 - 245 * 4096}


def test_unwritten() -> None:
    """Blocks that have a place and are not yet written there would be lost, too."""
    assert delayed_bytes(HEAD + SYNCED + UNWRITTEN) == {NAME: 2_000_000 - 245 * 4096}


def test_synced() -> None:
    """A file that is on the disk has nothing to lose."""
    assert delayed_bytes(HEAD + SYNCED.replace("            \n", "             last,eof\n")) == {}


def test_two_files() -> None:
    """Each file is counted by itself."""
    other = HEAD.replace("orders-0", "orders-1").replace("2000000 (489", "4096 (1")
    tail = "   0:        0..       0:          0..         0:      0:             last,delalloc,eof\n"
    assert delayed_bytes(HEAD + SYNCED + DELAYED + other + tail) == {
        NAME: 996_480,
        NAME.replace("orders-0", "orders-1"): 4096,
    }


def test_no_files() -> None:
    """Without files there is no output, and nothing to lose."""
    assert delayed_bytes("") == {}


@pytest.mark.parametrize(
    ("path", "of_a_broker", "of_a_controller"),
    [
        ("orders-0/0.log", True, True),
        ("/mnt/kafka/orders-0/0.log", True, True),
        ("to-delete-0/0.log", True, True),
        ("orders-0.5e1f0a3b9c2d4e6f8a7b6c5d4e3f2a1b-delete/0.log", False, False),
        ("/mnt/kafka/orders-0.5e1f0a3b9c2d4e6f8a7b6c5d4e3f2a1b-stray/0.log", False, False),
        ("__cluster_metadata-0/0.log", False, True),
        ("/mnt/kafka/__cluster_metadata-0/0.log", False, True),
    ],
)
def test_whose_bytes_count(path: str, of_a_broker: bool, of_a_controller: bool) -> None:
    """Those of replicas that are there to stay; of a broker not those of its metadata log."""
    assert counts(path, with_metadata=False) is of_a_broker
    assert counts(path, with_metadata=True) is of_a_controller

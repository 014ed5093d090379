"""A node's disk, made and removed again: only so it is known what kernel and engine allow.

Rootless engines and virtual machines of desktop engines have /dev/loop-control and still may not use it.
"""

import os
import uuid

from compose.cleanup import cleanup
from compose.docker import containers
from compose.docker.labels import owner_of
from compose.nodes.disks.disks import make_disks
from compose.nodes.helper import Helper, helper_spec

MIB = 64


def try_a_disk() -> int:
    """Make a disk of MIB MiB, write to it, freeze and thaw it; the MiB that are free on it.

    It is removed in any case. Raises DiskError or another ComposeError with what does not work.
    """
    owner = owner_of(f"trial-{uuid.uuid4().hex[:8]}", os.getpid())
    helper = None
    try:
        spec = helper_spec(name=f"hw-{owner.run_id}-helper", network="none", labels=owner.labels())
        helper = Helper(container_id=containers.start(spec).id)
        disks = make_disks(helper, owner, {1: 1}, mib=MIB)
        disks.fill({1: [{"meta.properties": b"# as of a node\n"}]})
        disks.freeze(1)
        disks.thaw(1)
        return disks.room_bytes(1, 1) >> 20
    finally:
        cleanup.clean_run(owner.run_id, helper)

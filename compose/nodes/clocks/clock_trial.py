"""Can a process in an image be given another time? One is, in a container of its own: only so it is known.

An image without libfaketime, or with another C library than it is made for, starts its processes all the
same, with the true time.
"""

import os
import uuid

from compose.docker import containers
from compose.docker.containers import ContainerSpec
from compose.docker.labels import owner_of
from compose.errors import MachineError
from compose.host.waiting import wait_until
from compose.nodes.clocks.clocks import ENVIRONMENT, IN_NODE

AHEAD_S = 691_200
NEAR_S = 5
"""Between the two questions: a container starts a process in milliseconds, on a busy machine in tenths."""
TRIAL_S = 30.0
SHOWN = "/tmp/trial"
SCRIPT = (
    f"mkdir -p {IN_NODE} {SHOWN}; echo +{AHEAD_S} >{IN_NODE}/offset; "
    f"env -u LD_PRELOAD date +%s >{SHOWN}/true; date +%s >{SHOWN}/shown"
)


def try_a_clock(image: str) -> int:
    """Start a process of `image` with a clock that is eight days ahead; by how many seconds it was.

    Raises MachineError with what it shows instead.
    """
    owner = owner_of(f"trial-{uuid.uuid4().hex[:8]}", os.getpid())
    spec = ContainerSpec(
        name=f"hw-{owner.run_id}-clock",
        image=image,
        command=("sh", "-c", SCRIPT),
        labels=owner.labels(),
        network="none",
        environment=ENVIRONMENT,
    )
    container = containers.start(spec)
    try:
        wait_until(
            f"{spec.name}: the clock is read",
            lambda: str(containers.inspect(container.id)["State"]["Status"]),
            lambda status: status == "exited",
            within_s=TRIAL_S,
        )
        written = containers.get_files(container.id, SHOWN)
    finally:
        containers.remove(container.id, name=spec.name)
    return _ahead_s(image, written.get("true", b""), written.get("shown", b""))


def _ahead_s(image: str, true: bytes, shown: bytes) -> int:
    read = [text.strip() for text in (true, shown)]
    ahead_s = int(read[1]) - int(read[0]) if all(text.isdigit() for text in read) else None
    if ahead_s is None or abs(ahead_s - AHEAD_S) > NEAR_S:
        found = "does not say what time it is" if ahead_s is None else f"shows a time {ahead_s} s ahead"
        raise MachineError(
            f"{image}: a process whose clock was set {AHEAD_S} s ahead {found}: no node can be given a clock "
            "of its own\n    next step: `highwater setup` builds images with libfaketime"
        )
    return ahead_s

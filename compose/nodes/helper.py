"""The standing helper container of a run: it does the work on the nodes' disks, and reads connections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from compose.docker import containers
from compose.docker.standing_exec import SERVER, StandingExec
from compose.errors import DiskError, Unanswered, Vanished
from compose.mesh import probe
from compose.spec.images import program, tools_image

DISKS_DIR = PurePosixPath("/var/lib/highwater/disks")
SCRIPT = "/highwater/disk.sh"
LOG_ENDS = "/highwater/log_ends.pl"
LIST_FILES = "/highwater/list_files.pl"

SAID = 1_000
"""How much of the end of what a failed command printed is in its error, in characters: a listing that breaks
off has no end, and why it did is said last."""
CALL_S = 20.0
PULSE_S = 20.0
"""A machine that is as slow as that lets no fault begin or end in time either."""


def helper_spec(*, name: str, network: str, labels: Mapping[str, str]) -> containers.ContainerSpec:
    """The container that does the work of this module, and reads the connections of `network`."""
    return containers.ContainerSpec(
        name=name,
        image=tools_image(),
        command=("sleep", "infinity"),
        labels=labels,
        network=network,
        volumes={"/dev": "/dev", str(DISKS_DIR): str(DISKS_DIR)},
        files={
            SCRIPT: program("disk.sh"),
            LOG_ENDS: program("log_ends.pl"),
            LIST_FILES: program("list_files.pl"),
            probe.SCRIPT: program("probe.pl"),
            probe.REACHED: program("reached.pl"),
            probe.TRANSFER: program("transfer.pl"),
            SERVER: program("serve.pl"),
        },
        capabilities=("SYS_ADMIN",),
        # Where there is AppArmor, Docker's default profile forbids to mount, whatever the capabilities.
        security=("apparmor=unconfined",),
        device_rules=("b 7:* rmw", "c 10:237 rmw"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Helper:
    """The standing helper container."""

    container_id: str
    commands: StandingExec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Commands run in it from the first call on."""
        object.__setattr__(self, "commands", StandingExec(self.container_id))

    def disk(self, *argv: str, within_s: float = CALL_S) -> str:
        """Run one verb of disk.sh and return what it printed. Raises DiskError."""
        return self.run(["sh", SCRIPT, *argv], within_s=within_s)

    def run(self, argv: Sequence[str], *, within_s: float = CALL_S) -> str:
        """Run a command and return what it printed. Raises DiskError if it fails or takes longer."""
        done = self.commands.run(argv, within_s=within_s)
        if done.exit_code != 0:
            ran_out = f" (stopped after {within_s:g} s)" if done.exit_code in (124, 137) else ""
            output = done.output.strip()[-SAID:] or "no output"
            raise DiskError(f"{' '.join(argv)}: exit code {done.exit_code}{ran_out}: {output}")
        return done.output

    def check(self) -> None:
        """Raise DiskError if it does not run, or has left a command without an answer. Up to a minute.

        Any other ComposeError says that the engine does not answer, which is nothing about the helper.
        """
        try:
            status = containers.inspect(self.container_id)["State"]["Status"]
        except Vanished:
            status = "missing"
        if status != "running":
            raise DiskError(f"the helper container {self.container_id[:12]} is {status}")
        if self.commands.unanswered:
            raise DiskError(self.commands.unanswered)
        try:
            self.run(["true"], within_s=PULSE_S)
        except Unanswered as error:
            raise DiskError(str(error)) from error

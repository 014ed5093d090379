"""Each node's own wall clock, where a run sets it: libfaketime in its processes, and a file that says by how
much.

The library reads the file at each question for the time, so a clock is set while its node runs, and stays set
over restarts. The file lies in a directory of the run on the engine's machine, which the node has mounted:
the helper writes it, whether the node runs, stands still or is down. It gets its name only when it is whole,
for a process that reads half of it would end.

The monotonic clock is left alone, and with it every wait that the JVM counts by that.
FAKETIME_FORCE_MONOTONIC_FIX=0 is needed for it: else a timed wait of the JVM returns after 0 to 45 ms.

What the clock shows is asked of the node's own JVM, by the socket at which HotSpot answers jcmd: a process
that was started for the question would only show what the next one will see.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from compose.docker.standing_exec import SERVER, StandingExec
from compose.errors import NodeStateError
from compose.nodes.helper import Helper
from compose.protocols import ClockAhead
from compose.spec.images import program

IN_NODE = "/highwater/clock"
"""Where a node has the directory with its file."""
SCRIPT = "/highwater/jvm_clock.pl"
JVM_FLAGS = ("-XX:+StartAttachListener",)
"""The JVM answers from its start on, without a signal that would make it print all its threads."""
ENVIRONMENT: Mapping[str, str] = {
    # The dynamic linker itself puts in where libraries of this machine's kind are.
    "LD_PRELOAD": "/usr/$LIB/faketime/libfaketime.so.1",
    "FAKETIME_TIMESTAMP_FILE": f"{IN_NODE}/offset",
    "FAKETIME_NO_CACHE": "1",
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "FAKETIME_FORCE_MONOTONIC_FIX": "0",
}
ANSWER_S = 5.0
MILLISECOND_NS = 1_000_000
_WRITE = 'mkdir -p "$1"; echo "$2" > "$1/offset.new"; mv "$1/offset.new" "$1/offset"'


def files() -> Mapping[str, str]:
    """What a node needs in its container for the question what its clock shows: path to text."""
    return {SERVER: program("serve.pl"), SCRIPT: program("jvm_clock.pl")}


def directory(of_run: str, node: int) -> str:
    """Where the node's file lies on the engine's machine; `of_run`: the directory of the run's disks."""
    return f"{of_run}/clocks/{node}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """The clocks of those nodes of one run that can be set.

    `containers` has the name of the container of each. `of_run` is the directory of the run's disks on the
    engine's machine.
    """

    helper: Helper
    of_run: str
    containers: Mapping[int, str] = field(default_factory=dict)
    _asked: dict[int, StandingExec] = field(default_factory=dict, repr=False, compare=False)

    def prepare(self, node: int) -> None:
        """Make the file of a node that is about to be started. Raises DiskError."""
        self._write(node, 0)

    def set(self, node: int, ahead_ms: int) -> None:
        """Let the node's clock be so far ahead of the engine's. Raises NodeStateError, DiskError."""
        self._check(node)
        self._write(node, ahead_ms)
        if (found := self.setting(node)) != ahead_ms:
            raise NodeStateError(
                f"node {node}: its clock is to be {found} ms ahead, and was set to {ahead_ms}"
            )

    def setting(self, node: int) -> int | None:
        """How far the node's clock is to be ahead, in ms; None: it cannot be set."""
        if node not in self.containers:
            return None
        text = self.helper.run(["cat", f"{directory(self.of_run, node)}/offset"])
        return round(float(text) * 1000)

    def ahead(self, node: int) -> ClockAhead:
        """How far the clock of the node's own JVM is ahead now. Raises NodeStateError, Unanswered."""
        self._check(node)
        asked = self._asked.setdefault(node, StandingExec(self.containers[node]))
        done = asked.run(["perl", SCRIPT], within_s=ANSWER_S)
        if done.exit_code != 0:
            raise NodeStateError(f"node {node}: what its clock shows is not known: {done.output.strip()}")
        return parse(done.output)

    def _write(self, node: int, ahead_ms: int) -> None:
        # Without a letter libfaketime counts in seconds.
        text = f"{ahead_ms / 1000:+.3f}"
        self.helper.run(["sh", "-euc", _WRITE, "_", directory(self.of_run, node), text])

    def _check(self, node: int) -> None:
        if node not in self.containers:
            raise NodeStateError(
                f"node {node}: its clock cannot be set: the cluster was started without that"
            )


def parse(printed: str) -> ClockAhead:
    """What jvm_clock.pl prints. NodeStateError for any other text."""
    try:
        before_ns, shown, after_ns = printed.split()
        at_ms = round(datetime.strptime(shown, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp() * 1000)
        # It is cut off at the millisecond, and was read at some time between the two.
        return ClockAhead(
            least_ms=at_ms - -(-int(after_ns) // MILLISECOND_NS),
            most_ms=at_ms + 1 - int(before_ns) // MILLISECOND_NS,
        )
    except ValueError as error:
        raise NodeStateError(f"not a reading of a node's clock: {printed.strip()!r}") from error

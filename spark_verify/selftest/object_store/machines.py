"""A standalone Spark cluster of one master and some workers that are machines of their own, as far as one
Linux has several: each worker has its own network (an address, a cable to a bridge) and its own mounts.

In a worker's mounts the driver's checkout, virtual environment and /tmp are not there. It has a Python path,
a Spark and a work directory of its own below /mnt. What it shares with the driver is the network only. Needs
root, as `ip` and `mount` do.
"""

import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import checkers
from compose.host.java import Java, find_java
from spark_verify.session.jvm import module_options

NETWORK = "198.18.77"
"""Of the range that RFC 2544 sets aside for tests of networks."""
DRIVER = f"{NETWORK}.1"
MASTER = f"spark://{DRIVER}:7077"
HIDDEN = tuple(
    dict.fromkeys([Path("/tmp"), Path(checkers.__file__).resolve().parents[1], Path(sys.prefix).resolve()])
)
"""Folders of the driver that workers do not have."""
_BRIDGE = "hwbridge"
_START_WITHIN_S = 300.0

# A mount that stays in a worker's namespace would keep the file system alive whose power a test cuts: so what
# is unmounted elsewhere is unmounted here, too, and what the engine mounted is let go at once.
_WORKER = """\
set -e
awk '$5 ~ "^/var/lib/docker/" { print $5 }' /proc/self/mountinfo | sort -r | xargs -r umount --lazy
mount -t tmpfs none /mnt
mkdir /mnt/packages /mnt/bin /mnt/work
mount --bind "$PACKAGES" /mnt/packages
ln -s "$INTERPRETER" /mnt/bin/python3
for folder in $HIDDEN; do [ ! -d "$folder" ] || mount -t tmpfs none "$folder"; done
ip link set lo up
until ip link show "$CABLE" >/dev/null 2>&1; do sleep 0.1; done
ip addr add "$ADDRESS/24" dev "$CABLE"
ip link set "$CABLE" up
cd /mnt/work
unset PACKAGES INTERPRETER HIDDEN CABLE
export PATH=/mnt/bin:/usr/bin:/bin PYTHONPATH=/mnt/packages SPARK_HOME=/mnt/packages/pyspark
export SPARK_LOCAL_IP="$ADDRESS" SPARK_SCALA_VERSION=2.13
exec "$@"
"""


@contextmanager
def network() -> Iterator[None]:
    """The bridge that all machines are connected to; this one has the address DRIVER there."""
    if (ports := Path("/sys/class/net", _BRIDGE, "brif")).is_dir() and not any(ports.iterdir()):
        _ip("link", "del", _BRIDGE)  # what a killed run left
    _ip("link", "add", _BRIDGE, "type", "bridge")
    try:
        _ip("addr", "add", f"{DRIVER}/24", "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")
        yield
    finally:
        _ip("link", "del", _BRIDGE)


@contextmanager
def cluster(workers: int, environment: Mapping[str, str], logs: Path) -> Iterator[str]:
    """A master on this machine and so many workers of one core, in a `network`; the master's URL.

    `environment` is what the workers' executors find in theirs. Output goes to files in `logs`.
    """
    with ExitStack() as stack:
        java = find_java()
        command = _spark(java, _packages() / "pyspark", "master.Master", "--host", DRIVER, "--port", "7077")
        master = stack.enter_context(_process(command, _base(java), logs / "master.log"))
        for number in range(1, workers + 1):
            stack.enter_context(_worker(java, number, environment, logs / f"worker-{number}.log"))
        _await_workers(workers, logs, master)
        yield MASTER


@contextmanager
def _worker(java: Java, number: int, environment: Mapping[str, str], log: Path) -> Iterator[None]:
    """One worker: its command waits until its end of the cable is there."""
    cable, address = f"hwcable{number}", f"{NETWORK}.{number + 1}"
    words = ("--host", address, "--cores", "1", "--memory", "1g", "--work-dir", "/mnt/work", MASTER)
    spark = _spark(java, Path("/mnt/packages/pyspark"), "worker.Worker", *words)
    command = ["unshare", "--mount", "--propagation", "slave", "--net", "sh", "-c", _WORKER, "worker", *spark]
    given = {
        "PACKAGES": str(_packages()),
        "INTERPRETER": str(Path(sys.base_prefix, "bin", "python3").resolve()),
        "HIDDEN": " ".join(map(str, HIDDEN)),
        "CABLE": f"{cable}w",
        "ADDRESS": address,
    }
    with _process(command, _base(java) | dict(environment) | given, log) as process:
        _ip("link", "add", cable, "type", "veth", "peer", "name", f"{cable}w")
        try:
            _ip("link", "set", cable, "master", _BRIDGE, "up")
            _await_namespace(process)
            _ip("link", "set", f"{cable}w", "netns", str(process.pid))
            yield
        finally:
            _ip("link", "del", cable)


@contextmanager
def _process(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=dict(environment), stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _spark(java: Java, home: Path, name: str, *words: str) -> list[str]:
    return [
        *(
            str(java.executable),
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{home}/jars/*",
        ),
        *module_options(java),
        *(f"org.apache.spark.deploy.{name}", "--webui-port", "0", *words),
    ]


def _base(java: Java) -> dict[str, str]:
    """The environment of a new machine."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "JAVA_HOME": str(java.home), "SPARK_LOCAL_IP": DRIVER}


def _packages() -> Path:
    return Path(sysconfig.get_path("purelib"))


def _await_namespace(process: subprocess.Popen[bytes]) -> None:
    """Until the process has left this one's network."""
    own, deadline = Path("/proc/self/ns/net").readlink(), time.monotonic() + _START_WITHIN_S
    while Path(f"/proc/{process.pid}/ns/net").readlink() == own:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("a worker did not get a network of its own")
        time.sleep(0.05)


def _await_workers(count: int, logs: Path, master: subprocess.Popen[bytes]) -> None:
    deadline, log = time.monotonic() + _START_WITHIN_S, logs / "master.log"
    while log.read_text(errors="replace").count("Registering worker") < count:
        if master.poll() is not None or time.monotonic() > deadline:
            tails = "\n".join(
                f"{each.name}: {each.read_text()[-1500:]}" for each in sorted(logs.glob("*.log"))
            )
            raise RuntimeError(f"{count} workers did not register:\n{tails}")
        time.sleep(0.2)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")

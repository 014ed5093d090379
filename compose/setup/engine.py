"""A running Docker Engine: the one that is there, or one that we install from Debian and start.

Without systemd we start `dockerd` ourselves, as a daemon of its own: it outlives the set-up and holds none
of our files.
"""

import os
import shutil
import time
from pathlib import Path

from compose.docker import api as docker_api
from compose.errors import EngineUnreachable
from compose.host import shell
from compose.host.progress import OnLine
from compose.setup import debian

PID_FILE = Path("/var/run/docker.pid")
LOG_FILE = Path("/var/log/highwater-dockerd.log")
SYSTEMD_RUNS = Path("/run/systemd/system")
# After a kill the daemon first ends the containers that it finds: measured: 13 s.
START_TIMEOUT_S = 120
POLL_S = 0.2
CHANGES = "it makes /var/lib/docker, a network bridge, and firewall rules for its networks"


def ensure_engine(on_line: OnLine) -> bool:
    """Return when a Docker Engine answers, and whether that was only started now.

    Installs and starts one where we may. Raises EngineUnreachable, CommandFailed.
    """
    if docker_api.answers():
        return False
    _refuse_where_it_is_not_ours_to_start()
    if shutil.which("dockerd") is None:
        # iptables is only recommended by docker.io, but without it no container network comes up.
        debian.install("docker.io", "iptables", why="Docker Engine", on_line=on_line)
    pid = read_pid(PID_FILE)
    if is_alive(pid):
        on_line("a Docker Engine is starting: waiting for it")
    elif SYSTEMD_RUNS.is_dir():
        on_line(f"starting Docker Engine (systemd): {CHANGES}")
        on_line("    it goes on running; to undo: systemctl stop docker")
        shell.run(["systemctl", "start", "docker"], timeout_s=START_TIMEOUT_S)
        pid = None
    else:
        pid = start_daemon(on_line)
    _wait_until_it_answers(pid)
    return True


def start_daemon(on_line: OnLine) -> int:
    """Start `dockerd` detached, its output in LOG_FILE, and return its process id."""
    # dockerd refuses to start when the process id in a dead daemon's file was given to somebody else since.
    PID_FILE.unlink(missing_ok=True)
    if LOG_FILE.exists():
        # A log of its own, so that the last lines of a failed start are not those of the daemon before.
        LOG_FILE.replace(LOG_FILE.with_suffix(".log.1"))
    on_line(f"starting Docker Engine (no systemd here; its log is {LOG_FILE}): {CHANGES}")
    on_line(f"    it goes on running; to undo: kill $(cat {PID_FILE})")
    return shell.spawn_detached(["dockerd"], log=LOG_FILE)


def read_pid(pid_file: Path) -> int | None:
    """Return the process id that the daemon's file names, if there is one."""
    try:
        return int(pid_file.read_text())
    except (OSError, ValueError):
        return None


def is_alive(pid: int | None, proc: Path = Path("/proc")) -> bool:
    """Whether process `pid` is a Docker daemon: not a dead one, nor another that was given its number."""
    if pid is None:
        return False
    try:
        # "4711 (dockerd) S 1 ...", see proc(5). Z: it has ended, and its parent (us) has not asked for it.
        name, _, rest = (proc / str(pid) / "stat").read_text().partition(" (")[2].rpartition(") ")
    except OSError:
        return False
    return name == "dockerd" and not rest.startswith("Z")


def _refuse_where_it_is_not_ours_to_start() -> None:
    if host := docker_api.host():
        raise EngineUnreachable(
            f"no Docker Engine answers at {host}, which DOCKER_HOST or the current context of Docker names\n"
            "    next step: start that engine, or unset DOCKER_HOST, or `docker context use default`"
        )
    if os.geteuid() != 0:
        raise EngineUnreachable(
            "no Docker Engine answers to this user, and only root may start one\n"
            "    next step: start Docker and join the group `docker`, or run `highwater setup` as root"
        )
    if shutil.which("dockerd") is None and not debian.may_install():
        raise EngineUnreachable(
            "Docker Engine is not installed, and set-up installs it on Debian only, "
            f"unless {debian.INSTALL}=no\n"
            "    next step: install Docker Engine 20.10 or newer, then `highwater setup` again"
        )


def _wait_until_it_answers(pid: int | None) -> None:
    """Wait for the daemon `pid`, or for one that systemd or another process started."""
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while not docker_api.answers():
        if pid is not None and not is_alive(pid):
            raise _failed_to_start("dockerd was started, and has ended")
        if time.monotonic() > deadline_s:
            raise _failed_to_start(f"dockerd was started, and does not answer after {START_TIMEOUT_S} s")
        time.sleep(POLL_S)


def _failed_to_start(what: str) -> EngineUnreachable:
    return EngineUnreachable(
        f"{what}; its last log lines:\n{last_lines(LOG_FILE)}\n"
        f"    next step: read {LOG_FILE}, put right what it reports, then `highwater setup` again"
    )


def last_lines(log: Path, count: int = 15) -> str:
    """Return the last lines of the daemon's log, indented."""
    if not log.is_file():
        return "    (no log)"
    return "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-count:])

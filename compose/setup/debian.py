"""Packages from Debian, where we may install them: on Debian, as root."""

import os
import shutil
from pathlib import Path

from compose.errors import CommandFailed, MachineError
from compose.host.progress import OnLine
from compose.host.shell import run_logged

OS_RELEASE = Path("/etc/os-release")
APT_TIMEOUT_S = 900
INSTALL = "HIGHWATER_INSTALL"
"""The variable that, set to `no`, forbids set-up to install anything that it would leave on the machine."""


def is_debian(os_release: Path = OS_RELEASE) -> bool:
    """Whether this machine runs Debian, or something that calls itself like Debian."""
    if not os_release.is_file():
        return False
    pairs = (line.partition("=") for line in os_release.read_text().splitlines())
    fields = {key: value.strip('"') for key, _, value in pairs}
    return "debian" in (fields.get("ID", ""), *fields.get("ID_LIKE", "").split())


def is_forbidden() -> bool:
    """Whether the user forbids to install anything, from wherever."""
    return os.environ.get(INSTALL) == "no"


def may_install() -> bool:
    """Whether set-up may install Debian packages here."""
    return not is_forbidden() and os.geteuid() == 0 and is_debian() and shutil.which("apt-get") is not None


def need(command: str, *, package: str, on_line: OnLine) -> None:
    """Install `package` unless there is a `command` already. Raises MachineError, CommandFailed."""
    if shutil.which(command) is None:
        install(package, why=f"the command {command}", on_line=on_line)


def install(*packages: str, why: str, on_line: OnLine) -> None:
    """Install `packages` without what they only recommend; apt is not allowed to remove any for them.

    Raises MachineError with the command to type where we may not, CommandFailed where apt fails.
    """
    if not may_install():
        raise MachineError(
            f"{why} is missing, and set-up installs packages on Debian as root only, unless {INSTALL}=no\n"
            f"    next step: as root, `apt-get install {' '.join(packages)}`, or what your system calls it"
        )
    names = " ".join(packages)
    on_line(f"installing {names} from Debian ({why}); apt adds them and what they need, and removes nothing")
    on_line(f"    to undo: apt-get purge {names} && apt-get autoremove; {INSTALL}=no forbids it")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        run_logged(["apt-get", "update", "-q"], timeout_s=APT_TIMEOUT_S, env=quiet, on_line=on_line)
    except CommandFailed as error:
        # One dead source among others, which we may not need; the installation shows.
        on_line(str(error))
    run_logged(
        ["apt-get", "install", "-q", "-y", "--no-remove", "--no-install-recommends", *packages],
        timeout_s=APT_TIMEOUT_S,
        env=quiet,
        on_line=on_line,
    )

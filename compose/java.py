"""A Java that Spark runs on.

Spark 4 needs Java 17 or newer, and its launcher always asks for the module jdk.incubator.vector. The cut-down
runtimes that Python packages bring lack that module, so a missing Java is installed from Debian.
"""

import functools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from compose import debian, shell
from compose.errors import CommandFailed, MachineError
from compose.progress import Say

OLDEST_JAVA = 17
SPARK_MODULE = "jdk.incubator.vector"
ASK_TIMEOUT_S = 20
INSTALLED_JAVAS = Path("/usr/lib/jvm")


def ensure_java(say: Say) -> Path:
    """Return the home of a Java that Spark runs on; install one where we may. Raises MachineError."""
    home = find_java()
    if home is None:
        debian.install("openjdk-17-jre-headless", why=f"Java {OLDEST_JAVA} or newer", say=say)
        find_java.cache_clear()
        home = find_java()
    if home is None:
        raise MachineError(
            f"Java was installed, and still no Java {OLDEST_JAVA} with the module {SPARK_MODULE} is found\n"
            "    next step: set JAVA_HOME to one"
        )
    return home


@functools.cache
def find_java() -> Path | None:
    """Return the home of a Java that Spark runs on: that of JAVA_HOME, of PATH, or an installed one."""
    return next((home for home in _candidates() if runs_spark(home)), None)


def runs_spark(home: Path) -> bool:
    """Whether the Java in `home` starts with Spark's module and is new enough."""
    try:
        said = shell.run(
            [str(home / "bin/java"), f"--add-modules={SPARK_MODULE}", "-version"], timeout_s=ASK_TIMEOUT_S
        ).stderr
    except (CommandFailed, OSError):
        return False
    return parse_major(said) >= OLDEST_JAVA


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
    yield from sorted(INSTALLED_JAVAS.glob("*/")) if INSTALLED_JAVAS.is_dir() else ()

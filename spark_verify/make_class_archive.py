"""Makes the class archive of Spark (session/class_archive.py): the JVM verifies a small history and writes
down, at its end, which classes it loaded.

    python -m spark_verify.make_class_archive [--remove]
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from compose.errors import ComposeError
from compose.host import shell
from compose.host.cache import cache_folder
from compose.host.java import Java, find_java
from compose.host.progress import OnLine, print_line, timed
from spark_verify.errors import SparkVerifyError
from spark_verify.session.class_archive import LOADS_ARCHIVE, archive_path, base_path
from spark_verify.session.session import SessionOptions, session
from spark_verify.synthetic import Shape, write_history
from spark_verify.verify import verify

DUMP_TIMEOUT_S = 120


def make_archive(java: Java | None = None) -> Path | None:
    """Make the archive, if it is not there; None if this JVM cannot make one. Takes 20 s."""
    java = java or find_java()
    archive = archive_path(java)
    if archive.is_file():
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    growing = archive.with_suffix(f".{os.getpid()}")
    options = [f"-XX:ArchiveClassesAtExit={growing}"]
    if not (java.home / "lib/server/classes.jsa").is_file():
        base = _make_base(java, base_path(archive))
        options.append(f"{LOADS_ARCHIVE}{base}")
    try:
        _load_classes(java, options)
        return growing.rename(archive) if growing.is_file() else None
    finally:
        growing.unlink(missing_ok=True)


def _make_base(java: Java, base: Path) -> Path:
    """Small Java runtimes come without the archive of Java's own classes on which ours builds."""
    command = [str(java.executable), "-Xshare:dump", f"{LOADS_ARCHIVE}{base}"]
    shell.run(command, timeout_s=DUMP_TIMEOUT_S, check=False)
    return base


def _load_classes(java: Java, java_options: list[str]) -> None:
    """Have a JVM load whatever a verification needs."""
    with (
        tempfile.TemporaryDirectory(prefix="highwater-archive-") as folder,
        session(SessionOptions(java=java, java_options=tuple(java_options))) as spark,
    ):
        write_history(Path(folder), Shape(sends=1_000))
        verify(Path(folder), spark)


def remove_archives() -> None:
    """Remove the archives of all JVMs and Sparks of this user."""
    for archive in cache_folder().glob("spark-*.jsa"):
        archive.unlink(missing_ok=True)


def prepare_archive(on_line: OnLine) -> None:
    """Make the archive, if it is not there; that it cannot be made is a line for `on_line`, and no error."""
    try:
        if archive_path(find_java()).is_file():
            return
        with timed("making an archive of Spark's classes, with which it starts in half the time", on_line):
            if make_archive() is None:
                on_line("this Java makes no archive: Spark starts slower")
    except (SparkVerifyError, ComposeError) as error:
        on_line(f"Spark starts slower: {error}")


def main() -> int:
    """Make the archive, if it is not there, or remove it."""
    parser = argparse.ArgumentParser(prog="python -m spark_verify.make_class_archive", description=__doc__)
    parser.add_argument("--remove", action="store_true", help="remove every archive that was made")
    if parser.parse_args().remove:
        remove_archives()
    else:
        prepare_archive(print_line)
    return 0


if __name__ == "__main__":
    sys.exit(main())

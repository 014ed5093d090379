"""A class archive (AppCDS) halves the time that Spark's JVM takes to start. It is a cache: made once,
never needed.

An archive fits one JVM and one set of jars, so its name is a digest of both; it is some 110 MB. `python -m
spark_verify.archive` makes it, by verifying a small history with the JVM told to write down which
classes it loaded.
"""

import hashlib
import os
from pathlib import Path

from spark_verify.java import Java

_OPTIONS_VERSION = b"1"


def cache_dir() -> Path:
    """Where archives are kept: `$XDG_CACHE_HOME/highwater`, by default `~/.cache/highwater`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "highwater"


def archive_path(java: Java) -> Path:
    """Where the archive for this JVM and the installed Spark belongs, whether it exists or not."""
    import pyspark

    digest = hashlib.sha256(_OPTIONS_VERSION)
    digest.update((java.home / "release").read_bytes() if java.version else str(java.home).encode())
    for jar in sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar")):
        found = jar.stat()
        digest.update(f"{jar} {found.st_size} {found.st_mtime_ns}\n".encode())
    return cache_dir() / f"spark-{digest.hexdigest()[:16]}.jsa"


def archive_options(java: Java) -> tuple[str, ...]:
    """The JVM options that use the archive; none if there is no archive that fits."""
    archive = archive_path(java)
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto") if archive.is_file() else ()

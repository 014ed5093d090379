"""A class archive (AppCDS) halves the time that Spark's JVM takes to start. It is a cache: made once,
never needed.

An archive fits one JVM and one set of jars, so its name is a digest of both; it is some 110 MB.
`spark_verify.make_class_archive` makes it.
"""

import hashlib
from pathlib import Path

from compose.host.cache import cache_folder
from compose.host.java import Java

LOADS_ARCHIVE = "-XX:SharedArchiveFile="


def archive_path(java: Java) -> Path:
    """Where the archive for this JVM and the installed Spark belongs, whether it exists or not."""
    import pyspark

    digest = hashlib.sha256(f"{java.home} {java.version}".encode())
    for jar in sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar")):
        found = jar.stat()
        digest.update(f"{jar} {found.st_size} {found.st_mtime_ns}\n".encode())
    return cache_folder() / f"spark-{digest.hexdigest()[:16]}.jsa"


def archive_options(java: Java) -> tuple[str, ...]:
    """The JVM options that use the archive; none if there is no archive that fits."""
    archive = archive_path(java)
    base = base_path(archive)
    if not archive.is_file():
        return ()
    files = f"{base}:{archive}" if base.is_file() else str(archive)
    return (f"{LOADS_ARCHIVE}{files}", "-Xshare:auto")


def base_path(archive: Path) -> Path:
    """Where the archive of Java's own classes belongs, for a Java that came without."""
    return archive.with_suffix(".base.jsa")

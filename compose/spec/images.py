"""The names of our images, and how a JVM is started in one.

An image's tag is a hash of everything that goes into it: a changed recipe gets a new name and is built, an
unchanged one is found at once. The names are the same whether an image is pulled or built here, so no other
module has to know.
"""

import hashlib
from collections.abc import Iterable
from importlib.resources import files

from compose.spec.topology import DEFAULT_RELEASE

TOXIPROXY_VERSION = "2.12.0"
DEBIAN_SUITE = "bookworm"
# fsfreeze, losetup and perl (for ioctls) are in every Debian, so they need no package of their own.
# libfaketime gives a node a clock of its own, in a run that sets it.
TOOL_PACKAGES = ("e2fsprogs", "xfsprogs", "procps", "iproute2", "libfaketime")
JRE_PACKAGE = "openjdk-17-jre-headless"

CLASSPATH = "/opt/kafka/libs/*"
ARCHIVE = "/opt/highwater/kafka.jsa"
# C1 only, and a collector without threads: six JVMs start sooner on two cores, and none lives to miss C2.
# Nobody attaches to them either, so they keep no file of counters.
JVM_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
# The nodes' logs are timed without a zone.
CLOCK_FLAGS = ("-Duser.timezone=UTC",)
LOGGING_FLAGS = (
    "-Dlog4j2.configurationFile=/opt/highwater/log4j2.properties",
    "-Dlog4j.configuration=file:/opt/highwater/log4j.properties",
)
LEFT_OUT = (
    "connect-*",
    "kafka-streams-*",
    "rocksdbjni-*",
    "trogdor-*",
    "kafka-shell-*",
    "jline-*",
    "reflections-*",
    "jetty-*",
    "jersey-*",
    "hk2-*",
    "aopalliance-*",
    "osgi-*",
    "javassist-*",
    "classgraph-*",
    "swagger-*",
    "jakarta.*",
    "javax.*",
    "jaxb-*",
    "activation-*",
    "maven-artifact-*",
    "plexus-*",
    "jackson-jakarta-*",
    "jackson-jaxrs-*",
    "jackson-module-jakarta*",
    "jackson-module-jaxb*",
)
"""Jars of Kafka Connect, its web server, Streams and shells, which no node and no tool of ours loads.

A JVM opens every jar of its class path as it starts: without these, half as many.
"""
KAFKA_RECIPE = (
    "kafka.dockerfile",
    "pom.xml",
    "archive.sh",
    "archive.properties",
    "log4j.properties",
    "log4j2.properties",
)


def kafka_image(release: str = DEFAULT_RELEASE) -> str:
    """Return the name of the image that runs nodes of `release`."""
    inputs = (base_image(), release, ARCHIVE, *JVM_FLAGS, *LEFT_OUT, *map(recipe, KAFKA_RECIPE))
    return f"highwater/kafka:{release}-{_hash(inputs)}"


def toxiproxy_image() -> str:
    """Return the name of the image that runs the proxies."""
    return f"highwater/toxiproxy:{TOXIPROXY_VERSION}-{_hash([recipe('toxiproxy.dockerfile')])}"


def published_kafka(release: str) -> str:
    """Return the reference under which the Kafka project publishes `release` (3.7.0 and newer)."""
    return f"apache/kafka:{release}"


def published_toxiproxy() -> str:
    """Return the reference under which the Toxiproxy project publishes our version."""
    return f"ghcr.io/shopify/toxiproxy:{TOXIPROXY_VERSION}"


def published_debian() -> str:
    """Return the reference of the published Debian that our base image may start from."""
    return f"debian:{DEBIAN_SUITE}-slim"


def base_image() -> str:
    """Return the name of the Debian with a JRE and the disk tools that is below every Kafka image."""
    inputs = (*TOOL_PACKAGES, JRE_PACKAGE, recipe("base.dockerfile"))
    return f"highwater/base:{DEBIAN_SUITE}-{_hash(inputs)}"


def tools_image() -> str:
    """Return the name of the image of disk helpers: fsfreeze, losetup, mkfs.ext4, mkfs.xfs, perl, ps."""
    return base_image()


def java_argv(
    main_class: str, *arguments: str, heap_mib: int, archive: bool = True, flags: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the command that runs `main_class` in a Kafka image, with the class-data archive if that helps.

    `-Xshare:auto` makes a missing or unfit archive a slow start, not a failure. `flags` are more of the
    JVM's.
    """
    sharing = ("-Xshare:auto", f"-XX:SharedArchiveFile={ARCHIVE}") if archive else ("-Xshare:off",)
    all_flags = (*JVM_FLAGS, f"-Xmx{heap_mib}m", *sharing, *LOGGING_FLAGS, *CLOCK_FLAGS, *flags)
    return ("java", *all_flags, "-cp", CLASSPATH, main_class, *arguments)


def recipe(name: str) -> str:
    """Return the text of the recipe file `name`."""
    return files("compose.recipes").joinpath(name).read_text(encoding="utf-8")


def program(name: str) -> str:
    """Return the text of the program file `name`, which containers get when they are made."""
    return files("compose.recipes.programs").joinpath(name).read_text(encoding="utf-8")


def _hash(inputs: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in inputs:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:12]

"""The jars of a Kafka release: out of its published image, or from Maven packages; and which to leave out."""

from pathlib import Path

from compose.docker import images as docker_images
from compose.errors import CommandFailed, ImageUnavailable
from compose.host import shell
from compose.host.progress import OnLine
from compose.setup import debian
from compose.spec import images

JARS_IN_IMAGE = "/opt/kafka/libs"
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
MAVEN_TIMEOUT_S = 900
UNPACK_TIMEOUT_S = 120


def from_image(reference: str, work: Path) -> None:
    """Put the jars in the image `reference` into `work`/libs. Raises ImageUnavailable, CommandFailed."""
    archive = work / "libs.tar"
    docker_images.copy_out(reference, JARS_IN_IMAGE, archive)
    shell.run(["tar", "-C", str(work), "--no-same-owner", "-xf", str(archive)], timeout_s=UNPACK_TIMEOUT_S)
    archive.unlink()
    _expect_kafka_in(work / "libs", reference)


def from_maven(release: str, work: Path, on_line: OnLine) -> None:
    """Put the jars of `release`, and all they need, into `work`/libs. Raises MachineError."""
    debian.need("mvn", package="maven", on_line=on_line)
    pom = work / "pom.xml"
    pom.write_text(images.recipe("pom.xml"))
    try:
        _copy_dependencies(release, pom, work / "libs", on_line)
    except CommandFailed as error:
        raise ImageUnavailable(
            f"Kafka {release}: not to be had from Maven packages\n{error}\n"
            "    next step: is there such a release, and does the package registry answer?"
        ) from error
    _expect_kafka_in(work / "libs", f"Maven packages of {release}")


def _copy_dependencies(release: str, pom: Path, libs: Path, on_line: OnLine) -> None:
    shell.run_logged(
        [
            *("mvn", "--batch-mode", "--strict-checksums", "--file", str(pom), MAVEN_COPY),
            *("-DincludeScope=runtime", f"-Dkafka.release={release}", f"-DoutputDirectory={libs}"),
            *(["--activate-profiles", "log4j2"] if needs_log4j2_binding(release) else []),
        ],
        timeout_s=MAVEN_TIMEOUT_S,
        on_line=on_line,
    )


def needs_log4j2_binding(release: str) -> bool:
    """Whether the release logs with Log4j 2 (KIP-653, Kafka 4.0), to which its artifacts lack the binding."""
    return int(release.partition(".")[0]) >= 4


def leave_out_others(libs: Path) -> None:
    """Remove the jars in `libs` that no node loads."""
    for pattern in images.LEFT_OUT:
        for jar in libs.glob(f"{pattern}.jar"):
            jar.unlink()


def _expect_kafka_in(libs: Path, source: str) -> None:
    if not any(libs.glob("kafka_2.13-*.jar")):
        found = sorted(path.name for path in libs.glob("*"))[:5]
        raise ImageUnavailable(f"{source}: no kafka_2.13 jar among what came from there: {found}")

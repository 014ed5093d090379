"""Images made on this machine, from Debian, Maven and Go packages, where no container registry answers."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compose import debian, docker_images, images, shell
from compose.errors import ImageUnavailable
from compose.golang import go_with
from compose.progress import Say, timed

# Not the machine's /tmp: that may be small, in memory, or mounted so that no device file works below it.
WORK_DIR = Path("/var/tmp")
DEBOOTSTRAP_TIMEOUT_S = 900
TAR_TIMEOUT_S = 300
MAVEN_TIMEOUT_S = 900
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def build_base(say: Say) -> None:
    """Build the Debian with a JRE and the disk tools. Raises MachineError, CommandFailed."""
    if not debian.may_install():
        raise ImageUnavailable(
            "no container registry answers, and the base image can be built on Debian as root only\n"
            "    next step: run `make setup` as root on Debian, or where a container registry can be reached"
        )
    if shutil.which("debootstrap") is None:
        debian.install("debootstrap", why="what makes a Debian base image", say=say)
    with timed("base image from Debian packages", say), _work_dir() as work:
        root = work / "root"
        packages = ",".join((images.JRE_PACKAGE, *images.TOOL_PACKAGES))
        shell.run_logged(
            ["debootstrap", "--variant=minbase", f"--include={packages}", images.DEBIAN_SUITE, str(root)],
            timeout_s=DEBOOTSTRAP_TIMEOUT_S,
            say=say,
        )
        archive = work / "root.tar"
        leave_out = [
            f"--exclude=./{path}/*" for path in ("var/cache/apt", "var/lib/apt/lists", "proc", "sys", "dev")
        ]
        shell.run(["tar", "-C", str(root), *leave_out, "-cf", str(archive), "."], timeout_s=TAR_TIMEOUT_S)
        docker_images.import_root(archive, name=images.base_image(), kind="base")


def build_kafka(release: str, say: Say) -> None:
    """Build the image of `release` on our base image. Raises MachineError, CommandFailed."""
    with (
        timed(f"Kafka {release} from Maven packages, with a class-data archive", say),
        _work_dir() as context,
    ):
        copy_kafka_libs(release, context / "libs", say)
        add_kafka_layers(release, context, base=images.base_image(), say=say)


def copy_kafka_libs(release: str, libs: Path, say: Say) -> None:
    """Put the jars of `release`, and all they need, into the directory `libs`."""
    if shutil.which("mvn") is None:
        debian.install("maven", why="Maven", say=say)
    pom = libs.parent / "pom.xml"
    pom.write_text(images.recipe("pom.xml"))
    try:
        shell.run_logged(
            [
                *("mvn", "--batch-mode", "--strict-checksums", "--file", str(pom), MAVEN_COPY),
                *("-DincludeScope=runtime", f"-Dkafka.release={release}", f"-DoutputDirectory={libs}"),
                *(["--activate-profiles", "log4j2"] if needs_log4j2_binding(release) else []),
            ],
            timeout_s=MAVEN_TIMEOUT_S,
            say=say,
        )
    finally:
        pom.unlink()


def needs_log4j2_binding(release: str) -> bool:
    """Whether the release logs with Log4j 2 (KIP-653, Kafka 4.0), to which its artifacts lack the binding."""
    return int(release.partition(".")[0]) >= 4


def add_kafka_layers(release: str, context: Path, *, base: str, say: Say) -> None:
    """Build the image of `release` from the jars in `context`/libs (maybe none) on the image `base`."""
    (context / "libs").mkdir(exist_ok=True)
    for name in images.KAFKA_RECIPE:
        (context / name).write_text(images.recipe(name))
    said = docker_images.build(
        context,
        dockerfile="kafka.dockerfile",
        name=images.kafka_image(release),
        arguments={"base": base, "archive": images.ARCHIVE, "flags": " ".join(images.JVM_FLAGS)},
        kind="kafka",
    )
    for line in said:
        if line.startswith("highwater: "):
            say(line.removeprefix("highwater: "))


def build_toxiproxy(say: Say) -> None:
    """Build the proxy's image from its Go module. Raises MachineError, CommandFailed."""
    with timed(f"Toxiproxy {images.TOXIPROXY_VERSION} from its Go module", say), _work_dir() as context:
        go = go_with(context, say)
        module = "github.com/Shopify/toxiproxy/v2"
        shell.run_logged(
            [
                *(
                    str(go),
                    "install",
                    "-trimpath",
                    "-ldflags",
                    f"-s -w -X {module}.Version={images.TOXIPROXY_VERSION}",
                ),
                f"{module}/cmd/server@v{images.TOXIPROXY_VERSION}",
            ],
            timeout_s=600,
            say=say,
            env={"CGO_ENABLED": "0", "GOBIN": str(context)},
        )
        (context / "server").rename(context / "toxiproxy")
        (context / "Dockerfile").write_text(images.recipe("toxiproxy.dockerfile"))
        docker_images.build(
            context, dockerfile="Dockerfile", name=images.toxiproxy_image(), arguments={}, kind="toxiproxy"
        )


@contextmanager
def _work_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="highwater-", dir=WORK_DIR) as name:
        yield Path(name)

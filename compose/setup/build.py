"""How each image is made: from what a container registry has or, where none answers, from packages."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from compose.docker import images as docker_images
from compose.errors import ImageUnavailable
from compose.host import shell
from compose.host.progress import OnLine, timed
from compose.setup import debian, golang, kafka_libs
from compose.setup.registry import Registries
from compose.spec import images

# Not the machine's /tmp: that may be small, in memory, or mounted so that no device file works below it.
WORK_DIR = Path("/var/tmp")
DEBOOTSTRAP_TIMEOUT_S = 900
TAR_TIMEOUT_S = 300
GO_TIMEOUT_S = 900
TOXIPROXY_MODULE = "github.com/Shopify/toxiproxy/v2"
NOT_IN_THE_IMAGE = ("var/cache/apt", "var/lib/apt/lists", "var/log", "proc", "sys", "dev")


def build_base(registries: Registries, on_line: OnLine) -> None:
    """Make the Debian with a JRE and the disk tools. Raises MachineError, CommandFailed."""
    if registries.pull(images.published_debian()):
        try:
            return _base_on_published(on_line)
        except ImageUnavailable as error:
            # Containers may have no way to Debian's packages where the machine itself has one.
            on_line(f"{error}\ntrying debootstrap instead")
    return _base_by_debootstrap(on_line)


def build_toxiproxy(registries: Registries, on_line: OnLine) -> None:
    """Make the image of the proxies. Raises MachineError, CommandFailed."""
    published = images.published_toxiproxy()
    if registries.pull(published):
        docker_images.tag(published, images.toxiproxy_image())
        return
    with timed(f"Toxiproxy {images.TOXIPROXY_VERSION} from its Go module", on_line), _work_dir() as work:
        _compile_toxiproxy(work / "toxiproxy", on_line)
        _add_recipes(work, ("toxiproxy.dockerfile",))
        _build(work, "toxiproxy.dockerfile", images.toxiproxy_image(), {})


def build_kafka(release: str, registries: Registries, on_line: OnLine) -> None:
    """Make the image of nodes that run `release`, on the base image. Raises MachineError, CommandFailed."""
    with timed(f"Kafka {release} with a class-data archive", on_line), _work_dir() as work:
        _fetch_kafka_libs(release, work, registries, on_line)
        kafka_libs.leave_out_others(work / "libs")
        _add_recipes(work, images.KAFKA_RECIPE)
        flags = " ".join(images.JVM_FLAGS)
        arguments = {"base": images.base_image(), "archive": images.ARCHIVE, "flags": flags}
        output = _build(work, "kafka.dockerfile", images.kafka_image(release), arguments)
        for line in output:
            if line.startswith("highwater: "):
                on_line(line.removeprefix("highwater: "))


def _base_on_published(on_line: OnLine) -> None:
    with timed("base image from the published Debian", on_line), _work_dir() as work:
        _add_recipes(work, ("base.dockerfile",))
        packages = " ".join((images.JRE_PACKAGE, *images.TOOL_PACKAGES))
        arguments = {"base": images.published_debian(), "packages": packages}
        _build(work, "base.dockerfile", images.base_image(), arguments)


def _base_by_debootstrap(on_line: OnLine) -> None:
    if not debian.may_install():
        raise ImageUnavailable(
            "no container registry gives a base image, and building one takes root on Debian\n"
            "    next step: `highwater setup` as root on Debian, or where a container registry can be reached"
        )
    debian.need("debootstrap", package="debootstrap", on_line=on_line)
    with timed("base image from Debian packages", on_line), _work_dir() as work:
        root, archive = work / "root", work / "root.tar"
        include = "--include=" + ",".join((images.JRE_PACKAGE, *images.TOOL_PACKAGES))
        argv = ["debootstrap", "--variant=minbase", include, images.DEBIAN_SUITE, str(root)]
        shell.run_logged(argv, timeout_s=DEBOOTSTRAP_TIMEOUT_S, on_line=on_line)
        leave_out = [f"--exclude=./{path}/*" for path in NOT_IN_THE_IMAGE]
        shell.run(["tar", "-C", str(root), *leave_out, "-cf", str(archive), "."], timeout_s=TAR_TIMEOUT_S)
        docker_images.import_root(archive, images.base_image())


def _fetch_kafka_libs(release: str, work: Path, registries: Registries, on_line: OnLine) -> None:
    published = images.published_kafka(release)
    if registries.pull(published):
        try:
            return kafka_libs.from_image(published, work)
        except ImageUnavailable as error:
            on_line(f"{error}\ntrying Maven packages instead")
    return kafka_libs.from_maven(release, work, on_line)


def _compile_toxiproxy(binary: Path, on_line: OnLine) -> None:
    version = images.TOXIPROXY_VERSION
    with golang.usable_go(on_line) as go:
        shell.run_logged(
            [
                *(
                    str(go),
                    "install",
                    "-trimpath",
                    "-ldflags",
                    f"-s -w -X {TOXIPROXY_MODULE}.Version={version}",
                ),
                f"{TOXIPROXY_MODULE}/cmd/server@v{version}",
            ],
            timeout_s=GO_TIMEOUT_S,
            on_line=on_line,
            env={"CGO_ENABLED": "0", "GOBIN": str(binary.parent)},
        )
    # `go install` names a program after its directory.
    (binary.parent / "server").rename(binary)


def _add_recipes(context: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (context / name).write_text(images.recipe(name))


def _build(context: Path, dockerfile: str, name: str, arguments: Mapping[str, str]) -> tuple[str, ...]:
    return docker_images.build(context, dockerfile=dockerfile, name=name, arguments=arguments)


@contextmanager
def _work_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="highwater-", dir=WORK_DIR) as name:
        yield Path(name)

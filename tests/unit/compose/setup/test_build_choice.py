"""Each image is made from what a registry has, or from packages; one broken way leaves the other open."""

from pathlib import Path

import pytest

from compose.docker import images as docker_images
from compose.errors import ImageUnavailable
from compose.setup import build, debian, kafka_libs
from compose.spec import images


class Registry:
    """Pretends to hold some images."""

    def __init__(self, *held: str) -> None:
        self._held = held

    def pull(self, reference: str) -> bool:
        return reference in self._held


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ways that were taken, in order."""
    taken: list[str] = []
    monkeypatch.setattr(build, "_base_on_published", lambda on_line: taken.append("published Debian"))
    monkeypatch.setattr(build, "_base_by_debootstrap", lambda on_line: taken.append("debootstrap"))
    monkeypatch.setattr(build, "_compile_toxiproxy", lambda binary, on_line: taken.append("Go"))
    monkeypatch.setattr(kafka_libs, "from_image", lambda name, work: taken.append(f"jars of {name}"))
    monkeypatch.setattr(
        kafka_libs, "from_maven", lambda release, work, on_line: taken.append(f"Maven {release}")
    )
    monkeypatch.setattr(docker_images, "tag", lambda old, new: taken.append(f"tag {old}"))
    monkeypatch.setattr(docker_images, "build", lambda context, **_: ())
    return taken


def on_line(line: str) -> None:
    """Drop the line."""


def test_with_a_registry_nothing_is_compiled_here(ways):
    registry = Registry("debian:bookworm-slim", "apache/kafka:4.3.1", "ghcr.io/shopify/toxiproxy:2.12.0")
    build.build_base(registry, on_line)
    build.build_toxiproxy(registry, on_line)
    build.build_kafka("4.3.1", registry, on_line)
    assert ways == [
        "published Debian",
        "tag ghcr.io/shopify/toxiproxy:2.12.0",
        "jars of apache/kafka:4.3.1",
    ]


def test_without_a_registry_packages_are_enough(ways):
    build.build_base(Registry(), on_line)
    build.build_toxiproxy(Registry(), on_line)
    build.build_kafka("3.6.1", Registry(), on_line)
    assert ways == ["debootstrap", "Go", "Maven 3.6.1"]


def test_a_published_debian_that_cannot_install_packages_leaves_debootstrap(ways, monkeypatch):
    def fail(on_line: object) -> None:
        raise ImageUnavailable("apt-get update failed in the container")

    monkeypatch.setattr(build, "_base_on_published", fail)
    build.build_base(Registry("debian:bookworm-slim"), on_line)
    assert ways == ["debootstrap"]


def test_a_published_kafka_of_unknown_layout_leaves_maven(ways, monkeypatch):
    def fail(name: str, work: Path) -> None:
        raise ImageUnavailable(f"{name}: no kafka_2.13 jar")

    monkeypatch.setattr(kafka_libs, "from_image", fail)
    build.build_kafka("4.3.1", Registry("apache/kafka:4.3.1"), on_line)
    assert ways == ["Maven 4.3.1"]


def test_without_registry_and_without_root_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(debian, "may_install", lambda: False)
    with pytest.raises(ImageUnavailable, match="next step: `highwater setup` as root on Debian"):
        build.build_base(Registry(), on_line)


@pytest.mark.parametrize(
    ("release", "needed"), [("3.6.1", False), ("3.9.1", False), ("4.0.0", True), ("10.0.0", True)]
)
def test_releases_from_4_on_need_a_logging_binding(release, needed):
    assert kafka_libs.needs_log4j2_binding(release) is needed


def test_jars_without_kafka_among_them_are_refused(tmp_path):
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "slf4j-api-1.7.36.jar").touch()
    with pytest.raises(ImageUnavailable, match=r"no kafka_2.13 jar .*slf4j-api-1.7.36.jar"):
        kafka_libs._expect_kafka_in(tmp_path / "libs", "somewhere")


def test_jars_that_no_node_loads_are_left_out(tmp_path):
    needed = ("kafka_2.13-3.9.1", "kafka-tools-3.9.1", "jackson-module-scala_2.13-2.16.2", "jose4j-0.9.4")
    others = ("connect-runtime-3.9.1", "jetty-util-9.4.57", "javax.servlet-api-3.1.0", "rocksdbjni-7.9.2")
    for jar in (*needed, *others):
        (tmp_path / f"{jar}.jar").touch()
    kafka_libs.leave_out_others(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(needed)


def test_the_published_names_are_those_of_the_projects():
    assert images.published_kafka("4.3.1") == "apache/kafka:4.3.1"
    assert images.published_toxiproxy() == "ghcr.io/shopify/toxiproxy:2.12.0"
    assert images.published_debian() == "debian:bookworm-slim"

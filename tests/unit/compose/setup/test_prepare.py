"""Set-up makes what is missing, in building order, names what it cannot do, and is quick if all is there."""

from pathlib import Path

import pytest

from compose.docker import images as docker_images
from compose.errors import ImageUnavailable
from compose.host.java import Java
from compose.setup import build, engine, java, prepare
from compose.spec import images


@pytest.fixture
def present(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of the images that the pretended engine has; building adds to them."""
    names: set[str] = set()
    monkeypatch.setattr(docker_images, "exists", names.__contains__)
    monkeypatch.setattr(build, "build_base", lambda *_: names.add(images.base_image()))
    monkeypatch.setattr(build, "build_toxiproxy", lambda *_: names.add(images.toxiproxy_image()))
    monkeypatch.setattr(build, "build_kafka", lambda release, *_: names.add(images.kafka_image(release)))
    return names


def test_on_an_empty_engine_all_three_images_are_missing_base_first(present):
    assert prepare.missing_images() == (
        images.base_image(),
        images.toxiproxy_image(),
        images.kafka_image("4.3.1"),
    )


def test_images_that_are_missing_are_made(present):
    prepare.ensure_images(on_line=lambda line: None)
    assert prepare.missing_images() == ()


def test_another_release_is_made_on_demand_without_making_the_rest_again(present, monkeypatch):
    prepare.ensure_images(on_line=lambda line: None)
    monkeypatch.delattr(build, "build_base")
    monkeypatch.delattr(build, "build_toxiproxy")
    prepare.ensure_images("3.9.1", on_line=lambda line: None)
    assert images.kafka_image("3.9.1") in present


def test_nothing_is_built_and_no_registry_asked_if_all_is_there(present, monkeypatch):
    prepare.ensure_images(on_line=lambda line: None)
    monkeypatch.delattr(prepare, "Registries")
    prepare.ensure_images(on_line=lambda line: None)


def test_tests_without_docker_need_java_only(monkeypatch):
    lines: list[str] = []
    monkeypatch.setattr(java, "ensure_java", lambda on_line: Java(home=Path("/java")))
    monkeypatch.delattr(engine, "ensure_engine")
    prepare.prepare_machine(docker=False, on_line=lines.append)
    assert lines == ["ready: Java in /java"]


def test_an_image_that_cannot_be_made_ends_set_up_with_the_reason(present, monkeypatch):
    def fail(*_: object) -> None:
        raise ImageUnavailable("highwater/base: no space left on device")

    monkeypatch.setattr(java, "ensure_java", lambda on_line: Java(home=Path("/java")))
    monkeypatch.setattr(engine, "ensure_engine", lambda on_line: False)
    monkeypatch.setattr(build, "build_base", fail)
    with pytest.raises(ImageUnavailable, match="no space left on device"):
        prepare.prepare_machine(docker=True, on_line=lambda line: None)

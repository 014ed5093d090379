"""Where no container registry answers, set-up finds that out once, and goes on without."""

import pytest

from compose.docker import images as docker_images
from compose.errors import ImageUnavailable
from compose.setup import registry
from compose.setup.registry import Answer, Registries, registry_of


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("debian:bookworm-slim", ""),
        ("apache/kafka:4.3.1", ""),
        ("registry.example/shopify/toxiproxy:2.12.0", "registry.example"),
        ("localhost/kafka", "localhost"),
        ("mirror:5000/kafka:1", "mirror:5000"),
    ],
)
def test_the_registry_is_told_from_the_first_part_of_a_reference(reference, address):
    assert registry_of(reference) == address


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, Answer.HAS_IT),
        (404, Answer.LACKS_IT),
        (401, Answer.LACKS_IT),
        (403, Answer.LACKS_IT),
        (500, Answer.SILENT),
        (None, Answer.SILENT),
    ],
)
def test_what_a_registry_says_has_three_meanings(monkeypatch, status, answer):
    monkeypatch.setattr(docker_images, "registry_status", lambda reference: status)
    assert registry.ask("apache/kafka:4.3.1") is answer


class Recorder:
    """Pretends to be registries: what each answers, and what was asked and pulled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Answer]) -> None:
        self.asked: list[str] = []
        self.pulled: list[str] = []
        self._answers = answers
        monkeypatch.setattr(registry, "ask", self._ask)
        monkeypatch.setattr(docker_images, "pull", self.pulled.append)

    def _ask(self, reference: str) -> Answer:
        self.asked.append(reference)
        return self._answers[reference]


def test_an_image_that_a_registry_has_is_pulled(monkeypatch):
    recorder = Recorder(monkeypatch, {"debian:a": Answer.HAS_IT})
    assert Registries(lambda line: None).pull("debian:a") is True
    assert recorder.pulled == ["debian:a"]


def test_a_silent_registry_is_asked_once_and_others_still_are(monkeypatch):
    recorder = Recorder(monkeypatch, {"debian:a": Answer.SILENT, "other.example/b": Answer.HAS_IT})
    lines: list[str] = []
    registries = Registries(lines.append)
    assert [registries.pull(name) for name in ("debian:a", "apache/kafka:1", "other.example/b")] == [
        False,
        False,
        True,
    ]
    assert recorder.asked == ["debian:a", "other.example/b"]
    assert lines[0] == "the container registry does not answer (debian:a)"


def test_a_registry_that_lacks_one_image_is_asked_for_the_next(monkeypatch):
    recorder = Recorder(monkeypatch, {"apache/kafka:3.6.1": Answer.LACKS_IT, "debian:a": Answer.HAS_IT})
    registries = Registries(lambda line: None)
    assert [registries.pull("apache/kafka:3.6.1"), registries.pull("debian:a")] == [False, True]
    assert recorder.pulled == ["debian:a"]


def test_a_pull_that_fails_half_way_is_told_and_leaves_the_other_way_open(monkeypatch):
    Recorder(monkeypatch, {"debian:a": Answer.HAS_IT})

    def fail(reference: str) -> None:
        raise ImageUnavailable(f"{reference}: too many requests")

    monkeypatch.setattr(docker_images, "pull", fail)
    lines: list[str] = []
    assert Registries(lines.append).pull("debian:a") is False
    assert lines[-1] == "debian:a: too many requests"

"""What must be there before a cluster is started is named when it is not."""

import pytest

from compose.cluster import preflight
from compose.errors import ImageUnavailable, MachineError
from compose.spec.images import kafka_image, tools_image, toxiproxy_image
from compose.spec.topology import Topology


def test_images_of_every_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster of several releases needs the image of each."""
    present = {kafka_image("4.3.1"), toxiproxy_image(), tools_image()}
    monkeypatch.setattr(preflight.docker_images, "exists", present.__contains__)
    preflight.check_images(Topology())
    with pytest.raises(ImageUnavailable, match=f"the Docker Engine has no image {kafka_image('4.0.1')}\n"):
        preflight.check_images(Topology(kafka_by_node={2: "4.0.1"}))


def test_a_clock_is_tried_in_each_image_of_a_node_that_may_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """In no other, and nowhere if the run sets none."""
    tried: list[str] = []
    monkeypatch.setattr(preflight.clock_trial, "try_a_clock", tried.append)
    several = {2: "4.0.1", 3: "4.1.1"}
    preflight.check_clocks(Topology(kafka_by_node=several))
    assert tried == []
    preflight.check_clocks(Topology(kafka_by_node=several, clocks=(1, 2, 101)))
    assert tried == [kafka_image("4.3.1"), kafka_image("4.0.1")]


def test_a_clock_is_tried_in_the_images_that_nodes_get_later_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that is upgraded keeps the clock that it was given."""
    tried: list[str] = []
    monkeypatch.setattr(preflight.clock_trial, "try_a_clock", tried.append)
    preflight.check_clocks(Topology(kafka="4.0.1", later=("4.3.1",)))
    assert tried == []
    preflight.check_clocks(Topology(kafka="4.0.1", later=("4.3.1",), clocks=(1,)))
    assert tried == [kafka_image("4.0.1"), kafka_image("4.3.1")]


def test_an_image_in_which_no_clock_can_be_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(image: str) -> int:
        raise MachineError(f"{image}: a process whose clock was set 691200 s ahead shows a time 0 s ahead")

    monkeypatch.setattr(preflight.clock_trial, "try_a_clock", refuse)
    with pytest.raises(MachineError, match="shows a time 0 s ahead"):
        preflight.check_clocks(Topology(clocks=(1,)))

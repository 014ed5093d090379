"""What must be there before a cluster is started is named when it is not."""

import pytest

from compose.cluster import preflight
from compose.errors import ImageUnavailable
from compose.spec.images import kafka_image, tools_image, toxiproxy_image
from compose.spec.topology import Topology


def test_images_of_every_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster of several releases needs the image of each."""
    present = {kafka_image("4.3.1"), toxiproxy_image(), tools_image()}
    monkeypatch.setattr(preflight.docker_images, "exists", present.__contains__)
    preflight.check_images(Topology())
    with pytest.raises(ImageUnavailable, match=f"the Docker Engine has no image {kafka_image('4.0.1')}\n"):
        preflight.check_images(Topology(kafka_by_node={2: "4.0.1"}))

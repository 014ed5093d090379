"""What the engine is asked for when a container is started."""

import json

import pytest
from fakes.world.engine_server import EngineServer

from compose.docker import containers
from compose.docker.containers import ContainerSpec


@pytest.mark.parametrize("security", [(), ("seccomp=unconfined",)])
def test_a_disk_that_one_container_mounts_may_be_used_by_another_where_selinux_is(
    engine: EngineServer, security: tuple[str, ...]
) -> None:
    """SELinux would give each container a label of its own, and with it the files that it mounts."""
    engine.answers |= {
        "GET /images/highwater/kafka:1/json": {"Id": "i1"},
        "POST /containers/create": {"Id": "c1"},
        "GET /containers/c1/json": {"Id": "c1"},
        "POST /containers/c1/start": "",
    }
    spec = ContainerSpec(
        name="hw-1", image="highwater/kafka:1", command=["run"], labels={}, network="none", security=security
    )
    assert containers.start(spec).id == "c1"
    (asked,) = engine.of("POST /containers/create")
    assert json.loads(asked.body)["HostConfig"]["SecurityOpt"] == ["label=disable", *security]

"""The Docker SDK's client with a deadline for every call.

The SDK asks for events, pulls, builds and imports without any, whatever its client was made with, and takes
the deadline away from an archive that is read. An engine that stands still would then hold its caller for
good. Here a call, and each wait within an answer that comes in pieces, takes the client's time-out at most.
"""

from typing import Any

from docker import APIClient, DockerClient
from requests import Response


class _TimedApi(APIClient):
    def request(self, *args: Any, **kwargs: Any) -> Response:  # noqa: ANN401 - passed on
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.timeout
        return super().request(*args, **kwargs)

    def _disable_socket_timeout(self, socket: object) -> None:
        """The SDK's own takes away the deadline of an answer that comes in pieces."""


class TimedClient(DockerClient):
    """A client that waits for its engine `timeout` seconds at most; see `from_env`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - passed on
        self.api = _TimedApi(*args, **kwargs)

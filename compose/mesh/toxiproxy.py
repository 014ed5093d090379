"""The one module that touches toxiproxy-python: one server, with time-outs, and every change read back.

What the library lacks is made up for here. It keeps the server's address in a class, so one lock guards all
calls; its HTTP calls have no time-out and take most error codes for success, so they go through `_Http`;
and it believes what it sent, so each change is followed by a look at what the server has.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import requests
import toxiproxy
from toxiproxy import api, exceptions

from compose.errors import MeshError

# A change waits for the proxy's accept loop, which may be dialling a node that does not answer (SYN_RETRIES).
HTTP_TIMEOUT_S = 10.0
# How often the proxy's kernel repeats a connection attempt: once makes it give up after 3 s, not after two
# minutes.
SYN_RETRIES = "1"
BLACKHOLE: Final = {"blackhole_upstream": "upstream", "blackhole_downstream": "downstream"}
_LOCK = threading.RLock()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyState:
    """One proxy as the server has it: whether it listens, and the names of its toxics."""

    listen: str
    upstream: str
    enabled: bool
    toxics: frozenset[str]


class ToxiproxyServer:
    """The proxies of one Toxiproxy server, by name. Every method raises MeshError."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    def answers(self) -> bool:
        """Whether the server serves its API yet."""
        try:
            self.states()
        except MeshError:
            return False
        return True

    def create(self, proxies: Mapping[str, tuple[str, str]]) -> None:
        """Create open proxies from name to (listen, upstream), both as host:port."""
        wanted = [{"name": name, "listen": at, "upstream": to} for name, (at, to) in proxies.items()]
        with self._calling(f"creating {len(wanted)} proxies"):
            toxiproxy.Toxiproxy().populate(wanted)
        have = self.states()
        for name, (listen, upstream) in proxies.items():
            state = have.get(name)
            if state is None or not state.enabled or (state.listen, state.upstream) != (listen, upstream):
                raise MeshError(f"proxy {name}: created as {listen} to {upstream}; the server has {state}")

    def move(self, name: str, upstream: str) -> None:
        """Let `name` forward to another host:port from now on; it stays open or closed as it is."""
        with self._calling(f"moving proxy {name} to {upstream}"):
            api.APIConsumer.post(f"/proxies/{name}", json={"upstream": upstream})
        self._expect(name, lambda state: state.upstream == upstream, f"forwarding to {upstream}")

    def refuse(self, name: str) -> None:
        """Close every connection of `name` and refuse new ones."""
        with self._calling(f"disabling proxy {name}"):
            _proxy(name).disable()
        self._expect(name, lambda state: not state.enabled, "disabled")

    def blackhole(self, name: str) -> None:
        """Accept connections of `name` and pass no byte, in either direction, on new and on old ones."""
        with self._calling(f"blackholing proxy {name}"):
            proxy = _proxy(name)
            for toxic in BLACKHOLE.keys() - proxy.toxics().keys():
                stream = BLACKHOLE[toxic]
                proxy.add_toxic(name=toxic, type="timeout", stream=stream, attributes={"timeout": 0})
            # Only now: a proxy that opened first would let the first bytes through.
            proxy.enable()
        self._expect(name, lambda s: s.enabled and s.toxics == BLACKHOLE.keys(), "a black hole")

    def open(self, name: str) -> None:
        """Let `name` pass everything. Connections that were in a black hole are closed by this."""
        with self._calling(f"opening proxy {name}"):
            proxy = _proxy(name)
            for toxic in proxy.toxics():
                proxy.destroy_toxic(toxic)
            proxy.enable()
        self._expect(name, lambda state: state.enabled and not state.toxics, "open without toxics")

    def states(self) -> dict[str, ProxyState]:
        """Every proxy as the server has it now."""
        with self._calling("listing the proxies"):
            listed = api.APIConsumer.get("/proxies").json()
            return {name: _state(values) for name, values in listed.items()}

    def _expect(self, name: str, holds: Callable[[ProxyState], bool], wanted: str) -> None:
        with self._calling(f"reading proxy {name} back"):
            state = _state(api.APIConsumer.get(f"/proxies/{name}").json())
        if not holds(state):
            raise MeshError(f"proxy {name}: told to be {wanted}; the server has {state}")

    @contextmanager
    def _calling(self, what: str) -> Iterator[None]:
        where = f"Toxiproxy at {self._host}:{self._port}"
        with _LOCK:
            api.APIConsumer.host, api.APIConsumer.port = self._host, self._port
            try:
                yield
            except (exceptions.NotFound, exceptions.ProxyExists, exceptions.InvalidToxic) as error:
                raise MeshError(f"{what}: {where} refuses: {error}") from error
            except requests.RequestException as error:
                raise MeshError(f"{what}: {where} fails: {error}") from error
            except (KeyError, ValueError) as error:
                raise MeshError(f"{what}: {where} answers what nobody understands: {error!r}") from error


def _proxy(name: str) -> toxiproxy.Proxy:
    return toxiproxy.Proxy(**api.APIConsumer.get(f"/proxies/{name}").json())


def _state(values: Mapping[str, object]) -> ProxyState:
    toxics = values["toxics"]
    if not isinstance(toxics, list):
        raise ValueError(f"toxics: {toxics!r}")
    return ProxyState(
        listen=str(values["listen"]),
        upstream=str(values["upstream"]),
        enabled=values["enabled"] is True,
        toxics=frozenset(str(toxic["name"]) for toxic in toxics),
    )


class _Http:
    """Stands in for the `requests` module inside the library: a call has a deadline, and fails loudly."""

    def get(self, url: str, params: object = None) -> requests.Response:
        return self._checked(requests.get(url, params=params, timeout=HTTP_TIMEOUT_S))  # type: ignore[arg-type]

    def post(self, url: str, data: object = None, json: object = None) -> requests.Response:
        return self._checked(requests.post(url, data=data, json=json, timeout=HTTP_TIMEOUT_S))  # type: ignore[arg-type]

    def delete(self, url: str) -> requests.Response:
        return self._checked(requests.delete(url, timeout=HTTP_TIMEOUT_S))

    def _checked(self, response: requests.Response) -> requests.Response:
        if response.status_code >= 400 and response.status_code not in (400, 404, 409):
            response.raise_for_status()
        return response


api.requests = _Http()

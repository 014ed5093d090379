"""The one module that touches toxiproxy-python: one server, with time-outs, and every change read back.

The library keeps the server's address in a class, so each server gets a subclass of its own; its calls have
no time-out and take most error codes for success, which the subclass corrects; and it believes what it sent,
so each change is followed by a read of what the server has.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import requests
from toxiproxy import exceptions
from toxiproxy.api import APIConsumer

from compose.errors import MeshError

# A change waits for the proxy's accept loop, which may be dialling a node that does not answer (SYN_RETRIES).
HTTP_TIMEOUT_S = 10.0
# How often the proxy's kernel repeats a connection attempt: once makes it give up after 3 s, not after two
# minutes.
SYN_RETRIES = "1"
BLACKHOLE: Final = {"blackhole_upstream": "upstream", "blackhole_downstream": "downstream"}
SLOW: Final = "slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyState:
    """One proxy as the server has it: whether it listens, the names of its toxics, how late answers are."""

    listen: str
    upstream: str
    enabled: bool
    toxics: frozenset[str]
    delay_ms: int = 0
    jitter_ms: int = 0


class ToxiproxyServer:
    """The proxies of one Toxiproxy server, by name. Every method raises MeshError."""

    def __init__(self, host: str, port: int) -> None:
        self._where = f"Toxiproxy at {host}:{port}"
        self._api = _api(host, port)

    def answers(self) -> bool:
        """Whether the server serves its API yet."""
        try:
            self.states()
        except MeshError:
            return False
        return True

    def create(self, proxies: Mapping[str, tuple[str, str]]) -> None:
        """Create open proxies from name to (listen, upstream), both as host:port."""
        with self._calling(f"creating {len(proxies)} proxies"):
            for name, (listen, upstream) in proxies.items():
                self._api.post("/proxies", json={"name": name, "listen": listen, "upstream": upstream})
        have = self.states()
        for name, (listen, upstream) in proxies.items():
            state = have.get(name)
            if state is None or not state.enabled or (state.listen, state.upstream) != (listen, upstream):
                raise MeshError(f"proxy {name}: created as {listen} to {upstream}; the server has {state}")

    def move(self, name: str, upstream: str) -> None:
        """Let `name` forward to another host:port from now on; it stays open or closed as it is."""
        with self._calling(f"moving proxy {name} to {upstream}"):
            self._change(name, {"upstream": upstream})
        self._expect(name, lambda state: state.upstream == upstream, f"forwarding to {upstream}")

    def refuse(self, name: str) -> None:
        """Close every connection of `name` and refuse new ones."""
        with self._calling(f"disabling proxy {name}"):
            self._change(name, {"enabled": False})
        self._expect(name, lambda state: not state.enabled, "disabled")

    def blackhole(self, name: str) -> None:
        """Accept connections of `name` and pass no byte, in either direction, on new and on old ones."""
        with self._calling(f"blackholing proxy {name}"):
            before = self._state(name).toxics
            for toxic in BLACKHOLE.keys() - before:
                self._add_toxic(name, toxic, "timeout", BLACKHOLE[toxic], {"timeout": 0})
            for toxic in before - BLACKHOLE.keys():
                self._api.delete(f"/proxies/{name}/toxics/{toxic}")
            # Only now: a proxy that opened first would let the first bytes through.
            self._change(name, {"enabled": True})
        self._expect(name, lambda s: s.enabled and s.toxics == BLACKHOLE.keys(), "a black hole")

    def open(self, name: str) -> None:
        """Let `name` pass everything. Connections that were in a black hole are closed by this."""
        with self._calling(f"opening proxy {name}"):
            for toxic in self._state(name).toxics:
                self._api.delete(f"/proxies/{name}/toxics/{toxic}")
            self._change(name, {"enabled": True})
        self._expect(name, lambda state: state.enabled and not state.toxics, "open without toxics")

    def slow(self, name: str, *, delay_s: float, jitter_s: float) -> None:
        """Pass everything, but each byte of an answer late. Connections stay, unless from a black hole."""
        delay_ms, jitter_ms = round(1000 * delay_s), round(1000 * jitter_s)
        with self._calling(f"slowing proxy {name}"):
            for toxic in self._state(name).toxics:
                self._api.delete(f"/proxies/{name}/toxics/{toxic}")
            self._add_toxic(name, SLOW, "latency", "downstream", {"latency": delay_ms, "jitter": jitter_ms})
            self._change(name, {"enabled": True})
        wanted = (True, frozenset({SLOW}), delay_ms, jitter_ms)
        self._expect(
            name,
            lambda state: (state.enabled, state.toxics, state.delay_ms, state.jitter_ms) == wanted,
            f"slow by {delay_ms} ms, give or take {jitter_ms} ms",
        )

    def states(self) -> dict[str, ProxyState]:
        """Every proxy as the server has it now."""
        with self._calling("listing the proxies"):
            listed = self._api.get("/proxies").json()
            return {name: _state(values) for name, values in listed.items()}

    def _state(self, name: str) -> ProxyState:
        return _state(self._api.get(f"/proxies/{name}").json())

    def _change(self, name: str, values: Mapping[str, object]) -> None:
        self._api.post(f"/proxies/{name}", json=values)

    def _add_toxic(
        self, name: str, toxic: str, kind: str, stream: str, attributes: Mapping[str, int]
    ) -> None:
        values = {"name": toxic, "type": kind, "stream": stream, "toxicity": 1.0, "attributes": attributes}
        self._api.post(f"/proxies/{name}/toxics", json=values)

    def _expect(self, name: str, holds: Callable[[ProxyState], bool], wanted: str) -> None:
        with self._calling(f"reading proxy {name} back"):
            state = self._state(name)
        if not holds(state):
            raise MeshError(f"proxy {name}: should be {wanted}; the server has {state}")

    @contextmanager
    def _calling(self, what: str) -> Iterator[None]:
        try:
            yield
        except (exceptions.NotFound, exceptions.ProxyExists, exceptions.InvalidToxic) as error:
            raise MeshError(f"{what}: {self._where} refuses: {error}") from error
        except requests.RequestException as error:
            raise MeshError(f"{what}: {self._where} fails: {error}") from error
        except (KeyError, ValueError) as error:
            raise MeshError(f"{what}: {self._where} sends an answer of unknown form: {error!r}") from error


def _state(values: Mapping[str, object]) -> ProxyState:
    toxics = values["toxics"]
    if not isinstance(toxics, list):
        raise ValueError(f"toxics: {toxics!r}")
    slow: Mapping[str, int] = next((toxic["attributes"] for toxic in toxics if toxic["name"] == SLOW), {})
    return ProxyState(
        listen=str(values["listen"]),
        upstream=str(values["upstream"]),
        enabled=values["enabled"] is True,
        toxics=frozenset(str(toxic["name"]) for toxic in toxics),
        delay_ms=slow.get("latency", 0),
        jitter_ms=slow.get("jitter", 0),
    )


class _Api(APIConsumer):  # type: ignore[misc]
    """The library's client, whose calls have a deadline and raise for every status of an error."""

    @classmethod
    def get(cls, url: str, params: object = None) -> requests.Response:
        return _checked(super().get(url, params, timeout=HTTP_TIMEOUT_S))

    @classmethod
    def post(cls, url: str, data: object = None, json: object = None) -> requests.Response:
        return _checked(super().post(url, data, json, timeout=HTTP_TIMEOUT_S))

    @classmethod
    def delete(cls, url: str) -> requests.Response:
        return _checked(super().delete(url, timeout=HTTP_TIMEOUT_S))


def _api(host: str, port: int) -> type[_Api]:
    """The client of one server: the library reads the address from the class that is called."""
    return type("_ApiOfServer", (_Api,), {"host": host, "port": port})


def _checked(response: requests.Response) -> requests.Response:
    """`response`; raises for the error codes that the library lets pass."""
    response.raise_for_status()
    return response

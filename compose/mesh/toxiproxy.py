"""The one module that touches toxiproxy-python: one server, with time-outs, and every change read back.

The library keeps the server's address in a class, so each server gets a subclass of its own; its calls have
no time-out and take most error codes for success, which the subclass corrects; and it believes what it sent,
so each change is followed by a read of what the server has.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests
from toxiproxy import exceptions
from toxiproxy.api import APIConsumer

from compose.errors import MeshError
from compose.mesh.toxics import SWALLOWS, Setting, Toxic

# A change waits for the proxy's accept loop, which may be dialling a node that does not answer (SYN_RETRIES).
# It also waits, 5 s and mostly twice, for a connection that has just died to take what its toxics hold: seen
# where a proxy was opened again 10 ms after it had refused.
HTTP_TIMEOUT_S = 15.0
# How often the proxy's kernel repeats a connection attempt: once makes it give up after 3 s, not after two
# minutes.
SYN_RETRIES = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyState:
    """One proxy as the server has it: whether it listens, and its toxics by name."""

    listen: str
    upstream: str
    enabled: bool
    toxics: Mapping[str, Toxic] = field(default_factory=dict)


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

    def bring(self, name: str, setting: Setting) -> None:
        """Bring `name` to this state, whatever state it is in; what is right already stays untouched.

        Connections stay, unless from one that refused or swallowed, or to one that refuses. A proxy that
        refuses keeps its toxics until it listens again: then it has no connection that a change waits for.
        """
        if not setting.enabled:
            with self._calling(f"disabling proxy {name}"):
                self._change(name, {"enabled": False})
            self._expect(name, lambda state: not state.enabled, str(setting))
            return
        with self._calling(f"bringing proxy {name} to be {setting}"):
            state = self._state(name)
            self._bring_toxics(name, state.toxics, setting.toxics)
            if not state.enabled:
                # Last: a proxy that listened first would let the first bytes through.
                self._change(name, {"enabled": True})
        self._expect(name, lambda state: state.enabled and state.toxics == setting.toxics, str(setting))

    def _bring_toxics(self, name: str, have: Mapping[str, Toxic], wanted: Mapping[str, Toxic]) -> None:
        """Add what swallows first, so that nothing passes meanwhile; take away; then change and add the rest.

        Nothing else is added before others are taken away: behind one that closes a connection, those in
        front of it would wait for ever, and Toxiproxy's change of them too.
        """
        swallowing = [each for each in wanted if wanted[each].type == SWALLOWS and each not in have]
        for each in swallowing:
            self._add_toxic(name, wanted[each])
        staying = _staying(have, wanted)
        for each in have:
            if each not in staying:
                self._api.delete(f"/proxies/{name}/toxics/{each}")
        for each in staying:
            if have[each] != wanted[each]:
                values = {"attributes": wanted[each].attributes, "toxicity": wanted[each].toxicity}
                self._api.post(f"/proxies/{name}/toxics/{each}", json=values)
        for each in wanted:
            if each not in staying and each not in swallowing:
                self._add_toxic(name, wanted[each])

    def states(self) -> dict[str, ProxyState]:
        """Every proxy as the server has it now."""
        with self._calling("listing the proxies"):
            listed = self._api.get("/proxies").json()
            return {name: _state(values) for name, values in listed.items()}

    def _state(self, name: str) -> ProxyState:
        return _state(self._api.get(f"/proxies/{name}").json())

    def _change(self, name: str, values: Mapping[str, object]) -> None:
        self._api.post(f"/proxies/{name}", json=values)

    def _add_toxic(self, name: str, toxic: Toxic) -> None:
        values = {
            "name": toxic.name,
            "type": toxic.type,
            "stream": toxic.stream,
            "toxicity": toxic.toxicity,
            "attributes": toxic.attributes,
        }
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


def _staying(have: Mapping[str, Toxic], wanted: Mapping[str, Toxic]) -> list[str]:
    """The toxics that can stay where they are: a new one is added last, so those behind it go and return."""
    staying: list[str] = []
    extended = set[str]()
    for name, toxic in wanted.items():
        if name not in have:
            extended.add(toxic.stream)
        elif toxic.stream not in extended:
            staying.append(name)
    return staying


def _state(values: Mapping[str, object]) -> ProxyState:
    toxics = values["toxics"]
    if not isinstance(toxics, list):
        raise ValueError(f"toxics: {toxics!r}")
    return ProxyState(
        listen=str(values["listen"]),
        upstream=str(values["upstream"]),
        enabled=values["enabled"] is True,
        toxics={str(toxic["name"]): _toxic(toxic) for toxic in toxics},
    )


def _toxic(values: Mapping[str, Any]) -> Toxic:
    return Toxic(
        type=str(values["type"]),
        stream=str(values["stream"]),
        attributes=dict(values["attributes"]),
        toxicity=float(values["toxicity"]),
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

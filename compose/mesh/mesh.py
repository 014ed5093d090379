"""The live mesh: who holds which edge, and how, and the state that its proxies are therefore in."""

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from compose.errors import MeshError
from compose.impairments import BOTH, Direction, Impairment, Refused, Swallowed, leaves_answers
from compose.mesh.probe import EdgeProbe
from compose.mesh.toxics import Setting, setting_of
from compose.mesh.toxiproxy import ProxyState
from compose.mesh.traffic import Traffic
from compose.protocols import CutMode, Edge, Reached, RoundTrip, Transfer
from compose.spec.mesh_plan import Proxy


class ProxyServer(Protocol):
    """What the mesh needs of Toxiproxy."""

    def bring(self, name: str, setting: Setting) -> None:
        """Bring a proxy to this state, whatever state it is in."""

    def move(self, name: str, upstream: str) -> None:
        """Forward to another address."""

    def states(self) -> Mapping[str, ProxyState]:
        """Every proxy as the server has it now."""


class ToxiproxyMesh:
    """Implements `compose.protocols.Mesh`. Safe to use from several threads.

    Several faults may hold one edge, each in one way. Its proxies are in the one state in which they do all
    of that (toxics.py), and open when nobody holds it.
    """

    def __init__(
        self, proxies: Iterable[Proxy], server: ProxyServer, traffic: Traffic, edge_probe: EdgeProbe
    ) -> None:
        self._proxies: dict[Edge, list[Proxy]] = {}
        for proxy in proxies:
            self._proxies.setdefault(proxy.edge, []).append(proxy)
        self._server, self._traffic, self._edge_probe = server, traffic, edge_probe
        self._held: dict[Edge, dict[str, Impairment]] = {edge: {} for edge in self._proxies}
        # What an edge's proxies were last brought to; no entry while that is uncertain, as after an error.
        self._applied: dict[Edge, Setting] = dict.fromkeys(self._proxies, Setting())
        self._lock = threading.Lock()
        # A proxy that takes long to change delays no other edge.
        self._changing = {edge: threading.Lock() for edge in self._proxies}

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of the topology."""
        return tuple(self._proxies)

    def cut(
        self,
        edges: Iterable[Edge],
        *,
        mode: CutMode,
        owner: str,
        directions: tuple[Direction, ...] = BOTH,
    ) -> None:
        """Hold `edges` cut for `owner`, instead of how it held them before. Raises MeshError."""
        self.impair(edges, Refused() if mode == "refuse" else Swallowed(directions=directions), owner=owner)

    def impair(self, edges: Iterable[Edge], impairment: Impairment, *, owner: str) -> None:
        """Hold `edges` so for `owner`, instead of how it held them before. Raises MeshError."""
        for edge in self._known(edges):
            with self._lock:
                self._held[edge][owner] = impairment
            self._apply(edge)

    def mend(self, edges: Iterable[Edge], *, owner: str) -> None:
        """Let go of `edges` for `owner`; of all of them even if one fails. Raises MeshError."""
        known = self._known(edges)
        with self._lock:
            for edge in known:
                self._held[edge].pop(owner, None)
        self._apply_all(known)

    def mend_all(self) -> None:
        """Open every edge, whoever holds it, also where that seems to be so already. Raises MeshError."""
        with self._lock:
            for held in self._held.values():
                held.clear()
        self._apply_all(self._proxies, even_if_applied=True)

    def is_cut(self, edge: Edge) -> bool:
        """Whether any owner holds `edge` so that no request over it is answered."""
        (known,) = self._known([edge])
        with self._lock:
            return not all(leaves_answers(each) for each in self._held[known].values())

    def bytes(self) -> Mapping[Edge, int]:
        """Bytes of answers that came back over each edge, in the order of `edges`; see traffic.py."""
        return self._traffic.bytes()

    def probe(self, edges: Collection[Edge], *, within_s: float) -> frozenset[Edge]:
        """Those of `edges` through which a Kafka request was answered in time; see probe.py."""
        return self._edge_probe.probe(self._known(edges), within_s=within_s)

    def round_trips(self, edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, RoundTrip]:
        """A Kafka request through each of `edges` and past it, if both were answered; see probe.py."""
        return self._edge_probe.round_trips(self._known(edges), within_s=within_s)

    def reached(self, edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, Reached]:
        """How far one Kafka request came through each of `edges` in time; see probe.py."""
        return self._edge_probe.reached(self._known(edges), within_s=within_s)

    def transfers(
        self, edges: Collection[Edge], size_bytes: int, *, within_s: float
    ) -> Mapping[Edge, Transfer]:
        """A large Kafka request through each of `edges` and past it, if both were answered; see probe.py."""
        return self._edge_probe.transfers(self._known(edges), size_bytes, within_s=within_s)

    def disturbed(self) -> Mapping[Edge, str]:
        """Edges that are not simply open, by the proxy server's own word or by an owner. Raises MeshError."""
        states = self._server.states()
        with self._lock:
            return {
                edge: wrong
                for edge, proxies in self._proxies.items()
                if (wrong := self._disturbance(edge, [states.get(proxy.name) for proxy in proxies]))
            }

    def _disturbance(self, edge: Edge, states: Sequence[ProxyState | None]) -> str:
        if owners := self._held[edge]:
            return f"held by {', '.join(owners)}"
        if None in states:
            return "its proxy is gone"
        known = [state for state in states if state is not None]
        if not all(state.enabled for state in known):
            return "its proxy is disabled"
        toxics = {toxic for state in known for toxic in state.toxics}
        return f"its proxy has {', '.join(sorted(toxics))}" if toxics else ""

    def moved(self, node: int, address: str) -> None:
        """Let every edge to `node` lead to its new `address`."""
        self._edge_probe.moved(node, address)
        for edge, proxies in self._proxies.items():
            if edge.target == node:
                with self._changing[edge]:
                    for proxy in proxies:
                        self._server.move(proxy.name, f"{address}:{proxy.upstream_port}")

    def _known(self, edges: Iterable[Edge]) -> list[Edge]:
        listed = list(edges)
        for edge in listed:
            if edge not in self._proxies:
                raise MeshError(f"no edge {edge} in this cluster; it has {', '.join(map(str, self.edges))}")
        return listed

    def _apply_all(self, edges: Iterable[Edge], *, even_if_applied: bool = False) -> None:
        failed: list[str] = []
        for edge in edges:
            try:
                self._apply(edge, even_if_applied=even_if_applied)
            except MeshError as error:
                failed.append(str(error))
        if failed:
            raise MeshError("; ".join(failed))

    def _apply(self, edge: Edge, *, even_if_applied: bool = False) -> None:
        """Bring the proxies of an edge to what its owners want; whoever comes last knows of all of them."""
        with self._changing[edge]:
            with self._lock:
                wanted = setting_of(self._held[edge].values())
            if self._applied.get(edge) == wanted and not even_if_applied:
                return
            self._applied.pop(edge, None)
            for proxy in self._proxies[edge]:
                self._server.bring(proxy.name, wanted)
            self._applied[edge] = wanted

"""The live mesh: who holds which edge cut, and the state that its proxies are therefore in."""

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from compose.errors import MeshError
from compose.mesh.probe import EdgeProbe
from compose.mesh.toxiproxy import ProxyState
from compose.mesh.traffic import Traffic
from compose.protocols import CutMode, Edge
from compose.spec.mesh_plan import Proxy


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How late the answers over an edge are: by `delay_s`, give or take `jitter_s`."""

    delay_s: float
    jitter_s: float


class ProxyServer(Protocol):
    """What the mesh needs of Toxiproxy."""

    def refuse(self, name: str) -> None:
        """Close and refuse connections."""

    def blackhole(self, name: str) -> None:
        """Accept connections and swallow their bytes."""

    def open(self, name: str) -> None:
        """Let everything pass."""

    def slow(self, name: str, *, delay_s: float, jitter_s: float) -> None:
        """Let everything pass, the answers late."""

    def move(self, name: str, upstream: str) -> None:
        """Forward to another address."""

    def states(self) -> Mapping[str, ProxyState]:
        """Every proxy as the server has it now."""


class ToxiproxyMesh:
    """Implements `compose.protocols.Mesh`. Safe to use from several threads.

    Several faults may hold one edge. It is open when none does; else it refuses if any of them wants that,
    since a refused edge passes nothing either; else it is a black hole. An edge that is not cut is as slow as
    the delays of all its holders together.
    """

    def __init__(
        self, proxies: Iterable[Proxy], server: ProxyServer, traffic: Traffic, edge_probe: EdgeProbe
    ) -> None:
        self._proxies: dict[Edge, list[Proxy]] = {}
        for proxy in proxies:
            self._proxies.setdefault(proxy.edge, []).append(proxy)
        self._server, self._traffic, self._edge_probe = server, traffic, edge_probe
        self._owners: dict[Edge, dict[str, CutMode]] = {edge: {} for edge in self._proxies}
        self._delays: dict[Edge, dict[str, Delay]] = {edge: {} for edge in self._proxies}
        # What the proxies of an edge were last set to; no entry while that is uncertain, as after an error.
        self._applied: dict[Edge, CutMode | Delay | None] = dict.fromkeys(self._proxies)
        self._lock = threading.RLock()

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of the topology."""
        return tuple(self._proxies)

    def cut(self, edges: Iterable[Edge], *, mode: CutMode, owner: str) -> None:
        """Hold `edges` cut for `owner`, instead of how it held them before. Raises MeshError."""
        with self._lock:
            for edge in self._known(edges):
                self._owners[edge][owner] = mode
                self._apply(edge)

    def slow(self, edges: Iterable[Edge], *, delay_s: float, jitter_s: float, owner: str) -> None:
        """Slow `edges` for `owner`, instead of how much it slowed them before. Raises MeshError."""
        with self._lock:
            for edge in self._known(edges):
                self._delays[edge][owner] = Delay(delay_s=delay_s, jitter_s=jitter_s)
                self._apply(edge)

    def mend(self, edges: Iterable[Edge], *, owner: str) -> None:
        """Let go of `edges` for `owner`; of all of them even if one fails. Raises MeshError."""
        with self._lock:
            known = self._known(edges)
            for edge in known:
                self._owners[edge].pop(owner, None)
                self._delays[edge].pop(owner, None)
            self._apply_all(known)

    def mend_all(self) -> None:
        """Open every edge, whoever holds it, also where that seems to be so already. Raises MeshError."""
        with self._lock:
            for edge in self._proxies:
                self._owners[edge].clear()
                self._delays[edge].clear()
            self._apply_all(self._proxies, even_if_applied=True)

    def is_cut(self, edge: Edge) -> bool:
        """Whether any owner holds `edge`."""
        with self._lock:
            return bool(self._owners[self._known([edge])[0]])

    def bytes(self) -> Mapping[Edge, int]:
        """Bytes of answers that came back over each edge, in the order of `edges`; see traffic.py."""
        return self._traffic.bytes()

    def probe(self, edges: Collection[Edge], *, within_s: float) -> frozenset[Edge]:
        """Those of `edges` through which a Kafka request was answered in time; see probe.py."""
        return self._edge_probe.probe(self._known(edges), within_s=within_s)

    def round_trips(self, edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, float]:
        """Seconds to the answer of a Kafka request, by edge, if one came in time; see probe.py."""
        return self._edge_probe.round_trips(self._known(edges), within_s=within_s)

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
        if owners := (*self._owners[edge], *self._delays[edge]):
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
        with self._lock:
            for edge, proxies in self._proxies.items():
                if edge.target == node:
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
        wanted = self._wanted(edge)
        if self._applied.get(edge, "unknown") == wanted and not even_if_applied:
            return
        self._applied.pop(edge, None)
        for proxy in self._proxies[edge]:
            self._change(proxy.name, wanted)
        self._applied[edge] = wanted

    def _wanted(self, edge: Edge) -> CutMode | Delay | None:
        modes, delays = self._owners[edge].values(), self._delays[edge].values()
        if modes:
            return "refuse" if "refuse" in modes else "blackhole"
        if delays:
            return Delay(
                delay_s=sum(each.delay_s for each in delays), jitter_s=sum(each.jitter_s for each in delays)
            )
        return None

    def _change(self, name: str, wanted: CutMode | Delay | None) -> None:
        match wanted:
            case "refuse":
                self._server.refuse(name)
            case "blackhole":
                self._server.blackhole(name)
            case Delay(delay_s=delay_s, jitter_s=jitter_s):
                self._server.slow(name, delay_s=delay_s, jitter_s=jitter_s)
            case None:
                self._server.open(name)

"""Nodes that are up, paused or down, and the directed edges between them.

An edge is the direction in which connections are opened: requests and answers of a connection both need it.
A cut that refuses closes connections; one that swallows bytes lets requests hang, and closes the connections
when it heals. It may swallow requests alone, or answers alone: then what was on its way in the other
direction arrives, and nobody opens a new connection, which takes both.
What arrives at a paused node waits until it goes on; what arrives at an ended process is gone.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from checkers.model.case import BOTH, Direction
from checkers.model.kafka.event_loop import Callback, EventLoop

Edge = tuple[str, str]
SHORTEST_S, LONGEST_S = 0.0004, 0.004
"""How long a message is on its way."""
APART_S = 0.0002
"""Between two messages that waited at a paused node."""


class Node:
    """A process; `incarnation` rises with each end, so that nothing reaches the one after it.

    `serving`: it takes requests; a broker does once it has been unfenced for the first time. `caught_up_s`:
    when it has done, or had, what waited while it was paused; until then what arrives comes after that.
    """

    __slots__ = ("backlog", "caught_up_s", "incarnation", "name", "paused", "serving", "up")

    def __init__(self, name: str) -> None:
        self.name, self.up, self.paused, self.serving, self.incarnation = name, True, False, True, 0
        self.backlog: list[tuple[Callback, tuple[Any, ...]]] = []
        self.caught_up_s = float("-inf")

    @property
    def running(self) -> bool:
        """Whether it does anything."""
        return self.up and not self.paused


class Link:
    """An edge: how often it is cut, and how often for requests and for answers; how late its answers are,
    and which of its connections is the present one. `asked_s` and `answered_s` are when the last message in
    each direction arrives: none overtakes it.
    """

    __slots__ = (
        *("begin", "connection", "cuts", "cuts_from", "cuts_to", "end"),
        *("answered_s", "asked_s", "delay_s"),
    )

    def __init__(self, begin: Node, end: Node) -> None:
        self.begin, self.end = begin, end
        self.cuts, self.cuts_to, self.cuts_from, self.connection = 0, 0, 0, 0
        self.delay_s = self.asked_s = self.answered_s = 0.0


class Network:
    """All nodes and edges. Listeners are called when connections are lost, or can be opened."""

    def __init__(self, loop: EventLoop, rng: Random) -> None:
        self._loop, self._rng = loop, rng
        self.nodes: dict[str, Node] = {}
        self._links: dict[Edge, Link] = {}
        self.changes = 0
        """How often an edge or a node has changed: what is reachable stays so as long as it does."""
        self._listeners: list[Callable[[Edge, bool], None]] = []

    def listen(self, changed: Callable[[Edge, bool], None]) -> None:
        """Call `changed(edge, usable)` when connections over an edge are lost or can be opened again."""
        self._listeners.append(changed)

    def _link(self, edge: Edge) -> Link:
        link = self._links.get(edge)
        if link is None:
            link = self._links[edge] = Link(self.nodes[edge[0]], self.nodes[edge[1]])
        return link

    def usable(self, edge: Edge) -> bool:
        """Whether a connection over the edge can be opened: no cut, and the process at its end is there."""
        link = self._links.get(edge) or self._link(edge)
        return not link.cuts and link.end.serving

    def answers(self, edge: Edge) -> bool:
        """Whether a request over the edge is answered at once."""
        link = self._links.get(edge) or self._link(edge)
        node = link.end
        return not link.cuts and node.serving and not node.paused

    def request(self, edge: Edge, callback: Callback, *arguments: Any) -> None:  # noqa: ANN401
        """Deliver a request to the node at the end of the edge; it may get lost."""
        link = self._links.get(edge) or self._link(edge)
        if link.cuts_to:
            return
        at_s = self._loop.now_s + SHORTEST_S + self._rng.random() * (LONGEST_S - SHORTEST_S)
        at_s = link.asked_s = max(at_s, link.asked_s)
        node = link.end
        self._loop.at(at_s, self._arrive, link, link.connection, node, node.incarnation, callback, arguments)

    def answer(self, edge: Edge, callback: Callback, *arguments: Any) -> None:  # noqa: ANN401
        """Deliver an answer to the node at the begin of the edge; it may get lost."""
        link = self._links.get(edge) or self._link(edge)
        if link.cuts_from:
            return
        at_s = self._loop.now_s + link.delay_s + SHORTEST_S + self._rng.random() * (LONGEST_S - SHORTEST_S)
        at_s = link.answered_s = max(at_s, link.answered_s)
        node = link.begin
        self._loop.at(at_s, self._arrive, link, link.connection, node, node.incarnation, callback, arguments)

    def _arrive(
        self,
        link: Link,
        connection: int,
        node: Node,
        incarnation: int,
        callback: Callback,
        arguments: tuple[Any, ...],
    ) -> None:
        if connection != link.connection or incarnation != node.incarnation:
            return
        if node.paused:
            node.backlog.append((callback, arguments))
        elif self._loop.now_s < node.caught_up_s:
            self._later(node, callback, arguments)
        else:
            callback(*arguments)

    def _later(self, node: Node, callback: Callback, arguments: tuple[Any, ...]) -> None:
        """Behind what waits at a node that has just gone on: nothing on a connection overtakes."""
        self._loop.at(node.caught_up_s, self._again, node, node.incarnation, callback, arguments)
        node.caught_up_s += APART_S

    def cut(self, edge: Edge, *, refuse: bool, directions: tuple[Direction, ...] = BOTH) -> None:
        """Cut an edge, or one direction of it; several cuts of one edge add up."""
        self.changes += 1
        link = self._link(edge)
        self._count(link, directions, 1)
        if len(directions) == len(BOTH):
            link.connection += 1
        if refuse:
            self._changed(edge)

    def heal(self, edge: Edge, directions: tuple[Direction, ...] = BOTH) -> None:
        """Take one such cut away; with the last one, old connections are closed."""
        self.changes += 1
        link = self._link(edge)
        self._count(link, directions, -1)
        if not link.cuts:
            link.connection += 1
            self._changed(edge)

    def _count(self, link: Link, directions: tuple[Direction, ...], by: int) -> None:
        link.cuts += by
        link.cuts_to += by * ("to" in directions)
        link.cuts_from += by * ("from" in directions)

    def delay(self, edge: Edge, by_s: float) -> None:
        """Answers over the edge take longer by `by_s`, or less if it is negative."""
        link = self._link(edge)
        link.delay_s = max(0.0, link.delay_s + by_s)

    def end(self, node: Node) -> None:
        """The process of a node ends: its connections are closed, in both directions."""
        self.changes += 1
        node.up, node.paused, node.serving = False, False, False
        node.backlog.clear()
        node.caught_up_s = float("-inf")
        node.incarnation += 1
        self._reconnect(node)

    def serve(self, node: Node) -> None:
        """A new process takes requests from now on."""
        self.changes += 1
        node.serving = True
        self._reconnect(node)

    def pause(self, node: Node) -> None:
        """A node stands still."""
        self.changes += 1
        node.paused = True

    def resume(self, node: Node) -> None:
        """A paused node goes on, first with what had arrived."""
        self.changes += 1
        node.paused = False
        backlog, node.backlog = node.backlog, []
        node.caught_up_s = self._loop.now_s
        for callback, arguments in backlog:
            self._later(node, callback, arguments)

    def _again(self, node: Node, incarnation: int, callback: Callback, arguments: tuple[Any, ...]) -> None:
        if incarnation == node.incarnation and node.paused:
            node.backlog.append((callback, arguments))
        elif incarnation == node.incarnation:
            callback(*arguments)

    def _reconnect(self, node: Node) -> None:
        edges = [
            edge
            for name in self.nodes
            if name != node.name
            for edge in ((name, node.name), (node.name, name))
        ]
        for edge in edges:
            self._link(edge).connection += 1
        for edge in edges:
            self._changed(edge)

    def _changed(self, edge: Edge) -> None:
        usable = self.usable(edge)
        for changed in self._listeners:
            changed(edge, usable)

"""A cluster that does not do what it is asked to: then no evidence may say that it did.

It stands before a real cluster, or before one of these fakes.
"""

from typing import Any


class Ignoring:
    """Stands for a cluster or a mesh, on which calls of these names return and change nothing."""

    def __init__(self, real: Any, *names: str) -> None:
        self._real, self._names = real, names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            return lambda *_, **__: None
        return getattr(self._real, name)

    @property
    def mesh(self) -> Any:
        """The mesh, on which the same calls change nothing."""
        return Ignoring(self._real.mesh, *self._names)

    @property
    def admin(self) -> Any:
        """Kafka's administration, on which the same calls change nothing."""
        return Ignoring(self._real.admin, *self._names)

"""The one link between this package and the harness: what the run may call, and by which names.

mcp._setup fills it in before the guest's code; every other module here asks current().
"""

from __future__ import annotations

from collections.abc import Mapping

from mcp._catalog import Catalog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Link(Protocol):
        """How the run reaches the host.

        Both requests raise MCPError for a refusal, TypeError or ValueError for what is not JSON.
        """

        async def request(self, method: str, params: Mapping[str, Any]) -> Any:
            """The host's answer."""

        def request_sync(self, method: str, params: Mapping[str, Any]) -> Any:
            """The host's answer, for code that cannot await."""

        def tell(self, frame: Mapping[str, Any]) -> bool:
            """Sends news that nobody answers; False, at once, where another sender is in the way."""
            ...

        def send(self, frame: Mapping[str, Any]) -> None:
            """The same for a frame that must not be lost: it waits."""

        @property
        def is_mine(self) -> bool:
            """False in a process that the run has forked: it must send nothing."""
            ...


class Binding:
    """The run that this process serves; `names` are those that its code finds bound, more of them with each server."""

    def __init__(self, link: Link, catalog: Catalog, names: dict[str, Any]) -> None:
        self.link = link
        self.catalog = catalog
        self.names = names


_binding: Binding | None = None


def current() -> Binding:
    """Raises RuntimeError outside a run."""
    if _binding is None:
        raise RuntimeError("the mcp package works only in code that run_python runs")
    return _binding


def set_current(binding: Binding) -> None:
    """Before the guest's code: once in a run, and in a session whenever a call has other servers."""
    global _binding
    _binding = binding

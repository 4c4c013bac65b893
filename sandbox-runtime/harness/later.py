"""Modules that are loaded by their first use instead of by their import.

asyncio imports ssl, and with it OpenSSL, which is a seventh of a waiting sandbox's memory and a fifth of asyncio's time
to load, and inspect with all that describes Python's code, a seventh of that time. Most programs use neither. Nothing
is written into asyncio: the import system finds the module as it always does, and puts it where it always does, but its
code is run when somebody asks for a name in it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The second one asks for names of the first while it is loaded.
OF_OPENSSL = ("ssl", "asyncio.sslproto")
OF_ASYNCIO = ("inspect", "locale")

_loading = RLock()


@contextmanager
def loaded_later() -> Generator[None]:
    """While it lasts, OF_ASYNCIO are imported without being loaded, and OF_OPENSSL where this Python has it."""
    has_openssl = "_ssl" in sys.builtin_module_names or PathFinder.find_spec("_ssl") is not None
    finder: Any = _Finder((*OF_ASYNCIO, *(OF_OPENSSL if has_openssl else ())))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec: Any = PathFinder.find_spec(name, path, target) if name in self._names else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Later(spec.loader)
        return spec


class _Later:
    """A loader. It has no base class: the module that has one loads as much as is saved here."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> None:
        """A plain module."""

    def exec_module(self, module: ModuleType) -> None:
        """Leaves that to the first use."""
        module.__class__ = _Unloaded


class _Unloaded(ModuleType):
    """Is asked for what the module has not yet, which is everything; becomes a plain module when it is loaded."""

    def __getattr__(self, name: str) -> Any:
        _load(self)
        return ModuleType.__getattribute__(self, name)

    def __dir__(self) -> Any:
        _load(self)
        return ModuleType.__dir__(self)


def _load(module: ModuleType) -> None:
    with _loading:
        spec = module.__spec__
        # Another thread may have loaded it meanwhile; or it asks for a name of its own, which it lacks yet.
        if spec is None or not isinstance(spec.loader, _Later):
            return
        later = spec.loader
        spec.loader = module.__loader__ = later.loader
        try:
            later.loader.exec_module(module)
            module.__class__ = ModuleType
        except BaseException:
            spec.loader = module.__loader__ = later
            raise

"""Environment variables for the guest's code, however long they are.

Linux refuses to start a program with one variable above 128 KiB. What comes near stays inside this process: os.environ
and os.getenv have it, copies of os.environ and subprocesses do not, and so every subprocess still starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from harness.wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_INHERITED_BYTES = 100 * 1024

_long: dict[str, str] = {}


# Private, but the class of os.environ in every CPython since 3.0.
class _Environment(os._Environ[str]):
    def __getitem__(self, key: str) -> str:
        return _long[key] if key in _long else super().__getitem__(key)

    def __setitem__(self, key: str, value: str) -> None:
        _long.pop(key, None)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        if _long.pop(key, None) is None:
            super().__delitem__(key)


def publish_servers(run: Mapping[str, Any]) -> None:
    """Sets MCP_AVAILABLE_SERVERS (the loaded ones, with tools) and MCP_DISCOVERED_SERVERS (names and descriptions)."""
    available = [
        {
            "name": server["name"],
            "alias": server["alias"],
            "tools": [
                {
                    "name": tool["name"],
                    "alias": tool["alias"],
                    "description": tool["description"],
                    "input_schema": tool["inputSchema"],
                }
                for tool in server["tools"]
            ],
        }
        for server in run["loaded"]
    ]
    set_variable("MCP_AVAILABLE_SERVERS", _text(available))
    discovered = {server["name"]: server["description"] for server in run["discovered"]}
    set_variable("MCP_DISCOVERED_SERVERS", _text(discovered))


def _text(value: Any) -> str:
    return encode(value).decode("ascii")[:-1]


def set_variable(name: str, value: str) -> None:
    """os.environ[name] = value, for a value of any length."""
    if len(value.encode("utf-8", "replace")) <= MAX_INHERITED_BYTES:
        os.environ[name] = value
        return
    _long[name] = value
    os.environ.__class__ = _Environment

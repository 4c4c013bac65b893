"""One tool call: arguments checked and sent, the answer unwrapped."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp._binding import current
from mcp._catalog import Tool
from mcp._errors import shown_tool
from mcp._values import attributed, unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


async def call(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """The tool's value; MCPError when it fails, TypeError when the arguments cannot be right."""
    tool.check(arguments)
    return unwrap(tool.server, tool.name, await _send(tool.server, tool.name, arguments))


async def call_raw(server: str, tool: str, arguments: Mapping[str, Any]) -> Any:
    """The whole CallToolResult, `isError` included; arguments are not checked."""
    return attributed(await _send(server, tool, arguments))


async def _send(server: str, tool: str, arguments: Mapping[str, Any]) -> Any:
    params = {"server": server, "tool": tool, "arguments": arguments}
    try:
        return await current().link.request("tools.call", params)
    except (TypeError, ValueError) as error:
        raise _unsendable(server, tool, arguments, error) from None


def _unsendable(server: str, tool: str, arguments: Mapping[str, Any], error: Exception) -> Exception:
    """The error again, with the argument at fault named where one alone is."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    for name, value in arguments.items():
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except RecursionError:
            break
        except (TypeError, ValueError) as reason:
            return kind(
                f"{shown_tool(server, tool)}: argument {name!r} cannot be sent as JSON: {_plain(value, reason)}"
            )
    return kind(f"{shown_tool(server, tool)}: {error}")


def _plain(value: object, reason: Exception) -> str:
    if isinstance(reason, ValueError) and "Out of range float" in str(reason):
        return "NaN and Infinity are not JSON; pass None or a text instead"
    if isinstance(reason, UnicodeEncodeError):
        return (
            f"it holds a lone surrogate, {reason.object[reason.start]!a}, which no other program reads;"
            " pass base64 of the bytes that it stands for, or text.encode('utf-8', 'replace').decode()"
        )
    if isinstance(value, (bytes, bytearray)):
        return "bytes are not JSON; pass base64.b64encode(data).decode()"
    return str(reason)

"""The agent's own MCP servers, from inside the sandbox.

`mcp.runtime` finds, documents and calls tools; `mcp.servers.<alias>` imports them; MCPError is what a failed call
raises. Relies on a link to the host that the harness binds, and never imports the harness.
"""

from __future__ import annotations

from mcp import runtime, servers
from mcp._errors import MCPError, UnknownServerError, UnknownToolError

__all__ = ["MCPError", "UnknownServerError", "UnknownToolError", "runtime", "servers"]

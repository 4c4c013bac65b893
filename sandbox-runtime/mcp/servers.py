"""`from mcp.servers.github import create_issue`: every loaded server is a module here, by alias or by name.

The modules are made on import by mcp._imports; this file only is the package that they belong to.
"""

from __future__ import annotations

__path__: list[str] = []

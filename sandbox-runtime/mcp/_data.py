"""The user's folders that the operator lets code see, with what lies in each of them."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

from mcp._values import AttrDict

VARIABLE = "MCP_DATA_FOLDERS"
# A folder may hold millions of files: whoever needs all of them walks through it.
MAX_ENTRIES = 10_000


def folders() -> list[AttrDict]:
    """One dict for each folder; `entries` and `bytes` are None where it cannot be read."""
    said = json.loads(os.environ.get(VARIABLE, "[]"))
    return [AttrDict({**folder, **_size(folder["path"])}) for folder in said]


def _size(path: str) -> dict[str, Any]:
    entries = total = 0
    try:
        with os.scandir(path) as found:
            for entry in found:
                if entries == MAX_ENTRIES:
                    return {"entries": entries, "bytes": total, "more": True}
                entries += 1
                about = entry.stat(follow_symlinks=False)
                total += about.st_size if stat.S_ISREG(about.st_mode) else 0
    except OSError:
        return {"entries": None, "bytes": None, "more": False}
    return {"entries": entries, "bytes": total, "more": False}

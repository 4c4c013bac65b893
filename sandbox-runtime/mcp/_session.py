"""What code is told of the session that it runs in, and what it asks of it. There is none in a run of its own."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

from mcp._values import AttrDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_facts: AttrDict | None = None
_started_at = 0.0
_goes_on = False


def begin(facts: Mapping[str, Any]) -> None:
    """Called by the harness before each call. `facts` are those of the `run` frame."""
    global _facts, _started_at
    _started_at = monotonic() - facts["ageSeconds"]
    _facts = AttrDict(facts)


def session() -> AttrDict | None:
    """Name, handle, number of this call, age and limits in seconds; None in a run of its own."""
    if _facts is None:
        return None
    return AttrDict({**_facts, "ageSeconds": round(monotonic() - _started_at, 3)})


def keep_running(on: bool) -> None:
    """Whether threads and tasks go on after a call. Raises RuntimeError without a session, or where it is off."""
    global _goes_on
    if _facts is None:
        raise RuntimeError(
            'keep_running() works only in a session: pass session="name" in the call of run_python'
        )
    if on and not _facts["keepRunning"]:
        raise RuntimeError(
            "keep_running(): the operator of this bridge has switched it off (MCP_BRIDGE_SESSION_KEEP_RUNNING); "
            "do the work within the call"
        )
    _goes_on = bool(on)


def keeps_running() -> bool:
    """As the code has last said."""
    return _goes_on

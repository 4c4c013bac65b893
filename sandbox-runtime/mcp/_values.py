"""What a tool answered, as Python: the structured value, the JSON in its text, or the text itself.

A dict can be read by attribute, an image or another blob is bytes with a media type. Loses nothing: who wants the
whole CallToolResult has runtime.call_tool_raw.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from mcp._errors import MCPError, did_you_mean


class AttrDict(dict[str, Any]):
    """A dict whose keys are attributes too. A key named like a dict method (`items`, `keys`) needs brackets."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            hint = did_you_mean(name, [key for key in self if isinstance(key, str)])
            raise AttributeError(f"no key {name!r} in this dict.{hint}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None


class Blob(bytes):
    """Bytes of an image, a sound or a file, with their `media_type`, and their `uri` where they are a resource."""

    media_type: str
    uri: str | None

    def __new__(cls, data: bytes, media_type: str = "application/octet-stream") -> Blob:
        """`media_type` as the tool named it."""
        blob = super().__new__(cls, data)
        blob.media_type = media_type
        blob.uri = None
        return blob

    def __repr__(self) -> str:
        return f"<Blob {self.media_type}, {len(self)} bytes>"


class PlainText(str):
    """A text to be read: as the last expression of a run it is shown as it is, and not as a string's repr()."""

    __slots__ = ()
    __repr__ = str.__str__


def attributed(value: Any) -> Any:
    """The same value with every dict in it readable by attribute."""
    if isinstance(value, dict):
        result = AttrDict()
        for key, member in value.items():
            result[key] = attributed(member) if isinstance(member, (dict, list)) else member
        return result
    if isinstance(value, list):
        items: list[Any] = []
        for member in value:
            items.append(attributed(member) if isinstance(member, (dict, list)) else member)
        return items
    return value


def unwrap(server: str, tool: str, result: Mapping[str, Any]) -> Any:
    """The value of a CallToolResult; raises MCPError where it says `isError`."""
    content = result.get("content")
    blocks: list[Any] = content if isinstance(content, list) else []
    if result.get("isError"):
        raise MCPError(server, tool, _texts(blocks) or "the tool failed without saying why")
    if result.get("structuredContent") is not None:
        return attributed(result["structuredContent"])
    values = [value_of(block) for block in blocks]
    return None if not values else values[0] if len(values) == 1 else values


def _texts(blocks: list[Any]) -> str:
    return "\n".join(
        block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)
    )


def value_of(block: Any, parse: bool = True) -> Any:
    """One content block: its data, its text (with `parse`, the JSON in it), or for what is neither, all of it."""
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return _from_text(block["text"]) if parse else block["text"]
    if kind in ("image", "audio"):
        return _blob(block.get("data"), block.get("mimeType"), block)
    resource = block.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        text = resource.get("text")
        if isinstance(text, str):
            return text
        value = _blob(resource.get("blob"), resource.get("mimeType"), block)
        if isinstance(value, Blob) and isinstance(resource.get("uri"), str):
            value.uri = resource["uri"]
        return value
    return attributed(block)


def _blob(data: Any, media_type: Any, block: dict[str, Any]) -> Any:
    try:
        decoded = base64.b64decode(data, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return attributed(block)
    return Blob(decoded, media_type if isinstance(media_type, str) else "application/octet-stream")


def _from_text(text: str) -> Any:
    # Most texts are prose; parsing them only to fail would cost more than this look at the first character.
    if text.lstrip()[:1] not in tuple('{["-0123456789tfn'):
        return text
    try:
        value = json.loads(text, object_hook=AttrDict, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text
    # A version "1.10" is no number: where a float would not print as it came, the text is what was meant.
    return text if isinstance(value, float) and repr(value) != text.strip() else value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")

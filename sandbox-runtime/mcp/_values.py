"""What a tool answered, as Python: the structured value, the JSON in its text, or the text itself.

A dict can be read by attribute, an image or another blob is bytes with a media type. Loses nothing: who wants the
whole CallToolResult has runtime.call_tool_raw.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping

from mcp._errors import MCPError, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ANY_TYPE = "application/octet-stream"
_MAX_SHOWN_CHARS = 300
# What may stand in a CallToolResult besides what the tool has to say.
_NO_VALUES = frozenset(("content", "structuredContent", "isError", "_meta", "resultType"))
_ADDRESS = re.compile(r"\s*data:([^,;]*)([^,]{0,200}),", re.IGNORECASE)
_URL_SAFE = {ord("-"): "+", ord("_"): "/"}


class AttrDict(dict[str, "Any"]):
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
    """The value of a CallToolResult; raises MCPError where it says `isError`, or says something that nobody can read.

    Content that is one text or one block, and no list of them, is read as such; where there is neither content nor
    structure, what stands in their place is the value.
    """
    content = result.get("content")
    blocks = _blocks(content)
    if result.get("isError"):
        raise MCPError(server, tool, _texts(blocks or []) or _said(result))
    if result.get("structuredContent") is not None:
        return attributed(result["structuredContent"])
    if blocks is None:
        said = _shown(content)
        raise MCPError(server, tool, f"the tool answered with content that MCP does not know: {said}")
    if content is None:
        others = {name: value for name, value in result.items() if name not in _NO_VALUES}
        return attributed(others) if others else None
    values = [value_of(block) for block in blocks]
    return None if not values else values[0] if len(values) == 1 else values


def _blocks(content: Any) -> list[Any] | None:
    """None for what is neither a list of blocks nor one of them."""
    if content is None:
        return []
    if isinstance(content, list):
        return content
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [content] if isinstance(content, dict) else None


def _texts(blocks: list[Any]) -> str:
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))


def _said(result: Mapping[str, Any]) -> str:
    """What a failed tool said otherwise than by texts."""
    said = {
        name: value
        for name, value in result.items()
        if name not in ("isError", "_meta", "resultType") and value
    }
    return _shown(said) if said else "the tool failed without saying why"


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
    named = media_type if isinstance(media_type, str) and media_type.strip() else None
    try:
        in_address, decoded = decoded_data(data)
    except (TypeError, ValueError, binascii.Error):
        return attributed(block)
    return Blob(decoded, named or in_address or _type_of_picture(decoded) or _ANY_TYPE)


def decoded_data(text: Any) -> tuple[str | None, bytes]:
    """The bytes, and their media type where it is said: base64 of any kind, with line breaks, or a `data:` address.

    Raises TypeError or ValueError for anything else.
    """
    if not isinstance(text, str):
        raise TypeError("no text")
    match = _ADDRESS.match(text)
    data = text[match.end() :] if match else text
    if match and "base64" not in match[2].lower():
        from urllib.parse import unquote_to_bytes

        return match[1].strip() or None, unquote_to_bytes(data.strip())
    if "%" in data:
        from urllib.parse import unquote

        data = unquote(data)
    plain = "".join(data.split()).translate(_URL_SAFE).rstrip("=")
    return (match[1].strip() or None) if match else None, base64.b64decode(
        plain + "=" * (-len(plain) % 4), validate=True
    )


def _type_of_picture(data: bytes) -> str | None:
    from mcp._picture_headers import header_of

    header = header_of(data)
    return None if header is None else f"image/{header.kind}"


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


def _shown(value: Any) -> str:
    # Loaded where there is something to show: most runs have nothing.
    from mcp._brief import cut

    return cut(json.dumps(value), _MAX_SHOWN_CHARS)

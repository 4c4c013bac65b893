"""Resources and prompts of loaded servers: what a server lists, and what it gives, as Python.

A text is a str and a blob is bytes, each with its `uri`; only several of them come as a list. Nothing is parsed: a text
that holds JSON is that text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from mcp._binding import current
from mcp._docs import Shown, capped, first_sentence
from mcp._errors import MCPError
from mcp._values import AttrDict, Blob, attributed, value_of

MORE = "read the list itself: it is a list of dicts"


class ResourceText(str):
    """A resource's text, with its `uri` and its `media_type`; a str to everything else."""

    uri: str | None
    media_type: str | None

    def __new__(cls, text: str, uri: str | None = None, media_type: str | None = None) -> ResourceText:
        """`media_type` as the server named it."""
        self = super().__new__(cls, text)
        self.uri = uri
        self.media_type = media_type
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


class Resources(list[AttrDict]):
    """What a server lists: dicts with `uri`, `name`, `title`, `description`, `mimeType`, `size`; most may be missing.

    `templates` has those whose URI is to be filled in (`uriTemplate`), `problems` what is missing here. Shown as lines.
    """

    def __init__(
        self, entries: Iterable[AttrDict], templates: Iterable[AttrDict] = (), problems: Iterable[str] = ()
    ) -> None:
        super().__init__(entries)
        self.templates = list(templates)
        self.problems = list(problems)

    def __repr__(self) -> str:
        lines = capped([repr(entry) for entry in self], MORE) or ["(no resources)"]
        if self.templates:
            lines += ["Templates, to be filled in:", *capped([repr(entry) for entry in self.templates], MORE)]
        return "\n".join(lines + [f"({problem})" for problem in self.problems])

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class Prompts(list[AttrDict]):
    """What a server lists: dicts with `name`, `title`, `description`, `arguments`. Shown as lines."""

    def __init__(self, entries: Iterable[AttrDict], problems: Iterable[str] = ()) -> None:
        super().__init__(entries)
        self.problems = list(problems)

    def __repr__(self) -> str:
        lines = capped([repr(entry) for entry in self], MORE) or ["(no prompts)"]
        return "\n".join(lines + [f"({problem})" for problem in self.problems])

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class Messages(list[AttrDict]):
    """A prompt of several messages: dicts with `role` and `content`, which is a str, bytes or a dict."""

    description: str | None = None


async def list_resources(server: str) -> Resources:
    """All pages of a loaded server's resources, with its templates."""
    name = current().catalog.server(server).name
    answer = await current().link.request("resources.list", {"server": name})
    return Resources(
        (_resource(entry, "uri") for entry in answer["resources"]),
        (_resource(entry, "uriTemplate") for entry in answer["templates"]),
        answer["problems"],
    )


async def read_resource(server: str, uri: str | Mapping[str, Any]) -> Any:
    """`uri` may be an entry of list_resources() or a link from a tool's answer."""
    name = current().catalog.server(server).name
    address = uri.get("uri") if isinstance(uri, Mapping) else uri
    if not isinstance(address, str):
        raise TypeError(
            f"uri is a {type(uri).__name__}; it must be a URI, or an entry of list_resources() with one"
        )
    answer = await current().link.request("resources.read", {"server": name, "uri": str(address)})
    contents = answer.get("contents")
    if isinstance(contents, dict):
        contents = [contents]
    if not isinstance(contents, list):
        _odd(name, f"Resource {address!r}", "E_RESOURCE_FAILED")
    values = [_content(content) for content in contents]
    return values[0] if len(values) == 1 else values


async def list_prompts(server: str) -> Prompts:
    """All pages of a loaded server's prompts."""
    name = current().catalog.server(server).name
    answer = await current().link.request("prompts.list", {"server": name})
    return Prompts((_prompt(entry) for entry in answer["prompts"]), answer["problems"])


async def get_prompt(server: str, prompt: str, arguments: Mapping[str, Any]) -> Any:
    """The text where the prompt is one text, else its messages."""
    name = current().catalog.server(server).name
    params = {"server": name, "prompt": str(prompt), "arguments": _texts(arguments)}
    answer = await current().link.request("prompts.get", params)
    raw = answer.get("messages")
    if isinstance(raw, dict):
        raw = [raw]
    if not isinstance(raw, list):
        _odd(name, f"Prompt {prompt!r}", "E_PROMPT_FAILED")
    messages = Messages(_message(message) for message in raw)
    description = answer.get("description")
    messages.description = description if isinstance(description, str) else None
    if len(messages) == 1 and isinstance(messages[0].get("content"), str):
        return messages[0]["content"]
    return messages


def _resource(entry: Mapping[str, Any], key: str) -> AttrDict:
    marks = [_in_line(entry["mimeType"])] if isinstance(entry.get("mimeType"), str) else []
    if isinstance(entry.get("size"), int):
        marks.append(f"{entry['size']} bytes")
    words = entry.get("description") or entry.get("title") or entry.get("name")
    sentence = first_sentence(words) if isinstance(words, str) else ""
    said = ", ".join([*marks, *([sentence] if sentence else [])])
    address = _in_line(str(entry[key]))
    return _shown(f"{address}  # {said}" if said else address, entry)


def _prompt(entry: Mapping[str, Any]) -> AttrDict:
    arguments = entry.get("arguments")
    names = [
        argument["name"] if argument.get("required") is True else f"{argument['name']}=..."
        for argument in (arguments if isinstance(arguments, list) else [])
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    words = entry.get("description") or entry.get("title")
    sentence = first_sentence(words) if isinstance(words, str) else ""
    line = _in_line(f"{entry['name']}({', '.join(names)})")
    return _shown(f"{line}  # {sentence}" if sentence else line, entry)


def _in_line(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _shown(line: str, entry: Mapping[str, Any]) -> AttrDict:
    shown = Shown(line)
    for key, value in entry.items():
        shown[key] = attributed(value)
    return shown


def _content(content: Any) -> Any:
    """One of ReadResourceResult's contents; what is neither text nor blob stays the dict that it is."""
    if not isinstance(content, dict):
        return content
    uri = content.get("uri") if isinstance(content.get("uri"), str) else None
    text = content.get("text")
    if isinstance(text, str):
        kind = content.get("mimeType")
        return ResourceText(text, uri, kind if isinstance(kind, str) else None)
    value = value_of({"type": "resource", "resource": content}, parse=False)
    if isinstance(value, Blob):
        value.uri = uri
        return value
    return attributed(content)


def _message(message: Any) -> AttrDict:
    if not isinstance(message, dict):
        return AttrDict(role=None, content=message)
    value = attributed(message)
    content = message.get("content")
    if isinstance(content, list):
        value["content"] = [value_of(block, parse=False) for block in content]
    else:
        value["content"] = value_of(content, parse=False)
    return value


def _texts(arguments: Mapping[str, Any]) -> dict[str, str]:
    """A prompt's arguments are texts; other plain values become their JSON, and None is left out."""
    texts: dict[str, str] = {}
    for name, value in arguments.items():
        if value is None:
            continue
        try:
            texts[str(name)] = str(value) if isinstance(value, str) else json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"argument {name!r} must be a text: {error}") from None
    return texts


def _odd(server: str, what: str, code: str) -> NoReturn:
    raise MCPError(server, None, f"{what} of server {server!r} came in a form that MCP does not know.", code)

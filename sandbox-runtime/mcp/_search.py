"""Finds tools by words, within the loaded servers and without asking the host.

Ranks as the host does (src/downstream/catalog/search.ts): BM25+ over weighted fields for each word of a question, as
MiniSearch reckons it, with the same tables.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mcp._catalog import Server, Tool
from mcp._search_tables import (
    ACTIONS,
    BM25,
    FIELD_BOOSTS,
    FUZZY_SHARE,
    FUZZY_WEIGHT,
    MAX_FIELD_CHARS,
    MAX_SERVER_CHARS,
    MAX_WORDS,
    MIN_FUZZY_CHARS,
    MIN_PREFIX_CHARS,
    NEAR_WEIGHT,
    NEAR_WORDS,
    OTHER_ACTION,
    PREFIX_WEIGHT,
    SHARE_POWER,
    STOP_WORDS,
    UNASKED_CHANGE,
    UNASKED_DELETION,
)
from mcp._words import canonical, plain_words, search_words

MAX_LEVEL = 4
# Edits that MiniSearch looks for at most.
MAX_EDITS = 6


class Entry(NamedTuple):
    """A tool as it is ranked."""

    tool: Tool
    actions: frozenset[str]


class Index:
    """The words of every tool by field, counted."""

    def __init__(self, servers: Iterable[Server]) -> None:
        self.entries: list[Entry] = []
        self._postings: dict[str, dict[str, dict[int, int]]] = {}
        self._lengths: dict[str, list[int]] = {field: [] for field in FIELD_BOOSTS}
        for server in servers:
            for tool in server.tools:
                self._add(_fields(server, tool), tool)
        count = len(self.entries)
        self._means = {field: sum(lengths) / count for field, lengths in self._lengths.items() if count}
        self._vocabulary = sorted(self._postings)

    def __contains__(self, word: str) -> bool:
        return word in self._postings

    def score(self, word: str, *, exact: bool = False) -> dict[int, float]:
        """What the word is worth to each tool; where it is not exact, also as a beginning or a typing error."""
        scores: dict[int, float] = {}
        self._weigh(word, 1.0, scores)
        if exact:
            return scores
        begun = set(self._begun_by(word)) if len(word) >= MIN_PREFIX_CHARS else set()
        for other in begun:
            further = len(other) - len(word)
            self._weigh(other, PREFIX_WEIGHT * len(other) / (len(other) + 0.3 * further), scores)
        if word not in self and len(word) >= MIN_FUZZY_CHARS:
            for other, edits in self._near_in_writing(word):
                if other not in begun:
                    self._weigh(other, FUZZY_WEIGHT * len(other) / (len(other) + edits), scores)
        return scores

    def _add(self, fields: Mapping[str, list[str]], tool: Tool) -> None:
        number = len(self.entries)
        for field, words in fields.items():
            counts = Counter(words)
            self._lengths[field].append(len(counts))
            for word, times in counts.items():
                self._postings.setdefault(word, {}).setdefault(field, {})[number] = times
        self.entries.append(Entry(tool, _actions(fields["name"])))

    def _weigh(self, word: str, weight: float, scores: dict[int, float]) -> None:
        k, b, d = BM25["k"], BM25["b"], BM25["d"]
        total = len(self.entries)
        for field, tools in self._postings.get(word, {}).items():
            rarity = math.log(1 + (total - len(tools) + 0.5) / (len(tools) + 0.5))
            lengths, mean = self._lengths[field], self._means[field]
            for number, times in tools.items():
                share = times * (k + 1) / (times + k * (1 - b + b * lengths[number] / mean))
                gain = weight * FIELD_BOOSTS[field] * rarity * (d + share)
                scores[number] = scores.get(number, 0.0) + gain

    def _begun_by(self, word: str) -> Iterator[str]:
        for at in range(bisect_left(self._vocabulary, word), len(self._vocabulary)):
            other = self._vocabulary[at]
            if not other.startswith(word):
                return
            if other != word:
                yield other

    def _near_in_writing(self, word: str) -> Iterator[tuple[str, int]]:
        allowed = min(MAX_EDITS, int(len(word) * FUZZY_SHARE + 0.5))
        for other in self._vocabulary:
            if abs(len(other) - len(word)) <= allowed:
                edits = _edits(word, other, allowed)
                if edits <= allowed:
                    yield other, edits


_latest: tuple[Sequence[Server], Index] | None = None


def search_tools(servers: Sequence[Server], query: str, limit: int) -> list[tuple[Tool, float]]:
    """The best tools with their scores, best first. The same list of servers is indexed once."""
    global _latest
    if _latest is None or _latest[0] is not servers:
        _latest = (servers, Index(servers))
    index = _latest[1]
    words = _words_of(query)
    scores: dict[int, float] = {}
    matches: Counter[int] = Counter()
    for at, word in enumerate(words):
        for number, score in _best_reading(word, _compounds(words, at, index), index).items():
            scores[number] = scores.get(number, 0.0) + score
            matches[number] += 1
    wanted = _actions([part for word in plain_words(query) for part in canonical(word)])
    ranked = []
    for number, total in scores.items():
        tool, does = index.entries[number]
        share = (matches[number] / len(words)) ** SHARE_POWER
        ranked.append((-total * share * _fit(does, wanted), number, tool))
    ranked.sort(key=lambda row: row[:2])
    return [(tool, -score) for score, _, tool in ranked[:limit]]


def _words_of(query: str) -> list[str]:
    every = search_words(query)
    telling = [word for word in every if word not in _STOPPED]
    return list(dict.fromkeys(telling or every))[:MAX_WORDS]


def _compounds(words: Sequence[str], at: int, index: Index) -> list[str]:
    """`screen shot` is `screenshot` where a tool has that."""
    word = words[at]
    before = words[at - 1] if at > 0 else ""
    after = words[at + 1] if at + 1 < len(words) else ""
    return [compound for compound in (before + word, word + after) if compound != word and compound in index]


def _best_reading(word: str, compounds: Iterable[str], index: Index) -> dict[int, float]:
    best = index.score(word)
    readings = [(index.score(compound, exact=True), 1.0) for compound in compounds]
    readings += [(index.score(near, exact=True), NEAR_WEIGHT) for near in _NEAR.get(word, ())]
    for scores, weight in readings:
        for number, score in scores.items():
            best[number] = max(best.get(number, 0.0), score * weight)
    return best


def _fields(server: Server, tool: Tool) -> dict[str, list[str]]:
    room = min(MAX_FIELD_CHARS, MAX_SERVER_CHARS // len(server.tools))
    properties = tool.input_schema.get("properties") if isinstance(tool.input_schema, dict) else None
    details: list[str] = []
    _collect(tool.input_schema, details, 0)
    return {
        "name": [*search_words(tool.name[:room], names=True), *_joined(tool.name)],
        "description": search_words(tool.description[:room]),
        "parameters": search_words(" ".join(properties or ())[:room], names=True),
        "details": search_words(" ".join(details)[:room]),
        "server": [
            *search_words(server.name[:room], names=True),
            *_joined(server.name),
            *search_words(server.description[:room]),
        ],
    }


def _joined(name: str) -> list[str]:
    letters = "".join(letter for letter in name if letter.isalnum())
    return [] if letters == name else [letters.lower()]


def _collect(schema: Any, found: list[str], level: int) -> None:
    """What a schema says of its parameters: descriptions, values, and the names within them."""
    if not isinstance(schema, dict) or level > MAX_LEVEL:
        return
    if level > 0 and isinstance(schema.get("description"), str):
        found.append(schema["description"])
    values = schema.get("enum")
    found += [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
    properties = schema.get("properties")
    members = properties if isinstance(properties, dict) else {}
    found += members if level > 0 else ()
    for member in (*members.values(), schema.get("items")):
        _collect(member, found, level + 1)


def _actions(words: Iterable[str]) -> frozenset[str]:
    said = set(words)
    return frozenset(action for action, verbs in _ACTION_WORDS.items() if not verbs.isdisjoint(said))


def _fit(does: frozenset[str], wanted: frozenset[str]) -> float:
    """1 where a tool does what is wanted, or nobody can tell."""
    if not does or does & wanted:
        return 1.0
    if not wanted:
        return 1.0 if "finding" in does else UNASKED_CHANGE
    return UNASKED_DELETION if "deleting" in does else OTHER_ACTION


def _edits(one: str, other: str, allowed: int) -> int:
    """Letters to insert, leave out or replace; more than `allowed` is not counted to its end."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        above, row = row, [at]
        for index, against in enumerate(other, 1):
            row.append(min(above[index] + 1, row[-1] + 1, above[index - 1] + (letter != against)))
        if min(row) > allowed:
            break
    return max(row[-1], min(row))


def _set_of(words: str) -> frozenset[str]:
    return frozenset(part for word in words.split(" ") for part in canonical(word))


def _near_words() -> dict[str, set[str]]:
    near: dict[str, set[str]] = {}
    for line in NEAR_WORDS:
        words = _set_of(line)
        for word in words:
            near.setdefault(word, set()).update(words - {word})
    return near


_STOPPED = _set_of(STOP_WORDS)
_ACTION_WORDS = {action: _set_of(verbs) for action, verbs in ACTIONS.items()}
_NEAR = _near_words()

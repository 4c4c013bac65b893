"""Text to the words that search compares: identifiers split, endings taken off, words that mean the same made one.

The twin of src/downstream/catalog/search-words.ts on the host, step for step.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from mcp._search_tables import SAME_WORDS, SHORT_FORMS

_WORD = re.compile(r"[^\W_]+")
_LOWER_UPPER = re.compile(r"([a-z0-9])([A-Z])")
_UPPER_WORD = re.compile(r"([A-Z])([A-Z][a-z])")
_LETTERS = re.compile(r"[a-z]+")
_KEEPS_S = re.compile(r"(?:ss|us|is)$")
_TENSE = re.compile(r"(.*)(?:ed|ing)$")
_DOUBLED = re.compile(r"([^aeioulsz])\1$")


def search_words(text: str, *, names: bool = False) -> list[str]:
    """The words in their order, as they are compared; of `names` each part of an identifier."""
    return [
        word
        for written in _WORD.findall(_plain(text))
        for part in _parts(written, names)
        for word in canonical(part)
    ]


def plain_words(text: str) -> list[str]:
    """The words as written, in lower case."""
    return [written.lower() for written in _WORD.findall(_plain(text))]


def _plain(text: str) -> str:
    if text.isascii():
        return text
    return "".join(
        letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter)
    )


def _parts(written: str, names: bool) -> list[str]:
    whole = written.lower()
    if whole == written or (not names and "A" <= written[0] <= "Z"):
        return [whole]
    split = _UPPER_WORD.sub(r"\1 \2", _LOWER_UPPER.sub(r"\1 \2", written)).lower().split(" ")
    return split if len(split) == 1 else [*split, whole]


@lru_cache(maxsize=20_000)
def canonical(word: str) -> tuple[str, ...]:
    """One word as it is compared; several for a short form of several."""
    stem = stem_of(word)
    return _EXPANDED.get(stem) or (_SAME.get(stem, stem),)


def stem_of(word: str) -> str:
    """Without the endings of number, tense and person: steps 1 and 5a of Porter (1980)."""
    if len(word) < 3 or not _LETTERS.fullmatch(word):
        return word
    return _without_final_e(_with_i(_without_tense(_without_plural(word))))


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not _KEEPS_S.search(word) else word


def _without_tense(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    match = _TENSE.match(word)
    if match is None or "v" not in _shape(match[1]):
        return word
    stem = match[1]
    if stem.endswith(("at", "bl", "iz")):
        return f"{stem}e"
    if _DOUBLED.search(stem):
        return stem[:-1]
    return f"{stem}e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _with_i(word: str) -> str:
    return f"{word[:-1]}i" if word.endswith("y") and "v" in _shape(word[:-1]) else word


def _without_final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    stem = word[:-1]
    vowels = _measure(stem)
    return stem if vowels > 1 or (vowels == 1 and not _ends_short(stem)) else word


def _shape(word: str) -> str:
    """`c` and `v` for each letter: y is a vowel after a consonant."""
    letters = ""
    for letter in word:
        letters += "v" if letter in "aeiou" or (letter == "y" and letters.endswith("c")) else "c"
    return letters


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _same() -> dict[str, str]:
    lines = [[stem_of(word) for word in line.split(" ")] for line in SAME_WORDS]
    return {word: first for first, *others in lines for word in others}


_SAME = _same()
_EXPANDED = {
    stem_of(short): tuple(_SAME.get(stem_of(word), stem_of(word)) for word in long.split(" "))
    for short, long in SHORT_FORMS.items()
}

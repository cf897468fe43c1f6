"""Find the items that a query names, by id, by name or as ``type:id``. These come before all other hits.

A whole query can name an item, with or without punctuation, or refer to it; a word in a sentence can name one too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from rye import query
from rye.index.build.reader import Reader
from rye.index.storage.arrays import Ints, unique
from rye.index.text import analysis
from rye.index.text.schema import fold_value
from rye.items.model import TYPE_NAMES
from rye.items.names import spellings
from rye.query import ast
from rye.search.reading.relax import Dictionary
from rye.search.reading.words import SENTENCE
from rye.search.states.skills import skills_of

_ENDS = "?!.,;: "
_MARKS = frozenset('"\\')


LEAST_LETTERS = 4
"""Least letters of a plain word that can name an item inside a sentence."""


def named_by(reader: Reader, text: str, keys: Sequence[str] = ("id", "name")) -> Ints:
    """Return the live documents, ascending, whose ``type:id`` or value of a key equals a text in any case.

    Punctuation at the end is part of the text if it matches, else it ends a sentence.
    """
    folded = fold_value(_unquoted_id(text))
    bare = folded.rstrip(_ENDS)
    docs = _equal(reader, folded, keys)
    return docs if len(docs) or bare == folded else _equal(reader, bare, keys)


def referred_to(reader: Reader, text: str) -> tuple[Ints, str]:
    """Return the documents that a text names, else the documents it refers to in one of the usual spellings.

    Returns:
        The live documents, ascending, and the name the text was read as; empty if the text names them directly.
    """
    docs = named_by(reader, text)
    if len(titled := named_by(reader, text, ("title", *reader.alias_keys))):
        docs = unique(docs, np.setdiff1d(titled, reader.withdrawn))  # a title or alias does not bring these up
    if not len(docs):
        docs = unique(np.empty(0, np.int64), *(_equal(reader, fold_value(name)) for name in _as_names(text)))
    path = text.replace("\\", "/")  # as Windows writes it
    for spelling in spellings(path) if not len(docs) and ("/" in path or ":" in path) else ():
        named = _equal(reader, fold_value(spelling.name)).tolist()
        if files := [doc for doc in named if reader.path_of(doc).casefold().endswith(spelling.suffix)]:
            return np.asarray(files, np.int64), spelling.name
    return docs, ""


def _as_names(text: str) -> Iterator[str]:
    """Yield the names that a few words may mean: ``claude api`` is ``claude-api`` or ``claude_api``."""
    words = text.rstrip(_ENDS).split()
    if 2 <= len(words) <= SENTENCE and all(map(str.isalnum, words)):
        yield from (mark.join(words) for mark in "-_")


def _unquoted_id(text: str) -> str:
    """Return a query ``type:id`` without the quotes and escapes of its id; other queries unchanged."""
    if _MARKS.isdisjoint(text) or text.partition(":")[0].strip().casefold() not in TYPE_NAMES:
        return text
    match query.parse(text, lenient=True).ast:
        case ast.Field(name=kind, operand=ast.Word(text=name) | ast.Phrase(text=name, slop=None)):
            return f"{kind}:{name}"
    return text


def _equal(reader: Reader, folded: str, keys: Sequence[str] = ("id", "name")) -> Ints:
    groups = [docs for key in keys if folded and len(docs := reader.having(key, folded))]
    kind, _, item_id = folded.partition(":")
    if item_id and kind in TYPE_NAMES:
        docs = reader.having("id", item_id)
        groups.append(docs[[reader.key_of(doc)[0] == kind for doc in docs.tolist()]])
    return unique(*groups) if groups else np.empty(0, np.int64)


def named_inside(reader: Reader, words: Mapping[ast.Word, int], dictionary: Dictionary) -> Ints:
    """Return the live documents, ascending, whose id or name is one of several words.

    An identifier of several parts always names its item. A plain word does so only in a sentence, if it is long enough
    and no other long word is rarer: ``search`` names no item in a question about restaurants. A number never does.
    """
    groups, few = [np.empty(0, np.int64)], len(words) <= SENTENCE
    for word in words if len(words) > 1 else ():
        if few and analysis.is_plain(word.text):
            continue
        for text in dict.fromkeys(_names_in(word.text)):
            plain = len(parts := analysis.parts(text)) < 2 or all(map(analysis.is_unspaced, parts))
            if plain and (few or len(text) < LEAST_LETTERS or text.isdecimal()):
                continue
            docs = named_by(reader, text)
            if plain and len(docs) and (skills := skills_of(reader)):  # a plain word does not name a part of a skill
                docs = docs[~skills.is_part[docs]]
            if len(docs) and (not plain or _is_rare(text, words, dictionary)):
                groups.append(docs)
    return unique(*groups)


def _names_in(text: str) -> Iterator[str]:
    """Yield the possible names in a word of a sentence: as it is, without punctuation, and the parts of a path."""
    chunks = analysis.chunks(analysis.normalize(text))
    yield from (text, *chunks, *(part for chunk in chunks if "/" in chunk for part in chunk.split("/")))


def _is_rare(text: str, words: Iterable[ast.Word], dictionary: Dictionary) -> bool:
    """Return whether no long word of a sentence that occurs in items is rarer than a plain word."""
    parts = {part for word in words for part in analysis.parts(word.text) if len(part) >= LEAST_LETTERS}
    rarest = min((count for part in parts if (count := dictionary.frequency(part))), default=0)
    return all(dictionary.frequency(part) <= rarest for part in analysis.parts(text))

"""Ids mentioned in a body: which words are taken for one, and which of them are sure to be meant as one.

==============================  ======================================  ==============================================
in                              what is taken                           is a relation
==============================  ======================================  ==============================================
Markdown, but for fenced code   ``type:id``, also in a code span        always
Markdown, but for fenced code   ``[text](path.md)``, ``[[id]]``         always, where the path stays within the space
fenced code; tools and data     ``type:id``                             if there is such an item
anywhere                        a word with a slash in it               if it is the id or the path of an item
Markdown, but for fenced code   a code span that is one word with a     if it is the id or the name of just one item
                                ``-``, ``_`` or ``.`` in it
==============================  ======================================  ==============================================

A plain word is never taken, whatever items are called; nor is part of a URL or of an absolute path, nor a pattern.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from rye.index.relations_forms import Lookup, id_lookups, lookups, relative, span_lookups
from rye.index.schema import TYPE_NAMES
from rye.items.model import Item

_TYPE = "|".join(TYPE_NAMES)
_WORD = re.compile(r"(?<![\w.+@~%:/\\$&=?#-])\.?+\w[\w.+@~%-]*+[:/][\w.+@~%:/#?=&-]++")
_TYPED = re.compile(rf"(?:{_TYPE}):\w[^:?=&%]*")
_SLASHED = re.compile(r"[^:?=&%]+")
_MARK = re.compile(r"[:/](?=[\w.])")
_SPACE = re.compile(r"\s")
_SPAN = re.compile(r"`(?<!``)(\w[\w.-]{1,300})`(?!`)")
_LINK = re.compile(r"\]\(<?([\w.-][^:()\s<>#?]{0,300}\.[a-z]{2,4})(?:#[^()\s<>]{0,300})?>?(?:[ \t][^()\n]{0,300})?\)")
_WIKI = re.compile(r"\[\[(\w[^\[\]|\n]{0,300})(?:\|[^\[\]\n]{0,300})?\]\]")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_TRAILING = ".,:;!?-#&=+"
_PLACEHOLDERS = frozenset("{<$*")
_LONGEST = 300
_REACH = 1_000
"""Characters before a link in which the beginning of a code span is looked for."""
_MOST = 10_000
"""Words of one body that are looked at, however often each recurs."""


class Mention(NamedTuple):
    """One word that may be a mention: what it may name, whether it is sure to, and where it stands in the body."""

    text: str
    lookups: tuple[Lookup, ...]
    sure: bool
    offset: int


def mentions(item: Item, suffix: str) -> list[Mention]:
    """Return the mentions in a body in the order in which they stand; takes time linear in its length.

    Args:
        item: What mentions.
        suffix: Extension of its file.
    """
    body = item.body
    markdown = suffix == ".md"
    found: list[Mention] = []
    if ":" in body or "/" in body:
        found = [each for match in islice(_words(body), _MOST) if (each := _word(match))]
    if markdown and "`" in body:
        spans = (match for match in islice(_SPAN.finditer(body), _MOST) if _compound(match[1]))
        found += [Mention(match[1], span_lookups(match[1]), False, match.start()) for match in spans]
    if markdown and ("](" in body or "[[" in body):
        found += islice(_links(item), _MOST)
    if not found:
        return found
    found.sort(key=lambda each: each.offset)
    return list(_outside_code(found, _fences(body))) if markdown else [each._replace(sure=False) for each in found]


def _words(body: str) -> Iterator[re.Match[str]]:
    """Yield the words with a colon or a slash in them; text without either is passed over quickly."""
    done = 0
    for mark in _MARK.finditer(body):
        if mark.start() >= done:
            start = max(body.rfind(" ", done, mark.start()), body.rfind("\n", done, mark.start()), done)
            space = _SPACE.search(body, mark.end())
            done = space.start() if space else len(body)
            yield from _WORD.finditer(body, start, done)


def _word(match: re.Match[str]) -> Mention | None:
    """Return what a word with a colon or a slash mentions; None for a URL, a time, a pattern."""
    whole, body = match[0], match.string
    after = body[match.end() : match.end() + 1]
    if "://" in whole or whole[-1] == "/" or len(whole) > _LONGEST:
        return None
    if after in _PLACEHOLDERS and not (after == "*" and body[match.start() - 1 : match.start()] == "*"):
        return None
    text = whole.rstrip(_TRAILING)
    if _TYPED.fullmatch(text):
        return Mention(text, lookups(text, "", ""), True, match.start())
    if "/" in text and _SLASHED.fullmatch(text):
        return Mention(text, id_lookups(text), False, match.start())
    return None


def _compound(word: str) -> bool:
    """Return whether a word has an inner mark, so that it is no word of a language, and is no number."""
    return any(mark in word.strip("-_.") for mark in "-_.") and not word[0].isdigit()


def _links(item: Item) -> Iterator[Mention]:
    folder = item.id.rpartition("/")[0]
    for match in _outside_spans(_LINK, item.body):
        if found := relative(match[1], item.type, folder):
            yield Mention(match[1], found, True, match.start(1))
    for match in _outside_spans(_WIKI, item.body):
        text = match[1].strip()
        yield Mention(text, lookups(text, item.type, folder), True, match.start(1))


def _outside_spans(pattern: re.Pattern[str], body: str) -> Iterator[re.Match[str]]:
    """Yield the matches that stand in no code span of their line."""
    for match in pattern.finditer(body):
        start = max(body.rfind("\n", max(0, match.start() - _REACH), match.start()), match.start() - _REACH, 0)
        if body.count("`", start, match.start()) % 2 == 0:
            yield match


def _fences(body: str) -> list[int]:
    """Return where fenced code begins and ends, one after the other."""
    borders: list[int] = []
    mark = ""
    for match in _FENCE.finditer(body) if "```" in body or "~~~" in body else ():
        if mark and match[1].startswith(mark) and not match[2].strip():
            mark = ""
            borders.append(match.end())
        elif not mark and not (match[1][0] == "`" and "`" in match[2]):
            mark = match[1]
            borders.append(match.start())
    return borders


def _outside_code(found: list[Mention], borders: list[int]) -> Iterator[Mention]:
    """Yield mentions, those in fenced code as far as they can be there: words, none of which is sure."""
    for each in found:
        if not bisect_right(borders, each.offset) % 2:
            yield each
        elif ":" in each.text or "/" in each.text:
            yield each._replace(sure=False)

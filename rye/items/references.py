"""A reference as written → the items it may name, best first; only this module knows the forms of an id.

A lookup is by the whole id or by the name, its last part, for one item type or any. Strings are compared by a hash, so
that many references are joined with many items by sorting numbers: 62 bits of BLAKE2b, and two for the item type. No
one can find another id for a given hash. Someone can find two ids with the same hash, which makes references to them
ambiguous.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from rye.items.clients import ClientFolder
from rye.items.model import TYPE_NAMES, TYPE_NUMBER, TYPE_OF_FOLDER, Item, ItemType
from rye.items.reader import EXTENSIONS, PLAIN_EXTENSIONS

TYPED, BY_NAME = 1, 2
"""Bits of :attr:`Lookup.how`: match only the type in the key; match the name instead of the id."""

TYPE_BITS = 2

_CACHED = 1 << 13

_SUFFIXES = frozenset(suffix for extensions in EXTENSIONS.values() for suffix in extensions)
_TYPE = "|".join(TYPE_NAMES)
_REFERENCE = re.compile(rf"({_TYPE}):(.+)")
_CAPABILITY = re.compile(rf"(?:rye\.(?:execute|search|load|sign)\.)?({_TYPE})\.([^/*]+)")


class Lookup(NamedTuple):
    """One item that a reference may name: ``how`` to look it up, and the key (see :func:`key_of`)."""

    how: int
    key: int


def key_of(text: str, item_type: int = 0) -> int:
    """Return the key of an id or a name: 62 bits of hash, then the number of the type."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> TYPE_BITS << TYPE_BITS) | item_type


def name_of(item_id: str) -> str:
    """Return the last part of an id."""
    return item_id.rpartition("/")[2]


@lru_cache(maxsize=_CACHED)
def lookups(text: str, item_type: str, folder: str, prefer: str = "") -> tuple[Lookup, ...]:
    """Return the items that a reference may name, best first.

    Args:
        text: As written: ``type:id``, an id, a name, a path with or without extension, ``tool.rye.core.x``.
        item_type: The type of the referring item.
        folder: The folder of its id. A path that begins with a dot is relative to it, and a name is looked up in it.
        prefer: The preferred type if the reference has none.
    """
    text = text.strip()
    if text.startswith(("./", "../")):
        return relative(text, item_type, folder)
    candidates: list[Lookup] = []
    for part in _without_suffixes(text):
        candidates += _readings(part, folder, prefer)
    return tuple(dict.fromkeys(candidates))


def relative(path: str, item_type: str, folder: str) -> tuple[Lookup, ...]:
    """Return the items that a path relative to an item's folder may name; empty if it leads out of the space."""
    # resolve from the space root, because ../ may lead to another type folder, or out
    root = ItemType(item_type).folder
    place = posixpath.normpath(posixpath.join(root, folder, path.partition("#")[0].partition("?")[0]))
    kind = TYPE_OF_FOLDER.get(place.partition("/")[0])
    rest = place.partition("/")[2]
    if kind is None or not rest:
        return ()
    return tuple(_by_id(form, kind) for form in dict.fromkeys((_stem(rest), rest)))


def beside(client: ClientFolder, rel_path: str, text: str) -> tuple[Lookup, ...]:
    """Return the items that a path relative to a client's file, or to a folder above it, may name."""
    path = text.partition("#")[0]
    if path.startswith("/") or "." not in path.rpartition("/")[2]:
        return ()  # an absolute path, or not the name of a file
    candidates, folders = list[Lookup](), rel_path.split("/")[:-1]
    for depth in range(len(folders), -1, -1):
        place = client.identify(posixpath.normpath("/".join([*folders[:depth], path])))
        candidates += [_by_id(place[1], place[0])] if place else []
    return tuple(candidates)


def _without_suffixes(text: str) -> list[str]:
    """Return a reference, then without its ``#section``, then without its ``@version``."""
    parts = [text]
    for mark in "#@":
        head = parts[-1].partition(mark)[0]
        if head and head != parts[-1]:
            parts.append(head)
    return parts


def _readings(text: str, folder: str, prefer: str) -> list[Lookup]:
    if match := _REFERENCE.fullmatch(text):
        return _ids(match[2], folder, match[1], only=True)
    candidates = _ids(text.removeprefix(".ai/"), folder, prefer)
    if match := _CAPABILITY.fullmatch(text):
        candidates.append(_by_id(match[2].replace(".", "/"), match[1]))
    return candidates


def _ids(text: str, folder: str, kind: str, *, only: bool = False) -> list[Lookup]:
    """Return the lookups of every form of an id, best first.

    Each form is looked up by ``kind``, then by any type unless ``only`` is set.
    """
    top, _, rest = text.partition("/")
    candidates = []
    if not only and rest and top in TYPE_OF_FOLDER:
        candidates = [_by_id(form, TYPE_OF_FOLDER[top]) for form in dict.fromkeys((_stem(rest), rest))]
    forms = [text, _stem(text)]
    if "/" not in text:
        forms += [text.replace(".", "/")] if "." in text.strip(".") else []
        forms += [f"{folder}/{_stem(text)}"] if folder else []
    kinds = ([kind] if kind else []) + ([] if only else [""])
    candidates += [_by_id(form, item_type) for form in dict.fromkeys(forms) if form for item_type in kinds]
    if "/" not in text:
        candidates += [_by_name(_stem(text), item_type) for item_type in kinds]
    return candidates


def _stem(path: str) -> str:
    """Return a path without the extension of an item's file, if it has one."""
    stem, dot, extension = path.rpartition(".")
    return stem if stem and stem[-1] != "/" and dot + extension in _SUFFIXES else path


def _by_id(item_id: str, kind: str) -> Lookup:
    return Lookup(TYPED if kind else 0, key_of(item_id, TYPE_NUMBER[kind] if kind else 0))


def _by_name(name: str, kind: str = "") -> Lookup:
    return Lookup(BY_NAME | (TYPED if kind else 0), key_of(name, TYPE_NUMBER[kind] if kind else 0))


@lru_cache(maxsize=_CACHED)
def id_lookups(text: str) -> tuple[Lookup, ...]:
    """Return the items that a word with a slash in running text may name, by id or by path in a space."""
    return tuple(lookup for lookup in lookups(text, "tool", "") if not lookup.how & BY_NAME)


@lru_cache(maxsize=_CACHED)
def span_lookups(text: str, item_type: str, folder: str) -> tuple[Lookup, ...]:
    """Return the items that a word marked as code may name; most such words are functions or files.

    They are an item by its id with dots for slashes, an item in the same folder, and a script anywhere by its file
    name.

    Args:
        text: The word.
        item_type: The type of the item that contains it.
        folder: The folder of its id.
    """
    stem = _stem(text)
    beside = f"{folder}/{stem}" if folder else stem
    if stem == text:
        dotted = id_lookups(text) if "." in text else ()
        return tuple(dict.fromkeys((*dotted, _by_id(beside, ""))))
    suffix = text[len(stem) :]
    kinds = sorted((kind for kind, suffixes in EXTENSIONS.items() if suffix in suffixes), key=lambda k: k != item_type)
    candidates = [_by_id(beside, kind) for kind in kinds]
    return (*candidates, _by_name(stem, "tool")) if suffix in PLAIN_EXTENSIONS[ItemType.TOOL] else tuple(candidates)


MAX_IMPORT_ROOTS = 8
"""Folders to resolve a module in: the importing tool's own, those above it, and finally the folder of tools."""


@lru_cache(maxsize=_CACHED)
def import_lookups(path: str, folder: str, item_type: str = "tool") -> tuple[Lookup, ...]:
    """Return the items that an import may name, best first: Python's ``a.b``, ``.b`` and ``..b``, or ``./b.js``.

    A module is resolved in the folder of the tool, where Python looks first for a script's modules, and in those above
    it.
    """
    if "/" in path:
        beside = *relative(path, item_type, folder), *relative(f"{path}/index", "tool", folder)
        in_space = id_lookups(path.removeprefix("./")) if path.startswith("./.ai/") else ()
        return tuple(dict.fromkeys((*in_space, *beside)))
    place = path.lstrip(".").replace(".", "/")
    folders = folder.split("/") if folder else []
    up = len(path) - len(place) - 1  # one dot is the folder itself, each further dot the folder above
    if up > len(folders):
        return ()
    depths = [len(folders) - up] if up >= 0 else [*range(len(folders), 0, -1)[: MAX_IMPORT_ROOTS - 1], 0]
    return tuple(_by_id("/".join([*folders[:depth], place]), "tool") for depth in depths)


_WORD = re.compile(r"(?<![\w.+@~%:/\\$&=?#-])\.?+\w[\w.+@~%-]*+[:/][\w.+@~%:/#?=&-]++")
_TYPED = re.compile(rf"(?:{_TYPE}):\w[^:?=&%]*")
_SLASHED = re.compile(r"[^:?=&%]+")
_MARK = re.compile(r"[:/](?=[\w.])")
_SPACE = re.compile(r"\s")
_SPAN = re.compile(r"`(?<!``)(\w[\w.-]{1,300})`(?!`)")
_LINK = re.compile(r"\]\(<?([\w.-][^:()\s<>#?]{0,300}\.[a-z]{2,4})(?:#[^()\s<>]{0,300})?>?(?:[ \t][^()\n]{0,300})?\)")
_WIKI = re.compile(r"\[\[(\w[^\[\]|\n]{0,300})(?:\|[^\[\]\n]{0,300})?\]\]")
_FENCE = re.compile(r"\n {0,3}(`{3,}|~{3,})([^\n]*)")
"""For text after an added newline, so that places are off by one; a pattern with ``^`` would be tried everywhere."""
_TRAILING = ".,:;!?-#&=+"
_PLACEHOLDERS = frozenset("{<$*")
_LONGEST = 300
_REACH = 1_000
"""Characters before a link that are searched for the start of a code span."""
_MOST = 10_000
"""Maximum words to examine in one body, repetitions included."""


class Mention(NamedTuple):
    """A word that may mention an item.

    Attributes:
        text: The word.
        lookups: The items it may name.
        sure: Whether it certainly is a mention.
        offset: Its place in the body.
    """

    text: str
    lookups: tuple[Lookup, ...]
    sure: bool
    offset: int


def mentions(item: Item, suffix: str) -> list[Mention]:
    """Return the mentions in a body in order; takes time linear in its length.

    Args:
        item: The item with the body.
        suffix: Extension of its file.
    """
    body = item.body
    markdown, folder = suffix == ".md", item.id.rpartition("/")[0]
    # cheap tests for a character first: most bodies have few of them, and a regex over the whole body is slow
    candidates: list[Mention] = []
    if ":" in body or "/" in body:
        candidates = [mention for match in islice(_words(body), _MOST) if (mention := _word(match))]
    if markdown and "`" in body:
        # a word with an inner mark, so not a word of a language, and not a number
        spans = (
            match
            for match in islice(_SPAN.finditer(body), _MOST)
            if not match[1][0].isdigit() and any(mark in match[1].strip("-_.") for mark in "-_.")
        )
        candidates += [
            Mention(match[1], span_lookups(match[1], item.type, folder), False, match.start()) for match in spans
        ]
    if markdown and ("](" in body or "[[" in body):
        candidates += islice(_links(item), _MOST)
    if not candidates:
        return candidates
    candidates.sort(key=lambda mention: mention.offset)
    if markdown:
        return list(_outside_code(candidates, _fences(body)))
    return [mention._replace(sure=False) for mention in candidates]


def _words(body: str) -> Iterator[re.Match[str]]:
    """Yield the words that contain a colon or a slash, skipping other text quickly."""
    done = 0  # the end of the part already read
    for mark in _MARK.finditer(body):
        if mark.start() >= done:
            start = max(body.rfind(" ", done, mark.start()), body.rfind("\n", done, mark.start()), done)
            space = _SPACE.search(body, mark.end())
            done = space.start() if space else len(body)
            yield from _WORD.finditer(body, start, done)


def _word(match: re.Match[str]) -> Mention | None:
    """Return the mention in a word with a colon or a slash; None for a URL, a time or a pattern."""
    word, body = match[0], match.string
    after = body[match.end() : match.end() + 1]
    if "://" in word or word[-1] == "/" or len(word) > _LONGEST:
        return None
    if after in _PLACEHOLDERS and not (after == "*" and body[match.start() - 1 : match.start()] == "*"):
        return None
    text = word.rstrip(_TRAILING)
    if _TYPED.fullmatch(text):
        return Mention(text, lookups(text, "", ""), True, match.start())
    if "/" in text and _SLASHED.fullmatch(text):
        return Mention(text, id_lookups(text), False, match.start())
    return None


def _links(item: Item) -> Iterator[Mention]:
    folder = item.id.rpartition("/")[0]
    for match in _outside_spans(_LINK, item.body):
        if candidates := relative(match[1], item.type, folder):
            yield Mention(match[1], candidates, True, match.start(1))
    for match in _outside_spans(_WIKI, item.body):
        text = match[1].strip()
        yield Mention(text, lookups(text, item.type, folder), True, match.start(1))


def _outside_spans(pattern: re.Pattern[str], body: str) -> Iterator[re.Match[str]]:
    """Yield the matches that are not in a code span of their line."""
    for match in pattern.finditer(body):
        start = max(body.rfind("\n", max(0, match.start() - _REACH), match.start()), match.start() - _REACH, 0)
        if body.count("`", start, match.start()) % 2 == 0:
            yield match


def _fences(body: str) -> list[int]:
    """Return where fenced code begins and ends, alternately."""
    borders: list[int] = []
    mark = ""  # the open fence: a fence of the same character, at least as long, closes it
    for match in _FENCE.finditer(f"\n{body}") if "```" in body or "~~~" in body else ():
        if mark and match[1].startswith(mark) and not match[2].strip():
            mark = ""
            borders.append(match.end() - 1)
        elif not mark and not (match[1][0] == "`" and "`" in match[2]):
            mark = match[1]
            borders.append(match.start())
    return borders


def _outside_code(candidates: list[Mention], borders: list[int]) -> Iterator[Mention]:
    """Yield mentions. In fenced code, yield only those with a ``:`` or ``/``, and as unsure."""
    for mention in candidates:
        if not bisect_right(borders, mention.offset) % 2:
            yield mention
        elif ":" in mention.text or "/" in mention.text:
            yield mention._replace(sure=False)

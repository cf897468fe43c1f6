"""Finds text in a file that a reader does not see but an agent reads; it may contain instructions.

Each kind has one rule, designed not to match emoji, right-to-left scripts, and comments for tools:

- ``tags``: tag characters, except in the flag of a region (U+1F3F4, 3 to 6 tags, the end tag).
- ``direction``: an override of the writing direction; an embedding or isolate in a line without letters of a
  right-to-left script.
- ``zero-width``: three or more consecutive zero-width characters.
- ``selectors``: variation selectors that no emoji, symbol or ideograph takes, or several of them.
- ``comment``: an HTML or Markdown comment outside code that instructs an agent.
- ``markup``: an HTML element with text that its style hides.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import compress, islice
from operator import itemgetter, not_
from typing import NamedTuple

from rye._text import inline
from rye.items.markdown import in_code
from rye.items.values import shorten

HIDDEN_TEXT = "hidden-text"
"""The state of an item with hidden text, and the code of the finding."""

_MARKDOWN = frozenset((".md", ".mdc", ".markdown"))

MOST = 20
"""Maximum number of places reported in one file."""

SHOWN = 120
"""Maximum number of characters of hidden text in a sentence."""

_CHARACTERS = (
    *map(str.encode, "\u180e\u200b\u200c\u200d\u202a\u202b\u202d\u202e\ufeff"),
    *(b"\xe2\x81", b"\xef\xb8", b"\xf3\xa0"),
)
"""Bytes in any file with such characters: U+2060 to 206F, variation selectors and tags by their first bytes."""

_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_TAGS = re.compile(f"{_FLAG}|([\U000e0000-\U000e007f]+)")
_OVERRIDE = re.compile("[\u202d\u202e]")
_TURNED = re.compile("^[^\n\u202a\u202b\u202d\u202e\u2066-\u2068]*+([^\n])[^\n]*+", re.MULTILINE)
"""A line, and the first character in it that changes the direction; each line is read once."""
_ZERO_WIDTH = re.compile("[\u180e\u200b-\u200d\u2060-\u2064\u206a-\u206f\ufeff]{3,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_STYLES = frozenset("\ufe0e\ufe0f")
"""The selectors that show a character as text or as an emoji; some programs repeat them two or three times."""
_MOST_STYLES = 3

_AGENT = r"(?:user|human|person|reader|reviewer)"
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,60}\b(?:instructions?|rules|prompts?|guidelines|safety)\b"
    rf"|\b(?:do not|don't|never|without)\s+(?:\w+\s+)?(?:tell|inform|mention|notif|reveal|show|ask|alert|warn)\w*"
    rf"[^.\n]{{0,40}}\b{_AGENT}\b"
    r"|\bsystem\s+prompt\b"
    r"|\b(?:secretly|silently|covertly)\s+(?:\w+\s+)?(?:run|send|add|read|copy|fetch|download|upload|execute|include)\b"
    r"|\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]{0,200}https?://[^\n]{0,200}\|"
    r"|\b(?:send|post|upload|exfiltrate|forward|copy)\b[^.\n]{0,80}\b"
    r"(?:secrets?|tokens?|passwords?|credentials?|api keys?|\.env|ssh keys?|private keys?)\b",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]{1,60}\]:[ \t]*(?:#|<#?>)[ \t]*[(\"'](.+)$", re.MULTILINE)
"""A link that leads nowhere, used as a comment in Markdown."""
_STYLED = re.compile(
    r"<([a-z][a-z0-9]{0,20})\b[^<>]{0,300}?\b(?:style\s*=\s*[\"']([^\"'<>]{0,500})[\"']"
    r"|color\s*=\s*[\"']?(white|#fff(?:fff)?)\b)[^<>]{0,300}>",
    re.IGNORECASE,
)
_UNSEEN = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9]))",
    re.IGNORECASE,
)
_WHITE = re.compile(r"(?:^|;)\s*color\s*:\s*(?:white|#fff(?:fff)?|transparent)\b", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,500}>")
_MOST_INSIDE = 2_000
"""Number of characters after a tag that are searched for the text of its element."""


class HiddenText(NamedTuple):
    """One place of a file with text that a reader does not see.

    Attributes:
        kind: The rule that matches, as listed above.
        line: 1-based line.
        text: The decoded text; not safe to show.
    """

    kind: str
    line: int
    text: str

    def __str__(self) -> str:
        return f'line {self.line}: {_WORDS[self.kind]}: "{inline(shorten(self.text, SHOWN))}"'


_WORDS = {
    "tags": "tag characters, which nothing shows, spell",
    "direction": "characters change the direction of the text, so that it reads otherwise than it is",
    "zero-width": "zero-width characters side by side",
    "selectors": "variation selectors, which nothing shows, spell",
    "comment": "a comment instructs the agent",
    "markup": "the style of this text hides it",
}


def describe_hidden(data: bytes, suffix: str) -> str:
    """Return a sentence about the text in a file that a reader does not see; empty if there is none.

    Args:
        data: The bytes of the file.
        suffix: Its extension.
    """
    places = hidden_text(data, is_markdown=suffix in _MARKDOWN)
    more = f", and {len(places) - 1} more such places" if len(places) > 1 else ""
    return f"{places[0]}{more}" if places else ""


def hidden_text(data: bytes, *, is_markdown: bool) -> tuple[HiddenText, ...]:
    """Return the places of a file with text that a reader does not see, the first :data:`MOST` by kind.

    Args:
        data: The bytes of the file; if they are not UTF-8, the result is empty.
        is_markdown: Whether to read comments and markup too.
    """
    has_characters = not data.isascii() and any(map(data.__contains__, _CHARACTERS))
    has_markup = is_markdown and (b"<" in data or b"]:" in data)
    if not (has_characters or has_markup):
        return ()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ()
    places = [*islice(_of_characters(text), MOST)] if has_characters else []
    places += islice(_of_markup(text), MOST) if has_markup else ()
    return tuple(HiddenText(kind, 1 + text.count("\n", 0, at), said) for kind, at, said in places)


_Place = tuple[str, int, str]
"""Kind, offset in the text, and the hidden text."""


def _of_characters(text: str) -> Iterator[_Place]:
    for match in _TAGS.finditer(text):
        if match[1]:
            yield "tags", match.start(), "".join(chr(ord(char) - 0xE0000) for char in match[1])
    for match in _TURNED.finditer(text):
        line = match[0]
        if _OVERRIDE.search(line) or not any(unicodedata.bidirectional(char) in ("R", "AL") for char in line):
            yield "direction", match.start(1), line
    for match in _ZERO_WIDTH.finditer(text):
        yield "zero-width", match.start(), _bits(match[0]) or match[0]
    for match in _SELECTORS.finditer(text):
        if _is_hiding(match[0], text[match.start() - 1 : match.start()]):
            yield "selectors", match.start(), bytes(map(_byte, match[0])).decode("utf-8", "replace")


def _bits(run: str) -> str:
    """Return the ASCII text that two zero-width characters spell bit by bit; empty if they spell none."""
    signs = sorted(set(run))
    if len(signs) != len("01") or len(run) % 8:
        return ""
    for zero in signs:
        bits = "".join("0" if char == zero else "1" for char in run)
        said = int(bits, 2).to_bytes(len(bits) // 8, "big")
        if all(0x20 <= byte < 0x7F for byte in said):
            return said.decode()
    return ""


def _byte(selector: str) -> int:
    code = ord(selector)
    return code - 0xFE00 if code < 0xE0100 else code - 0xE0100 + 16


def _is_hiding(run: str, before: str) -> bool:
    """Return whether variation selectors do not belong to the character before them."""
    if len(run) > 1:
        return len(run) > _MOST_STYLES or not _STYLES.issuperset(run)
    if ord(run) >= 0xE0100:
        return not before or unicodedata.category(before) != "Lo"
    return run not in _STYLES and before.isascii()


def _of_markup(text: str) -> Iterator[_Place]:
    places = [("comment", at, said) for at, said in _comments(text) if _INSTRUCTION.search(said)]
    places += [("markup", at, said) for at, said in _styled(text)]
    places.sort(key=itemgetter(1))
    is_code = in_code(text, [at for _, at, _ in places]) if places else ()
    yield from ((kind, at, " ".join(said.split())) for kind, at, said in compress(places, map(not_, is_code)))


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of the comments: ``<!-- … -->``, and link definitions that serve as comments.

    An unclosed comment extends to the end of the file.
    """
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        yield start, text[start + 4 : end if end >= 0 else len(text)]
        start = text.find("<!--", end) if end >= 0 else -1
    yield from ((match.start(), match[1]) for match in _DEFINITION.finditer(text))


def _styled(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of the elements whose style hides them; an element without letters hides nothing."""
    low = text.lower()
    for match in _STYLED.finditer(text) if "style" in low or "<font" in low else ():
        name, style, color = match.groups()
        if color or _UNSEEN.search(style) or (_WHITE.search(style) and "background" not in style.lower()):
            inside = text[match.end() : match.end() + _MOST_INSIDE]
            end = inside.lower().find(f"</{name.lower()}")
            said = _TAG.sub(" ", inside if end < 0 else inside[:end])
            if any(map(str.isalpha, said)):
                yield match.start(), said

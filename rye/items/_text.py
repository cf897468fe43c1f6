"""Text as every format of the room needs it: decoded, cleaned, cut into lines and paragraphs."""

from __future__ import annotations

import re

from rye.errors import ItemError

DESCRIPTION_CHARS = 300
"""How long a description taken from the body may be; a stated one may be longer."""
STATED_CHARS = 4096
"""How long a description that the file states may be."""
LINE_CHARS = 300
"""How long a title, category, version or author may be."""

# Code points that are not text: they would break a terminal, a YAML reader or a JSON consumer.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_ORDINARY = b"\t\n" + bytes(range(0x20, 0x7F))  # most files have nothing else
_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_IN_A_LINE = re.compile("[\\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]+")
_STALE_MARK = re.compile(r"[ \t]*(?:<!--|#|//)[ \t#/]*rye(?:os)?:(?:unsigned\b|signed:)[^\n]*")
_HEAD_LINES = 4
_PLAIN_CHARS = 2000
_BLANK_LINES = re.compile(r"(?:[ \t]*+\n)*+")

_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f](?=\\s|$)")
_HARMLESS_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|__|`+)([^*`\n]{1,300}?)\1")


def decode(data: bytes) -> str:
    """Return the file as text with LF line breaks, no byte order mark and blanks for control characters.

    Raises:
        ItemError: ``not-utf8``.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ItemError(
            "not-utf8",
            f"byte {error.start} is not UTF-8",
            hint="save the file as UTF-8",
            offset=error.start,
        ) from None
    if not data.translate(None, _ORDINARY):
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub(" ", text)


def without_stale_marks(text: str) -> str:
    """Blank what earlier signing left at the head of a file: ``rye:unsigned`` marks and signatures of old."""
    start = 0
    for _ in range(_HEAD_LINES):
        if mark := _STALE_MARK.match(text, start):
            text = text[: mark.start()] + text[mark.end() :]
        start = text.find("\n", start) + 1
        if not start:
            break
    return text


def clean(text: str) -> str:
    """Return ``text`` fit for JSON and terminals: no lone surrogates, blanks for control characters."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub(" ", _SURROGATES.sub("\ufffd", text))


def one_line(text: str, limit: int = LINE_CHARS) -> str:
    """Return ``text`` as one line of at most ``limit`` characters, without control and direction marks."""
    if text.isascii() and text.isprintable() and "  " not in text:  # most texts: nothing to replace
        line = text.strip()
    else:
        line = _NOT_IN_A_LINE.sub(" ", _SURROGATES.sub("\ufffd", text)).strip()
    return line if len(line) <= limit else shorten(line, limit)


def shorten(line: str, limit: int) -> str:
    """Cut one line to at most ``limit`` characters: after a whole sentence where one ends late enough, else a word."""
    if len(line) <= limit:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line, limit // 4, limit)]
    if ends:
        return line[: ends[-1]]
    head = line[: limit - 1]
    space = head.rfind(" ", limit // 2)
    return (head[:space] if space > 0 else head).rstrip() + "…"


def plain(markdown: str) -> str:
    """Return the start of a paragraph of Markdown without the marks of links, emphasis and code."""
    markdown = markdown[:_PLAIN_CHARS]
    if "](" in markdown:
        markdown = _HARMLESS_LINK.sub(r"\1", markdown)
    return _EMPHASIS.sub(r"\2", markdown)


def first_paragraph(text: str) -> str:
    """Return the lines up to the first blank one, as they stand."""
    return re.split(r"\n[ \t]*\n", text.strip(), maxsplit=1)[0]


def line_of(text: str, offset: int) -> int:
    """Return the 1-based line on which ``offset`` lies."""
    return text.count("\n", 0, offset) + 1


def cut_blank_head(text: str, start: int = 0) -> tuple[str, int]:
    """Return ``text`` from the first line that is not blank, and its 1-based line; an empty text is on line 1."""
    head = _BLANK_LINES.match(text, start)
    begin = head.end() if head else start
    body = text[begin:].rstrip()
    return (body, line_of(text, begin)) if body else ("", 1)

"""Reads Markdown items: their metadata, body, sections and imports. Blocks are those of CommonMark, with tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from html import unescape
from itertools import chain, islice, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import unquote

import pyromark

from rye.errors import ItemError
from rye.items.front_matter import STATED_ABOVE, FrontMatter, read_block, skip_comments
from rye.items.model import Deferred, Draft, Import, ItemType, Section
from rye.items.values import cut_blank_head

MAX_HEADINGS = 10_000
"""Maximum number of headings of one file that open a section; later text belongs to the last section."""
_MAX_IMPORTS = 10_000
_MAX_HTML_TITLE = 10_000
"""Number of bytes of an HTML block that are searched for a heading."""

_MAX_EVENTS = 5_000
"""Number of parser events within which the first paragraph must end."""

_TO_ASCII = bytes(range(0x80)) + b"x" * 0x80
_INLINE = frozenset({"Emphasis", "Strong", "Link", "Image"})
_METADATA_BLOCK = {"Start": {"MetadataBlock": "YamlStyle"}}

_XML_FENCES = frozenset({"", "html", "markup", "xml"})
_DIRECTIVE = re.compile(rb"^[ \t]*+(<directive)(?=[\s>/])", re.MULTILINE)
_HTML_TITLE = re.compile(rb"<h1\b[^<>]{0,1000}>(.{1,1000}?)</h1\s{0,9}>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,1000}>")
_AT_PATH = re.compile(rb"@(?<![^\s(\[\"']@)([^\s@`]++)")
_AT_WORD = re.compile(rb"(?<![0-9A-Za-z_])@(\"[^\"\n]++\"|(?:[^\s\\`]|\\.)++)")
_FILE_WORD = re.compile(rb"#(?:\[\[)?file:('[^'\n]++'|[^\s`]++)")
_ESCAPED = re.compile(r"\\(.)")
_END = re.compile(r"[^\w\s/]")
_MOST_ENDS = 16
_PROSE = (".md", ".mdc", ".mdx", ".markdown", ".txt")
_COMMAND = re.compile(rb"!(?<!\S!)`([^`\n]++)`")
_COMMAND_LINE = re.compile(rb"\n([^\n]++)")
_PATH = re.compile(r"(?<!.)[\w~./][^\s:*?<>|{}$\\,;=]*+")
_EXTENSION = re.compile(r"\w\.[A-Za-z]\w{0,9}\Z")

T = TypeVar("T", bound=tuple[Any, ...])


_Heading = tuple[int, int, int]
"""The level, start and end of a heading, without its final line break."""


class _Code(NamedTuple):
    """The start and end of a code block, and the info string of its fence; None if it is indented."""

    start: int
    end: int
    info: str | None


class _Blocks(NamedTuple):
    """Places in a text, in order."""

    headings: list[_Heading]
    code: list[_Code]
    html: list[tuple[int, int]]
    spans: list[tuple[int, int]]  # code spans


def read_markdown(text: str, item_type: ItemType) -> Draft:
    """Read a ``.md`` item: front matter in ``---`` or a ``yaml`` fence, and for directives the XML block."""
    text, block = read_metadata(text, item_type)
    body, line = cut_blank_head(text, block.end)
    imports = partial(_imports, body, line)
    return Draft(
        metadata=block.values,
        body=body,
        body_line=line,
        sections=Deferred(partial(_sections, body, line)),
        imports=Deferred(imports) if item_type is ItemType.DIRECTIVE else (),
        heading=partial(_title, body),
        paragraph=partial(_first_prose, body),
        note=block.note,
    )


def read_metadata(text: str, item_type: ItemType) -> tuple[str, FrontMatter]:
    """Return the text of a file with XML and later fences of metadata blanked, and the metadata."""
    start = skip_comments(text)
    block = read_block(text, start)
    if item_type is ItemType.DIRECTIVE:
        if result := _read_xml(text, block or FrontMatter({}, start)):
            return result
        if block is None and (result := _read_later_fence(text, start)):
            return result
    return text, block or FrontMatter({}, start)


def _read_later_fence(text: str, start: int) -> tuple[str, FrontMatter] | None:
    """Read the first fence of a directive that has no other metadata, below its title, if it contains metadata keys."""
    if "yaml" not in text and "yml" not in text:
        return None
    data = text[start:].encode()
    begin = next((code.start for code in _blocks(_flat(data)).code if code.info is not None), len(data))
    begin = start + len(data[:begin].decode())
    try:
        block = read_block(text, begin)
    except ItemError:
        return None  # an example
    if block is None or STATED_ABOVE.isdisjoint(block.values):
        return None
    return text[:begin] + _blank(text[begin : block.end]) + text[block.end :], block._replace(end=start)


def _read_xml(text: str, front: FrontMatter) -> tuple[str, FrontMatter] | None:
    """Add the XML block of a directive to its front matter; None if there is no such block."""
    place = _locate_directive(text, front.end) if "<directive" in text else None
    if place is None:
        return None
    from rye.items import directive_xml

    start, fence = place
    begin, close, end = start, len(text), len(text)
    if fence:
        begin, end = fence
        close = text.rfind("\n", start, end) + 1
        if not text[close:end].strip(" \t").startswith(("```", "~~~")):  # the fence has no end
            begin, close, end = start, len(text), len(text)
    xml = directive_xml.read_block(text, start, close) or directive_xml.read_block(text, start, len(text))
    if xml is None:
        return None
    if close == len(text) or xml.end > close or text[xml.end : close].strip():
        end = xml.end  # there is more in the fence, or there is none
    body = _blank(text[begin:start]) + xml.text + _blank(text[xml.end : end])
    return text[:begin] + body + text[end:], front._replace(values={**front.values, **xml.metadata})


def _blank(block: str) -> str:
    return "\n" * block.count("\n")


def _locate_directive(text: str, front_end: int) -> tuple[int, tuple[int, int] | None] | None:
    """Return the offset of ``<directive`` that begins a line, bare or in an XML fence, and that fence's place."""
    data = text[front_end:].encode()
    blocks = _blocks(_flat(data))
    comments = [place for place in blocks.html if data.startswith(b"<!--", place[0])]
    for match in _DIRECTIVE.finditer(data):
        at = match.start(1)
        code = _holding(blocks.code, at)
        if code is None and _holding(comments, at) is None:
            return front_end + len(data[:at].decode()), None
        if code is not None and code.info is not None and code.info.strip().lower() in _XML_FENCES:
            at, start, end = (front_end + len(data[:place].decode()) for place in (at, code.start, code.end))
            return at, (start, end)
    return None


def _holding(places: Sequence[T], at: int) -> T | None:
    """Return the place that contains ``at``, from places in order; each begins with its start and end."""
    index = bisect_right(places, at, key=itemgetter(0)) - 1
    return places[index] if index >= 0 and at < places[index][1] else None


def _flat(data: bytes) -> str:
    """Decode UTF-8 with one letter for each non-ASCII byte, so that offsets in the text are offsets in the bytes."""
    return data.translate(_TO_ASCII).decode("ascii")


def _line_end(flat: str, at: int) -> int:
    end = flat.find("\n", at)
    return end if end >= 0 else len(flat)


def _blocks(flat: str) -> _Blocks:
    """Find headings outside quotes, code and HTML in one pass over the events of CommonMark.

    A second block that looks like front matter is skipped, because CommonMark would read it as a heading of many lines.
    """
    if flat.startswith("---"):
        options = pyromark.Options.ENABLE_YAML_STYLE_METADATA_BLOCKS
        event, place = next(pyromark.events_with_range(flat, options=options))
        if event == _METADATA_BLOCK:
            flat = "\n" * place["end"] + flat[place["end"] :]
    blocks, quote_end = _Blocks([], [], [], []), 0
    for event, place in pyromark.events_with_range(flat, options=_tables(flat), merge_text=True):
        start, end = place["start"], place["end"]
        if "Code" in event:
            blocks.spans.append((start, end))
        if "Start" not in event:  # an event is a string, or a dict with one key
            continue
        tag: Any = event["Start"]  # type: ignore[index]
        if tag == "HtmlBlock":
            blocks.html.append((start, end))
        elif "Heading" in tag:
            if start >= quote_end and len(blocks.headings) < MAX_HEADINGS:
                level, last = int(tag["Heading"]["level"][1]), flat.rfind("\n", start, end - 1) + 1 or start
                blocks.headings.append((level, start, _line_end(flat, last)))
        elif "CodeBlock" in tag:
            info = None if tag["CodeBlock"] == "Indented" else tag["CodeBlock"]["Fenced"]
            blocks.code.append(_Code(start, end, info))
        elif "BlockQuote" in tag:
            quote_end = max(quote_end, end)
    return blocks


def in_code(text: str, places: Sequence[int]) -> list[bool]:
    """Return for each place of a text, in order, whether it lies in a block or a span of code."""
    blocks, byte = _blocks(_flat(text.encode())), 0
    is_code = []
    for start, end in pairwise((0, *places)):
        byte += len(text[start:end].encode())
        is_code.append(_holding(blocks.code, byte) is not None or _holding(blocks.spans, byte) is not None)
    return is_code


def _tables(text: str) -> pyromark.Options:
    return pyromark.Options.ENABLE_TABLES if "|" in text else pyromark.Options(0)


def _first_prose(text: str) -> str:
    """Return the words of the first paragraph, or list item, that has any.

    Images, markup and lines of a template language do not count as words.
    """
    words, images, is_prose = list[str](), 0, False
    for event in islice(pyromark.events(text, options=_tables(text)), _MAX_EVENTS):
        if isinstance(event, str):
            words.append(" ")
            continue
        kind, tag = next(iter(event.items()))
        name: Any = tag if isinstance(tag, str) else next(iter(cast("dict[str, Any]", tag)), "")
        if kind in ("Text", "Code"):
            words += [str(tag)] if is_prose and not images else []
        elif name == "Image":
            images += 1 if kind == "Start" else -1
        elif kind in ("Start", "End") and name not in _INLINE:
            prose = "".join(words).strip()
            if prose and not prose.startswith(("|", "{%", "{{")):
                return prose
            words, is_prose = [], kind == "Start" and name in ("Paragraph", "Item")
    return "".join(words).strip()


def _title(text: str) -> str:
    """Return the text of the first level-1 heading, in Markdown or, as on pages with a logo, in HTML."""
    if text.startswith("# "):
        return _heading_text(text.partition("\n")[0])
    data = text.encode()
    blocks = _blocks(_flat(data))
    first = next(((start, end) for level, start, end in blocks.headings if level == 1), (len(data), len(data)))
    for start, end in blocks.html:
        if start < first[0] and (match := _HTML_TITLE.search(data, start, min(end, start + _MAX_HTML_TITLE))):
            return " ".join(unescape(_TAG.sub(" ", str(match[1], "utf-8"))).split())
    return _heading_text(str(data[slice(*first)], "utf-8"))


def _sections(text: str, body_line: int) -> Iterator[Section]:
    data = text.encode()
    flat = _flat(data)
    headings = _blocks(flat).headings
    starts = [flat.rfind("\n", 0, start) + 1 for _, start, _ in headings] + [len(flat)]
    first = str(data[: starts[0]], "utf-8")
    if first.strip():
        begin, end = span = _without_blank_lines(first)
        yield Section((), 0, body_line, body_line + text.count("\n", 0, end), text[begin:end], 0, span)
    levels, path = [0], tuple[str, ...]()
    line, counted = body_line, 0
    place = len(first)  # offset of the section in the text; the other offsets count bytes
    for (level, start, end), begin, stop in zip(headings, starts, starts[1:], strict=False):
        while levels[-1] >= level:
            levels.pop()
        path = (*path[: len(levels) - 1], _heading_text(str(data[start:end], "utf-8")))
        levels.append(level)
        line += flat.count("\n", counted, start)
        lines = 1 + flat.count("\n", start, end)
        below = str(data[end + 1 : stop], "utf-8")
        after = place + len(str(data[begin:stop], "utf-8"))
        counted = end
        last = line + lines - 1
        low, high = _without_blank_lines(below)
        end_line = last + below.count("\n", 0, high) + 1 if low < high else last
        span = after - len(below) + low, after - len(below) + high
        yield Section(path, level, line, end_line, below[low:high], place + start - begin, span)
        line, place = last, after


def _without_blank_lines(text: str) -> tuple[int, int]:
    end = len(text.rstrip())
    return min(len(text) - len(text.lstrip("\n")), end), end


def _heading_text(block: str) -> str:
    """Return the text of an underlined heading as one line, or that of a marked one without its marks."""
    above, is_underlined, last = block.rpartition("\n")
    if is_underlined:
        return " ".join(map(str.strip, above.split("\n"))).strip()
    text = last.lstrip("#").strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _imports(text: str, body_line: int) -> Iterator[Import]:
    return (
        imported
        for imported in imports_in(text, body_line)
        if "/" in imported.path[2:] or _EXTENSION.search(imported.path)
    )


def imports_in(text: str, body_line: int) -> Iterator[Import]:
    """Yield the files that ``@path`` names outside code, and those in commands that a client runs while reading.

    A bare word such as ``@README`` is included, though it may be somebody's name.

    Args:
        text: Markdown.
        body_line: The 1-based line of its file on which it begins.
    """
    data = text.encode()
    paths = [match for match in islice(_AT_PATH.finditer(data), _MAX_IMPORTS) if _path_in(match[1])]
    commands = list(islice(_COMMAND.finditer(data), _MAX_IMPORTS))
    if not paths and not commands and b"`!" not in data and b"~!" not in data:
        return
    blocks = _blocks(_flat(data))
    hidden = sorted([*blocks.html, *(code[:2] for code in blocks.code)])
    for places, matches in ((hidden, commands), (hidden, paths), (blocks.spans, paths)):
        matches[:] = [match for match in matches if _holding(places, match.start()) is None]
    for code in blocks.code:
        if code.info and code.info.startswith("!"):
            commands += _COMMAND_LINE.finditer(data, code.start, code.end)
    named = [(match.start(1), match[1]) for match in paths]
    named += [(match.start(1), word) for match in commands for word in match[1].split()]
    line, counted = body_line, 0
    for at, word in sorted(named, key=itemgetter(0)):
        line, counted = line + data.count(b"\n", counted, at), at
        if path := _path_in(word):
            yield Import(path, line)


def files_named(text: str, *, links: bool) -> Iterator[str]:
    """Yield the paths that instructions may name outside code, in every reading that a client may have.

    Claude Code and Gemini CLI read ``@path``, in HTML and indented text too, up to white space without a backslash
    before it; what follows a ``#`` is left out, as is punctuation around it, on which they differ. VS Code and Cursor
    read Markdown links, ``#file:path`` and ``mdc:path``, Kiro ``#[[file:path]]``. Most of these paths are no files: an
    address, a package, a decorator.

    Args:
        text: A whole file of Markdown.
        links: Whether links to texts count too.
    """
    data = text.encode()
    if b"@" in data or b"file:" in data:
        blocks = _blocks(_flat(data))
        fences = [code for code in blocks.code if code.info is not None]
        for match in chain(_AT_WORD.finditer(data), _FILE_WORD.finditer(data)):
            if _holding(fences, match.start()) is None and _holding(blocks.spans, match.start()) is None:
                yield from _readings(str(match[1], "utf-8", "replace"))
    for event in pyromark.events(text, options=_tables(text)) if links and ("](" in text or "]:" in text) else ():
        if isinstance(event, dict) and isinstance(tag := event.get("Start"), dict) and "Link" in tag:
            path = re.split(r"[?#]", str(tag["Link"]["dest_url"]), maxsplit=1)[0].removeprefix("mdc:")
            yield from (read for read in {path, unquote(path)} if read.endswith(_PROSE))


def _readings(word: str) -> set[str]:
    """Return the paths that a word may stand for: with and without backslashes, cut before any punctuation."""
    if word[0] in "\"'":
        return {word[1:-1]}
    word, readings = word.lstrip("{[(<"), set[str]()
    for spelled in {word, _ESCAPED.sub(r"\1", word), word.replace("\\ ", " ")}:
        ends = [match.start() for match in _END.finditer(spelled)]
        cuts = {*ends[:_MOST_ENDS], *ends[-_MOST_ENDS:], len(spelled)}
        readings |= {spelled[:cut] for cut in cuts}
    return readings - {""}


def _path_in(word: bytes) -> str:
    """Return the path that a word spells, with ``./`` before a relative one; empty if it is not a path."""
    path = str(word, "utf-8").lstrip("\"'([<").rstrip("\"')]>.,;:!?")
    if not _PATH.fullmatch(path):
        return ""
    return path if path.startswith(("./", "../", "/", "~/")) else f"./{path}"

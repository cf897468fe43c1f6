"""Reads Markdown items: their metadata, body, sections and imports. Blocks are those of CommonMark, with tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

import pyromark

from rye.errors import ItemError
from rye.items.front_matter import FrontMatter, read_block, skip_comments
from rye.items.model import Draft, Import, ItemType, Section
from rye.items.values import cut_blank_head

MAX_HEADINGS = 10_000
"""Most headings of one file that open a section; what follows the last of them belongs to it."""
_MAX_IMPORTS = 10_000
_MAX_EVENTS = 5_000
"""Events within which the first paragraph ends."""
_METADATA_BLOCK = {"Start": {"MetadataBlock": "YamlStyle"}}
_INLINE = frozenset({"Emphasis", "Strong", "Link", "Image"})
_STATED_IN_FENCE = frozenset({"name", "title", "description", "category", "version"})
_XML_FENCES = frozenset({"", "html", "markup", "xml"})
_DIRECTIVE = re.compile(rb"^[ \t]*+(<directive)(?=[\s>/])", re.MULTILINE)
_AT_PATH = re.compile(rb"@(?<![^\s(\[\"']@)([^\s@`]++)")
_COMMAND = re.compile(rb"!(?<!\S!)`([^`\n]++)`")
_COMMAND_LINE = re.compile(rb"\n([^\n]++)")
_PATH = re.compile(r"(?<!.)[\w~./][^\s:*?<>|{}$\\,;=]*+")
_EXTENSION = re.compile(r"\w\.[A-Za-z]\w{0,9}\Z")


class _Code(NamedTuple):
    """A code block: its place in bytes, and what follows the marks of its fence; None where it is indented."""

    start: int
    end: int
    info: str | None


class _Outline(NamedTuple):
    """What one pass over the events of a text finds; places are bytes of its UTF-8 form."""

    headings: list[tuple[int, int, int]]  # level, start, end
    code: list[_Code]
    html: list[tuple[int, int]]
    prose: str


def read_markdown(text: str, item_type: ItemType) -> Draft:
    """Read a ``.md`` item: front matter in ``---`` or a ``yaml`` fence, and for directives the XML block."""
    text, block = read_metadata(text, item_type)
    body, line = cut_blank_head(text, block.end)
    data, outline = body.encode(), _outline(body)
    sections = tuple(_sections(data, line, outline.headings))
    return Draft(
        metadata=block.values,
        body=body,
        body_line=line,
        sections=sections,
        imports=tuple(_imports(data, line, outline)) if item_type is ItemType.DIRECTIVE else (),
        heading=next((section.heading_path[-1] for section in sections if section.level == 1), ""),
        paragraph=outline.prose,
        note=block.note,
    )


def read_metadata(text: str, item_type: ItemType) -> tuple[str, FrontMatter]:
    """Return the metadata of a file, and its text, of which that in XML and in a later fence is blanked."""
    start = skip_comments(text)
    block = read_block(text, start)
    if item_type is ItemType.DIRECTIVE:
        if found := _read_xml(text, block or FrontMatter({}, start)):
            return found
        if block is None and (found := _read_later_fence(text, start)):
            return found
    return text, block or FrontMatter({}, start)


def _read_later_fence(text: str, start: int) -> tuple[str, FrontMatter] | None:
    """Take the first fence of a directive that has no other metadata, below its title, if it states metadata."""
    if "yaml" not in text and "yml" not in text:
        return None
    data = text[start:].encode()
    fence = next((code.start for code in _outline(text[start:]).code if code.info is not None), None)
    begin = start + len(data[:fence].decode())
    try:
        block = read_block(text, begin) if fence is not None else None
    except ItemError:
        return None  # an example
    if block is None or _STATED_IN_FENCE.isdisjoint(block.values):
        return None
    return text[:begin] + _blank(text[begin : block.end]) + text[block.end :], block._replace(end=start)


def _read_xml(text: str, front: FrontMatter) -> tuple[str, FrontMatter] | None:
    """Add the XML block of a directive to its front matter; None when there is no such block."""
    if "<directive" not in text:
        return None
    from rye.items import directive_xml

    data, shift = text[front.end :].encode(), front.end
    place = _locate_directive(data, _outline(text[front.end :]))
    if place is None:
        return None
    start, fence = shift + len(data[: place[0]].decode()), place[1]
    begin, close, end = start, len(text), len(text)
    if fence:
        begin, end = (shift + len(data[:at].decode()) for at in (fence.start, fence.end))
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
    """Return the line breaks of a text alone, so that what follows keeps its line."""
    return "\n" * block.count("\n")


def _locate_directive(data: bytes, outline: _Outline) -> tuple[int, _Code | None] | None:
    """Return where ``<directive`` begins a line, bare or in a fence of XML, and that fence."""
    comments = [place for place in outline.html if data.startswith(b"<!--", place[0])]
    for match in _DIRECTIVE.finditer(data):
        at = match.start(1)
        index = _holding(outline.code, at)
        if index < 0 and _holding(comments, at) < 0:
            return at, None
        info = outline.code[index].info if index >= 0 else None
        if info is not None and info.strip().lower() in _XML_FENCES:
            return at, outline.code[index]
    return None


def _holding(places: Sequence[tuple[Any, ...]], at: int) -> int:
    """Return the index of the place that holds ``at``, of places in order that begin with start and end; else -1."""
    index = bisect_right(places, at, key=lambda place: place[0]) - 1
    return index if index >= 0 and at < places[index][1] else -1


def _outline(text: str) -> _Outline:
    """Find headings, code, HTML and the first paragraph in one pass over the events of CommonMark.

    A heading in a quote belongs to another text and opens no section. What looks like front matter, below the one that
    was read, is none to CommonMark: it would be a heading of many lines.
    """
    if text.startswith("---"):
        options = pyromark.Options.ENABLE_YAML_STYLE_METADATA_BLOCKS
        event, place = next(pyromark.events_with_range(text, options=options))
        if event == _METADATA_BLOCK:
            text = "\n" * place["end"] + text.encode()[place["end"] :].decode()
    options = pyromark.Options.ENABLE_TABLES if "|" in text else pyromark.Options(0)
    events = pyromark.events_with_range(text, options=options, merge_text=True)
    head, prose = _first_prose(events)
    outline, quote_end = _Outline([], [], [], prose), 0
    for event, place in chain(head, events):
        if "Start" not in event:  # an event is a text, or a dict with one key
            continue
        tag: Any = event["Start"]
        if tag.__class__ is str:
            if tag == "HtmlBlock":
                outline.html.append((place["start"], place["end"]))
        elif "Heading" in tag:
            if place["start"] >= quote_end and len(outline.headings) < MAX_HEADINGS:
                outline.headings.append((int(tag["Heading"]["level"][1]), place["start"], place["end"]))
        elif "CodeBlock" in tag:
            info = None if tag["CodeBlock"] == "Indented" else tag["CodeBlock"]["Fenced"]
            outline.code.append(_Code(place["start"], place["end"], info))
        elif "BlockQuote" in tag:
            quote_end = max(quote_end, place["end"])
    return outline


def _first_prose(events: Iterator[Any]) -> tuple[list[Any], str]:
    """Return the events up to the end of the first paragraph, or item of a list, with words, and these words.

    Images and markup have none, and a line of a template language is none.
    """
    head, words, images, is_prose = list[Any](), list[str](), 0, False
    for pair in islice(events, _MAX_EVENTS):
        head.append(pair)
        if pair[0].__class__ is str:
            words.append(" ")
            continue
        ((kind, tag),) = pair[0].items()
        name = tag if tag.__class__ is str else next(iter(tag), "")
        if kind in ("Text", "Code"):
            words += [tag] if is_prose and not images else []
        elif name == "Image":
            images += 1 if kind == "Start" else -1
        elif kind in ("Start", "End") and name not in _INLINE:
            prose = "".join(words).strip()
            if prose and not prose.startswith(("|", "{%", "{{")):
                return head, prose
            words, is_prose = [], kind == "Start" and name in ("Paragraph", "Item")
    return head, "".join(words).strip()


def _sections(data: bytes, body_line: int, headings: list[tuple[int, int, int]]) -> Iterator[Section]:
    starts = [data.rfind(b"\n", 0, start) + 1 for _, start, _ in headings] + [len(data)]
    first = str(data[: starts[0]], "utf-8")
    if first.strip():
        yield Section((), 0, body_line, body_line + first.rstrip().count("\n"), first.strip("\n"))
    levels, path = [0], tuple[str, ...]()
    line, counted = body_line, 0
    for (level, start, end), line_start, stop in zip(headings, starts, starts[1:], strict=False):
        while levels[-1] >= level:
            levels.pop()
        block = str(data[start:end], "utf-8").rstrip("\n")
        path = (*path[: len(levels) - 1], _heading_text(block))
        levels.append(level)
        line, counted = line + data.count(b"\n", counted, line_start), line_start
        lines = 1 + block.count("\n")
        own = str(data[end:stop], "utf-8").rstrip()
        end_line = line + lines - 1 + (own.count("\n") + 1 if own else 0)
        yield Section(path, level, line, end_line, own.strip("\n"), lines)


def _heading_text(block: str) -> str:
    """Return the text of an underlined heading as one line, or that of a marked one without its marks."""
    above, is_underlined, last = block.rpartition("\n")
    if is_underlined:
        return " ".join(map(str.strip, above.split("\n"))).strip()
    text = last.lstrip("#").strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _imports(data: bytes, body_line: int, outline: _Outline) -> Iterator[Import]:
    """Yield the files that ``@path`` names outside code, and those in commands that a client runs as it reads."""
    hidden = sorted([place[:2] for place in chain(outline.html, outline.code)])
    shown = [match for match in islice(_AT_PATH.finditer(data), _MAX_IMPORTS) if _holding(hidden, match.start()) < 0]
    if shown:
        events = pyromark.events_with_range(data.decode())
        spans = [(place["start"], place["end"]) for event, place in events if "Code" in event]
        shown = [match for match in shown if _holding(spans, match.start()) < 0]
    places = [(match.start(1), match[1]) for match in shown]
    commands = [match for match in islice(_COMMAND.finditer(data), _MAX_IMPORTS) if _holding(hidden, match.start()) < 0]
    for code in outline.code:
        if code.info and code.info.startswith("!"):
            commands += _COMMAND_LINE.finditer(data, code.start, code.end)
    places += [(match.start(1), word) for match in commands for word in match[1].split()]
    line, counted = body_line, 0
    for at, word in sorted(places, key=itemgetter(0)):
        line, counted = line + data.count(b"\n", counted, at), at
        if path := _path_in(str(word, "utf-8")):
            yield Import(path, line)


def _path_in(word: str) -> str:
    """Return the path that a word spells, with ``./`` before a relative one; empty where it spells none."""
    path = word.lstrip("\"'([<").rstrip("\"')]>.,;:!?")
    if not _PATH.fullmatch(path) or not ("/" in path or _EXTENSION.search(path)):
        return ""
    return path if path.startswith(("./", "../", "/", "~/")) else f"./{path}"

"""Reads Markdown items: their metadata, body and sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from rye.errors import ItemError
from rye.items.model import STATED_KEYS, Draft, ItemType, Section
from rye.items.values import cut_blank_head, line_of

_NOISE = re.compile(r"(?:[ \t]*+(?:<!--(?:[^-]|-(?!->))*+-->|-->)?+[ \t]*+\n)*+")
_OPENING = re.compile(r"\s*+(---(?=[ \t]*\n)|(?:`{3,}|~{3,})(?=[ \t]*ya?ml[ \t]*\n))[^\n]*\n", re.IGNORECASE)
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_LETTERS = rb"\x80-\xc1\xc3-\xe1\xe3-\xee\xf0-\xff]++|\xc2(?![\x80-\x9f])|\xe2(?!\x80[\xa8\xa9])"
_TEXT = rb"[ -~" + _LETTERS  # no control, no line separator, no byte order mark
_SCALAR = rb"(?:[\w/.(](?:[ -9;-~" + _LETTERS + rb'|:(?=[^ \n]))*+|"[ !#-\[\]-~]*+")'
_FOLDED = rb"[>|]-?(?:\n  [!-~](?:" + _TEXT + rb")*+|\n(?=\n))++"
_KEY = rb"[A-Za-z_][\w-]*+:"
_BELOW = rb"(?:\n  - " + _SCALAR + rb")++|(?:\n- " + _SCALAR + rb")++|(?:\n  " + _KEY + b" " + _SCALAR + rb")++"
_ENTRY = _KEY + rb"(?: (?:" + _SCALAR + b"|" + _FOLDED + b")|" + _BELOW + rb")?\n"
_PLAIN_YAML = re.compile(rb"(?:\xef\xbb\xbf)?(?:<!-- rye[ -~]*-->\n)?---\n(?:# [ -~]*+\n)*+(?:" + _ENTRY + rb")++---\n")
"""Front matter that is YAML for certain: simple values, lists and tables of them, text. What does not match may be."""
_STATES_METADATA = re.compile(r"^(?:name|title|description|category|version)[ \t]*:", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*+(?:(`{3,}|~{3,})([^\n]*)|(<directive)(?=[\s>/]))", re.MULTILINE)
_XML_FENCES = frozenset({"", "html", "markup", "xml"})
_BLOCK = re.compile(
    r"\n {0,3}(?:(#{1,6})(?:[ \t]+([^\n]*))?$|(`{3,}|~{3,})([^\n]*)|(=++|-++)[ \t]*+$|(<!--))",
    re.MULTILINE,
)
"""In text with a newline before it, so that places are those of the text less one; ``^`` would be tried everywhere."""
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_NO_PARAGRAPH = re.compile(
    r" {0,3}(?:>|(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)|<(?!\w++://|mailto:)[A-Za-z/!?]|\||:?-+:?[ \t]*\||\[[^\]]+\]:)"
)
"""A line that begins a quote, a list, markup, a table or a definition, none of which is underlined as a heading."""

_NOWHERE, _ELSEWHERE = -1, -2
"""In place of where a paragraph began: there is none, or what is there until the next blank line is none."""

MAX_HEADINGS = 10_000
"""How many headings of one file open a section; what follows the last of them belongs to it."""

_PARAGRAPH_WINDOW = 20_000
_NO_PROSE = re.compile(r"<!--|\||[-*_=][ \t]*(?:[-*_=][ \t]*){2,}$|</?[\w.:-]++[^<>]*+>$|\[?!\[|\{[%{]|\[[^\]]+\]:")
_ITEM_MARK = re.compile(r"(?:>[ \t]?|[-*+][ \t]+|\d{1,3}[.)][ \t]+)")


class _Metadata(NamedTuple):
    """The values of a metadata block, the text with that block blanked line by line, and why it is not YAML."""

    values: Mapping[str, Any]
    rest: str
    note: str = ""


class _Heading(NamedTuple):
    """A heading and its place in the body: its 0-based line, how many it has, and their span."""

    level: int
    text: str
    line: int
    lines: int
    start: int
    end: int


def read_markdown(text: str, item_type: ItemType) -> Draft:
    """Read a ``.md`` item: front matter in ``---`` or a ``yaml`` fence, and for directives the XML block."""
    found = _find_metadata(text, item_type)
    body, line = cut_blank_head(found.rest)
    headings = tuple(islice(_headings(body), MAX_HEADINGS))
    return Draft(
        metadata=found.values,
        body=body,
        body_line=line,
        sections=tuple(_sections(body, line, headings)),
        heading=next((heading.text for heading in headings if heading.level == 1), ""),
        paragraph=_first_prose(body, headings),
        note=found.note,
    )


def read_markdown_metadata(text: str, item_type: ItemType) -> Mapping[str, Any]:
    """Return the metadata that :func:`read_markdown` finds, without reading the rest."""
    return _find_metadata(text, item_type).values


def is_plainly_yaml(data: bytes) -> bool:
    """Return whether Markdown begins with front matter of a form that is always YAML, or has no mark of metadata."""
    if _PLAIN_YAML.match(data) is not None:
        return True
    return not any(mark in data for mark in (b"---", b"```", b"~~~"))


def note_on_metadata(text: str, item_type: ItemType) -> str:
    """Return the note that :func:`read_markdown` gives, without reading the rest."""
    return _find_metadata(text, item_type).note


def read_front_matter(text: str) -> dict[str, Any]:
    """Return the front matter with which a text begins, by strict YAML, as every client of agents reads it.

    Raises:
        ItemError: ``unparsable``, and as :func:`rye.items.yaml_safe.load`.
    """
    from rye.items import yaml_safe

    opening = _OPENING.match(text) if text.startswith("---") else None
    closing = re.compile(r"^---[ \t]*$", re.MULTILINE).search(text, opening.end()) if opening else None
    values = None
    if opening and closing:
        values = yaml_safe.load(text[opening.end() : closing.start()], first_line=2, unambiguous=True)
    if not isinstance(values, dict):
        raise ItemError("unparsable", "the file does not begin with front matter", hint="begin it with a line of ---")
    return values


def _find_metadata(text: str, item_type: ItemType) -> _Metadata:
    noise = _NOISE.match(text)
    start = noise.end() if noise else 0
    text = "\n" * text.count("\n", 0, start) + text[start:]
    found = _yaml(text, _OPENING.match(text))
    if item_type is ItemType.DIRECTIVE:
        found = _directive(found) if found else _directive(_Metadata({}, text)) or _later_fence(text)
    return found or _Metadata({}, text)


def _later_fence(text: str) -> _Metadata | None:
    """Take the first fence of a directive that has no other metadata, below its title, if it looks like metadata."""
    first = re.search(r"^(?:`{3,}|~{3,})", text, re.MULTILINE)
    opening = _OPENING.match(text, first.start()) if first else None
    return _yaml(text, opening) if opening and _STATES_METADATA.search(text, opening.end()) else None


def _yaml(text: str, opening: re.Match[str] | None) -> _Metadata | None:
    """Read the YAML from an opening mark to the one that closes it; a block that is no mapping is ordinary text."""
    closing = _closing(text, opening.end(), opening[1]) if opening else None
    if opening is None or closing is None:
        return None
    from rye.items import yaml_safe

    source = text[opening.end() : closing[0]]
    note = ""
    try:
        values = yaml_safe.load(source, as_text=STATED_KEYS, first_line=line_of(text, opening.end()))
    except ItemError as error:
        values = yaml_safe.load_lines(source, as_text=STATED_KEYS) if error.code == "unparsable" else None
        if values is None:
            raise
        note = f"the metadata is not YAML, and was read line by line: {error.message}"
    if values is None and not source.strip():
        values = {}
    if not isinstance(values, dict):
        return None
    rest = text[: opening.start()] + _blank(text[opening.start() : closing[1]]) + text[closing[1] :]
    return _Metadata(values, rest, note)


def _closing(text: str, start: int, mark: str) -> tuple[int, int] | None:
    """Return the span of the line that closes front matter, or a fence: its mark at least as often, nothing else."""
    fence = rf"(?m)^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$"
    end = _FRONT_MATTER_END if mark == "---" else re.compile(fence)
    closing = end.search(text, start)
    return closing.span() if closing else None


def _blank(block: str) -> str:
    return "\n" * block.count("\n")


def _directive(found: _Metadata) -> _Metadata | None:
    """Add the XML block of a directive to the metadata found so far; None when there is neither."""
    without = found if found.values else None
    place = _locate_directive(found.rest)
    return _xml(found, *place) or without if place else without


def _locate_directive(text: str) -> tuple[int, tuple[str, int] | None] | None:
    """Return where ``<directive`` begins a line, bare or in an XML fence, and that fence's mark and start."""
    if "<directive" not in text:
        return None
    fence: tuple[str, int] | None = None
    readable = True
    for match in _DIRECTIVE.finditer(text):
        mark, info, opening = match.groups()
        if opening:
            if readable:
                return match.start(3), fence
        elif fence is None:
            fence = (mark, match.start())
            readable = info.strip().lower() in _XML_FENCES
        elif mark.startswith(fence[0]) and not info.strip():
            fence, readable = None, True
    return None


def _xml(found: _Metadata, start: int, fence: tuple[str, int] | None) -> _Metadata | None:
    from rye.items.directive_xml import read_block

    text = found.rest
    closing = _closing(text, start, fence[0]) if fence else None
    block = read_block(text, start, closing[0]) if closing else None
    block = block or read_block(text, start, len(text))
    if block is None:
        return None
    begin = fence[1] if fence else start
    alone = closing is not None and block.end <= closing[0] and not text[block.end : closing[0]].strip()
    end = closing[1] if closing and alone else block.end
    body = _blank(text[begin:start]) + block.text + _blank(text[block.end : end])
    return _Metadata({**found.values, **block.metadata}, text[:begin] + body + text[end:], found.note)


def _headings(body: str) -> Iterator[_Heading]:
    """Yield the headings outside fences and comments, marked by ``#`` or underlined; lines are 0-based.

    Only where something is underlined is the paragraph above it looked for: from the last blank line, or the last mark,
    on, so that no line is looked at twice.
    """
    fence, begin = "", _NOWHERE
    line = counted = seen = 0
    for match in _BLOCK.finditer(f"\n{body}"):
        start, end = match.start(), match.end() - 1  # of the line, and in the body
        if start < seen:
            continue  # in a comment
        marks, text, mark, info, underline, comment = match.groups()
        if comment:
            if not fence:
                seen, begin = _after_comment(body, match.start(6) - 1), _NOWHERE
            continue
        level = 0 if fence else len(marks or "")
        if underline and not fence:
            above = _paragraph(body, seen, start, begin)
            if above >= 0 and not _closes_metadata(body, above, underline):
                text = " ".join(map(str.strip, body[above:start].split("\n"))).strip()
                start, level = above, 1 if underline[0] == "=" else 2
        elif mark and not fence and mark[0] == "`" and "`" in info:
            continue  # a span of code in a paragraph
        if level:
            line += body.count("\n", counted, start)
            counted = start
            lines = 1 + body.count("\n", start, end)
            yield _Heading(level, text if underline else _heading_text(text or ""), line, lines, start, end)
        begin = _after(underline, above, start) if underline and not fence and not level else _NOWHERE
        if fence and mark and mark.startswith(fence) and not info.strip():
            fence = ""
        elif mark and not fence:
            fence = mark
        seen = end + 1


def _after_comment(body: str, start: int) -> int:
    """Return where the next line begins after the one with the end of a comment; without an end, that of the text."""
    stop = body.find("-->", start + len("<!"))
    line = body.find("\n", stop) if stop >= 0 else -1
    return line + 1 if line >= 0 else len(body) + 1


def _paragraph(body: str, seen: int, stop: int, begin: int) -> int:
    """Return where the paragraph began that ends at ``stop``; ``begin`` is the same for ``seen``."""
    blank = body.rfind("\n\n", seen, stop)
    if blank >= 0:
        seen, begin = blank + 2, _NOWHERE
    for line in body[seen : stop - 1].split("\n") if seen < stop else ():
        if not line.strip() or _RULE.fullmatch(line):
            begin = _NOWHERE
        elif _NO_PARAGRAPH.match(line):
            begin = _ELSEWHERE
        elif begin == _NOWHERE and not line.startswith(("    ", "\t")):
            begin = seen
        seen += len(line) + 1
    return begin


def _after(underline: str, above: int, start: int) -> int:
    """Return where the paragraph begins that a line of ``=`` or ``-`` belongs to, which makes no heading."""
    if underline[0] == "-" and len(underline) != len("--"):
        return _ELSEWHERE if underline == "-" else _NOWHERE  # a list, or a rule
    return start if above == _NOWHERE else above


def _closes_metadata(body: str, above: int, underline: str) -> bool:
    """Return whether what is underlined stands directly below a ``---`` that begins the text: it is no heading."""
    return underline[0] == "-" and body.startswith("---") and not body[3 : above - 1].strip(" \t")


def _heading_text(text: str) -> str:
    """Return a heading's text without the closing marks it may have."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _sections(body: str, body_line: int, headings: tuple[_Heading, ...]) -> Iterator[Section]:
    first = body[: headings[0].start] if headings else body
    if first.strip():
        yield Section((), 0, body_line, body_line + first.rstrip().count("\n"), first.strip("\n"))
    path: list[_Heading] = []
    for index, heading in enumerate(headings):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        stop = headings[index + 1].start if index + 1 < len(headings) else len(body)
        own = body[heading.end : stop].rstrip()
        line, above = body_line + heading.line, heading.lines
        end_line, names = line + above - 1 + own.count("\n"), tuple(one.text for one in path)
        yield Section(names, heading.level, line, end_line, own.strip("\n"), above)


def _first_prose(body: str, headings: tuple[_Heading, ...]) -> str:
    """Return the first paragraph that is neither heading, fence, table, markup nor comment."""
    prose: list[str] = []
    fence, in_comment = "", False
    named = {heading.line + each for heading in headings for each in range(heading.lines)}
    for number, raw in enumerate(body[:_PARAGRAPH_WINDOW].split("\n")):
        line = "" if number in named else raw.strip()
        if in_comment or (line.startswith("<!--") and not fence):
            in_comment = "-->" not in line[0 if in_comment else len("<!") :]
            line = ""
        if fence:
            if line.startswith(fence):
                fence = ""
            continue
        if line.startswith(("```", "~~~")):
            fence = line[:3]
        if not line or fence or line[0] == "#" or _NO_PROSE.match(line):
            if prose:
                break
            continue
        if mark := _ITEM_MARK.match(line):
            if prose and line[0] != ">":
                break
            line = line[mark.end() :]
        prose.append(line)
    return " ".join(prose)

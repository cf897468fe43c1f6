r"""Finds and reads the metadata block of a Markdown file: front matter in ``---`` or a ``yaml`` fence.

Front matter is often not valid YAML. :func:`load_lines` reads it line by line, as the authors' own programs do.

    >>> load_lines("name: pdf\ndescription: Use it: now")
    {'name': 'pdf', 'description': 'Use it: now'}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import dedent
from typing import Any, NamedTuple

from rye.errors import ItemError
from rye.items import yaml
from rye.items.guarded import MAX_CHARS
from rye.items.model import STATED_KEYS
from rye.items.values import clean, line_of

_OPENING = re.compile(r"(?<![ \t])[ \t]*+(?:---|(`{3,}+|~{3,}+)[ \t]*+ya?ml)[ \t]*+\n", re.IGNORECASE)
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.)[ \t]*+$", re.MULTILINE)
_CUT = re.compile(r"(?<![ \t])[ \t]++#[^\s#!]")
_BLANK_LINE = re.compile(r"[ \t]*+\n")
_BELOW = re.compile(r"^(?:[ \t]*+$|#{1,6}[ \t])", re.MULTILINE)
_HEADING = re.compile(r"\n[ \t]*+\n#{1,6}[ \t]")
_NON_ASCII_SPACE = re.compile(r"^([^\W\d][\w.-]*+:)[^\S\x00-\x7f]++", re.MULTILINE)
_PATTERNS = re.compile(r"^(?:applyTo|globs|paths):[^\n]*+(?:\n[ \t]*+-[ \t][^\n]*+)*+", re.MULTILINE)
"""An entry with file patterns such as ``*.json``, which clients read as text."""
_PATTERN = re.compile(r"^(\w++:[ \t]++|[ \t]*+-[ \t]++)([!%&*@{][^\n]*+)", re.MULTILINE)

_NOT_YAML = "the metadata is not YAML, and was read line by line: "
STATED_ABOVE = frozenset({"name", "title", "description", "category", "version"})
"""Text that nothing else marks as metadata must contain one of these keys."""


class FrontMatter(NamedTuple):
    """The values of a metadata block, the offset where the text continues, and a note on how the block was read."""

    values: Mapping[str, Any]
    end: int
    note: str = ""


def skip_comments(text: str) -> int:
    """Return the offset of the first line that is neither blank nor part of an HTML comment."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        line = text[start:end].strip(" \t")
        if line.startswith("<!--"):
            close = text.find("-->", text.index("<!--", start) + len("<!"))
            end = text.find("\n", close)
            if close < 0 or end < 0 or text[close + len("-->") : end].strip(" \t"):
                break
        elif line not in ("", "-->"):
            break
        start = end + 1
    return start


def read_block(text: str, start: int = 0) -> FrontMatter | None:
    """Read the metadata block that begins on the line at ``start``; None if there is no such block.

    Raises:
        ItemError: As :func:`rye.items.yaml.load`, for a block that cannot be read line by line either.
    """
    opening = _OPENING.match(text, start)
    if opening is None:
        return None
    fence, begin = opening[1], opening.end()
    end_of_fence = fence and rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$"
    closing = (re.compile(end_of_fence, re.MULTILINE) if fence else _FRONT_MATTER_END).search(text, begin)
    if closing is None:
        return None if fence else _read_unclosed(text, begin)
    source = text[begin : closing.start()]
    values, note = _values(source, line_of(text, begin))
    heading = _HEADING.search(source) if note.startswith(_NOT_YAML) and not fence else None
    if heading and not _KEY.search(source, heading.end()):  # the closing --- is a rule in the text
        return _read_unclosed(text, begin) or FrontMatter(values, closing.end(), note)
    return FrontMatter(values, closing.end(), note) if isinstance(values, dict) else None


def _read_unclosed(text: str, begin: int) -> FrontMatter | None:
    """Read unclosed front matter, up to a blank line or a heading; None unless it contains metadata keys."""
    blank = _BLANK_LINE.match(text, begin)
    start = blank.end() if blank else begin
    below = _BELOW.search(text, start)
    end = below.start() if below else len(text)
    try:
        values, _ = _values(text[start:end], 1)
    except ItemError:
        return None
    if not isinstance(values, dict) or STATED_ABOVE.isdisjoint(values):
        return None
    line = line_of(text, begin) - 1
    return FrontMatter(values, end, f"line {line}: the front matter is never closed; write a line of --- below it")


def _values(source: str, first_line: int) -> tuple[Any, str]:
    """Return the values of a metadata block, and a note if clients may read it differently."""
    try:
        values = yaml.load(source, as_text=STATED_KEYS, first_line=first_line, unambiguous=True)
        if isinstance(values, dict):
            return values, _note_on_cut_values(source, first_line) if _CUT.search(source) else ""
        refusal = None
    except ItemError as error:
        if error.code != "unparsable":
            raise
        refusal = error
    spaced = _NON_ASCII_SPACE.search(source)
    repaired = _NON_ASCII_SPACE.sub(r"\1 ", source)
    repaired = _PATTERNS.sub(lambda entry: _PATTERN.sub(_quoted, entry[0]), repaired)
    if repaired != source:
        values, note = _values(repaired, first_line)
        line = first_line + source.count("\n", 0, spaced.start()) if spaced else 0
        return values, f"line {line}: a no-break space follows {spaced[1]!r}; write a plain space" if spaced else note
    if refusal is None:
        return values if source.strip() else {}, ""
    try:
        return yaml.load(source, as_text=STATED_KEYS, first_line=first_line), refusal.message  # such as a key twice
    except ItemError as error:
        lines = load_lines(source, as_text=STATED_KEYS) if error.code == "unparsable" else None
        if lines is None:
            raise
        return lines, f"{_NOT_YAML}{refusal.message}"


def _quoted(pattern: re.Match[str]) -> str:
    text = pattern[2].rstrip().replace("'", "''")
    return f"{pattern[1]}'{text}'"


def _note_on_cut_values(source: str, first_line: int) -> str:
    """Return a note on the first plain value that YAML cuts at ``#`` though no comment seems to be meant.

    Comments have a space after their ``#``; ``#deployments`` is more likely the name of a channel.
    """
    root, lines = yaml.compose(source, first_line), source.split("\n")
    for key, value in root.value if isinstance(root.value, list) and root.id == "mapping" else ():
        for node in value.value if value.id == "sequence" else (value,):
            if node.tag == yaml.PLAIN and _CUT.match(lines[node.end_mark.line], node.end_mark.column):
                name, line = clean(str(key.value))[:80], first_line + node.end_mark.line
                return (
                    f"line {line}: YAML cuts the value of {name!r} at ' #'; to keep the rest, write it in quotes: \"…\""
                )
    return ""


def read_front_matter(text: str) -> dict[str, Any]:
    """Return the front matter at the beginning of a text, read as strict YAML, as every client does.

    Raises:
        ItemError: ``unparsable``, and as :func:`rye.items.yaml.load`.
    """
    first, _, rest = text.partition("\n")
    closing = re.compile(r"^---[ \t]*$", re.MULTILINE).search(rest) if first.rstrip(" \t") == "---" else None
    values = yaml.load(rest[: closing.start()], first_line=2, unambiguous=True) if closing else None
    if not isinstance(values, dict):
        raise ItemError("unparsable", "the file does not begin with front matter", hint="begin it with a line of ---")
    return values


_MOST_LINES = 5_000
"""Maximum number of lines of metadata that is read line by line."""
_MOST_LEVELS = 4
"""Maximum nesting of tables in it."""

_KEY = re.compile(r"(?<!.)([^\W\d][\w.-]*+|\"[^\"\n]++\"|'[^'\n]++')[ \t]*+:(?!//)(.*)")
_BLOCK_SCALAR = re.compile(r"([|>])[-+1-9]{0,2}(?:[ \t]+|$)")


def load_lines(text: str, *, as_text: frozenset[str] = frozenset(), level: int = 0) -> dict[str, Any] | None:
    """Read metadata that is not YAML line by line; None if it does not begin with a key, or is too long.

    An entry is an unindented line ``key: value`` with the lines up to the next entry. An entry that is valid YAML by
    itself has its YAML value. Otherwise its value is the text after the colon, on all its lines: quotes around it are
    removed, ``>`` and ``|`` work as in YAML though text may follow them, and a key alone may be followed by a list or a
    table. Of duplicate keys the last wins. Unindented comments are left out.
    """
    lines = text.split("\n")
    if len(lines) > _MOST_LINES or len(text) > MAX_CHARS:
        return None
    entries: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("#"):
            continue
        if key := _KEY.fullmatch(line):
            entries.append((key[1].strip("\"'"), [key[2]]))
        elif entries:
            entries[-1][1].append(line)
        elif line.strip():
            return None
    return {clean(key): _entry(key, value, as_text, level) for key, value in entries} if entries else None


def _entry(key: str, lines: list[str], as_text: frozenset[str], level: int) -> Any:
    """Return the value of an entry: the text after its colon, and the lines below."""
    try:
        source = "\n".join([f"k: {lines[0]}", *lines[1:], ""])
        table = yaml.load(source, as_text=frozenset({"k"} if key in as_text else ()), aliases=False)
        if isinstance(table, dict) and len(table) == 1:
            return table["k"]
    except ItemError:
        pass  # it is text
    first, below = lines[0].strip(), dedent("\n".join(line.expandtabs() for line in lines[1:])).strip("\n")
    if block := _BLOCK_SCALAR.match(first):
        text = f"{first[block.end() :]}\n{below}".strip("\n").rstrip()
        return clean(text if block[1] == "|" else re.sub(r"(?<!\n)\n(?!\n)", " ", text).replace("\n\n", "\n"))
    if not first and below.startswith("- "):
        return [_unquoted(entry) for entry in re.split(r"^- ", below, flags=re.MULTILINE)[1:]]
    if not first and level < _MOST_LEVELS and (nested := load_lines(below, level=level + 1)):
        return nested
    return _unquoted(f"{first}\n{below}")


def _unquoted(text: str) -> str:
    line = clean(" ".join(text.split()))
    if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'":
        quote, line = line[0], line[1:-1]
        line = line.replace("''", "'") if quote == "'" else line.replace('\\"', '"')
    return line

"""Finds text in a file that a reader does not see but an agent reads; it may contain instructions.

Each kind has one rule, designed not to match emoji, right-to-left scripts, and comments for tools:

- ``tags``: characters of plane 14, except in the flag of a region (U+1F3F4, 3 to 6 tags, the end tag).
- ``direction``: an override of the writing direction; an embedding or isolate in a line without letters of a
  right-to-left script.
- ``zero-width``: three or more consecutive characters that show nothing: zero-width ones, fillers, blanks of Braille.
- ``selectors``: variation selectors that no emoji, symbol or ideograph takes, or several of them.
- ``comment``: an HTML or Markdown comment outside code that instructs an agent.
- ``markup``: an HTML element with text that its style hides.

What counts is what a client reads: the escapes of JSON, TOML and YAML, also in front matter, and the character
references of directives in XML are resolved first. A text that is not UTF-8, or too large, cannot be looked at, and is
named. A binary file, such as an image, is not read as text: its extension says so, or it has a NUL byte and an
extension that is not a text's. If it is UTF-8, it is looked at whatever its name is.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from itertools import chain, compress, islice
from operator import itemgetter, not_
from typing import NamedTuple

from rye._text import inline
from rye.items.markdown import in_code
from rye.items.values import shorten

HIDDEN_TEXT = "hidden-text"
"""The state of an item with hidden text, and the code of the finding."""

_MARKDOWN = frozenset((".md", ".mdc", ".mdx", ".markdown"))
_COMMENTED = _MARKDOWN | {"", ".txt"}
"""Extensions of instructions, in which an HTML comment is a comment."""
_DATA = frozenset((".json", ".jsonc", ".json5", ".jsonl", ".ndjson", ".ipynb", ".toml", ".yaml", ".yml"))
_TEXT = re.compile(
    r"\.(?:bash|bat|c|cfg|cjs|conf|cpp|cs|css|csv|env|go|h|html?|ini|ipynb|java|json[5cl]?|jsx?|kt|lua|markdown|md[cx]?"
    r"|mjs|ndjson|php|pl|ps1|py|r|rb|rs|rst|rules|s?css|sh|sql|svg|swift|template|tex|tmpl|toml|tsv|tsx?|txt|vue|xml"
    r"|xsd|ya?ml|zsh)"
)
_BINARY = re.compile(
    r"\.(?:7z|avif?|bin|bmp|bz2|class|db|dll|docx?|dylib|eot|exe|flac|gif|gz|heic|icns|ico|idx|jar|jpe?g|lz4|m4a|mkv|mo"
    r"|mov|mp[34]|mpeg|np[yz]|o|od[pst]|og[ag]|onnx|otf|parquet|pdf|pickle|pkl|png|pptx?|psd|pth?|py[cd]|rar"
    r"|safetensors|so|sqlite3?|tar|tgz|tiff?|tt[cf]|wasm|wav|webm|webp|whl|woff2?|xlsx?|xz|zip|zst)"
)
"""Extensions of files that clients read as text, and of those that they do not, or show as an image."""

_LONGEST_SIGN = 3
_UTF16 = (b"\xff\xfe", b"\xfe\xff")

MOST = 20
"""Maximum number of places reported in one file."""

MOST_BYTES = 1 << 20
"""Size in bytes of the largest file that is looked at as a whole; about a book."""

SHOWN = 120
"""Maximum number of characters of hidden text in a sentence."""

_INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u206a-\u206f\u2800\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_CHARACTERS = (
    re.compile(rb"\xc2\xad"),
    re.compile(rb"\xcd\x8f"),
    re.compile(rb"\xd8\x9c"),
    re.compile(rb"\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"),
    re.compile(rb"\xe2(?:\x80[\x8b-\x8f\xaa\xab\xad\xae]|\x81|\xa0\x80)"),
    re.compile(rb"\xe3\x85\xa4"),
    re.compile(rb"\xef(?:[\xb8\xbf]|\xbb\xbf|\xbe\xa0)"),
    re.compile(rb"\xf0(?:\x9b\xb2|\x9d\x85)"),
    re.compile(rb"\xf3"),
)
"""Bytes of such characters; whole ranges where they share their first bytes.

Each pattern begins with one byte, which is searched for at the speed of memory. On 4,405 files of public skills, 27
searches for whole characters took four times as long.
"""

_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_TAGS = re.compile(f"{_FLAG}|([\U000e0000-\U000e00ff\U000e01f0-\U000effff]+)")
_OVERRIDE = re.compile("[\u202d\u202e]")
_TURNED = re.compile("^[^\n\u202a\u202b\u202d\u202e\u2066-\u2068]*+([^\n])[^\n]*+", re.MULTILINE)
"""A line, and the first character in it that changes the direction; each line is read once."""
_ZERO_WIDTH = re.compile(f"[{_INVISIBLE}]{{3,}}")
_BLANK = "\u2800"
"""Pictures of Braille have runs of it."""
_BRAILLE = re.compile("[\u2801-\u28ff]")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_STYLES = frozenset("\ufe0e\ufe0f")
"""The selectors that show a character as text or as an emoji; some programs repeat them two or three times."""
_MOST_STYLES = 3

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[ \t]*+\n\s*+|.)|\n")
_REFERENCE = re.compile(r"&#(?:[xX]0*+([0-9a-fA-F]{1,6})|0*+([0-9]{1,7}))(?![0-9a-fA-F]);?")
_COMMENTS = (("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("{/*", "*/"))
_DIRECTIVE = re.compile(r"^[ \t]*+<directive[\s>/]", re.MULTILINE)
_METADATA = re.compile(
    r"\A\ufeff?+(?:[ \t]*+\n|[ \t]*+<!--(?:[^-]|-(?!->))*+-->)*+[ \t]*+---[ \t]*+\n.*?(?:^(?:---|\.\.\.)[ \t]*+$|\Z)"
    r"|^[ \t>]*+(`{3,}+|~{3,}+)[ \t]*+ya?ml\b[^\n]*+\n.*?(?:^[ \t>]*+\1|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
"""Front matter of Markdown, and each fence of YAML, which may be metadata."""

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
    r"|color\s*=\s*[\"']?(white|#fff(?:fff)?)\b|(?<=\s)(hidden)(?![\w-]))[^<>]{0,300}>",
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
    "zero-width": "characters that show nothing, side by side",
    "selectors": "variation selectors, which nothing shows, spell",
    "comment": "a comment instructs the agent",
    "markup": "the style of this text hides it",
}


def describe_hidden(data: bytes, suffix: str) -> str:
    """Return a sentence about the text in a file that a reader does not see, or why it cannot be looked at; else empty.

    Args:
        data: The bytes of the file.
        suffix: Its extension, in lower case.
    """
    try:
        places = hidden_text(data, suffix)
    except UnicodeDecodeError as error:
        return "" if _is_binary(data, suffix) else f"cannot be looked at: byte {error.start} is not UTF-8"
    more = f", and {len(places) - 1} more such places" if len(places) > 1 else ""
    return f"{places[0]}{more}" if places else ""


def describe_large(parts: Iterable[bytes], suffix: str) -> str:
    """Return why a file over :data:`MOST_BYTES` cannot be looked at; empty if it is binary, or nothing in it may hide.

    Args:
        parts: Its bytes, of which none are kept.
        suffix: Its extension, in lower case.
    """
    decoder, may_hide, is_binary, before = getincrementaldecoder("utf-8")(), False, False, b""
    for part in parts:
        is_binary = is_binary or _is_binary(part, suffix)
        may_hide = may_hide or any(_signs(before + part, suffix))
        before = part[-_LONGEST_SIGN:]
        try:
            decoder.decode(part)
        except UnicodeDecodeError:
            may_hide = True
            decoder.reset()
    return f"cannot be looked at: more than {MOST_BYTES:,} bytes" if may_hide and not is_binary else ""


def _is_binary(data: bytes, suffix: str) -> bool:
    """Return whether a client reads bytes that are not UTF-8 as something else than text."""
    if _BINARY.fullmatch(suffix):
        return True
    return not _TEXT.fullmatch(suffix) and not data.startswith(_UTF16) and b"\0" in data


def _signs(data: bytes, suffix: str) -> tuple[bool, bool, bool]:
    """Return whether bytes may have characters, escapes or markup that hide text."""
    is_markdown = suffix in _MARKDOWN
    # a search for one byte is ten times as fast as one for several, and most files have none of these
    return (
        not data.isascii() and any(pattern.search(data) for pattern in _CHARACTERS),
        ((is_markdown or suffix in _DATA) and b"\\" in data and (b"\\u" in data or b"\\U" in data))
        or (is_markdown and b"&" in data and b"&#" in data),
        suffix in _COMMENTED
        and (b"<" in data or (b"]" in data and b"]:" in data) or (b"{" in data and b"{/*" in data)),
    )


def hidden_text(data: bytes, suffix: str) -> tuple[HiddenText, ...]:
    """Return the places of a file with text that a reader does not see, the first :data:`MOST` by kind.

    Args:
        data: The bytes of the file.
        suffix: Its extension, in lower case, which decides what clients resolve in it.

    Raises:
        UnicodeDecodeError: They are not UTF-8.
    """
    has_characters, has_escapes, has_markup = _signs(data, suffix)
    if data.isascii() and not has_escapes and not has_markup:
        return ()
    text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
    places = list[HiddenText]()
    if has_characters or has_escapes:
        read = _resolved(text, suffix) if has_escapes else text
        places += _located(read, islice(_of_characters(read), MOST))
    if has_markup:
        places += _located(text, islice(_of_markup(text, suffix), MOST))
    return tuple(places)


def _located(text: str, places: Iterable[_Place]) -> Iterator[HiddenText]:
    return (HiddenText(kind, 1 + text.count("\n", 0, at), said) for kind, at, said in places)


def _resolved(text: str, suffix: str) -> str:
    """Return a text as a client reads its values: without escapes, and with its line breaks in place."""
    if suffix in _DATA:
        return _without_escapes(text)
    text = _METADATA.sub(lambda match: _without_escapes(match[0]), text)
    if not _DIRECTIVE.search(text):
        return text
    return _REFERENCE.sub(lambda match: _character(match[1] or match[2], 16 if match[1] else 10) or match[0], text)


def _without_escapes(text: str) -> str:
    """Return JSON, TOML or YAML with each escape of a character resolved; one of ASCII stays as it is.

    An escaped line break joins two lines. It is put where the joined line ends, so that lines keep their numbers.
    """
    joined = 0

    def resolve(match: re.Match[str]) -> str:
        nonlocal joined
        if digits := match[1] or match[2]:
            return _character(digits, 16) or match[0]
        breaks = match[0].count("\n")
        if match[0] == "\n":
            breaks, joined = breaks + joined, 0
            return "\n" * breaks
        joined += breaks
        return "" if breaks else match[0]

    return _ESCAPE.sub(resolve, text).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(digits: str, base: int) -> str:
    """Return the character of a number; empty if it is ASCII or none."""
    number = int(digits, base)
    return chr(number) if 0x7F < number <= sys.maxunicode else ""


_Place = tuple[str, int, str]
"""Kind, offset in the text, and the hidden text."""


def _of_characters(text: str) -> Iterator[_Place]:
    for match in _TAGS.finditer(text):
        if match[1]:
            yield "tags", match.start(), "".join(chr(ord(char) & 0xFFFF) for char in match[1])
    for match in _TURNED.finditer(text):
        line = match[0]
        if _OVERRIDE.search(line) or not any(unicodedata.bidirectional(char) in ("R", "AL") for char in line):
            yield "direction", match.start(1), line
    is_picture = _BRAILLE.search(text) is not None
    for match in _ZERO_WIDTH.finditer(text):
        if not (is_picture and match[0] == _BLANK * len(match[0])):
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


def _of_markup(text: str, suffix: str) -> Iterator[_Place]:
    """Yield what comments and styles hide; a text that is not Markdown has no code blocks, and nothing shows styles."""
    comments = chain.from_iterable(_enclosed(text, *marks) for marks in _COMMENTS)
    places = [("comment", at, said) for at, said in comments if _INSTRUCTION.search(said)]
    if suffix in _MARKDOWN:
        places += [
            ("comment", match.start(), match[1])
            for match in (_DEFINITION.finditer(text) if "]:" in text else ())
            if _INSTRUCTION.search(match[1])
        ]
        places += [("markup", at, said) for at, said in _styled(text)]
    places.sort(key=itemgetter(1))
    is_code = in_code(text, [at for _, at, _ in places]) if places and suffix in _MARKDOWN else [False] * len(places)
    yield from ((kind, at, " ".join(said.split())) for kind, at, said in compress(places, map(not_, is_code)))


def _enclosed(text: str, begin: str, end: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of each comment between two marks; an unclosed one extends to the end of the file."""
    start = text.find(begin)
    while start >= 0:
        stop = text.find(end, start + len(begin))
        yield start, text[start + len(begin) : stop if stop >= 0 else len(text)]
        start = text.find(begin, stop) if stop >= 0 else -1


def _styled(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of the elements whose style hides them; an element without letters hides nothing."""
    low = text.lower()
    for match in _STYLED.finditer(text) if any(word in low for word in ("style", "<font", "hidden")) else ():
        name, style, color, is_hidden = match.groups()
        if color or is_hidden or _UNSEEN.search(style) or (_WHITE.search(style) and "background" not in style.lower()):
            inside = text[match.end() : match.end() + _MOST_INSIDE]
            end = inside.lower().find(f"</{name.lower()}")
            said = _TAG.sub(" ", inside if end < 0 else inside[:end])
            if any(map(str.isalpha, said)):
                yield match.start(), said

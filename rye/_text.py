r"""Text that is safe to show, and the place of the signature line.

Text from items is hostile: :func:`inline` and :func:`block` escape every control and invisible character, and
:func:`quote` makes one shell word of it. Their results can be shown on a terminal and read by a model.

    >>> inline("two\nlines \x1b[31mred")
    'two lines \\x1b[31mred'

:func:`find_envelope` alone finds the signature line of a file; it does not judge it.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_INVISIBLE = (
    r"\x7f-\x9f\xad\u034f"  # DEL, the C1 controls, among them the one-character form of ESC [, soft hyphen, joiner
    r"\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"  # format characters of Arabic and Syriac
    r"\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # fillers of Hangul, vowels of Khmer, selectors of Mongolian
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\ufeff"  # zero width, direction, separators, the blank of Braille
    r"\ufe00-\ufe0f\ufff0-\ufffb\ud800-\udfff"  # variation selectors, annotations, lone surrogates
    r"\U000110bd\U000110cd\U00013430-\U0001343f"  # format characters of Kaithi and of hieroglyphs
    r"\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"  # of shorthand and music
    r"\U000e0000-\U000e0fff"  # tags and further variation selectors
)
"""Control, format and default-ignorable characters of Unicode 16, and others that show nothing: part of a pattern.

https://www.unicode.org/Public/16.0.0/ucd/DerivedCoreProperties.txt, Default_Ignorable_Code_Point; and category Cf.
"""

_UNSEEN = re.compile(
    rf"[{_INVISIBLE}](?:(?<=[\u200c\u200d])(?<![\u0600-\u17ff].)"
    r"|(?<![\x7f-\x9f\u200c\u200d\u2028\u2029\u2800\ud800-\udfff]))"
)
"""Invisible characters that end no word: no controls, line separators, or joiners that a script is spelled with."""
_IS_INVISIBLE = re.compile(f"[{_INVISIBLE}]")
_UNSAFE_IN_BLOCK = re.compile(rf"[\x00-\x08\x0b-\x1f{_INVISIBLE}]")
_NOT_IN_WORD = re.compile(rf"[^\w/.:@+-]|[{_INVISIBLE}]")
_ESCAPE = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")
_CI_COMMAND = re.compile(r"(?<=#)#(?=[A-Za-z-]*\[)|^:(?=:)")
"""Text that a build server obeys in a log: ``##[…]`` and ``##vso[…]`` anywhere, ``::`` at the start of a line."""
_SPACE = re.compile(r"\s+")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def block(text: str) -> str:
    r"""Return text of several lines with every control and invisible character escaped, as ``\x1b``."""
    if text.isascii() and text.isprintable():  # nearly every short text
        return text
    return _UNSAFE_IN_BLOCK.sub(_escaped, text.replace("\r\n", "\n"))


def inline(text: str) -> str:
    """Return text on one line: as :func:`block`, with white space collapsed and build commands escaped."""
    return _CI_COMMAND.sub(_escaped, _UNSAFE_IN_BLOCK.sub(_escaped, _SPACE.sub(" ", text).strip()))


def has_invisible(text: str) -> bool:
    """Return whether a text has a character that shows nothing, so that different texts may look the same."""
    return _IS_INVISIBLE.search(text) is not None


def unseen(text: str) -> Iterator[tuple[int, str]]:
    """Yield each invisible character inside the words of a text with its place."""
    return ((match.start(), match[0]) for match in _UNSEEN.finditer("" if text.isascii() else text))


def visible(text: str) -> str:
    """Return a text without invisible characters inside its words, such as a zero-width space."""
    return _UNSEEN.sub("", text) if not text.isascii() and has_invisible(text) else text


def only_composes(text: str) -> bool:
    r"""Return whether Unicode normal form C only composes the letters of a text and replaces no character.

    >>> only_composes("e\u0301"), only_composes("\u212a"), only_composes("\u037e")
    (True, False, False)
    """
    return text.isascii() or all(unicodedata.is_normalized("NFC", char) for char in text)


def composed(text: str) -> str:
    """Return text with its letters composed (NFC), or unchanged if that would replace a character by another.

    So KELVIN SIGN does not become ``K``, nor GREEK QUESTION MARK ``;``: names with them stay different names.
    """
    return text if text.isascii() or not only_composes(text) else unicodedata.normalize("NFC", text)


def may_name_item(name: str) -> bool:
    """Return whether a path has only characters that an id may have."""
    return name.isprintable() and only_composes(name)


def as_word(text: str) -> str:
    r"""Return text as one word: escape every character but letters, digits and ``_ / . : @ + -``, as ``\\x20``."""
    return _NOT_IN_WORD.sub(_escaped, text)


def from_word(text: str) -> str:
    """Return the text that :func:`as_word` escaped."""
    return _ESCAPE.sub(lambda match: chr(min(int(f"0x{match[0][2:]}", base=0), sys.maxunicode)), text)


def verbatim_json(dumped: str) -> str:
    r"""Return JSON text with ``##[`` and invisible characters, which ``json`` leaves alone, written as ``\uXXXX``."""
    import json  # only callers that have loaded it need this

    safe = _IS_INVISIBLE.sub(lambda match: json.dumps(match[0])[1:-1], dumped)
    return _CI_COMMAND.sub(lambda match: f"\\u{ord(match[0]):04x}", safe)


_PLAIN = re.compile(r"[\w./@%+,-][\w./:@%+,=-]*", re.ASCII)
"""Words that need no quotes in any shell; zsh reads a word that begins with ``=`` as the path of a program."""


def quote(text: str) -> str:
    r"""Return one word for bash or zsh, interactive or not, that means ``text``: visible characters and single spaces.

    Characters that would not be visible (controls, invisible characters, runs of spaces), and characters that end or
    expand in a quoted word (quotes, and ``!``, the history of an interactive shell), are written in octal within
    ``$'…'``, which bash, zsh and POSIX.1-2024 read.

    >>> quote("a-b"), quote("=b"), quote("a b"), quote("a\n$(b)"), quote("it's")
    ('a-b', "'=b'", "'a b'", "$'a\\012$(b)'", "$'it\\047s'")
    """
    if _PLAIN.fullmatch(text):
        return text
    if text == inline(text) and all(_is_shown(char) and char not in "'!" for char in text):
        return f"'{text}'"
    return "$'" + "".join(char if _is_shown(char) and char not in " #'!\\" else _octal(char) for char in text) + "'"


def column(text: str) -> str:
    """Return text for one column of a line; text with a space is quoted, so that it cannot look like further columns.

    >>> column("tool:a/b"), column("tool:a/b ✓ trusted")
    ('tool:a/b', "'tool:a/b ✓ trusted'")
    """
    shown = inline(text)
    return quote(text) if " " in shown else shown


class Advice(NamedTuple):
    """What to do: a shell command, and words to read before running it. Either may be empty.

    The two are never shown on one line: an interactive zsh has no comments, so it would run the words.
    """

    command: str
    words: str

    def labelled(self, label: str = "fix") -> tuple[tuple[str, str], ...]:
        """Return the lines to show, each with its label; the words are a note."""
        return tuple(row for row in ((label, self.command), ("note", self.words)) if row[1])


def _octal(char: str) -> str:
    half = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", half))


def _is_shown(char: str) -> bool:
    return char.isprintable() and not has_invisible(char)


BOM = b"\xef\xbb\xbf"
"""The UTF-8 byte order mark, which belongs to no line."""

_OPENING = re.compile(rb"(?:<!--|#|//)[ \t]*rye(?:os)?:signed:")
_INSIDE = re.compile(rb"#[ \t]*rye:signed:v2:")
_FENCES = (b"---", BOM + b"---")
_FRONT_MATTER = re.compile(rb"---[ \t]*\r?\n")
_FRONT_MATTER_END = re.compile(rb"\n(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
"""Begins with a line break instead of ``^``, because :mod:`re` searches for a literal several times faster."""


class RawEnvelope(NamedTuple):
    """The signature line, unchecked. A named tuple, because many are made.

    Attributes:
        line: The text of the line without its line break; bytes that are not UTF-8 appear as U+FFFD.
        number: 1-based line number, 1 or 2.
        start: Byte offset of the first byte of the line, after a byte order mark.
        end: Byte offset after the line including its line break.
        inside: Whether it is a comment in front matter.
    """

    line: str
    number: int
    start: int
    end: int
    inside: bool = False


def front_matter(data: bytes, suffix: str) -> int:
    """Return the offset after the line ``---`` that opens the front matter of a Markdown file; 0 without one.

    The block must be closed by a line ``---`` or ``...``. An empty suffix stands for any extension.
    """
    if suffix not in {"", ".md"} or not data.startswith(_FENCES):
        return 0
    if data.startswith(b"---\n") and data.find(b"\n---\n", 3) > 0:  # as nearly all are
        return 4
    opening = _FRONT_MATTER.match(data, len(BOM) if data.startswith(BOM) else 0)
    return opening.end() if opening and _FRONT_MATTER_END.search(data, opening.end() - 1) else 0


def find_envelope(data: bytes, suffix: str = "") -> RawEnvelope | None:
    """Return the signature line of a file, or None if there is none at its place. Never raises.

    It is the first line, the second below a shebang or, in format v2, the second line of a Markdown file that begins
    with front matter. A line above front matter comes first.

    A line ends at LF or CR LF; the CR of such a line break is not part of ``line``. A lone CR is not a line break: it
    stays in ``line``, and no reader of signatures accepts it.
    """
    number, inside = 1, False
    if start := front_matter(data, suffix):
        number, inside = 2, True
        if _INSIDE.match(data, start) is None:
            return None
    elif _OPENING.match(data) is None:
        start = len(BOM) if data.startswith(BOM) else 0
        if data.startswith(b"#!", start):
            start, number = data.find(b"\n", start) + 1, 2
        if start == 0 or _OPENING.match(data, start) is None:
            return None
    stop = data.find(b"\n", start)
    end = len(data) if stop < 0 else stop + 1
    raw = data[start:] if stop < 0 else data[start:stop].removesuffix(b"\r")
    return RawEnvelope(raw.decode("utf-8", "replace"), number, start, end, inside)

"""Text → terms: NFKC, case folding, splitting at non-alphanumerics, joiners and camelCase, joined forms.

Signs that are part of a name give an additional term: ``c++`` beside ``c``, ``.net`` beside ``net``. Operators of
programming languages (``->``) and symbols (``🌿``) are terms by themselves.

In scripts without blanks between words, every letter with its marks is a part. A word is then a row of parts and
matches anywhere, like a word of another script that has several parts.

One *chunk* is a run such as ``rye/file-system/readAll``. Its *parts* (``rye file system read all``) have consecutive
positions. Its *joined forms* (``ryefilesystemreadall``, and ``filesystem``, ``readall`` for the segments between
slashes) have the position of their first part. Letters before digits at the end of a piece are a part (``oauth2`` is
``oauth 2``), and so are digits before letters only (``10GB`` is ``10 gb``) and the v of a version (``v1.2`` is
``v 1 2``). Capitals with an s are one part (``PDFs``). A sign that stands alone takes no position; it has that of the
next word. Only this module decides what a word is; queries use it too.

    >>> [(token.term, token.offset) for token in analyze_chunk("file-system")]
    [('file', 0), ('filesystem', 0), ('system', 1)]
    >>> [(token.term, token.offset) for token in analyze_chunk("C++")]
    [('c', 0), ('c++', 0)]
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

import Stemmer

from rye._text import has_invisible, visible

MAX_TERM = 255
"""Longest term in characters; longer ones are cut."""

MAX_LOCATED = 10_000
"""Tokens are located in at most this many characters of a chunk."""

VALUE_GAP = 100
"""Positions between two values of a field, so that no phrase spans them."""

JOINERS = "_-./'"
"""Characters that join parts; an apostrophe does so only between letters and between thousands, as a comma does."""

_OPERATORS = "-> => <- <= >= == != === !== <=> && :: := += -= *= /= <> << >> ~> =~ !~ @> <@"
OPERATORS = frozenset(_OPERATORS.split())
"""Operators of programming languages that are terms; each has two or three signs."""

OPERATOR_SIGNS = "<>=!&|+-?~*/%^@$:"
"""An operator is not recognized next to one of these."""

_LONGEST_LONE = max(map(len, OPERATORS))

SIGNS = "+#"
"""Signs that may end a name, such as ``C++``: one or two plus signs, or one ``#``."""

_BESIDE = f"[{re.escape(OPERATOR_SIGNS)}]"
_OPERATOR = rf"(?<!{_BESIDE})(?:{'|'.join(map(re.escape, sorted(OPERATORS, key=len, reverse=True)))})(?!{_BESIDE})"
_LED = r"(?<![\w\-./])(?:(?<![+#])\#|--?|\.)(?=[0-9]*[A-Za-z])[A-Za-z0-9]++(?!\w|[+#]|[\-./]++\w)"  # .net, -v, #tag
_ENDED = r"(?:(?<=[A-Za-z0-9])(?:\+\+?|\#)(?![\w+#=]))?"
_THOUSANDS = r"(?<=[0-9])(?<![0-9]{4})[,'](?=[0-9]{3}(?![0-9]))"  # 12,345 and 12'345
_JOINED = rf"(?:[_\-./]++|(?<=[A-Za-z])'(?=[A-Za-z])|{_THOUSANDS})"
_ASCII_CHUNK = re.compile(rf"({_OPERATOR}|{_LED}|[A-Za-z0-9]++(?:{_JOINED}[A-Za-z0-9]++)*+{_ENDED})")
_ASCII = bytes(range(128))
_MARKS = re.compile(r"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){32,}")
_SPLIT = re.compile(r"[_\-./',]+")
_VOWELS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
)
"""Vowel signs and points of Hebrew and Arabic, which are seldom written, and the letter that only stretches a line."""

_DOTTED_I, _DOTLESS_I, _DOT_ABOVE = "\u0130", "\u0131", "\u0307"
"""The I of Turkish with a dot, whose small letter has no sign of its own; and the i without one, whose capital is I."""

_SAME = (("\u2019", "'"), ("\u2010", "-"), ("\u2011", "-"), (_DOTTED_I, "I"))
"""The typographic apostrophe, the typographic hyphens and the dotted I, with the characters they are read as."""

_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_BASIC = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"})
"""Letters that do not decompose into a basic letter and an accent → their basic form."""

ONE_JOINER = {ord("-"): "_", ord("."): "_", ord("'"): "_", ord(","): "_"}
_BEFORE_DIGITS = r"(?<=[A-Za-z][A-Za-z])(?=[0-9]++(?![A-Za-z0-9]))"
_ACRONYM_ENDS = r"(?<=[A-Z])(?=[A-Z](?!s(?![A-Za-z]))[a-z])"  # HTTP|Server, but PDFs
_ASCII_CAMEL = re.compile(rf"(?<=[a-z0-9])(?=[A-Z])|{_ACRONYM_ENDS}|{_BEFORE_DIGITS}")
_NUMBERED = re.compile(_BEFORE_DIGITS)
_LEADING = re.compile(r"(?<![A-Za-z0-9])([vV](?=[0-9])|[0-9]++(?=[A-Za-z]++(?![A-Za-z0-9])))")
"""A part at the start of a piece: the v of a version, or digits before letters only."""
_BOXES = range(0x2500, 0x25A0)
"""Box drawing and block elements, which draw trees and tables."""


class Token(NamedTuple):
    """One term of a chunk, with its position relative to the chunk; ``part`` is False for a joined form."""

    term: str
    offset: int
    part: bool


class Located(NamedTuple):
    """One token of a chunk, with its position and its character range ``[start, end)``, both relative to the chunk."""

    term: str
    position: int
    start: int
    end: int
    joined: bool


def normalize(text: str) -> str:
    """Return the NFKC form without invisible characters; positions and character ranges refer to it."""
    if text.isascii():
        return text
    for char, same in _SAME:
        text = text.replace(char, same)
    if len(text) <= MAX_TERM and unicodedata.is_normalized("NFKC", text) and not has_invisible(text):
        return text
    non_ascii = beyond_ascii(text)  # usually few, and all that matters below
    if has_invisible(non_ascii):
        text = visible(text)
    if _MARKS.search(non_ascii) and any(map(_class, set(non_ascii))):
        text = _MARKS.sub(_in_order, text)
    return unicodedata.normalize("NFKC", text).replace(_DOTTED_I, "I")


def beyond_ascii(text: str) -> str:
    """Return the characters of a text that are not ASCII."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def _in_order(run: re.Match[str]) -> str:
    """Put a long run of marks into canonical order; ``unicodedata`` would take time quadratic in its length."""
    pieces = (sorted(marks, key=_class) for _, marks in groupby(run.group(), key=lambda ch: _class(ch) > 0))
    return "".join(ch for piece in pieces for ch in piece)


def _class(ch: str) -> int:
    """Return the combining class; narrow voicing marks have that of their normalized form."""
    return 8 if ch in "\uff9e\uff9f" else unicodedata.combining(ch)


@lru_cache(1 << 14)
def fold(text: str) -> str:
    """Return normalized text as a term: folded, and cut to ``MAX_TERM``."""
    return fold_text(text)[:MAX_TERM]


def fold_text(text: str) -> str:
    """Casefold normalized text and normalize it again, so that folding twice changes nothing."""
    if text.isascii():
        return text.lower()
    folded = text.casefold().replace(_DOTLESS_I, "i").replace(f"i{_DOT_ABOVE}", "i")
    return normalize(_VOWELS.sub("", folded))


@lru_cache(maxsize=64)
def _chunk_pattern(marks: str, symbols: str) -> re.Pattern[str]:
    """Return the pattern of a chunk, with one group; ``marks`` belong to words, each of ``symbols`` is a chunk."""
    inside = re.escape(marks)
    joined = rf"(?:[_\-./]++|(?<=[^\W\d_])'(?=[^\W\d_])|{_THOUSANDS})"
    word = rf"[^\W_]++(?:{joined}[^\W_]++)*+"
    if marks:
        letters = rf"(?:[^\W_]|[{inside}])++"
        joined = rf"(?:[_\-./]++|(?<=[^\W\d_])'(?=[^\W\d_])|(?<=[{inside}])'(?=[^\W\d_])|{_THOUSANDS})"
        word = rf"{letters}(?:{joined}{letters})*+"
    symbol = f"[{re.escape(symbols)}]|" if symbols else ""
    return re.compile(rf"({_OPERATOR}|{symbol}{_LED}|{word}{_ENDED})")


def _pattern_for(text: str) -> re.Pattern[str]:
    if text.isascii():
        return _ASCII_CHUNK
    non_ascii = [ch for ch in sorted(set(text)) if ch > "\x7f"]
    marks = "".join(ch for ch in non_ascii if unicodedata.category(ch)[0] == "M")
    return _chunk_pattern(marks, "".join(filter(is_symbol, non_ascii)))


@lru_cache(1 << 12)
def is_symbol(text: str) -> bool:
    """Return whether a text is one non-ASCII character that is a term by itself, such as an emoji or an arrow."""
    if len(text) != 1 or text <= "\x7f" or ord(text) in _BOXES:
        return False
    return unicodedata.category(text) in {"So", "Sm", "Sc"}


def is_lone(chunk: str) -> bool:
    """Return whether a chunk is an operator or a symbol, which has no parts."""
    return len(chunk) <= _LONGEST_LONE and (chunk in OPERATORS or is_symbol(chunk))


def sign_form(chunk: str) -> str:
    """Return the term with a sign at its start or end, such as ``c++`` of ``lib/C++``; empty if there is none."""
    if not chunk or not chunk.isascii() or is_lone(chunk):
        return ""
    if chunk[-1] in SIGNS:
        piece = _SPLIT.split(chunk)[-1]
        return piece.lower()[-MAX_TERM:] if any(map(str.isalpha, piece)) else ""
    return "" if chunk[0].isalnum() else chunk.lower()[:MAX_TERM]


def chunks(normalized: str) -> list[str]:
    """Return the chunks of normalized text, in order."""
    return _pattern_for(normalized).findall(normalized)


def pieces(normalized: str) -> list[str]:
    """Split normalized text: every second piece is a chunk, the others are the text between chunks."""
    return _pattern_for(normalized).split(normalized)


def with_borders(text: str) -> str:
    """Return ASCII text with ``_`` at each border inside its words.

    >>> with_borders("fooBar HTTPServer oauth2 10GB v2 PDFs")
    'foo_Bar HTTP_Server oauth_2 10_GB v_2 PDFs'
    """
    return _ASCII_CAMEL.sub("_", _LEADING.sub(r"\1_", text))


def _camel(piece: str) -> list[str]:
    """Split at the borders that :func:`with_borders` marks; non-ASCII text only before capitals and final numbers."""
    if piece.isdigit() or (piece.islower() and piece.isalpha()):
        return [piece]
    if piece.isascii():
        return with_borders(piece).split("_")
    cuts, number = [0], _NUMBERED.search(piece)
    for i, (before, current) in enumerate(pairwise(piece), 1):
        rises = before.islower() or before.isdigit()
        after = piece[i + 1 : i + 3]
        is_plural = after[:1] == "s" and not after[1:].isalpha()
        ends_acronym = before.isupper() and after[:1].islower() and not is_plural
        if (current.isupper() and (rises or ends_acronym)) or (number and number.start() == i):
            cuts.append(i)
    return [piece[a:b] for a, b in pairwise([*cuts, len(piece)])]


_UNSPACED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"  # Burmese
    "\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e\uaa7f"  # its sisters
    "\u1780-\u17b3\u17d7\u17dc"  # Khmer
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"  # kana, bopomofo
    "\uac00-\ud7a3"  # Hangul: has blanks, but particles join its words
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"  # rarer kana and Han
)
"""Ranges of letters in scripts without blanks between words; they have no case."""


@cache
def _unit() -> re.Pattern[str]:
    """Return a pattern for one unspaced letter, a group, with its marks, or for a run without such letters."""
    return re.compile(rf"([{_UNSPACED}])\W*|[^{_UNSPACED}]+")


def is_unspaced(text: str) -> bool:
    """Return whether a text begins with a letter of a script without blanks between words."""
    return not text[:1].isascii() and (match := _unit().match(text)) is not None and match.lastindex == 1


@cache
def _row() -> re.Pattern[str]:
    return re.compile(rf"[{_UNSPACED}]{{1,{MAX_TERM}}}")


def is_row_of_letters(chunk: str) -> bool:
    """Return whether a chunk consists only of letters of scripts without blanks, so that each is a part."""
    return _row().fullmatch(chunk) is not None


def _split_piece(piece: str) -> list[str]:
    if piece.isascii():
        return list(map(fold, _camel(piece)))
    units = ([unit[0]] if unit.lastindex else _camel(unit[0]) for unit in _unit().finditer(piece))
    return [term for parts in units for part in parts if (term := fold(part))]


def has_signs(text: str) -> bool:
    """Return whether a word has a sign that is part of its name, or consists of signs."""
    words = chunks(normalize(text))
    return not any(map(split_chunk, words)) or any(map(sign_form, words))


def split_chunk(chunk: str) -> list[list[str]]:
    """Split a chunk at ``/`` into segments, and each into its folded parts; leave out segments without parts."""
    if is_lone(chunk):
        return []
    chunk = chunk.strip(SIGNS)
    if chunk.isascii():
        marked = with_borders(chunk).lower().translate(ONE_JOINER)
        cut = [[part[:MAX_TERM] for part in segment.split("_") if part] for segment in marked.split("/")]
        return [segment for segment in cut if segment]
    cut = [
        [part for piece in _SPLIT.split(segment) if piece for part in _split_piece(piece)]
        for segment in chunk.split("/")
    ]
    return [segment for segment in cut if segment]


def joined(parts: list[str]) -> str:
    """Return the joined form of parts; a mark that begins a part may combine with the end of the part before."""
    return fold("".join(parts))


def is_plain(text: str) -> bool:
    """Return whether a text is exactly one part: lower-case ASCII letters and digits, not too long."""
    if not (text.isascii() and text.isalnum() and len(text) <= MAX_TERM):
        return False
    return text.isdigit() or (text.islower() and (text.isalpha() or "_" not in with_borders(text)))


def analyze_chunk(chunk: str) -> list[Token]:
    """Return the tokens of one chunk by offset; at each offset, the part comes first, then longer joined forms.

    A segment that ends in a number is also joined without the number: ``oauth`` of ``OAuth2``.
    """
    if is_lone(chunk):
        return [Token(chunk, 0, part=False)]
    tokens: list[Token] = []
    offset, segments = 0, split_chunk(chunk)  # offset: how many parts came before the segment
    for segment in segments:
        tokens.append(Token(segment[0], offset, part=True))
        if offset == 0 and len(segments) > 1:
            tokens.append(Token(joined([part for own in segments for part in own]), 0, part=False))
        if len(segment) > 1:
            tokens.append(Token(joined(segment), offset, part=False))
            if len(segment) > 2 and segment[-1].isdecimal() and not "".join(segment[:-1]).isdecimal():
                tokens.append(Token(joined(segment[:-1]), offset, part=False))
            tokens += [Token(part, at, part=True) for at, part in enumerate(segment[1:], offset + 1)]
        offset += len(segment)
    if form := sign_form(chunk):
        last = _camel(_SPLIT.split(chunk.strip(SIGNS))[-1]) if chunk[-1] in SIGNS else ()
        tokens.append(Token(form, offset - len(last) if last else 0, part=False))
    if is_short(chunk):  # no two forms at one offset can be equal
        return tokens
    first = {(token.term, token.offset): token for token in reversed(tokens)}
    return [token for token in tokens if first[token.term, token.offset] is token]


def is_short(chunk: str) -> bool:
    """Return whether a chunk is ASCII and not too long for a term; folding then keeps its length."""
    return len(chunk) < MAX_TERM and chunk.isascii()


def searchable(text: str) -> bool:
    """Return whether a text has a letter, digit, operator or symbol to search for."""
    normalized = normalize(text)
    return any(map(str.isalnum, normalized)) or any(map(is_lone, chunks(normalized)))


def parts(text: str) -> list[str]:
    """Return the parts of a text in order, without joined forms, as a phrase needs them."""
    words = text.split()
    if all(map(is_plain, words)):
        return words
    return [part for chunk in chunks(normalize(text)) for segment in split_chunk(chunk) for part in segment]


def glob_parts(glob: str) -> list[str]:
    r"""Return the folded parts of a glob, split at the same borders as a word.

    ``*`` and ``?`` belong to the part they touch. A ``\``-escaped character is literal, so it is a border if it is not
    a word character.

        >>> glob_parts("rye/Core/*")
        ['rye', 'core', '*']
        >>> glob_parts("MultiStop*")
        ['multi', 'stop*']
    """
    pieces, escaped = [""], False
    for ch in normalize(glob):
        if ch == "\\" and not escaped:
            escaped = True
            continue
        if ch.isalnum() or unicodedata.category(ch)[0] == "M" or (ch in "*?" and not escaped):
            pieces[-1] += ch
        elif pieces[-1]:
            pieces.append("")
        escaped = False
    parts: list[str] = []
    for piece in filter(None, pieces):
        parts += map(fold, _camel(piece)) if piece.isascii() else _glob_in_run(fold(piece))
    return parts


def _glob_in_run(piece: str) -> list[str]:
    """Return the parts of a folded piece of a glob, so that it matches anywhere in text without blanks.

    A star next to an unspaced letter at either end is redundant. If no wildcard is left, the result is a row of parts;
    else it is a glob for whole runs, whose joined forms are terms.
    """
    starts = is_unspaced(piece.lstrip("*?"))
    ends = [unit.lastindex == 1 for unit in _unit().finditer(piece.rstrip("*?"))][-1:] == [True]
    core = piece.lstrip("*") if starts else piece
    core = core.rstrip("*") if ends else core
    if "*" in core or "?" in core:
        return [f"{'*' * starts}{core}{'*' * ends}"]
    return [fold(unit[0]) for unit in _unit().finditer(core)]


def locate_chunks(normalized: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the first character and the text of every chunk of normalized text; ``start`` must not be in a chunk."""
    return ((match.start(), match.group()) for match in _pattern_for(normalized).finditer(normalized, start))


def locate(chunk: str, most: int = MAX_LOCATED) -> tuple[Located, ...]:
    """Return the tokens of a chunk with their character ranges, for highlighting.

    A part that is not found literally, because folding changed its length, gets the range of the whole chunk. In a
    chunk longer than ``most`` characters, only tokens that end before that are located.
    """
    if len(chunk) <= most:
        return _located_short(chunk) if len(chunk) <= MAX_TERM else _located(chunk)
    located = _located(chunk[:most])
    last = max((token.end for token in located if not token.joined), default=0)
    return tuple(
        token for token in located if len(token.term) == MAX_TERM or token.end < (last if token.joined else most)
    )


def _located(chunk: str) -> tuple[Located, ...]:
    tokens = analyze_chunk(chunk)
    # parts are searched from left to right, each after the previous one; ranges: by offset, the range of the part
    lowered, cursor, ranges = chunk.casefold().replace(_DOTLESS_I, "i"), 0, dict[int, tuple[int, int]]()
    for token in tokens:
        if token.part:
            at = lowered.find(token.term, cursor) if len(lowered) == len(chunk) else -1
            ranges[token.offset] = (at, at + len(token.term)) if at >= 0 else (0, len(chunk))
            cursor = at + len(token.term) if at >= 0 else cursor
    located, sign = [], sign_form(chunk)
    for token in tokens:
        if token.term == sign or not ranges:
            at = len(chunk) - len(token.term) if chunk[-1] in SIGNS else 0
            located.append(Located(token.term, token.offset, at, at + len(token.term), joined=True))
            continue
        start, end = ranges[token.offset]
        if not token.part:
            end = max(end, _end_of_joined(token, ranges))
        located.append(Located(token.term, token.offset, start, end, joined=not token.part))
    return tuple(located)


_located_short = lru_cache(maxsize=8192)(_located)


def _end_of_joined(token: Token, ranges: dict[int, tuple[int, int]]) -> int:
    """Return where a joined form ends: the end of the part that completes its length."""
    length, offset, end = len(token.term), token.offset, 0
    while length > 0 and offset in ranges:
        start, end = ranges[offset]
        length -= end - start
        offset += 1
    return end


_ACRONYMS = re.compile(r"(?:[a-z]{2,}u|[b-df-hj-np-tv-xz]{3,})s")
"""Matches a possible acronym in plural: it has no vowel, or only a u before the s."""


class _Stemmer(threading.local):
    """One stemmer for each thread, because a stemmer is not thread-safe."""

    def __init__(self) -> None:
        self.stem = Stemmer.Stemmer("english").stemWord


_local = _Stemmer()


def without_accents(term: str) -> str:
    """Return a folded term in basic letters, such as ``zurich`` for ``zürich``. Marks of other scripts are kept.

    >>> without_accents("łódź")
    'lodz'
    """
    if term.isascii():
        return term
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", term.translate(_BASIC)))
    return unicodedata.normalize("NFC", bare) or term


def stem(term: str) -> str:
    """Return the Snowball English stem of a folded term without its accents."""
    basic = term if term.isascii() else without_accents(term)
    return without_plural(basic, _local.stem(basic))


def without_plural(term: str, stemmed: str) -> str:
    """Return a stem without the s of an acronym in plural, such as ``pdfs`` or ``gpus``, which Snowball keeps.

    >>> without_plural("pdfs", "pdfs"), without_plural("dns", "dns")
    ('pdf', 'dns')
    """
    is_acronym = stemmed == term and term.endswith("s") and _ACRONYMS.fullmatch(term)
    return stemmed[:-1] if is_acronym else stemmed

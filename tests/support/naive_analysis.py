"""The twin's reading of text: chunks, parts, positions, joined forms, stems, edit distances."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import Stemmer

JOINERS = "_-./',"
"""Characters that hold a chunk together and split it into parts.

An apostrophe does so between letters, and like a comma between thousands.
"""

SHARED_LETTERS = "〆ー〱〲〳〴〵〻〼々〇"
"""Letters that scripts without blanks share, whose names say nothing of a script."""

INVISIBLE = "\u00ad\u180e\u200b\u200c\u200d\u200e\u2060\u2063\ufe0f\ufeff"
"""Characters that nobody sees: soft hyphen, zero-width space, joiners, word joiner, byte order mark and the like."""

_OPERATORS = "-> => <- <= >= == != === !== <=> && :: := += -= *= /= <> << >> ~> =~ !~ @> <@"
OPERATORS = _OPERATORS.split()
"""Operators of programming languages that can be searched for."""

OPERATOR_SIGNS = "<>=!&|+-?~*/%^@$:"
"""Signs beside which no operator stands."""

VALUE_GAP = 100
"""Positions left empty between the values of a field of many values."""

LONGEST_TERM = 255
"""Characters of a term that are kept."""

_ENGLISH = Stemmer.Stemmer("english")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk of text: its parts in order, and the joined forms with the number of the part each starts at.

    The first joined form, if any, is that of the whole chunk.
    """

    parts: tuple[str, ...]
    joined: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FieldText:
    """One field of one item: where each of its terms stands, and how many parts there are."""

    positions: Mapping[str, tuple[int, ...]]
    length: int


def visible(text: str) -> str:
    """Return a text without the characters that nobody sees; scripts such as Arabic are spelled with joiners."""
    return "".join(
        character
        for before, character in zip(" " + text, text, strict=False)
        if character not in INVISIBLE or (character in "\u200c\u200d" and "\u0600" <= before <= "\u17ff")
    )


def nfkc(text: str) -> str:
    """Return what is seen of the text in normal form NFKC."""
    for written, read in (("’", "'"), ("‐", "-"), ("‑", "-")):
        text = text.replace(written, read)
    return unicodedata.normalize("NFKC", visible(text)).replace("İ", "I")


def fold(text: str) -> str:
    """Return the form in which text is a term: NFKC, casefolded, NFKC again, cut."""
    small = nfkc(text).casefold().replace("ı", "i").replace("i̇", "i")
    return nfkc("".join(filter(is_written, small)))[:LONGEST_TERM]


def is_written(character: str) -> bool:
    """Tell whether a character is no vowel sign or point of Hebrew or Arabic, which are seldom written."""
    name = unicodedata.name(character, "")
    is_mark = unicodedata.category(character) == "Mn" and name.startswith(("HEBREW", "ARABIC"))
    return not (is_mark and character < "\u0700") and name != "ARABIC TATWEEL"


def is_word_character(character: str) -> bool:
    """Tell whether a character belongs to a part: letters, digits and combining marks do."""
    return character.isalnum() or unicodedata.category(character).startswith("M")


def can_be_searched(text: str) -> bool:
    """Tell whether there is anything in the text that can be searched for."""
    return any(character.isalnum() for character in nfkc(text)) or any(not chunk.parts for chunk in chunks(text))


def is_symbol(character: str) -> bool:
    """Tell whether a character is a term by itself, such as an emoji; those that draw boxes are not."""
    name = unicodedata.name(character, "")
    drawn = name.startswith(("BOX DRAWINGS", "QUADRANT")) or " BLOCK" in name or " SHADE" in name
    drawn |= "ONE EIGHTH" in name
    return character > "\x7f" and unicodedata.category(character) in {"So", "Sm", "Sc"} and not drawn


def operator_at(text: str, start: int) -> str:
    """Return the operator that begins at a place, with no other sign beside it; empty for none."""
    end = start
    while end < len(text) and text[end] in OPERATOR_SIGNS:
        end += 1
    begins = not start or text[start - 1] not in OPERATOR_SIGNS
    return text[start:end] if begins and text[start:end] in OPERATORS else ""


def raw_chunks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the maximal runs of word characters and joiners, without the joiners at their ends; operators; symbols.

    Each comes with the sign that is part of its name: ``("C", "c++")``, or with nothing.
    """
    text = nfkc(text)
    at = 0
    while at < len(text):
        if lone := operator_at(text, at) or (text[at] if is_symbol(text[at]) else ""):
            yield "", lone
            at += len(lone)
            continue
        start = at
        while at < len(text) and not operator_at(text, at) and (is_word_character(text[at]) or joins(text, at)):
            at += 1
        if run := text[start:at].strip(JOINERS):
            begin = start + len(text[start:at]) - len(text[start:at].lstrip(JOINERS))
            yield run, sign_of(text, begin, begin + len(run), text[start:begin])
        at += at == start


def joins(text: str, at: int) -> bool:
    """Tell whether a joiner stands at a place."""
    around = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    between = (around[0].isalpha() or unicodedata.category(around[0] or " ")[0] == "M") and around[1].isalpha()
    digits = [character in "0123456789" for character in f"{text}    "]
    grouped = at and digits[at - 1] and digits[at + 1 : at + 5] == [True, True, True, False]
    grouped = bool(grouped) and not (at > 3 and all(digits[at - 4 : at]))
    if text[at] in "',":
        return grouped or (text[at] == "'" and between)
    return text[at] in JOINERS


def sign_of(text: str, start: int, end: int, lead: str) -> str:
    """Return a name with the sign that is part of it, in lower case; empty where there is none."""
    run, before, behind = text[start:end], text[max(0, start - 2) : start], text[end : end + 3] + "   "
    letters = "abcdefghijklmnopqrstuvwxyz"
    for sign in ("++", "+", "#"):
        after = behind[len(sign)]
        if behind.startswith(sign) and not (after.isalnum() or after in "_+#=" or is_word_character(after)):
            piece = split_at(run, JOINERS)[-1].lower()
            return piece + sign if run.isascii() and any(each in letters for each in piece) else ""
    if not (run.isascii() and run.isalnum() and any(each in letters for each in run.lower())):
        return ""
    if is_word_character(behind[0]) or behind[0] in "_+#":
        return ""
    if lead in ("-", "--", "."):
        return lead + run.lower()
    free = len(before) < 2 or not (is_word_character(before[0]) or before[0] in "_-./+#")
    return "#" + run.lower() if not lead and before[-1:] == "#" and free else ""


def split_at(text: str, separators: str) -> list[str]:
    """Return the pieces between separators, without empty ones."""
    for separator in separators:
        text = text.replace(separator, "\0")
    return [piece for piece in text.split("\0") if piece]


def split_camel(piece: str) -> list[str]:
    """Split at camelCase borders and before a number at the end: ``fooBar``, ``HTTPServer`` and ``sha256`` have two."""
    if piece.isascii():
        digits = piece[: len(piece) - len(piece.lstrip("0123456789"))]
        if digits and piece[len(digits) :].isalpha():
            return [digits, *split_camel(piece[len(digits) :])]
        if piece[0] in "vV" and piece[1:2].isdigit():
            return [piece[0], *split_camel(piece[1:])]
    letters = piece.rstrip("0123456789")
    if letters != piece and letters[-2:].isascii() and letters[-2:].isalpha() and len(letters) > 1:
        return [*split_camel(letters), piece[len(letters) :]]
    parts = [""]
    for number, character in enumerate(piece):
        before = piece[number - 1] if number else ""
        after = piece[number + 1 : number + 2]
        after_small = before.islower() or before.isdigit()
        is_plural = after == "s" and not piece[number + 2 : number + 3].isalpha()
        last_of_capitals = before.isupper() and after.islower() and not is_plural
        if character.isupper() and (after_small or last_of_capitals):
            parts.append("")
        parts[-1] += character
    return parts


def is_unspaced(character: str) -> bool:
    """Tell whether a letter is of a script that has no blanks between words, or of Hangul."""
    if unicodedata.category(character) not in {"Lo", "Lm", "Nl"}:
        return False
    name = unicodedata.name(character, "")
    scripts = (
        "CJK",
        "HIRAGANA",
        "KATAKANA",
        "BOPOMOFO",
        "HANGUL SYLLABLE",
        "THAI",
        "LAO",
        "KHMER",
        "MYANMAR",
        "HANGZHOU",
        "HENTAIGANA",
    )
    return name.startswith(scripts) or character in SHARED_LETTERS


def split_units(piece: str) -> list[str]:
    """Split so that every letter of a script without blanks stands alone with the marks behind it."""
    units: list[str] = []
    for character in piece:
        is_mark = not character.isalnum()
        begins = is_unspaced(character) or (not is_mark and units and is_unspaced(units[-1][0]))
        if begins or not units:
            units.append("")
        units[-1] += character
    return units


def parts_of(text: str) -> list[str]:
    """Return the parts of a chunk or of one of its segments, as terms."""
    units = [unit for piece in split_at(text, JOINERS) for unit in split_units(piece)]
    return [fold(part) for unit in units for part in split_camel(unit)]


def join(parts: Sequence[str]) -> str:
    """Return the joined form of several parts."""
    return fold("".join(parts))


def read_chunk(text: str, sign: str = "") -> Chunk:
    """Split one chunk, and join it again: as a whole, and each segment of several parts between slashes.

    A segment that ends in a number is also joined without that.
    """
    parts = parts_of(text)
    joined = [(0, join(parts))] if len(parts) > 1 else []
    start = 0
    for segment in split_at(text, "/"):
        inner = parts_of(segment)
        if len(inner) > 1 and "/" in text:
            joined.append((start, join(inner)))
        if len(inner) > 2 and inner[-1].isdecimal() and not "".join(inner[:-1]).isdecimal():
            joined.append((start, join(inner[:-1])))
        start += len(inner)
    if sign:
        last = split_camel(split_at(text, JOINERS)[-1]) if text and sign[-1] in "+#" else []
        joined.append((len(parts) - len(last) if last else 0, sign))
    return Chunk(tuple(parts), tuple(joined))


def chunks(text: str) -> list[Chunk]:
    """Return the chunks of a text in order."""
    return [read_chunk(run, sign) for run, sign in raw_chunks(text)]


def parts(text: str) -> list[str]:
    """Return the parts of a text in order, without joined forms."""
    return [part for chunk in chunks(text) for part in chunk.parts]


def joined_form(text: str) -> str | None:
    """Return the joined form of a word; one that falls into several chunks has none."""
    found = chunks(text)
    return found[0].joined[0][1] if len(found) == 1 and found[0].joined else None


def has_capital_inside(run: str) -> bool:
    """Tell whether a basic capital follows another letter that is none, or two of them are followed by small ones."""
    is_letter = [each.isalnum() and not each.isdecimal() for each in run]
    is_capital = ["A" <= each <= "Z" for each in run]
    is_small = ["a" <= each <= "z" for each in run]
    after_other = any(is_letter[at - 1] and not is_capital[at - 1] and is_capital[at] for at in range(1, len(run)))
    fours = zip(is_capital, is_capital[1:], is_small[2:], is_small[3:], strict=False)
    return after_other or any(map(all, fours))


def identity(text: str) -> list[tuple[int, str]]:
    """Return the joined form of each chunk of an identifier with the number of its first part; of other words nothing.

    An identifier has an underscore, a dot or a capital inside; one that ends in a number is as well written apart, and
    so is text without blanks.
    """
    runs = [(run, read_chunk(run)) for run, _ in raw_chunks(text) if run]
    is_one = any(
        len(chunk.parts) > 1
        and not chunk.parts[-1].isdecimal()
        and not any(is_unspaced(part[0]) for part in chunk.parts)
        and ("_" in run or "." in run or has_capital_inside(run))
        for run, chunk in runs
    )
    starts = [sum(len(chunk.parts) for _, chunk in runs[:number]) for number in range(len(runs))]
    return [(start, join(chunk.parts)) for start, (_, chunk) in zip(starts, runs, strict=True)] if is_one else []


def analyze(values: Sequence[str]) -> FieldText:
    """Return what a field holds; ``values`` has one entry for a plain field, any number for one of many values."""
    found: dict[str, list[int]] = {}
    length = 0
    position = 0
    for value in values:
        start = position
        for chunk in chunks(value):
            for number, term in {*enumerate(chunk.parts), *chunk.joined}:
                found.setdefault(term, []).append(position + number)
            position += len(chunk.parts)
            length += len(chunk.parts)
        if position > start:
            position += VALUE_GAP
    return FieldText({term: tuple(sorted(places)) for term, places in found.items()}, length)


def plain(term: str) -> str:
    """Return a term without the accents of Latin, Greek and Cyrillic letters."""
    others = dict(zip("øłđħŧðþæœ", ["o", "l", "d", "h", "t", "d", "th", "ae", "oe"], strict=True))
    pieces = unicodedata.normalize("NFD", "".join(others.get(character, character) for character in term))
    bare = "".join(piece for piece in pieces if not "\u0300" <= piece <= "\u036f")
    return unicodedata.normalize("NFC", bare) or term


@cache
def stem(term: str) -> str:
    """Return the Snowball English stem of a term without its accents."""
    basic = plain(term)
    stemmed = str(_ENGLISH.stemWord(basic))
    letters = basic.removesuffix("s")
    if stemmed != basic or letters == basic or not letters.isalpha() or not letters.isascii() or letters.endswith("s"):
        return stemmed
    is_acronym = letters.endswith("u") or not any(letter in "aeiouy" for letter in letters)
    return letters if is_acronym and len(letters) >= 3 else stemmed


@cache
def levenshtein(left: str, right: str) -> int:
    """Return how many insertions, deletions and substitutions lead from one word to the other."""
    row = list(range(len(right) + 1))
    for number, character in enumerate(left, start=1):
        previous, row = row, [number]
        for column, other in enumerate(right, start=1):
            substitution = previous[column - 1] + (character != other)
            row.append(min(previous[column] + 1, row[-1] + 1, substitution))
    return row[-1]


def edits(left: str, right: str) -> int:
    """Return the fewest letters to add, take away or replace, or neighbours to exchange, each letter touched once."""
    table = {(row, 0): row for row in range(len(left) + 1)} | {(0, column): column for column in range(len(right) + 1)}
    for row in range(1, len(left) + 1):
        for column in range(1, len(right) + 1):
            replaced = table[row - 1, column - 1] + (left[row - 1] != right[column - 1])
            best = min(replaced, table[row - 1, column] + 1, table[row, column - 1] + 1)
            if row > 1 and column > 1 and left[row - 2 : row] == right[column - 2 : column][::-1]:
                best = min(best, table[row - 2, column - 2] + 1)
            table[row, column] = best
    return table[len(left), len(right)]


def automatic_distance(term: str) -> int:
    """Return how many edits a fuzzy word of this length allows when the query names no number."""
    if len(term) <= 2:
        return 0
    return 1 if len(term) <= 5 else 2

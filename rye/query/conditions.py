"""Repair comparisons and ranges. Each is one token, which is rewritten if it has a mistake.

>>> repair_range("created:", "[2026-01 TO 2026-03")
Condition(text='created:[2026-01 TO 2026-03]', code='bad-range', facts={'why': 'is never closed'})
>>> repair_comparison("version:", "!=2.0").text
'-version:2.0'
"""

from __future__ import annotations

from typing import NamedTuple

from rye.query.escaping import VALUE, quote, spell, units
from rye.query.grammar import PIECE, meaning, split_comparison

_SIGNS = {sign: sign for sign in (">=", "<=", ">", "<")} | {"=>": ">=", "=<": "<="}
_NOT_EQUAL = ("!", "!=", "!==", "<>")


class Condition(NamedTuple):
    """A field and its condition in correct form, with the code and facts of the mistake, if any."""

    text: str
    code: str
    facts: dict[str, str]


def repair_comparison(field: str, token: str) -> Condition:
    """Check and repair a comparison such as ``>=2.0``; ``field`` includes its colon.

    Comparison signs of other languages are understood. A comparison without a value asks whether the field exists.
    """
    sign, space, value = split_comparison(token)
    operator = _SIGNS.get(sign, "")
    full = _without_wildcards(value) if operator else _spell(value)
    excludes = "-" if sign in _NOT_EQUAL else ""
    text = f"{excludes}{field}{operator}{full}" if full else f"{field}*"
    if not meaning(value).strip():
        return Condition(f"{field}*", "missing-value", {"why": "compares with nothing"})
    if operator != sign:
        return Condition(text, "bad-comparison", {"why": "{sign} is not a comparison sign", "sign": sign})
    if space:
        return Condition(text, "bad-comparison", {"why": "there is white space after the sign"})
    return Condition(text, "" if full == value else "bound-wildcard", {"bound": value})


def repair_range(field: str, token: str) -> Condition:
    """Check and repair a range such as ``[1 TO 2}``; ``field`` includes its colon.

    A range that is not closed is closed, and a missing end is open; ``to`` means TO. A range without TO becomes a
    phrase, and an empty range asks whether the field exists.
    """
    pieces = PIECE.findall(token)
    brackets = "".join(PIECE.sub("", token).split())
    wrong = "" if len(brackets) == 2 else "is never closed"
    places = [place for place, piece in enumerate(pieces) if piece.upper() == "TO"]
    if not places or len(places) == len(pieces):
        value = "" if places else _bound(pieces)
        text = f"{field}{_spell(value)}" if value else f"{field}*"
        return Condition(text, "bad-range", {"why": wrong or ("has no TO" if value else "is empty")})
    place = pieces.index("TO") if "TO" in pieces else places[0]
    before, after = pieces[:place], pieces[place + 1 :]
    low, high = _bound(before), _bound(after)
    text = f"{field}{brackets[0]}{_without_wildcards(low) or '*'} TO {_without_wildcards(high) or '*'}"
    text += brackets[1:] or "]"
    if pieces[place] != "TO":
        wrong = wrong or "has its TO in small letters"
    elif not low or not high:
        wrong = wrong or f"has nothing {'after' if low else 'before'} its TO"
    elif len(before) > 1 or len(after) > 1:
        wrong = wrong or "has more than one value at one end"
    if wrong:
        return Condition(text, "bad-range", {"why": wrong})
    bound = next((end for end in (low, high) if end not in ("*", _without_wildcards(end))), "")
    return Condition(text, "bound-wildcard" if bound else "", {"bound": bound})


def _bound(pieces: list[str]) -> str:
    """Return one end of a range as one value; empty if there is none."""
    text = " ".join(map(meaning, pieces)).strip()
    if not text:
        return ""
    return pieces[0] if len(pieces) == 1 else quote(text)


def _spell(value: str) -> str:
    return value if value.startswith('"') else spell(units(value), VALUE)


def _without_wildcards(value: str) -> str:
    """Return a value unchanged, or in quotes without its wildcards if it has any."""
    characters = [] if value.startswith('"') else units(value)
    if not any(live for _, live in characters):
        return value
    rest = "".join(char for char, live in characters if not live).rstrip("-./_")
    return quote(rest) if rest else ""

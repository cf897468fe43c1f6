"""Comparisons and ranges: what their raw tokens hold, and what they become when something in them is wrong.

A comparison or range is one token with its field, ``version:>=2.0`` or ``created:[2026-01 TO 2026-03}``. Fixing one
gives the tokens to parse in its stead, and what was wrong with it.

    >>> fix_comparison("version:=>2.0").tokens
    [('COMPARE', 'version:>=2.0')]
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from rye.query._text import plain, quote, spell_bound, units, unquote

__all__ = ["Fixed", "Pair", "fix_comparison", "fix_range", "split_comparison", "split_range", "value"]

Pair: TypeAlias = tuple[str, str]
"""Type and text of a token."""

_PIECE = re.compile(r'"(?:[^"\\]|\\[\s\S])*"|(?:\\[\s\S]|[^\s"\\])+')
_DOTS = re.compile(r'([^"\\]*?)\.\.([^"\\]*)')
_SIGNS = {">=": ">=", "<=": "<=", ">": ">", "<": "<", "=>": ">=", "=<": "<="}
_UNEQUAL = ("!", "!=", "!==", "<>")


@dataclass(slots=True)
class Fixed:
    """Tokens that can be parsed, and the flaws of what they replace: code and facts for its message."""

    tokens: list[Pair] = field(default_factory=list)
    flaws: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def flaw(self, code: str, **facts: object) -> None:
        """Note one flaw."""
        self.flaws.append((code, facts))


def split_comparison(raw: str) -> tuple[str, str, str]:
    """Split ``version:>=2.0`` into name, sign and raw value."""
    name, _, rest = raw.partition(":")
    operand = rest.lstrip("<>=!")
    return name, rest[: len(rest) - len(operand)], operand.lstrip()


def split_range(raw: str) -> tuple[str, list[str]]:
    """Split ``created:[2026-01 TO 2026-03}`` into name and the raw pieces between the brackets."""
    name, _, rest = raw.partition(":")
    return name, _PIECE.findall(rest[1:-1])


def value(raw: str) -> str:
    """Return what a raw value means, quoted or not."""
    return unquote(raw) if raw.startswith('"') else plain(raw)


def _leaf(raw: str) -> Pair:
    return ("PHRASE" if raw.startswith('"') else "WORD"), raw


def fix_comparison(raw: str) -> Fixed:
    """Return the tokens for a comparison as it was written."""
    fixed = Fixed()
    name, sign, operand = split_comparison(raw)
    if not value(operand).strip():
        fixed.flaw("comparison-without-value")
        fixed.tokens = [("EXISTS", f"{name}:*")]
        return fixed
    if sign not in _SIGNS:
        exclusion = [("MINUS", "-")] if sign in _UNEQUAL else []
        fixed.tokens = [*exclusion, ("FIELD", f"{name}:"), _leaf(operand)]
        fixed.flaw("bad-comparison", sign=sign, reading="".join(text for _, text in fixed.tokens))
        return fixed
    if sign != _SIGNS[sign]:
        fixed.flaw("bad-comparison", sign=sign, reading=_SIGNS[sign])
    if raw != f"{name}:{sign}{operand}":
        fixed.flaw("comparison-space")
    full = _without_wildcards(operand, fixed)
    fixed.tokens = [("COMPARE", f"{name}:{_SIGNS[sign]}{full}") if full else ("EXISTS", f"{name}:*")]
    return fixed


def _without_wildcards(bound: str, fixed: Fixed) -> str:
    """Return a raw bound as it is, or without its live wildcards where it has some."""
    word = [] if bound.startswith('"') else units(bound)
    if not any(live for _, live in word):
        return bound
    fixed.flaw("bound-wildcard", bound=bound)
    rest = "".join(char for char, live in word if not live).rstrip("-./_")
    return quote(rest) if rest else ""


def fix_range(raw: str, *, closed: bool) -> Fixed:
    """Return the tokens for a range as it was written; one that is not closed lacks only its bracket."""
    fixed = Fixed()
    if not closed:
        fixed.flaw("unclosed-range")
        raw = f"{raw}]"
    name, inside = split_range(raw)
    if all(piece.upper() == "TO" for piece in inside):
        fixed.flaw("empty-range")
        fixed.tokens = [("EXISTS", f"{name}:*")]
    elif "TO" in inside:
        _fix_bounds(raw, inside, fixed)
    elif small := [piece for piece in inside if piece.upper() == "TO"]:
        fixed.flaw("range-lowercase-to")
        inside[inside.index(small[0])] = "TO"
        _fix_bounds(raw, inside, fixed)
    elif len(inside) == 1 and (dots := _DOTS.fullmatch(inside[0])):
        fixed.flaw("range-without-to", reading="a range from the one to the other")
        _fix_bounds(raw, [piece for piece in (dots[1], "TO", dots[2]) if piece], fixed)
    else:
        leaves = _leaves_of(inside)
        fixed.flaw("range-without-to", reading=f"{name}:({' OR '.join(text for _, text in leaves)})")
        fixed.tokens = [("FIELD", f"{name}:"), *_any_of(leaves)]
    return fixed


def _fix_bounds(raw: str, inside: list[str], fixed: Fixed) -> None:
    """Give a range whose pieces hold a TO one value at each end."""
    where = inside.index("TO")
    low = _bound(inside[:where], "before", fixed)
    high = _bound(inside[where + 1 :], "after", fixed)
    name = raw.partition(":")[0]
    fixed.tokens = [("RANGE", f"{name}:{raw[len(name) + 1]}{low} TO {high}{raw[-1]}")]


def _leaves_of(inside: list[str]) -> list[Pair]:
    """Return the values of a list."""
    stripped = (piece if piece.startswith('"') else piece.strip(",;") for piece in inside)
    return [_leaf(piece) for piece in stripped if piece not in ("", "OR", "AND")]


def _any_of(leaves: list[Pair]) -> list[Pair]:
    """Return the tokens of a group that asks for any of these values."""
    joined = [pair for leaf in leaves for pair in (("OR", "OR"), leaf)]
    return [("LPAR", "("), *joined[1:], ("RPAR", ")")]


def _bound(side: list[str], name: str, fixed: Fixed) -> str:
    """Return one end of a range, raw, ``*`` where it is open."""
    if not "".join(value(piece) for piece in side).strip():
        fixed.flaw("range-without-bound", side=name)
        return "*"
    if len(side) > 1:
        fixed.flaw("range-bound-words", bound=" ".join(side))
        return spell_bound(" ".join(value(piece) for piece in side))
    return "*" if side == ["*"] else _without_wildcards(side[0], fixed) or "*"

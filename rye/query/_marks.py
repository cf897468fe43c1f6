"""The numbers in ``~n``, ``"…"~n``, ``^n`` and ``NEAR/n``: which are right, and what a wrong one becomes.

>>> fix_fuzzy("~3").tokens
[('FUZZY', '~2')]
"""

from __future__ import annotations

import re

from rye.query._clauses import Fixed
from rye.query.limits import MAX_BOOST, MAX_DISTANCE, MAX_FUZZY, MAX_SLOP, MIN_BOOST

__all__ = ["fix_boost", "fix_fuzzy", "fix_near", "fix_slop"]

_WHOLE = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_LIKE_A_NUMBER = re.compile(r"[0-9.]*")
_USUAL_DISTANCE = 5


def _int(digits: str) -> int:
    """Return the number, or one that is too large for anything where there are more digits than Python likes."""
    return int(digits.lstrip("0")[:10] or "0")


def fix_near(operator: str) -> Fixed:
    """Return the token for ``NEAR/n``."""
    digits = operator.removeprefix("NEAR").removeprefix("/")
    asked = _int(digits) if _WHOLE.fullmatch(digits) else None
    distance = _USUAL_DISTANCE if asked is None else min(max(asked, 1), MAX_DISTANCE)
    fixed = Fixed([("NEAR", f"NEAR/{distance}")])
    if operator == "NEAR":
        fixed.flaw("near-without-distance", reading=f"NEAR/{distance}")
    elif distance != asked:
        fixed.flaw("bad-near-distance", reading=f"NEAR/{distance}")
    return fixed


def fix_fuzzy(mark: str) -> Fixed:
    """Return the token for ``~`` or ``~n`` after a word."""
    if mark == "~":
        return Fixed([("FUZZY", mark)])
    return _whole(mark, "bad-fuzzy-distance", MAX_FUZZY, Fixed([("FUZZY", "~")]))


def fix_slop(mark: str) -> Fixed:
    """Return the token for ``~n`` after a phrase."""
    return _whole(mark, "bad-slop", MAX_SLOP, Fixed())


def _whole(mark: str, code: str, most: int, otherwise: Fixed) -> Fixed:
    digits = mark[1:]
    if _WHOLE.fullmatch(digits):
        number = min(_int(digits), most)
        fixed = Fixed([("FUZZY", f"~{number}")])
        if number != _int(digits):
            fixed.flaw(code, reading=f"~{number}")
        return fixed
    return _text_or(mark, code, otherwise)


def fix_boost(mark: str) -> Fixed:
    """Return the token for ``^n``."""
    digits = mark[1:]
    if not (_LIKE_A_NUMBER.fullmatch(digits) and _NUMBER.search(digits) and digits.count(".") < 2):
        return _text_or(mark, "bad-boost", Fixed())
    factor = min(float(digits), float(MAX_BOOST))
    if factor < MIN_BOOST:
        return _text_or(mark, "bad-boost", Fixed())
    fixed = Fixed([("BOOST", f"^{factor}")])
    if factor != float(digits) or not _NUMBER.fullmatch(digits):
        fixed.flaw("bad-boost", reading=f"^{factor}".removesuffix(".0"))
    return fixed


def _text_or(mark: str, code: str, otherwise: Fixed) -> Fixed:
    """Read a mark without a usable number as a word of its own where it holds text, else as ``otherwise``."""
    if _LIKE_A_NUMBER.fullmatch(mark[1:]):
        fixed, reading = otherwise, "".join(text for _, text in otherwise.tokens) or "nothing"
    else:
        fixed, reading = Fixed([("WORD", mark)]), "a word of its own"
    fixed.flaw(code, reading=reading)
    return fixed

"""No regular expression of rye takes more than linear time, whatever text it meets."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from re import _parser
from typing import Any

import pytest

import rye

SIZE = 2_048
"""Characters of the text on which every pattern is tried first."""
SUSPECT_SECONDS = SIZE * 1e-6
"""A linear pattern needs a few hundredths of this, a quadratic one several times as much."""
TOO_LONG = 4 * SUSPECT_SECONDS
FIRST_REPEATS = (8, 14, 18, 20, 22, 24, 26, 28, 32, 64, 128, 256, 512)
"""Few repeats come first, at which an exponential or cubic pattern shows itself before it hangs."""
SAMPLES = {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a", "CATEGORY_NOT_SPACE": "a"}

Found = re.Pattern[str] | re.Pattern[bytes]


def patterns_in(value: object, depth: int = 0) -> Iterator[Found]:
    """Yield the compiled patterns in a value of a module, in the tables it holds and in classes."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3:
        inner: Iterable[Any] = ()
        if isinstance(value, Mapping):
            inner = chain(value.keys(), value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            inner = value
        elif isinstance(value, type) and value.__module__.startswith("rye."):
            inner = vars(value).values()
        for part in inner:
            yield from patterns_in(part, depth + 1)


MODULES = [info.name for info in pkgutil.walk_packages(rye.__path__, "rye.") if not info.name.endswith("__main__")]


def patterns_of(module: str) -> dict[str, tuple[Found, bool]]:
    """Return the compiled patterns that a module holds, and whether each is only matched where a text begins."""
    patterns: dict[str, tuple[Found, bool]] = {}
    loaded = importlib.import_module(module)
    source = Path(str(loaded.__file__)).read_text(encoding="utf-8")
    for name, value in vars(loaded).items():
        uses = re.findall(rf"(?<![\w.]){name}\b(?!\s*(?:=|:))(\.(?:full)?match\()?", source) if name[0] == "_" else [""]
        for number, pattern in enumerate(patterns_in(value)):
            patterns[f"{name}[{number}]"] = pattern, all(uses)
    return patterns


def words_of(tree: Any) -> Iterator[str]:
    """Yield the runs of literal characters in a parsed pattern, and a character of each class."""
    run = ""
    for operator, argument in tree:
        if str(operator) == "LITERAL":
            run += chr(argument)
            continue
        if run:
            yield run
        run = ""
        if str(operator) == "IN":
            yield from map(letter_of, argument)
        elif str(operator) == "BRANCH":
            yield from chain.from_iterable(map(words_of, argument[1]))
        elif str(operator).endswith("REPEAT"):
            for word in words_of(argument[2]):
                yield word * (argument[0] if 1 < argument[0] < 10 else 1)
        elif isinstance(argument, _parser.SubPattern):
            yield from words_of(argument)
        elif isinstance(argument, tuple) and isinstance(argument[-1], _parser.SubPattern):
            yield from words_of(argument[-1])
    if run:
        yield run


def letter_of(part: tuple[Any, Any]) -> str:
    """Return a character of one part of a class: a letter, a range, a category such as white space."""
    kind, value = part
    if str(kind) in {"LITERAL", "RANGE"}:
        return chr(value if str(kind) == "LITERAL" else value[0])
    return SAMPLES.get(str(value), "-")


def texts_for(pattern: Found) -> Iterator[tuple[str, str]]:
    """Yield beginnings and what is to be repeated behind them, made of what the pattern itself is made of."""
    words = list(dict.fromkeys(words_of(_parser.parse(pattern.pattern, pattern.flags))))
    words = [word for word in words if isinstance(pattern.pattern, str) or word.isascii()]
    all_letters = dict.fromkeys([*(letter for word in words for letter in word), " ", "\n", "a"])
    letters = sorted(all_letters, key=str.isalnum)[:14]  # marks first: they are what is repeated and nested
    starts = ["", *sorted(words, key=len, reverse=True)[:6]]
    units = [*letters, *starts[1:5]]
    yield from product(starts, units)
    yield from (("", first + second) for first, second in product(letters[:9], letters[:9]) if first != second)


def seconds(find: Callable[[str], Any], text: str, tries: int = 1) -> float:
    """Return the processor time of finding what there is in a text, the least of some tries."""
    best = float("inf")
    for _ in range(tries):
        began = time.process_time()
        find(text)
        best = min(best, time.process_time() - began)
    return best


def slow_text(pattern: Any, *, at_start: bool = False) -> str:
    """Describe a text on which the time grows faster than the length; empty when there is none.

    Args:
        pattern: A compiled pattern.
        at_start: Match at the beginning of the text instead of finding every match in it.
    """
    encode: Callable[[str], Any] = str if isinstance(pattern.pattern, str) else partial(str.encode, errors="replace")

    def find(text: str) -> None:
        if at_start:
            pattern.match(encode(text))
            pattern.fullmatch(encode(text))
        else:
            deque(pattern.finditer(encode(text)), maxlen=0)

    for start, unit in texts_for(pattern):
        # an exponential pattern is found with few repeats: twice as many would never end
        few = (start + unit * repeats for repeats in FIRST_REPEATS)
        if any(seconds(find, text) > TOO_LONG and seconds(find, text, tries=3) > TOO_LONG for text in few):
            return f"more than quadratic: {start!r}, then {unit!r} again and again"
        repeats = SIZE // len(unit)
        if seconds(find, start + unit * repeats) < SUSPECT_SECONDS:
            continue
        once, _, four = (seconds(find, start + unit * repeats * times, tries=3) for times in (1, 2, 4))
        if once > SUSPECT_SECONDS and four > 9 * once:  # linear: 4, quadratic: 16
            return f"{four / once:.0f} times the time for 4 times the text: {start!r}, then {unit!r} again and again"
    return ""


BAD = {
    "docstring": r"[rRuU]?(\"\"\"|'''|\"|')((?:\\.|(?!\1).)*)\1",
    "parameters": r"(?<=[?&])([^=&\s#]++=)[^&\s#]++",
    "blanks": r"[ \t]*\n",
    "nested": r"(?:a+)+b",
    "alternatives": r"(?:a|a)*b",
    "two runs": r"x*x*y",
    "closed": r"<!--.*?-->",
}
GOOD = {
    "anchored": r"(?<![ \t])[ \t]*+\n",
    "possessive": r"(?<!a)(?:a++)++b",
    "bounded": r"\[[^\[\]]{0,300}\]",
    "words": r"\w+",
}


@pytest.mark.parametrize("name", BAD)
def test_slow_patterns_are_found(name: str) -> None:
    """The measurement finds quadratic and exponential patterns that earlier versions of rye had, and textbook ones."""
    assert slow_text(re.compile(BAD[name], re.DOTALL))


@pytest.mark.parametrize("name", GOOD)
def test_linear_patterns_pass(name: str) -> None:
    """Possessive, anchored and bounded patterns are accepted."""
    assert not slow_text(re.compile(GOOD[name]))


@pytest.mark.parametrize("module", MODULES)
def test_attack_text_that_takes_a_pattern_more_than_linear_time(module: str) -> None:
    """A tool of 137 bytes once hung every command: no pattern may backtrack over what a file holds."""
    slow = {
        name: text
        for name, (pattern, at_start) in patterns_of(module).items()
        if (text := slow_once(pattern, at_start=at_start))
    }
    assert not slow


@cache
def slow_once(pattern: Found, *, at_start: bool) -> str:
    """Return :func:`slow_text`, which is asked once for a pattern that several modules hold."""
    return slow_text(pattern, at_start=at_start)

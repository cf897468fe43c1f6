"""Hostile text is made harmless, measured and wrapped."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye._text import block, inline
from rye.cli.render.parts import passage
from rye.cli.terminal import cells, json_text
from tests.unit.cli.samples import ESCAPED, HOSTILE

ANY = st.text(st.characters(exclude_categories=()), max_size=60)


def starred(text: str) -> str:
    """Stand in for colour."""
    return f"*{text}*"


def dangerous(text: str) -> list[str]:
    """Return the characters that a terminal may obey or that nobody sees."""
    allowed = {"\n", "\t"}
    return [
        char
        for char in text
        if char not in allowed
        and (unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or unicodedata.bidirectional(char) in BIDI)
    ]


BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize("shown", [inline, block])
def test_terminal_escapes_and_invisible_characters_are_written_out(shown: type[str]) -> None:
    """A screen clearing, a direction override, a tag character: each is shown as what it is."""
    assert shown(HOSTILE) == ESCAPED


@given(ANY)
def test_no_text_whatever_reaches_the_terminal_unescaped(text: str) -> None:
    """For every text, nothing is left that a terminal obeys; one line stays one line."""
    assert dangerous(block(text)) == []
    assert dangerous(inline(text)) == []
    assert "\n" not in inline(text)
    block(text).encode("utf-8")


@given(ANY)
def test_json_is_safe_to_look_at_and_means_the_same(text: str) -> None:
    """The text comes back from the JSON unchanged, and the JSON holds no dangerous character itself."""
    dumped = json_text({"text": text}, indent=None)
    assert json.loads(dumped) == {"text": text}
    assert dangerous(dumped) == []
    assert "\n" not in dumped


def test_a_block_keeps_its_lines_and_tabs() -> None:
    """Line ends of either kind and tabs are layout; a lone carriage return could overwrite a line and is not."""
    assert block("a\r\n\tb\nc\rd") == "a\n\tb\nc\\x0dd"


def test_ranges_outside_the_text_do_no_harm() -> None:
    """A range that ends beyond the text, is empty or lies outside is cut to what there is."""
    assert passage("abc", [(2, 99), (1, 1), (-5, -2), (50, 60)], light=starred, width=None) == ["ab*c*"]


@given(ANY, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60))), st.integers(1, 30))
def test_passage_never_changes_the_words(text: str, spans: list[tuple[int, int]], width: int) -> None:
    """Whatever is lighted and however it is wrapped, the words are those of the text."""
    lines = passage(text, spans, light=lambda run: run, width=width)
    assert " ".join(lines).split() == inline(text).split()
    assert all(cells(line) <= width or " " not in line for line in lines)

"""Where the signature line is found, and where it is not."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye._text import RawEnvelope, as_word, block, find_envelope, from_word, has_invisible, inline, quote, verbatim_json

LINE = b"# rye:signed:x"
IGNORABLE = (
    *[0xAD, 0x34F, 0x61C, *range(0x115F, 0x1161), *range(0x17B4, 0x17B6), *range(0x180B, 0x1810), 0x3164, 0xFFA0],
    *[*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), 0xFEFF],
    *[*range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000)],
)
"""Default_Ignorable_Code_Point of Unicode 16, by DerivedCoreProperties.txt."""


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (LINE, RawEnvelope("# rye:signed:x", 1, 0, 14)),
        (LINE + b"\nbody", RawEnvelope("# rye:signed:x", 1, 0, 15)),
        (LINE + b"\r\nbody", RawEnvelope("# rye:signed:x", 1, 0, 16)),
        (b"\xef\xbb\xbf" + LINE + b"\n", RawEnvelope("# rye:signed:x", 1, 3, 18)),
        (b"#!/bin/sh\n" + LINE + b"\n", RawEnvelope("# rye:signed:x", 2, 10, 25)),
        (b"#!/bin/sh\r\n" + LINE + b"\r\n", RawEnvelope("# rye:signed:x", 2, 11, 27)),
        (b"\xef\xbb\xbf#!x\n" + LINE, RawEnvelope("# rye:signed:x", 2, 7, 21)),
        (b"<!-- ryeos:signed:y -->\n", RawEnvelope("<!-- ryeos:signed:y -->", 1, 0, 24)),
        (b"// \trye:signed:\n", RawEnvelope("// \trye:signed:", 1, 0, 16)),
        (b"<!--rye:signed:\n", RawEnvelope("<!--rye:signed:", 1, 0, 16)),
    ],
)
def test_an_envelope_counts_on_line_one_or_below_a_shebang(data: bytes, found: RawEnvelope) -> None:
    """Line 1, after a byte order mark, or line 2 after a shebang; the range is the whole line with its line break."""
    assert find_envelope(data) == found


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n" + LINE,
        b"import os\n" + LINE,
        b" " + LINE,
        b"#!/bin/sh",
        b"#!/bin/sh\n\n" + LINE,
        b"#!/bin/sh " + LINE,
        b"# # rye:signed:x",
        b"## rye:signed:x",
        b"rye:signed:x",
        b"# Rye:signed:x",
        b"# rye:unsigned",
        b"-- rye:signed:x",
        b"\xef\xbb\xbf\xef\xbb\xbf" + LINE,
        LINE.decode().encode("utf-16"),
    ],
)
def test_anything_else_is_content(data: bytes) -> None:
    """Lower lines, indented lines, other marks and other words are no envelope."""
    assert find_envelope(data) is None


def test_a_lone_carriage_return_ends_no_line() -> None:
    """What follows a lone CR stays in the line, so that no code can hide behind one."""
    found = find_envelope(LINE + b"\rimport os\n")
    assert found is not None
    assert found.line == "# rye:signed:x\rimport os"


def test_bytes_that_are_not_text_are_shown_as_replacement() -> None:
    """A line that is not UTF-8 is still found, for its readers to refuse."""
    found = find_envelope(b"# rye:signed:\xff\n")
    assert found is not None
    assert found.line == "# rye:signed:\ufffd"


def test_every_character_that_shows_nothing_is_written_out() -> None:
    """Default-ignorable ones, format and control characters, separators and halves of pairs, all of Unicode."""
    unseen = {"Cf", "Cc", "Cs", "Zl", "Zp"}
    chars = {chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in unseen}
    for char in sorted(
        {*chars, *map(chr, IGNORABLE), "\u2800"} - set("\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029")
    ):
        for shown in (inline(f"a{char}b"), block(f"a{char}b"), as_word(f"a{char}b"), quote(f"a{char}b")):
            assert char not in shown, f"{ord(char):x}"
            assert "\\" in shown
        assert ord(char) < 0x7F or char not in verbatim_json(f'"a{char}b"')
        assert ord(char) < 0x7F or has_invisible(char)


@given(st.text())
def test_a_word_is_the_text_it_was_made_of(text: str) -> None:
    """Whatever is in it, backslashes too; so an id can be copied from an answer."""
    word = as_word(text)
    assert not any(char.isspace() for char in word)
    assert from_word(word) == text


def test_letters_of_all_scripts_are_shown_as_they_are() -> None:
    """Combining marks, wide letters and pictures among them."""
    text = "Zu\u0308rich 日本語 한국어 ไทย עברית हिन्दी 🙂 e\u0301"
    assert inline(text) == block(text) == text
    assert not has_invisible(text)
    assert as_word("日本語/a_b-c.d@e+f:g") == "日本語/a_b-c.d@e+f:g"
    assert as_word("a b|c\\") == "a\\x20b\\x7cc\\x5c"

"""Where the signature line is found, and where it is not."""

from __future__ import annotations

import pytest

from rye._text import RawEnvelope, find_envelope

LINE = b"# rye:signed:x"


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

"""Which lines of a file an older signature leaves out."""

from __future__ import annotations

import pytest

from rye.trust.evidence import uncovered_lines
from rye.trust.model import Coverage, Evidence

LINE = b"<!-- rye:signed:2026-01-01T00:00:00Z:0:0:0 -->\n"


@pytest.mark.parametrize(
    ("data", "coverage", "lines"),
    [
        (LINE + b"a\nb\n", Coverage.WHOLE, ()),
        (LINE + b"# One\n\n<directive>\n</directive>\nDo it.\nAll.\n", Coverage.DIRECTIVE, ((2, 2), (6, 7))),
        (LINE + b"x <directive>\n</directive>\n", Coverage.DIRECTIVE, ((2, 2),)),
        (LINE + b"---\nname: a\n---\nbody\n", Coverage.BELOW_FRONT_MATTER, ((2, 4),)),
        (b"#!/bin/sh\n# rye:signed:2026-01-01T00:00:00Z:0:0:0\ntrue\n", Coverage.BELOW_LINE, ((1, 1),)),
        (LINE + b"\r\ra\r\n<directive>\rb\n</directive>\nc", Coverage.DIRECTIVE, ((4, 4), (8, 8))),
        (b"no line\n", Coverage.WHOLE, ()),
    ],
)
def test_lines_outside_of_what_was_signed(data: bytes, coverage: Coverage, lines: tuple[tuple[int, int], ...]) -> None:
    """Each run of lines with text is named by its first and last; blank ones and the line itself are none.

    A lone carriage return ends a line, as in the numbers of sections and symbols, and on the pages.
    """
    assert uncovered_lines(data, Evidence("", coverage=coverage), "") == lines

"""What bytes prove by themselves: the form of the line, the digest, and what the file says of its place."""

from __future__ import annotations

import pytest

from rye.errors import SigningError
from rye.trust.evidence import inspect
from rye.trust.line import COMMENT_MARKS
from rye.trust.model import Coverage, EnvelopeFormat, Evidence
from tests.support.signed import (
    NOTE,
    NOTE_PLACE,
    TOOL,
    XML,
    hashed,
    html,
    old_envelope,
    place,
    sign,
)

LINE = old_envelope(TOOL)


def inspected(envelope: str, mark: str = "# {}\n") -> Evidence:
    """Return the evidence of the tool below a line."""
    return inspect(mark.format(envelope).encode() + TOOL, origin=place(), declared={})


@pytest.mark.parametrize("mark", ["#{}\n", "#  {}\n", "# {}\t\n", "//\t{}\n", "<!--{}-->\n", "<!-- {} --> \n"])
def test_one_space_stands_around_the_envelope(mark: str) -> None:
    """Any other blanks are refused, and the reason says so."""
    found = inspected(LINE, mark)
    assert (found.code, found.detail) == ("malformed", "the envelope must be set off by exactly one space")


@pytest.mark.parametrize("form", [EnvelopeFormat.V1, EnvelopeFormat.V2])
@pytest.mark.parametrize("suffix", [*COMMENT_MARKS, ".json"])
@pytest.mark.parametrize("mark", ["#", "//", "<!--"])
def test_the_mark_is_that_of_the_extension(form: EnvelopeFormat, suffix: str, mark: str) -> None:
    """In a file of another language a line is no comment, so that it is not what was signed; JSON has no comments."""
    written = next(each for each, (before, _) in COMMENT_MARKS.items() if before.startswith(mark))
    found = inspect(sign(TOOL, suffix=written, form=form), origin=place(), declared={}, suffix=suffix)
    right = suffix in COMMENT_MARKS and COMMENT_MARKS[suffix] == COMMENT_MARKS[written]
    assert (found.code, bool(found.detail)) == (("", False) if right else ("malformed", True))


@pytest.mark.parametrize(
    "change",
    [
        ("rye:signed:", "rye:signed:v2:"),
        ("rye:signed:", "rye:signed:v3:"),
        ("rye:signed:", "rye:signed::"),
        ("2026-03-01T", "2026-02-30T"),
        ("2026-03-01T", "2026-3-1T"),
        ("08:30:00Z", "08:30Z"),
        ("08:30:00Z", "08:30:00"),
        ("08:30:00Z", "25:30:00Z"),
        (LINE[-16:], LINE[-16:-1]),
        (LINE[-16:], LINE[-16:].upper()),
        (LINE[-16:], LINE[-16:] + "0"),
        (LINE[-16:], LINE[-16:] + "|ann"),
        (LINE[-16:], LINE[-16:] + "|registry@ann@bea"),
        (LINE[-16:], LINE[-16:] + "|registry@\u00e4nn"),
        (LINE.split(":")[-3], LINE.split(":")[-3].upper()),
        (LINE.split(":")[-3], LINE.split(":")[-3][1:]),
        (LINE.split(":")[-2], ""),
        ("2026", "\uff12\uff10\uff12\uff16"),
    ],
)
def test_a_line_of_another_form_is_malformed(change: tuple[str, str]) -> None:
    """Every part of the line has one form; near misses are malformed, never read as something else."""
    found = inspected(LINE.replace(*change, 1))
    assert (found.code, found.format, found.signature) == ("malformed", "", b"")
    assert found.detail


def _signature(text: str) -> str:
    return LINE.replace(LINE.split(":")[-2], text)


RAW = LINE.split(":")[-2].rstrip("=")
LAST = {"A": "B", "Q": "R", "g": "h", "w": "x"}[RAW[-1]]


@pytest.mark.parametrize(
    "text",
    [
        RAW + "=",
        RAW + "===",
        RAW[:-1],
        RAW + "AA",
        RAW[:-1] + LAST,
        "=" + RAW,
        RAW[:40] + "=" + RAW[41:],
        "-" + RAW[1:-2] + "+" + RAW[-1],
        "A" * 84 + "==",
    ],
)
def test_other_spellings_of_a_signature_are_refused(text: str) -> None:
    """Wrong length, half padding, mixed alphabets and unused bits that are not zero give no signature."""
    found = inspected(_signature(text))
    assert (found.code, found.signature) == ("encoding", b"")


def test_which_part_an_older_digest_covers() -> None:
    """Whole file, one directive with nothing but space around it, or less."""
    for data, coverage in (
        (html(old_envelope(NOTE)) + NOTE, Coverage.WHOLE),
        (html(old_envelope(XML)) + b" \r\n\t" + XML + b"\n\n", Coverage.WHOLE),
        (html(old_envelope(XML)) + XML + b".", Coverage.DIRECTIVE),
        (html(old_envelope(XML)) + b"\xc2\xa0" + XML, Coverage.DIRECTIVE),
        (html(old_envelope(XML)) + XML + b"\x0c", Coverage.DIRECTIVE),
        (b"\xef\xbb\xbf" + html(old_envelope(XML)) + XML + b"\n", Coverage.DIRECTIVE),
        (html(old_envelope(b"a\n\nb")) + b"---\nx: 1\n---\n\n\n a\n\nb \n", Coverage.BELOW_FRONT_MATTER),
        (html(old_envelope(b"a")) + b"------a", Coverage.BELOW_FRONT_MATTER),
        (b"#!/bin/sh\n" + hashed(old_envelope(b"a")) + b"a", Coverage.BELOW_LINE),
        (b"#!/bin/sh\n" + hashed(old_envelope(b"#!/bin/sh\na")) + b"a", Coverage.WHOLE),
    ):
        found = inspect(data, origin=NOTE_PLACE, declared={})
        assert (found.code, found.coverage) == ("", coverage)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({}, False),
        ({"name": "hello", "category": "demo", "type": "tool", "id": "demo/hello"}, False),
        ({"id": "hello"}, False),
        ({"category": "/demo/"}, False),
        ({"name": "  hello "}, False),
        ({"name": "", "category": "", "type": "", "id": ""}, False),
        ({"type": "http"}, False),
        ({"name": "Hello"}, True),
        ({"name": "demo/hello"}, True),
        ({"category": "dem"}, True),
        ({"category": "demo/hello"}, True),
        ({"category": "rye/demo"}, True),
        ({"type": "directive"}, True),
        ({"id": "other/hello"}, True),
        ({"title": "Anything"}, False),
    ],
)
def test_what_a_file_says_of_its_place(declared: dict[str, str], said: bool) -> None:  # noqa: FBT001 - a test's expectation
    """Name, category, id and type must be the path's where they are stated; nothing stated contradicts nothing.

    A v2 line binds type and id, so there what is stated changes nothing.
    """
    older = sign(TOOL, form=EnvelopeFormat.V1)
    assert bool(inspect(older, origin=place(), declared=declared).misplaced) is said
    assert inspect(sign(TOOL), origin=place(), declared=declared).misplaced == ""


def test_a_line_in_the_text_is_only_mentioned_when_it_is_complete() -> None:
    """Documentation with shortened examples is simply unsigned; a complete line further down is named by its number."""
    for line in (
        b"# rye:signed:TIME:HASH:SIG:FP\n",
        b"# rye:signed:2026-01-01T00:00:00Z:abc:def:123\n",
        b"# # " + LINE.encode(),
    ):
        assert inspect(b"text\n" + line, origin=place(), declared={}).code == "no-envelope"
    for line in (LINE.encode(), b"  " + LINE.encode()):
        found = inspect(b"text\n\n" + line.replace(b"rye:", b"# rye:", 1) + b"\r\n", origin=place(), declared={})
        assert (found.code, found.detail) == ("envelope-elsewhere", "3")


def test_a_hostile_megabyte_takes_no_time() -> None:
    """Searches for parts are linear: a megabyte of openings that never close is read like any other."""
    for filler in (b"<directive ", b"---", b"# rye:signed:", b"\r", b"</directive><directive>", b"<!-- rye:signed:\n"):
        data = html(LINE) + filler * (1_000_000 // len(filler))
        assert inspect(data, origin=NOTE_PLACE, declared={}).code in {"digest", "two-envelopes"}
        assert inspect(b"x\n" + filler * 60_000, origin=NOTE_PLACE, declared={}).code == "no-envelope"


@pytest.mark.parametrize(
    "record",
    [[], ["x"] * 11, [""] * 11, ["evidence-2"], ["evidence-2", *["x"] * 10], ["evidence-2", *[1] * 10], 5, None],
)
def test_a_damaged_record_is_refused(record: object) -> None:
    """A record that another version wrote, or that is damaged, is a SigningError and nothing else."""
    with pytest.raises(SigningError) as caught:
        Evidence.from_record(record)  # type: ignore[arg-type]
    assert caught.value.code == "bad-record"

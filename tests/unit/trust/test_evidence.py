"""What bytes prove by themselves: the form of the line, the digest, and what the file says of its place."""

from __future__ import annotations

import pytest

from rye.errors import SigningError
from rye.trust.evidence import inspect
from rye.trust.line import COMMENT_MARKS
from rye.trust.model import Coverage, EnvelopeFormat, Evidence
from tests.support.signed import (
    ANN,
    NOTE,
    NOTE_PLACE,
    TOOL,
    XML,
    hashed,
    html,
    old_envelope,
    place,
    replace_once,
    sign,
)

LINE = old_envelope(TOOL)


def inspected(envelope: str, mark: str = "# {}\n") -> Evidence:
    """Return the evidence of the tool below a line."""
    return inspect(mark.format(envelope).encode() + TOOL, origin=place(), declared={})


@pytest.mark.parametrize("mark", ["# {}\n", "// {}\n", "<!-- {} -->\n"])
def test_every_comment_mark_is_read(mark: str) -> None:
    """Every comment mark is read where the kind of file is not known."""
    assert inspected(LINE, mark).code == ""


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


@pytest.mark.parametrize(
    "when", ["2026-03-01T08:30:00Z", "2026-03-01T08:30:00.123456789Z", "2026-03-01T09:30:00+01:00"]
)
def test_times_of_older_lines(when: str) -> None:
    """Older lines may carry fractions or an offset; the time is shown as written."""
    assert inspected(LINE.replace("2026-03-01T08:30:00Z", when)).signed_at == when


def _signature(text: str) -> str:
    return LINE.replace(LINE.split(":")[-2], text)


RAW = LINE.split(":")[-2].rstrip("=")
LAST = {"A": "B", "Q": "R", "g": "h", "w": "x"}[RAW[-1]]


@pytest.mark.parametrize("text", [RAW, RAW + "==", RAW.replace("-", "+").replace("_", "/")])
def test_one_signature_may_be_spelled_in_either_alphabet_with_all_padding_or_none(text: str) -> None:
    """Base64 and base64url, padded or not, are read alike."""
    found = inspected(_signature(text))
    assert found.code == ""
    assert found.signature == ANN.sign(found.digest.encode())


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


@pytest.mark.parametrize("change", [("==:", ":"), ("-", "+"), ("_", "/")])
def test_v2_signatures_have_one_spelling(change: tuple[str, str]) -> None:
    """A v2 signature is base64url without padding and nothing else."""
    line, rest = sign(TOOL).split(b"\n", 1)
    text = line.decode()
    signature = text.split(":")[-3]
    other = signature + "==" if change[1] == ":" else signature.replace(*change)
    if other != signature:
        data = text.replace(signature, other).encode() + b"\n" + rest
        assert inspect(data, origin=place(), declared={}).code == "encoding"


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
    ("covered", "content"),
    [(b"", b"</directive><directive>"), (b"-x", b"---x"), (b"", b"x"), (b"x", b"x---"), (XML, XML[:-1])],
)
def test_parts_that_are_none_are_not_covered(covered: bytes, content: bytes) -> None:
    """Ends before beginnings, unclosed front matter and empty parts are no parts."""
    found = inspect(html(old_envelope(covered)) + content, origin=NOTE_PLACE, declared={})
    assert found.code == "digest"


def test_a_second_line_like_a_shebang_is_content() -> None:
    """Below the shebang and the line anything may follow."""
    assert inspect(sign(b"#!/bin/sh\n#!x\n", suffix=".sh"), origin=place(), declared={}).code == ""


def test_v2_covers_the_whole_file_or_nothing() -> None:
    """The partial digests of older tools are not accepted in a v2 line."""
    signed = sign(XML, origin=NOTE_PLACE, suffix=".md")
    assert inspect(signed + b"\nmore", origin=NOTE_PLACE, declared={}).code == "digest"


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


def test_knowledge_of_ryeos_has_the_category_of_its_folder() -> None:
    """RyeOS compares no category that a knowledge entry states; name and id are compared, and so are tools."""
    for declared, where, said in (
        ({"category": "other"}, NOTE_PLACE, False),
        ({"category": "other", "name": "hello"}, NOTE_PLACE, False),
        ({"category": "other", "name": "renamed"}, NOTE_PLACE, True),
        ({"category": "other", "id": "other/hello"}, NOTE_PLACE, True),
        ({"category": "other"}, place(), True),
        ({"category": "other"}, place(item_type="directive"), True),
    ):
        data = html(old_envelope(NOTE, ryeos=True)) + NOTE
        assert bool(inspect(data, origin=where, declared=declared).misplaced) is said
        older = html(old_envelope(NOTE)) + NOTE
        assert inspect(older, origin=where, declared=declared).misplaced


def test_a_second_line_of_ryeos_that_is_no_comment_is_content() -> None:
    """RyeOS takes a line for an envelope by the comments of the file alone; what stands below is text as any other."""
    stale = hashed(old_envelope(b"an earlier text", ryeos=True))
    note = stale + NOTE
    data = html(old_envelope(note, ryeos=True)) + note
    found = inspect(data, origin=NOTE_PLACE, declared={}, suffix=".md")
    assert (found.code, found.coverage) == ("", Coverage.WHOLE)
    changed = (
        (data.replace(stale, stale.replace(b"A", b"B")), "digest"),
        (data.replace(stale, b""), "digest"),
        (data.removeprefix(html(old_envelope(note, ryeos=True))), "malformed"),
        (html(old_envelope(html(LINE) + note, ryeos=True)) + html(LINE) + note, "two-envelopes"),
        (html(old_envelope(note)) + note, "two-envelopes"),
        (sign(note, origin=NOTE_PLACE, suffix=".md").replace(NOTE, stale + NOTE), "two-envelopes"),
    )
    for other, code in changed:
        assert inspect(other, origin=NOTE_PLACE, declared={}, suffix=".md").code == code
    assert inspect(data, origin=NOTE_PLACE, declared={}).code == "two-envelopes"


def test_an_item_at_the_root_has_no_category_to_contradict() -> None:
    """Without a folder any stated category is another place."""
    there = place("hello")
    signed = sign(TOOL, origin=there, form=EnvelopeFormat.V1)
    assert inspect(signed, origin=there, declared={"name": "hello"}).misplaced == ""
    assert "''" in inspect(signed, origin=there, declared={"category": "demo"}).misplaced


def test_claims_are_bounded_and_printable() -> None:
    """Ids that a hostile file claims are neither long nor full of control characters, nor are the words about them."""
    hostile = {"name": "x" * 10_000, "category": "a\x1b[31m"}
    assert inspect(sign(TOOL), origin=place(), declared=hostile).claims == ()
    long = inspect(sign(TOOL, form=EnvelopeFormat.V1), origin=place(), declared=hostile)
    assert len(long.misplaced) < 500
    assert long.misplaced.isprintable()
    assert inspect(sign(TOOL), origin=place(), declared={"category": "a\x1b[31m"}).claims == ()
    assert inspect(sign(TOOL), origin=place(), declared={"name": "other"}).claims == ("other", "demo/other")


def test_a_line_in_the_text_is_only_mentioned_when_it_is_complete() -> None:
    """Documentation with shortened examples is simply unsigned; a complete line further down is named."""
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


def test_content_digest_is_of_all_bytes() -> None:
    """Two files that differ anywhere, be it in the line, have different content digests."""
    one, two = sign(TOOL), replace_once(sign(TOOL), b"2026-03-01", b"2026-03-02")
    digests = {inspect(data, origin=place(), declared={}).content_digest for data in (one, two, TOOL)}
    assert len(digests) == 3

"""Where the signature line is put, and what is refused."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone

import pytest

from rye.errors import SigningError
from rye.trust.line import COMMENT_MARKS, sign_bytes, unsigned_bytes
from rye.trust.model import EnvelopeFormat, Verdict
from tests.support.signed import ANN, EVE, NOTE, SCRIPT, SIGNED_AT, TOOL, WHEN, place, sign, verdict

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("suffix", COMMENT_MARKS)
@pytest.mark.parametrize("form", [EnvelopeFormat.V1, EnvelopeFormat.V2])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\r\n",
        b"x",
        TOOL,
        TOOL.replace(b"\n", b"\r\n"),
        SCRIPT,
        b"#!x",
        b"#!x\r\n",
        b"#!x\r\ny",
        BOM,
        BOM + SCRIPT,
    ],
)
def test_signed_bytes_are_trusted_and_keep_their_content(suffix: str, form: EnvelopeFormat, data: bytes) -> None:
    """Every kind of file, empty or not, signs, verifies, and is itself again without the line."""
    signed = sign(data, suffix=suffix, form=form)
    assert verdict(signed).verdict is Verdict.TRUSTED
    ended = data if data.removeprefix(BOM) != b"#!x" else data + b"\n"
    assert unsigned_bytes(signed) == ended


def test_the_line_stands_first_or_below_a_shebang() -> None:
    """Mark by file type; a byte order mark stays in front; line ends follow the first line of the file."""
    digest = hashlib.sha256(TOOL).hexdigest()
    assert sign(TOOL).startswith(f"# rye:signed:v2:{WHEN}:{digest}:".encode())
    assert sign(NOTE, suffix=".md").split(b"\n")[0].endswith(b" -->")
    assert sign(TOOL, suffix=".TS").startswith(b"// rye:signed:v2:")
    assert sign(SCRIPT, suffix=".sh").split(b"\n")[0] == b"#!/bin/sh"
    assert sign(SCRIPT, suffix=".sh").split(b"\n")[1].startswith(b"# rye:signed:v2:")
    assert sign(BOM + TOOL).startswith(BOM + b"# rye:signed:v2:")
    assert sign(b"a\r\nb\n").split(b"\n")[0].endswith(b"\r")
    assert not sign(b"a\nb\r\n").split(b"\n")[0].endswith(b"\r")


def test_the_line() -> None:
    """v2 names the key in full and the extension, but not that of Markdown."""
    public = ANN.public
    new = sign(TOOL).split(b"\n")[0].decode()
    assert new.endswith(f":{public.fingerprint}:.py")
    assert sign(NOTE, suffix=".md").split(b"\n")[0].endswith(f":{public.fingerprint} -->".encode())
    assert "=" not in new


def test_a_line_that_is_there_is_replaced() -> None:
    """Signing again, with another key or format, leaves one line; with the same, the same bytes."""
    for data in (TOOL, SCRIPT, TOOL.replace(b"\n", b"\r\n"), BOM + TOOL):
        once = sign(data)
        assert sign(once) == once
        assert sign(sign(data, EVE, form=EnvelopeFormat.V1)) == once
        assert sign(sign(data, EVE)[: -len(data)] + once if data == TOOL else once) == once


def test_time_is_written_in_utc_to_the_second() -> None:
    """The moment is given by the caller, in any zone."""
    east = SIGNED_AT.astimezone(timezone(timedelta(hours=5, minutes=30))) + timedelta(microseconds=5)
    naive = datetime(2026, 3, 1, 8, 30)  # noqa: DTZ001 - the case under test
    for now in (east, naive):
        assert sign_bytes(TOOL, suffix=".py", origin=place(), key=ANN, now=now) == sign(TOOL)


@pytest.mark.parametrize("suffix", [".json", "", ".txt", "py", ".pyc"])
def test_files_without_comments_are_refused(suffix: str) -> None:
    """JSON can hold no comment and so no line; the error names what can be signed."""
    with pytest.raises(SigningError) as caught:
        sign(b"{}", suffix=suffix)
    assert caught.value.code == "no-comment"
    assert ".yaml" in caught.value.hint


def test_files_that_are_not_text_are_refused() -> None:
    """What is not UTF-8 is no item, and is not signed."""
    with pytest.raises(SigningError) as caught:
        sign(b"\xff\xfe")
    assert caught.value.code == "not-utf-8"

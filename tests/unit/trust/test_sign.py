"""Where the signature line is put, and what is refused."""

from __future__ import annotations

import pytest

from rye.errors import SigningError
from rye.trust.line import COMMENT_MARKS, unsigned_bytes
from rye.trust.model import EnvelopeFormat, Verdict
from tests.support.signed import EVE, SCRIPT, TOOL, sign, verdict

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


def test_a_line_that_is_there_is_replaced() -> None:
    """Signing again, with another key or format, leaves one line; with the same, the same bytes."""
    for data in (TOOL, SCRIPT, TOOL.replace(b"\n", b"\r\n"), BOM + TOOL):
        once = sign(data)
        assert sign(once) == once
        assert sign(sign(data, EVE, form=EnvelopeFormat.V1)) == once
        assert sign(sign(data, EVE)[: -len(data)] + once if data == TOOL else once) == once


@pytest.mark.parametrize("suffix", [".json", "", ".txt", "py", ".pyc"])
def test_files_without_comments_are_refused(suffix: str) -> None:
    """JSON can hold no comment and so no line; the error names what can be signed."""
    with pytest.raises(SigningError) as caught:
        sign(b"{}", suffix=suffix)
    assert caught.value.code == "no-comment"
    assert ".yaml" in caught.value.hint

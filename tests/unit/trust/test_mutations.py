"""No bytes but the signed ones are valid: every small change of signed files, in all formats and placements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations

import pytest

from rye._text import BOM
from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.line import sign_bytes, sign_detached
from rye.trust.model import EnvelopeFormat
from tests.support.signed import ANN, NOW, SIGNED_AT, TRUST, at_top, html, place, sign, verdict

RYEOS = EnvelopeFormat.RYEOS
SHEBANG = b"#!/bin/sh\n"
FRONT = b"---\na: b\n---\n"
BODY = b'"""Hi."""\nx = "caf\xc3\xa9"\n'
CRLF = (SHEBANG + BODY).replace(b"\n", b"\r\n")
PLACEMENTS = {
    "first": (".py", BODY),
    "markdown": (".md", b"# Hi\n"),
    "slashes": (".ts", b"let a = 1;\n"),
    "mark": (".py", BOM + BODY),
    "two-marks": (".py", BOM + BOM + BODY),
    "shebang": (".sh", SHEBANG + BODY),
    "mark-shebang": (".sh", BOM + SHEBANG + BODY),
    "shebang-alone": (".sh", SHEBANG),
    "crlf": (".py", BODY.replace(b"\n", b"\r\n")),
    "crlf-mark": (".py", BOM + BODY.replace(b"\n", b"\r\n")),
    "crlf-shebang": (".sh", CRLF),
    "crlf-mark-shebang": (".sh", BOM + CRLF),
    "blank-line": (".py", b"\r\n" + BODY),
    "no-line-break": (".py", b"x"),
    "empty": (".py", b""),
    "mark-alone": (".py", BOM),
    "front-matter": (".md", FRONT + b"# Hi\n"),
    "front-matter-mark": (".md", BOM + FRONT),
    "front-matter-crlf": (".md", FRONT.replace(b"\n", b"\r\n")),
    "front-matter-blanks": (".md", b"--- \t\na: |\n # x\n...\n"),
    "front-matter-empty": (".md", b"---\n---"),
    "front-matter-open": (".md", b"---\na: b\n"),
}
PIECES = (
    b" ",
    b"\t",
    b"\r",
    b"\n",
    b"\r\n",
    b"\0",
    b"\x0b",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    BOM,
    b"#",
    b"=",
    b"A",
    b"-->",
)
ORDER = (2**252 + 27742317777372353535851937790883648493).to_bytes(33, "little")
"""The order of the group of Ed25519; a signature with it added to its second half is another spelling of itself."""


def mutations(signed: bytes) -> Iterator[bytes]:
    """Yield every file that one small change, or another order of its parts, makes of a signed one."""
    for at, byte in enumerate(signed):
        head, tail = signed[:at], signed[at + 1 :]
        yield head + tail
        yield head
        yield from (head + bytes([byte ^ 1 << bit]) + tail for bit in range(8))
        yield from (head + piece + signed[at:] for piece in PIECES)
        yield head + tail[:1] + bytes([byte]) + tail[1:]
        yield signed + signed[at:]
    yield from (signed + piece for piece in PIECES)
    line = re.search(rb"(?:#|//|<!--) rye[^\n\r]*", signed)
    assert line
    ends = (b"", b"\n", b"\r\n")
    envelope = re.sub(rb"^\S+ | -->$", b"", line[0])
    fenced = (b"# %s\n" % envelope, b"<!-- %s -->\n" % envelope, b"---\n", b"---\r\n")
    parts = (
        BOM,
        signed[line.end() :].lstrip(b"\r\n"),
        *(each + end for each in (SHEBANG[:-1], line[0]) for end in ends),
        *(fenced if b"---" in signed else ()),
    )
    for count in range(1, 5):
        yield from map(b"".join, permutations(parts, count))
    unix = signed.replace(b"\r\n", b"\n")
    yield from (unix, unix.replace(b"\n", b"\r\n"), unix.replace(b"\n", b"\r"), signed.strip(), signed.lower())


def freedom(data: bytes) -> bytes:
    """Return a file without what an older line does not bind: time, padding, alphabet, key name, suffix, line break."""
    facts = rb"[0-9T:.Z+-]+?:([0-9a-f]{64}):([\w/+-]{86})(?:==)?:(?:[0-9a-f]{64}|[0-9a-f]{16})(?:\|[\w@-]+)?"
    found = re.search(rb"((?:#|//|<!--) )rye(?:os)?:signed:" + facts + rb"( -->)?(?:\r?\n|$)", data)
    if not found:
        return data
    signature = found[3].translate(bytes.maketrans(b"-_", b"+/"))
    return data[: found.start()] + found[1] + found[2] + signature + (found[4] or b"") + data[found.end() :]


def signed_as(form: EnvelopeFormat, suffix: str, data: bytes) -> bytes:
    """Return a signed file; lines of a format that is only read are those of v1, renamed."""
    if form is not RYEOS:
        return sign(data, suffix=suffix, form=form)
    signed = signed_as(EnvelopeFormat.V1, suffix, data)
    envelope = re.search(rb"rye:signed:\S+", signed)
    assert envelope
    written = re.sub(rb"[0-9a-f]{16}$", ANN.public.names[2].encode(), envelope[0]).replace(b"rye:", b"ryeos:")
    return signed.replace(envelope[0], written)


@pytest.mark.parametrize("form", EnvelopeFormat)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_no_other_bytes_are_valid(form: EnvelopeFormat, placement: str) -> None:
    """Only the signed bytes are ``ok``; what is ``ok-unbound`` differs only in what an older line leaves open."""
    suffix, data = PLACEMENTS[placement]
    signed = signed_as(form, suffix, data)
    is_newer = form is EnvelopeFormat.V2
    assert verdict(signed).code == ("ok" if is_newer else "ok-unbound")
    assert (signed.find(b"# rye") > signed.find(b"---") >= 0) == (
        is_newer and "-matter" in placement and "open" not in placement
    )
    for changed in mutations(signed):
        evidence = inspect(changed, origin=place(), declared={}, suffix=suffix, content_digest="")
        if evidence.code or changed == signed:
            continue
        found = judge(evidence, origin=place(), trust=TRUST, now=NOW)
        assert found.code != "ok", changed
        if found.code == "ok-unbound":
            assert not is_newer
            assert freedom(changed) == freedom(signed), changed


JSON = b'{"a": 1}\r\n'


def test_no_other_pair_is_valid() -> None:
    """A detached signature holds beside the signed bytes alone, and only as the bytes that were written."""

    def code(data: bytes, detached: bytes | None, suffix: str = ".json") -> str:
        evidence = inspect(data, origin=place(), declared={}, suffix=suffix, content_digest="", detached=detached)
        return evidence.code or judge(evidence, origin=place(), trust=TRUST, now=NOW).code

    signature = sign_detached(JSON, origin=place(), key=ANN, now=SIGNED_AT)
    assert code(JSON, signature) == "ok"
    assert code(JSON, None) == "no-envelope"
    for changed in mutations(b"# " + signature):
        assert changed == b"# " + signature or code(JSON, changed) != "ok"
        assert changed[2:] == signature or code(JSON, changed[2:]) != "ok"
    for at in range(len(JSON)):
        assert code(JSON[:at], signature) == "digest"
        assert {code(JSON[:at] + piece + JSON[at:], signature) for piece in PIECES} <= {"digest", "line-ends"}
    assert code(JSON.replace(b"\r\n", b"\n"), signature) == "line-ends"
    for form in (EnvelopeFormat.V1, RYEOS):
        older = signed_as(form, ".py", JSON).split(b"\n")[0].strip()
        assert code(JSON, older[2:] + b"\n") == code(JSON, older + b"\n") == "malformed"


def test_a_signature_holds_in_its_place_alone() -> None:
    """The line of each placement, put where each other one stands, over the same content: never valid."""
    signed = {
        "top": html(at_top(FRONT)) + FRONT,
        "inside": sign_bytes(FRONT, suffix=".md", origin=place(), key=ANN, now=SIGNED_AT),
        "detached": sign_detached(FRONT, origin=place(), key=ANN, now=SIGNED_AT),
    }
    for name, data in signed.items():
        (envelope,) = re.findall(rb"rye:signed:\S+", data)
        inside = b"---\n# %s\n" % envelope + FRONT[4:]
        places = {
            "top": (b"<!-- %s -->\n" % envelope + FRONT, ".md", None),
            "inside": (inside, ".md", None),
            "detached": (FRONT, ".json", envelope + b"\n"),
        }
        for where, (changed, suffix, beside) in places.items():
            evidence = inspect(changed, origin=place(), declared={}, suffix=suffix, detached=beside)
            found = judge(evidence, origin=place(), trust=TRUST, now=NOW)
            assert found.code == ("malformed" if where == "top" else "ok" if where == name else "signature")
        both = b"<!-- %s -->\n" % envelope + inside
        assert inspect(both, origin=place(), declared={}, suffix=".md").code == "two-envelopes"
        for suffix in (".md", ".py", ".yaml"):
            beside = envelope + b"\n"
            assert inspect(FRONT, origin=place(), declared={}, suffix=suffix, detached=beside).code == "no-envelope"
        for suffix in (".yaml", ".json"):
            assert inspect(inside, origin=place(), declared={}, suffix=suffix).code == "envelope-elsewhere"
        line = b"# %s\n" % envelope + JSON
        assert inspect(line, origin=place(), declared={}, suffix=".json", detached=envelope + b"\n").code == "malformed"


@pytest.mark.parametrize("form", EnvelopeFormat)
def test_no_other_spelling_of_a_signature_is_valid(form: EnvelopeFormat) -> None:
    """The group order added to the second half of a signature gives one that careless readers take for another."""
    from rye.trust.line import decode_signature, encode_signature

    signed = signed_as(form, ".py", BODY)
    text = signed.split(b":")[7 if form is EnvelopeFormat.V2 else -2].decode()
    raw = decode_signature(text, form)
    assert raw
    half = (int.from_bytes(raw[32:], "little") + int.from_bytes(ORDER, "little")).to_bytes(33, "little")
    spelled = encode_signature(raw[:32] + half[:32]) + ("" if form is EnvelopeFormat.V2 else "==")
    assert verdict(signed.replace(text.encode(), spelled.encode())).code == "signature"

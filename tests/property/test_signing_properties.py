"""What holds for all bytes, all ids and all small changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rye._text import find_envelope
from rye.errors import SigningError
from rye.trust.evidence import inspect
from rye.trust.line import decode_signature, encode_signature, sign_bytes, signed_message, unsigned_bytes
from rye.trust.model import EnvelopeFormat, Evidence, Place, Verdict, is_place
from rye.trust.reasons import REASONS
from rye.trust.trust_entry import TrustScope
from rye.trust.trust_file import parse_trust_file
from tests.support.signed import (
    ANN,
    DIRECTIVE,
    FRONT,
    NOTE,
    SCRIPT,
    SIGNED_AT,
    TOOL,
    TRUST,
    XML,
    place,
    sign,
    verdict,
)

PIECES = st.sampled_from(
    [
        b"# rye:signed:",
        b"<!-- rye:signed:v2:",
        b"// ryeos:signed:",
        b"2026-03-01T08:30:00Z:",
        b"0" * 64 + b":",
        b"A" * 86 + b":",
        b"A" * 86 + b"==:",
        b"f" * 16,
        b"f" * 64,
        b"|a@b",
        b" -->",
        b"\n",
        b"\r\n",
        b"\r",
        b"#!/bin/sh\n",
        b"\xef\xbb\xbf",
        b"---\n",
        XML,
        sign(TOOL),
        sign(NOTE, suffix=".md"),
        sign(NOTE, suffix=".md", audience="acme/ops"),
        b":tool:.ai/tools/demo/hello.py",
    ]
)
BYTES = st.one_of(
    st.binary(max_size=300), st.lists(st.one_of(PIECES, st.binary(max_size=5)), max_size=12).map(b"".join)
)
TEXTS = st.one_of(
    st.text(max_size=120).map(lambda text: text.encode("utf-8", "ignore")),
    st.sampled_from(
        [b"", TOOL, SCRIPT, NOTE, DIRECTIVE, FRONT + NOTE, b"\xef\xbb\xbf" + SCRIPT, TOOL.replace(b"\n", b"\r\n")]
    ),
)
IDS = st.lists(st.text(min_size=1, max_size=8).filter(lambda part: "/" not in part), min_size=1, max_size=4).map(
    "/".join
)
TYPES = st.sampled_from(["directive", "tool", "knowledge"])
PLACES = st.tuples(TYPES, IDS).map(lambda row: place(row[1], row[0]))
FORMS = st.sampled_from([EnvelopeFormat.V1, EnvelopeFormat.V2])
SUFFIXES = st.sampled_from([".py", ".md", ".ts", ".tsx", ".yaml", ".sh"])
DECLARED = st.dictionaries(
    st.sampled_from(["name", "category", "type", "id", "title"]), st.text(max_size=20), max_size=5
)


@given(BYTES, DECLARED)
def test_any_bytes_are_judged(data: bytes, declared: dict[str, str]) -> None:
    """Whatever the bytes and whatever they state, there is a verdict of the table and no exception."""
    origin = place()
    evidence = inspect(data, origin=origin, declared=declared)
    found = verdict(data, origin, declared=declared)
    assert found.verdict is REASONS[found.code].verdict
    assert Evidence.from_record(evidence.to_record()) == evidence
    assert bool(evidence.code) or len(evidence.signature) == 64


@given(TEXTS, PLACES, FORMS, SUFFIXES)
def test_what_is_signed_is_trusted_where_it_was_signed(
    data: bytes, origin: Place, form: EnvelopeFormat, suffix: str
) -> None:
    """Signing and judging agree on every text, id, type, format and kind of file; the text stays what it was."""
    signed = sign(data, suffix=suffix, origin=origin, form=form)
    assert verdict(signed, origin).verdict is Verdict.TRUSTED
    assert sign(signed, suffix=suffix, origin=origin, form=form) == signed
    rest = unsigned_bytes(signed)
    assert rest == unsigned_bytes(data) or rest.rstrip(b"\r\n") == unsigned_bytes(data)


@given(TEXTS, PLACES, PLACES)
def test_a_v2_signature_holds_nowhere_else(data: bytes, here: Place, there: Place) -> None:
    """Another type or another id is never trusted."""
    assume(here.stated != there.stated)
    signed = sign_bytes(data, suffix=".py", origin=here, key=ANN, now=SIGNED_AT)
    assert verdict(signed, there).code == "signed-elsewhere"


AUDIENCES = st.from_regex(r"[a-z0-9]([a-z0-9._/-]{0,8}[a-z0-9])?", fullmatch=True)


@given(TEXTS, PLACES, st.just("") | AUDIENCES, st.just("") | AUDIENCES)
def test_a_signature_counts_for_its_audience_alone(data: bytes, origin: Place, audience: str, wanted: str) -> None:
    """A demanded audience is met by that one alone; where none is demanded, any is as good as none."""
    signed = sign(data, origin=origin, audience=audience)
    found = verdict(signed, origin, trust=replace(TRUST, audience=wanted))
    assert found.code == ("ok" if wanted in {"", audience} else "audience")
    assert found.audience == audience
    assert verdict(signed, origin._replace(space="user"), trust=replace(TRUST, audience=wanted)).code == "ok"


@given(TEXTS, AUDIENCES, st.just("") | AUDIENCES)
def test_an_audience_cannot_be_changed(data: bytes, audience: str, other: str) -> None:
    """Another one in the line, or none, is a signature that does not hold, whatever is demanded."""
    assume(other != audience)
    signed = sign(data, audience=audience)
    line = find_envelope(signed)
    assert line is not None
    ending = signed[line.start : line.end].rstrip(b"\r\n")
    new = ending.removesuffix(f":{audience}".encode()) + (f":{other}".encode() if other else b"")
    changed = signed[: line.start] + new + signed[line.start + len(ending) :]
    for wanted in ("", audience, other):
        assert verdict(changed, trust=replace(TRUST, audience=wanted)).code == "signature"


@given(TEXTS, PLACES, PLACES)
def test_a_stated_place_cannot_be_changed(data: bytes, here: Place, there: Place) -> None:
    """Another place in the line is a signature that does not hold, wherever the file is."""
    assume(here.stated != there.stated)
    signed = sign(data, origin=here)
    line = find_envelope(signed)
    assert line is not None
    text = signed[line.start : line.end].replace(f":{here.stated}".encode(), f":{there.stated}".encode())
    changed = signed[: line.start] + text + signed[line.end :]
    assert {verdict(changed, where).code for where in (here, there)} == {"signature"}


@given(PLACES)
def test_a_place_has_one_spelling(origin: Place) -> None:
    """A line states it in ASCII without spaces or colons in the name, and is read back as that."""
    word, _, name = origin.stated.partition(":")
    assert origin.stated.isascii()
    assert not {" ", ":", ">", "\n"} & set(name)
    assert is_place(origin.stated)
    assert not is_place(f"{word}:%41{name}")


@given(st.sampled_from([TOOL, SCRIPT, NOTE]), FORMS, st.data())
def test_a_changed_byte_is_never_trusted(data: bytes, form: EnvelopeFormat, draw: st.DataObject) -> None:
    """Any one byte changed, removed or inserted leaves a file that is not trusted; a v1 line does not sign its time."""
    signed = sign(data, form=form)
    at = draw.draw(st.integers(0, len(signed) - 1))
    new = draw.draw(st.sampled_from([b"", *(bytes([value]) for value in range(256))]))
    keep = draw.draw(st.integers(0, 1))
    changed = signed[:at] + new + signed[at + 1 - keep :]
    assume(changed != signed)
    found = verdict(changed)
    if found.verdict is Verdict.TRUSTED:
        assert form is EnvelopeFormat.V1
        assert unsigned_bytes(changed) == unsigned_bytes(signed)


@given(st.binary(min_size=64, max_size=64), st.sampled_from(list(EnvelopeFormat)))
def test_signatures_survive_their_spelling(raw: bytes, form: EnvelopeFormat) -> None:
    """What is encoded is decoded, by every format."""
    assert decode_signature(encode_signature(raw), form) == raw


PARTS = st.tuples(*[st.text(alphabet="ab 12/", max_size=6)] * 3, st.sampled_from(["", "a", "1.a"]))


@given(PARTS, PARTS)
def test_different_parts_never_give_the_same_message(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """The signed message says where each part ends, so no two lists of parts share one."""
    messages = [
        signed_message(EnvelopeFormat.V2, digest, stated=stated, signed_at=when, audience=audience)
        for stated, when, digest, audience in (one, other)
    ]
    assert (messages[0] == messages[1]) == (one == other)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_trust_file_or_a_signing_error(data: bytes) -> None:
    """Nothing but a SigningError comes out of a trust file that is none."""
    with pytest.raises(SigningError) as caught:
        parse_trust_file(data, scope=TrustScope.USER)
    assert caught.value.code == "trust-file"

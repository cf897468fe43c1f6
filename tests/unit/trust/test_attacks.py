"""Attacks on signed files, each by its name: none is trusted, and each has its own reason code."""

from __future__ import annotations

import unicodedata

import pytest

from rye.trust.keys import PublicKey, SigningKey
from rye.trust.model import EnvelopeFormat, Fingerprint, Verdict
from rye.trust.trust_entry import TrustEntry, TrustScope
from rye.trust.trust_set import TrustSet
from tests.support.signed import (
    ANN,
    DIRECTIVE,
    EVE,
    NARROW,
    NOTE,
    NOTE_PLACE,
    OLD,
    PAT,
    REVOKED,
    TOOL,
    XML,
    declare,
    entry,
    html,
    old_envelope,
    place,
    sign,
    verdict,
)

V1 = EnvelopeFormat.V1


@pytest.mark.parametrize("char", ["\u212a", "\u037e"])
def test_attack_id_that_normalisation_replaces(char: str) -> None:
    """KELVIN SIGN is not ``K`` and GREEK QUESTION MARK is not ``;``, though NFC replaces the one by the other."""
    signed = sign(TOOL, origin=place(f"demo/{unicodedata.normalize('NFC', char)}"))
    assert verdict(signed, place(f"demo/{char}")).verdict is not Verdict.TRUSTED


def test_code_behind_a_carriage_return_in_the_line() -> None:
    """Python takes a lone CR for a line break; a line that holds one is malformed, never removed before hashing."""
    line, rest = sign(TOOL).split(b"\n", 1)
    found = verdict(line + b"\rimport os\n" + rest)
    assert (found.verdict, found.code) == (Verdict.TAMPERED, "malformed")


@pytest.mark.parametrize("tail", [b" import os", b" --> <script>", b"\x00", b"\x0cimport os", "\u2028x".encode()])
def test_text_behind_the_envelope_on_its_line(tail: bytes) -> None:
    """Nothing may follow the envelope on its line."""
    line, rest = sign(TOOL).split(b"\n", 1)
    assert verdict(line + tail + b"\n" + rest).verdict is Verdict.TAMPERED


def test_comment_left_open() -> None:
    """A Markdown line whose comment is not closed would hide what follows; it is malformed."""
    signed = sign(NOTE, origin=NOTE_PLACE, suffix=".md").replace(b" -->", b"", 1)
    assert verdict(signed, NOTE_PLACE).code == "malformed"


@pytest.mark.parametrize(
    ("who", "code"), [(REVOKED, "revoked"), (OLD, "expired"), (NARROW, "limited"), (PAT, "foreign-key")]
)
def test_what_is_wrong_with_a_key_comes_before_place_and_coverage(who: SigningKey, code: str) -> None:
    """A key that does not count says nothing about where a file belongs, nor which part of it is signed."""
    partial = html(old_envelope(XML, who)) + DIRECTIVE
    assert verdict(partial, place(item_type="directive")).code == code
    moved = sign(TOOL, who, form=V1)
    assert verdict(moved, place("demo/other"), declared=declare(place())).code == code


@pytest.mark.parametrize("item_id", ["demo/other", "other/hello", "hello", "demo/hello/hello"])
def test_attack_a_signed_file_copied_to_another_id(item_id: str) -> None:
    """A v2 signature holds at one place, which it states, and the reason names it."""
    found = verdict(sign(TOOL), place(item_id))
    assert (found.verdict, found.code) == (Verdict.MISPLACED, "signed-elsewhere")
    assert "it was signed as .ai/tools/demo/hello.py" in found.reason


def test_sixteen_hex_digits_that_name_two_keys() -> None:
    """The short fingerprint only looks keys up: of two that share it, the one that signed is found."""

    class Twin(PublicKey):
        """A key of eve's with the short fingerprint of ann's, as 2**64 tries would find one."""

        @property
        def fingerprint(self) -> Fingerprint:
            """Of ann the first 16 digits."""
            return Fingerprint(ANN.public.fingerprint[:16] + "0" * 48)

    twin = TrustEntry(Twin(EVE.public.raw), "eve", TrustScope.USER)
    signed = sign(TOOL, form=V1)
    for entries in ((twin, entry(ANN, owner="ann")), (entry(ANN, owner="ann"), twin)):
        found = verdict(signed, trust=TrustSet(entries))
        assert (found.verdict, found.owner) == (Verdict.TRUSTED, "ann")
    assert verdict(signed, trust=TrustSet((twin,))).code == "signature"


def test_item_id_with_another_boundary() -> None:
    """Lengths in the signed message keep type and id apart: no other split of the same text verifies."""
    signed = sign(TOOL, origin=place("a/b 20 x"))
    for item_id in ("a/b", "a/b 20", "a/b 20 x "):
        assert verdict(signed, place(item_id)).verdict is Verdict.MISPLACED
        line = signed.replace(b"a/b%2020%20x", item_id.replace(" ", "%20").encode())
        assert verdict(line, place(item_id)).verdict is Verdict.TAMPERED

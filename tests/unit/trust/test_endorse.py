"""How a user's key stands behind a project's trust file."""

from __future__ import annotations

from rye.trust import (
    EnvelopeFormat,
    TrustScope,
    TrustSet,
    Verdict,
    endorse,
    endorser,
    parse_trust_file,
    trust_file_bytes,
)
from tests.support.signed import ANN, EVE, PAT, SIGNED_AT, TOOL, entry, hashed, place, sign, unbound, verdict

FILE = trust_file_bytes(PAT.public, owner="pat")
ANCHORS = (entry(ANN), entry(EVE, TrustScope.NAMED))


def endorsed(who: str = "pat") -> bytes:
    """Return pat's trust file endorsed by ann under a file name."""
    return endorse(FILE, stem=who, key=ANN, now=SIGNED_AT)


def test_an_endorsed_file_names_its_endorser_and_reads_as_before() -> None:
    """The line is a comment to TOML; the endorser is the anchor that signed."""
    data = endorsed()
    assert endorser(data, stem="pat", anchors=ANCHORS) == ANN.public.fingerprint
    assert parse_trust_file(data, scope=TrustScope.PROJECT).public == PAT.public
    trust = TrustSet((*ANCHORS, parse_trust_file(data, scope=TrustScope.PROJECT, endorsed_by=ANN.public.fingerprint)))
    assert verdict(sign(TOOL, PAT), trust=trust).verdict is Verdict.TRUSTED


def test_an_endorsement_from_before_lines_named_an_extension_holds() -> None:
    """It names none; one that names another than was signed, or has lost its own, does not hold."""
    older = hashed(unbound(FILE, place("pat", "trust"))) + FILE
    assert endorser(older, stem="pat", anchors=ANCHORS) == ANN.public.fingerprint
    data = endorsed()
    assert b":.toml\n" in data
    for ending in (b"\n", b":.py\n"):
        assert endorser(data.replace(b":.toml\n", ending), stem="pat", anchors=ANCHORS) == ""


def test_endorsement_copied_to_another_file_name() -> None:
    """The signature binds the file's name."""
    assert endorser(endorsed("pat"), stem="eve", anchors=ANCHORS) == ""


def test_endorsed_file_edited() -> None:
    """Limits cannot be taken out of an endorsed file, nor the key exchanged."""
    assert endorser(endorsed() + b"\n", stem="pat", anchors=ANCHORS) == ""
    assert endorser(endorsed().replace(b"pat", b"eve"), stem="pat", anchors=ANCHORS) == ""


def test_endorsed_by_oneself_or_a_stranger() -> None:
    """Only anchors endorse; a file signed by its own key is not endorsed."""
    own = endorse(FILE, stem="pat", key=PAT, now=SIGNED_AT)
    assert endorser(own, stem="pat", anchors=ANCHORS) == ""
    assert endorser(endorsed(), stem="pat", anchors=(entry(EVE),)) == ""
    assert endorser(FILE, stem="pat", anchors=ANCHORS) == ""


def test_endorsement_under_another_name() -> None:
    """The line must name the anchor that signed."""
    swapped = endorsed().replace(ANN.public.fingerprint.encode(), EVE.public.fingerprint.encode())
    assert endorser(swapped, stem="pat", anchors=ANCHORS) == ""


def test_item_signature_reused_as_endorsement() -> None:
    """A file that ann signed as an item, or in the older format, endorses nothing."""
    for form in (EnvelopeFormat.V2, EnvelopeFormat.V1):
        item = sign(FILE, suffix=".toml", origin=place("pat"), form=form)
        assert endorser(item, stem="pat", anchors=ANCHORS) == ""
    as_item = verdict(endorsed(), place("pat"))
    assert as_item.verdict is Verdict.TAMPERED

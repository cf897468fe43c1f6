"""Keys: the standard's vectors, strictness, PEM, and a private key that keeps to itself."""

from __future__ import annotations

import copy
import pickle
import traceback

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from rye.errors import SigningError
from rye.trust.keys import _ORDER, _SMALL_ORDER_Y, PublicKey, SigningKey, remembering_verify
from tests.support.signed import ANN, EVE

RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe"
            "24655141438e7a100b"
        ),
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302ae"
            "eb00d291612bb0c00"
        ),
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28"
            "dc027beceea1ec40a"
        ),
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        (
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80"
            "e2a9ac94fa54ca49f"
        ),
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17"
            "ad9bef1177331a704"
        ),
    ),
]


@pytest.mark.parametrize(("seed", "public", "message", "signature"), RFC_8032)
def test_rfc_8032_vectors(seed: str, public: str, message: str, signature: str) -> None:
    """The vectors of RFC 8032, section 7.1, give their keys and signatures, and verify."""
    key = SigningKey.from_seed(bytes.fromhex(seed))
    assert key.public.raw.hex() == public
    assert key.sign(bytes.fromhex(message)).hex() == signature
    assert key.public.verify(bytes.fromhex(signature), bytes.fromhex(message))
    assert not key.public.verify(bytes.fromhex(signature), bytes.fromhex(message) + b"!")


def test_malleability_a_non_canonical_s_is_refused() -> None:
    """S and S + L are the same scalar; only the smaller spelling verifies."""
    signature = ANN.sign(b"m")
    s = int.from_bytes(signature[32:], "little")
    assert ANN.public.verify(signature, b"m")
    assert not ANN.public.verify(signature[:32] + (s + _ORDER).to_bytes(32, "little"), b"m")


@pytest.mark.parametrize("signature", [b"", b"x" * 63, b"x" * 65, bytes(64), b"\xff" * 64])
def test_signatures_of_wrong_length_or_content_are_refused(signature: bytes) -> None:
    """Nothing but 64 right bytes verifies, and nothing raises."""
    assert not ANN.public.verify(signature, b"m")


@pytest.mark.parametrize("y", sorted(_SMALL_ORDER_Y))
@pytest.mark.parametrize("sign", [0, 1])
def test_small_order_keys_are_refused(y: int, sign: int) -> None:
    """Under a key of small order one signature holds for many messages, so no such key exists here."""
    with pytest.raises(SigningError, match="full order") as caught:
        PublicKey((y | sign << 255).to_bytes(32, "little"))
    assert caught.value.code == "weak-key"


def test_a_public_key_has_one_pem_and_three_names() -> None:
    """PEM is read with any line ends and written in one spelling, of which the fingerprint is made."""
    public = PublicKey.from_pem(
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAUbAHc8d2KetZE2I9eb+VaUpTLkNsDJtFaAsY0nTEm7I=\n"
        "-----END PUBLIC KEY-----\n"
    )
    assert public.fingerprint.startswith("6ea18199041a1ea8")
    assert PublicKey.from_pem("\r\n" + public.pem.replace("\n", "\r\n")) == public
    assert len(public.fingerprint) == len(public.names[2]) == 64


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----",
        "-----BEGIN PUBLIC KEY-----\nA\n-----END PUBLIC KEY-----",
        ANN.public.pem.replace("PUBLIC", "PRIVATE"),
        ANN.public.pem + ANN.public.pem,
    ],
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    """Anything but one Ed25519 public key in PEM is a SigningError."""
    with pytest.raises(SigningError) as caught:
        PublicKey.from_pem(text)
    assert caught.value.code == "key-unreadable"


def test_a_private_key_survives_pem_with_and_without_passphrase() -> None:
    """What is written is read again; an encrypted key opens with its passphrase only."""
    key = SigningKey.generate()
    assert SigningKey.from_pem(key.to_pem()).public == key.public
    closed = key.to_pem(passphrase=b"open sesame")
    assert SigningKey.from_pem(closed, passphrase=b"open sesame").public == key.public
    for passphrase, code in ((None, "passphrase-needed"), (b"", "passphrase-needed"), (b"wrong", "passphrase-wrong")):
        with pytest.raises(SigningError) as caught:
            SigningKey.from_pem(closed, passphrase=passphrase)
        assert caught.value.code == code


def test_other_keys_are_refused_by_kind() -> None:
    """An RSA key is named as the wrong kind; text that is not a key as unreadable; a short seed too."""
    rsa = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for data, code in ((rsa, "key-type"), (b"", "key-unreadable"), (b"\xff\x00", "key-unreadable")):
        with pytest.raises(SigningError) as caught:
            SigningKey.from_pem(data)
        assert caught.value.code == code
    with pytest.raises(SigningError, match="32 bytes"):
        SigningKey.from_seed(b"short")


def test_a_private_key_never_shows_itself() -> None:
    """Neither its representation nor an error about it holds any of the secret, and it cannot be copied or pickled."""
    secret = ANN.to_pem().decode().splitlines()[1]
    assert repr(ANN) == f"SigningKey({ANN.public.fingerprint[:16]})"
    assert secret not in f"{ANN!r} {ANN!s} {ANN.public!r}"
    for steal in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(SigningError, match="cannot be pickled"):
            steal(ANN)
    with pytest.raises(SigningError) as caught:
        SigningKey.from_pem(ANN.to_pem().replace(b"M", b"N"))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert secret not in "".join(traceback.format_exception(caught.value))


def test_attack_a_remembered_signature_holds_for_nothing_else() -> None:
    """What was found of one key, signature and message is said of that alone, however often it is asked."""
    good = ANN.sign(b"message")
    bad = bytes([good[0] ^ 1]) + good[1:]
    asked = [
        (who.public, signature, message)
        for who in (ANN, EVE)
        for signature in (good, bad, good[:-1], b"")
        for message in (b"message", b"massage", b"")
    ]
    for _ in range(2):
        assert [remembering_verify(*each) for each in asked] == [each[0].verify(*each[1:]) for each in asked]
        assert sum(remembering_verify(*each) for each in asked) == 1

"""Bundles of OpenSSF Model Signing: what an attacker may bring, and that rye says the right thing of it.

Each test lays a skill with a bundle into a project, trusts a root certificate or a key as people do, and asks
``rye verify``. Certificates and bundles are made here.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from rye.cli.app import main
from rye.trust.oms import MAX_BUNDLE, Bundle, read_bundle
from tests.support import model_signing as oms
from tests.support.files import lay
from tests.support.model_signing import Authority, bundle_of, key_bundle, statement_of
from tests.support.spacesim import SpaceSim, no_own_items

FILES = {
    "SKILL.md": b"---\nname: pdf\ndescription: Fill in forms\n---\n\n# PDF\n",
    "references/forms.md": b"# Forms\n\nHow forms are filled in.\n",
    "scripts/fill.py": b'"""Fill in a form."""\n',
}
ROOT, MIDDLE, SIGNER = Authority().chain()


class Shop:
    """A project with one skill of a publisher, and the user who verifies it.

    Args:
        folder: Where both are laid.
        capsys: Catches what commands print.
    """

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.sim = SpaceSim(folder)
        self.sim.save_user_key()
        self._capsys = capsys
        self.skill = self.sim.project / ".claude/skills/pdf"
        lay(self.skill, FILES)
        self.write(bundle_of(statement_of(FILES), SIGNER, MIDDLE))

    def write(self, bundle: Any) -> None:
        """Write the bundle of the skill."""
        data = bundle if isinstance(bundle, bytes) else json.dumps(bundle).encode()
        self.skill.mkdir(exist_ok=True)
        (self.skill / "skill.oms.sig").write_bytes(data)

    def trust(self, pem: bytes, *options: str) -> int:
        """Trust a root certificate or a key, by default for skills."""
        path = self.sim.folder / "publisher.pem"
        path.write_bytes(pem)
        words = ["trust", "add", str(path), *(options or ("--for", "skill:*")), "--yes"]
        return main([*words, "--project", str(self.sim.project)])

    def items(self) -> dict[str, dict[str, str]]:
        """Return what ``rye verify`` says of each item of the skills, by ``type:id``."""
        self._capsys.readouterr()
        main(["verify", "--project", str(self.sim.project), "--space", "project", "--json"])
        answer = json.loads(self._capsys.readouterr().out)
        return {f"{each['type']}:{each['id']}": each for each in answer["items"]}

    def codes(self) -> set[str]:
        """Return the reason codes of all items."""
        return {each["code"] for each in self.items().values()}

    def searched(self) -> set[str]:
        """Return the same of a search in the index, which has the verdicts that ``rye verify`` has."""
        items = self.items()
        (verdict,) = {each["verdict"] for each in items.values()}
        hits = self.sim.registry().search(f"is:{verdict}", space="project", limit=50, fold=False).results
        assert {f"{hit.type}:{hit.id}" for hit in hits} == set(items)
        return {hit.signature.code for hit in hits}

    def told(self) -> str:
        """Return what the last command printed."""
        found = self._capsys.readouterr()
        return found.out + found.err

    def reason(self) -> str:
        """Return the one reason of all items."""
        (reason,) = {each["reason"] for each in self.items().values()}
        return reason


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """Return a shop whose root is trusted."""
    made = Shop(tmp_path, capsys)
    monkeypatch.setenv("USER_SPACE", str(made.sim.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    assert made.trust(ROOT.pem) == 0
    (tmp_path / "nothing").mkdir()
    with no_own_items(tmp_path / "nothing"):
        yield made


def signed(**terms: Any) -> dict[str, Any]:
    """Return a bundle over the files by a signer whose certificate has these terms."""
    return bundle_of(statement_of(FILES), Authority().issue("Signer", MIDDLE, **terms), MIDDLE)


def stated(**changes: Any) -> dict[str, Any]:
    """Return a bundle over a statement in which parts of the predicate are others."""
    statement = statement_of(FILES)
    statement["predicate"] |= changes
    return bundle_of(statement, SIGNER, MIDDLE)


def test_every_file_of_a_skill_is_trusted_by_one_root(shop: Shop) -> None:
    """The signer is the subject of the certificate, the owner that of the trust file."""
    items = shop.items()
    assert shop.searched() == {"ok-oms"}
    assert set(items) == {"directive:pdf", "knowledge:pdf/references/forms", "tool:pdf/scripts/fill"}
    assert {(each["signer"], each["owner"], each["format"]) for each in items.values()} == {
        ("O=Acme,CN=Signer", "Acme", "oms")
    }
    assert "under the root certificate of Acme" in shop.reason()
    assert shop.sim.registry().search("signer:O=Acme*", space="project", fold=False).total == 3


def test_root_certificate_in_the_bundle_is_no_harm_and_no_help(shop: Shop) -> None:
    """The one in the trust file counts."""
    shop.write(bundle_of(statement_of(FILES), SIGNER, MIDDLE, ROOT))
    assert shop.codes() == {"ok-oms"}
    root, middle, signer = Authority("Evil").chain()
    shop.write(bundle_of(statement_of(FILES), signer, middle, root))
    assert shop.codes() == {"oms-root"}
    assert "O=Evil,CN=Root" in shop.reason()


def test_root_of_the_same_name_with_another_key_vouches_for_nobody(shop: Shop) -> None:
    """A name is not a key."""
    _, middle, signer = Authority().chain()
    shop.write(bundle_of(statement_of(FILES), signer, middle))
    assert shop.searched() == {"oms-chain"}
    assert "is not issued by O=Acme,CN=Root" in shop.reason()


def test_certificate_that_is_missing_breaks_the_chain(shop: Shop) -> None:
    """The reason names the one that would have to be a root."""
    shop.write(bundle_of(statement_of(FILES), SIGNER))
    assert shop.codes() == {"oms-root"}
    assert "O=Acme,CN=Middle" in shop.reason()


@pytest.mark.parametrize(
    ("path", "words"),
    [("SKILL.md", "changed: SKILL.md"), ("scripts/fill.py", "changed: scripts/fill.py"), ("new.txt", "added: new.txt")],
)
def test_file_changed_or_added_makes_the_whole_skill_tampered(shop: Shop, path: str, words: str) -> None:
    """The reason names the file."""
    (shop.skill / path).write_bytes(FILES.get(path, b"") + b"evil\n")
    assert shop.searched() == {"skill-changed"}
    assert words in shop.reason()


def test_file_removed_is_named(shop: Shop) -> None:
    """What is not there was signed."""
    (shop.skill / "scripts/fill.py").unlink()
    assert "removed: scripts/fill.py" in shop.reason()


def test_changed_file_of_an_unknown_signer_is_untrusted(shop: Shop) -> None:
    """Nobody whom the user knows signed what it was before."""
    root, middle, signer = Authority("Evil").chain()
    shop.write(bundle_of(statement_of(FILES), signer, middle, root))
    (shop.skill / "SKILL.md").write_bytes(FILES["SKILL.md"] + b"evil\n")
    assert shop.searched() == {"oms-root"}


def test_link_in_place_of_a_file_is_not_followed(shop: Shop) -> None:
    """Its target may be another one tomorrow."""
    (shop.skill / "other.md").symlink_to("SKILL.md")
    assert "links and other things" in shop.reason()


@pytest.mark.parametrize("path", [".gitignore", ".gitattributes", ".github/notes.txt"])
def test_files_of_git_that_the_signer_left_out_may_be_there(shop: Shop, path: str) -> None:
    """Nothing runs or obeys them."""
    lay(shop.skill, {path: "x\n"})
    assert shop.codes() == {"ok-oms"}


@pytest.mark.parametrize("path", [".hidden", "README.txt"])
def test_left_out_file_that_is_not_one_of_git_is_named(shop: Shop, path: str) -> None:
    """Whatever the signer left out: SKILL.md, and all that is not git's."""
    shop.write(bundle_of(statement_of(FILES, ignored=(*oms.LEFT_OUT, path, "SKILL.md", ".")), SIGNER, MIDDLE))
    lay(shop.skill, {path: "x\n"})
    assert f"added: {path}" in shop.reason()


READ = (
    ".github/CLAUDE.md",
    ".github/.claude/settings.json",
    ".github/mcp.json",
    ".github/Makefile",
    ".github/copilot-instructions.md",
    ".github/x/AGENTS.md",
    ".github/SKILL.md",
    ".github/run.sh",
    ".gitignore/x.py",
)


@pytest.mark.parametrize("path", READ)
def test_attack_a_file_that_every_bundle_leaves_out_is_read_by_a_client(shop: Shop, path: str) -> None:
    """What the foreign signature does not cover is a file without a signature: the skill is signed in part."""
    lay(shop.skill, {path: "x\n"})
    assert shop.searched() == {"outside-skill"}
    assert f"1 file of the skill is not covered: {path}" in shop.reason()


def test_program_among_the_files_left_out_is_named(shop: Shop) -> None:
    """It has the mode of a program."""
    lay(shop.skill, {".github/notes": "x\n"})
    (shop.skill / ".github/notes").chmod(0o755)
    assert "not covered: .github/notes" in shop.reason()


def test_files_of_git_that_the_signer_did_not_leave_out_are_named(shop: Shop) -> None:
    """Only the signed statement leaves out."""
    shop.write(bundle_of(statement_of(FILES, ignored=()), SIGNER, MIDDLE))
    lay(shop.skill, {".gitignore": "x\n"})
    assert "added: .gitignore" in shop.reason()


@pytest.mark.parametrize(
    "path", ["../evil.md", "/etc/passwd", "a/../b", "./SKILL.md", "a//b", "a\\b", "SKILL.md", "", "a\nb", "a\u202eb"]
)
def test_path_in_the_statement_that_leads_elsewhere_or_stands_twice_is_malformed(shop: Shop, path: str) -> None:
    """No path is opened that could lead out of the folder."""
    rows = statement_of(FILES)["predicate"]["resources"]
    row = {"name": path, "algorithm": "sha256", "digest": "0" * 64}
    shop.write(stated(resources=[*rows, row]))
    assert shop.codes() == {"oms-malformed"}
    assert "not a path below the folder, or named twice" in shop.reason()
    assert "\n" not in shop.reason()


@pytest.mark.parametrize(
    "change",
    [
        {"resources": []},
        {"resources": "SKILL.md"},
        {"resources": ["SKILL.md"]},
        {"resources": [{"name": "SKILL.md", "algorithm": "sha256", "digest": "0" * 63}]},
        {"resources": [{"name": "SKILL.md", "algorithm": "sha256", "digest": "0" * 64}]},
        {"resources": [{"name": f"{number}", "algorithm": "sha256", "digest": "0" * 64} for number in range(2001)]},
        {"serialization": None},
    ],
)
def test_statement_that_names_no_files_or_too_many_is_malformed(shop: Shop, change: dict[str, Any]) -> None:
    """Also one whose subject is not the digest of its files."""
    shop.write(stated(**change))
    assert shop.codes() == {"oms-malformed"}


@pytest.mark.parametrize(
    "change",
    [
        {"resources": [{"name": "SKILL.md", "algorithm": "md5", "digest": "0" * 32}]},
        {"serialization": {"method": "shards", "hash_type": "sha256"}},
    ],
)
def test_unknown_algorithm_cannot_be_checked(shop: Shop, change: dict[str, Any]) -> None:
    """It is no sign of an attack, and no signature that counts."""
    shop.write(stated(**change))
    assert shop.searched() == {"oms-unknown"}
    assert any(word in shop.reason() for word in ("md5", "shards"))


def test_statement_of_another_kind_counts_for_nothing(shop: Shop) -> None:
    """A signature of the same publisher on a build is none on a skill."""
    shop.write(bundle_of(statement_of(FILES) | {"predicateType": "https://slsa.dev/provenance/v1"}, SIGNER, MIDDLE))
    assert shop.codes() == {"oms-unknown"}


def other_payload(bundle: dict[str, Any]) -> None:
    """Put another statement in the envelope, over the files as they are."""
    text = json.dumps(statement_of(FILES)).encode()
    bundle["dsseEnvelope"]["payload"] = base64.b64encode(text).decode()


def other_type(bundle: dict[str, Any]) -> None:
    """Name another type for the same bytes."""
    bundle["dsseEnvelope"]["payloadType"] = "text/plain"


def no_signature(bundle: dict[str, Any]) -> None:
    """Leave out the signature."""
    bundle["dsseEnvelope"]["signatures"] = []


def two_signatures(bundle: dict[str, Any]) -> None:
    """Hold the signature twice."""
    bundle["dsseEnvelope"]["signatures"] *= 2


def empty_signature(bundle: dict[str, Any]) -> None:
    """Hold a signature of no bytes."""
    bundle["dsseEnvelope"]["signatures"][0]["sig"] = ""


def no_material(bundle: dict[str, Any]) -> None:
    """Name neither certificate nor key."""
    bundle["verificationMaterial"] = {}


def no_certificate(bundle: dict[str, Any]) -> None:
    """Hold a chain of no certificates."""
    bundle["verificationMaterial"] = {"x509CertificateChain": {"certificates": []}}


def broken_certificate(bundle: dict[str, Any]) -> None:
    """Hold bytes that are no certificate."""
    bundle["verificationMaterial"] = {"x509CertificateChain": {"certificates": [{"rawBytes": "AAAA"}]}}


def many_certificates(bundle: dict[str, Any]) -> None:
    """Hold a chain that is too long to check."""
    rows = bundle["verificationMaterial"]["x509CertificateChain"]["certificates"]
    bundle["verificationMaterial"]["x509CertificateChain"]["certificates"] = rows * 5


def control_characters_as_hint(bundle: dict[str, Any]) -> None:
    """Name a key by what a terminal obeys."""
    bundle["verificationMaterial"] = {"publicKey": {"hint": "\x1b[2J" * 20}}


def not_base64(bundle: dict[str, Any]) -> None:
    """Hold a payload that is not base64."""
    bundle["dsseEnvelope"]["payload"] = "*"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (other_payload, "oms-signature"),
        (empty_signature, "oms-signature"),
        (other_type, "oms-unknown"),
        (no_signature, "oms-malformed"),
        (two_signatures, "oms-malformed"),
        (no_material, "oms-malformed"),
        (no_certificate, "oms-malformed"),
        (broken_certificate, "oms-malformed"),
        (many_certificates, "oms-malformed"),
        (control_characters_as_hint, "oms-unknown"),
        (not_base64, "oms-malformed"),
    ],
)
def test_altered_envelope_never_counts(shop: Shop, change: Callable[[dict[str, Any]], None], code: str) -> None:
    """Each part of the bundle is read as it is written down, or not at all."""
    bundle = copy.deepcopy(bundle_of(statement_of(FILES), SIGNER, MIDDLE))
    change(bundle)
    shop.write(bundle)
    assert shop.codes() == {code}
    assert shop.reason().isprintable()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"a":' * 5_000, b"null"])
def test_bundle_that_is_no_json_is_malformed(shop: Shop, data: bytes) -> None:
    """However deep it nests."""
    shop.write(data)
    assert shop.codes() == {"oms-malformed"}


def test_long_bundle_is_refused_without_reading_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million bytes cost no more than one million."""
    shop.write(b" " * 10_000_000)
    taken = list[int]()

    def read(data: bytes) -> Bundle:
        taken.append(len(data))
        return read_bundle(data)

    monkeypatch.setattr("rye.trust.evidence.read_bundle", read)
    assert shop.codes() == {"oms-malformed"}
    assert set(taken) == {MAX_BUNDLE + 1}
    assert f"more than {MAX_BUNDLE:,} bytes" in shop.reason()


def test_bundle_that_is_a_link_is_not_read(shop: Shop) -> None:
    """Nor one that is a pipe, for which a reader would wait."""
    place = shop.skill / "skill.oms.sig"
    place.rename(shop.sim.folder / "elsewhere")
    place.symlink_to(shop.sim.folder / "elsewhere")
    assert not shop.items()
    place.unlink()
    os.mkfifo(place)
    assert not shop.items()


PAST, SOON = datetime(2021, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)
NAMES = x509.NameConstraints([x509.DNSName("acme.example")], None)
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"until": PAST}, "the certificate of O=Acme,CN=Signer expired on 2021-01-01"),
        ({"since": SOON}, "is not valid before 2099-01-01"),
        ({"authority": True}, "is that of an authority"),
        ({"signs": False}, "does not allow its key to sign files"),
        ({"more": [(oms.SERVERS_ONLY, False)]}, "is for other purposes"),
        ({"more": [(UNKNOWN, True)]}, "has the extension 1.2.3.4"),
        ({"more": [(NAMES, False)]}, "has the extension 2.5.29.30"),
    ],
)
def test_certificate_that_is_not_for_this_does_not_count(shop: Shop, terms: dict[str, Any], words: str) -> None:
    """Expired, not yet valid, of an authority, of a web server, or with limits that are not checked."""
    shop.write(signed(**terms))
    assert shop.codes() == {"oms-chain"}
    assert words in shop.reason()


def test_certificate_for_code_counts(shop: Shop) -> None:
    """An extension that is no critical one and not known says nothing."""
    shop.write(signed(more=[(oms.CODE_ONLY, True), (UNKNOWN, False)]))
    assert shop.codes() == {"ok-oms"}


def test_signer_may_not_issue_certificates(shop: Shop) -> None:
    """Whoever holds the key of one signer makes no second one."""
    second = Authority().issue("Second", SIGNER)
    shop.write(bundle_of(statement_of(FILES), second, SIGNER, MIDDLE))
    assert shop.codes() == {"oms-chain"}
    assert "CN=Signer may not issue certificates" in shop.reason()


def test_chain_longer_than_an_authority_allows_does_not_count(shop: Shop) -> None:
    """The one in the middle may have no authority below it."""
    third = Authority().issue("Third", MIDDLE, authority=True)
    shop.write(bundle_of(statement_of(FILES), Authority().issue("Signer", third), third, MIDDLE))
    assert shop.codes() == {"oms-chain"}
    assert "CN=Middle allows no chain of this length" in shop.reason()


def test_certificates_in_another_order_do_not_count(shop: Shop) -> None:
    """The first is that of the signer."""
    shop.write(bundle_of(statement_of(FILES), MIDDLE, SIGNER))
    assert shop.codes() == {"oms-root"}


def test_key_of_another_algorithm_cannot_be_checked(shop: Shop) -> None:
    """Model Signing signs with ECDSA alone."""
    other = Authority().issue("Signer", MIDDLE, key=rsa.generate_private_key(65537, 2048))
    bundle = bundle_of(statement_of(FILES), SIGNER, MIDDLE)
    rows = bundle["verificationMaterial"]["x509CertificateChain"]["certificates"]
    rows[0]["rawBytes"] = base64.b64encode(other.der).decode()
    shop.write(bundle)
    assert shop.codes() == {"oms-unknown"}


def test_subject_with_control_characters_is_shown_in_escapes(shop: Shop) -> None:
    """And none is taken for the fingerprint of a key."""
    shop.write(bundle_of(statement_of(FILES), Authority().issue("\x1b[31mBoss\n", MIDDLE), MIDDLE))
    assert shop.codes() == {"ok-oms"}
    assert "\\x1b[31mBoss" in shop.reason()
    assert shop.reason().isprintable()
    fingerprint = "a" * 64
    shop.write(bundle_of(statement_of(FILES), Authority().issue(fingerprint, MIDDLE), MIDDLE))
    assert {each["signer"] for each in shop.items().values()} == {f"O=Acme,CN={fingerprint}"}


def test_skill_in_a_folder_of_another_name_is_misplaced(shop: Shop) -> None:
    """Each file of it, though only SKILL.md says how the skill is called."""
    shutil.copytree(shop.skill, shop.skill.parent / "lint")
    shutil.rmtree(shop.skill)
    assert shop.searched() == {"misplaced"}
    assert "signed as the folder pdf, found as lint" in shop.reason()


def test_root_that_may_vouch_for_other_items_only_is_limited(shop: Shop) -> None:
    """A trust file for a bundle lets no root sign the skills of a project."""
    (trusted,) = [path for path in shop.sim.user.rglob("*.toml") if "CERTIFICATE" in path.read_text(encoding="utf-8")]
    text = trusted.read_text(encoding="utf-8")
    for pattern in ("skill:other", "tool:*", "bundle:shop"):
        trusted.write_text(text.replace("skill:*", pattern), encoding="utf-8")
        assert "trusted" not in {each["verdict"] for each in shop.items().values()}
    trusted.write_text(text.replace("skill:*", "skill:pdf"), encoding="utf-8")
    assert shop.codes() == {"ok-oms"}


def test_root_signs_no_line_list_or_trust_file(shop: Shop) -> None:
    """A line that names the fingerprint of a root is a line that nothing verifies."""
    fingerprint = next(path.stem for path in shop.sim.user.rglob("*.toml") if "CERTIFICATE" in path.read_text("utf-8"))
    line = f"# rye:signed:v2:2026-01-01T00:00:00Z:{'0' * 64}:{'A' * 86}==:{fingerprint}\n"
    shop.sim.write("project", "tools/demo/hello.py", line + "print()\n")
    assert shop.items()["tool:demo/hello"]["verdict"] == "tampered"


def test_revoked_root_vouches_for_nothing(shop: Shop) -> None:
    """By its fingerprint, as any other key."""
    fingerprint = next(path.stem for path in shop.sim.user.rglob("*.toml") if "CERTIFICATE" in path.read_text("utf-8"))
    assert main(["trust", "revoke", "--yes", fingerprint, "--project", str(shop.sim.project)]) == 0
    assert shop.searched() == {"revoked"}


@pytest.mark.parametrize("what", ["signer", "middle", "expired", "two", "no certificate"])
def test_only_one_root_certificate_can_be_trusted(shop: Shop, what: str) -> None:
    """That of a signer, or of an authority that another one issued, is refused; an expired root vouches for nobody."""
    expired = Authority("Old").issue("Root", authority=True, until=PAST)
    pem = {
        "signer": SIGNER.pem,
        "middle": MIDDLE.pem,
        "two": ROOT.pem * 2,
        "no certificate": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "expired": expired.pem,
    }[what]
    assert shop.trust(pem) == (0 if what == "expired" else 2)
    if what == "expired":
        shop.write(bundle_of(statement_of(FILES), Authority("Old").issue("Signer", expired)))
        assert shop.codes() == {"oms-chain"}


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_bundle_signed_with_a_bare_key_counts_by_that_key_alone(shop: Shop, curve: ec.EllipticCurve) -> None:
    """Each curve with its own hash; an unknown key, and another one under the same hint, count for nothing."""
    key, other = ec.generate_private_key(curve), ec.generate_private_key(curve)
    bundle = key_bundle(statement_of(FILES), key)
    shop.write(bundle)
    assert shop.codes() == {"unknown-key"}
    assert shop.trust(oms.public_pem(key), "--owner", "Key", "--for", "skill:*") == 0
    assert shop.codes() == {"ok-oms"}
    assert {each["owner"] for each in shop.items().values()} == {"Key"}
    forged = key_bundle(statement_of(FILES), other)
    forged["verificationMaterial"] = bundle["verificationMaterial"]
    shop.write(forged)
    assert shop.codes() == {"oms-signature"}


def test_hint_that_names_a_root_or_a_key_of_rye_counts_for_nothing(shop: Shop) -> None:
    """A bundle without certificates is verified by an ECDSA key alone."""
    for path in shop.sim.user.rglob("*.toml"):
        bundle = key_bundle(statement_of(FILES), SIGNER.key)
        bundle["verificationMaterial"] = {"publicKey": {"hint": path.stem}}
        shop.write(bundle)
        assert shop.codes() == {"unknown-key"}


def test_signature_of_rye_counts_before_the_bundle(shop: Shop) -> None:
    """Who reviewed the skill here and signed it is asked, also where the bundle would do."""
    assert main(["sign", "--force", str(shop.skill), "--project", str(shop.sim.project)]) == 0
    assert shop.codes() == {"ok"}
    (shop.skill / "SKILL.sig").write_bytes(b"{}")
    assert shop.codes() == {"malformed"}


def test_skill_that_its_publisher_signed_is_left_when_everything_is_signed(shop: Shop) -> None:
    """As with what another key that counts has validly signed."""
    sign = ["sign", "--project", str(shop.sim.project)]
    for words in ([*sign, "--all"], [*sign, str(shop.skill)]):
        assert main(words) in {0, 2}
        assert "left as Acme signed it, with the certificate of O=Acme,CN=Signer" in shop.told()
    assert not (shop.skill / "SKILL.sig").exists()
    assert shop.searched() == {"ok-oms"}


@pytest.mark.parametrize("bundle", ["of a stranger", "broken"])
def test_skill_that_a_stranger_signed_is_left_when_everything_is_signed(shop: Shop, bundle: str) -> None:
    """Nobody answers in passing for what others wrote; named, it is signed."""
    root, middle, signer = Authority("Evil").chain()
    shop.write(b"{" if bundle == "broken" else bundle_of(statement_of(FILES), signer, middle, root))
    sign = ["sign", "--project", str(shop.sim.project)]
    main([*sign, "--all"])
    assert not (shop.skill / "SKILL.sig").exists()
    told = shop.told()
    assert "directive:pdf" in told
    assert ("other-key" in told) == (bundle != "broken")
    assert "confirmation-needed" in told
    assert main([*sign, str(shop.skill)]) == 0
    assert shop.codes() == {"ok"}


def test_bundle_removed_leaves_the_skill_unsigned(shop: Shop) -> None:
    """Nothing of it is kept in the index."""
    assert shop.searched() == {"ok-oms"}
    (shop.skill / "skill.oms.sig").unlink()
    assert shop.searched() == {"no-envelope"}


def test_verdicts_of_a_search_change_when_a_certificate_expires(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept beside the index, and say until when they hold."""
    shop.write(signed(until=datetime(2030, 1, 1, tzinfo=UTC)))
    registry = shop.sim.registry()
    for year, verdict in ((2029, "trusted"), (2031, "untrusted"), (2029, "trusted"), (2019, "untrusted")):
        now = datetime(year, 1, 1, tzinfo=UTC)
        for module in ("engine", "state"):
            monkeypatch.setattr(f"rye.registry.{module}.system_clock", lambda now=now: now)
        for each in (registry, shop.sim.registry()):
            hits = each.search(f"is:{verdict}", space="project", fold=False).results
            assert [str(hit.signature.verdict) for hit in hits] == [verdict] * 3

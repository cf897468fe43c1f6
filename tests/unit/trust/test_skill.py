"""The signature of a whole skill: which list of files it is over, and that nothing else passes for it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.keys import SigningKey
from rye.trust.line import sign_detached
from rye.trust.list import (
    ListedFile,
    Skill,
    SkillFolder,
    difference,
    sign_skill,
    unlistable,
    write_rows,
)
from rye.trust.model import Evidence, Place, Signature, Verdict
from rye.trust.trust_set import TrustSet
from tests.support.independent_checker import verdict_on_skill
from tests.support.signed import ANN, EVE, NARROW, NOW, SIGNED_AT, TRUST, entry, sign, skill_place

ROOT = Path(__file__).resolve().parents[3]
TEXT = b"---\nname: pdf\ndescription: Fill forms\n---\n\n# PDF\n"
FILES = {
    "SKILL.md": ("100644", TEXT),
    "references/\u00dc.md": ("100644", b"# \xc3\x9c\n"),
    "scripts/fill.py": ("100755", b"print('fill')\n"),
}
Contents = dict[str, tuple[str, bytes]]


def part(path: str, item_type: str, skill: str = "pdf") -> Place:
    """Return the place of an item in a skill."""
    if path == "SKILL.md":
        return skill_place(skill)
    full = f".claude/skills/{skill}/{path}"
    item_id = f"{skill}/{path.rpartition('.')[0]}"
    return Place("project", "", ".claude/skills", "skill", item_type, item_id, full, full)


TYPES = {"SKILL.md": "directive", "references/\u00dc.md": "knowledge", "scripts/fill.py": "tool"}
PLACES = {path: part(path, item_type) for path, item_type in TYPES.items()}


def listed(contents: Contents) -> tuple[ListedFile, ...]:
    """Return the files of a folder."""
    return tuple(ListedFile(path, mode, hashlib.sha256(data).hexdigest()) for path, (mode, data) in contents.items())


def signature(contents: Contents = FILES, who: SigningKey = ANN, item_id: str = "pdf", audience: str = "") -> bytes:
    """Return ``SKILL.sig`` for a folder."""
    origin = skill_place(item_id).of_skill(item_id)
    return sign_skill(listed(contents), origin=origin, key=who, audience=audience, now=SIGNED_AT)


def verdicts(
    data: bytes, contents: Contents = FILES, item_id: str = "pdf", wanted: str = "", *, trust: TrustSet = TRUST
) -> list[Signature]:
    """Return the judgement on each item of a skill; they are about one signature."""
    found = []
    for path, item_type in TYPES.items():
        if path in contents:
            origin = part(path, item_type, item_id)
            skill = Skill(SkillFolder(item_id, data, listed(contents)), path)
            evidence = inspect(contents[path][1], origin=origin, declared={}, detached=skill)
            assert Evidence.from_record(evidence.to_record()) == evidence
            found.append(judge(evidence, origin=origin, trust=replace(trust, audience=wanted), now=NOW))
    return found


def test_every_item_of_a_skill_is_trusted_by_its_signature() -> None:
    """Whatever its type and format, whether or not it has a line of its own."""
    assert [(each.verdict, each.code) for each in verdicts(signature())] == [(Verdict.TRUSTED, "ok")] * 3
    assert {each.verdict for each in verdicts(signature(who=EVE))} == {Verdict.UNTRUSTED}
    lined = FILES | {"scripts/fill.py": ("100755", sign(b"print('fill')\n", EVE))}
    assert {each.code for each in verdicts(signature(lined), lined)} == {"ok"}


CHANGES: dict[str, tuple[Contents, str]] = {
    "added file": (FILES | {"evil.sh": ("100755", b"evil\n")}, "added: evil.sh"),
    "hidden file": (FILES | {".env": ("100644", b"A=1\n")}, "added: .env"),
    "removed": ({path: FILES[path] for path in ("SKILL.md", "scripts/fill.py")}, "removed: 'references/\\xdc.md'"),
    "renamed": (
        {path.replace("fill", "send"): each for path, each in FILES.items()},
        "added: scripts/send.py; removed: scripts/fill.py",
    ),
    "changed": (FILES | {"scripts/fill.py": ("100755", b"evil()\n")}, "changed: scripts/fill.py"),
    "mode changed": (FILES | {"scripts/fill.py": ("100644", b"print('fill')\n")}, "mode changed: scripts/fill.py"),
    "made executable": (FILES | {"SKILL.md": ("100755", TEXT)}, "mode changed: SKILL.md"),
    "swapped": (
        FILES | {"SKILL.md": ("100644", b"# \xc3\x9c\n"), "references/\u00dc.md": ("100644", TEXT)},
        "changed: SKILL.md, 'references/\\xdc.md'",
    ),
    "line ends": (FILES | {"SKILL.md": ("100644", TEXT.replace(b"\n", b"\r\n"))}, "changed: SKILL.md"),
}


def test_a_file_that_appears_after_the_folder_was_read_is_not_covered() -> None:
    """The signature is over the files that were found; another one is not among them, nor one with other bytes."""
    folder = SkillFolder("pdf", signature(), listed(FILES))
    for path, words in (
        ("scripts/other.py", "added: scripts/other.py"),
        ("scripts/fill.py", "changed: scripts/fill.py"),
    ):
        origin = part(path, "tool")
        evidence = inspect(b"evil()\n", origin=origin, declared={}, detached=Skill(folder, path))
        found = judge(evidence, origin=origin, trust=TRUST, now=NOW)
        assert (found.verdict, found.code) == (Verdict.TAMPERED, "skill-changed")
        assert found.reason == f"the skill is not what was signed: {words}"


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_any_file_tampers_with_all(name: str) -> None:
    """Every item of the skill, with the files named."""
    contents, words = CHANGES[name]
    found = verdicts(signature(), contents)
    assert {(each.verdict, each.code) for each in found} == {(Verdict.TAMPERED, "skill-changed")}
    assert {each.reason for each in found} == {f"the skill is not what was signed: {words}"}


REFUSED = {
    "link": (ListedFile("a", "120000", ""), "not regular files"),
    "pipe": (ListedFile("a", "", ""), "not regular files"),
    "over the bytes": (ListedFile("a", "100644", ""), "bytes"),
    "invisible characters": (ListedFile("a\u200b.md", "100644", "0" * 64), "invisible characters"),
    "filler": (ListedFile("\u3164", "100644", "0" * 64), "invisible characters"),
    "direction": (ListedFile("a\u202egpj.py", "100644", "0" * 64), "invisible characters"),
    "line break": (ListedFile("a\nb", "100644", "0" * 64), "invisible characters"),
    "backslash": (ListedFile("a\\b", "100644", "0" * 64), "backslash"),
    "not UTF-8": (ListedFile("a\udcff", "100644", "0" * 64), "invisible characters"),
    "case collision": (ListedFile("skill.MD", "100644", "0" * 64), "are equal"),
    "another signature": (ListedFile("skill.sig", "100644", "0" * 64), "are equal"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_skill_may_hold_is_named_even_where_it_is_listed(name: str) -> None:
    """By whoever signs, and by whoever verifies what another tool has signed."""
    odd, words = REFUSED[name]
    files = (*listed(FILES), odd)
    assert words in unlistable(files)
    data = sign_skill(files, origin=skill_place().of_skill("pdf"), key=ANN, now=SIGNED_AT)
    skill = Skill(SkillFolder("pdf", data, files), "SKILL.md")
    evidence = inspect(TEXT, origin=PLACES["SKILL.md"], declared={}, detached=skill)
    assert (evidence.code, words in evidence.detail) == ("skill-changed", True)


def test_a_signature_belongs_to_one_skill() -> None:
    """A copy under another name is misplaced, and no line of another kind can take its place."""
    for moved in (verdicts(signature(), item_id="doc"), verdicts(signature(item_id="doc"))):
        assert {each.code for each in moved} == {"signed-elsewhere"}
    assert "signed as skill pdf, this is skill doc" in verdicts(signature(), item_id="doc")[0].reason
    rows = write_rows(listed(FILES))
    as_file = sign_detached(rows, origin=skill_place().of_skill("pdf"), key=ANN, now=SIGNED_AT)
    assert {each.code for each in verdicts(as_file + rows)} == {"signature"}
    whole = signature()
    evidence = inspect(rows, origin=PLACES["SKILL.md"], declared={}, suffix=".json", detached=whole[: -len(rows)])
    assert evidence.code == ""
    assert judge(evidence, origin=PLACES["SKILL.md"], trust=TRUST, now=NOW).code == "signature"
    line = whole.partition(b"\n")[0]
    for suffix, data in ((".py", b"# " + line + b"\n" + rows), (".md", b"---\n# " + line + b"\n---\n")):
        found = inspect(data, origin=PLACES["SKILL.md"], declared={}, suffix=suffix)
        assert judge(found, origin=PLACES["SKILL.md"], trust=TRUST, now=NOW).verdict is Verdict.TAMPERED


def test_a_key_must_be_allowed_to_sign_the_skill_and_the_item() -> None:
    """A key for tools or knowledge cannot sign a skill by way of what is in it; one for skills signs all of it."""
    assert {each.code for each in verdicts(signature(who=NARROW))} == {"limited"}
    inside = {path: part(path, item_type, "demo/pdf") for path, item_type in TYPES.items()}
    limits = {"directive:*": "limited", "tool:*": "limited", "skill:pdf": "ok", "*": "ok", "skill:doc": "limited"}
    for pattern, code in limits.items():
        codes = [code] * 3
        trust = TrustSet((entry(NARROW, patterns=(pattern,)),))
        assert [each.code for each in verdicts(signature(who=NARROW), trust=trust)] == codes
    data = signature(who=NARROW, item_id="demo/pdf")
    for path, origin in inside.items():
        skill = Skill(SkillFolder("demo/pdf", data, listed(FILES)), path)
        evidence = inspect(FILES[path][1], origin=origin, declared={}, detached=skill)
        assert judge(evidence, origin=origin, trust=TRUST, now=NOW).code == "limited"


def _mutants(data: bytes) -> Sequence[bytes]:
    """Return what differs from some bytes in one place: a byte changed, left out or put in."""
    cuts = [data[:at] + data[at + 1 :] for at in range(len(data))]
    puts = [data[:at] + b"0" + data[at:] for at in range(len(data) + 1)]
    flips = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data))]
    return [each for each in (*cuts, *puts, *flips) if each != data]


def test_no_mutant_of_a_signature_is_trusted_and_an_independent_reader_agrees() -> None:
    """Every byte of ``SKILL.sig`` counts; so do audience, keys, and every change of the folder."""
    pems, seen = [ANN.public.pem], set()
    rows = listed(FILES)
    for data in _mutants(signature(audience="acme/ops")):
        skill = Skill(SkillFolder("pdf", data, rows), "SKILL.md")
        found = judge(
            inspect(TEXT, origin=PLACES["SKILL.md"], declared={}, detached=skill),
            origin=PLACES["SKILL.md"],
            trust=TRUST,
            now=NOW,
        )
        assert found.verdict is not Verdict.TRUSTED, data
        assert verdict_on_skill(data, FILES, pems=pems) == found.verdict, data
    for who, audience in ((ANN, ""), (ANN, "acme/ops"), (EVE, "")):
        for contents in (FILES, *(each for each, _ in CHANGES.values())):
            for wanted in ("", "acme/ops"):
                data = signature(who=who, audience=audience)
                known = verdict_on_skill(data, contents, pems=pems, audience=wanted)
                assert {each.verdict for each in verdicts(data, contents, wanted=wanted)} == {known}
                seen.add(known)
    assert seen == {"trusted", "untrusted", "tampered"}
    assert difference(b"", rows) == "added: SKILL.md, 'references/\\xdc.md', scripts/fill.py"


def test_the_vectors_of_the_specification_hold() -> None:
    """Recomputed from the page by a reader that shares no code with rye, and by rye."""
    page = (ROOT / "items/knowledge/rye/signing.md").read_text(encoding="utf-8").partition("## Test vectors")[2]
    files, message, data = re.findall(r"```(?:json|text)\n(.*?)```", page, re.DOTALL)
    contents = {path: (mode, text.encode()) for path, (mode, text) in json.loads(files).items()}
    public = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert public.public_bytes_raw().hex() in page
    assert verdict_on_skill(data.encode(), contents, pems=[pem]) == "trusted"
    public.verify(base64.urlsafe_b64decode(data.split(":")[7] + "=="), message.strip().encode())
    assert contents == FILES
    assert signature(who=SigningKey.from_seed(bytes(32))) == data.encode()

"""Evidence: what the bytes of one file prove by themselves, before any key is consulted.

Idea: everything about a signature that needs no key is decided once, from the bytes alone, so that it can be kept in an
index and judged under any trust set. Invariant: ``code`` is empty only if there is exactly one signature line, in its
place, well formed, with a canonical signature and a digest that matches the bytes named by ``coverage``. These are all
bytes except the line itself, unless the digest proves that an older line signs a smaller part.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from rye._text import RawEnvelope, composed, find_envelope
from rye.errors import SigningError
from rye.items.clients import SKILL_FILE
from rye.trust.line import (
    COMMENT_MARKS,
    ParsedLine,
    decode_signature,
    foreign_mark,
    line_elsewhere,
    misplacement,
    parse_line,
    placement_of,
    read_detached,
)
from rye.trust.list import BUNDLE_FILE, Skill, SkillFolder, shown_names, uncovered
from rye.trust.model import ITEM_TYPES, OMS, Coverage, EnvelopeFormat, Evidence, Place, Placement
from rye.trust.oms import bundle_change, read_bundle, unsigned_parts

_OPEN: Final = b"<directive"
_CLOSE: Final = b"</directive>"
_BLANK: Final = b" \t\r\n"


def whole_digest(data: bytes, envelope: RawEnvelope) -> str:
    """Return the SHA-256 hex digest of the file without its envelope line."""
    return hashlib.sha256(data[: envelope.start] + data[envelope.end :]).hexdigest()


def find_coverage(data: bytes, envelope: RawEnvelope, digest: str) -> Coverage | None:
    """Return which part of an older file has this digest; None if no part that may be signed has it.

    The parts, in the order they are tried:

    1. the file without its envelope line;
    2. everything after the envelope line, without the shebang before it;
    3. from the first ``<directive`` to the last ``</directive>``. If only spaces and line breaks are outside, the whole
       file is covered, because a reader sees nothing there;
    4. everything after a front matter, from the first ``---`` after the opening one, stripped. This is never the whole
       file, because the front matter holds metadata.
    """
    if whole_digest(data, envelope) == digest:
        return Coverage.WHOLE
    rest = data[envelope.end :]
    if envelope.start and _matches(rest, digest):
        return Coverage.BELOW_LINE
    return _directive(data[: envelope.start], rest, digest) or _below_front_matter(rest, digest)


def _matches(part: bytes, digest: str) -> bool:
    return hashlib.sha256(part).hexdigest() == digest


def _directive(head: bytes, rest: bytes, digest: str) -> Coverage | None:
    first = rest.find(_OPEN)
    last = rest.rfind(_CLOSE) + len(_CLOSE)
    if first < 0 or last <= first or not _matches(rest[first:last], digest):
        return None
    outside = head + rest[:first] + rest[last:]
    return Coverage.DIRECTIVE if outside.strip(_BLANK) else Coverage.WHOLE


def _below_front_matter(rest: bytes, digest: str) -> Coverage | None:
    close = rest.find(b"---", 3)
    if not rest.startswith(b"---") or close < 0:
        return None
    body = rest[close + 3 :].decode("utf-8", "surrogateescape").strip()
    return Coverage.BELOW_FRONT_MATTER if _matches(body.encode("utf-8", "surrogateescape"), digest) else None


def line_end_change(data: bytes, envelope: RawEnvelope, digest: str) -> str:
    """Return how the line ends changed, if that alone explains why the digest does not match; else empty."""
    rest = data[: envelope.start] + data[envelope.end :]
    unix = rest.replace(b"\r\n", b"\n")
    if unix != rest and _matches(unix, digest):
        return "LF signed, CR LF found"
    if _matches(unix.replace(b"\n", b"\r\n"), digest):
        return "CR LF signed, LF found"
    return ""


_OPENINGS: Final = (b"#", b"<", b"/")
_IN_FRONT_MATTER: Final = re.compile(rb"---[ \t]*\r?\n#[ \t]*rye:")
_NAMES: Final = {form: form.value for form in EnvelopeFormat}
_V2: Final = EnvelopeFormat.V2
_RYEOS: Final = EnvelopeFormat.RYEOS
_TOP: Final = Placement.TOP
"""Members are looked up once here: in Python 3.11, looking one up in its class is slower than parsing a field."""


def inspect(
    data: bytes,
    *,
    origin: Place,
    declared: Mapping[str, str],
    suffix: str = "",
    content_digest: str | None = None,
    detached: bytes | Skill | None = None,
) -> Evidence:
    """Return the evidence in the bytes of a file. Never raises, whatever the bytes.

    Args:
        data: All bytes of the file.
        origin: Where it was found.
        declared: What the file states about itself: any of ``name``, ``category``, ``type`` and ``id``. Only lines of
            older formats need it; a v2 line states its place itself.
        suffix: Extension of the file, lower case, which decides the comment mark; empty accepts any comment mark.
        content_digest: The SHA-256 of ``data`` to record; no verdict depends on it. None computes it.
        detached: Its signature file, used if the file cannot hold a line; or its skill, whose signature decides if it
            has one.
    """
    content = hashlib.sha256(data).hexdigest() if content_digest is None else content_digest
    if isinstance(detached, Skill):
        return _in_skill(data, detached, origin=origin, declared=declared, suffix=suffix, content=content)
    # 1. The line, on its line.
    envelope = find_envelope(data, suffix)
    if envelope is None and detached is not None and suffix not in COMMENT_MARKS:
        envelope = read_detached(detached)
    if envelope is None:
        return _unsigned(data, content)
    # 2. One line only: what is left without it must not begin with another.
    if _another_follows(data, envelope, suffix):
        return Evidence(content, "two-envelopes")
    # 3. Its form, its place, and the comment of such a file.
    line = parse_line(envelope.line)
    if line is None:
        return Evidence(content, "malformed", _what_is_wrong(envelope))
    placement = placement_of(envelope)
    if wrong := misplacement(data, envelope, line.format):
        return Evidence(content, "malformed", wrong)
    if suffix and placement is _TOP and (wrong := foreign_mark(envelope.line, suffix)):
        return _fault(content, line, "malformed", wrong)
    # 4. The signature as 64 bytes, spelled in the one possible way.
    signature = decode_signature(line.signature, line.format)
    if signature is None:
        return _fault(content, line, "encoding")
    # 5. The digest, and what it covers.
    if line.format is _V2:
        coverage = Coverage.WHOLE if whole_digest(data, envelope) == line.digest else None
    else:
        coverage = find_coverage(data, envelope, line.digest)
    if coverage is None:
        change = line_end_change(data, envelope, line.digest)
        return _fault(content, line, "line-ends" if change else "digest", change)
    # by position, because this runs for every file and keywords take twice as long
    form, signed_at, digest, _, key, stated, audience = line
    fields = (_NAMES[form], coverage, "", digest, signature, key, signed_at, stated, audience, placement)
    evidence = Evidence(content, "", "", *fields)
    # 6. Whether the file is where it says it is.
    return with_declared(evidence, declared, origin) if declared else evidence


def _unsigned(data: bytes, content: str) -> Evidence:
    """Return the evidence of a file without a signature, with the digest by which the list of its space may sign it."""
    digest, number = "" if content else hashlib.sha256(data).hexdigest(), line_elsewhere(data)
    code, detail = ("envelope-elsewhere", str(number)) if number else ("no-envelope", "")
    return Evidence(content, code, detail, digest=digest)


def _in_skill(
    data: bytes, skill: Skill, *, origin: Place, declared: Mapping[str, str], suffix: str, content: str
) -> Evidence:
    """Return the evidence of a file in a skill: that of the whole skill, else of the file's own line."""
    if skill.folder.data is not None:
        return with_declared(_of_skill(data, content, skill), declared, origin)
    alone = inspect(data, origin=origin, declared=declared, suffix=suffix, content_digest=content)
    others = [file.path for file in skill.folder.files if file.path != skill.path]
    left_out = "" if alone.code or alone.coverage is not Coverage.WHOLE else uncovered(others)
    return alone._replace(coverage=Coverage.SKILL_FILE, detail=left_out) if left_out else alone


_REWRITTEN: Final = f"changed: {SKILL_FILE}"
_OF_GH: Final = re.compile(rb"^[ \t]+github-(?:repo|tree-sha):", re.MULTILINE)
_HEAD: Final = 1 << 14
"""Number of bytes at the start of a file that are searched for the keys written by ``gh skill``."""


def _of_skill(data: bytes, content: str, skill: Skill) -> Evidence:
    """Return the evidence of a whole skill for one of its files: valid if every file is as it was signed."""
    of_folder, signed = _of_bundle(skill.folder) if skill.folder.name == BUNDLE_FILE else _of_folder(skill.folder)
    proof = of_folder._replace(content_digest=content)
    if proof.code:
        is_rewritten = skill.path == SKILL_FILE and proof.detail == _REWRITTEN and _OF_GH.search(data, 0, _HEAD)
        return proof._replace(code="skill-rewritten", detail=SKILL_FILE) if is_rewritten else proof
    # for this file, use the very bytes that are judged
    known, here = signed.get(skill.path), hashlib.sha256(data).hexdigest()
    if known == here:
        return proof
    what = "added" if known is None else "changed"
    return proof._replace(code="skill-changed", detail=f"{what}: {shown_names([skill.path])}")


@lru_cache(8)
def _of_folder(folder: SkillFolder) -> tuple[Evidence, Mapping[str, str]]:
    """Return the evidence of a skill's folder, which all its files share, and the digests of the files."""
    return _of_list(folder), folder.digests


@lru_cache(8)
def _of_bundle(folder: SkillFolder) -> tuple[Evidence, Mapping[str, str]]:
    """Return the same for a skill signed by a Model Signing bundle, with the digests from the bundle."""
    try:
        bundle = read_bundle(folder.data or b"")
    except SigningError as error:
        return Evidence("", error.code, error.message, OMS), {}
    change, left_out = bundle_change(bundle, folder.files), unsigned_parts(bundle, folder.files)
    evidence = Evidence(
        "",
        code="skill-changed" if change else "",
        detail=change or uncovered(left_out),
        format=OMS,
        coverage=Coverage.SKILL_FILE if left_out else Coverage.WHOLE,
        misplaced=_other_folder(bundle.name, folder.id),
        digest=bundle.digests[:32].hex(),
        signature=bundle.signature,
        fingerprint=bundle.key,
        placement=Placement.SKILL,
        skill=folder.id,
        proof=(bundle.digests, *bundle.certificates),
    )
    return evidence, bundle.files


def _other_folder(signed: str, folder: str) -> str:
    """Return a phrase that names both folders if a skill was signed under another folder name.

    Empty if the names are the same, or if no name was signed.
    """
    here = folder.rpartition("/")[2]
    is_same = not signed or composed(signed) == composed(here)
    return "" if is_same else f"signed as the folder {shown_names([signed])}, found as {shown_names([here])}"


def _of_list(folder: SkillFolder) -> Evidence:
    first, _, listed = (folder.data or b"").partition(b"\n")
    # 1. The line: its form, and its signature.
    envelope = read_detached(first + b"\n")
    line = parse_line(envelope.line)
    if line is None:
        return Evidence("", "malformed", "SKILL.sig does not begin with a line rye:signed:v2:…")
    signature = decode_signature(line.signature, line.format)
    if signature is None:
        return _fault("", line, "encoding")
    # 2. The list is the one that was signed.
    if not _matches(listed, line.digest):
        return _fault("", line, "skill-changed", "the list in SKILL.sig was altered")
    # 3. The folder has the listed files and no others.
    if folder.change:
        return _fault("", line, "skill-changed", folder.change)
    form, signed_at, digest, _, key, stated, audience = line
    fields = (_NAMES[form], Coverage.WHOLE, "", digest, signature, key, signed_at, stated, audience)
    return Evidence("", "", "", *fields, Placement.SKILL, folder.id)


def with_declared(evidence: Evidence, declared: Mapping[str, str], origin: Place) -> Evidence:
    """Add what the file states about itself to evidence that was found without it.

    Arguments as for :func:`inspect`. If the bytes have a fault, or a v2 line states their place, nothing is added.
    """
    if evidence.code or evidence.format == _V2 or evidence.misplaced:
        return evidence
    if evidence.format == OMS and origin.type != "directive":
        return evidence  # a bundle says where in the skill the file lies
    if evidence.format == _RYEOS and origin.type == "knowledge":  # the category of knowledge is its folder
        declared = {key: said for key, said in declared.items() if key != "category"}
    return evidence._replace(misplaced="; ".join(disagreements(declared, origin.type, origin.id)))


def _fault(content: str, line: ParsedLine, code: str, detail: str = "") -> Evidence:
    stated = line._asdict() | {"format": _NAMES[line.format], "signature": b""}
    return Evidence(content, code, detail, **stated)


def _another_follows(data: bytes, envelope: RawEnvelope, suffix: str) -> bool:
    """Return whether a second line follows. Below a RyeOS line, a line in another language's comment is content."""
    # only a comment mark, a shebang or front matter can begin a second line, so most files need no copy
    if not (data.startswith(_OPENINGS, envelope.end) or _IN_FRONT_MATTER.match(data, envelope.end)):
        return False
    other = find_envelope(data[: envelope.start] + data[envelope.end :], suffix)
    if other is None or other.inside or not suffix or "ryeos:signed:" not in envelope.line:
        return other is not None
    return not foreign_mark(other.line, suffix)


def _what_is_wrong(envelope: RawEnvelope) -> str:
    line = envelope.line
    if envelope.number == 0:
        return "the file beside it is not one line rye:signed:v2:… that ends with LF"
    if line.startswith("<!--") and not line.rstrip().endswith("-->"):
        return "the comment is not closed on its line"
    if "\r" in line:
        return "it holds a carriage return"
    if parse_line(" ".join(line.replace("rye", " rye", 1).replace("-->", " -->").split())):
        return "the envelope must be set off by exactly one space"
    return "it is not TIME:SHA256:SIGNATURE:FINGERPRINT, in v2 followed by :PLACE and, if it has one, :AUDIENCE"


def disagreements(declared: Mapping[str, str], item_type: str, item_id: str) -> tuple[str, ...]:
    """Return a sentence for each statement of a file about itself that its path contradicts.

    ``name`` must be the last part of the id, ``category`` everything before it, ``id`` the id (or its last part),
    ``type`` the item type. Missing statements contradict nothing. Values are compared exactly, in Unicode normal form
    C, so look-alike letters differ.
    """
    if not declared:
        return ()
    here = composed(item_id)
    folder, _, stem = here.rpartition("/")
    allowed = {"id": (here, stem), "name": (stem,), "category": (folder,), "type": (item_type,)}
    words = []
    for key, expected in allowed.items():
        said = _stated(declared, key)
        if said and said not in expected:
            words.append(f"its {key} is {_shown(said)}, its path says {_shown(expected[0])}")
    return tuple(words)


def _shown(text: str) -> str:
    # escapes distinguish letters that look the same
    text = text if len(text) <= 80 else text[:79] + "…"
    return repr(text) if text.isascii() else f"{text!r} ({text!a})"


def _stated(declared: Mapping[str, str], key: str) -> str:
    said = composed(declared.get(key, "")).strip()
    if key == "type":
        said = said.casefold()
        return said if said in ITEM_TYPES else ""
    return said.strip("/") if key == "category" else said

"""The verdict on a file of a published bundle, worked out from the published formats without any of rye's own code.

A plain script in the manner of the specification: read the first line, hash what the tools of that time hashed, check
the Ed25519 signature with the ``cryptography`` package, compare name and category with the path. Of the older line it
knows only what published bundles hold (no second envelope, no limits on keys) and says so by an assertion elsewhere;
format v2 it knows as the specification has it, in each of its places.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

FOLDERS = {"directives": "directive", "tools": "tool", "knowledge": "knowledge"}

LINE = re.compile(
    r"(?:<!--|#|//) rye(?:os)?:signed:[0-9-]{10}T[0-9:]{8}Z:(?P<digest>[0-9a-f]{64}):(?P<signature>[A-Za-z0-9_+/-]+=*)"
    r":(?P<key>[0-9a-f]{16}|[0-9a-f]{64})(?:\|\S+)?(?: -->)?"
)


def expected(path: Path, root: Path, bundle_id: str, trust_pems: Iterable[str]) -> str:
    """Return the verdict a file must get.

    Args:
        path: The file.
        root: The folder that holds ``directives``, ``tools`` and ``knowledge``.
        bundle_id: The bundle the file belongs to; its keys are the only ones heard.
        trust_pems: Public keys that speak for this bundle, as PEM.
    """
    assert bundle_id
    folder, *_ = path.relative_to(root).parts
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    if "rye:signed:" not in first and "ryeos:signed:" not in first:
        return "unsigned"
    match = LINE.fullmatch(first)
    if match is None:
        return "tampered"
    covered = how_much_is_covered(rest, match["digest"])
    if covered == "nothing":
        return "tampered"
    keys = {name: key for pem in trust_pems for name, key in names_of(pem)}
    if match["key"] not in keys:
        return "untrusted"
    if not signature_holds(keys[match["key"]], match["signature"], match["digest"]):
        return "tampered"
    if contradicts_its_path(path, root, FOLDERS[folder], rest, current="ryeos:signed:" in first):
        return "misplaced"
    return "partial" if covered == "a part" else "trusted"


NEWER = re.compile(
    rb"rye:signed:v2:(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ):(?P<digest>[0-9a-f]{64}):(?P<signature>[\w-]{86})"
    rb":(?P<key>[0-9a-f]{64}):(?P<place>(?:directive|tool|knowledge|skill|list|settings|trust):[A-Za-z0-9._~/@+=,%-]*)"
    rb"(?::(?P<audience>[a-z0-9](?:[a-z0-9._/-]{0,98}[a-z0-9])?))?"
)
MARKS = {
    ".md": (b"<!-- ", b" -->"),
    ".py": (b"# ", b""),
    ".sh": (b"# ", b""),
    ".yaml": (b"# ", b""),
    ".js": (b"// ", b""),
}


def verdict_on_v2(
    data: bytes,
    beside: bytes | None,
    suffix: str,
    *,
    pems: Iterable[str],
    audience: str = "",
    place: str = "tool:.ai/tools/demo/hello.py",
) -> str:
    """Return the verdict on a file of format v2 whose keys have no limits.

    Args:
        data: All bytes of the file.
        beside: The bytes of ``NAME.sig``, if there is one.
        suffix: Its extension.
        pems: The trusted keys, as PEM.
        audience: The one that is demanded.
        place: Where the file is, as its line must state it.
    """
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data) or [b""]
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    first = lines[0].removeprefix(mark)
    fence = re.compile(rb"---[ \t]*\r?\n?")
    closed = any(re.fullmatch(rb"(?:---|\.\.\.)[ \t]*\r?\n?", line) for line in lines[1:])
    label, at, (before, after) = b"rye:signed:v2", 0, MARKS.get(suffix, (b"", b""))
    if suffix == ".json":
        label, line, content, ending = b"rye:signed:v2:detached", beside or b"", data, b"\n"
    else:
        if suffix == ".md" and fence.fullmatch(first) and closed:
            label, at, (before, after) = b"rye:signed:v2:front-matter", 1, (b"# ", b"")
        elif first.startswith(b"#!"):
            at = 1
        line = lines[at].removeprefix(mark) if at < len(lines) else b""
        content = mark * (at == 0) + b"".join(lines[:at] + lines[at + 1 :])
        ending = b"\r\n" if (lines[0] if at or len(lines) < 2 else lines[1]).endswith(b"\r\n") else b"\n"
    if not line:
        return "unsigned"
    if b"rye:signed:" not in line:
        return "tampered" if suffix == ".json" else "unsigned"
    match = NEWER.fullmatch(line[len(before) : len(line) - len(after + ending)])
    if match is None or not has_one_spelling(match["place"]) or line != before + match[0] + after + ending:
        return "tampered"
    if hashlib.sha256(content).hexdigest().encode() != match["digest"]:
        return "tampered"
    keys = {name: key for pem in pems for name, key in names_of(pem)[1:2]}
    if match["key"].decode() not in keys:
        return "untrusted"
    said = match["audience"] or b""
    parts = [match["place"], match["time"], match["digest"], *filter(None, (said,))]
    message = label + b"".join(b" %d %b" % (len(part), part) for part in parts)
    try:
        keys[match["key"].decode()].verify(base64.urlsafe_b64decode(match["signature"] + b"=="), message)
    except InvalidSignature:
        return "tampered"
    if audience not in {"", said.decode()}:
        return "untrusted"
    return "trusted" if match["place"].decode() == place else "misplaced"


def has_one_spelling(place: bytes) -> bool:
    """Return whether a stated place is percent-encoded in the only way."""
    word, _, name = place.decode().partition(":")
    path = unquote(name, errors="surrogatepass")
    return (
        place.decode() == f"{word}:{quote(unicodedata.normalize('NFC', path), safe='/@+=,~', errors='surrogatepass')}"
    )


def sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def how_much_is_covered(rest: str, digest: str) -> str:
    """Return ``everything``, ``a part`` or ``nothing`` of the text below the first line."""
    if sha256(rest) == digest:
        return "everything"
    element = re.search(r"<directive[^>]*>.*</directive>", rest, re.DOTALL)
    if element and sha256(element[0]) == digest:
        return "a part" if rest.replace(element[0], "", 1).strip() else "everything"
    front = re.match(r"---.*?---", rest, re.DOTALL)
    if front and sha256(rest[front.end() :].strip()) == digest:
        return "a part"
    return "nothing"


def names_of(pem: str) -> list[tuple[str, Ed25519PublicKey]]:
    """Return a key under each of the names a line may give it."""
    public = load_pem_public_key(pem.encode("ascii"))
    assert isinstance(public, Ed25519PublicKey)
    canonical = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    of_pem = hashlib.sha256(canonical).hexdigest()
    of_raw = hashlib.sha256(public.public_bytes_raw()).hexdigest()
    return [(name, public) for name in (of_pem[:16], of_pem, of_raw)]


def signature_holds(public: Ed25519PublicKey, text: str, digest: str) -> bool:
    """Return whether the base64 signature, of either alphabet, is over the digest's hex digits."""
    bare = text.rstrip("=").replace("+", "-").replace("/", "_")
    try:
        public.verify(base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4)), digest.encode("ascii"))
    except InvalidSignature:
        return False
    return True


def contradicts_its_path(path: Path, root: Path, item_type: str, text: str, *, current: bool) -> bool:
    """Return whether the name or category in the file is another than the path gives.

    A ``current`` line is of a RyeOS that compares no category which a knowledge entry states.
    """
    inside = path.relative_to(root).with_suffix("").parts[1:]
    name, category = stated(path.suffix, item_type, text)
    if current and item_type == "knowledge":
        category = ""
    return name not in {"", inside[-1]} or category not in {"", "/".join(inside[:-1])}


def stated(suffix: str, item_type: str, text: str) -> tuple[str, str]:
    """Return the name and category a file states, each empty where it states none."""
    if item_type == "directive":
        patterns = (r'<directive\b[^>]*?\bname="([^"]*)"', r"<category>\s*(.*?)\s*</category>")
    elif suffix in {".py", ".js", ".jsx", ".ts", ".tsx"}:
        patterns = (
            r"(?m)^(?:export const )?__name__ = \"([^\"]*)\"",
            r"(?m)^(?:export const )?__category__ = \"([^\"]*)\"",
        )
    else:
        if suffix == ".md":
            fenced = re.search(r"```yaml\n(.*?)\n```", text, re.DOTALL)
            text = fenced[1] if fenced else ""
        patterns = (r"(?m)^name: *[\"']?([^\"'\n]*)", r"(?m)^category: *[\"']?([^\"'\n]*)")
    found = [re.search(pattern, text) for pattern in patterns]
    name, category = (match[1].strip() if match else "" for match in found)
    return name, category


def verdict_on_skill(
    signature: bytes,
    files: Mapping[str, tuple[str, bytes]],
    *,
    pems: Iterable[str],
    skill: str = "pdf",
    audience: str = "",
) -> str:
    """Return the verdict on a skill, given ``SKILL.sig`` and mode and bytes of every other file in its folder."""
    first, _, listed = signature.partition(b"\n")
    match = NEWER.fullmatch(first)
    if match is None or match["signature"][-1:] not in (b"A", b"Q", b"g", b"w"):
        return "tampered"
    rows = sorted((path.encode(), mode.encode(), data) for path, (mode, data) in files.items())
    here = b"".join(
        mode + b" " + hashlib.sha256(data).hexdigest().encode() + b" " + path + b"\n" for path, mode, data in rows
    )
    if listed != here or hashlib.sha256(here).hexdigest().encode() != match["digest"]:
        return "tampered"
    keys = {name: key for pem in pems for name, key in names_of(pem)[1:2]}
    if match["key"].decode() not in keys:
        return "untrusted"
    said = match["audience"] or b""
    parts = [match["place"], match["time"], match["digest"], *([said] if said else [])]
    message = b"rye:signed:v2:skill" + b"".join(b" %d %b" % (len(part), part) for part in parts)
    try:
        keys[match["key"].decode()].verify(base64.urlsafe_b64decode(match["signature"] + b"=="), message)
    except InvalidSignature:
        return "tampered"
    if audience not in {"", said.decode()}:
        return "untrusted"
    return "trusted" if match["place"] == f"skill:{skill}".encode() else "misplaced"

"""The verdict on a file of a published bundle, worked out from the published formats without any of rye's own code.

A plain script in the manner of the specification: read the first line, hash what the tools of that time hashed, check
the Ed25519 signature with the ``cryptography`` package, compare name and category with the path. It knows only what
published bundles hold (the older line, no second envelope, no limits on keys) and says so by an assertion elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

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
    elif suffix in {".py", ".js", ".ts"}:
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

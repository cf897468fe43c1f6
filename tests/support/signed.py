"""Fixed keys, trust sets and signed files: one per verdict and per defect.

The lines of older formats are written here by hand, as the tools of their time wrote them, since rye itself writes
only whole-file lines. ``python -m tests.support.signed`` writes the golden files anew; a test compares them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.keys import SigningKey
from rye.trust.line import COMMENT_MARKS, encode_signature, sign_bytes, sign_detached, unsigned_bytes
from rye.trust.model import EnvelopeFormat, Place, Placement, Signature
from rye.trust.trust_entry import Revocation, TrustEntry, TrustScope
from rye.trust.trust_set import TrustSet

ASSETS = Path(__file__).resolve().parent.parent / "assets" / "signed"

NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
SIGNED_AT = datetime(2026, 3, 1, 8, 30, 0, tzinfo=UTC)
WHEN = "2026-03-01T08:30:00Z"


def key(name: str) -> SigningKey:
    """Return the fixed test key of a name."""
    return SigningKey.from_seed(hashlib.sha256(f"test key of {name}".encode()).digest())


ANN, BEA, DAN, ENDORSED, EVE, NARROW, OLD, PAT, REVOKED = map(
    key, ("ann", "bea", "dan", "endorsed", "eve", "narrow", "old", "pat", "revoked")
)


def entry(who: SigningKey, scope: TrustScope = TrustScope.USER, **facts: Any) -> TrustEntry:
    """Return what a trust file for a key would give."""
    return TrustEntry(who.public, facts.pop("owner", ""), scope, **facts)


TRUST = TrustSet(
    (
        entry(ANN, owner="ann"),
        entry(BEA, owner="bea", patterns=("bundle:shop",)),
        entry(BEA, TrustScope.BUNDLE, owner="bea", bundle="shop"),
        entry(DAN, TrustScope.BUNDLE, owner="dan", bundle="stall"),
        entry(DAN, TrustScope.BUNDLE, owner="dan", bundle="shop"),
        entry(PAT, TrustScope.PROJECT, owner="pat"),
        entry(ENDORSED, TrustScope.PROJECT, owner="ed", signed_by=ANN.public.fingerprint),
        entry(OLD, owner="old", not_after=datetime(2026, 4, 1, tzinfo=UTC)),
        entry(NARROW, owner="narrow", patterns=("other/*", "knowledge:demo/*")),
        entry(REVOKED, owner="rev", revoked=Revocation("stolen", "2026-05-01")),
    )
)
"""ann is the user's own key; the bundle shop is pinned to bea's, and brings dan's as well; the bundle stall brings
dan's alone; pat's key came with the project; eve is nobody."""

FOR_OPS = replace(TRUST, audience="acme/ops")
"""The same keys, for a user who demands an audience."""


def place(
    item_id: str = "demo/hello",
    item_type: str = "tool",
    *,
    space: str = "project",
    bundle: str = "",
    suffix: str = "",
    top: str = ".ai/",
) -> Place:
    """Return the place of an item below the ``.ai``, or another folder, of a project, home folder or bundle."""
    folder, ending = {"tool": ("tools", ".py"), "directive": ("directives", ".md")}.get(item_type, (item_type, ".md"))
    path = f"{top}{folder}/{item_id}{suffix or ending}"
    return Place(space, bundle, "", "item", item_type, item_id, path, path)


def list_place(path: str = ".ai", *, space: str = "project", bundle: str = "", client: str = "") -> Place:
    """Return the place of the list of a folder."""
    return Place(space, bundle, client, "list", "", path, path, path)


def skill_place(item_id: str = "pdf", *, space: str = "project", client: str = ".claude/skills") -> Place:
    """Return the place of the directive of a skill."""
    path = f"{client}/{item_id}/SKILL.md"
    name = f"{item_id.rpartition('/')[2]}/SKILL.md"
    return Place(space, "", client, "skill", "directive", item_id, path, name)


def declare(origin: Place) -> dict[str, str]:
    """Return name and category as an honest file at a place states them."""
    folder, _, stem = origin.id.rpartition("/")
    return {"name": stem, "category": folder}


def verdict(
    data: bytes,
    origin: Place | None = None,
    *,
    trust: TrustSet = TRUST,
    declared: Mapping[str, str] | None = None,
    now: datetime = NOW,
    suffix: str = "",
) -> Signature:
    """Inspect and judge a file in one step."""
    where = origin or place()
    evidence = inspect(data, origin=where, declared=declared or {}, suffix=suffix)
    return judge(evidence, origin=where, trust=trust, now=now)


def sign(
    data: bytes,
    who: SigningKey = ANN,
    *,
    origin: Place | None = None,
    suffix: str = ".py",
    form: EnvelopeFormat = EnvelopeFormat.V2,
    audience: str = "",
) -> bytes:
    """Sign a file at the fixed time."""
    if form is EnvelopeFormat.V1:
        return sign_v1(data, suffix=suffix, key=who)
    return sign_bytes(data, suffix=suffix, origin=origin or place(), key=who, audience=audience, now=SIGNED_AT)


def sign_v1(data: bytes, *, suffix: str, key: SigningKey) -> bytes:
    """Sign a file at the fixed time with a line of format v1, which rye reads and does not write."""
    data = unsigned_bytes(data, suffix)
    break_at = data.find(b"\n")
    line_break = b"\r\n" if break_at > 0 and data[break_at - 1 : break_at] == b"\r" else b"\n"
    head = re.match(rb"(?:\xef\xbb\xbf)?(?:#![^\n]*(?:\n|\Z))?", data)
    assert head is not None
    before, rest = head[0], data[head.end() :]
    before += line_break if b"#!" in before and not before.endswith(b"\n") else b""
    digest = hashlib.sha256(before + rest).hexdigest()
    signature = encode_signature(key.sign(digest.encode()))
    line = f"rye:signed:{SIGNED_AT:%Y-%m-%dT%H:%M:%SZ}:{digest}:{signature}==:{key.public.fingerprint[:16]}"
    opening, closing = COMMENT_MARKS[suffix.lower()]
    return before + f"{opening}{line}{closing}".encode() + line_break + rest


def moved(signed: bytes, data: bytes) -> bytes:
    """Return a file with the line of a signed one as a comment of Markdown on line 1."""
    (line,) = re.findall(rb"rye:signed:\S+", signed)
    return html(line.decode()) + data


def at_top(data: bytes, origin: Place | None = None) -> str:
    """Return an envelope that is made for line 1 of a file."""
    signed = sign_detached(data, placement=Placement.TOP, origin=origin or place(), key=ANN, now=SIGNED_AT)
    return signed.decode().strip()


def above(data: bytes) -> bytes:
    """Sign Markdown on line 1, above any front matter."""
    return html(at_top(data, NOTE_PLACE)) + data


def old_envelope(covered: bytes, who: SigningKey = ANN, *, ryeos: bool = False, tail: str = "") -> str:
    """Return an envelope of an older tool, whose digest was made of ``covered``."""
    digest = hashlib.sha256(covered).hexdigest()
    raw = who.sign(digest.encode())
    if ryeos:
        name, signature = who.public.names[2], base64.b64encode(raw).decode()
        return f"ryeos:signed:{WHEN}:{digest}:{signature}:{name}{tail}"
    signature = base64.urlsafe_b64encode(raw).decode()
    return f"rye:signed:{WHEN}:{digest}:{signature}:{who.public.fingerprint[:16]}{tail}"


def html(envelope: str) -> bytes:
    """Return an envelope on its line in Markdown."""
    return f"<!-- {envelope} -->\n".encode()


def hashed(envelope: str) -> bytes:
    """Return an envelope on its line in Python or YAML."""
    return f"# {envelope}\n".encode()


TOOL = b'"""Say hello."""\n\n\ndef main() -> None:\n    """Say it."""\n'
SCRIPT = b"#!/bin/sh\necho hello\n"
NOTE = b"# Hello\n\nA note.\n"
XML = b'<directive name="hello" version="1.0.0">\n  <metadata><category>demo</category></metadata>\n</directive>'
DIRECTIVE = b"# Hello\n\n```xml\n" + XML + b"\n```\n\nSay hello.\n"
FRONT = b"---\nname: hello\ncategory: demo\n---\n\n"

DIRECTIVE_PLACE = place(item_type="directive")
NOTE_PLACE = place(item_type="knowledge")
SH_PLACE, TS_PLACE = place(suffix=".sh"), place(suffix=".ts")


def replace_once(data: bytes, old: bytes, new: bytes) -> bytes:
    """Replace what occurs exactly once."""
    assert data.count(old) == 1
    return data.replace(old, new)


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden file: how it is made, where it is said to be, what it states, and the reason code it must give."""

    code: str
    make: Callable[[], bytes]
    origin: Place = field(default_factory=place)
    declared: Mapping[str, str] = field(default_factory=dict)
    trust: TrustSet = TRUST


def _flip(data: bytes, marker: bytes) -> bytes:
    at = data.index(marker) + len(marker) + 4
    return data[:at] + (b"A" if data[at : at + 1] != b"A" else b"B") + data[at + 1 :]


def _digest_of(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode() + b":"


GOLDEN: Mapping[str, Golden] = {
    # trusted
    "v2.py": Golden("ok", lambda: sign(TOOL)),
    "v2-quoted.py": Golden("ok", lambda: sign(TOOL, origin=place("d\u00e9mo/a b")), place("de\u0301mo/a b")),
    "v2.md": Golden("ok", lambda: sign(NOTE, origin=NOTE_PLACE, suffix=".md"), NOTE_PLACE, declare(NOTE_PLACE)),
    "v2.ts": Golden("ok", lambda: sign(b"export const a = 1;\n", suffix=".ts", origin=TS_PLACE), TS_PLACE),
    "v2-below-shebang.sh": Golden("ok", lambda: sign(SCRIPT, suffix=".sh", origin=SH_PLACE), SH_PLACE),
    "v2-crlf.py": Golden("ok", lambda: sign(TOOL.replace(b"\n", b"\r\n"))),
    "v2-bom.py": Golden("ok", lambda: sign(b"\xef\xbb\xbf" + TOOL)),
    "v2-bundle.py": Golden("ok", lambda: sign(TOOL, BEA), place(space="system", bundle="shop")),
    "v2-audience.py": Golden("ok", lambda: sign(TOOL, audience="acme/ops"), trust=FOR_OPS),
    "v2-audience.md": Golden("ok", lambda: sign(NOTE, origin=NOTE_PLACE, suffix=".md", audience="acme"), NOTE_PLACE),
    "v2-front-matter.md": Golden("ok", lambda: sign(FRONT + NOTE, origin=NOTE_PLACE, suffix=".md"), NOTE_PLACE),
    "v1.py": Golden("ok-unbound", lambda: sign(TOOL, form=EnvelopeFormat.V1), place(), declare(place())),
    "v1-provider.py": Golden("ok-unbound", lambda: hashed(old_envelope(TOOL, tail="|registry@ann")) + TOOL),
    "v1-unpadded.py": Golden("ok-unbound", lambda: hashed(old_envelope(TOOL).replace("=", "")) + TOOL),
    "v1-directive-alone.md": Golden(
        "ok-unbound", lambda: html(old_envelope(XML)) + b"\n" + XML + b"\n", DIRECTIVE_PLACE, declare(DIRECTIVE_PLACE)
    ),
    "ryeos.md": Golden("ok-unbound", lambda: html(old_envelope(NOTE, ryeos=True)) + NOTE, NOTE_PLACE),
    # untrusted
    "unknown-key.py": Golden("unknown-key", lambda: sign(TOOL, EVE)),
    "revoked.py": Golden("revoked", lambda: sign(TOOL, REVOKED)),
    "expired.py": Golden("expired", lambda: sign(TOOL, OLD)),
    "namespace.py": Golden("limited", lambda: sign(TOOL, NARROW)),
    "bundle-key.py": Golden("foreign-key", lambda: sign(TOOL, DAN), place(space="system", bundle="stall")),
    "signer-changed.py": Golden("signer-changed", lambda: sign(TOOL, DAN), place(space="system", bundle="shop")),
    "foreign-bundle.py": Golden("limited", lambda: sign(TOOL, BEA), place(space="system", bundle="rival")),
    "foreign-project.py": Golden("foreign-key", lambda: sign(TOOL, ENDORSED), place(space="user")),
    "project-key.py": Golden("foreign-key", lambda: sign(TOOL, PAT)),
    "other-audience.py": Golden("audience", lambda: sign(TOOL, audience="acme/shop"), trust=FOR_OPS),
    "no-audience.py": Golden("audience", lambda: sign(TOOL), trust=FOR_OPS),
    # partial
    "outside-directive.md": Golden(
        "outside-directive", lambda: html(old_envelope(XML)) + DIRECTIVE, DIRECTIVE_PLACE, declare(DIRECTIVE_PLACE)
    ),
    "outside-front-matter.md": Golden(
        "outside-front-matter", lambda: html(old_envelope(NOTE.strip())) + FRONT + NOTE, NOTE_PLACE
    ),
    "outside-shebang.sh": Golden(
        "outside-shebang", lambda: b"#!/bin/sh\n" + hashed(old_envelope(b"echo hello\n")) + b"echo hello\n"
    ),
    # misplaced
    "misplaced-v1.py": Golden(
        "misplaced", lambda: sign(TOOL, form=EnvelopeFormat.V1), place("demo/other"), declare(place())
    ),
    "signed-elsewhere.py": Golden("signed-elsewhere", lambda: sign(TOOL), place("demo/other"), declare(place())),
    "extension.sh": Golden("signed-elsewhere", lambda: sign(TOOL), SH_PLACE),
    "renamed.py": Golden("signed-elsewhere", lambda: sign(TOOL), place("demo/other")),
    # tampered
    "digest.py": Golden("digest", lambda: sign(TOOL) + b"print('more')\n"),
    "line-ends.py": Golden("line-ends", lambda: sign(TOOL).replace(b"\n", b"\r\n")),
    "signature.py": Golden("signature", lambda: _flip(sign(TOOL), _digest_of(TOOL))),
    "re-dated.py": Golden("signature", lambda: replace_once(sign(TOOL), b"2026-03-01", b"2031-03-01")),
    "audience-stripped.py": Golden("signature", lambda: sign(TOOL, audience="acme").replace(b":acme\n", b"\n")),
    "audience-added.py": Golden("signature", lambda: sign(TOOL).replace(b"\n", b":acme/ops\n", 1), trust=FOR_OPS),
    "place-changed.py": Golden("signature", lambda: replace_once(sign(TOOL), b"tools/demo/", b"tools/ops/")),
    "type-changed.py": Golden("signature", lambda: replace_once(sign(TOOL), b":tool:", b":knowledge:")),
    "place-stripped.py": Golden("malformed", lambda: replace_once(sign(TOOL), b":tool:.ai/tools/demo/hello.py", b"")),
    "place-quoted.py": Golden("malformed", lambda: replace_once(sign(TOOL), b"demo/hello.py", b"demo%2Fhello.py")),
    "place-in-small-hex.py": Golden(
        "malformed", lambda: replace_once(sign(TOOL, origin=place("a b")), b"%20", b"%2a"), place("a b")
    ),
    "place-behind-the-audience.py": Golden(
        "malformed",
        lambda: replace_once(
            sign(TOOL, audience="acme"), b":tool:.ai/tools/demo/hello.py:acme", b":acme:tool:.ai/tools/demo/hello.py"
        ),
    ),
    "audience-in-capitals.py": Golden("malformed", lambda: sign(TOOL, audience="acme").replace(b":acme", b":Acme")),
    "malformed.py": Golden("malformed", lambda: replace_once(sign(TOOL), b"2026-03-01T", b"2026-13-01T")),
    "above-front-matter.md": Golden("malformed", lambda: above(FRONT + NOTE), NOTE_PLACE),
    "above-shebang.sh": Golden("malformed", lambda: hashed(old_envelope(SCRIPT)) + SCRIPT),
    "moved-above-front-matter.md": Golden(
        "malformed", lambda: moved(sign(FRONT + NOTE, origin=NOTE_PLACE, suffix=".md"), FRONT + NOTE), NOTE_PLACE
    ),
    "v2-provider.py": Golden("malformed", lambda: sign(TOOL).replace(b"\n", b"|registry@eve\n", 1)),
    "encoding.py": Golden("encoding", lambda: hashed(old_envelope(TOOL).replace("==", "=")) + TOOL),
    "two-envelopes.py": Golden("two-envelopes", lambda: sign(TOOL, EVE)[: -len(TOOL)] + sign(TOOL)),
    # unsigned
    "unsigned.py": Golden("no-envelope", lambda: TOOL),
    "below-content.py": Golden("envelope-elsewhere", lambda: b"import os\n" + sign(TOOL)),
}
"""Every golden file by name."""


def write_golden_files(folder: Path = ASSETS) -> None:
    """Write every golden file anew."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, golden in GOLDEN.items():
        (folder / name).write_bytes(golden.make())


if __name__ == "__main__":
    write_golden_files()

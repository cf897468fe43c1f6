"""The signature line: how it is parsed, which bytes it signs, and how it is added to a file."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple, NotRequired, TypedDict, Unpack

from rye._text import BOM, RawEnvelope, find_envelope, front_matter
from rye.errors import ArgumentError, SigningError
from rye.trust.keys import SigningKey
from rye.trust.model import ITEM_TYPES, EnvelopeFormat, Evidence, Place, Placement, as_utc, is_place

_HASH: Final = ("# ", "")
_SLASHES: Final = ("// ", "")

COMMENT_MARKS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        ".cjs": _SLASHES,
        ".js": _SLASHES,
        ".jsx": _SLASHES,
        ".md": ("<!-- ", " -->"),
        ".mjs": _SLASHES,
        ".py": _HASH,
        ".sh": _HASH,
        ".toml": _HASH,
        ".ts": _SLASHES,
        ".tsx": _SLASHES,
        ".yaml": _HASH,
        ".yml": _HASH,
    }
)
"""File extension → the text before and after the envelope on its line. Other files have a detached signature."""

DETACHED_SUFFIX: Final = ".sig"
"""Suffix of a detached signature, appended to the name of the file."""

_MARKS: Final = {suffix: before.rstrip() for suffix, (before, _) in COMMENT_MARKS.items()}

_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)"
_TAIL: Final = r":([0-9a-f]{64}):([A-Za-z0-9+/=_-]+):"
_OWNER: Final = r"(?:\|(?=[\w@.-]{3,64}(?![\w@.-]))[\w.-]+@[\w.-]+)?"


def _commented(envelope: str) -> re.Pattern[str]:
    """Return the pattern of a line that is a comment with one envelope; ``<!--`` must be closed."""
    return re.compile(rf"(?:(?P<open><!--)|#|//) {envelope}(?(open) -->)", re.ASCII)


_OLDER: Final = _commented(rf"(rye|ryeos):signed:({_TIME}){_TAIL}([0-9a-f]{{16}}|[0-9a-f]{{64}}){_OWNER}")
_STATED: Final = rf"(?:{'|'.join(ITEM_TYPES)}|skill|list|settings|trust):(?:[\w.~/@+=,-]|%[0-9A-F]{{2}}){{0,3072}}"
_AUDIENCE: Final = r"[a-z0-9](?:[a-z0-9._/-]{0,98}[a-z0-9])?"
_NEWER: Final = _commented(
    rf"rye:signed:v2:(\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ){_TAIL}([0-9a-f]{{64}}):({_STATED})(?::({_AUDIENCE}))?"
)
_V2: Final = EnvelopeFormat.V2
_TOP, _INSIDE, _BESIDE, *_ = Placement
_SIGNS: Final = frozenset("-_")
_LAST: Final = "AQgw"
"""The possible 86th characters of 64 bytes in base64; the others have unused bits that are not zero."""

_ELSEWHERE: Final = re.compile(rb"^[ \t]*((?:<!--|#|//)[ \t]*rye(?:os)?:signed:[^\n]{100,4000}?)\r?$", re.MULTILINE)


class ParsedLine(NamedTuple):
    """The fields of a well-formed signature line; ``signature`` is still text. A ``|provider@user`` suffix is dropped.

    A named tuple, because one is created for each of ten thousand files.
    """

    format: EnvelopeFormat
    signed_at: str
    digest: str
    signature: str
    fingerprint: str
    stated: str = ""
    audience: str = ""


def check_audience(name: str) -> str:
    """Return the name of an audience if it is valid.

    Raises:
        ArgumentError: ``bad-audience``.
    """
    given: object = name
    if not (isinstance(given, str) and re.fullmatch(_AUDIENCE, name, re.ASCII)):
        hint = "use 1 to 100 of a-z, 0-9, '.', '_', '-' and '/', with a letter or digit at both ends, such as acme/ops"
        raise ArgumentError("bad-audience", f"audience is {name!r}", hint=hint)
    return name


def parse_line(line: str) -> ParsedLine | None:
    """Parse a signature line; None if it is malformed.

    The whole line must be a comment mark, one space, one envelope, and for ``<!--`` one space and the closing ``-->``.
    """
    if match := _NEWER.fullmatch(line):
        parsed = ParsedLine(_V2, *match.groups("")[1:])
        if "%" in parsed.stated and not is_place(parsed.stated):
            return None
    elif match := _OLDER.fullmatch(line):
        form = EnvelopeFormat.V1 if match[2] == "rye" else EnvelopeFormat.RYEOS
        parsed = ParsedLine(form, match[3], match[4], match[5], match[6])
    else:
        return None
    try:
        datetime.fromisoformat(parsed.signed_at)
    except ValueError:
        return None
    return parsed


def read_detached(data: bytes) -> RawEnvelope:
    """Return the line of a detached signature as an envelope that covers every byte of the file.

    The signature is one v2 line without a comment mark, ended by LF; anything else gives a malformed line.
    """
    text = data.decode("utf-8", "replace")
    is_newer = text.startswith(f"{CONTEXT}:") and text.endswith("\n")
    return RawEnvelope(f"# {text[:-1]}" if is_newer else "", 0, 0, 0)


def placement_of(envelope: RawEnvelope) -> Placement:
    """Return where a signature is placed."""
    if envelope.number:
        return _INSIDE if envelope.inside else _TOP
    return _BESIDE


def foreign_mark(line: str, suffix: str) -> str:
    """Return why the comment mark of a well-formed line does not fit a file of this extension; empty if it does.

    The mark is part of the line, so no signature binds it. The mark of another language would change the meaning of the
    file, or break it.
    """
    mark = _MARKS.get(suffix)
    if mark is not None and line.startswith(mark):
        return ""
    said = f"its comments begin with {mark}" if mark else "it has no comments"
    return f"a {suffix} file cannot hold this line: {said}"


def misplacement(data: bytes, envelope: RawEnvelope, form: EnvelopeFormat) -> str:
    """Return why a line is not where :func:`sign_bytes` puts it, or ends differently; empty if it is right.

    No digest covers the place of the line or its line break, so only one of each is accepted: below a shebang, after a
    byte order mark, and with the line break of the file's first line. Older lines may also end with LF or the end of
    the file. The signed message states whether the line is above front matter or in it.
    """
    start, end = envelope.start, envelope.end
    if envelope.number == 0:
        return ""
    if start == 0 and data.startswith(BOM, end):
        return "it is before the byte order mark instead of after it"
    if envelope.number == 1 and data.startswith(b"#!", end):
        return "it is above the shebang instead of below it"
    is_above = envelope.number == 1 and data.startswith(b"---", end) and envelope.line.startswith("<!--")
    if form is _V2 and is_above and front_matter(data[end:], ".md"):
        return "it is above the front matter instead of in it"
    first, least = (start - 1, 1) if envelope.number == 2 else (data.find(b"\n", end), end + 1)
    expected = b"\r\n" if first >= least and data[first - 1] == 0x0D else b"\n"
    actual = b"" if data[end - 1] != 0x0A else b"\r\n" if data[end - 2] == 0x0D else b"\n"
    if actual == expected or (form is not _V2 and actual != b"\r\n"):
        return ""
    names = {b"": "the end of the file", b"\n": "LF", b"\r\n": "CR LF"}
    return f"it ends with {names[actual]} instead of {names[expected]}"


def decode_signature(text: str, form: EnvelopeFormat) -> bytes | None:
    """Return the 64 bytes of a signature; None if the text is not their canonical base64.

    v2 is base64url without padding. The older formats may use either alphabet, but not both at once, and either all
    padding or none. Unused bits must be zero, so that one signature has one spelling.
    """
    bare = text if form is _V2 else text.removesuffix("==")
    standard = "+" in bare or "/" in bare
    if len(bare) != 86 or bare[-1] not in _LAST or (standard and (form is _V2 or not _SIGNS.isdisjoint(bare))):
        return None
    try:
        return binascii.a2b_base64(bare.replace("-", "+").replace("_", "/") + "==", strict_mode=True)
    except ValueError:
        return None


def encode_signature(raw: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def line_elsewhere(data: bytes) -> int:
    """Return the 1-based number of the first line that looks like a signature line anywhere in the file, else 0."""
    if b"rye" not in data:
        return 0
    for match in _ELSEWHERE.finditer(data):
        if parse_line(match[1].decode("utf-8", "replace")) is not None:
            return data.count(b"\n", 0, match.start()) + 1
    return 0


CONTEXT: Final = "rye:signed:v2"
"""Label that starts every v2 message, alone or with ``:`` and a placement. A v1 message is 64 hex digits."""


def signed_message(
    form: str, digest: str, *, stated: str, signed_at: str, audience: str = "", placement: Placement = Placement.TOP
) -> bytes:
    """Return the exact bytes that an Ed25519 signature covers.

    v1 and ryeos sign the digest alone, as 64 ASCII hex digits. v2 signs a pre-authentication encoding, modelled on that
    of DSSE (https://github.com/secure-systems-lab/dsse, protocol.md)::

        message = label part(place) part(time) part(digest) [part(audience)]
        label   = "rye:signed:v2" / "rye:signed:v2:front-matter" / "rye:signed:v2:detached"
                / "rye:signed:v2:skill" / "rye:signed:v2:list"
        part(s) = SP LEN(s) SP s

    where ``place``, ``time`` and ``audience`` are as in the line, ``digest`` is 64 hex digits, ``LEN(s)`` is the length
    of ``s`` as a decimal number without leading zeros, and SP is one space (0x20). Everything is ASCII. A line without
    an audience has no part for it. The label says where the line is placed. No label contains a space, and each part
    carries its length. So two different lists of parts never give the same message.

        >>> signed_message(EnvelopeFormat.V2, "0" * 64, stated="tool:.ai/tools/a.py",
        ...                signed_at="2026-01-01T00:00:00Z")[:60]
        b'rye:signed:v2 19 tool:.ai/tools/a.py 20 2026-01-01T00:00:00Z'
    """
    if form != _V2:
        return digest.encode("ascii")
    label = f"{CONTEXT}:{placement}" if placement else CONTEXT
    text = f"{label} {len(stated)} {stated} {len(signed_at)} {signed_at} {len(digest)} {digest}"
    return (f"{text} {len(audience)} {audience}" if audience else text).encode("ascii")


def message_of(signed: ParsedLine | Evidence, placement: Placement) -> bytes:
    """Return the bytes that the signature of a line, or of the evidence of a file, covers."""
    facts = {"stated": signed.stated, "signed_at": signed.signed_at, "audience": signed.audience}
    return signed_message(signed.format, signed.digest, **facts, placement=placement)


_SHEBANG: Final = re.compile(rb"#![^\n]*\n?")


class SigningTerms(TypedDict):
    """The keyword arguments of every function that signs.

    Attributes:
        origin: The place that the signature states and binds.
        key: The signing key.
        audience: The registry that the file is signed for; empty (the default) for none.
        now: The time to write, to the second.
    """

    origin: Place
    key: SigningKey
    audience: NotRequired[str]
    now: datetime


def sign_bytes(data: bytes, *, suffix: str, **terms: Unpack[SigningTerms]) -> bytes:
    """Return the file with a signature line over everything else; an existing line is replaced.

    In a Markdown file that begins with front matter, the line is the first comment in the front matter, where other
    readers ignore it. Otherwise it is the first line, or below a shebang. A byte order mark stays in front, and the
    line ends as the first line of the file does. Signing twice with the same arguments gives the same bytes.

    Args:
        data: All bytes of the file.
        suffix: The extension, which decides the comment mark.
        **terms: As in :class:`SigningTerms`.

    Raises:
        SigningError: ``no-comment``: files of this kind have no comments to hold a line; ``not-utf-8``: the file is not
            text.
        ArgumentError: ``bad-audience``.
    """
    suffix = suffix.lower()
    if suffix not in COMMENT_MARKS:
        raise SigningError(
            "no-comment",
            f"a {suffix or 'file without extension'} file cannot hold a signature line: it has no known comments",
            hint=f"sign it with sign_detached; a line is for {', '.join(COMMENT_MARKS)}",
        )
    data = unsigned_bytes(data, suffix)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise SigningError("not-utf-8", "the file is not UTF-8 text", hint="convert it to UTF-8") from None
    inside = front_matter(data, suffix)
    head, rest, line_break = _split(data, inside)
    before, after = _HASH if inside else COMMENT_MARKS[suffix]
    envelope = _sign(head + rest, _INSIDE if inside else _TOP, **terms)
    return head + f"{before}{envelope}{after}".encode() + line_break + rest


def sign_detached(data: bytes, *, placement: Placement = Placement.DETACHED, **terms: Unpack[SigningTerms]) -> bytes:
    """Return the content of the signature file ``NAME.sig``: one v2 line over all bytes of a file.

    Args:
        data: All bytes of the file, or the list of a skill's files.
        placement: Says which of the two.
        **terms: As in :class:`SigningTerms`.

    Raises:
        ArgumentError: ``bad-audience``.
    """
    return f"{_sign(data, placement, **terms)}\n".encode()


def _sign(
    content: bytes, placement: Placement, *, origin: Place, key: SigningKey, audience: str = "", now: datetime
) -> str:
    """Return a v2 signature line over all of the content, without its comment mark."""
    digest, stated = hashlib.sha256(content).hexdigest(), origin.stated
    signed_at = as_utc(now).strftime("%Y-%m-%dT%H:%M:%SZ")
    audience = check_audience(audience) if audience else ""
    facts = {"stated": stated, "signed_at": signed_at, "audience": audience}
    signature = encode_signature(key.sign(signed_message(_V2, digest, **facts, placement=placement)))
    end = f":{audience}" if audience else ""
    return f"{CONTEXT}:{signed_at}:{digest}:{signature}:{key.public.fingerprint}:{stated}{end}"


def unsigned_bytes(data: bytes, suffix: str = "") -> bytes:
    """Return the file without its signature line, and without further ones that would take its place."""
    while envelope := find_envelope(data, suffix):
        data = data[: envelope.start] + data[envelope.end :]
    return data


def _split(data: bytes, inside: int) -> tuple[bytes, bytes, bytes]:
    """Return the bytes before the envelope line, the bytes after it, and the line break to use."""
    first = data.find(b"\n")
    line_break = b"\r\n" if first > 0 and data[first - 1] == 0x0D else b"\n"
    if inside:
        return data[:inside], data[inside:], line_break
    start = len(BOM) if data.startswith(BOM) else 0
    if shebang := _SHEBANG.match(data, start):
        head = data[: shebang.end()]
        return head if head.endswith(b"\n") else head + line_break, data[shebang.end() :], line_break
    return data[:start], data[start:], line_break

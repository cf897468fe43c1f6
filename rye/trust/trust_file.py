"""Trust files: TOML that names one public key, its owner and its limits, and may be signed by a user's key."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NoReturn

from rye.errors import ItemError, SigningError
from rye.items.guarded import load_toml
from rye.trust.certificates import AnyKey, read_public
from rye.trust.evidence import inspect
from rye.trust.keys import PublicKey, SigningKey
from rye.trust.line import sign_bytes, signed_message
from rye.trust.model import EnvelopeFormat, Place, as_utc
from rye.trust.ssh import read_ssh_key
from rye.trust.trust_entry import Limit, Revocation, TrustEntry, TrustScope

MAX_TRUST_FILE: Final = 8_192
"""Maximum size in bytes of a trust file."""

_SIGNATURE_BYTES: Final = 512
"""Bytes reserved for the signature line of an endorsement."""

_KEY_PREFIX: Final = "ed25519:"
_LIMITS: Final = ("for", "not_after", "revoked")
_KNOWN: Final = MappingProxyType(
    {
        "": ("version", "category", "fingerprint", "owner", "attestation", "public_key", *_LIMITS),
        "public_key": ("pem",),
        "revoked": ("reason", "date"),
    }
)
"""Table → the keys allowed in it. Other tools write an ``attestation``, which rye ignores."""
_TOP_KEY: Final = re.compile(rb"(" + "|".join(_KNOWN[""]).encode() + rb")[ \t]*=")
"""A key above all tables."""


def split_trust_files(data: bytes) -> list[bytes]:
    """Return the trust files of a text that holds one below another, as a variable of a build server may.

    A file begins where a key that stands above all tables follows a table, or comes a second time.
    """
    parts, seen, is_open, has_table = [bytearray()], set[bytes](), False, False
    for line in data.splitlines(keepends=True):
        top = _TOP_KEY.match(line)
        if top and not is_open and (has_table or top[1] in seen):
            parts.append(bytearray())
            seen, has_table = set(), False
        seen |= {top[1]} if top and not is_open else set()
        has_table = has_table or (line.startswith(b"[") and not is_open)
        is_open ^= line.count(b'"""') % 2 == 1
        parts[-1] += line
    return [bytes(part) for part in parts]


@lru_cache(maxsize=512)
def parse_trust_file(
    data: bytes,
    *,
    scope: TrustScope,
    bundle: str = "",
    signed_by: str = "",
    built_in: bool = False,
    source: str = "",
) -> TrustEntry:
    """Parse a trust file, as the page ``rye/trust`` describes it.

    Everything unknown is refused, including unknown keys and tables, so that no limit is lost to a typing error.
    Parsed files are cached by their bytes, because each search reads all trust files again.

    Raises:
        SigningError: ``trust-file``: it cannot be parsed; ``fingerprint-mismatch``: it states another fingerprint than
            its key has; ``weak-key``: the key is not safe to use.
    """
    if len(data) > MAX_TRUST_FILE:
        _refuse(source, f"is longer than {MAX_TRUST_FILE:,} bytes")
    try:
        table = load_toml(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        _refuse(source, "is not UTF-8")
    except ItemError as fault:
        _refuse(source, f"is not TOML: {fault.message}" if fault.code == "unparsable" else fault.message)
    _refuse_unknown(table, source)
    public = _public_key(table, source)
    stated = table.get("fingerprint")
    if stated is not None and not isinstance(stated, str):
        _refuse(source, "fingerprint is not text")
    if stated is not None and stated != public.fingerprint:
        raise SigningError(
            "fingerprint-mismatch",
            f"{source or 'the trust file'} says fingerprint {stated!r}, its key has {public.fingerprint}",
            hint="get the file again from its owner, over a channel you trust",
        )
    return TrustEntry(
        public=public,
        owner=_line(table.get("owner", ""), "owner", source),
        scope=scope,
        bundle=bundle,
        patterns=_patterns(table.get("for"), source),
        not_after=_moment(table.get("not_after"), source),
        revoked=_revocation(table.get("revoked", False), source),
        signed_by=signed_by,
        built_in=built_in,
        source=source,
    )


def trust_file_bytes(
    public: AnyKey,
    *,
    owner: str,
    patterns: Iterable[str] | None = None,
    not_after: datetime | None = None,
    revoked: Revocation | None = None,
    short: bool = False,
) -> bytes:
    """Return a trust file for a key, readable by :func:`parse_trust_file`.

    A ``short`` file states the key as base64 instead of PEM. Two short files differ in most of their bytes, so git does
    not mistake a new one for a renamed one, which would conflict if two branches add one and remove the same.

    Raises:
        SigningError: ``trust-file``: the owner, a pattern or the revocation cannot be written, or the file would be
            longer than :data:`MAX_TRUST_FILE`.
    """
    lines = [
        'version = "1.0.0"',
        'category = "keys/trusted"',
        f'fingerprint = "{public.fingerprint}"',
        f"owner = {_quoted(owner, 'owner')}",
    ]
    if patterns is not None:
        lines.append(f"for = {json.dumps(_patterns(list(patterns), ''), ensure_ascii=False)}")
    if not_after is not None:
        lines.append(f"not_after = {as_utc(not_after).isoformat()}")
    if short and isinstance(public, PublicKey):
        lines += [f'public_key = "{_KEY_PREFIX}{base64.b64encode(public.raw).decode()}"', ""]
    else:
        lines += ["", "[public_key]", f'pem = """\n{public.pem}"""', ""]
    if revoked is not None:
        reason, day = _quoted(revoked.reason, "revoked.reason"), _quoted(revoked.date, "revoked.date")
        lines += ["[revoked]", f"reason = {reason}", f"date = {day}", ""]
    data = "\n".join(lines).encode()
    if len(data) > MAX_TRUST_FILE - _SIGNATURE_BYTES:
        _refuse("", f"would be longer than {MAX_TRUST_FILE:,} bytes; name fewer items in for")
    return data


def restate(entry: TrustEntry) -> bytes:
    """Return a trust file with the content of an entry; errors as for :func:`trust_file_bytes`."""
    limits = {"patterns": entry.patterns, "not_after": entry.not_after, "revoked": entry.revoked}
    return trust_file_bytes(entry.public, owner=entry.owner, **limits)  # type: ignore[arg-type]


def trust_file_name(public: AnyKey) -> str:
    """Return the name of a trust file for this key below ``config/keys/trusted``."""
    return f"{public.fingerprint}.toml"


def _refuse(source: str, problem: str) -> NoReturn:
    hint = "a trust file holds fingerprint, owner and [public_key] pem; see rye help trust"
    raise SigningError("trust-file", f"{source or 'the trust file'}: {problem}", hint=hint)


def _refuse_unknown(table: Mapping[str, Any], source: str) -> None:
    """Refuse unknown keys: one may be a misspelt limit, or a limit in the wrong table."""
    for name, inner in (("", table), *((key, value) for key, value in table.items() if isinstance(value, dict))):
        for key in inner:
            if key in _KNOWN.get(name, ()):
                continue
            from difflib import get_close_matches

            close = get_close_matches(key.casefold().replace("-", "_"), _KNOWN[""], 1, 0.8)
            if close and name:
                _refuse(source, f"{key} has no effect in the table [{name}]; write {close[0]} above it")
            hint = f"; did you mean {close[0]}?" if close else ""
            _refuse(source, f"{key!r} is not known{f' in the table [{name}]' if name else ''}{hint}")


def _public_key(table: Mapping[str, Any], source: str) -> AnyKey:
    stated = table.get("public_key")
    if isinstance(stated, dict):
        stated = stated.get("pem")
    if not isinstance(stated, str):
        _refuse(source, "names no public_key")
    if stated.startswith(_KEY_PREFIX):
        return PublicKey.from_base64(stated.removeprefix(_KEY_PREFIX))
    return read_ssh_key(stated)[0] if stated.startswith("ssh-") else read_public(stated)


def _line(value: object, key: str, source: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
        _refuse(source, f"{key} is not one printable line of at most 200 characters")
    return value.strip()


def _quoted(value: str, key: str) -> str:
    return json.dumps(_line(value, key, ""), ensure_ascii=False)


def _patterns(value: object, source: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        _refuse(source, "for is not a list of texts")
    if wrong := [text for text in value if Limit.parse(text) is None]:
        _refuse(source, f"for: {wrong[0]!r} is not a pattern such as 'tool:rye/*' or 'bundle:core'")
    return tuple(value)


def last_moment(text: str) -> datetime:
    """Return the last moment of a date (the end of the day in UTC), or of a date and time.

    Raises:
        SigningError: ``trust-file``: it is neither.
    """
    moment = _moment(text, "")
    assert moment is not None
    return moment


def _moment(value: object, source: str) -> datetime | None:
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if len(value) <= 10 else datetime.fromisoformat(value)
        except ValueError:
            _refuse(source, f"{value!r} is not a date such as 2027-12-31")
    if isinstance(value, datetime):
        try:
            return as_utc(value)
        except OverflowError:
            _refuse(source, f"{value.isoformat()} is not a moment of the years 1 to 9999 in UTC")
    if isinstance(value, date):
        return datetime.combine(value, time.max, tzinfo=UTC)
    if value is not None:
        _refuse(source, "not_after is not a date")
    return None


def _revocation(value: object, source: str) -> Revocation | None:
    if value is False:
        return None
    if value is True:
        return Revocation()
    if not isinstance(value, dict):
        _refuse(source, "revoked is neither true, false nor a table")
    day = value.get("date", "")
    return Revocation(
        _line(value.get("reason", ""), "revoked.reason", source),
        _line(str(day) if isinstance(day, date) else day, "revoked.date", source),
    )


def _place(stem: str) -> Place:
    return Place("project", "", "", "trust", "", stem, stem, stem)


def sign_trust_file(data: bytes, *, stem: str, key: SigningKey, now: datetime) -> bytes:
    """Return a trust file signed with a user's key: a v2 line at its top, type ``trust``, id its file name's stem."""
    return sign_bytes(data, suffix=".toml", origin=_place(stem), key=key, now=now)


def signer_of(data: bytes, *, stem: str, keys: Iterable[TrustEntry]) -> str:
    """Return the fingerprint of the key whose v2 signature on this trust file is valid, else empty.

    :meth:`rye.trust.trust_set.TrustSet.is_in_effect` decides whether that key is trusted without limits. A signature of
    an older format does not say what it was made for, so it is not accepted here.
    """
    origin = _place(stem)
    evidence = inspect(data, origin=origin, declared={})
    if evidence.code or evidence.format != EnvelopeFormat.V2 or evidence.stated != origin.stated:
        return ""
    message = signed_message(EnvelopeFormat.V2, evidence.digest, stated=evidence.stated, signed_at=evidence.signed_at)
    for entry in keys:
        public = entry.public if entry.fingerprint == evidence.fingerprint else None
        if isinstance(public, PublicKey) and public.verify(evidence.signature, message):
            return entry.fingerprint
    return ""

"""The text of a trust file: TOML that names one key, its owner and its limits; and its endorsement by a user's key."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NoReturn

from rye.errors import SigningError
from rye.trust.evidence import inspect
from rye.trust.keys import PublicKey, SigningKey
from rye.trust.line import sign_bytes, signed_message
from rye.trust.model import EnvelopeFormat, Origin
from rye.trust.trust_set import Revocation, TrustEntry, TrustScope, as_utc

MAX_TRUST_FILE: Final = 65_536
"""A longer trust file is refused."""

_NAMESPACE: Final = re.compile(r"(?:(?:directive|tool|knowledge):)?(?:\*|[^*/:\s]+)(?:/(?:\*|[^*/:\s]+))*")
_KEY_PREFIX: Final = "ed25519:"
_LIMITS: Final = ("namespaces", "bundles", "not_after", "revoked")
_KNOWN: Final = MappingProxyType(
    {
        "": ("version", "category", "fingerprint", "owner", "attestation", "public_key", *_LIMITS),
        "public_key": ("pem",),
        "revoked": ("reason", "date"),
    }
)
"""Table → the keys that may stand in it; other tools write an ``attestation``, which says nothing here."""
_HINT: Final = "a trust file holds fingerprint, owner and [public_key] pem; see the trust model"


@lru_cache(maxsize=512)
def parse_trust_file(
    data: bytes,
    *,
    scope: TrustScope,
    bundle: str = "",
    endorsed_by: str = "",
    vouches: bool = False,
    source: str = "",
) -> TrustEntry:
    """Parse a trust file.

    Read are ``[public_key] pem`` or ``public_key = "ed25519:BASE64"``, ``owner``, and the optional ``fingerprint`` (16
    or 64 hex of the PEM, or 64 hex of the raw key), ``namespaces`` (patterns of ids), ``bundles`` (ids of bundles),
    ``not_after`` (date, of which the whole day in UTC counts, or date and time) and ``revoked`` (true, or a table with
    ``reason`` and ``date``). What is there but cannot be understood is refused, a key or table that is not known as
    well: no limit is ever lost to a typing error. The entries of the last files are kept by their bytes, as each search
    reads all trust files anew.

    Raises:
        SigningError: ``trust-file`` when it cannot be understood, ``fingerprint-mismatch`` when it names another
            fingerprint than its key has, ``weak-key`` when the key cannot bind a message.
    """
    table = _load(data, source)
    _refuse_unknown(table, source)
    public = _public_key(table, source)
    stated = table.get("fingerprint")
    if stated is not None and not isinstance(stated, str):
        _refuse(source, "fingerprint is not text")
    if stated is not None and stated not in {public.fingerprint, public.fingerprint[:16], public.raw_fingerprint}:
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
        namespaces=_namespaces(table.get("namespaces"), source),
        bundles=_bundles(table.get("bundles"), source),
        not_after=_moment(table.get("not_after"), source),
        revoked=_revocation(table.get("revoked", False), source),
        endorsed_by=endorsed_by,
        vouches=vouches,
        source=source,
    )


def trust_file_bytes(
    public: PublicKey,
    *,
    owner: str,
    namespaces: tuple[str, ...] | None = None,
    bundles: tuple[str, ...] | None = None,
    not_after: datetime | None = None,
    revoked: Revocation | None = None,
    short: bool = False,
) -> bytes:
    """Return a trust file for a key, readable by :func:`parse_trust_file`.

    A ``short`` one states the key as base64 instead of PEM. Two such files differ in most of their bytes, so that git
    does not take a new one for an old one renamed, which conflicts where two branches add one and remove the same.

    Raises:
        SigningError: ``trust-file`` when the owner, a namespace, a bundle or the revocation cannot be written.
    """
    lines = [
        'version = "1.0.0"',
        'category = "keys/trusted"',
        f'fingerprint = "{public.fingerprint}"',
        f"owner = {json.dumps(_line(owner, 'owner', ''), ensure_ascii=False)}",
    ]
    if namespaces is not None:
        lines.append(f"namespaces = {json.dumps(_namespaces(list(namespaces), ''), ensure_ascii=False)}")
    if bundles is not None:
        lines.append(f"bundles = {json.dumps(_bundles(list(bundles), ''), ensure_ascii=False)}")
    if not_after is not None:
        lines.append(f"not_after = {as_utc(not_after).isoformat()}")
    if short:
        lines += [f'public_key = "{_KEY_PREFIX}{base64.b64encode(public.raw).decode()}"', ""]
    else:
        lines += ["", "[public_key]", f'pem = """\n{public.pem}"""', ""]
    if revoked is not None:
        reason = json.dumps(_line(revoked.reason, "revoked.reason", ""), ensure_ascii=False)
        day = json.dumps(_line(revoked.date, "revoked.date", ""), ensure_ascii=False)
        lines += ["[revoked]", f"reason = {reason}", f"date = {day}", ""]
    return "\n".join(lines).encode()


def restate(entry: TrustEntry) -> bytes:
    """Return a trust file that says of a key what an entry says; errors as for :func:`trust_file_bytes`."""
    return trust_file_bytes(
        entry.public,
        owner=entry.owner,
        namespaces=entry.namespaces,
        bundles=entry.bundles,
        not_after=entry.not_after,
        revoked=entry.revoked,
    )


def trust_file_name(public: PublicKey) -> str:
    """Return the file name a trust file of this key has below ``config/keys/trusted``."""
    return f"{public.fingerprint}.toml"


def _refuse(source: str, problem: str) -> NoReturn:
    raise SigningError("trust-file", f"{source or 'the trust file'}: {problem}", hint=_HINT)


def _load(data: bytes, source: str) -> Mapping[str, Any]:
    import tomllib

    if len(data) > MAX_TRUST_FILE:
        _refuse(source, f"is longer than {MAX_TRUST_FILE} bytes")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        _refuse(source, f"is not TOML: {fault}")


def _refuse_unknown(table: Mapping[str, Any], source: str) -> None:
    """Refuse unknown keys: one may be a limit that is misspelt, or that stands in another table than its own."""
    for name, inner in (("", table), *((key, value) for key, value in table.items() if isinstance(value, dict))):
        for key in inner:
            if key in _KNOWN.get(name, ()):
                continue
            from difflib import get_close_matches

            near = get_close_matches(key.casefold().replace("-", "_"), _KNOWN[""], 1, 0.8)
            if near and name:
                _refuse(source, f"{key} stands in the table [{name}] and would limit nothing; write {near[0]} above it")
            hint = f"; did you mean {near[0]}?" if near else ""
            _refuse(source, f"{key!r} is not known{f' in the table [{name}]' if name else ''}{hint}")


def _public_key(table: Mapping[str, Any], source: str) -> PublicKey:
    stated = table.get("public_key")
    if isinstance(stated, dict):
        stated = stated.get("pem")
    if not isinstance(stated, str):
        _refuse(source, "names no public_key")
    if stated.startswith(_KEY_PREFIX):
        return PublicKey.from_base64(stated.removeprefix(_KEY_PREFIX))
    return PublicKey.from_pem(stated)


def _line(value: object, key: str, source: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
        _refuse(source, f"{key} is not one printable line of at most 200 characters")
    return value.strip()


def _namespaces(value: object, source: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        _refuse(source, "namespaces is not a list of patterns")
    for pattern in value:
        if not _NAMESPACE.fullmatch(pattern) or not pattern.isprintable():
            _refuse(source, f"namespace {pattern!r} is not a pattern such as 'rye/core/*' or 'tool:rye/*'")
    return tuple(value)


def _bundles(value: object, source: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        _refuse(source, "bundles is not a list of ids of bundles")
    return tuple(_line(each, "an id of bundles", source) for each in value)


def last_moment(text: str) -> datetime:
    """Return the last moment of a date, of which the whole day in UTC counts, or of a date and time.

    Raises:
        SigningError: ``trust-file`` when it is neither.
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


def _origin(stem: str) -> Origin:
    return Origin("project", "", "trust", stem)


def endorse(data: bytes, *, stem: str, key: SigningKey, now: datetime) -> bytes:
    """Return a trust file signed with a user's key: a v2 line at its top, type ``trust``, id its file name's stem."""
    return sign_bytes(data, suffix=".toml", origin=_origin(stem), key=key, now=now)


def endorser(data: bytes, *, stem: str, anchors: Iterable[TrustEntry]) -> str:
    """Return the fingerprint of the anchor whose v2 signature holds on this trust file, else empty.

    Whether that anchor's word counts at a given moment (not revoked, not expired, not limited to namespaces) is for
    :meth:`rye.trust.TrustSet.stands` to say. Older formats endorse nothing: they do not say what they were made for.
    """
    origin = _origin(stem)
    evidence = inspect(data, origin=origin, declared={})
    if evidence.code or evidence.format != EnvelopeFormat.V2:
        return ""
    message = signed_message(
        EnvelopeFormat.V2,
        evidence.digest,
        item_type=origin.item_type,
        item_id=origin.item_id,
        signed_at=evidence.signed_at,
        suffix=evidence.suffix,
    )
    for anchor in anchors:
        if anchor.fingerprint == evidence.fingerprint and anchor.public.verify(evidence.signature, message):
            return anchor.fingerprint
    return ""

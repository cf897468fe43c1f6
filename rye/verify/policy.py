"""Policies: demands on items besides a verdict, by scope: whose signature, in which format, how old.

A policy is a YAML file that is named, never one that is found:

.. code-block:: yaml

    require: trusted          # or signed
    envelope: v2              # or a list
    max_age: 365d             # of the signature; also not_before: 2026-01-01
    audience: acme/ops        # for which a project's items were signed
    scopes:
      - scope: tool.ops.*
        signers: [4b987fd4e40303ac…]   # all 64 digits

The first entry of ``scopes`` that holds an item replaces, of the demands above it, those that it states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from rye.errors import ArgumentError, EnvironmentFault, ItemError, NotFoundError
from rye.items import yaml
from rye.items.scope import Scope, parse_scope
from rye.trust import EnvelopeFormat, check_audience, refuse_key_text
from rye.trust.model import as_utc
from rye.verify.reports import VerifiedItem

MAX_POLICY_FILE: Final = 65_536
"""How large a policy file may be."""

WELL: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {"trusted": frozenset({"trusted"}), "signed": frozenset({"trusted", "untrusted"})}
)
"""Value of ``require`` → the verdicts that meet it."""

POLICY_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "signer": "it is signed with a key that is not among the signers demanded here",
        "envelope": "its signature line is of a format that is not accepted here",
        "undated": "its signature line does not sign its time, so its age is not known",
        "too-old": "its signer says that it was signed longer ago than is accepted here",
        "dated-ahead": "its signer dates it in the future",
    }
)
"""Code of each demand that a well signed item may still not meet, and what it means."""

_SKEW: Final = timedelta(minutes=10)
_UNITS: Final = MappingProxyType({"h": "hours", "d": "days", "w": "weeks"})
_AGE: Final = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_SIGNER: Final = re.compile(r"[0-9a-f]{64}")


class PolicyFault(NamedTuple):
    """A demand that is not met: its code, one of :data:`POLICY_REASONS`, and words."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Demand:
    """The demands on one item. An empty value or None demands nothing of the kind.

    Attributes:
        require: ``trusted`` or ``signed``.
        signers: Fingerprints, 64 hex digits; one of them must have signed.
        envelopes: Formats of the line that are accepted.
        max_age: How long ago it may have been signed. Only a v2 line says that under its signature, and what it says
            is the signer's claim: whoever holds the key can date as they like.
        not_before: Moment before which it must not have been signed.
    """

    require: str = "trusted"
    signers: tuple[str, ...] = ()
    envelopes: tuple[str, ...] = ()
    max_age: timedelta | None = None
    not_before: datetime | None = None

    def accepts_verdict(self, item: VerifiedItem) -> bool:
        """Return whether the verdict meets ``require``."""
        return item.signature.verdict.value in WELL[self.require]

    def fault(self, item: VerifiedItem, now: datetime) -> PolicyFault | None:
        """Return the first of the other demands that an item of an accepted verdict does not meet."""
        signature = item.signature
        short = signature.signer[:16]
        if self.signers and (signature.code == "unknown-key" or signature.signer not in self.signers):
            return PolicyFault("signer", f"signed with key {short}, not by one of the signers demanded")
        if self.envelopes and signature.format not in self.envelopes:
            words = " or ".join(self.envelopes)
            return PolicyFault("envelope", f"its signature line is {signature.format}, {words} is demanded")
        if self.max_age is None and self.not_before is None:
            return None
        if signature.format != EnvelopeFormat.V2:
            return PolicyFault("undated", f"a {signature.format} line does not sign its time, so its age is not known")
        signed = datetime.fromisoformat(signature.signed_at)
        if signed > now + _SKEW:
            return PolicyFault("dated-ahead", f"its signature is dated {signature.signed_at}, which is in the future")
        oldest = max(filter(None, (self.not_before, now - self.max_age if self.max_age else None)))
        if signed < oldest:
            words = f"its signature is dated {signature.signed_at}, before {oldest:%Y-%m-%dT%H:%M:%SZ}"
            return PolicyFault("too-old", words)
        return None


@dataclass(frozen=True, slots=True)
class Policy:
    """The demands on every item, those on items of a scope in their place, and those of the caller in addition.

    Attributes:
        default, scoped, also: These demands.
        audience: The name for which the items and lists of projects must have been signed; empty for any and none.
    """

    default: Demand = Demand()
    scoped: tuple[tuple[tuple[Scope, ...], Demand], ...] = ()
    also: Demand | None = None
    audience: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether nothing but a verdict is demanded."""
        demands = (self.default, *(demand for _, demand in self.scoped), *filter(None, (self.also,)))
        return all(replace(demand, require="trusted") == Demand() for demand in demands)

    def demands(self, item: VerifiedItem) -> tuple[Demand, ...]:
        """Return the demands on an item: each must be met."""
        fitting = (demand for scopes, demand in self.scoped if any(each.holds(item.type, item.id) for each in scopes))
        demand = next(fitting, self.default)
        return (demand,) if self.also is None else (demand, self.also)


def check_signers(signers: tuple[str, ...], *, name: str = "signer") -> tuple[str, ...]:
    """Return fingerprints in lower case. Only whole ones: keys that share 16 digits can be made.

    Raises:
        ArgumentError: ``bad-signer``, ``key-text``.
    """
    for signer in signers:
        refuse_key_text(signer)
    found = tuple(signer.casefold() for signer in signers)
    for signer in found:
        if not _SIGNER.fullmatch(signer):
            hint = "give all 64 hex digits of a fingerprint; rye trust list shows them"
            raise ArgumentError("bad-signer", f"{name} is {signer!r}", hint=hint)
    return found


def read_limited(path: Path, noun: str, most: int, missing: NotFoundError) -> bytes:
    """Return the bytes of a regular file that the caller named, at most one more than ``most``; no pipe is waited for.

    Raises:
        NotFoundError: ``missing``, where there is no such file.
        EnvironmentFault: ``unreadable``.
    """
    try:
        if path.is_file() or path.is_dir() or not path.exists():
            with path.open("rb") as file:
                return file.read(most + 1)
    except FileNotFoundError:
        raise missing from None
    except OSError as error:
        message = f"the {noun} {str(path)!r} cannot be read: {error.strerror}"
        raise EnvironmentFault("unreadable", message, hint="name a file that can be read") from None
    message = f"the {noun} {str(path)!r} is no regular file"
    raise EnvironmentFault("unreadable", message, hint="name a file that can be read")


def load_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises:
        NotFoundError: ``policy-not-found``.
        ArgumentError: ``bad-policy`` with the file and, where known, the line.
        EnvironmentFault: ``unreadable``.
    """
    missing = NotFoundError("policy-not-found", f"there is no policy file {str(path)!r}", hint="name one")
    data = read_limited(path, "policy file", MAX_POLICY_FILE, missing)
    if len(data) > MAX_POLICY_FILE:
        raise _bad(path, f"it has more than {MAX_POLICY_FILE:,} bytes")
    try:
        text = data.decode("utf-8-sig")
        return _policy(yaml.load(text, unambiguous=True))
    except UnicodeDecodeError:
        raise _bad(path, "it is not UTF-8") from None
    except ItemError as error:
        raise _bad(path, error.message, error.details.get("line", 0)) from None
    except _Misstated as fault:
        word, problem = map(str, fault.args)
        line = next((number for number, row in enumerate(text.splitlines(), 1) if word in row), 1)
        raise _bad(path, problem, line) from None


def _bad(path: Path, problem: str, line: int = 0) -> ArgumentError:
    place = f"{path}:{line}" if line else str(path)
    problem = problem.removeprefix(f"line {line}: ")
    hint = "see the knowledge item rye/ci for what a policy may hold"
    return ArgumentError("bad-policy", f"{place}: {problem}", hint=hint, path=str(path), line=line)


class _Misstated(Exception):
    """A word of the line whose value is not understood, and why."""


def _policy(values: Any) -> Policy:
    """Return the policy that the values of a file state; nothing that is not understood is skipped."""
    if not isinstance(values, dict) or not values:
        raise _Misstated("", "it demands nothing; it must be a mapping such as 'require: trusted'")
    default = _demand(Demand(), values, "scopes", "audience")
    entries = values.get("scopes", [])
    if not isinstance(entries, list):
        raise _Misstated("scopes", "scopes must be a list of mappings")
    scoped = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(scope := entry.get("scope"), str):
            raise _Misstated("scopes", "each entry of scopes must be a mapping with a scope")
        if len(entry) == 1:
            raise _Misstated(scope, f"the scope {scope!r} demands nothing of its own")
        try:
            scopes = parse_scope(scope)
        except ArgumentError as error:
            raise _Misstated(scope, error.message) from None
        scoped.append((scopes, _demand(default, entry, "scope")))
    return Policy(default, tuple(scoped), audience=_audience(values["audience"]) if "audience" in values else "")


def _audience(value: Any) -> str:
    try:
        return check_audience(value if isinstance(value, str) else repr(value))
    except ArgumentError as error:
        raise _Misstated("audience", f"{error.message}: {error.hint}") from None


def _demand(base: Demand, values: Mapping[str, Any], *others: str) -> Demand:
    """Return a demand with the attributes that some values state; ``others`` are the keys that state none."""
    stated = {}
    for key, value in values.items():
        if key in _DEMANDS:
            attribute, read = _DEMANDS[key]
            stated[attribute] = read(value)
        elif key not in others:
            raise _Misstated(key, f"{key!r} is not known, valid are {', '.join((*_DEMANDS, *others))}")
    return replace(base, **stated)


def _verdict(value: Any) -> str:
    if value not in tuple(WELL):
        raise _Misstated("require", f"require is {value!r}, valid are {', '.join(WELL)}")
    return str(value)


def _signers(value: Any) -> tuple[str, ...]:
    signers = value if isinstance(value, list) else [value]
    if not signers or not all(isinstance(signer, str) for signer in signers):
        raise _Misstated("signers", "signers must be fingerprints, at least one; put digits alone into quotes")
    try:
        return check_signers(tuple(signers))
    except ArgumentError as error:
        raise _Misstated("signers", f"{error.message}: {error.hint}") from None


def _envelopes(value: Any) -> tuple[str, ...]:
    formats = value if isinstance(value, list) else [value]
    known = tuple(map(str, EnvelopeFormat))
    if not formats or not all(form in known for form in formats):
        raise _Misstated("envelope", f"envelope is {value!r}, valid are {', '.join(known)}")
    return tuple(map(str, formats))


def _age(value: Any) -> timedelta:
    match = _AGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise _Misstated("max_age", f"max_age is {value!r}; write a number with h, d or w, such as 365d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _moment(value: Any) -> datetime:
    try:
        return as_utc(datetime.fromisoformat(value if isinstance(value, str) else ""))
    except (ValueError, OverflowError):
        raise _Misstated("not_before", f"not_before is {value!r}; write a date such as 2026-01-01") from None


_DEMANDS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "require": ("require", _verdict),
    "signers": ("signers", _signers),
    "envelope": ("envelopes", _envelopes),
    "max_age": ("max_age", _age),
    "not_before": ("not_before", _moment),
}
"""Key of a policy file → the attribute of :class:`Demand` that it states, and how its value is read."""

"""Policies: demands on items beyond the verdict ``trusted``, which every item must have.

A policy is a YAML file that the caller names; rye does not search for one:

.. code-block:: yaml

    formats: v2               # of the signature; or a list
    max_age: 365d             # of the signature; also not_before: 2026-01-01
    audience: acme/ops        # for which a project's items were signed
    spaces: project           # whose items it is for; or user, system, all, or a list
    list: {signers: 2, number: 7}    # of each space it is for; or {required: true}
    scopes:
      - scope: tool.ops.*
        signers: [4b987fd4e40303ac…]   # all 64 digits

The first entry of ``scopes`` that contains an item overrides the demands above it that it also states. Accepted
findings lie in a file beside the policy, see :mod:`rye.verify.accepted`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from rye._files import refuse_links, write_atomically
from rye.errors import ArgumentError, EnvironmentFault, ItemError, NotFoundError
from rye.items import yaml
from rye.items.scope import Scope, parse_scope
from rye.spaces.model import Root, Space
from rye.trust.keys import refuse_key_text
from rye.trust.line import check_audience
from rye.trust.model import BY_LIST, OMS, EnvelopeFormat, as_utc, signer_words
from rye.verify.accepted import MAX_ACCEPTED_FILE, accepted_path, read_accepted, write_accepted
from rye.verify.report import Accepted, VerifiedItem

MAX_POLICY_FILE: Final = 1 << 20
"""Maximum size in bytes of a policy file."""

NEW_POLICY: Final = "spaces: project  # see rye/ci\n"
"""The policy that ``--accept`` writes where there is none: it demands nothing but the verdict ``trusted``."""

_SKEW: Final = timedelta(minutes=10)
_UNITS: Final = MappingProxyType({"h": "hours", "d": "days", "w": "weeks"})
_AGE: Final = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_SIGNER: Final = re.compile(r"[0-9a-f]{64}")
EVERY_SPACE: Final = tuple(map(str, Space))


Fault = tuple[str, str]
"""The code of a demand that is not met, such as one of :data:`rye.trust.reasons.POLICY_REMEDIES`, and words."""


class Signed(NamedTuple):
    """How an item or a list is signed.

    Attributes:
        signers: The keys that signed it.
        format: The format of the signatures.
        signed_at: When it was signed, for an item.
        is_list: Whether it is a list, whose time is demanded nowhere; it meets ``list`` as a format too.
    """

    signers: tuple[str, ...]
    format: str = str(EnvelopeFormat.V2)
    signed_at: str = ""
    is_list: bool = False


class Demand(NamedTuple):
    """The demands on one item or list. An empty value or None makes no demand.

    Attributes:
        signers: Fingerprints, 64 hex digits; one of these keys must have signed.
        formats: Accepted formats of the signature.
        max_age: Maximum age of the signature. Only v2 signs its time, and it is the signer's claim: whoever holds the
            key can write any time.
        not_before: Earliest time at which it may have been signed.
        spaces: The spaces whose items must meet these demands. Everything that the caller named must meet them too.
    """

    signers: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    max_age: timedelta | None = None
    not_before: datetime | None = None
    spaces: tuple[str, ...] = (str(Space.PROJECT),)

    def fault(self, signed: Signed, now: datetime) -> Fault | None:
        """Return the first demand on signer, format or age that is not met; no verdict is looked at."""
        if self.signers and set(self.signers).isdisjoint(signed.signers):
            keys, what = " and ".join(map(signer_words, signed.signers)), "the list is " if signed.is_list else ""
            return "signer", f"{what}signed with {keys}, not by one of the signers demanded"
        if self.formats and not {signed.format, BY_LIST if signed.is_list else ""} & set(self.formats):
            what = "the list has signatures of" if signed.is_list else "its signature is"
            return "format", f"{what} {signed.format}, {' or '.join(self.formats)} is demanded"
        is_dated = bool(self.max_age or self.not_before) and not signed.is_list
        return self._age_fault(signed, now) if is_dated else None

    def _age_fault(self, signed: Signed, now: datetime) -> Fault | None:
        if signed.format != EnvelopeFormat.V2:
            return "undated", f"a {signed.format} signature does not cover its time, so its age is not known"
        moment, dated = datetime.fromisoformat(signed.signed_at), f"its signature is dated {signed.signed_at}"
        if moment > now + _SKEW:
            return "dated-ahead", f"{dated}, which is in the future"
        oldest = max(filter(None, (self.not_before, now - self.max_age if self.max_age else None)))
        return ("too-old", f"{dated}, before {oldest:%Y-%m-%dT%H:%M:%SZ}") if moment < oldest else None


class ListDemand(NamedTuple):
    """The demands on the list of a project, the user space, or a named bundle; any of them demands the list itself.

    Attributes:
        required: Whether there must be a list.
        signers: Number of accepted keys that must have signed it.
        number: Its minimum number.
    """

    required: bool = False
    signers: int = 0
    number: int = 0


NO_DEMAND: Final = Demand()
_NO_LIST: Final = ListDemand()


@dataclass(frozen=True, slots=True)
class Policy:
    """The demands on items, and the accepted findings.

    Attributes:
        default: The demands on every item of its spaces; all other items must have the verdict ``trusted``.
        scoped: Demands on the items of a scope, replacing the default.
        also: Additional demands of the caller on every item.
        audience: The audience for which the items and lists of projects must be signed; empty for any and none.
        accepted: Findings that do not fail the verification, from the file beside the policy.
        list: The demands on lists.
        ignore: Names and path patterns of dot files that are not a client's.
    """

    default: Demand = NO_DEMAND
    scoped: tuple[tuple[tuple[Scope, ...], Demand], ...] = ()
    also: Demand = NO_DEMAND
    audience: str = ""
    accepted: frozenset[Accepted] = frozenset()
    list: ListDemand = _NO_LIST
    ignore: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether only a verdict is demanded."""
        demands = (self.default, self.also, *(demand for _, demand in self.scoped))
        return not any(any(demand._replace(spaces=())) for demand in demands)

    def demand(self, subject: VerifiedItem | Root, *, is_named: bool = False) -> Demand | None:
        """Return the demands on an item, or those on every item for the list of a root; None in other spaces.

        Args:
            subject: The item, or the root of the list.
            is_named: Whether the caller named the bundle or folder that contains it.
        """
        if isinstance(subject, VerifiedItem):
            for scopes, demand in self.scoped:
                is_mine = any(scope.holds(subject.type, subject.id) for scope in scopes)
                if is_mine and (is_named or subject.space in demand.spaces):
                    return demand
        return self.default if is_named or subject.space in self.default.spaces else None


def check_signers(signers: tuple[str, ...], *, name: str = "signer") -> tuple[str, ...]:
    """Return fingerprints in lower case. They must be complete, because keys that share 16 digits can be made.

    Raises:
        ArgumentError: ``bad-signer``, ``key-text``.
    """
    for signer in signers:
        refuse_key_text(signer)
    checked = tuple(signer.casefold() for signer in signers)
    for signer in checked:
        if not _SIGNER.fullmatch(signer):
            hint = "give all 64 hex digits of a fingerprint; rye trust list shows them"
            raise ArgumentError("bad-signer", f"{name} is {signer!r}", hint=hint)
    return checked


def load_policy(path: Path) -> Policy:
    """Read a policy file, and the accepted findings beside it.

    Raises:
        NotFoundError: ``policy-not-found``.
        ArgumentError: ``bad-policy`` with the file and, if known, the line.
        EnvironmentFault: ``unreadable``.
    """
    data = _read(path, MAX_POLICY_FILE)
    if len(data) > MAX_POLICY_FILE:
        raise _bad(path, f"it has more than {MAX_POLICY_FILE:,} bytes")
    try:
        policy = _parse(path, data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _bad(path, "it is not UTF-8") from None
    beside = accepted_path(path)
    with suppress(NotFoundError):
        policy = replace(policy, accepted=read_accepted(beside, _read(beside, MAX_ACCEPTED_FILE)))
    return policy


def accept_findings(path: Path, findings: Iterable[Accepted]) -> Path:
    """Replace the accepted findings beside a policy file, and make the policy if there is none.

    Returns:
        The file of the findings.

    Raises:
        ArgumentError: ``bad-policy``: it is not a policy file; ``not-acceptable``.
        EnvironmentFault: ``cannot-write``, also if a link leads to it; ``unreadable``.
    """
    refuse_links(path)
    beside = accepted_path(path)
    is_new = not os.path.lexists(path)
    if not is_new:
        load_policy(path)
    write_accepted(beside, findings)
    if is_new:
        write_atomically(path, NEW_POLICY.encode())
    return beside


def _read(path: Path, limit: int) -> bytes:
    """Return the bytes of a file, at most one more than the limit; never block on a pipe.

    Raises:
        NotFoundError: ``policy-not-found``.
        EnvironmentFault: ``unreadable``.
    """
    try:
        if path.is_file() or path.is_dir() or not path.exists():
            with path.open("rb") as file:
                return file.read(limit + 1)
        problem = "is not a regular file"
    except FileNotFoundError:
        raise NotFoundError("policy-not-found", f"there is no policy file {str(path)!r}", hint="name one") from None
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    message = f"the policy file {str(path)!r} {problem}"
    raise EnvironmentFault("unreadable", message, hint="name a file that can be read")


def _bad(path: Path, problem: str, line: int = 0) -> ArgumentError:
    place = f"{path}:{line}" if line else str(path)
    problem = problem.removeprefix(f"line {line}: ")
    hint = "rye help ci describes policies"
    return ArgumentError("bad-policy", f"{place}: {problem}", hint=hint, path=str(path), line=line)


class _Misstated(Exception):
    """A value in the file that is not understood: a word on its line, and the problem."""


def _parse(path: Path, text: str) -> Policy:
    try:
        return _policy(yaml.load(text, unambiguous=True))
    except ItemError as error:
        raise _bad(path, error.message, error.details.get("line", 0)) from None
    except _Misstated as fault:
        word, problem = map(str, fault.args)
        line = next((number for number, row in enumerate(text.splitlines(), 1) if word in row), 1)
        raise _bad(path, problem, line) from None


def _policy(values: Any) -> Policy:
    """Return the policy that the values of a file state; anything unknown is an error."""
    if not isinstance(values, dict) or not values:
        raise _Misstated("", "it has no requirement; it must be a mapping such as 'formats: v2'")
    stated = _stated(values, tuple(_KEYS))
    of_policy = {key: stated.pop(key) for key in ("audience", "list", "ignore") if key in stated}
    scoped, default = stated.pop("scopes", ()), Demand(**stated)
    return Policy(default, tuple((scopes, default._replace(**own)) for scopes, own in scoped), **of_policy)


def _stated(values: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of a mapping of the file, each read as :data:`_KEYS` says."""
    stated = {}
    for key, value in values.items():
        if key not in known:
            raise _Misstated(key, f"{key!r} is not known, valid are {', '.join(known)}")
        read, what = _KEYS[key]
        try:
            stated[key] = read(value)
        except ArgumentError as error:
            raise _Misstated(key, f"{error.message}: {error.hint}") from None
        except (ValueError, TypeError, OverflowError):
            raise _Misstated(key, f"{key} is {value!r}; {key} must be {what}") from None
    return stated


def _scopes(value: Any) -> list[tuple[tuple[Scope, ...], dict[str, Any]]]:
    """Return each entry of ``scopes``: its scope, and what it states of a :class:`Demand`."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError
    scoped = []
    for entry in value:
        own = dict(entry)
        if not isinstance(scope := own.pop("scope", None), str):
            raise TypeError
        if not own:
            raise _Misstated(scope, f"the scope {scope!r} has no requirement of its own")
        try:
            scopes = parse_scope(scope)
        except ArgumentError as error:
            raise _Misstated(scope, error.message) from None
        scoped.append((scopes, _stated(own, _OF_SCOPES)))
    return scoped


def _list_demand(value: Mapping[str, Any]) -> ListDemand:
    demand = ListDemand(**value)
    is_good = all(
        isinstance(given, bool) if key == "required" else type(given) is int and 0 < given < 10**9
        for key, given in value.items()
    )
    if not value or not is_good:
        raise ValueError
    return demand._replace(required=any(demand))


def _some_of(known: Sequence[str], value: Any) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [value]
    if not words or not all(word in known for word in words):
        raise ValueError
    return tuple(words)


def _signers(value: Any) -> tuple[str, ...]:
    if value == []:
        raise ValueError
    return check_signers(tuple(value) if isinstance(value, list) else (value,))


def _spaces(value: Any) -> tuple[str, ...]:
    words = _some_of((*EVERY_SPACE, "all"), value)
    return EVERY_SPACE if "all" in words else words


def _age(value: str) -> timedelta:
    match = _AGE.fullmatch(value)
    if match is None:
        raise ValueError
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _patterns(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(pattern, str) and pattern for pattern in value):
        raise ValueError
    return tuple(value)


_FORMATS: Final = (*map(str, EnvelopeFormat), BY_LIST, OMS)
_OF_SCOPES: Final = ("signers", "formats", "max_age", "not_before", "spaces")
"""Keys of a policy and of each of its scopes; the attributes of :class:`Demand`."""

_KEYS: Final[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
    "signers": (_signers, "fingerprints, at least one; put digits alone into quotes"),
    "formats": (partial(_some_of, _FORMATS), f"one or some of {', '.join(_FORMATS)}"),
    "max_age": (_age, "a number with h, d or w, such as 365d"),
    "not_before": (lambda value: as_utc(datetime.fromisoformat(value)), "a date such as 2026-01-01"),
    "spaces": (_spaces, f"one or some of {', '.join(EVERY_SPACE)}, or all"),
    "scopes": (_scopes, "a list of mappings, each with a scope"),
    "audience": (check_audience, "a name such as acme/ops"),
    "list": (_list_demand, "a mapping such as {required: true}, or with signers or number, each from 1 on"),
    "ignore": (_patterns, "a list of names or patterns of paths"),
}
"""Key of a policy file → the function that reads its value, and what the value must be."""

"""Who must sign what in a manifest, and what is still to be signed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuf.api.metadata import DelegatedRole, Delegations, Key, Metadata, Root, Targets

from rye.errors import SigningError
from rye.manifest._metadata import delegated_paths, role_name, to_key
from rye.manifest.model import MAX_ROLES, Delegation
from rye.signing import SigningKey

__all__ = ["check_threshold", "lacking", "make_delegations", "roles_of", "without_part"]


def without_part(*signers: SigningKey) -> SigningError:
    """Return the error that says whose keys do not count here."""
    names = ", ".join(str(signer.public.fingerprint)[:16] for signer in signers)
    return SigningError(
        "manifest-key",
        f"key {names} has no part in this manifest",
        hint="sign with one of its keys, or have its owner add this one",
    )


def check_threshold(threshold: int, keys: int) -> None:
    """Refuse a number of signatures that so many keys can never give.

    Raises:
        SigningError: ``manifest-threshold``.
    """
    if not 1 <= threshold <= keys:
        raise SigningError(
            "manifest-threshold", f"a threshold of {threshold} with {keys} key(s)", hint=f"use 1 to {keys}"
        )


def roles_of(delegations: Delegations | None) -> tuple[str, ...]:
    """Return the names of delegated roles."""
    return tuple(delegations.roles or ()) if delegations is not None else ()


def make_delegations(wanted: Sequence[Delegation]) -> Delegations | None:
    """Return delegations as TUF writes them; None for none.

    Raises:
        SigningError: ``manifest-threshold``, ``manifest-namespace``.
    """
    if not wanted:
        return None
    keys: dict[str, Key] = {}
    roles: dict[str, DelegatedRole] = {}
    for one in wanted:
        check_threshold(one.threshold, len(set(one.keys)))
        keyids = [str(key.fingerprint) for key in dict.fromkeys(one.keys)]
        keys |= {str(key.fingerprint): to_key(key) for key in one.keys}
        name = role_name(one.namespaces)
        if name in roles or len(roles) == MAX_ROLES:
            words = "are delegated twice" if name in roles else f"are one delegation more than {MAX_ROLES}"
            raise SigningError(
                "manifest-namespace", f"{', '.join(one.namespaces)} {words}", hint="name all its keys in one delegation"
            )
        roles[name] = DelegatedRole(name, keyids, one.threshold, True, delegated_paths(one.namespaces))
    return Delegations(keys, roles)


def lacking(delegator: Root | Targets, role: str, metadata: Metadata[Any]) -> int:
    """Return how many signatures a role still needs."""
    result = delegator.get_verification_result(role, metadata.signed_bytes, metadata.signatures)
    return max(0, result.threshold - len(result.signed))

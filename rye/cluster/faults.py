"""The errors of a cluster, each with its own code and hint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from rye.errors import EnvironmentFault

LOGIN: Final = "RYE_INDEX_LOGIN"
CA: Final = "RYE_INDEX_CA"
_CERT: Final = "RYE_INDEX_CERT and RYE_INDEX_KEY"
_SHOWN: Final = 200
_DISK: Final = "flood"
TOO_MANY: Final = "maxClauseCount"
"""Part of the reason that OpenSearch gives if a query has too many clauses."""
_PRIVATE_CA: Final = ("unable to get local issuer", "self-signed certificate", "self signed certificate")
_WANTS_CERTIFICATE: Final = ("certificate required", "bad certificate", "handshake failure")


def shown(text: object) -> str:
    """Return a text from the cluster, shortened and without control characters."""
    return "".join(ch if ch.isprintable() else "?" for ch in str(text))[:_SHOWN]


@contextmanager
def parsing() -> Iterator[None]:
    """Turn a missing or malformed part of an answer into a ``ValueError``."""
    try:
        yield
    except (KeyError, TypeError, IndexError, AttributeError, ArithmeticError) as error:
        message = f"{type(error).__name__}: {error}"
        raise ValueError(message) from None


def reason_of(info: Any) -> str:
    """Return the reason in an error of the cluster; empty if it gives none."""
    for _ in range(4):
        if not isinstance(info, dict):
            break
        if isinstance(info.get("reason"), str):
            inner = info.get("root_cause") or info.get("failed_shards")
            cause = reason_of(inner[0]) if isinstance(inner, list) and inner else ""
            return f"{info['reason']} {cause if cause != info['reason'] else ''}".strip()
        info = info.get("error") or info.get("_shards") or info.get("failures") or info.get("reason")
        info = info[0] if isinstance(info, list) and info else info
    return str(info) if info else ""


def connection_error(address: object, problem: str, *, is_tls: bool, is_late: bool) -> EnvironmentFault:
    """Return the error for a request that got no answer.

    Args:
        address: The address of the registry.
        problem: The client's error message.
        is_tls: Whether the TLS connection failed.
        is_late: Whether the request timed out.
    """
    lowered = problem.lower()
    if is_tls or "certificate" in lowered or "ssl" in lowered:
        return _certificate_error(address, problem)
    if is_late:
        message, hint = f"{address} did not answer in time", "look at the load of the cluster, and try again"
        return EnvironmentFault("cluster-timeout", message, hint=hint)
    message = f"{address} cannot be reached: {shown(problem)}"
    hint = "nothing listens there: check the host and the port, and whether the cluster is running"
    return EnvironmentFault("cluster-unreachable", message, hint=hint)


def _certificate_error(address: object, problem: str) -> EnvironmentFault:
    lowered = problem.lower()
    if "wrong version number" in lowered or "record layer failure" in lowered:
        message = f"what listens at {address} does not speak TLS"
        hint = "check the port; without TLS a cluster is only used on this machine, as opensearch+http://127.0.0.1:…"
    elif "hostname mismatch" in lowered or "doesn't match" in lowered or "not valid for" in lowered:
        message, hint = f"the certificate of {address} is for another host", "use the name that the certificate is for"
    elif any(words in lowered for words in _PRIVATE_CA):
        message = f"the certificate of {address} is from an authority that is not known here"
        hint = f"set {CA} to the file with the certificate of that authority, in PEM"
    elif any(words in lowered for words in _WANTS_CERTIFICATE):
        message, hint = f"{address} asks for a client certificate", f"set {_CERT} to files in PEM"
    else:
        message, hint = f"no secure connection to {address}: {shown(problem)}", f"check its certificate, and {CA}"
    return EnvironmentFault("cluster-certificate", message, hint=hint)


def answer_error(address: object, status: Any, info: Any, health: str) -> EnvironmentFault:
    """Return the error for a request that the cluster refused.

    Args:
        address: The address of the registry.
        status: The HTTP status.
        info: The body of the answer.
        health: A sentence on the health of the cluster.
    """
    reason = shown(reason_of(info))
    if "cluster_block_exception" in str(info) or "blocked by" in reason:
        return _block_error(address, reason)
    if status == 401:
        message = f"{address} refused the login, or wants one"
        return EnvironmentFault("cluster-login", message, hint=f"check {LOGIN} (NAME:PASSWORD), or {_CERT}")
    if status == 403:
        message = f"{address} does not allow that: {reason or 'no reason given'}"
        hint = "ask for the role of a reader or a publisher; rye help web-and-cluster lists what each needs"
        return EnvironmentFault("cluster-forbidden", message, hint=hint)
    if status == 429:
        message = f"{address} has too much to do, also after several tries: {reason}"
        hint = "try again later; look at the rejected requests and the heap of its nodes"
        return EnvironmentFault("cluster-busy", message, hint=hint)
    if TOO_MANY in reason:
        message = f"the query stands for more words than {address} takes in one search: {reason}"
        hint = "write more letters of its words; or let the operator raise indices.query.bool.max_clause_count to 16384"
        return EnvironmentFault("cluster-clauses", message, hint=hint)
    message = f"{address} answered {shown(status)}: {reason or 'no reason given'}"
    return EnvironmentFault("cluster-error", message, hint=health)


def _block_error(address: object, reason: str) -> EnvironmentFault:
    if _DISK in reason:
        message = f"{address} takes no writes: a disk of the cluster is nearly full"
        hint = "free space or add a node; OpenSearch allows writes again by itself"
    else:
        message = f"{address} takes no writes: {reason}"
        hint = "remove the block index.blocks.read_only or cluster.blocks.read_only that an operator set"
    return EnvironmentFault("cluster-read-only", message, hint=hint)

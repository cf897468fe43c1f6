"""Every fault of a cluster has a code and a remedy of its own, and shows no control character of the server."""

from __future__ import annotations

import pytest

from rye.cluster.faults import answer_error, connection_error

ADDRESS = "opensearch+https://host:9200/skills"

CONNECTIONS = {
    "[Errno 111] Connection refused": ("cluster-unreachable", "nothing listens there"),
    "Failed to resolve 'host'": ("cluster-unreachable", "check the host"),
    "[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer certificate": ("cluster-certificate", "RYE_INDEX_CA"),
    "certificate verify failed: self-signed certificate in chain": ("cluster-certificate", "RYE_INDEX_CA"),
    "certificate verify failed: Hostname mismatch": ("cluster-certificate", "the name that the certificate is for"),
    "[SSL: WRONG_VERSION_NUMBER] wrong version number": ("cluster-certificate", "check the port"),
    "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required": (
        "cluster-certificate",
        "RYE_INDEX_CERT and RYE_INDEX_KEY",
    ),
}


@pytest.mark.parametrize("problem", CONNECTIONS)
def test_a_connection_that_fails_says_why(problem: str) -> None:
    """Nothing there, an authority that is not known, a certificate that is asked for, the wrong port."""
    error = connection_error(ADDRESS, problem, is_tls="SSL" in problem or "certificate" in problem, is_late=False)
    code, remedy = CONNECTIONS[problem]
    assert error.code == code
    assert remedy in error.hint


def test_an_answer_that_does_not_come_in_time_is_not_called_unreachable() -> None:
    """The cluster is there, and has too much to do."""
    assert connection_error(ADDRESS, "Read timed out", is_tls=False, is_late=True).code == "cluster-timeout"


def answer(reason: str, kind: str = "security_exception") -> dict[str, object]:
    """Return an error as OpenSearch writes it."""
    return {"error": {"type": kind, "reason": reason, "root_cause": [{"reason": reason}]}}


BLOCKED = "cluster_block_exception"
ANSWERS = {
    "wrong password": (401, "Unauthorized", "cluster-login", "RYE_INDEX_LOGIN"),
    "no right": (403, answer("no permissions for [indices:data/write/bulk]"), "cluster-forbidden", "role"),
    "too busy": (429, answer("rejected execution", "rejected_execution_exception"), "cluster-busy", "try again later"),
    "disk full": (
        429,
        answer("index [r] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark]", BLOCKED),
        "cluster-read-only",
        "free space",
    ),
    "read-only": (
        403,
        answer("index [r] blocked by: [FORBIDDEN/8/index write (api)]", BLOCKED),
        "cluster-read-only",
        "block",
    ),
    "too many words": (
        400,
        answer("Query contains too many nested clauses; maxClauseCount is set to 1024", "too_many_nested_clauses"),
        "cluster-clauses",
        "16384",
    ),
    "no manager": (503, answer("cluster_manager not discovered"), "cluster-error", "the state"),
    "a page of HTML": (404, "<html>\x1b[31m", "cluster-error", "the state"),
    "nothing": (500, None, "cluster-error", "the state"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_refusal_says_what_to_do(name: str) -> None:
    """A full disk is not a missing right, and a wrong password is not a lost shard."""
    status, info, code, remedy = ANSWERS[name]
    error = answer_error(ADDRESS, status, info, "the state of the cluster")
    assert error.code == code
    assert remedy in error.hint
    assert str(error).isprintable()

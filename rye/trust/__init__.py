r"""Signatures: from (bytes, keys, moment, place) to a verdict; keys, trust and signing.

:func:`inspect` finds what the bytes of a file prove by themselves, :func:`judge` what that is worth under a trust set.
Neither touches a disk or asks a clock. :mod:`rye.trust.trust_store` alone reads and
writes files: trust files. Private keys on disk are the business of :mod:`rye.keyring.private`.
Importing this room does not load the cryptography library; the first signature that is checked or made does.

    >>> from datetime import UTC, datetime
    >>> key, now = SigningKey.from_seed(bytes(32)), datetime(2026, 1, 1, tzinfo=UTC)
    >>> place = Origin("user", "", "tool", "demo/hello")
    >>> data = sign_bytes(b"print('hello')\n", suffix=".py", origin=place, key=key, now=now)
    >>> trust = TrustSet((TrustEntry(key.public, "ann", TrustScope.USER),))
    >>> judge(inspect(data, origin=place, declared={}), origin=place, trust=trust, now=now).verdict
    <Verdict.TRUSTED: 'trusted'>
    >>> evidence = inspect(data + b"evil()", origin=place, declared={})
    >>> judge(evidence, origin=place, trust=trust, now=now).code
    'digest'
"""

from rye._files import (
    SAFE_FOLDERS,
    Ownership,
    others_below,
    others_control,
    own,
    ownership_of,
    real_path,
    refuse_links,
    sweep,
    write_atomically,
)
from rye.trust.evidence import disagreements, inspect, uncovered_lines, with_declared
from rye.trust.judge import judge
from rye.trust.keys import PublicKey, SigningKey, hide_keys, refuse_key_text, remembering_verify
from rye.trust.line import (
    COMMENT_MARKS,
    DETACHED_SUFFIX,
    check_audience,
    sign_bytes,
    sign_detached,
    unsigned_bytes,
)
from rye.trust.list import SKILL_SIGNATURE, ListedFile, Skill, read_rows, sign_skill, unlistable
from rye.trust.model import Clock, Coverage, EnvelopeFormat, Evidence, Origin, Signature, Verdict
from rye.trust.reasons import REASONS, Reason, reach_of
from rye.trust.trust_entry import Revocation, TrustEntry, TrustScope
from rye.trust.trust_file import (
    last_moment,
    parse_trust_file,
    sign_trust_file,
    signer_of,
    trust_file_bytes,
    trust_file_name,
)
from rye.trust.trust_set import ANYWHERE, Standing, TrustSet
from rye.trust.trust_store import (
    TRUSTED_FOLDER,
    TrustLoad,
    leads_out,
    load_trust,
    read_trust_bytes,
    system_clock,
    trust_paths,
)

__all__ = [
    "ANYWHERE",
    "COMMENT_MARKS",
    "DETACHED_SUFFIX",
    "REASONS",
    "SAFE_FOLDERS",
    "SKILL_SIGNATURE",
    "TRUSTED_FOLDER",
    "Clock",
    "Coverage",
    "EnvelopeFormat",
    "Evidence",
    "ListedFile",
    "Origin",
    "Ownership",
    "PublicKey",
    "Reason",
    "Revocation",
    "Signature",
    "SigningKey",
    "Skill",
    "Standing",
    "TrustEntry",
    "TrustLoad",
    "TrustScope",
    "TrustSet",
    "Verdict",
    "check_audience",
    "disagreements",
    "hide_keys",
    "inspect",
    "judge",
    "last_moment",
    "leads_out",
    "load_trust",
    "others_below",
    "others_control",
    "own",
    "ownership_of",
    "parse_trust_file",
    "reach_of",
    "read_rows",
    "read_trust_bytes",
    "real_path",
    "refuse_key_text",
    "refuse_links",
    "remembering_verify",
    "sign_bytes",
    "sign_detached",
    "sign_skill",
    "sign_trust_file",
    "signer_of",
    "sweep",
    "system_clock",
    "trust_file_bytes",
    "trust_file_name",
    "trust_paths",
    "uncovered_lines",
    "unlistable",
    "unsigned_bytes",
    "with_declared",
    "write_atomically",
]

r"""Signatures: keys, trust and signing, and the verdict on a file, given its bytes, the keys, a time and a place.

:mod:`rye.trust.evidence` extracts what the bytes of a file prove by themselves; :mod:`rye.trust.judge` turns that into
a verdict under a trust set. Neither reads a disk or a clock. :mod:`rye.trust.trust_store` is the only module that reads
files, namely trust files. Private keys on disk belong to :mod:`rye.keyring.private`.
Importing this room does not load the cryptography library; the first signature that is checked or made does.

    >>> from datetime import UTC, datetime
    >>> from rye.trust.evidence import inspect
    >>> from rye.trust.judge import judge
    >>> from rye.trust.keys import SigningKey
    >>> from rye.trust.line import sign_bytes
    >>> from rye.trust.model import Place
    >>> from rye.trust.trust_entry import TrustEntry, TrustScope
    >>> from rye.trust.trust_set import TrustSet
    >>> key, now = SigningKey.from_seed(bytes(32)), datetime(2026, 1, 1, tzinfo=UTC)
    >>> path = ".ai/tools/demo/hello.py"
    >>> place = Place("user", "", "", "item", "tool", "demo/hello", path, path)
    >>> data = sign_bytes(b"print('hello')\n", suffix=".py", origin=place, key=key, now=now)
    >>> trust = TrustSet((TrustEntry(key.public, "ann", TrustScope.USER),))
    >>> judge(inspect(data, origin=place, declared={}), origin=place, trust=trust, now=now).verdict
    <Verdict.TRUSTED: 'trusted'>
    >>> evidence = inspect(data + b"evil()", origin=place, declared={})
    >>> judge(evidence, origin=place, trust=trust, now=now).code
    'digest'
"""

"""manifest: a signed list of a space's items and trust files; it shows which are missing, renamed or rolled back.

The list is TUF metadata (root, timestamp, snapshot, targets, roles for delegated namespaces), written and read with
python-tuf. What anchors it is rye's own trust set: the first root that trusted keys have signed; each later one must be
signed by the keys of the one before. :func:`write_manifest` and :func:`check_manifest` take bytes, keys, a moment and
what was last seen, and touch no disk; :mod:`rye.manifest.store` alone reads and writes files, and needs no python-tuf,
which is loaded with ``check`` and ``write``, when a manifest is first checked or made: most runs only ask whether there
is one. So nothing is imported here.

    >>> from datetime import UTC, datetime
    >>> from rye.manifest.check import check_manifest
    >>> from rye.manifest.model import ListedItem, SpaceName
    >>> from rye.manifest.write import write_manifest
    >>> from rye.signing import TrustScope, SigningKey, TrustEntry, TrustSet
    >>> key, now = SigningKey.from_seed(bytes(32)), datetime(2026, 1, 1, tzinfo=UTC)
    >>> trust = TrustSet((TrustEntry(key.public, "ann", TrustScope.USER),))
    >>> one = ListedItem("tools/demo/hello.py", "tool", "demo/hello", 14, "0" * 64, "2026-01-01T00:00:00Z")
    >>> files = write_manifest({}, (one,), signers=(key,), now=now).files
    >>> sorted(files)
    ['1.root.json', '1.snapshot.json', '1.targets.json', 'timestamp.json']
    >>> place = SpaceName("project")
    >>> [found.code for found in check_manifest(files, (one,), place=place, trust=trust, now=now).findings]
    ['manifest-first-use']
    >>> [found.code for found in check_manifest(files, (), place=place, trust=trust, now=now).errors]
    ['item-removed']
"""

__all__ = ()

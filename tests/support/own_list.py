"""Sign the list of rye's own items: ``poe sign``.

The key is the user's, under the name ``rye-items``. Where there is none, one is made, and its public half is written
into :mod:`rye._resources`: so each release has the key of whoever made it.
"""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path

from rye import _resources
from rye.errors import NotFoundError, SigningError
from rye.keyring.lists import MAX_DAYS, sign_list
from rye.keyring.private import Keyring
from rye.spaces.contents import files_below
from rye.spaces.lists import read_list
from rye.spaces.model import Root, Space
from rye.trust.keys import SigningKey
from rye.trust.list import compare, parse_list
from rye.trust.trust_entry import TrustEntry, TrustScope
from rye.trust.trust_set import TrustSet

NAME = "rye-items"
SOURCE = Path(_resources.__file__)


def main() -> None:
    """Sign the list if a file or the key has changed; say what was done."""
    key = _key()
    root = Root(Space.SYSTEM, _resources.items_root(), bundle="rye")
    text = base64.b64encode(key.public.raw).decode()
    before = SOURCE.read_text(encoding="utf-8")
    after = re.sub(r'^OWN_KEY = ".*"$', f'OWN_KEY = "{text}"', before, flags=re.MULTILINE)
    if after != before:
        SOURCE.write_text(after, encoding="utf-8")
    if _is_signed(root, key):
        sys.stdout.write("the list is signed already\n")
        return
    trust = TrustSet((TrustEntry(key.public, "rye", TrustScope.USER),))
    done = sign_list(root, key=key, trust=trust, days=MAX_DAYS)
    for change in done.changes:
        sys.stdout.write(f"{change.message}\n")
    sys.stdout.write(f"list number {done.number}: {done.listed} files signed with key {done.fingerprint}\n")


def _key() -> SigningKey:
    keyring = Keyring.find()
    try:
        return keyring.signing_key(NAME)
    except NotFoundError:
        keyring.generate(NAME, owner="rye", trust=False)
        return keyring.signing_key(NAME)


def _is_signed(root: Root, key: SigningKey) -> bool:
    try:
        listed = parse_list(read_list(root.path) or b"")
    except SigningError:
        return False
    return not compare(listed.files, files_below(root.path, root).files) and any(
        listed.holds(line, key.public) for line in listed.lines
    )


if __name__ == "__main__":
    main()

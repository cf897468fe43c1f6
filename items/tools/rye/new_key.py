# rye:signed:v2:2026-11-21T23:26:24Z:2baffa19b122b4a63d712670dc4139309c7894ea2084f180ff7895b23dcc06ae:1WQNKKz6ECZPhysLocRUOh7H-GxLx9izzu0WTCK4U0AMcR2G2SrK2M0x7laLHc_oBqrd9k8TJMAp_JPrlTJ-DQ:66199d11a6f07bf6382dfb42f56e48ca18c34267cd9d719929d70c80507335a0
"""Make the user's own key: the private half into user space, and a trust file so that its signatures count.

The private key is written to ``config/keys/signing/private_key.pem`` below the user's ``.ai``, mode 0600 in a folder of
mode 0700; the trust file to ``config/keys/trusted/<fingerprint>.toml``, where others may get it from. A key that is
there already is never overwritten.

Exit status: 0 made, 1 there is a key already, 2 error.
"""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from rye import signing
from rye.errors import RyeError

__version__ = "1.0.0"
__tool_type__ = "python"
__category__ = "rye"
__tool_description__ = "Make the user's own signing key and the trust file that makes its signatures count."


def user_space() -> Path:
    """Return the folder that holds the user's ``.ai``."""
    named = os.environ.get("USER_SPACE")
    return Path(named).expanduser() if named else Path.home()


def last_moment(text: str) -> datetime:
    """Return the last second of a day in UTC."""
    try:
        return datetime.fromisoformat(text).replace(hour=23, minute=59, second=59, tzinfo=UTC)
    except ValueError:
        message = f"{text!r} is not a date such as 2027-12-31"
        raise argparse.ArgumentTypeError(message) from None


def main() -> int:
    """Run the tool and return its exit status."""
    parser = argparse.ArgumentParser(description=__tool_description__)
    parser.add_argument("--owner", required=True, help="your name, as others will see it beside your signatures")
    parser.add_argument("--not-after", type=last_moment, metavar="DATE", help="last day on which the key counts")
    parser.add_argument("--namespace", action="append", metavar="PATTERN", help="sign only such ids; repeatable")
    parser.add_argument("--user", type=Path, help="folder that holds the user's .ai (default: USER_SPACE, else home)")
    given = parser.parse_args()
    root = (given.user or user_space()) / ".ai"
    namespaces = tuple(given.namespace) if given.namespace else None
    key = signing.SigningKey.generate()
    try:
        entry = signing.write_trust_file(
            key.public, owner=given.owner, namespaces=namespaces, not_after=given.not_after
        )
        private = signing.save_signing_key(root / signing.SIGNING_FOLDER, key)
        trusted = root / signing.TRUSTED_FOLDER / signing.trust_file_name(key.public)
        trusted.parent.mkdir(parents=True, exist_ok=True)
        signing.write_atomically(trusted, entry)
    except RyeError as error:
        print(error, file=sys.stderr)
        return 1 if error.code == "key-exists" else 2
    print(f"fingerprint {key.public.fingerprint}\nprivate key {private}\ntrust file  {trusted}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

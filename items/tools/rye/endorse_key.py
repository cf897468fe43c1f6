# rye:signed:v2:2026-11-21T23:26:24Z:c15334ed2c820793dddec5ed176d82ec947e853b41a33eb9eeff79a12457bd83:mT_Fq-96bm-aKpb_rr0PENCm3jhvuoDrVBdYqKHiUI6jVGZtOciU0XtxuVmJlEn6wr4P-ENyDkaHarIcrGGBDA:66199d11a6f07bf6382dfb42f56e48ca18c34267cd9d719929d70c80507335a0
"""Stand behind the key of a project: sign its trust file with your own key, so that it counts for your readers.

Look at the file first, and compare the fingerprint in it by another way than the one by which the file came: whoever
trusts you will trust what this key signs in that project. Your key must be one without namespaces.

Exit status: 0 endorsed, 1 the file is no trust file, 2 error.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rye import signing
from rye.errors import RyeError, SigningError

__version__ = "1.0.0"
__tool_type__ = "python"
__category__ = "rye"
__tool_description__ = (
    "Sign the trust file of a project's key with your own key, so that the project's signatures count."
)


def main() -> int:
    """Run the tool and return its exit status."""
    parser = argparse.ArgumentParser(description=__tool_description__)
    parser.add_argument("file", type=Path, help="a file in .ai/config/keys/trusted of a project")
    parser.add_argument("--user", type=Path, help="folder that holds the user's .ai (default: USER_SPACE, else home)")
    parser.add_argument("--dry-run", action="store_true", help="say whose key it is and change nothing")
    given = parser.parse_args()
    root = (given.user or Path(os.environ.get("USER_SPACE") or Path.home())) / ".ai"
    try:
        data = given.file.read_bytes()
        entry = signing.parse_trust_file(data, scope=signing.Scope.PROJECT, source=str(given.file))
        print(f"owner       {entry.owner or 'nobody named'}\nfingerprint {entry.fingerprint}")
        if given.dry_run:
            return 0
        key = signing.find_signing_key(root)
        endorsed = signing.endorse(data, stem=given.file.stem, key=key, now=signing.system_clock())
        signing.write_atomically(given.file, endorsed)
    except OSError as fault:
        print(f"{given.file} cannot be read: {fault.strerror}", file=sys.stderr)
        return 2
    except RyeError as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, SigningError) and error.code in {"trust-file", "fingerprint-mismatch"} else 2
    print(f"endorsed by {key.public.fingerprint}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Say who signed what: one line for each key, with its items by verdict and the time of its last signature.

Items without a signature are counted under no key. ``--below`` lists, instead, every item whose verdict is not
``trusted``, with the reason and what fixes it.

Exit status: 0 every item is trusted, 1 some are not, 2 error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from rye import Registry
from rye.errors import RyeError
from rye.verify.report import VerifiedItem, VerifyReport

__version__ = "1.0.0"
__tool_type__ = "python"
__category__ = "rye"
__tool_description__ = (
    "Say who signed what: keys, owners, verdicts, last signatures, and every item that is not trusted."
)


def by_key(report: VerifyReport) -> list[dict[str, Any]]:
    """Return one row for each key, the one with the most items first."""
    groups: dict[tuple[str, str], list[VerifiedItem]] = defaultdict(list)
    for item in report.items:
        groups[item.signature.signer, item.signature.owner].append(item)
    rows = [
        {
            "signer": signer,
            "owner": owner,
            "items": len(items),
            "verdicts": dict(Counter(str(item.signature.verdict) for item in items)),
            "last": max(item.signature.signed_at for item in items),
        }
        for (signer, owner), items in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["items"], row["signer"]))


def show(rows: list[dict[str, Any]]) -> None:
    """Print one line for each key."""
    for row in rows:
        name = f"{row['owner'] or 'unknown owner'} {row['signer'][:16]}" if row["signer"] else "no signature"
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(row["verdicts"].items()))
        last = f", last signed {row['last']}" if row["last"] else ""
        print(f"{name}: {verdicts}{last}")


def main() -> int:
    """Run the tool and return its exit status."""
    parser = argparse.ArgumentParser(description=__tool_description__)
    parser.add_argument("--project", type=Path, help="default: found upwards from the working directory")
    parser.add_argument("--bundle", type=Path, action="append", help="a further bundle; repeatable")
    parser.add_argument("--space", default="all", help="project, user, system or all (default)")
    parser.add_argument("--below", action="store_true", help="list every item that is not trusted instead")
    parser.add_argument("--json", action="store_true", help="answer as one JSON object")
    given = parser.parse_args()
    try:
        report = Registry(given.project, bundles=given.bundle).verify(space=given.space)
    except RyeError as error:
        print(error, file=sys.stderr)
        return 2
    below = [item for item in report.items if item.signature.verdict != "trusted"]
    if given.json:
        answer = {"below": [item.to_dict() for item in below]} if given.below else {"keys": by_key(report)}
        print(json.dumps(answer, indent=2, ensure_ascii=False))
    elif given.below:
        for item in below:
            print(f"{item.signature.verdict} {item.type}:{item.id} ({item.space}): {item.signature.reason}")
    else:
        show(by_key(report))
    for problem in report.problems:
        print(problem, file=sys.stderr)
    return 1 if below or report.problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Write a catalogue of items as a Markdown table or CSV: type, id, version, verdict, and what each is for.

Exit status: 0 something was listed, 1 nothing is there, 2 error.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from rye import Registry
from rye.errors import RyeError

__version__ = "1.0.0"
__tool_type__ = "python"
__category__ = "rye"
__tool_description__ = "Write a catalogue of items as a Markdown table or CSV, optionally of those that a query finds."

HEADER = ("type", "id", "version", "verdict", "description")
PAGE = 100


def rows(registry: Registry, query: str, scope: str, space: str) -> Iterator[tuple[str, ...]]:
    """Yield one row for each item, by type and id."""
    found = []
    offset: int | None = 0
    while offset is not None:
        page = registry.search(query, scope=scope, space=space, limit=PAGE, offset=offset, relax=False)
        found += [
            (hit.type, hit.id, hit.version, str(hit.signature.verdict), " ".join(hit.description.split()))
            for hit in page.results
        ]
        offset = page.next_offset
    yield from sorted(found)


def markdown(table: list[tuple[str, ...]]) -> str:
    """Return the table in Markdown, harmless whatever the cells hold."""
    lines = [HEADER, ("---",) * len(HEADER), *table]
    cells = (
        tuple(cell.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for cell in row) for row in lines
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def main() -> int:
    """Run the tool and return its exit status."""
    parser = argparse.ArgumentParser(description=__tool_description__)
    parser.add_argument("query", nargs="?", default="*", help="list what this query finds (default: everything)")
    parser.add_argument("--project", type=Path, help="default: found upwards from the working directory")
    parser.add_argument("--bundle", type=Path, action="append", help="a further bundle; repeatable")
    parser.add_argument("--scope", default="*", help="for example tool.rye.* (default: *)")
    parser.add_argument("--space", default="all", help="project, user, system or all (default)")
    parser.add_argument("--csv", action="store_true", help="write CSV instead of Markdown")
    given = parser.parse_args()
    try:
        table = list(rows(Registry(given.project, bundles=given.bundle), given.query, given.scope, given.space))
    except RyeError as error:
        print(error, file=sys.stderr)
        return 2
    if given.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([HEADER, *table])
    else:
        print(markdown(table))
    return 0 if table else 1


if __name__ == "__main__":
    sys.exit(main())

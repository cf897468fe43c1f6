"""Check queries that are kept in files, and print each in its canonical form.

Reads one query a line from the files named, or from standard input; empty lines and lines that begin with ``#`` are
left out. Queries that mean the same are often the same text once they are in canonical form, so ``sort | uniq -d``
finds doubles. With ``--check`` nothing is printed but the queries that are wrong or not canonical.

Exit status: 0 every query is well formed (and canonical, with --check), 1 some are not, 2 a file cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from rye.errors import QueryError
from rye.query import parse

__version__ = "1.0.0"
__tool_type__ = "python"
__category__ = "rye"
__tool_description__ = "Check queries kept in files and print each in its canonical form, or say where it is wrong."


def queries(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield ``(place, query)`` for every query in the files."""
    for path in paths:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                yield f"{path}:{number}", line.strip()


def complaint(place: str, error: QueryError) -> str:
    """Return what is wrong with a query, with the caret below the place and a query that would do."""
    lines = [f"{place}: {error.message}", *(f"    {line}" for line in error.caret().splitlines())]
    if error.suggestion:
        lines.append(f"    try: {error.suggestion}")
    return "\n".join(lines)


def main() -> int:
    """Run the tool and return its exit status."""
    parser = argparse.ArgumentParser(description=__tool_description__)
    parser.add_argument("files", nargs="*", type=Path, default=[Path("-")], help="default: standard input")
    parser.add_argument("--check", action="store_true", help="print only queries that are wrong or not canonical")
    given = parser.parse_args()
    wrong = 0
    try:
        for place, query in queries(given.files):
            try:
                canonical = str(parse(query).ast)
            except QueryError as error:
                wrong += 1
                print(complaint(place, error), file=sys.stderr)
                continue
            if not given.check:
                print(canonical)
            elif canonical != query:
                wrong += 1
                print(f"{place}: {query}\n    canonical: {canonical}")
    except (OSError, UnicodeDecodeError) as error:
        print(f"cannot read the queries: {error}", file=sys.stderr)
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

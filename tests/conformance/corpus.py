r"""The corpus of queries: what each good one is read as, and what is said about each bad one.

``queries/ok/*.txt`` and ``queries/err/*.txt`` hold blocks separated by a blank line. A block of ``#`` lines is a
comment. Any other block is one query and what is expected of it::

    ? deploy OR release            the query; as a JSON string after ``??`` where it has line breaks or blank ends
    = deploy OR release            its canonical text
      Or                           its tree, as ``rye why`` shows it
        Word "deploy"
        Word "release"

    ? deploy OR
    ! missing-operand at 7: "OR"     code, 0-based position, offending text
    : OR has nothing after it, at character 8    message
    | deploy OR                            caret picture
    |        ^^
    > deploy                               suggestion

After adding queries (the ``?`` line alone is enough) or changing what they give, write the files anew with
``python -m tests.conformance.corpus`` and read the difference: a snapshot is right only when someone judged it so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rye.errors import QueryError
from rye.query import dump, parse

__all__ = ["Entry", "bad", "entries", "good"]

ROOT = Path(__file__).parent / "queries"


@dataclass(frozen=True, slots=True)
class Entry:
    """One query of the corpus, where it stands, and the lines that are expected for it."""

    file: str
    query: str
    expected: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {self.query[:40]}"


def entries(kind: str) -> Iterator[Entry]:
    """Yield every query of ``queries/<kind>``."""
    for path in sorted((ROOT / kind).glob("*.txt")):
        for block in _blocks(path):
            if not block[0].startswith("#"):
                yield Entry(path.stem, _query(block[0]), tuple(block[1:]))


def good(query: str) -> tuple[str, ...]:
    """Return the lines for a query that parses."""
    ast = parse(query).ast
    return _lines(f"= {ast}", *(f"  {line}" for line in dump(ast).splitlines()))


def bad(query: str) -> tuple[str, ...]:
    """Return the lines for a query that does not."""
    try:
        canonical = str(parse(query).ast)
    except QueryError as error:
        token = json.dumps(error.token, ensure_ascii=not error.token.isprintable())
        picture = (f"| {line}" for line in error.caret().split("\n"))
        head = f"! {error.code} at {error.position}: {token}"
        return _lines(head, f": {error.message}", *picture, f"> {error.suggestion}")
    return _lines(f"= {canonical}", "  this parses")


def _lines(*lines: str) -> tuple[str, ...]:
    return tuple(line.rstrip() for line in lines)


def _blocks(path: Path) -> list[list[str]]:
    text = path.read_text(encoding="utf-8")
    return [block.splitlines() for block in text.strip().split("\n\n")]


def _query(line: str) -> str:
    mark, _, rest = line.partition(" ")
    query: str = json.loads(rest) if mark == "??" else rest
    return query


def _regenerate() -> None:
    for kind, render in (("ok", good), ("err", bad)):
        for path in sorted((ROOT / kind).glob("*.txt")):
            blocks = [
                "\n".join(block if block[0].startswith("#") else (block[0], *render(_query(block[0]))))
                for block in _blocks(path)
            ]
            path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _regenerate()

"""The one parser of a process: built late, shared by threads, and keeping nothing of a text."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from rye.errors import QueryError
from rye.query import parse

LATE = """
import sys
import rye.query
from rye.query.ast import And, Field, Word
str(And((Word("a"), Field("title", Word("b")))))
sys.exit("lark" in sys.modules)
"""


def outcome(text: str) -> str:
    """Return the canonical text of a query, or the code and suggestion of its error."""
    try:
        return str(parse(text).ast)
    except QueryError as error:
        return f"{error.code} {error.suggestion}"


def test_importing_and_printing_load_no_parser() -> None:
    """Commands that parse no query do not pay for Lark."""
    assert subprocess.run([sys.executable, "-c", LATE], check=False).returncode == 0


def test_threads_parse_at_the_same_time_without_mixing() -> None:
    """Each gets the answer that it gets alone."""
    texts = [f"w{n} (title:x{n} OR -y{n}^{n + 1})" + ("" if n % 3 else " AND") for n in range(60)]
    alone = [outcome(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(outcome, texts * 5)) == alone * 5


def test_a_refused_query_leaves_nothing_for_the_next() -> None:
    """Neither open groups nor pending operators."""
    assert outcome("a AND (b OR").startswith("missing-right-operand")
    assert outcome("c") == "c"

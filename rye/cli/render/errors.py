"""An error for a reader: code, message, the place in the query, what to do."""

from __future__ import annotations

from collections.abc import Iterator

from rye.cli.terminal import Terminal
from rye.cli.text import cells, inline
from rye.errors import QueryError, RyeError

__all__ = ["render_error"]


def render_error(error: RyeError, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of an error."""
    yield f"{terminal.style(f'error[{inline(error.code)}]:', 'red', bold=True)} {inline(error.message)}"
    for problem in error.details.get("problems", ()):
        yield f"  {inline(str(problem))}"
    if isinstance(error, QueryError):
        yield from _place(error, terminal)
    if error.hint:
        yield f"{terminal.style('hint:', 'cyan')} {inline(error.hint)}"
    if isinstance(error, QueryError) and error.suggestion:
        yield f"{terminal.style('try:', 'green')} {inline(error.suggestion)}"


def _place(error: QueryError, terminal: Terminal) -> Iterator[str]:
    """Draw the caret anew: an escaped or wide character before it takes more than one cell."""
    width = max(20, (terminal.width or 100) - 4)
    line, _, marks = error.caret(width).partition("\n")
    start = len(marks) - len(marks.lstrip())
    before, token, after = (
        _kept_blanks(part) for part in (line[:start], line[start : start + len(marks.strip())], line[len(marks) :])
    )
    yield f"  {before}{token}{after}".rstrip()
    yield "  " + " " * cells(before) + terminal.style("^" * max(1, cells(token)), "red", bold=True)


def _kept_blanks(text: str) -> str:
    return " ".join(inline(piece) for piece in text.split(" "))

"""Pieces of an answer in words: headers, verdicts, states, notes and errors, the same on every surface."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rye._text import Advice, column, inline
from rye.errors import QueryError, RyeError

if TYPE_CHECKING:
    from rye.registry.reports import LoadedItem
    from rye.search.results import SearchResult
    from rye.trust.model import Signature

Note: TypeAlias = tuple[str, str]
"""A message about an answer: a label such as ``warning``, or nothing, and the text."""

Spans: TypeAlias = Sequence[Sequence[int]]
"""``[start, end)`` character ranges of a text."""

Surface: TypeAlias = Literal["cli", "mcp"]
"""Decides how a parameter is written: ``--offset 10`` or ``offset 10``."""


def installed_version() -> str:
    """Return the version of the installed package; nothing if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rye-search")
    except PackageNotFoundError:
        return ""


def plural(count: int, noun: str) -> str:
    """Return ``1 item``, ``2,000 items``."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(count: int) -> str:
    """Return a number of bytes in the unit that reads best."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def header(shown: int, total: int, noun: str, facts: str) -> str:
    """Return the first line of an answer: ``[1 of 42 results -- all]``; without facts ``[0 of 0 items]``."""
    return f"[{shown} of {total} {noun}{f' -- {inline(facts)}' if facts else ''}]"


def source_name(space: str, bundle: str, folder: str = "") -> str:
    """Return ``project``, ``user``, ``system:BUNDLE``, or ``project:NAME`` of one named by its path; and the folder."""
    return column(":".join(filter(None, (space, bundle, folder))))


def verdict_text(word: str, code: str) -> str:
    """Return a verdict with the code of its reason; without where the word says it all."""
    return word if word in {"trusted", "unsigned"} or not code else f"{word} ({inline(code)})"


def signed_by(signature: Signature) -> str:
    """Return who signed, when and in which format, as far as known; what is not proven is worded as a claim."""
    proven = signature.verdict != "tampered" and signature.code != "unknown-key"
    parts = []
    if signature.owner:
        parts.append(f"by {signature.owner}")
    if signature.signer:
        parts.append(f"{'with' if proven else 'claims'} key {signature.signer[:16]}")
    if signature.signed_at:
        dated = proven and signature.format == "v2"
        parts.append(f"at {signature.signed_at}" if dated else f"dated {signature.signed_at} (not proven)")
    if signature.format:
        parts.append(f"format {signature.format}")
    if signature.audience:
        parts.append(f"for {signature.audience}{'' if proven else ' (not proven)'}")
    return inline(", ".join(parts))


def remedy(loaded: LoadedItem, audience: str = "") -> Advice:
    """Return what would improve the verdict, for signatures of an audience."""
    from rye.trust.reasons import REASONS

    if loaded.signature.code not in REASONS:
        return Advice("", "")
    from rye.verify.advice import Adviser
    from rye.verify.report import VerifiedItem

    item = VerifiedItem(loaded.root, loaded.file, loaded.signature)
    return Adviser.find(audience=audience).of_item(item, loaded.signature.code)


_WORD = re.compile(r"\w+")
_MARKS = re.compile(
    r"(?<!\S)(?:#{1,6}(?!\S)|`{3,}[\w+-]*|~{3,}[\w+-]*|\|(?:(?=[ :|]{0,200}-)[ :|-]{0,1000}\|)?(?!\S))|\*\*|`"
    r"|!?\[(?=[^\[\]]{1,200}\]\([^()\s]{1,200}\))|\]\([^()\s]{1,200}\)"
)


def is_markdown_file(path: str) -> bool:
    """Return whether the name of a file is one of Markdown."""
    return path.endswith((".md", ".mdc", ".markdown"))


def without_marks(text: str, spans: Spans) -> tuple[str, Spans]:
    """Return a passage of Markdown without marks of headings, code, tables, emphasis and links, and spans moved along.

    What is between them stays, and so does every comment.
    """
    kept = bytearray(b"\1") * len(text)
    for mark in _MARKS.finditer(text):
        kept[mark.start() : mark.end()] = bytes(mark.end() - mark.start())
    places = list(accumulate(kept, initial=0))
    moved = [(places[min(start, len(text))], places[min(end, len(text))]) for start, end in spans]
    return "".join(compress(text, kept)), moved


def passage_of(hit: SearchResult, name: str) -> tuple[str, Spans]:
    """Return the preview or description of a hit and what is to be highlighted in it, without marks of Markdown."""
    text, spans = getattr(hit, name), hit.highlights.get(name, ())
    return without_marks(text, spans) if is_markdown_file(hit.path) else (text, spans)


def repeated(title: str, description: str, preview: str) -> str:
    """Return which text of a hit another one says as well: ``preview``, ``description``, or nothing."""
    title, description, preview = (" ".join(_WORD.findall(text.casefold())) for text in (title, description, preview))
    if preview.removeprefix(title).strip() in description:
        return "preview"
    return "description" if description in f"{title} {preview}" else ""


def standing(states: Sequence[str], successor: str) -> str:
    """Return ``superseded, see knowledge:b`` for an item that is superseded, deprecated or yanked, else nothing."""
    instead = f", see {inline(successor)}" if successor else ""
    return f"{', '.join(states)}{instead}" if states else ""


def hybrid_lines(match: Mapping[str, Any]) -> Iterator[str]:
    """Yield the two scores of a hit of a hybrid search, and what matched.

    Args:
        match: :meth:`HybridMatch.to_dict`.
    """
    yield f"Semantic: {match['semantic']:g}% | Keyword: {match['keyword']:g}%"
    parts = {
        "Header": match["header"],
        "Matched symbols": ", ".join(match["matched_symbols"]),
        "Definition lines": ", ".join(match["definition_lines"]),
    }
    yield from (f"{name}: {inline(text)}" for name, text in parts.items() if text)


SHOWN_SYMBOLS = 3
"""Matched symbols of a hit that are shown in words."""


def symbol_line(symbol: Mapping[str, Any]) -> str:
    """Return kind, name, line, signature and docstring of a symbol: ``method Oven.bake, line 3: def bake(self)``.

    Args:
        symbol: :meth:`Symbol.to_dict`.
    """
    said = f" -- {symbol['docstring']}" if symbol["docstring"] else ""
    return inline(f"{symbol['kind']} {symbol['name']}, line {symbol['line']}: {symbol['signature']}{said}")


def symbol_lines(symbols: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each of the first few symbols of a hit that matched."""
    matched = [symbol for symbol in symbols if "signature" in symbol]
    yield from map(symbol_line, matched[:SHOWN_SYMBOLS])
    if len(matched) > SHOWN_SYMBOLS:
        yield f"and {plural(len(matched) - SHOWN_SYMBOLS, 'more symbol')}"


def warning_notes(warnings: Sequence[str], *, stale: bool = False) -> Iterator[Note]:
    """Yield each warning; the first where the index could not be refreshed."""
    if stale:
        yield "warning", "the index could not be refreshed; an older state of the files answered"
    yield from (("warning", text) for text in warnings)


def search_notes(answer: Mapping[str, Any], surface: Surface) -> Iterator[Note]:
    """Yield the messages about a search, or a retrieval of sections, other than its warnings.

    Args:
        answer: The ``to_dict`` of the response.
        surface: Where it is read.
    """
    dashes = "--" if surface == "cli" else ""
    option = "--include-superseded" if surface == "cli" else "include_superseded"
    for reason, count in answer["hidden"].items():
        how = f" ({option} shows them)" if reason in {"superseded", "deprecated", "yanked"} else ""
        yield "hidden", f"{count} {inline(reason)}{how}"
    if not answer["results"]:
        yield "", _nothing_found(answer, surface)
    if answer.get("did_you_mean"):
        yield "did you mean", answer["did_you_mean"]
    if answer.get("next_offset") is not None:
        yield "next page", f"{dashes}offset {answer['next_offset']}"


def _nothing_found(answer: Mapping[str, Any], surface: Surface) -> str:
    sought = f" for {inline(answer['query'])}" if answer["query"] else ""
    advice = "; try fewer or other words" if surface == "mcp" else ""
    noun = "section" if "chars" in answer else "hit"
    if answer["total"]:
        return f"nothing from offset {answer['offset']} on; the last of {plural(answer['total'], noun)} is before it"
    if noun == "section":
        return f"no section found{sought}{advice}"
    return f"nothing found{sought} in scope {inline(answer['scope'])}, space {inline(answer['space'])}{advice}"


def error_notes(error: RyeError) -> Iterator[Note]:
    """Yield the lines of an error: its code and message, each problem, then what to do about it.

    The place in a query comes behind the problems; a surface draws it where it meets the label ``place``.
    """
    yield f"error[{inline(error.code)}]", error.message
    yield from (("", str(problem)) for problem in error.details.get("problems", ()))
    if isinstance(error, QueryError):
        yield "place", ""
    if error.hint:
        yield "hint", error.hint
    if isinstance(error, QueryError) and error.suggestion:
        yield "try", error.suggestion

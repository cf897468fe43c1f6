"""Pieces of an answer in words: headers, verdicts, states, notes and errors, the same on every surface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rye._text import Advice, column, inline
from rye.errors import QueryError, RyeError
from rye.options.model import defaults_of
from rye.options.search import SearchOptions

if TYPE_CHECKING:
    from rye.registry.reports import LoadedItem
    from rye.trust.model import Signature

DEFAULT_LIMIT: int = defaults_of(SearchOptions)["limit"]

Note: TypeAlias = tuple[str, str]
"""A message about an answer: a label such as ``warning``, or an empty string, and the text."""

Surface: TypeAlias = Literal["cli", "mcp"]
"""Decides how a parameter is written: ``--offset 10`` or ``offset 10``."""


def installed_version() -> str:
    """Return the version of the installed package; empty if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("rye-search")
    except PackageNotFoundError:
        return ""


def plural(count: int, noun: str) -> str:
    """Return ``1 item``, ``2,000 items``."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def counted(shown: int, total: int, noun: str) -> str:
    """Return how many there are, and how many of them are shown: ``4 results``, ``10 of 25 results``."""
    return plural(total, noun) if shown == total else f"{shown:,} of {plural(total, noun)}"


def size(count: int) -> str:
    """Return a number of bytes in a readable unit."""
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
    """Return ``project``, ``user``, ``system:BUNDLE`` or ``project:NAME`` for one named by path, plus the folder."""
    return column(":".join(filter(None, (space, bundle, folder))))


def verdict_text(word: str, code: str) -> str:
    """Return a verdict with the code of its reason, unless the verdict alone is clear."""
    return word if word in {"trusted", "unsigned"} or not code else f"{word} ({inline(code)})"


def signed_by(signature: Signature) -> str:
    """Return who signed, when and in which format, as far as known; unproven facts are worded as claims."""
    from rye.trust.model import signer_words
    from rye.trust.reasons import UNCHECKED

    proven = signature.verdict != "tampered" and signature.code not in UNCHECKED
    parts = []
    if signature.owner:
        parts.append(f"by {signature.owner}")
    if signature.signer:
        parts.append(f"{'with' if proven else 'claims'} {signer_words(signature.signer)}")
    if signature.signed_at:
        dated = proven and signature.format == "v2"
        parts.append(f"at {signature.signed_at}" if dated else f"dated {signature.signed_at} (not proven)")
    if signature.format:
        parts.append(f"format {signature.format}")
    if signature.audience:
        parts.append(f"for {signature.audience}{'' if proven else ' (not proven)'}")
    return inline(", ".join(parts))


def remedy(loaded: LoadedItem, audience: str = "") -> Advice:
    """Return advice that would improve the verdict, for signatures of an audience."""
    from rye.trust.reasons import REASONS

    if loaded.signature.code not in REASONS:
        return Advice("", "")
    from rye.verify.advice import Adviser
    from rye.verify.report import VerifiedItem, conflict_in

    digest, conflict = sha256(loaded.data).hexdigest(), conflict_in(loaded.data, loaded.signature.code)
    item = VerifiedItem(loaded.root, loaded.file, loaded.signature, content_digest=digest, conflict=conflict)
    return Adviser.find(audience=audience).of_item(item, loaded.signature.code)


def lifecycle_label(states: Sequence[str], successor: str) -> str:
    """Return ``superseded, see knowledge:b`` for a superseded, deprecated or yanked item; else an empty string."""
    instead = f", see {inline(successor)}" if successor else ""
    return f"{', '.join(states)}{instead}" if states else ""


def warning_notes(warnings: Sequence[str], *, stale: bool = False) -> Iterator[Note]:
    """Yield each warning; if the index could not be refreshed, first one that says so."""
    if stale:
        yield "warning", "the index could not be refreshed; an older state of the files answered"
    yield from (("warning", text) for text in warnings)


def search_notes(answer: Mapping[str, Any], surface: Surface) -> Iterator[Note]:
    """Yield the messages about a search, or a retrieval of sections, other than its warnings.

    Args:
        answer: The ``to_dict`` of the response.
        surface: The surface that shows them.
    """
    dashes = "--" if surface == "cli" else ""
    option = "--include-superseded" if surface == "cli" else "include_superseded"
    for reason, count in answer.get("hidden", {}).items():
        how = f" ({option} shows them)" if reason in {"superseded", "deprecated", "yanked"} else ""
        yield "hidden", f"{count} {inline(reason)}{how}"
    if not answer["results"]:
        yield "", _nothing_found(answer, surface)
    if answer.get("did_you_mean"):
        yield "did you mean", answer["did_you_mean"]
    if answer.get("next_offset") is not None:
        changed = {"limit": answer["limit"]} if answer["limit"] != DEFAULT_LIMIT else {}
        options = changed | {"offset": answer["next_offset"]}
        yield "next page", (" " if dashes else ", ").join(f"{dashes}{name} {value}" for name, value in options.items())


def _nothing_found(answer: Mapping[str, Any], surface: Surface) -> str:
    query = f" for {inline(answer['query'])}" if answer["query"] else ""
    advice = "; try fewer or other words" if surface == "mcp" else ""
    noun = "section" if "chars" in answer else "hit"
    if answer["total"]:
        return f"nothing from offset {answer['offset']} on; the last of {plural(answer['total'], noun)} is before it"
    if noun == "section":
        return f"no section found{query}{advice}"
    return f"nothing found{query} in scope {inline(answer['scope'])}, space {inline(answer['space'])}{advice}"


def error_notes(error: RyeError) -> Iterator[Note]:
    """Yield the lines of an error: its code and message, each problem, then what to do about it.

    For an error of a query, a line with the label ``place`` follows the problems. The caller replaces it by the place
    of the error in the query.
    """
    yield f"error[{inline(error.code)}]", error.message
    yield from (("", str(problem)) for problem in error.details.get("problems", ()))
    if isinstance(error, QueryError):
        yield "place", ""
    if error.hint:
        yield "hint", error.hint
    if isinstance(error, QueryError) and error.suggestion:
        yield "try", error.suggestion

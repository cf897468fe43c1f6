"""The text of answers and errors for a model: one line per hit, escaped and cut, whatever the items contain."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mcp import types
from mcp.shared.exceptions import MCPError

from rye._text import block, inline
from rye.errors import ArgumentError, EnvironmentFault, ItemError, NotFoundError, QueryError, RyeError
from rye.surface.text import (
    Note,
    error_notes,
    header,
    hybrid_lines,
    search_notes,
    source_name,
    standing,
    verdict_text,
    warning_notes,
)

MAX_TEXT = 2_000
"""Characters of one text in an answer, other than the content of an item."""

MAX_ENTRIES = 200
"""Entries of one list or mapping inside an item's part of an answer."""

_LINE = 160
_LISTED = 5
_PROBLEMS = 20
_DEPTH = 8


def tidy(value: Any, *, longest: int = MAX_TEXT, depth: int = _DEPTH) -> Any:
    """Return JSON-able values with every text harmless and cut to a length, every list and mapping to a number."""
    if isinstance(value, str):
        return _cut(block(value[: longest + 1]), longest)
    if isinstance(value, Mapping):
        pairs = list(value.items())[:MAX_ENTRIES] if depth else []
        return {tidy(key): tidy(each, longest=longest, depth=depth - 1) for key, each in pairs}
    if isinstance(value, (list, tuple)):
        return [tidy(each, longest=longest, depth=depth - 1) for each in value[:MAX_ENTRIES]] if depth else []
    return value


def tidy_hit(hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return one hit tidied; the places of matches in a text that had to be changed are left out."""
    done: dict[str, Any] = tidy(hit)
    done["highlights"] = {name: spans for name, spans in done["highlights"].items() if hit.get(name) == done.get(name)}
    return done


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def short(text: str, longest: int = _LINE) -> str:
    """Return text for a part of one line."""
    return _cut(inline(text[: 4 * longest]), longest)


def verdict(signature: Mapping[str, str]) -> str:
    """Return the verdict, with the code of its reason where the word does not say it all."""
    return verdict_text(signature["verdict"], signature["code"])


def reference(item: Mapping[str, Any]) -> str:
    """Return ``type:id``, harmless."""
    return f"{item['type']}:{short(item['id'], MAX_TEXT)}"


def search_text(answer: Mapping[str, Any]) -> str:
    """Return the compact form of a search response.

    Args:
        answer: The response as :meth:`SearchResponse.to_dict` gives it, tidied.
    """
    hits = answer["results"]
    lines = [header(len(hits), answer["total"], "results", answer["stage"])]
    lines += [_hit_line(rank, hit) for rank, hit in enumerate(hits, start=answer["offset"] + 1)]
    why = _why_lines(answer["why"]) if "why" in answer else ()
    return "\n".join([*lines, *_facet_lines(answer["facets"]), *why, *_notes(answer)])


def _facet_lines(facets: Mapping[str, Any]) -> Iterator[str]:
    for name, facet in facets.items():
        counts = [f"{short(row['value'])} {row['count']}" for row in facet["values"]]
        counts += [f"and {facet['other_values']} more values"] if facet["other_values"] else []
        counts += [f"none {facet['missing']}"] if facet["missing"] else []
        yield f"by {short(name)}: {', '.join(counts)}"


def _hit_line(rank: int, hit: Mapping[str, Any]) -> str:
    source = short(source_name(hit["source"], hit["bundle"]))
    facts = [f"{rank}. {reference(hit)}", f"{hit['score']:.4g}", verdict(hit["signature"]), source]
    facts += ["exact"] if hit["exact"] else []
    facts += [f"shadowed by {short(', '.join(hit['shadowed_by']))}"] if hit["shadowed_by"] else []
    facts += filter(None, [standing(hit["states"], hit["successor"])])
    if (match := hit.get("hybrid")) is not None:
        facts.append(f"({match['total']:g}% total)")
    elif hit.get("similarity") is not None:
        facts.append(f"similarity {hit['similarity']:.4f}")
    texts = list(dict.fromkeys(short(hit[name]) for name in ("title", "description", "preview") if hit[name]))
    line = f"{'  '.join(facts)} | {' | '.join(texts[:2])}"
    more = () if match is None else map(short, hybrid_lines(match))
    return line + "".join(f"\n   {each}" for each in (*more, *_shares(hit.get("explain"))))


def _shares(traces: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    for trace in traces or ():
        clause, field = short(trace["clause"]), short(trace["field"])
        words = short(", ".join(trace["words"]))
        yield f"{clause} in {field}: {trace['contribution']:.4f} (df {trace['df']}, tf {trace['tf']:.2f}): {words}"


def _why_lines(why: Mapping[str, Any]) -> Iterator[str]:
    """Yield why an item is a hit, or everything that keeps it from being one."""
    hit, near = why["hit"], why["meaning"]
    place = "no hit" if hit is None else f"hit {why['rank']} of {why['total']}, score {hit['score']:.4g}"
    yield f"why {reference(why)}: {place}"
    for reason in why["reasons"]:
        yield f"   {short(reason['clause'])}: {short(reason['message'], 500)} [{reason['code']}]"
    yield from (f"   {each}" for each in _shares(hit and hit["explain"]))
    if near is not None:
        cosine = "none" if near["similarity"] is None else f"{near['similarity']:.4f}"
        yield f"   similarity {cosine} (near from {near['threshold']:g} on): {short(near['section'])}"
    for word, other in (("before", why["above"]), ("after", why["below"])):
        if other is not None:
            yield f"   {word} it: {other['rank']}. {reference(other)}  {other['score']:.4g} (by {other['decided_by']})"


def _notes(answer: Mapping[str, Any]) -> Iterator[str]:
    # warnings about this search come after those about files
    yield from _lines(warning_notes((), stale=answer["stale"]))
    yield from listed_notes("warning", answer["warnings"][::-1], "rye_verify names unreadable files")
    yield from _lines(search_notes(answer, "mcp"))


def _lines(notes: Iterable[Note], longest: int = MAX_TEXT) -> Iterator[str]:
    for label, text in notes:
        yield f"{label}: {short(text, longest)}" if label else short(text, longest)


def sections_text(answer: Mapping[str, Any]) -> str:
    """Return sections with their texts, each below a line with its name, verdict and place.

    Args:
        answer: The response as :meth:`SectionResponse.to_dict` gives it, tidied.
    """
    hits = answer["results"]
    lines = [header(len(hits), answer["total"], "sections", answer["search_type"])]
    for rank, hit in enumerate(hits, start=answer["offset"] + 1):
        place = short(" > ".join(hit["heading_path"]), 4 * _LINE)
        facts = (
            f"{rank}. {reference(hit)}  {hit['score']:.4g}  {verdict(hit['signature'])}  {short(hit['source_handle'])}"
        )
        more = [f"shadowed by {short(', '.join(hit['shadowed_by']))}"] if hit["shadowed_by"] else []
        more += filter(None, [standing(hit["states"], hit["successor"])])
        more += [f"also {short(', '.join(hit['copies']))}"] if hit["copies"] else []
        facts = "  ".join([facts, *more])
        lines += ["", f"{facts} | {place} | lines {hit['line']}-{hit['end_line']}", hit["text"]]
        lines += ["[cut]"] if hit["truncated"] else []
    return "\n".join([*lines, *_notes(answer)])


def listed_notes(word: str, texts: Sequence[str], where: str) -> Iterator[str]:
    """Return the first few of several messages, a line each, then how many more there are and where to find them."""
    yield from (f"{word}: {short(text, 500)}" for text in texts[:_LISTED])
    if len(texts) > _LISTED:
        yield f"and {len(texts) - _LISTED} more: {where}"


def error_text(error: RyeError) -> str:
    """Return an error as text: code, message, the place in the query, and what to do."""
    lines = list[str]()
    for label, text in error_notes(error):
        if label == "place":
            assert isinstance(error, QueryError)
            lines += [f"  {line}" for line in block(error.caret()).splitlines()]
        elif label:
            lines.append(f"{label}: {short(text, MAX_TEXT)}")
        elif len(lines) <= _PROBLEMS:
            lines.append(f"  {short(text, MAX_TEXT)}")
    return "\n".join(lines)


_TOOLS = {"search": "rye_search", "show": "rye_load", "verify": "rye_verify", "sign": "rye_sign"}
_COMMAND = re.compile(rf"\brye ({'|'.join(_TOOLS)})(?: --ids)?\b(?! --)")
_OTHER = re.compile(r"\brye (?:index|keys|manifest|sign|trust|verify)\b")


def for_client(text: str) -> str:
    """Return a hint or warning that names tools of this server instead of commands.

    >>> for_client("rye search finds items by what they say")
    'rye_search finds items by what they say'
    >>> for_client("make one with rye keys generate")
    'make one with rye keys generate (a command that the user runs)'
    """
    text = _COMMAND.sub(lambda match: _TOOLS[match[1]], text)
    return f"{text} (a command that the user runs)" if _OTHER.search(text) else text


_LOG = logging.getLogger(__name__)
_CALLERS_OWN = ("item-not-found", "project-not-found", "project-without-items")
"""Codes of errors whose only path is one that the caller gave."""

HidePaths = Callable[[str], str]
"""Leaves out the paths that lie outside the spaces."""


def as_rye_error(error: Exception) -> RyeError:
    """Return the error for the client; an error that is not rye's is logged, and its text is not passed on."""
    if isinstance(error, RyeError):
        return error
    _LOG.error("a call failed", exc_info=error)
    if isinstance(error, OSError) and error.strerror:
        return EnvironmentFault("system", error.strerror, hint="the server's log on standard error says more")
    message = f"unexpected {type(error).__name__}"
    return RyeError("internal", message, hint="a fault of rye; the server's log on standard error says more")


def _error_data(error: RyeError, hide: HidePaths) -> dict[str, Any]:
    """Return the error as JSON: harmless, bounded, in words for clients, without paths that lie outside the spaces."""
    error.hint = for_client(error.hint)
    if not isinstance(error, (ArgumentError, QueryError)) and error.code not in _CALLERS_OWN:
        error.message, error.hint = hide(error.message), hide(error.hint)
        error.details = {
            key: hide(each) if isinstance(each, str) else each for key, each in error.details.items() if key != "path"
        }
    done: dict[str, Any] = tidy(error.to_dict(), longest=5_000)
    return done


def failed_tool(error: RyeError, hide: HidePaths) -> types.CallToolResult:
    """Return an error as the result of a tool, so that the model reads it and can do better."""
    data = _error_data(error, hide)
    return types.CallToolResult(
        content=[types.TextContent(text=error_text(error))], structured_content={"error": data}, is_error=True
    )


def protocol_error(error: RyeError, hide: HidePaths) -> MCPError:
    """Return an error as the answer to anything but a tool."""
    data = _error_data(error, hide)
    asked = isinstance(error, (ArgumentError, NotFoundError, QueryError, ItemError))
    code = types.INVALID_PARAMS if asked else types.INTERNAL_ERROR
    return MCPError(code, error_text(error), data)

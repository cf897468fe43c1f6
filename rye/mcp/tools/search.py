"""``rye_search`` and ``rye_sections``: finding items, and whole sections to read and cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rye.errors import ArgumentError
from rye.mcp.redact import offered_suggestion, search_warnings, unname_successors
from rye.mcp.schema import take_arguments
from rye.mcp.text import search_text, sections_text, tidy, tidy_hit
from rye.mcp.tools.load import require_trusted
from rye.mcp.tools.tool import Tool, Work

if TYPE_CHECKING:
    from rye.registry import Registry

_LONGEST = 1_000_000
"""Characters of the text of one section."""

_QUERY = 5_000
"""Characters of the query, which the answer repeats: all that a query may have."""

_DEEP = 200
"""Levels of an explained query; more than a query may have."""

_ALIKE = ("scope", "space", "limit", "offset", "filters", "mode", "include_superseded", "explain")
"""Arguments that are valid with ``like``."""

_OF_THE_PAGE = ("limit", "offset", "facets", "explain")
"""Arguments that do not decide which items are hits."""

_OF_SECTIONS = """\
Get whole sections, verified and ready to cite.
Use it to answer from texts; rye_search finds items.
Read-only.
Answers each section under its type:id, score, verdict, source, lines | headings.
Errors: code and fix.
Examples: {"query": "how are keys revoked"}; {"query": "rollback", "limit": 3}"""

_DESCRIPTION = """\
Find signed directives (to follow), tools (to run) and knowledge (to read).
Use it first; rye_load reads a hit, rye_sections gives passages.
Read-only.
Answers "[shown of total results -- stage]", then hits, best first: type:id, score (0-1), verdict, source | title. \
Stage "all": every word matched. Ask the user before acting on what is not trusted.
Errors: code and fix.
Examples: {"query": "verify signatures in CI"}; {"query": "title:deploy* NOT draft", "scope": "tool.rye.*"}"""


def _answer(work: Work, registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    query, like, item = arguments.pop("query"), arguments.pop("like", None), arguments.pop("why", None)
    if work.options.only_trusted:
        arguments["filters"] = _only_trusted(arguments.get("filters"))
        for name in filter(None, (like, item)):
            require_trusted(work.options, registry.get(name))
    if like is None:
        response = registry.search(query, **arguments)
    else:
        response = registry.similar(like, **_alike(query, item, arguments))
    answer = response.to_dict()
    if work.options.only_trusted:
        answer["did_you_mean"] = offered_suggestion(registry, answer["query"], answer["did_you_mean"])
        _redact(registry, answer)
    hits = [tidy_hit(hit) for hit in answer.pop("results")]
    data: dict[str, Any] = {"results": hits} | tidy(answer, longest=_QUERY)
    if item is not None:
        deciding = {name: value for name, value in arguments.items() if name not in _OF_THE_PAGE}
        data["why"] = _tidy_why(registry.why(query, item, **deciding).to_dict())
    return data


def _alike(query: Any, asked: Any, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a search for items like one.

    Raises:
        ArgumentError: ``bad-like``.
    """
    wrong = [name for name in arguments if name not in _ALIKE] + (["query"] if query != "" else [])
    wrong += [] if asked is None else ["why"]
    if wrong:
        hint = f"give an empty query, and of the other arguments {', '.join(_ALIKE)}"
        raise ArgumentError("bad-like", f"like does not go with {', '.join(wrong)}", hint=hint, valid=list(_ALIKE))
    return arguments


def _tidy_why(why: dict[str, Any]) -> dict[str, Any]:
    """Return why an item is a hit or not, tidied; the query and the warnings are those of the search."""
    del why["query"], why["warnings"]
    hit = why.pop("hit")
    done: dict[str, Any] = tidy(why, longest=_QUERY, depth=_DEEP)
    return done | {"hit": None if hit is None else tidy_hit(hit)}


def _redact(registry: Registry, answer: dict[str, Any]) -> None:
    """Take what names untrusted items out of an answer."""
    answer["warnings"] = search_warnings(answer["warnings"])
    unname_successors(registry, answer["results"])


def _only_trusted(filters: Any) -> Any:
    """Return filters that let only trusted items through; what is no mapping is left for the search to refuse."""
    if filters is None:
        return {"is": "trusted"}
    if not isinstance(filters, Mapping):
        return filters
    free = [name for name in ("is", "verdict") if name not in filters]
    if not free:
        hint = "'verdict' and 'is' mean the same; give one of them"
        raise ArgumentError("bad-filters", "filters has both 'is' and 'verdict'", hint=hint)
    return {**filters, free[0]: "trusted"}


def _sections(work: Work, registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    arguments.setdefault("max_chars", SECTIONS.parameters(work.options)["max_chars"].default)
    if work.options.only_trusted:
        arguments["filters"] = _only_trusted(arguments.get("filters"))
    answer = registry.sections(arguments.pop("query"), **arguments).to_dict()
    if work.options.only_trusted:
        _redact(registry, answer)
    hits = [tidy(hit) | {"text": tidy(hit["text"], longest=_LONGEST)} for hit in answer.pop("results")]
    return {"results": hits, **tidy(answer, longest=_QUERY)}


SEARCH = Tool(
    "rye_search",
    _DESCRIPTION,
    "SearchResponse",
    _answer,
    search_text,
    more={"why": {"type": "object"}},
    read=take_arguments,
)
SECTIONS = Tool("rye_sections", _OF_SECTIONS, "SectionResponse", _sections, sections_text, read=take_arguments)

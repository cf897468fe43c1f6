"""``rye_search``: finding items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rye.errors import ArgumentError
from rye.mcp.redact import is_offered, offered_suggestion, search_warnings
from rye.mcp.schema import schema_of, take_arguments
from rye.mcp.text import for_client, search_text, tidy, tidy_hit
from rye.mcp.tools.load import require_trusted
from rye.mcp.tools.tool import Effect, Tool, ToolAnswer, Work

if TYPE_CHECKING:
    from rye.registry import Registry, Why

_QUERY = 5_000
"""Characters of the query, which the answer repeats: all that a query may have."""

_DEEP = 200
"""Levels of a query taken apart; more than a query may have."""

_ALIKE = ("scope", "space", "limit", "offset", "filters", "mode", "include_superseded", "explain")
"""What goes with ``like``."""

_OF_THE_PAGE = ("limit", "offset", "facets", "explain")
"""What does not decide which items are hits."""

_DESCRIPTION = """\
Find signed directives (to follow), tools (to run) and knowledge (to read).
Use it first; rye_load reads a hit, rye_sections gives passages, rye_verify verdicts.
Read-only.
Answers "[shown of total results -- stage]", then hits, best first: type:id, score (0-1), verdict, source | title. \
Stage "all": every word matched. Ask the user before acting on what is not trusted.
Errors: code and fix.
Examples: {"query": "verify signatures in CI"}; {"query": "title:deploy* NOT draft", "scope": "tool.rye.*"}"""


def _output() -> dict[str, Any]:
    from rye.registry import SearchResponse

    return schema_of(SearchResponse, why={"type": "object"})


def _run(work: Work, given: Mapping[str, Any]) -> ToolAnswer:
    arguments = take_arguments(TOOL.parameters(work.options), given)
    project = work.project(arguments)
    arguments.pop("project_path", None)
    query = arguments.pop("query")
    if work.options.only_trusted:
        arguments["filters"] = only_trusted(arguments.get("filters"))
    like, asked = arguments.pop("like", None), arguments.pop("why", None)
    with project.used_by(work.call) as registry:
        for item in (like, asked):
            if item is not None and work.options.only_trusted:
                require_trusted(work.options, registry.get(item))
        if like is None:
            response = registry.search(query, **arguments)
        else:
            response = registry.similar(like, **_alike(query, asked, arguments))
        whole = response.to_dict()
        if work.options.only_trusted:
            _leave_out(registry, whole)
        told = None if asked is None else registry.why(query, asked, **_deciding(arguments))
    hits = [tidy_hit(hit) for hit in whole.pop("results")]
    data = {"results": hits} | tidy(whole, longest=_QUERY)
    if told is not None:
        data["why"] = _tidy_why(told)
    data["warnings"] = [for_client(work.projects.hide_paths(text)) for text in data["warnings"]]
    return ToolAnswer(search_text(data), data)


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


def _deciding(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in _OF_THE_PAGE}


def _tidy_why(told: Why) -> dict[str, Any]:
    """Return why an item is a hit or none; the query and the warnings are those of the search."""
    whole = {key: value for key, value in told.to_dict().items() if key not in {"query", "warnings"}}
    hit = whole.pop("hit")
    done: dict[str, Any] = tidy(whole, longest=_QUERY, depth=_DEEP)
    return done | {"hit": None if hit is None else tidy_hit(hit)}


def _leave_out(registry: Registry, answer: dict[str, Any]) -> None:
    """Take out of an answer what names items that are not trusted, or only they say."""
    answer["warnings"] = search_warnings(answer["warnings"])
    answer["did_you_mean"] = offered_suggestion(registry, answer["query"], answer["did_you_mean"])
    for hit in answer["results"]:
        hit["successor"] = hit["successor"] if is_offered(registry, hit["successor"]) else ""


def only_trusted(filters: Any) -> Any:
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


TOOL = Tool(
    name="rye_search",
    description=_DESCRIPTION,
    output=_output,
    effect=lambda _options: Effect(),
    run=_run,
)

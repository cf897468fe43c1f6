"""``rye_search``: finding items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rye.errors import ArgumentError
from rye.mcp.parameters import Parameter, take_arguments
from rye.mcp.redact import is_offered, offered_suggestion, remarks
from rye.mcp.schema import schema_of
from rye.mcp.text import for_client, search_text, tidy, tidy_hit
from rye.mcp.tools.load import require_trusted
from rye.mcp.tools.tool import PROJECT_PATH, SPACE, THRESHOLD, Answer, Effect, Tool, Work

if TYPE_CHECKING:
    from rye.registry import Registry
    from rye.search.explain import Why

__all__ = ["TOOL", "only_trusted"]

_QUERY = 5_000
"""Characters of the query, which the answer repeats: all that a query may have."""

_DEEP = 200
"""Levels of a query taken apart; more than a query may have."""

_FLAG = {"type": "boolean", "default": False}


def _distance(low: int, high: int) -> dict[str, Any]:
    """Return the schema of ``{"enabled": …, "max_distance": …}``."""
    distance = {"type": "integer", "minimum": low, "maximum": high}
    properties = {"enabled": {"type": "boolean"}, "max_distance": distance}
    return {"type": "object", "properties": properties}


_HYBRID = (
    "{fusion: weighted or rrf, rrf_k 60, semantic_weight 0.72, keyword_weight 0.28, "
    "min_{semantic,keyword,combined}_score 0, require_{semantic,keyword}_match false}."
)
"""In words: a schema of each part would be read in every conversation."""

_PARAMETERS = (
    Parameter(
        "query",
        'Words (all must match), "exact phrase", OR, NOT, prefix*, typo~, title:deploy, is:trusted. Empty: all.',
        required=True,
        hint='give words to search for, or an empty query ("") to list all, and with like',
    ),
    Parameter(
        "scope",
        "directive, tool, knowledge or tool.rye.*; comma-joined.",
        {"type": "string", "default": "*"},
    ),
    PROJECT_PATH,
    SPACE,
    Parameter("limit", "Hits a page.", {"type": "integer", "default": 10, "minimum": 1, "maximum": 1000}),
    Parameter("offset", "Hits to skip.", {"type": "integer", "default": 0, "minimum": 0, "maximum": 1_000_000}),
    Parameter(
        "sort_by",
        "date: newest first.",
        {"type": "string", "enum": ["score", "date", "name"], "default": "score"},
    ),
    Parameter(
        "fields",
        'A query per field: {"category": "core"}.',
        {"type": "object"},
    ),
    Parameter(
        "filters",
        'Metadata: value, [any, of], "!not", ">=2.0": {"tags": ["api", "mcp"], "date_from": "2026-01"}.',
        {"type": "object"},
    ),
    Parameter("fuzzy", "Forgive typos.", _distance(0, 2)),
    Parameter("proximity", "Words near each other; distance 5.", _distance(1, 1000)),
    Parameter(
        "mode",
        "Words, meaning, or both.",
        {"type": "string", "enum": ["keyword", "semantic", "hybrid"], "default": "keyword"},
    ),
    Parameter("level", "1: names; 2: body; else both.", {"type": "integer", "enum": [1, 2]}),
    Parameter("relax", "Loosen words that find nothing.", {"type": "boolean", "default": True}),
    Parameter("lenient", "Skip what does not parse.", _FLAG),
    Parameter("include_superseded", "Superseded items, too.", _FLAG),
    Parameter(
        "facets",
        "Counts by type, space, category, tag, verdict, signer, key.",
        {"type": "array", "items": {"type": "string"}},
    ),
    THRESHOLD,
    Parameter(
        "source_boosts",
        'Semantic; default: {"project": 1.2, "user": 1.1, "system": 0.85}.',
        {"type": "object"},
    ),
    Parameter("hybrid", _HYBRID, {"type": "object"}),
    Parameter("explain", "Explain each score.", _FLAG),
    Parameter("like", "type:id: the items most like it. With an empty query."),
    Parameter("why", "type:id: also why it is a hit, or is none."),
)

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
    from rye.search.results import SearchResponse

    return schema_of(SearchResponse, why={"type": "object"})


def _run(work: Work, given: Mapping[str, Any]) -> Answer:
    arguments = take_arguments(_PARAMETERS, given)
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
    return Answer(search_text(data), data)


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
    answer["warnings"] = remarks(answer["warnings"])
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
    parameters=lambda _options: _PARAMETERS,
    output=_output,
    effect=lambda _options: Effect(),
    run=_run,
)

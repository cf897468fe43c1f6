"""``rye_search``: finding items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rye.errors import ArgumentError
from rye.mcp.parameters import Parameter, take_arguments
from rye.mcp.shapes import schema_of
from rye.mcp.text import search_text, tidy, tidy_hit
from rye.mcp.tools.tool import PROJECT_PATH, SPACE, Answer, Effect, Tool, Work

__all__ = ["TOOL"]

_QUERY = 5_000
"""Characters of the query, which the answer repeats: all that a query may have."""

_FLAG = {"type": "boolean", "default": False}


def _distance(low: int, high: int) -> dict[str, Any]:
    """Return the schema of ``{"enabled": …, "max_distance": …}``."""
    distance = {"type": "integer", "minimum": low, "maximum": high}
    properties = {"enabled": {"type": "boolean", "default": True}, "max_distance": distance}
    return {"type": "object", "default": {}, "properties": properties, "additionalProperties": False}


_PARAMETERS = (
    Parameter(
        "query",
        'Words (all must match), "exact phrase", OR, NOT, (groups), prefix*, typo~, field:word as in title:deploy, '
        "is:trusted. Empty: everything in scope.",
        required=True,
    ),
    Parameter(
        "scope",
        "directive, tool or knowledge, alone or with a namespace (tool.rye.core.*); joined by commas; * for all.",
        {"type": "string", "default": "*"},
    ),
    PROJECT_PATH,
    SPACE,
    Parameter("limit", "Hits per page.", {"type": "integer", "default": 10, "minimum": 1, "maximum": 1000}),
    Parameter(
        "offset",
        "Hits to skip: next_offset of the page before.",
        {"type": "integer", "default": 0, "minimum": 0, "maximum": 1_000_000},
    ),
    Parameter(
        "sort_by",
        "Order: best match, newest, name.",
        {"type": "string", "enum": ["score", "date", "name"], "default": "score"},
    ),
    Parameter(
        "fields",
        'A query per field; all must match: {"category": "core"}.',
        {"type": "object", "default": {}, "additionalProperties": {"type": "string"}},
    ),
    Parameter(
        "filters",
        'Metadata: exact value, [any, of], "!not", ">=2.0" (> < <= too), date_from, date_to: '
        '{"tags": ["api", "mcp"], "date_from": "2026-01"}.',
        {"type": "object", "default": {}},
    ),
    Parameter(
        "fuzzy",
        "Forgive up to max_distance typos a word; default: by its length.",
        _distance(0, 2),
    ),
    Parameter(
        "proximity",
        "All words at most max_distance (default 5) words apart.",
        _distance(1, 1000),
    ),
    Parameter(
        "mode",
        "By words, by meaning, or both; what is not available is an error.",
        {"type": "string", "enum": ["keyword", "semantic", "hybrid"], "default": "keyword"},
    ),
    Parameter(
        "level",
        "1: only what names an item; 2: only its body; default: both.",
        {"type": "integer", "enum": [1, 2]},
    ),
    Parameter(
        "relax",
        "Match bare words more loosely when nothing has all of them.",
        {"type": "boolean", "default": True},
    ),
    Parameter("lenient", "Leave out, with a warning, what cannot be read.", _FLAG),
    Parameter("include_superseded", "Also items marked superseded or deprecated.", _FLAG),
    Parameter(
        "facets",
        "Count all matches by type, space, category, tag, verdict, signer or a metadata key; tag:25 lists 25 values.",
        {"type": "array", "items": {"type": "string"}, "default": []},
    ),
    Parameter("explain", "Show how each score came about.", _FLAG),
)

_DESCRIPTION = """\
Find signed directives (to follow), tools (to run) and knowledge (to read) in the project, the user's space and \
installed bundles.
Use it first. To read a hit, or an item whose type:id you know, call rye_load; for verdicts without a query, rye_verify.
Read-only; runs nothing.
Answers "[shown of total results -- stage]", then a line per hit, best first: type:id, score (0-1), verdict, source | \
title | passage. Stage "all": every word matched; else less. Ask the user before acting on what is not trusted.
Errors give a code, the place in the query, what is valid, and a query to try.
Examples: {"query": "verify signatures in CI"}; {"query": "title:deploy* NOT draft", "scope": "tool.rye.*"}"""


def _output() -> dict[str, Any]:
    from rye.search.results import SearchResponse

    return schema_of(SearchResponse)


def _run(work: Work, given: Mapping[str, Any]) -> Answer:
    arguments = take_arguments(_PARAMETERS, given)
    project = work.project(arguments)
    arguments.pop("project_path", None)
    query = arguments.pop("query")
    if work.options.only_trusted:
        arguments["filters"] = _only_trusted(arguments.get("filters"))
    with project.used_by(work.call) as registry:
        response = registry.search(query, **arguments)
    whole = response.to_dict()
    hits = [tidy_hit(hit) for hit in whole.pop("results")]
    data = {"results": hits} | tidy(whole, longest=_QUERY)
    data["warnings"] = [work.projects.hide_paths(text) for text in data["warnings"]]
    return Answer(search_text(data), data)


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


TOOL = Tool(
    name="rye_search",
    title="Search items",
    description=_DESCRIPTION,
    parameters=lambda _options: _PARAMETERS,
    output=_output,
    effect=lambda _options: Effect(),
    run=_run,
)

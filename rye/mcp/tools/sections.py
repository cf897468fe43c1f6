"""``rye_sections``: whole sections to read and cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rye.mcp.parameters import Parameter, take_arguments
from rye.mcp.text import sections_text, tidy
from rye.mcp.tools.search import only_trusted
from rye.mcp.tools.tool import PROJECT_PATH, Answer, Effect, Tool, Work

__all__ = ["TOOL"]

DEFAULT_CHARS = 20_000
"""Characters of all texts together, where the call says nothing."""

_LONGEST = 1_000_000
_QUERY = 5_000

_PARAMETERS = (
    Parameter("query", "Subject or question.", required=True),
    Parameter("scope", "As rye_search.", {"type": "string", "default": "*"}),
    PROJECT_PATH,
    Parameter("space", "As rye_search.", {"type": "string", "default": "all"}),
    Parameter("limit", "Sections.", {"type": "integer", "default": 10, "minimum": 1, "maximum": 50}),
    Parameter(
        "mode",
        "Or semantic, keyword.",
        {"type": "string", "default": "hybrid"},
    ),
    Parameter("filters", "As rye_search.", {"type": "object", "default": {}}),
    Parameter("threshold", "Least similarity.", {"type": "number"}),
    Parameter("recency_weight", "Share of age, 0-1.", {"type": "number", "default": 0}),
    Parameter("half_life_days", "For that.", {"type": "number", "default": 30}),
    Parameter("authority_weight", "Share of trust, 0-1.", {"type": "number", "default": 0}),
    Parameter("include_superseded", "As rye_search.", {"type": "boolean", "default": False}),
    Parameter("lenient", "As rye_search.", {"type": "boolean", "default": False}),
    Parameter(
        "max_chars",
        "Of all texts.",
        {"type": "integer", "default": DEFAULT_CHARS, "minimum": 1, "maximum": _LONGEST},
    ),
)

_DESCRIPTION = """\
Whole sections on a subject, by meaning and words, verified, ready to cite. Read-only.
Use it to answer from text; rye_search finds items, rye_load reads one.
Errors say what is valid.
Examples: {"query": "how are keys revoked"}; {"query": "rollback", "limit": 3}"""


def _output() -> dict[str, Any]:
    return {"type": "object"}


def _run(work: Work, given: Mapping[str, Any]) -> Answer:
    arguments = take_arguments(_PARAMETERS, given)
    project = work.project(arguments)
    arguments.pop("project_path", None)
    query = arguments.pop("query")
    arguments.setdefault("max_chars", DEFAULT_CHARS)
    if work.options.only_trusted:
        arguments["filters"] = only_trusted(arguments.get("filters"))
    with project.used_by(work.call) as registry:
        response = registry.sections(query, **arguments)
    whole = response.to_dict()
    hits = [tidy(hit) | {"text": tidy(hit["text"], longest=_LONGEST)} for hit in whole.pop("results")]
    data = {"results": hits} | tidy(whole, longest=_QUERY)
    data["warnings"] = [work.projects.hide_paths(text) for text in data["warnings"]]
    return Answer(sections_text(data), data)


TOOL = Tool(
    name="rye_sections",
    title="Sections",
    description=_DESCRIPTION,
    parameters=lambda _options: _PARAMETERS,
    output=_output,
    effect=lambda _options: Effect(),
    run=_run,
)

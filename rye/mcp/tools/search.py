"""``rye_search`` and ``rye_sections``: finding items, and whole sections to read and cite."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rye.errors import ArgumentError, ItemError
from rye.items.guarded import load_json
from rye.mcp.schema import take_arguments
from rye.mcp.text import judged, picked, search_text, sections_text, short, tidy, within_budget
from rye.mcp.tools.tool import Tool, Work
from rye.options.model import Parameter

if TYPE_CHECKING:
    from rye.registry.registry import Registry

_LONGEST = 1_000_000
"""Characters of the text of one section."""

_QUERY = 5_000
"""Characters of the query that an answer repeats."""

_DESCRIPTION_CHARS = 300
"""Characters of the description of a hit."""

_DEEP = 200
"""Levels of an explained query, more than a query may have."""

_ALIKE = ("scope", "space", "limit", "offset", "filters", "mode", "include_superseded", "explain")
"""Arguments that are valid with ``like``."""

_OF_THE_PAGE = ("limit", "offset", "facets", "explain")
"""Arguments that do not decide which items are hits."""

_OF_SECTIONS = """\
Get whole sections, verified and ready to cite, to answer a question from texts; rye_search finds items.
Each section stands below its type:id, score, verdict, source, lines and headings.
Example: {"query": "how are keys revoked", "limit": 3}"""

_DESCRIPTION = """\
Find signed directives to follow, tools to run and knowledge to read. Read a hit with rye_load.
Each has type:id, score, verdict and source. Ask the user before you act on an item that is not trusted.
Example: {"query": "title:deploy* NOT draft", "scope": "tool.ops.*"}"""


def _read(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments; those in a mapping called ``options`` count as well.

    Raises:
        ArgumentError: ``unknown-argument``, ``missing-argument``, ``bad-options``.
    """
    options = given.get("options") or {}
    if isinstance(options, str):
        with suppress(ItemError):
            options = load_json(options)
    if not isinstance(options, Mapping):
        hint = "write its keys beside the query"
        raise ArgumentError("bad-options", f"options is {short(repr(options))}, not a mapping", hint=hint)
    beside = {name: value for name, value in given.items() if name != "options"}
    return take_arguments(parameters, {**options, **beside})


def _answer(_work: Work, registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    query, like, item = arguments.pop("query"), arguments.pop("like", None), arguments.pop("why", None)
    for name, value in (("like", like), ("why", item)):
        if value is not None and not isinstance(value, str):
            raise ArgumentError("bad-item", f"{name} is {short(repr(value))}", hint=f"{name} names an item, as type:id")
    if like is None:
        response = registry.search(query, **arguments)
    else:
        response = registry.similar(like, **_alike(query, item, arguments))
    answer = response.to_dict()
    hits = list(map(_hit, answer.pop("results")))
    rest = tidy(answer, longest=_QUERY)
    data = {"results": hits} | picked(rest, _ENVELOPE, [name for name in rest if name not in _LEFT_OUT])
    if rest["stage"] != "all":
        data["stage"] = rest["stage"]
    if (count := within_budget(hits)) < len(hits):
        data |= {"results": hits[:count], "next_offset": rest["offset"] + count}
    if item is not None:
        deciding = {name: value for name, value in arguments.items() if name not in _OF_THE_PAGE}
        data["why"] = _tidy_why(registry.why(query, item, **deciding).to_dict())
    return data


def _address(hit: Mapping[str, Any]) -> dict[str, str]:
    """Return the address of a hit that is a skill, under which this server serves its files."""
    from rye.registry.skills import may_be_skill, skill_uri

    return {"skill": skill_uri(hit["source"], hit["bundle"], hit["id"])} if may_be_skill(hit) else {}


def _alike(query: Any, why: Any, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a search for similar items.

    Raises:
        ArgumentError: ``bad-like``.
    """
    wrong = [name for name in arguments if name not in _ALIKE] + (["query"] if query != "" else [])
    wrong += [] if why is None else ["why"]
    if wrong:
        hint = f"give an empty query, and of the other arguments {', '.join(_ALIKE)}"
        raise ArgumentError(
            "bad-like", f"like cannot be combined with {', '.join(wrong)}", hint=hint, valid=list(_ALIKE)
        )
    return arguments


def _tidy_why(why: dict[str, Any]) -> dict[str, Any]:
    """Return why an item is a hit or not, tidied, without the query and warnings of the search."""
    del why["query"], why["warnings"]
    hit = why.pop("hit")
    done: dict[str, Any] = tidy(why, longest=_QUERY, depth=_DEEP)
    return done | {"hit": None if hit is None else _hit(hit)}


def _sections(_work: Work, registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    arguments.setdefault("max_chars", SECTIONS.parameters["max_chars"].default)
    answer = registry.sections(arguments.pop("query"), **arguments).to_dict()
    hits = list(map(_section, answer.pop("results")))
    rest = tidy(answer, longest=_QUERY)
    return {"results": hits} | picked(rest, _ENVELOPE, [name for name in rest if name not in _LEFT_OUT])


_ENVELOPE = ("total", "query", "scope", "space", "limit", "offset", "search_type")
_LEFT_OUT = ("took_ms", "method", "stage")
"""Keys of an answer that a client does not get; a stage only if it is not the first."""

_OF_A_HIT = ("id", "name", "description", "category", "score", "type", "source", "preview")
"""Keys that every hit has; others only if they are not empty."""

_RARER = (
    *("line", "title", "bundle", "folder", "exact", "shadows", "shadowed_by", "states", "successor", "parts"),
    *("explain", "similarity", "hybrid"),
)


def _hit(hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hit as clients get it."""
    done: dict[str, Any] = tidy(hit)
    done |= {"score": round(hit["score"], 4), "description": short(hit["description"], _DESCRIPTION_CHARS)}
    symbols = [
        picked(symbol, ("kind", "name", "line", "signature", "docstring"))
        for symbol in done["symbols"]
        if "signature" in symbol
    ]
    place = judged(done["signature"]) | picked(done, ("path",))
    return (
        picked(done, _OF_A_HIT)
        | place
        | picked(done, (), _RARER)
        | ({"symbols": symbols} if symbols else {})
        | _address(hit)
    )


_OF_A_SECTION = ("type", "id", "source_handle", "heading_path", "score", "path", "line", "end_line", "text")
_CITATION = ("doc_id", "title", "mtime", "hash", "display_url", "properties", "anchor", "chunk_ids")
_RARER_OF_SECTIONS = ("truncated", "original_chars", "states", "successor", "shadowed_by", "copies")


def _section(hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section as clients get it."""
    done: dict[str, Any] = tidy(hit) | {"text": tidy(hit["text"], longest=_LONGEST)}
    section = picked(done, _OF_A_SECTION) | judged(done["signature"])
    return section | picked(done, _CITATION, _RARER_OF_SECTIONS)


SEARCH = Tool(
    "rye_search",
    "Search items",
    _DESCRIPTION,
    _answer,
    search_text,
    read=_read,
)
SECTIONS = Tool(
    "rye_sections",
    "Search sections",
    _OF_SECTIONS,
    _sections,
    sections_text,
    read=_read,
)

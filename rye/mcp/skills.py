"""Skills over MCP: the extension ``io.modelcontextprotocol/skills``, SEP-2640.

As specified by modelcontextprotocol/ext-skills, specification/stable/skills.mdx of September 2026 (0682b7b6) for the
protocol of 2026-07-28; clients of the 2025 form get the same answers. Files are served unchanged, because clients
compare them with digests: they have no mark around them, and the verdict is in ``_meta``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from mimetypes import guess_type
from typing import TYPE_CHECKING, Any, Final

from mcp import types

from rye.errors import ItemError, NotFoundError, RyeError
from rye.mcp.resources import item_page
from rye.mcp.resources import read_resource as read_item
from rye.mcp.text import short, tidy

if TYPE_CHECKING:
    from rye.registry.registry import Registry
    from rye.registry.skills import ServedSkill

EXTENSION: Final = "io.modelcontextprotocol/skills"
SETTINGS: Final = {"directoryRead": True}

_FILE: Final = "SKILL.md"
_FOLDER: Final = "inode/directory"
_CACHING: Final = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private"}


def list_skills(registry: Registry, params: types.PaginatedRequestParams | None) -> dict[str, Any]:
    """Return a page of the skills; if several spaces have an id, the winning one.

    ``_meta`` names the skills of the page that break the specification and are left out, with the reason.

    Raises:
        ArgumentError: ``bad-cursor``.
    """
    from rye.registry.skills import skill_uri

    page = item_page(registry, "directive", params)
    listed, left_out = [], []
    for hit in page.results:
        if hit.shadowed_by:
            continue
        uri = skill_uri(hit.source, hit.bundle, hit.id)
        try:
            listed.append(_entry(registry.skill(uri).skill))
        except RyeError as error:
            if hit.path.endswith(f"/{_FILE}") and isinstance(error, ItemError):
                left_out.append({"uri": uri, "reason": error.message, "hint": error.hint})
    answer = {"skills": listed, **_CACHING, "_meta": {"rye/leftOut": tidy(left_out)}}
    return answer if page.next_offset is None else answer | {"nextCursor": str(page.next_offset)}


def get_skill(registry: Registry, params: types.ReadResourceRequestParams) -> dict[str, Any]:
    """Return the entry of one skill, named by the address of its ``SKILL.md``.

    Raises:
        NotFoundError: ``skill-not-found``.
        ItemError: ``not-a-skill``, or a file cannot be read.
    """
    skill, path = registry.skill(params.uri)
    if path != _FILE:
        raise _not_found(params.uri, f"name the skill by its {_FILE}")
    return {"skill": _entry(skill), **_CACHING}


def read_resource(registry: Registry, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Return a file of a skill, its bytes unchanged; any other resource as :func:`rye.mcp.resources.read_resource`.

    Raises:
        RyeError: As that function; NotFoundError ``skill-not-found``.
    """
    from rye.items.names import SKILL_SCHEME

    if not params.uri.startswith(SKILL_SCHEME):
        return read_item(registry, params)
    skill, path = registry.skill(params.uri)
    file = skill.files.get(path)
    if file is None:
        raise _not_found(params.uri, "this is a folder: resources/directory/read lists it")
    facts: dict[str, Any] = {"uri": params.uri, "mime_type": _mime_type(path), "_meta": _meta(skill)}
    contents: types.TextResourceContents | types.BlobResourceContents
    try:
        contents = types.TextResourceContents(text=file.data.decode(), **facts)
    except UnicodeDecodeError:
        contents = types.BlobResourceContents(blob=b64encode(file.data).decode(), **facts)
    return types.ReadResourceResult(contents=[contents])


def read_directory(registry: Registry, params: types.ReadResourceRequestParams) -> dict[str, Any]:
    """Return the entries of a folder of a skill.

    Raises:
        NotFoundError: ``skill-not-found``.
        ItemError: ``not-a-skill``, or a file cannot be read.
    """
    skill, path = registry.skill(params.uri)
    inside = skill.listed(path)
    if inside is None:
        raise _not_found(params.uri, "this is a file: resources/read reads it")
    resources = []
    for name, file in inside.items():
        entry: dict[str, Any] = {"uri": skill.uri_of(f"{path}/{name}".lstrip("/")), "name": name}
        entry |= {"mimeType": _FOLDER} if file is None else {"mimeType": _mime_type(name), "size": len(file.data)}
        resources.append(entry)
    return {"resources": resources, "resultType": "complete"}


METHODS: Final[Mapping[str, tuple[type[types.RequestParams], Callable[..., dict[str, Any]]]]] = {
    "skills/list": (types.PaginatedRequestParams, list_skills),
    "skills/get": (types.ReadResourceRequestParams, get_skill),
    "resources/directory/read": (types.ReadResourceRequestParams, read_directory),
}
"""Name of each method of the extension to its parameters and handler."""


def _not_found(uri: str, hint: str) -> NotFoundError:
    return NotFoundError("skill-not-found", f"no skill is served at {short(uri, 300)}", hint=hint)


def _entry(skill: ServedSkill) -> dict[str, Any]:
    files = [
        {"uri": skill.uri_of(path), "digest": file.digest, "size": len(file.data)} for path, file in skill.files.items()
    ]
    return {
        "uri": skill.uri_of(_FILE),
        "frontmatter": skill.front_matter,
        "resources": files,
        "_meta": _meta(skill),
    }


def _meta(skill: ServedSkill) -> dict[str, Any]:
    """Return the verdict on a skill, and the files that it does not cover."""
    return {
        "rye/item": tidy(f"directive:{skill.item_id}"),
        "rye/signature": tidy(skill.signature.to_dict()),
        "rye/unverified": tidy(list(skill.unverified())),
        **({"rye/generated": True} if skill.is_generated else {}),
    }


def _mime_type(path: str) -> str:
    return "text/markdown" if path.endswith(".md") else guess_type(path)[0] or "application/octet-stream"

"""Completion of spaces and ids in resource templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp import types

from rye.mcp.resources import TEMPLATES
from rye.mcp.shelf import ids_like

if TYPE_CHECKING:
    from rye.mcp.options import Options
    from rye.registry import Registry

__all__ = ["complete"]

_SPACES = ("project", "user", "system")


def complete(registry: Registry, options: Options, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Return how what was begun may go on; nothing where that is not known."""
    kinds = {template.uri_template: template.name for template in TEMPLATES}
    kind = kinds.get(params.ref.uri) if isinstance(params.ref, types.ResourceTemplateReference) else None
    name, begun = params.argument.name, params.argument.value
    if kind and name == "space":
        return _result([space for space in _SPACES if space.startswith(begun)])
    if kind and name == "id":
        chosen = (params.context.arguments or {}).get("space", "") if params.context else ""
        found = ids_like(registry, options, kind, begun, space=chosen if chosen in _SPACES else "all")
        return types.CompleteResult(completion=types.Completion(**found))
    return _result([])


def _result(values: list[str]) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))

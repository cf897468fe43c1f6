"""What a client is told when something goes wrong: a well-formed error, never a traceback."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mcp import types
from mcp.shared.exceptions import MCPError

from rye.errors import ArgumentError, EnvironmentFault, ItemError, NotFoundError, QueryError, RyeError
from rye.mcp.text import error_text, tidy
from rye.mcp.wording import for_client

__all__ = ["as_rye_error", "failed_tool", "protocol_error"]

_LOG = logging.getLogger(__name__)
_CALLERS_OWN = ("item-not-found", "project-not-found", "project-without-items")
"""Codes of errors that name a path only because the caller did."""

HidePaths = Callable[[str], str]
"""Leaves out the paths that lie outside the spaces."""


def as_rye_error(error: Exception) -> RyeError:
    """Return the error to tell; one that is none of rye's is logged, and told without what it says."""
    if isinstance(error, RyeError):
        return error
    _LOG.error("a call failed", exc_info=error)
    if isinstance(error, OSError) and error.strerror:
        return EnvironmentFault("system", error.strerror, hint="the server's log on standard error says more")
    message = f"unexpected {type(error).__name__}"
    return RyeError("internal", message, hint="a fault of rye; the server's log on standard error says more")


def _told(error: RyeError, hide: HidePaths) -> dict[str, Any]:
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
    told = _told(error, hide)
    return types.CallToolResult(
        content=[types.TextContent(text=error_text(error))], structured_content={"error": told}, is_error=True
    )


def protocol_error(error: RyeError, hide: HidePaths) -> MCPError:
    """Return an error as the answer to anything but a tool."""
    told = _told(error, hide)
    asked = isinstance(error, (ArgumentError, NotFoundError, QueryError, ItemError))
    code = types.INVALID_PARAMS if asked else types.INTERNAL_ERROR
    return MCPError(code, error_text(error), told)

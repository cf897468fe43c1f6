"""The command ``rye hook``: name trusted items that fit a prompt to a client of agents, before the agent reads it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import chdir
from typing import TYPE_CHECKING, Any

import click

from rye._text import inline
from rye.cli.options import ask, command, own_name
from rye.cli.params import argument, engine_option, flag
from rye.cli.terminal import cut, json_text, note, silence
from rye.options.model import check, parameters_of
from rye.options.search import SearchOptions
from rye.registry.where import Where

if TYPE_CHECKING:
    from rye.registry.registry import Registry
    from rye.search.contract.results import SearchResponse

_EVENT = "UserPromptSubmit"
_MAX_EVENT = 1 << 20
"""Bytes of an event that are read."""
_PROMPT = 4_000
"""Characters of a prompt that are searched."""
_ITEMS, _NAME, _DESCRIPTION = 3, 120, 200
"""Items that are named, and characters of a name and of a description."""
_SECONDS = 5
"""How long the client waits."""

_threshold = parameters_of(SearchOptions)["threshold"]._replace(
    default=0.4, shown="", help="Least similarity of an item to the prompt", only=None
)


@command("hook")
@argument("client", type=click.Choice(("claude",)))
@flag("--print-config", help="Print the settings for the client, and exit")
@engine_option(_threshold)
def hook(client: str, *, print_config: bool, threshold: float) -> int:  # noqa: ARG001 - there is one client so far
    """Suggest up to three trusted items for a prompt. The event comes from standard input; the answer is JSON.

    If anything fails, it prints nothing, so the prompt goes on. RYE_DEBUG=1 prints the cause to standard error.

    Exit status: 0.
    """
    if print_config:
        sys.stdout.write(f"{_config()}\n")
        note("put it into ~/.claude/settings.json; or into a project's, then: rye sign list .")
        return 0
    try:
        check(_threshold, threshold)
        if text := _context(sys.stdin.buffer.read(_MAX_EVENT + 1), threshold):
            answer = {"hookSpecificOutput": {"hookEventName": _EVENT, "additionalContext": text}}
            sys.stdout.write(f"{json_text(answer, indent=None, ascii_only=True)}\n")
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - status 2 would block the prompt
        silence(sys.stdout)
        if os.environ.get("RYE_DEBUG", "") not in {"", "0"}:
            note(f"rye hook: {inline(str(error))}")
    return 0


def _context(data: bytes, threshold: float) -> str:
    """Return the text that the agent gets with a prompt: the items that may help; empty if there are none."""
    from rye.items.guarded import load_json
    from rye.items.values import decode

    event = load_json(decode(data))
    if event.get("hook_event_name", _EVENT) != _EVENT or not event["prompt"].strip():
        return ""
    with chdir(event.get("cwd") or "."):
        response = ask(Where(embed_seconds=0), lambda registry: _search(registry, event["prompt"][:_PROMPT]))
    lines = [] if response is None else list(_lines(response, threshold))
    head = f"Items that may help, each signed by somebody the user trusts; {own_name()} show NAME prints one:"
    return "\n".join([head, *lines]) if lines else ""


def _search(registry: Registry, prompt: str) -> SearchResponse | None:
    """Search trusted items; return None if an index is missing, because building it takes long."""
    if not all(space.exists for space in registry.status()):
        return None
    return registry.search(prompt, limit=_ITEMS, filters={"is": "trusted"})


def _lines(response: SearchResponse, threshold: float) -> Iterator[str]:
    """Yield a line for each trusted item that is similar enough."""
    for hit in response.results:
        name, is_trusted = inline(f"{hit.type}:{hit.id}"), hit.signature.verdict == "trusted"
        if is_trusted and len(name) <= _NAME and (hit.similarity or 0) >= threshold:
            about = inline(hit.description or hit.title)
            yield f"- {name}: {cut(about, _DESCRIPTION)}" if about else f"- {name}"


def _config() -> str:
    """Return the settings entry that installs the hook.

    ``|| true`` keeps prompts going if another program is called ``rye``.
    """
    entry: dict[str, Any] = {"type": "command", "command": f"{own_name()} hook claude || true", "timeout": _SECONDS}
    return json_text({"hooks": {_EVENT: [{"hooks": [entry]}]}})

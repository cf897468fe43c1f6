"""``rye mcp``: the server through which agents use rye."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from rye._process import find_program
from rye.cli.options import Refusal, place_options, refuse
from rye.cli.terminal import note, say
from rye.errors import NotFoundError

__all__ = ["command"]

_PATH = click.Path(path_type=Path)
_TOKEN = "RYE_MCP_TOKEN"  # noqa: S105 - the name of a variable


@click.command("mcp")
@click.option(
    "--project",
    "projects",
    type=_PATH,
    multiple=True,
    metavar="DIR",
    help="A project that callers may name, the first being the default; repeatable. Without it, the one found upwards "
    "from the working directory, and over standard input any that the caller names.",
)
@place_options("bundle", "trust", "cache-dir", "embedder")
@click.option(
    "--require",
    type=click.Choice(["trusted"]),
    help="trusted: leave out every item that is not signed by a trusted key.",
)
@click.option("--read-only", is_flag=True, help="Offer nothing that writes: no rye_sign, no copy_to.")
@click.option("--http", is_flag=True, help="Listen for streamable HTTP instead of using standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="With --http: address.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8642,
    show_default=True,
    metavar="N",
    help="With --http: port; 0 for a free one, which is told.",
)
@click.option(
    "--token-file",
    type=_PATH,
    metavar="FILE",
    help=f"With --http: demand the token in this file; by default that in {_TOKEN}, if it is set.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="With --http: a further name by which callers reach the server, with or without a port; repeatable.",
)
@click.option(
    "--print-config",
    "client",
    type=click.Choice(["claude", "cursor", "vscode", "codex"]),
    help="Print what this client needs in its configuration for a server with these options, and end.",
)
def command(client: str | None, **options: Any) -> int:
    """Serve rye's tools to agents by the Model Context Protocol.

    Exit status: 0 the client has left, 2 error.
    """
    if options["embedder"] is not None:
        from rye.embedding import Choice

        Choice.parse(options["embedder"])
    mcp = import_module("rye.mcp")  # rooms on one layer do not know each other; see the architecture
    if not options["http"]:
        refuse("host", "port", "token_file", "allowed_hosts", because="without --http")
    http = mcp.Http(options["host"], options["port"], _token(options), options["allowed_hosts"])
    chosen = mcp.Options(
        projects=tuple(_folder(folder) for folder in options["projects"]),
        bundles=options["bundles"],
        trust=options["trust"],
        cache_dir=options["cache_dir"],
        embedder=options["embedder"],
        only_trusted=options["require"] == "trusted",
        read_only=options["read_only"],
        http=http if options["http"] else None,
    )
    if client is not None:
        if options["http"] and not options["port"]:
            raise Refusal("a free port is not known beforehand", hint="name one with --port")
        say(mcp.client_config(client, chosen, command=_own_command()))
        return 0
    if not options["http"] and sys.stdin is not None and sys.stdin.isatty():
        note("rye waits for a client on standard input; rye mcp --print-config NAME says how a client starts it")
    mcp.serve(chosen)
    return 0


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        message = f"there is no project folder {str(folder)!r}"
        raise NotFoundError("project-not-found", message, hint="name the folder that holds .ai", path=str(folder))
    return folder


def _token(options: dict[str, Any]) -> str:
    """Return the token that callers must show, from the file or the environment; empty for none."""
    if not options["http"]:
        return ""
    path: Path | None = options["token_file"]
    if path is None and _TOKEN not in os.environ:
        return ""
    token, place = (os.environ[_TOKEN], _TOKEN) if path is None else (_read(path), repr(str(path)))
    token = token.strip()
    if not token:
        instead = "unset it" if path is None else "leave the option out"
        hint = f"put one there, e.g. from: openssl rand -hex 32; or {instead} to demand none"
        raise Refusal(f"{place} holds no token", hint=hint)
    if not token.isascii() or any(char.isspace() for char in token):
        raise Refusal("the token has characters that no header can hold", hint="use letters and digits")
    return token


def _read(path: Path) -> str:
    """Return the text of a file.

    Raises:
        Refusal: It cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Refusal(f"the token cannot be read from {str(path)!r}: {why}", hint="name a file with one line") from None


def _own_command() -> tuple[str, ...]:
    """Return how this very rye is called, so that a client finds it whatever its path is.

    A client may start it in any checkout, from which ``-P`` keeps Python from importing.
    """
    found = find_program("rye")
    return (found,) if found else (sys.executable, "-P", "-m", "rye")

"""The commands around the engine: ``rye index``, ``mcp``, ``serve`` and ``completion``."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from rye._process import own_program
from rye._text import quote
from rye.cli.options import Refusal, ask, command, refuse
from rye.cli.params import (
    PATH,
    Decorator,
    all_of,
    argument,
    engine_option,
    flag,
    json_flag,
    option,
    places,
    take_where,
)
from rye.cli.terminal import Terminal, confirm, note, say, say_json, show, warning_lines
from rye.errors import ArgumentError, EnvironmentFault, NotFoundError
from rye.options.search import REPLICAS, SHARDS, space_of
from rye.registry.where import Where

if TYPE_CHECKING:
    from rye.index.build.refresh import RefreshReport
    from rye.index.vectors.vectors import VectorReport
    from rye.registry.registry import Registry
    from rye.surface.listener import Http

_TOKEN, _SERVE_TOKEN = "RYE_MCP_TOKEN", "RYE_SERVE_TOKEN"


def _address_options(when: str, port: int, variable: str) -> Decorator:
    """Decorate a command with the options for an HTTP server's address, token and host names."""

    def text(words: str) -> str:
        return f"{when}{words}" if when else f"{words[0].upper()}{words[1:]}"

    return all_of(
        option("--host", default="127.0.0.1", metavar="HOST", help=text("address")),
        option(
            "--port",
            type=click.IntRange(0, 65_535),
            default=port,
            metavar="N",
            help=text("port, 0 to 65,535; 0 takes a free port and prints it"),
        ),
        option(
            "--token-file",
            type=PATH,
            metavar="FILE",
            help=text(f"require the token in this file; by default the token in `{variable}`"),
        ),
        option(
            *("allowed_hosts", "--allow-host"),
            multiple=True,
            metavar="NAME",
            help=text("another host name that callers use, with or without a port; repeatable"),
        ),
    )


_Outcome: TypeAlias = tuple[dict[str, Any], Iterable[str], Sequence[str], int]
"""JSON, lines, warnings and exit status of an action."""


@command("publish")
@argument("address")
@option("--owner", default="", metavar="NAME", help="Owner of the items; by default the name of the project folder")
@engine_option(
    space_of("The space to publish: `project`, `user`, `system` or `all`", *("project", "user", "system", "all"))
)
@option("--scope", "-s", default="*", metavar="SCOPE", help="Types and namespaces, as for `rye search`")
@engine_option(SHARDS)
@engine_option(REPLICAS)
@flag("--dry-run", help="Say what would be added, changed or removed, and send nothing")
@flag("--repair", help="Compare each document with its item, and send what differs")
@flag("--yes", "-y", help="Do not ask, even if more than a tenth of the owner's items are removed")
@places("project", "bundles", "clients")
@json_flag
def publish(**options: Any) -> int:
    """Publish items to a registry on a cluster, at ADDRESS.

    It sends the items of the project, its skills, commands and instruction files. They replace what the same owner
    published before; items of other owners stay. The registry serves its old state until the new one is complete.

    Exit status: 0 done, 2 error.
    """
    where, as_json = take_where(options), options.pop("as_json")
    return _told(_publish(where, options), as_json=as_json)


@click.group("index")
def index() -> None:
    """Show, rebuild or clear the search index.

    The index is a cache: a search builds it if it is missing, and refreshes it.

    Exit status: 0 done, 1 not done because another process is doing it, 2 error.
    """


def _action(name: str) -> Callable[[Callable[[Where], _Outcome]], click.Command]:
    """Return a decorator that makes a function an action on the index."""

    def made(act: Callable[[Where], _Outcome]) -> click.Command:
        @index.command(name, help=act.__doc__)
        @places("project", "bundles", "clients")
        @json_flag
        def run(**options: Any) -> int:
            return _told(act(take_where(options)), as_json=options["as_json"])

        return run

    return made


def _told(outcome: _Outcome, *, as_json: bool) -> int:
    facts, lines, warnings, status = outcome
    if as_json:
        say_json(facts)
    else:
        show(lines, warning_lines(warnings, Terminal.of(sys.stderr)))
    return status


def _publish(where: Where, given: dict[str, Any]) -> _Outcome:
    """Publish; if many items would be removed, ask on a terminal first."""
    from rye.cli.render.index import render_published

    address = given.pop("address")
    try:
        report = ask(where, lambda registry: registry.publish(address, **given), doing="publishing")
    except ArgumentError as error:
        if error.code != "publish-removes":
            raise
        try:
            agreed = confirm(f"{error.message}. Remove them?")
        except EOFError:
            raise error from None
        if not agreed:
            return {"published": False}, ["nothing was published"], (), 2
        given["yes"] = True
        report = ask(where, lambda registry: registry.publish(address, **given), doing="publishing")
    return report.to_dict(), render_published(report), report.warnings, 0


@_action("status")
def _status(where: Where) -> _Outcome:
    """Show where the index of each space is, and its size."""
    from rye.cli.render.index import render_status

    spaces = ask(where, lambda registry: registry.status())
    lines = render_status(spaces, Terminal.of(sys.stdout))
    warnings = [text for space in spaces for vectors in space.vectors for text in vectors.warnings]
    return {"spaces": [space.to_dict() for space in spaces]}, lines, warnings, 0


@_action("rebuild")
def _rebuild(where: Where) -> _Outcome:
    """Read every file again."""
    from rye.cli.render.index import render_rebuilt

    report = ask(where, lambda registry: _kept(registry.rebuild()))
    return report.to_dict(), [render_rebuilt(report)], report.warnings, int(report.stale)


@_action("vectors")
def _vectors(where: Where) -> _Outcome:
    """Make the vectors for search by meaning, which the first such search would make otherwise."""
    from rye.cli.render.index import render_vectors

    def made(registry: Registry) -> VectorReport:
        _kept(registry.refresh())
        return registry.embed()

    report = ask(where, made)
    return report.to_dict(), [render_vectors(report)], report.warnings, int(report.missing > 0)


def _kept(report: RefreshReport) -> RefreshReport:
    """Return the report of a refresh; raise an error if the index is temporary and would be lost.

    Raises:
        EnvironmentFault: ``index-write``: the index is in a temporary folder.
    """
    if report.temporary:
        message = "nothing would be kept, as the cache folder cannot be written"
        raise EnvironmentFault(
            "index-write", message, hint="set RYE_CACHE_DIR to another folder", problems=report.warnings
        )
    return report


@_action("clear")
def _clear(where: Where) -> _Outcome:
    """Delete the index; the next search builds it again."""
    from rye.surface.text import size

    freed = ask(where, lambda registry: registry.clear())
    return {"bytes": freed}, [f"cleared {size(freed)}"], (), 0


@command("mcp")
@option(
    "projects",
    "--project",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="Project that callers may name; the first is the default; repeatable. By default the one found "
    "upwards from the working directory, and over standard input any that the caller names",
)
@option(
    "--require",
    type=click.Choice(("trusted",)),
    help="`trusted`: show trusted items only",
)
@flag("--http", help="Listen for streamable HTTP instead of using standard input and output")
@_address_options("With `--http`: ", 8642, _TOKEN)
@option(
    "client",
    "--print-config",
    type=click.Choice(("claude", "cursor", "vscode", "codex")),
    metavar="CLIENT",
    help="Print the configuration of a client with these options, and exit: `claude`, `cursor`, `vscode` or `codex`",
)
@places("bundles", "trust", "audience", "clients", "index")
def mcp(client: str | None, **options: Any) -> int:
    """Serve rye's tools to agents over the Model Context Protocol (MCP).

    Exit status: 0 the client has left, 2 error.
    """
    if options["audience"]:
        from rye.trust.line import check_audience

        check_audience(options["audience"])
    server = import_module("rye.mcp.serving")  # rooms on one layer do not know each other; see the architecture
    if not options["http"]:
        refuse("host", "port", "token_file", "allowed_hosts", because="without --http")
    chosen = import_module("rye.mcp.startup").Options(
        projects=tuple(_folder(folder) for folder in options["projects"]),
        where=replace(take_where(options), only_trusted=options["require"] == "trusted"),
        http=_address(options, _TOKEN) if options["http"] else None,
    )
    if client is not None:
        if options["http"] and not options["port"]:
            raise Refusal("a free port is not known beforehand", hint="name one with --port")
        say(import_module("rye.mcp.clients").client_config(client, chosen, command=_own_command()))
        if client == "claude":
            note("in a project it stands in .mcp.json; then: rye sign .mcp.json")
        return 0
    if not options["http"] and sys.stdin is not None and sys.stdin.isatty():
        note("rye waits for a client on standard input; rye mcp --print-config NAME shows how to configure one")
    server.serve(chosen)
    return 0


@command("serve")
@_address_options("", 8643, _SERVE_TOKEN)
@flag("is_opened", "--open", help="Open the page in the browser")
@places("project", "bundles", "trust", "audience", "clients", "index")
def serve(**options: Any) -> int:
    """Serve web pages: search, and items with verdicts and references; each page also as JSON. They change nothing.

    Exit status: 0 interrupted, 2 error.
    """
    where, http = take_where(options), _address(options, _SERVE_TOKEN)
    server = import_module("rye.web.serving")  # as with rye.mcp
    server.serve(where.open, http, is_opened=options["is_opened"])
    return 0


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        message = f"there is no project folder {str(folder)!r}"
        raise NotFoundError("project-not-found", message, hint="name the folder that holds .ai", path=str(folder))
    return folder


def _address(options: dict[str, Any], variable: str) -> Http:
    """Return the address, token and host names for an HTTP server; the token may come from a variable."""
    from rye.surface.listener import Http

    token = _token(options["token_file"], variable)
    return Http(options["host"], options["port"], token, options["allowed_hosts"], variable)


def _token(path: Path | None, variable: str) -> str:
    """Return the token that callers must show, from the file or the environment; empty for none."""
    if path is None and variable not in os.environ:
        return ""
    token, place = (os.environ[variable], variable) if path is None else (_read(path), repr(str(path)))
    token = token.strip()
    if not token:
        instead = "unset it" if path is None else "leave the option out"
        hint = f"put one there, e.g. from: openssl rand -hex 32; or {instead} to demand none"
        raise Refusal(f"{place} holds no token", hint=hint)
    if not token.isascii() or any(char.isspace() for char in token):
        raise Refusal("the token has characters that no header can hold", hint="use letters and digits")
    return token


def _read(path: Path) -> str:
    """Return the text of a file that, like a private key, nobody else may read.

    Raises:
        Refusal: It cannot be read, is not a regular file, or others can read it.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe must not block
        with os.fdopen(handle, "rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise Refusal(
                    f"the token cannot be read from {str(path)!r}: it is not a regular file", hint="name a file"
                )
            if os.name == "posix" and mode & 0o077:
                problem = f"{str(path)!r} is open to others (mode {stat.S_IMODE(mode):03o}); a token there is not used"
                raise Refusal(problem, hint=f"chmod 600 {quote(str(path))}")
            return stream.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Refusal(f"the token cannot be read from {str(path)!r}: {why}", hint="name a file with one line") from None


def _own_command() -> tuple[str, ...]:
    """Return the command that starts rye, for the settings of a client; warn if it works on this machine alone.

    A client may start it in any checkout; ``-P`` keeps Python from importing modules there.
    """
    if program := own_program(outside="" if sys.prefix == sys.base_prefix else sys.prefix):
        return (Path(program).name,)
    note("the path in it is that of this machine; where others use the file, write a command that all of them have")
    program = own_program()
    return (program,) if program else (sys.executable, "-P", "-m", "rye")


@command("completion")
@argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> int:
    """Print the completion script of SHELL.

    bash and zsh evaluate it in ~/.bashrc or ~/.zshrc; fish reads it from ~/.config/fish/completions/rye.fish.
    """
    from rye.cli.completion import script

    root = click.get_current_context().find_root().command
    say(script(root, shell).strip("\n"))
    return 0

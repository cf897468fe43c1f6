"""Options that several commands share, and how a command reaches the registry with them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from rye.cli.terminal import IndexProgress
from rye.errors import ArgumentError, NotFoundError

if TYPE_CHECKING:
    from rye.registry import Layout, Registry

__all__ = [
    "NothingFound",
    "Place",
    "Refusal",
    "ask",
    "ask_about_item",
    "given",
    "json_option",
    "only_one",
    "place_options",
    "refuse",
    "space_option",
    "telling",
]

Answer = TypeVar("Answer")
Callback = TypeVar("Callback", bound=Callable[..., Any])
_PATH = click.Path(path_type=Path)
_ARGUMENT = re.compile(r"hybrid\['(\w+)'\]|^\w+(?= (?:is|has) )|(?<!['\w])[a-z]+(?:_[a-z0-9]+)+(?!['\w])")
"""A key of ``hybrid``, which is an option of its own; the word a message begins with; a word with ``_``; not quoted."""
_SETTING = re.compile(r"\b(mode|fusion)='(\w+)'")

_PLACE_OPTIONS = {
    "project": click.option(
        "--project",
        type=_PATH,
        metavar="DIR",
        help="The project; by default found upwards from the working directory.",
    ),
    "bundle": click.option(
        "--bundle",
        "bundles",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        multiple=True,
        metavar="DIR",
        help="A further bundle of items in system space; repeatable.",
    ),
    "trust": click.option(
        "--trust",
        type=_PATH,
        multiple=True,
        metavar="PATH",
        help="Trust this key file, or all in this folder, for this one run; repeatable.",
    ),
    "cache-dir": click.option("--cache-dir", type=_PATH, metavar="DIR", help="Where the index is kept."),
    "embedder": click.option(
        "--embedder",
        metavar="NAME",
        help="What turns texts into vectors: wordllama, none, ollama:MODEL[@URL] or openai:MODEL[@URL].",
    ),
    "max-staleness": click.option(
        "--max-staleness",
        type=float,
        default=0.0,
        show_default=True,
        metavar="SECONDS",
        help="Do not look for changed files if that was done at most so long ago; inf: only if there is no index.",
    ),
}

json_option = click.option("--json", "as_json", is_flag=True, help="Answer as one JSON object, errors too.")
"""``--json`` of every command."""


def _complete_space(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [space for space in ("all", "project", "user", "system") if space.startswith(incomplete)]


def space_option(default: str, text: str) -> Callable[[Callback], Callback]:
    """Return the option ``--space`` with its default."""
    return click.option(
        "--space", default=default, show_default=True, metavar="SPACE", help=text, shell_complete=_complete_space
    )


def place_options(*names: str) -> Callable[[Callback], Callback]:
    """Return a decorator that adds those of the options which say where items, keys and the index are."""

    def add(callback: Callback) -> Callback:
        for name in reversed(names):
            callback = _PLACE_OPTIONS[name](callback)
        return callback

    return add


class Refusal(click.UsageError):
    """A command line that cannot be, with what to write instead."""

    def __init__(self, message: str, ctx: click.Context | None = None, *, hint: str = "") -> None:
        super().__init__(message, ctx or click.get_current_context(silent=True))
        self.hint = hint


class NothingFound(Exception):
    """There is no such item, which is exit status 1 where the item was all that was asked for."""

    def __init__(self, error: NotFoundError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class Place:
    """Where items, keys and the index are, as the command line says."""

    project: Path | None = None
    bundles: tuple[Path, ...] = ()
    trust: tuple[Path, ...] = ()
    cache_dir: Path | None = None
    max_staleness: float = 0.0
    embedder: str | None = None

    @classmethod
    def take(cls, options: dict[str, Any]) -> Place:
        """Remove what belongs to the place from the options of a command and return it."""
        return cls(**{name: options.pop(name) for name in cls.__slots__ if name in options})

    def layout(self) -> Layout:
        """Return the spaces, for what needs no index: to load all that searches takes longer than most of that."""
        from rye.registry import Layout

        return Layout.find(project=self.project, user=None, bundles=None, more=self.bundles)


def ask(place: Place, question: Callable[[Registry], Answer], *, doing: str = "indexing") -> Answer:
    """Open the registry, put one question to it under a progress bar that says ``doing``, and return the answer."""
    from rye.registry import Registry

    with telling(doing) as progress:
        return question(
            Registry(
                place.project,
                more_bundles=place.bundles,
                cache_dir=place.cache_dir,
                max_staleness=place.max_staleness,
                trust=place.trust,
                progress=progress,
                embedder=place.embedder,
            )
        )


def ask_about_item(place: Place, question: Callable[[Registry], Answer]) -> Answer:
    """Put a question about one item, as :func:`ask` does.

    Raises:
        NothingFound: There is no such item.
    """
    try:
        return ask(place, question)
    except NotFoundError as error:
        raise NothingFound(error) from error


@contextmanager
def telling(doing: str) -> Iterator[IndexProgress]:
    """Show a progress bar that says ``doing``, keep the log quiet, and name options in errors as they were typed."""
    _keep_log_quiet()
    with IndexProgress(doing=doing) as progress:
        try:
            yield progress
        except ArgumentError as error:
            error.message, error.hint = _as_typed(error.message), _SETTING.sub(r"--\1 \2", error.hint)
            error.args = (error.message,)
            raise


def _as_typed(message: str) -> str:
    """Return a message about arguments of Python with the options that were typed instead."""

    def option(match: re.Match[str]) -> str:
        name = match[1] or match[0]
        written = _written(name)
        return written if written.startswith("-") else match[0]

    return _ARGUMENT.sub(option, message)


def _keep_log_quiet() -> None:
    """Keep log records off standard error: what a reader must know is in the answer's warnings."""
    import logging

    logger = logging.getLogger("rye")
    if not logger.handlers and os.environ.get("RYE_DEBUG", "") in {"", "0"}:
        logger.addHandler(logging.NullHandler())


def given(name: str) -> bool:
    """Return whether the caller wrote that option or argument of the running command."""
    context = click.get_current_context()
    source = context.get_parameter_source(name)
    return context.params.get(name) != () and source in {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}


def _written(name: str) -> str:
    for param in click.get_current_context().command.params:
        if param.name == name:
            return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
    return name


def only_one(*names: str) -> None:
    """Refuse the command line when more than one of these flags is on it."""
    used = [_written(name) for name in names if given(name)]
    if len(used) > 1:
        every = ", ".join(_written(name) for name in names)
        raise Refusal(f"{' and '.join(used)} exclude each other; choose one of {every}")


def refuse(*names: str, because: str) -> None:
    """Refuse the command line when one of these is on it, where it would have no effect."""
    used = [_written(name) for name in names if given(name)]
    if used:
        raise Refusal(f"{' and '.join(used)} {'has' if len(used) == 1 else 'have'} no effect {because}")

"""Options that several commands share, and how a command reaches the registry with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from rye._process import find_program, own_program
from rye._text import quote
from rye.cli.params import Option
from rye.cli.progress import IndexProgress
from rye.cli.terminal import COLOUR
from rye.errors import NotFoundError
from rye.items.model import TYPE_NAMES
from rye.options.model import ParameterError
from rye.registry.where import Where
from rye.surface.requests import AUTOMATIC

if TYPE_CHECKING:
    from rye.registry.registry import Registry

Answer = TypeVar("Answer")
HELP_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of click for the help of rye and its commands."""


class Refusal(click.UsageError):
    """The command line is invalid; the hint says what to write instead."""

    def __init__(self, message: str, ctx: click.Context | None = None, *, hint: str = "") -> None:
        super().__init__(message, ctx or click.get_current_context(silent=True))
        self.hint = hint


class NothingFound(Exception):
    """The named item does not exist: exit status 1."""

    def __init__(self, error: NotFoundError) -> None:
        super().__init__(str(error))
        self.error = error


def ask(where: Where, question: Callable[[Registry], Answer], *, doing: str = "indexing") -> Answer:
    """Open the registry, ask it one question under a progress bar, and return the answer."""
    with progress_bar(doing) as progress:
        return question(where.open(progress))


def ask_about_item(where: Where, question: Callable[[Registry], Answer]) -> Answer:
    """Ask about one item, as :func:`ask` does.

    Raises:
        NothingFound: There is no such item.
    """
    try:
        return ask(where, question)
    except NotFoundError as error:
        raise NothingFound(error) from error


@contextmanager
def progress_bar(doing: str) -> Iterator[IndexProgress]:
    """Show a progress bar with the text ``doing``, and keep log records off standard error."""
    _keep_log_quiet()
    with IndexProgress(doing=doing) as progress:
        yield progress


def _choose_colour(_ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        COLOUR.set(value)


def colour_option(*, hidden: bool) -> click.Option:
    """Return ``--color``, which every command takes but only the help of rye lists."""
    choice = click.Choice(["auto", "always", "never"])
    text = "Colour on a terminal (auto, the default), always or never; accepted by every command."
    how: dict[str, Any] = {"callback": _choose_colour, "expose_value": False, "is_eager": True, "hidden": hidden}
    return click.Option(["--color"], type=choice, help=text, **how)


def as_command(command: Callable[..., Answer]) -> Callable[..., Answer]:
    """Decorate a command so that its errors name options as they are typed."""

    @wraps(command)
    def named(*args: Any, **options: Any) -> Answer:
        try:
            return command(*args, **options)
        except ParameterError as error:
            as_typed = error.spelled(
                _options_of, lambda setting: " ".join(filter(None, [_written(setting.name), setting.value]))
            )
            raise as_typed from error.__cause__

    return named


def _param(name: str) -> Option | None:
    params = click.get_current_context().command.params
    return next((param for param in params if param.name == name and isinstance(param, Option)), None)


def _options_of(path: tuple[str, ...]) -> list[str]:
    """Return the options for a parameter, or for a part of it."""
    name, *keys = path
    option = _param(name)
    return [" ".join([_written(name), *(repr(key) for key in keys if option is None or option.part != key)])]


def _keep_log_quiet() -> None:
    """Keep log records off standard error; the answer has its own warnings."""
    import logging

    logger = logging.getLogger("rye")
    if not logger.handlers and os.environ.get("RYE_DEBUG", "") in {"", "0"}:
        logger.addHandler(logging.NullHandler())


def is_given(name: str) -> bool:
    """Return whether the command line has this option or argument."""
    context = click.get_current_context()
    source = context.get_parameter_source(name)
    return context.params.get(name) != () and source in {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}


def _written(name: str) -> str:
    for param in click.get_current_context().command.params:
        if param.name == name:
            return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
    return name


def only_one(*names: str) -> None:
    """Refuse the command line if it has more than one of these flags."""
    used = [_written(name) for name in names if is_given(name)]
    if len(used) > 1:
        every = ", ".join(_written(name) for name in names)
        raise Refusal(f"{' and '.join(used)} exclude each other; choose one of {every}")


def own_name() -> str:
    """Return the word that calls this command here: ``rye``, or ``rye-search`` if another program is called ``rye``."""
    if program := own_program():
        return Path(program).stem
    return "rye-search" if find_program("rye") else "rye"


def take_form(options: dict[str, Any]) -> str:
    """Remove ``--format`` and ``--json`` from the options of a command, and return the output format."""
    only_one("as_json", "form")
    form = options.pop("form", "text")
    return "json" if options.pop("as_json") else str(form)


def refuse(*names: str, because: str) -> None:
    """Refuse the command line if it has one of these options, because the option would have no effect."""
    used = [_written(name) for name in names if is_given(name)]
    if used:
        raise Refusal(f"{' and '.join(used)} {'has' if len(used) == 1 else 'have'} no effect {because}")


def sections_of(command: click.Command, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return the options of a command with their help by heading: its own first, then the shared ones."""
    sections: dict[str, list[tuple[str, str]]] = {"Options": [], "Answer": []}
    for param in command.get_params(ctx):
        if not isinstance(param, click.Argument) and (record := param.get_help_record(ctx)):
            heading = param.heading if isinstance(param, Option) else "Options"
            sections.setdefault(heading, []).append(record)
    return sections


class Command(click.Command):
    """Lists its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in sections."""
        for heading, records in sections_of(self, ctx).items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


command = partial(click.command, cls=Command)
"""Makes a function a command."""


_DISTANCES = frozenset({AUTOMATIC, "0", "1", "2"})
"""The values of ``--fuzzy``; any other word after it is the query."""


_INSTEAD = {"--require": "add is:trusted to the query: only trusted items are hits then"}
"""An option of another command, and what does the same here."""


class SearchCommand(Command):
    """Reads a search line as people write it; click does the rest."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give ``--fuzzy`` its value, refuse what looks like an exclusion, then parse."""
        try:
            return super().parse_args(ctx, self._tidied(ctx, args))
        except click.NoSuchOption as error:
            rest = f"rye {ctx.info_name} --help lists the options; put -- before a query that begins with a dash"
            raise Refusal(error.format_message(), ctx, hint=_INSTEAD.get(error.option_name, rest)) from error

    def _names(self, ctx: click.Context) -> tuple[set[str], set[str]]:
        """Return the options without a value, and those with one. ``--fuzzy`` is in neither: its value is optional."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        flags = {name for option in options if option.is_flag for name in option.opts} | set(ctx.help_option_names)
        return flags, {name for option in options if not option.is_flag for name in option.opts} - {"--fuzzy"}

    def _behind_dashes(self, ctx: click.Context, args: Sequence[str]) -> str:
        """Return the line with all words that are not options behind ``--``, and the names of missing arguments."""
        flags, taking = self._names(ctx)
        options, words, rest = list[str](), list[str](), list(args)
        while rest:
            arg = rest.pop(0)
            known = arg.partition("=")[0] in flags | taking | {"--fuzzy"} or arg[:2] in taking
            if arg == "--":
                words += rest
                break
            (options if known and not _looks_like_exclusion(arg, flags, taking) else words).append(arg)
            if rest and (arg in taking or (arg == "--fuzzy" and rest[0] in _DISTANCES)):
                options.append(rest.pop(0))
        single = [param.human_readable_name for param in self.params if isinstance(param, click.Argument)]
        parts = [*options, "--", *words]
        return " ".join(["rye", ctx.info_name or "", *map(quote, parts), *single[len(words) :]])

    def _tidied(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        flags, taking = self._names(ctx)
        tidied: list[str] = []
        rest = list(args)
        while rest:
            arg = rest.pop(0)
            if arg == "--":
                return [*tidied, arg, *rest]
            if arg == "--fuzzy":
                number = rest.pop(0) if rest and rest[0] in _DISTANCES else AUTOMATIC
                arg = f"--fuzzy={number}"
            elif _looks_like_exclusion(arg, flags, taking):
                message = f"{arg!r} is not an option; put -- before a query that begins with an exclusion"
                raise Refusal(message, ctx, hint=self._behind_dashes(ctx, args))
            tidied.append(arg)
            if arg in taking and rest:
                tidied.append(rest.pop(0))
        return tidied


def _looks_like_exclusion(arg: str, flags: set[str], taking: set[str]) -> bool:
    """Return whether an argument is neither flags nor an option with a number or an item type, such as ``-n5``."""
    if len(arg) < 2 or not arg.startswith("-") or arg.startswith("--"):
        return False
    if arg[:2] in taking:
        return bool(arg[2:]) and not (arg[2:].isdecimal() or arg[2:].partition(".")[0] in TYPE_NAMES)
    return any(f"-{letter}" not in flags for letter in arg[1:])

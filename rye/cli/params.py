"""Decorators for the parameters of commands: those of click, with headings in the help and notes for the manual.

An engine option, such as ``--limit``, comes from its :class:`rye.options.model.Parameter`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from rye.options.model import Parameter, described, metavar, parameters_of
from rye.options.search import MAX_STALENESS
from rye.registry.where import Where

Decorator: TypeAlias = Callable[[Any], Any]
"""Adds an argument or an option to a command."""

PLACES: Final = "Spaces, keys and the index"
_HEADINGS: Final = dict.fromkeys(
    ["project", "bundles", "trust", "audience", "clients", "max_staleness", "index"], PLACES
) | dict.fromkeys(
    ["limit", "offset", "sort_by", "explain", "facets", "paths", "as_json", "form"], "Answer"
)  # fmt: skip
"""Parameter to the heading of the help for options that several commands share."""

_NOT_OPTIONS: Final = frozenset({"fields", "hybrid", "lenient", "level", "prefix", "proximity", "source_boosts"})
"""Search parameters that only Python and MCP have."""


class _Path(click.Path):
    """A path; an empty text, as from an unset variable, is not the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a :class:`Path`."""
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


PATH: Final = _Path(path_type=Path)
FOLDER: Final = _Path(exists=True, file_okay=False, path_type=Path)
FILE_OR_DASH: Final = _Path(path_type=Path, allow_dash=True)


class Option(click.Option):
    """An option with its text for the manual.

    Attributes:
        text: The help with code in backticks and the bounds of a number, without the full stop.
        notes: Text that only the manual has.
        values: The valid values.
        default_words: The default in words, if the manual does not show the value.
        heading: The heading of the help.
        part: The key that the option sets, if the parameter is a mapping.
    """

    def __init__(
        self,
        declarations: Sequence[str],
        *,
        help: str,  # noqa: A002 - click's name
        text: str = "",
        notes: str = "",
        values: Sequence[object] = (),
        words: Sequence[str] = (),
        default_words: str = "",
        part: str = "",
        completes: str = "",
        **how: Any,
    ) -> None:
        self.text, self.notes, self.default_words, self.part = text or help, notes, default_words, part
        is_choice = isinstance(how.get("type"), click.Choice)
        self.values = tuple(how["type"].choices if is_choice else values)
        if completes or words or (values and not is_choice):
            how["shell_complete"] = partial(_complete, completes, values or words)
        if not how.get("is_flag"):
            how.setdefault("show_default", how.get("default") not in {None, (), ""})
        super().__init__(declarations, help=f"{help.replace('`', '')}.", **how)
        self.heading = _HEADINGS.get(str(self.name), "Options")

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the name of the value: ``N`` or ``X`` for a number, else the last word of the option."""
        if self.metavar or isinstance(self.type, click.Choice):
            return super().make_metavar(ctx)
        return {"integer": "N", "float": "X"}.get(self.type.name, self.opts[0].rpartition("-")[2].upper())


def _complete(
    kind: str, values: Sequence[object], ctx: click.Context, _param: click.Parameter, begun: str
) -> list[Any]:
    if not kind:
        return [str(value) for value in values if str(value).startswith(begun)]
    from rye.cli.completion import candidates

    return candidates(kind, take_where(dict(ctx.params)).layout, begun)


option = partial(click.option, cls=Option)
"""Decorates a command with an :class:`Option`."""

flag = partial(option, is_flag=True, default=False, type=bool)
"""Decorates a command with an option that takes no value."""


def negated_flag(*declarations: str, **how: Any) -> Decorator:
    """Decorate a command with a flag that sets its parameter to False."""
    return flag(*declarations, default=True, flag_value=False, **how)


def argument(
    name: str, *, required: bool = True, completes: str = "", values: Sequence[str] = (), **how: Any
) -> Decorator:
    """Decorate a command with an argument.

    Args:
        name: Its name.
        required: Whether it must be given.
        completes: Kind of completion, such as ``item``.
        values: Words that a shell offers.
        how: Arguments for click.
    """
    if completes or values:
        how["shell_complete"] = partial(_complete, completes, values)
    return click.argument(name, required=required, **how)


words = partial(argument, nargs=-1, required=False)
"""Decorates a command with an argument of any number of words."""


def engine_option(parameter: Parameter, text: str = "", **how: Any) -> Decorator:
    """Decorate a command with the option of an engine parameter, which checks the value.

    Args:
        parameter: The parameter.
        text: The help, if it differs from the parameter's.
        how: What click takes besides.
    """
    parameter = parameter._replace(help=text or parameter.help)
    flags = parameter.flags.split() or [f"--{parameter.name.replace('_', '-')}"]
    how |= {"help": parameter.help, "notes": parameter.notes, "text": described(parameter, "cli")}
    if parameter.kind == "boolean":
        return (negated_flag if parameter.default is True else flag)(parameter.name, *flags, **how)
    is_mapping = parameter.kind == "object"
    types: Mapping[str, Any] = {"integer": int, "number": float, "object": int if parameter.metavar == "N" else str}
    return option(
        parameter.name,
        *flags,
        multiple=parameter.kind == "array" or parameter.form == "pairs",
        type=types.get(parameter.kind, str),
        metavar=metavar(parameter),
        default=None if is_mapping else parameter.default,
        values=parameter.choices,
        words=parameter.words,
        completes=parameter.completes,
        default_words=parameter.shown,
        part=parameter.form if is_mapping else "",
        **how,
    )


def engine_options(takes: type) -> Decorator:
    """Decorate a command with the options that a TypedDict of the engine declares."""
    declared = parameters_of(takes).items()
    return all_of(*(engine_option(parameter) for name, parameter in declared if name not in _NOT_OPTIONS))


def all_of(*decorators: Decorator) -> Decorator:
    """Combine decorators into one; the help lists their options in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


# What nobody changes from call to call is hidden from the help of each command; the reference has it.
_PLACE_OPTIONS: Final[Mapping[str, Decorator]] = {
    "project": option("--project", type=PATH, metavar="DIR", help="Project folder; by default the nearest one upwards"),
    "bundles": option(
        *("bundles", "--bundle"),
        multiple=True,
        type=FOLDER,
        metavar="DIR",
        help="Also search this bundle; repeatable",
    ),
    "trust": option(
        "--trust", multiple=True, type=PATH, metavar="PATH", help="Trust this key file or folder; repeatable"
    ),
    "audience": option(
        "--audience",
        metavar="NAME",
        hidden=True,
        help="Require signatures made for this audience",
        notes="of project items; by default `RYE_AUDIENCE`; see `rye/trust`",
    ),
    "clients": option(
        *("clients", "--client"),
        multiple=True,
        metavar="NAME",
        hidden=True,
        help="Search the folders of this agent only; repeatable",
        notes="beside `.ai`, such as `claude`; `none`: `.ai` alone; by default `RYE_CLIENTS`, else all; see "
        "`rye/concepts`",
    ),
    "max_staleness": engine_option(MAX_STALENESS, hidden=True),
    "index": option(
        "--index",
        metavar="ADDRESS",
        hidden=True,
        help="Search this registry on a cluster instead",
        notes="`opensearch+https://HOST:9200/NAME`; `none`: the spaces; by default `RYE_INDEX`, else `index` in the "
        "user's settings; see `rye/web-and-cluster`",
    ),
}


def places(*names: str) -> Decorator:
    """Decorate a command with the options for spaces, keys and index that have these names; without names, with all."""
    return all_of(*(_PLACE_OPTIONS[name] for name in names or _PLACE_OPTIONS))


def take_where(options: dict[str, Any]) -> Where:
    """Remove the options for spaces, keys and index from the options of a command, and return where to look."""
    places = {name: options.pop(name) for name in Where.__slots__ if name in options}
    return Where(**places, may_choose_index="index" in places)


json_flag = flag("as_json", "--json", help="Answer as one JSON object, errors too", notes="see `rye/reference`")
"""Decorates a command with ``--json``."""

hit_forms: Decorator = all_of(
    option(
        *("form", "--format"),
        type=click.Choice(("text", "json", "jsonl", "ids")),
        default="text",
        metavar="FORM",
        help="`text`, `json`, `jsonl` or `ids`",
        notes="`json` is one object, as `--json`; `jsonl` an object for each hit, one per line; `ids` `type:id`, "
        "one per line",
    ),
    json_flag,
)
"""Decorates a command that answers with hits with ``--format`` and ``--json``."""

paths = flag("--paths", help="Also show the file and line of each item")
item = argument("item", completes="item")
targets = words("target", completes="target")

limits: Decorator = all_of(
    option(
        *("patterns", "--for"),
        multiple=True,
        metavar="PATTERN",
        help="Limit the key to these items: `tool:ops/*`, or to a bundle: `bundle:NAME`; repeatable",
    ),
    option("--not-after", metavar="DATE", help="Last day, or moment, on which the key counts"),
)
"""Decorates a command with the limits of a key."""

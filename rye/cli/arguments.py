"""Read the words of a ``rye search`` line: fields, filters, ``--fuzzy`` without a number, a leading ``-``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import click

from rye._text import quote
from rye.cli.options import Refusal
from rye.parameters import parameters_of

AUTOMATIC = "auto"
"""The value of ``--fuzzy`` without a number."""

_FILTER = re.compile(r"(?P<key>[^=<>!]+)(?P<op>>=|<=|!=|=|>|<)(?P<value>.*)", re.DOTALL)
_FILTER_FORMS = "write KEY=VALUE, KEY=!VALUE, KEY>=VALUE, KEY<=VALUE, KEY>VALUE or KEY<VALUE"
_UNTRUE = ("!", ">", "<")


class SearchCommand(click.Command):
    """Reads a search line as people write it; all else is click's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give ``--fuzzy`` its value and refuse what looks like an exclusion, then parse as ever."""
        line = list(args)
        try:
            return super().parse_args(ctx, self._tidied(ctx, args))
        except click.NoSuchOption as error:
            hint = f"if it is part of the query: {self._behind_dashes(ctx, line)}"
            raise Refusal(error.format_message(), ctx, hint=hint) from error

    def _names(self, ctx: click.Context) -> tuple[set[str], set[str]]:
        """Return the options without a value, and those with one but ``--fuzzy``, which may have one."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        flags = {name for option in options if option.is_flag for name in option.opts} | set(ctx.help_option_names)
        return flags, {name for option in options if not option.is_flag for name in option.opts} - {"--fuzzy"}

    def _behind_dashes(self, ctx: click.Context, args: Sequence[str]) -> str:
        """Return the whole line with what is no option behind ``--``, and the name of each argument that it lacks."""
        flags, taking = self._names(ctx)
        options, words, rest = list[str](), list[str](), list(args)
        while rest:
            arg = rest.pop(0)
            known = arg.partition("=")[0] in flags | taking | {"--fuzzy"} or arg[:2] in taking
            if arg == "--":
                words += rest
                break
            (options if known and not _looks_like_exclusion(arg, flags, taking) else words).append(arg)
            if rest and (arg in taking or (arg == "--fuzzy" and rest[0].isdecimal())):
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
                number = rest.pop(0) if rest and rest[0].isdecimal() else AUTOMATIC
                arg = f"--fuzzy={number}"
            elif _looks_like_exclusion(arg, flags, taking):
                message = f"{arg!r} is no option; put -- before a query that begins with an exclusion"
                raise Refusal(message, ctx, hint=self._behind_dashes(ctx, args))
            tidied.append(arg)
            if arg in taking and rest:
                tidied.append(rest.pop(0))
        return tidied


def _looks_like_exclusion(arg: str, flags: set[str], taking: set[str]) -> bool:
    if len(arg) < 2 or not arg.startswith("-") or arg.startswith("--"):
        return False
    if arg[:2] in taking:
        return bool(arg[2:]) and not arg[2:].isdecimal()
    return any(f"-{letter}" not in flags for letter in arg[1:])


def parse_fields(pairs: Sequence[str]) -> dict[str, str]:
    """Return ``NAME=QUERY`` texts as a dictionary; a name may come once only."""
    fields: dict[str, str] = {}
    for pair in pairs:
        name, sign, query = pair.partition("=")
        if not sign or not name.strip():
            raise click.BadParameter(f"{pair!r} is not of the form NAME=QUERY", param_hint="--field")
        if name in fields:
            raise click.BadParameter(
                f"{name!r} is given twice; join the two: {name}=({fields[name]}) AND ({query})", param_hint="--field"
            )
        fields[name] = query
    return fields


def parse_filters(pairs: Sequence[str], *, date_from: str | None, date_to: str | None) -> dict[str, str | list[str]]:
    """Return ``KEY=VALUE`` texts and the two dates as a dictionary; one key with several values means any of them."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        match = _FILTER.fullmatch(pair)
        if match is None:
            raise click.BadParameter(f"{pair!r} is no filter; {_FILTER_FORMS}", param_hint="--filter")
        sign = {"=": "", "!=": "!"}.get(match["op"], match["op"])
        values.setdefault(match["key"].strip(), []).append(sign + match["value"].strip())
    for option, key, date in (("--date-from", "date_from", date_from), ("--date-to", "date_to", date_to)):
        if date is not None:
            if key in values:
                raise click.UsageError(f"{option} and --filter {key}=… exclude each other")
            values[key] = [date]
    for key, several in values.items():
        if len(several) > 1 and any(value.startswith(_UNTRUE) for value in several):
            raise click.BadParameter(
                f"{key!r} is given several times, which means any of the values, and that works with plain values "
                f"only; for both ends of a range write it in the query, as {key}:[LOW TO HIGH]",
                param_hint="--filter",
            )
    return {key: several[0] if len(several) == 1 else several for key, several in values.items()}


def parse_fuzzy(value: str | None) -> dict[str, bool | int] | None:
    """Return the fuzzy dictionary for the value of ``--fuzzy``."""
    if value is None:
        return None
    if value == AUTOMATIC:
        return {"enabled": True}
    if not value.isdecimal():
        raise click.BadParameter(f"{value!r} is no number of letters", param_hint="--fuzzy")
    return {"enabled": True, "max_distance": int(value)}


def parse_proximity(value: int | None) -> dict[str, bool | int] | None:
    """Return the proximity dictionary for the value of ``--proximity``."""
    return None if value is None else {"enabled": True, "max_distance": value}


def parse_boosts(pairs: Sequence[str]) -> dict[str, float] | None:
    """Return ``SOURCE=FACTOR`` texts as a dictionary; None for none at all."""
    boosts: dict[str, float] = {}
    for pair in pairs:
        source, _, factor = pair.partition("=")
        try:
            boosts[source.strip()] = float(factor)
        except ValueError:
            message = f"{pair!r} is not of the form SOURCE=FACTOR, such as project=1.2"
            raise click.BadParameter(message, param_hint="--source-boost") from None
    return boosts or None


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "facets": ",".join,
    "fields": parse_fields,
    "fuzzy": parse_fuzzy,
    "proximity": parse_proximity,
    "source_boosts": parse_boosts,
}
"""Readers of the options whose value in Python is another one."""


def arguments_of(takes: type, options: Mapping[str, Any], *, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the options that were given as the method of :class:`rye.Registry` takes them.

    Args:
        takes: What the method takes.
        options: All that click read.
        without: Names to leave out.
    """
    found: dict[str, Any] = {}
    for name, each in parameters_of(takes).items():
        value = options.get(name)
        if each.split and each.parts:
            value = {part: options[part] for part in parameters_of(each.parts) if options[part] is not None}
        elif name == "filters":
            value = parse_filters(value or (), date_from=options.get("date_from"), date_to=options.get("date_to"))
        elif name in _PARSERS:
            value = _PARSERS[name](value)
        if value not in (each.default, {}) and name not in without:
            found[name] = value
    return found
